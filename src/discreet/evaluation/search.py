"""A paid search: of several candidates, the one that foresees held-out ratings best, with everything in the ledger.

The best of a grid is a release: which settings fit best says something about the ratings. The defaults of our models
were chosen on other data, so they cost nothing; whoever wants to search on their own ratings pays for it here.

**In order.** (1) Every rating is held out with odds ``held_out``, by a hash of its user's tag and its item. (2)
Each candidate is fitted on the others. Candidates that would ask the same questions are asked for once, and all are
made of the same answers: settings that matter only after the noise (factors, ridges, dampings) cost nothing. Which
ones these are is found out by a dress rehearsal on made-up ratings. (3) One further sum says how well each candidate
does. For user u with held-out ratings let s_uc be the score of candidate c: minus the mean of min(1, (error / half the
width of the scale)²) for ``rmse``, else the metric of that user's ranking. With x_uc = s_uc − mean_c s_uc and the row
x_u scaled down to L2 norm 1/10 at most, the sum of x_u over all users, with noise. (4) The largest entry wins, and
the release that is already there is the result. The ledger's limit is split: ``share`` for step 3, the rest in equal
parts for the different questions of step 2.

**Guarantee.** Whether a rating is held out depends on its user's tag and its item and on no other rating; a tag is a
function of the user's name and of the population's secret key. So for every key data sets that differ in a unit differ
in at most that unit in either part: bounds that hold on all ratings hold on the first part (2). In (3) the releases are
fixed: they were paid for. A user's row depends on that user's ratings alone, and is never longer than 1/10. A user more
or less moves the sum by at most 1/10; a rating more or less changes one row, both ends of which lie in that ball, so it
moves the sum by at most 2/10, and so does a rating of another value (L2; in L1 by √m times as much, for m candidates).
This holds to the last bit: users are scored one at a time, since in a batch the last bits of a matrix product depend on
who else is in it, and where items score alike they decide on ranks; and rows are rounded towards 0 to multiples of
2⁻³⁰, so that their sums are exact. The winner and its release are made from these sums: post-processing. So the search
costs what the ledger says, and no more.

**What it costs.** With q different questions the noise of each is √(q / (1 − share)) times (Gaussian noise) or
q / (1 − share) times (Laplace) that of a single fit, and a tenth of the ratings is not learned from. The choice itself
is cheap: candidates differ by little for any one user, and it is the sum over users that decides.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import DiscreetError, InputError, is_number, require
from discreet.evaluation.measuring import ranks_of_users
from discreet.evaluation.metric_names import check_metrics, is_ranking
from discreet.populations.around import Around, innermost
from discreet.populations.asking import check_population
from discreet.populations.bounded import tags_of
from discreet.populations.contribution import Contribution
from discreet.populations.local import LocalDevices
from discreet.populations.mechanism import Drawn, Mechanism
from discreet.populations.population import Population, exact_total
from discreet.populations.secure_sums import SecureSums
from discreet.populations.steps import Question, Steps, StepSums
from discreet.privacy.bounding import clip_rows, hold_out
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import on_lattice
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Bound
from discreet.releases.contract import ChoosingModel, Model, RatingModel, needs_raw_ratings
from discreet.releases.release import Release
from discreet.types import Doubles, Progress, no_progress

LONGEST = 0.1
"""No user says more than this about which candidate is better: L2 norm of a row of scores about their mean."""
PURPOSE = hashlib.sha256(b"discreet: what a search holds out").digest()
"""Public, to tell what is held out from what else is chosen by the users' secret tags."""


