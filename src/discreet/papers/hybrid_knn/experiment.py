"""What the paper's authors ran: figures 2 to 9, on any ratings.

80 % of the ratings to learn from, 20 % to test on, B = 1, k = 20, RMSE, and one repetition a seed: it draws the split,
the perturbation and the noise, and within a repetition the same words of noise serve every setting, so that settings
differ by what they are and not by luck. Predictions are made from perturbed ratings, as by a recommender who has no
others, and in all four forms from one publication. Beside the paper's methods stand ours, sound
(:mod:`discreet.papers.hybrid_knn.sound`): predicted from what was sent, as the paper's are, and at home.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from scipy.special import stdtrit

from discreet.collect.channel import Mechanism
from discreet.collect.simulation import perturb_ratings
from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.models.bias import Bias
from discreet.models.release import Release
from discreet.papers.hybrid_knn import sound
from discreet.papers.hybrid_knn.algorithm import FORMS, Form, HybridKNN
from discreet.papers.hybrid_knn.kept import Kept
from discreet.papers.hybrid_knn.sound import Reports
from discreet.populations.population import NoPrivacy, Population
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.types import Doubles, Progress, no_progress

FIGURES = (2, 3, 4, 5, 6, 7, 8, 9)
DELTA = 1e-6
"""Of our covariances; the averages have 0."""

Method = Literal[
    "no privacy",
    "RP",
    "DP",
    "hybrid",
    "DP on RP",
    "literal",
    "sound, no noise",
    "sound averages",
    "sound covariances",
    "sound reports",
    "sound reports, as hard to guess",
    "sound hybrid",
]
SOUND: tuple[Method, ...] = (
    "sound, no noise",
    "sound averages",
    "sound covariances",
    "sound reports",
    "sound reports, as hard to guess",
    "sound hybrid",
)
"""Ours."""
BESIDE: dict[Method, Method] = {
    "no privacy": "sound, no noise",
    "RP": "sound reports",
    "DP": "sound covariances",
    "hybrid": "sound hybrid",
}
"""What of ours stands beside a method of the paper; beside the others nothing can."""

Reading = Literal[Form, "sent", "home"]
"""How a publication is read: in the paper's forms, and ours from what was sent or at home."""


