"""A choice among public candidates by a private score, run by whoever holds the ratings."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require
from discreet.populations.contribution import Contribution
from discreet.populations.mechanism import Allowance, check_ratios
from discreet.populations.population import InParts, exact_total
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import FLOAT_MARGIN, WORST, flip_law, permute_and_flip
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Neighbours, Rating, Unit, UnitName, User
from discreet.types import AnyArray, Doubles

Apart = Mapping[tuple[UnitName, Neighbours], float]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The position of a candidate with a high score: permute and flip (:mod:`discreet.privacy.selection`).

    Parameters
    ----------
    name
        What is chosen, in words.
    candidates
        How many there are.
    totals
        Sums over the users, from which the scores are made.
    score
        From these sums to one score for each candidate; by default the sums are the scores.
    apart
        For each unit and kind of neighbours for which it is proven: by how much the scores of two candidates can move
        apart. It is the 2D of the proof, or D where a unit moves all scores the same way.
    chooses
        Whether a setting of the model is chosen by it, as opposed to something that is released.

    **Guarantee.** By the proof in :mod:`discreet.privacy.selection` candidate r is taken with probabilities whose ratio
    between neighbours is at most e^(a·apart), and a = ε/apart: pure ε. Scores in doubles may be off by a hair: a part
    in 2**20 is added. What is no finite number counts as the worst score, whatever the reason.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=2000, items=30, ratings=20_000, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(1.0, unit=dc.User()))
    >>> asked = quantile_of_users("ratings of a user", lambda part: np.diff(part.indptr), 0.5, np.arange(0, 40, 2.0))
    >>> middle = server.run(asked)["position"]
    >>> 6 <= 2 * int(middle) <= 14, round(server.ledger.spent, 6)
    (True, 1.0)
    """

    name: str
    candidates: int
    totals: Contribution
    apart: Apart
    score: Callable[[Doubles], AnyArray] | None = None
    chooses: bool = True
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"position": ()}, init=False)

    def __post_init__(self) -> None:
        require(self.candidates >= 1, "there must be at least one candidate to choose from")
        for distance in self.apart.values():
            require(
                math.isfinite(distance) and distance > 0,
                f"scores must move apart by a positive and finite amount at most, got {distance}",
            )

    def spend(self, allowed: Allowance) -> Spend:
        """All that is allowed, as a pure epsilon."""
        moved = self._apart(allowed.unit, allowed.merged) * (1 + FLOAT_MARGIN)
        return Spend(
            what=self.name,
            mechanism="pure",
            norm="l1",
            sensitivity=moved,
            scale=moved / allowed.epsilon,
            chooses=self.chooses,
        )

    def draw(self, ratings: InParts, spend: Spend, randomness: Randomness) -> Mapping[str, AnyArray]:
        """Permute and flip."""
        return {"position": np.array(permute_and_flip(self.scores(ratings), 1 / spend.scale, randomness))}

    def exact(self, ratings: InParts) -> Mapping[str, AnyArray]:
        """The best."""
        return {"position": np.array(np.argmax(self.scores(ratings)))}

    def scores(self, ratings: InParts) -> Doubles:
        """One for each candidate, all finite."""
        totals = exact_total(self.totals, ratings)
        found = np.asarray(totals if self.score is None else self.score(totals), dtype=np.float64)
        require(found.shape == (self.candidates,), f"{self.name!r} needs one score for each candidate")
        return np.where(np.isfinite(found), found, -WORST)

    def check(self, catalogue: Catalogue) -> None:
        """Compute the law of the choice on all neighbours in a small universe, for every unit that it is for."""
        for name, neighbours in self.apart:
            unit: Unit = User(neighbours=neighbours) if name == "user" else Rating(neighbours)
            check_ratios(self, self._log_law, catalogue, Allowance(unit=unit, epsilon=1.0))

    def _log_law(self, ratings: Ratings, spend: Spend) -> Doubles:
        return np.log(flip_law(self.scores(ratings), 1 / spend.scale))

    def _apart(self, unit: Unit, merged: bool) -> float:
        kinds: list[tuple[UnitName, Neighbours]] = [(unit.name, unit.neighbours)]
        if merged and unit.name == "rating":  # one event more adds a rating, or replaces its value
            kinds = [("rating", "add-or-remove"), ("rating", "replace")]
        if any(kind not in self.apart for kind in kinds):
            raise InputError(f"{self.name!r} has no proven bound for {unit}, so it cannot be chosen in private")
        return max(self.apart[kind] for kind in kinds)


@checked
def quantile_of_users(
    name: str, numbers: Callable[[Ratings], AnyArray], quantile: float, grid: AnyArray, *, chooses: bool = True
) -> Choice:
    """Which point of a public grid is nearest to a quantile of one number for each user: its position.

    ``numbers`` gives one number for each user, made of that user's ratings alone. Of n users qn should lie below the
    point c: its score is minus the larger of 0, #{x < c} − qn and qn − #{x ≤ c}.

    **Guarantee.** A user more or less moves either count by 0 or 1 and qn by q, so either difference by q or 1 − q at
    most, and every score by max(q, 1 − q). A user with another number moves either count by at most 1, and qn not at
    all: every score by 1. One rating more or less gives one user another number, or is all of a user: at most 1 too.
    Scores may move either way, so two move apart by twice that. ∎

    >>> asked = quantile_of_users("how many ratings a user gives", lambda part: np.diff(part.indptr), 0.9, [10, 100.0])
    >>> asked.apart["user", "add-or-remove"]
    1.8
    """
    points = np.asarray(grid, dtype=np.float64)
    require(0 < quantile < 1, f"a quantile lies between 0 and 1, got {quantile}")
    require(
        points.ndim == 1 and len(points) > 0 and bool(np.isfinite(points).all()),
        "the grid of a quantile must be a list of finite points",
    )

    def total(ratings: Ratings) -> Doubles:
        own = np.asarray(numbers(ratings), dtype=np.float64)
        require(own.shape == (ratings.n_users,), f"{name!r} needs one number for each user")
        ordered = np.sort(own)
        below, at_most = np.searchsorted(ordered, points, "left"), np.searchsorted(ordered, points, "right")
        return np.stack([below, at_most, np.full(len(points), len(own))]).astype(np.float64)

    def score(totals: Doubles) -> Doubles:
        below, at_most, users = totals
        return np.asarray(-np.maximum(np.maximum(below - quantile * users, quantile * users - at_most), 0.0))

    one = 2.0
    return Choice(
        name=name,
        candidates=len(points),
        totals=Contribution(name, (3, len(points)), total),
        score=score,
        apart={
            ("user", "add-or-remove"): one * max(quantile, 1 - quantile),
            ("user", "replace"): one,
            ("rating", "add-or-remove"): one,
            ("rating", "replace"): one,
        },
        chooses=chooses,
    )