@checked
@dataclass(frozen=True, kw_only=True)
class Search:
    """Several candidates, of which a fit returns the release of the best.

    It is used like a model: ``Search(...).fit(population)``. What comes out is an ordinary release of the winner.

    Parameters
    ----------
    candidates
        Models with their settings, each of which asks a population for sums. Public: chosen before looking.
    metric
        ``rmse``, or a metric of rankings such as ``ndcg@100``.
    held_out
        Odds with which a rating is kept for the comparison.
    share
        How much of the budget the comparison takes.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=300, items=60, ratings=9000, seed=1)
    >>> search = dc.evaluation.Search(candidates=[dc.Bias(item_damping=1), dc.Bias(item_damping=1000)])
    >>> release = search.fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=4.0)))
    >>> [spend.what for spend in release.spends][-1]
    'which candidate foresees held-out ratings best'
    >>> release.guarantee.tuning, round(release.guarantee.proven.epsilon, 6)
    ('paid', 4.0)
    """

    candidates: Sequence[Any]
    metric: str = "rmse"
    held_out: float = 0.1
    share: float = 0.05

    def __post_init__(self) -> None:
        several = isinstance(self.candidates, list | tuple) and len(self.candidates) >= 2
        require(several, "a search needs a list of at least two candidates, for example [Bias(), Almanac()]")
        object.__setattr__(self, "candidates", tuple(self.candidates))
        (name,) = check_metrics([self.metric])
        bounded = is_ranking(name) and not name.startswith(("coverage", "novelty"))  # of one user, between 0 and 1
        require(name == "rmse" or bounded, f"a search goes by rmse or a metric of rankings of one user, got {name!r}")
        for candidate in self.candidates:
            kind = type(candidate).__name__
            require(isinstance(candidate, Model) and hasattr(candidate, "fit"), f"{candidate!r} is no model")
            require(not needs_raw_ratings(candidate), f"{kind} needs the raw ratings, so no search can pay for it")
            ranks_only = not isinstance(candidate, RatingModel)
            require(not (name == "rmse" and ranks_only), f"{kind} does not predict ratings: search by ndcg@100, say")
        for what in ("held_out", "share"):
            value = getattr(self, what)
            require(is_number(value) and 0 < value < 1, f"{what} must lie between 0 and 1, got {value!r}")

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Fit the candidates, each different question paid once, and return the release of the best one."""
        check_population(self, population)
        if isinstance(innermost(population), LocalDevices | SecureSums):
            raise InputError("a search needs a trusted server: devices would pay for every candidate by themselves")
        classes, share, gaussian = self._classes(population)
        releases: list[Release | None] = [None] * len(self.candidates)
        steps = len(self.candidates) + 1
        for same in classes:
            answers: list[tuple[Any, Any, list[Doubles]]] = []
            for place in same:
                done = sum(release is not None for release in releases)
                progress(done, steps, f"candidate {done + 1} of {len(self.candidates)}")
                asked = Asked(population, share, gaussian, lambda ratings: self._parts(ratings)[0], answers)
                releases[place] = self.candidates[place].fit(asked)
        progress(steps - 1, steps, "comparing")
        found = [release for release in releases if release is not None]
        scores = population.sum(_hidden_by(gaussian, self.comparison(found)), self.share)
        best = found[int(np.argmax(scores))]
        return Release.of(best.model, population, best.arrays)

    def chooses_on_the_way(self, population: Population) -> bool:
        """Whether some candidate decides by answers what it asks for next."""
        return any(_chooses(candidate, population) for candidate in self.candidates)

    def comparison(self, releases: Sequence[Release]) -> Contribution:
        """How well each release does, as a sum over users."""
        count = len(releases)
        norms = {"l2": LONGEST, "l1": LONGEST * count**0.5}

        def total(ratings: Ratings) -> Doubles:
            return np.asarray(self._rows(releases, ratings).sum(axis=0))

        return Contribution(
            "which candidate foresees held-out ratings best",
            (count,),
            total,
            tuple(
                Bound(unit, norm, factor * value, replace=2 * value)  # type: ignore[arg-type]
                for unit, factor in (("user", 1.0), ("rating", 2.0))
                for norm, value in norms.items()
            ),
            chooses=True,
            largest=LONGEST,
        )

    def _rows(self, releases: Sequence[Release], ratings: Ratings) -> Doubles:
        """Of each user with something held out, the scores of all candidates about their mean, bounded."""
        known, held = self._parts(ratings)
        tested = np.flatnonzero(np.diff(held.indptr) > 0)
        if len(tested) == 0:
            return np.zeros((0, len(releases)))
        scores = np.empty((len(tested), len(releases)))
        for row, user in zip(scores, tested[:, None], strict=True):  # alone, so that nobody else moves a last bit
            own = known.select_users(user), held.select_users(user)
            row[:] = [self._score(release, *own) for release in releases]
        scores -= scores.mean(axis=1, keepdims=True)
        indptr = np.arange(len(tested) + 1, dtype=np.int64) * len(releases)
        return on_lattice(clip_rows(indptr, scores.ravel(), LONGEST, "l2").reshape(scores.shape))

    def _score(self, release: Release, known: Ratings, held: Ratings) -> float:
        """The score of one user, the worst if the model fails on their ratings: a refusal would reveal something."""
        try:
            return float(self._scores(release, known, held)[0])
        except InputError as error:
            if error.__cause__ is None:  # not what the model computes: what it was asked
                raise
            return 0.0 if is_ranking(self.metric) else -1.0

    def _scores(self, release: Release, known: Ratings, held: Ratings) -> Doubles:
        """One number for each user, between −1 and 0 for ``rmse`` and between 0 and 1 for rankings."""
        if is_ranking(self.metric):
            return ranks_of_users(release, known, held, None, [self.metric], finite=False)[self.metric]
        found = release.scorer().predict(known, held.user_index, held.item_index, finite=False)
        errors = found.astype(np.float64) - held.values
        losses = np.fmin(1.0, (errors / (held.catalogue.scale.width / 2)) ** 2)  # what is no number counts 1
        sums = np.bincount(held.user_index, weights=losses, minlength=held.n_users)
        return np.asarray(-sums / np.diff(held.indptr))

    def _parts(self, ratings: Ratings) -> tuple[Ratings, Ratings]:
        """What is learned from, and what is held out."""
        held = hold_out(ratings.indptr, ratings.item_index, tags_of(ratings), self.held_out, PURPOSE)
        return ratings.select(~held), ratings.select(held)

    def _classes(self, population: Population) -> tuple[list[list[int]], float, bool]:
        """Candidates that ask the same questions, the share of each class, and whether all noise is Gaussian. Public.

        Shares of Gaussian and of Laplace noise do not add up to one budget. So where some candidate wants Gaussian
        noise for ratings, all sums have it; and where one chooses on the way, since it may come to want it.
        """
        count, gaussian = 1, self.chooses_on_the_way(population)
        while True:  # what is asked may depend on the noise, and the noise on how many classes there are
            share = (1 - self.share) / count
            classes: dict[tuple[Any, ...], list[int]] = {}
            wanted = gaussian
            for place, candidate in enumerate(self.candidates):
                rehearsal = DressRehearsal(population, share, gaussian)
                with np.errstate(all="ignore"):
                    candidate.fit(rehearsal)
                # Whoever chooses on the way may ask something else in the end: its answers serve nobody else.
                alone = place if _chooses(candidate, population) else None
                classes.setdefault((alone, *rehearsal.questions), []).append(place)
                wanted = wanted or rehearsal.wants_gaussian
            if len(classes) <= count and wanted == gaussian:
                return list(classes.values()), share, gaussian
            count, gaussian = max(count, len(classes)), wanted


def _chooses(candidate: Any, population: Population) -> bool:
    return isinstance(candidate, ChoosingModel) and candidate.chooses_on_the_way(population)


def _hidden_by(gaussian: bool, contribution: Contribution) -> Contribution:
    """The same question, to be answered with Gaussian noise wherever there is a delta."""
    return replace(contribution, noise="gaussian") if gaussian else contribution


ANOTHER = "a candidate asked another question than in the rehearsal; nothing was released"


def _kind(contribution: Contribution) -> tuple[Any, ...]:
    return contribution.name, contribution.shape


class _Shared(Around):
    """A population that gives each question of a candidate a share of what it would give it alone."""

    def __init__(self, population: Population, share: float, gaussian: bool) -> None:
        super().__init__(population)
        self._share, self._gaussian = share, gaussian

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """Refused: a mechanism would look at what is held out too."""
        raise InputError(f"{mechanism.name!r} looks at all ratings, and a search holds some out: choose without it")

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """Standard deviation of the noise of :meth:`sum`."""
        asked = question if isinstance(question, Steps) else _hidden_by(self._gaussian, question)
        return self._population.deviation(asked, share * self._share)


class Asked(_Shared):
    """A population as one candidate sees it: part of the ratings, part of the budget, and answers that are there."""

    def __init__(
        self,
        population: Population,
        share: float,
        gaussian: bool,
        part: Callable[[Ratings], Ratings],
        answers: list[tuple[Any, Any, list[Doubles]]],
    ) -> None:
        super().__init__(population, share, gaussian)
        self._part, self._answers, self._next = part, answers, 0

    @property
    def guarantee(self) -> Guarantee:
        """Nothing yet: the search is not over."""
        return Guarantee.none("the search for the best candidate was not over")

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The next answer that was given before, or a new one."""
        place, self._next = self._next, self._next + 1
        if place == len(self._answers):
            asked = _hidden_by(self._gaussian, self._of_part(contribution))
            self._answers.append((_kind(contribution), self._population.sum(asked, share * self._share), []))
        before, answer, _ = self._answers[place]
        if before != _kind(contribution):
            raise DiscreetError(ANOTHER)
        return np.array(answer)

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """The steps that were drawn before, or new ones."""
        place, self._next = self._next, self._next + 1
        if place == len(self._answers):
            self._answers.append((steps, self._population.steps(steps, share * self._share), []))
        before, drawn, given = self._answers[place]
        if before != steps:
            raise DiscreetError(ANOTHER)
        return StepSums(steps, drawn.deviation, self._steps_after(drawn, given))

    def _steps_after(self, drawn: StepSums, given: list[Doubles]) -> Callable[[Contribution], Doubles]:
        """What was given in each step, and new steps after the last of them."""
        done = iter(range(drawn.asked.count))

        def answer(contribution: Contribution) -> Doubles:
            if (place := next(done)) == len(given):
                given.append(drawn.sum(self._of_part(contribution)))
            return given[place].copy()

        return answer

    def _of_part(self, contribution: Contribution) -> Contribution:
        return replace(contribution, total=lambda ratings: contribution.total(self._part(ratings)))