@dataclass(frozen=True)
class Case:
    """One setting: a method, its perturbation and its noise."""

    method: Method
    gamma: float = 0.0
    epsilon: float | None = None

    @property
    def beside(self) -> "Case | None":
        """Ours with the same gamma and epsilon, if there is such a thing.

        >>> Case("hybrid", 0.5, 1.0).beside
        Case(method='sound hybrid', gamma=0.5, epsilon=1.0)
        """
        return replace(self, method=BESIDE[self.method]) if self.method in BESIDE else None

    def model(self) -> HybridKNN:
        """The paper's algorithm for it."""
        return HybridKNN(
            epsilon=self.epsilon,
            gamma=self.gamma,
            ignores_perturbation=self.method == "DP on RP",
            centring="literal" if self.method == "literal" else "corrected",
        )


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Which gammas and epsilons are tried.

    >>> len(Grid().cases(FIGURES)) > 60
    True
    """

    gammas: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
    epsilons: Sequence[float] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    fixed_epsilon: float = 1.0
    user_shares: Sequence[float] = (0.25, 0.5, 0.75, 1.0)

    @classmethod
    def quick(cls) -> "Grid":
        """A few of them, to try things out."""
        return cls(gammas=(0.5, 3.5), epsilons=(0.1, 1.0, 10.0), user_shares=(0.5, 1.0))

    def cases(self, figures: Iterable[int]) -> list[Case]:
        """What must be run to draw these figures, each case once."""
        none, literal = Case("no privacy"), [Case("literal"), Case("literal", 0.0, self.fixed_epsilon)]
        perturbed = [Case("RP", gamma) for gamma in self.gammas]
        noisy = [Case("DP", 0.0, epsilon) for epsilon in self.epsilons]
        averages = [Case("sound averages", 0.0, epsilon) for epsilon in self.epsilons]
        guessed = [Case("sound reports, as hard to guess", gamma) for gamma in self.gammas]
        both = [Case("hybrid", gamma, epsilon) for gamma in self.gammas for epsilon in self.epsilons]
        fixed = [Case("hybrid", gamma, self.fixed_epsilon) for gamma in self.gammas]
        ignoring = [Case("DP on RP", gamma, self.fixed_epsilon) for gamma in self.gammas]
        wanted: dict[int, list[Case]] = {
            2: [none, *perturbed, *guessed],
            3: [none, *noisy, *averages, *literal],
            4: [*noisy, *both],
            5: [*noisy, *both],
            6: [*perturbed, *both],
            7: [*perturbed, *both],
            8: [],
            9: [*fixed, *ignoring],
        }
        published = list(dict.fromkeys(case for figure in figures for case in wanted[figure]))
        ours = (case.beside for case in published)
        return list(dict.fromkeys([*published, *(case for case in ours if case is not None)]))


@dataclass(frozen=True)
class Timing:
    """How long one publication and the predictions from it took: the paper's hybrid, and ours with covariances."""

    users: int
    items: int
    ratings: int
    seconds: float
    sound_seconds: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Everything that was measured.

    Parameters
    ----------
    data, seeds, grid, figures
        On what, how often, and which settings.
    errors
        RMSE of every repetition, by case and reading; ours are read from what was ``sent`` and, where that was
        perturbed, at ``home``.
    timings
        Of Fig. 8, the smallest first.
    reports
        What our users send for each gamma.
    """

    data: str
    seeds: int
    grid: Grid
    figures: Sequence[int]
    errors: Mapping[Case, Mapping[Reading, Sequence[float]]]
    timings: Sequence[Timing]
    reports: Mapping[float, Reports] = field(default_factory=dict)

    def has(self, *cases: Case) -> bool:
        """Whether all of these were run."""
        return all(case in self.errors for case in cases)

    def rmse(self, case: Case, form: Reading = "plain") -> float:
        """The mean over the repetitions."""
        return float(np.mean(self._of(case, form)))

    def interval(self, case: Case, form: Reading = "plain") -> tuple[float, float]:
        """Between which the mean lies, with 95 % confidence."""
        mean, half = _with_half_width(self._of(case, form))
        return mean - half, mean + half

    def difference(self, worse: Case, better: Case, form: Reading = "plain") -> tuple[float, float]:
        """Mean difference in RMSE, repetition by repetition, and half the width of its 95 % interval."""
        return _with_half_width(np.array(self._of(worse, form)) - np.array(self._of(better, form)))

    def ratio(self, above: Case, below: Case, form: Reading = "plain") -> float:
        """RMSE of one in RMSE of the other, mean over the repetitions."""
        return float(np.mean(np.array(self._of(above, form)) / np.array(self._of(below, form))))

    def _of(self, case: Case, form: Reading) -> Sequence[float]:
        if case.method in SOUND:
            of_case = self.errors[case]
            return of_case["home"] if form == "home" and "home" in of_case else of_case["sent"]
        if form in ("sent", "home"):
            ours = case.beside
            assert ours is not None, f"nothing sound stands beside {case.method}"
            return self._of(ours, form)
        return self.errors[case][form]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "data": self.data,
            "seeds": self.seeds,
            "figures": list(self.figures),
            "cases": [
                {"method": case.method, "gamma": case.gamma, "epsilon": case.epsilon, "rmse": dict(forms)}
                for case, forms in self.errors.items()
            ],
            "timings": [vars(timing) for timing in self.timings],
            "reports": [
                {
                    "gamma": gamma,
                    "as noisy": _described(reports.as_noisy),
                    "as hard to guess": None
                    if reports.as_hard_to_guess is None
                    else _described(reports.as_hard_to_guess),
                }
                for gamma, reports in self.reports.items()
            ],
        }


def _described(mechanism: Mechanism) -> dict[str, Any]:
    return {"mechanism": mechanism.name, **mechanism.settings}


def _with_half_width(values: Sequence[float] | Doubles) -> tuple[float, float]:
    """The mean, and half its 95 % interval by Student's t; 0 for one value, of which nobody knows how it varies."""
    count, mean = len(values), float(np.mean(values))
    if count == 1:
        return mean, 0.0
    return mean, float(stdtrit(count - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(count))


def run(
    ratings: Ratings,
    *,
    data: str = "ratings",
    seeds: int = 10,
    figures: Sequence[int] = FIGURES,
    grid: Grid | None = None,
    kept: Path | None = None,
    progress: Progress = no_progress,
) -> Outcome:
    """Run what the figures need, but for what is in the file ``kept`` already; it is added to.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=100, items=50, ratings=2000, seed=1)
    >>> outcome = run(ratings, seeds=1, figures=[2], grid=Grid(gammas=(0.5,)))
    >>> [case.method for case in outcome.errors]
    ['no privacy', 'RP', 'sound, no noise', 'sound reports']
    """
    require(seeds >= 1, f"seeds must be at least 1, got {seeds}")
    unknown = [figure for figure in figures if figure not in FIGURES]
    require(not unknown and len(figures) > 0, f"the figures with results are 2 to 9, got {unknown or 'none'}")
    grid = Grid() if grid is None else grid
    cases = grid.cases(figures)
    reports = reports_of(ratings, cases)
    cases = [case for case in cases if can_be_run(case, reports)]
    errors: dict[Case, dict[Reading, list[float]]] = {case: {} for case in cases}
    store = Kept(kept, ratings)
    for seed in range(1, seeds + 1):
        done = (seed - 1) * len(cases)
        repetition = Repetition(ratings, reports, seed)
        for place, case in enumerate(cases):
            progress(done + place, seeds * len(cases), f"{case.method}, repetition {seed} of {seeds}")
            found = store.get(seed, str(case))
            if found is None:
                found = repetition.errors(case)
                store.put(seed, str(case), found)
            for reading, error in found.items():
                errors[case].setdefault(reading, []).append(error)
    store.write()
    timings = time_all(ratings, grid, reports_of(ratings, grid.cases([4]))) if 8 in figures else ()
    progress(1, 1, "done")
    return Outcome(
        data=data, seeds=seeds, grid=grid, figures=tuple(figures), errors=errors, timings=timings, reports=reports
    )


def reports_of(ratings: Ratings, cases: Iterable[Case]) -> dict[float, Reports]:
    """What our users send for every gamma of the cases. How often each rating is given is published with the data."""
    values, counts = np.unique(ratings.values, return_counts=True)
    prior = dict(zip(values.tolist(), counts.tolist(), strict=True))
    gammas = sorted({case.gamma for case in cases if case.method in SOUND and case.gamma > 0})
    return {gamma: Reports(gamma, ratings.catalogue.scale, prior) for gamma in gammas}


def can_be_run(case: Case, reports: Mapping[float, Reports]) -> bool:
    """Whether some mechanism is what the case asks for: where RP hides nothing, none is as easy to guess from."""
    return case.method != "sound reports, as hard to guess" or reports[case.gamma].as_hard_to_guess is not None


class Repetition:
    """One split, and what users sent instead of its ratings, each drawn once."""

    def __init__(self, ratings: Ratings, reports: Mapping[float, Reports], seed: int) -> None:
        self.train, self.test = ratings.split(test=0.2, seed=seed)
        self.reports, self.seed = reports, seed
        self._sent: dict[tuple[str, float], tuple[Ratings, float]] = {}

    def errors(self, case: Case) -> dict[Reading, float]:
        """RMSE of a case, in every reading that it has."""
        sent, variance = self.sent(case)
        randomness = Randomness(2 * self.seed + 1)
        if case.method not in SOUND:
            release = case.model().publish(sent, randomness)
            return {
                form: error_of(replace(release, model=replace(case.model(), prediction=form)), sent, self.test)
                for form in FORMS
            }
        release = publish_soundly(case, sent, variance, self.train.catalogue.scale, self.train.n_users, randomness)
        scale = self.train.catalogue.scale
        found: dict[Reading, float] = {}
        for reading, histories, strays in (("sent", sent, variance), ("home", self.train, 0.0)):
            if reading == "sent" or case.gamma > 0:
                expected = sound.predicted(release, histories, strays, scale, self.test)
                found[cast(Reading, reading)] = float(np.sqrt(np.mean((expected - self.test.values) ** 2)))
        return found

    def sent(self, case: Case) -> tuple[Ratings, float]:
        """What the recommender has, and how far it varies about the ratings, squared."""
        if case.gamma == 0:
            return self.train, 0.0
        how = case.method if case.method == "sound reports, as hard to guess" else str(case.method in SOUND)
        if (how, case.gamma) not in self._sent:
            self._sent[how, case.gamma] = self._send(case, Randomness(2 * self.seed))
        return self._sent[how, case.gamma]

    def _send(self, case: Case, randomness: Randomness) -> tuple[Ratings, float]:
        if case.method not in SOUND:
            return case.model().collect(self.train, randomness), case.gamma**2 / 3
        reports = self.reports[case.gamma]
        mechanism = reports.as_hard_to_guess if case.method == "sound reports, as hard to guess" else reports.as_noisy
        assert mechanism is not None
        return perturb_ratings(mechanism, self.train, randomness), reports.variance_of(mechanism)


def publish_soundly(
    case: Case, sent: Ratings, variance: float, scale: Scale, audience: int, randomness: Randomness
) -> Release:
    """Ours, from what was sent, which varies by so much about ratings on a scale; for an announced audience."""
    if case.method == "sound averages":
        assert case.epsilon is not None
        return Bias().fit(TrustedServer(sent, Ledger(case.epsilon), randomness=randomness))
    model = sound.covariances(audience, scale, sent.catalogue.scale, variance)
    population: Population = NoPrivacy(sent)
    if case.epsilon is not None:
        population = TrustedServer(sent, Ledger(case.epsilon, DELTA), randomness=randomness)
    return model.fit(population)


def error_of(release: Release, histories: Ratings, test: Ratings) -> float:
    """RMSE of the predictions, clipped to the scale."""
    predicted = release.predict(histories, test.user_index, test.item_index)
    return float(np.sqrt(np.mean((predicted.astype(np.float64) - test.values) ** 2)))


def time_all(ratings: Ratings, grid: Grid, reports: Mapping[float, Reports]) -> tuple[Timing, ...]:
    """Both hybrids from raw ratings to predictions, for the first users; the better of two runs counts."""
    gamma = grid.gammas[0]
    # Ours asks for covariances where noise lets them through: at the largest epsilon, if anywhere.
    paper, ours = Case("hybrid", gamma, grid.fixed_epsilon), Case("sound hybrid", gamma, grid.epsilons[-1])
    found = []
    for share in sorted(grid.user_shares):
        some = ratings.select_users(np.arange(max(1, round(share * ratings.n_users))))
        theirs, own = (min(_seconds(case, some, reports, ratings.n_users) for _ in range(2)) for case in (paper, ours))
        found.append(Timing(some.n_users, some.n_items, len(some), theirs, own))
    return tuple(found)


def _seconds(case: Case, ratings: Ratings, reports: Mapping[float, Reports], audience: int) -> float:
    """The audience is that of all users, so that the same is asked for at every size."""
    repetition, scale = Repetition(ratings, reports, seed=1), ratings.catalogue.scale
    started = time.perf_counter()
    sent, variance = repetition.sent(case)
    if case.method in SOUND:
        release = publish_soundly(case, sent, variance, scale, audience, Randomness())
        sound.predicted(release, sent, variance, scale, repetition.test)
    else:
        error_of(case.model().publish(sent, Randomness()), sent, repetition.test)
    return time.perf_counter() - started
