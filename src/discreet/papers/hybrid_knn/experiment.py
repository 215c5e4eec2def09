"""What the paper's authors ran: figures 2 to 9, on any ratings.

80 % of the ratings to learn from, 20 % to test on, B = 1, k = 20, RMSE, and one repetition a seed: it draws the split,
the perturbation and the noise, and within a repetition the same words of noise serve every setting, so that settings
differ by what they are and not by luck. Predictions are made from perturbed ratings, as by a recommender who has no
others, and in all four forms from one publication. Beside the paper's methods stand ours, sound, for a rating that is
there or not: the same epsilon, proven.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.models.bias import Bias
from discreet.models.covariance_knn import CovarianceKNN
from discreet.models.release import Release
from discreet.papers.hybrid_knn.algorithm import FORMS, Form, HybridKNN
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.types import Doubles, Progress, no_progress

FIGURES = (2, 3, 4, 5, 6, 7, 8, 9)

Method = Literal["no privacy", "RP", "DP", "hybrid", "DP on RP", "literal", "sound averages", "sound covariances"]
SOUND: dict[Method, tuple[Any, float]] = {"sound averages": (Bias(), 0.0), "sound covariances": (CovarianceKNN(), 1e-6)}
"""Ours, for the same epsilon: a model and its delta."""


@dataclass(frozen=True)
class Case:
    """One setting: a method, its perturbation and its noise."""

    method: Method
    gamma: float = 0.0
    epsilon: float | None = None

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
        sound = [Case(method, 0.0, epsilon) for method in SOUND for epsilon in self.epsilons]
        both = [Case("hybrid", gamma, epsilon) for gamma in self.gammas for epsilon in self.epsilons]
        fixed = [Case("hybrid", gamma, self.fixed_epsilon) for gamma in self.gammas]
        ignoring = [Case("DP on RP", gamma, self.fixed_epsilon) for gamma in self.gammas]
        wanted: dict[int, list[Case]] = {
            2: [none, *perturbed],
            3: [none, *noisy, *sound, *literal],
            4: [*noisy, *both],
            5: [*noisy, *both],
            6: [*perturbed, *both],
            7: [*perturbed, *both],
            8: [],
            9: [*fixed, *ignoring],
        }
        return list(dict.fromkeys(case for figure in figures for case in wanted[figure]))


@dataclass(frozen=True)
class Timing:
    """How long one publication and the predictions from it took."""

    users: int
    items: int
    ratings: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Everything that was measured.

    Parameters
    ----------
    data, seeds, grid, figures
        On what, how often, and which settings.
    errors
        RMSE of every repetition, by case and prediction form; ours have the form ``average`` alone.
    timings
        Of Fig. 8, the smallest first.
    """

    data: str
    seeds: int
    grid: Grid
    figures: Sequence[int]
    errors: Mapping[Case, Mapping[Form, Sequence[float]]]
    timings: Sequence[Timing]

    def has(self, *cases: Case) -> bool:
        """Whether all of these were run."""
        return all(case in self.errors for case in cases)

    def rmse(self, case: Case, form: Form = "plain") -> float:
        """The mean over the repetitions."""
        return float(np.mean(self._of(case, form)))

    def interval(self, case: Case, form: Form = "plain") -> tuple[float, float]:
        """Between which the mean lies, with 95 % confidence."""
        mean, half = _with_half_width(self._of(case, form))
        return mean - half, mean + half

    def difference(self, worse: Case, better: Case, form: Form = "plain") -> tuple[float, float]:
        """Mean difference in RMSE, repetition by repetition, and half the width of its 95 % interval."""
        return _with_half_width(np.array(self._of(worse, form)) - np.array(self._of(better, form)))

    def ratio(self, above: Case, below: Case, form: Form = "plain") -> float:
        """RMSE of one in RMSE of the other, mean over the repetitions."""
        return float(np.mean(np.array(self._of(above, form)) / np.array(self._of(below, form))))

    def _of(self, case: Case, form: Form) -> Sequence[float]:
        return self.errors[case]["average" if case.method in SOUND else form]

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
        }


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
    progress: Progress = no_progress,
) -> Outcome:
    """Run what the figures need.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=100, items=50, ratings=2000, seed=1)
    >>> outcome = run(ratings, seeds=1, figures=[2], grid=Grid(gammas=(0.5,)))
    >>> [case.method for case in outcome.errors]
    ['no privacy', 'RP']
    """
    require(seeds >= 1, f"seeds must be at least 1, got {seeds}")
    unknown = [figure for figure in figures if figure not in FIGURES]
    require(not unknown and len(figures) > 0, f"the figures with results are 2 to 9, got {unknown or 'none'}")
    grid = Grid() if grid is None else grid
    cases = grid.cases(figures)
    errors: dict[Case, dict[Form, list[float]]] = {case: {} for case in cases}
    for seed in range(1, seeds + 1):
        train, test = ratings.split(test=0.2, seed=seed)
        sent: dict[float, Ratings] = {}
        for place, case in enumerate(cases):
            progress(
                (seed - 1) * len(cases) + place, seeds * len(cases), f"{case.method}, repetition {seed} of {seeds}"
            )
            if case.gamma not in sent:
                sent[case.gamma] = case.model().collect(train, Randomness(2 * seed))
            for form, release in publications(case, sent[case.gamma], Randomness(2 * seed + 1)):
                errors[case].setdefault(form, []).append(error_of(release, sent[case.gamma], test))
    timings = tuple(_time(ratings, share, grid) for share in grid.user_shares) if 8 in figures else ()
    progress(1, 1, "done")
    return Outcome(data=data, seeds=seeds, grid=grid, figures=tuple(figures), errors=errors, timings=timings)


def publications(case: Case, sent: Ratings, randomness: Randomness) -> Iterable[tuple[Form, Release]]:
    """What is published in a case, once for every form of prediction that it is read in."""
    if case.method in SOUND:
        assert case.epsilon is not None
        model, delta = SOUND[case.method]
        yield "average", model.fit(TrustedServer(sent, Ledger(case.epsilon, delta), randomness=randomness))
        return
    release = case.model().publish(sent, randomness)
    for form in FORMS:
        yield form, replace(release, model=replace(case.model(), prediction=form))


def error_of(release: Release, histories: Ratings, test: Ratings) -> float:
    """RMSE of the predictions, clipped to the scale."""
    predicted = release.predict(histories, test.user_index, test.item_index)
    return float(np.sqrt(np.mean((predicted.astype(np.float64) - test.values) ** 2)))


def _time(ratings: Ratings, share: float, grid: Grid) -> Timing:
    """One hybrid from raw ratings to predictions, for the first users."""
    some = ratings.select_users(np.arange(max(1, round(share * ratings.n_users))))
    train, test = some.split(test=0.2, seed=1)
    model = Case("hybrid", grid.gammas[0], grid.fixed_epsilon).model()
    started = time.perf_counter()
    randomness = Randomness()
    sent = model.collect(train, randomness)
    error_of(model.publish(sent, randomness), sent, test)
    return Timing(some.n_users, some.n_items, len(some), time.perf_counter() - started)