class DressRehearsal(_Shared):
    """Made-up ratings over the same items with noise as large as it will be: what is asked of them is written down."""

    def __init__(self, population: Population, share: float, gaussian: bool) -> None:
        super().__init__(population, share, gaussian)
        self._ratings = _made_up(population.catalogue)
        self._noise = np.random.default_rng(0)
        self.questions: list[tuple[Any, ...]] = []
        self.wants_gaussian = False

    @property
    def spends(self) -> tuple[Spend, ...]:
        """None: nothing was looked at."""
        return ()

    @property
    def guarantee(self) -> Guarantee:
        """None: nothing is to be released."""
        return Guarantee.none("this was a rehearsal on made-up ratings")

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The sum over made-up ratings, with noise that is the same for the same questions."""
        only_l2 = {bound.norm for bound in contribution.bounds} == {"l2"}
        self.wants_gaussian = self.wants_gaussian or only_l2 or contribution.noise == "gaussian"
        return self._answer(contribution, share, self.deviation(contribution, share))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """The same for every step, over everybody."""
        self.wants_gaussian = True
        self.questions.append((steps, round(share, 12)))
        deviation = self.deviation(steps, share)
        return StepSums(steps, deviation, lambda contribution: self._answer(contribution, share, deviation))

    def _answer(self, contribution: Contribution, share: float, deviation: float) -> Doubles:
        total = exact_total(contribution, self._ratings)
        digest = hashlib.sha256(total.tobytes()).hexdigest()
        kind = (contribution.name, contribution.shape, contribution.bounds, contribution.noise)
        self.questions.append((*kind, round(share, 12), digest))
        return total + deviation * self._noise.standard_normal(total.shape)


def _made_up(catalogue: Catalogue, users: int = 64, each: int = 16) -> Ratings:
    """A few ratings of random items, enough to tell two sums apart."""
    rng = np.random.default_rng(0)
    each = min(each, len(catalogue))
    items = np.concatenate([rng.choice(len(catalogue), size=each, replace=False) for _ in range(users)])
    scale = catalogue.scale
    values = scale.low + scale.width * rng.random(len(items))
    names = Labels.of([str(user) for user in range(users)], what="user")
    return Ratings.of_columns(catalogue, names, np.repeat(np.arange(users), each), items, values)
