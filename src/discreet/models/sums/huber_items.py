"""Objective perturbation with Huber's loss: a vector for every item, private in the presence of a rating.

Per item j, with public features u_i of its raters, ‖u_i‖ ≤ 1, and y_ij = r_ij − centre,

    v_j  =  argmin  Σ_i h(y_ij − u_iᵀv) + (Λ/2)‖v‖² + η_jᵀv,   and v_j + ξ_j is released

    radial    η of density ∝ exp(−‖η‖/s), s = mτ/ε₁                     a pure epsilon
    gaussian  η normal of deviation σ, with z·x + x²/2 = ε₁ for x = mτ/σ     with a small delta

m is 1 where a rating comes or goes, and 2 where its value may be another. u must not depend on the ratings that are
protected: it is a constant, and facts about users that are declared public.

**Guarantee**, for a rating (p, q); all items but q have the same law on both data sets. (1) Exact minimisers. η ↦ v is
a bijection, since F is strongly convex and smooth, and where v comes out, η = Σ u h'(y − uᵀv) − Λv and
η' = η ± u_p·h'(y_pq − u_pᵀv): they differ by at most mτ, along u_p. The densities of v have the ratio
p(η)/p(η') · |det H|/|det H'|, where both Hessians are at least Λ·I and differ by ±c·u_p u_pᵀ, c in [0, 1]: their
determinants by a factor of at most 1 + 1/Λ. (With another value of the rating u_p is the same, and c in [−1, 1].)
*Radial*: p(η)/p(η') ≤ e^(mτ/s) = e^ε₁. *Gaussian*: ln p(η)/p(η') = (2cηᵀu_p + c²‖u_p‖²)/2σ² with |c| ≤ mτ, at most
zx + x²/2 unless |ηᵀu_p| > zσ, which has odds δ₁ = 2Φ(−z) at most, whatever the dimension. So v is private with
ε₁ + ln(1 + 1/Λ), and with δ₁. (2) What is computed. A point at which the gradient of F is no longer than γ lies within
γ/Λ of the minimiser, as F is Λ-strongly convex. Given v, what is computed on either data set lies within γ/Λ of v, so
the two within 2γ/Λ of each other, and noise ξ of density ∝ exp(−ε₂‖ξ‖/(2γ/Λ)) hides that with a pure ε₂. Together
ε₁ + ln(1 + 1/Λ) + ε₂. ∎ γ covers η's rounding to its lattice and doubles too: so nothing rests on exact arithmetic. The
gradient is checked at every item, and where it is longer nothing is released.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_number
from discreet.kernels.huber import minimise
from discreet.models.sums.item_statistics import expected_rating
from discreet.populations.mechanism import Allowance, check_ratios
from discreet.populations.population import InParts
from discreet.privacy.noise import add_gaussian, grid_of
from discreet.privacy.noise_ball import add_balls
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating
from discreet.types import AnyArray, Doubles

SHARE_OF_CURVATURE, SHARE_OF_OUTPUT = 0.2, 0.01
"""Of epsilon: for ln(1 + 1/Λ), and for the ε₂ above."""
LEAST_RIDGE = 2.0
"""Of Λ: two imaginary ratings at the centre, without which an item that nobody rated would be noise alone."""
LEAST_TOLERANCE = 1e-7
"""Gradients in doubles come below it for any item. If they did not, that nothing is released would tell of it."""
CONSTANT = 0.8
"""Of ‖u‖²: the constant's part, where there are public facts beside it."""


@dataclass(frozen=True, kw_only=True)
class HuberItems:
    """The mechanism, for :meth:`~discreet.TrustedServer.run`.

    Parameters
    ----------
    catalogue
        The public items.
    threshold
        The τ above, in points of the scale: beyond it a rating pulls no stronger.
    facts
        Public facts about users, as ``gender=F``: each is a feature, 1 where it is true.
    noise
        ``radial``, or ``gaussian``, which needs a ledger with a delta and pays from about 50 dimensions on.
    tolerance
        The γ above, at least 1e-7, and more where η is very large. The gradient at what was found must be shorter than
        half of it.
    odds
        The δ₁ above.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> server = dc.TrustedServer(ratings, dc.Ledger(1.0))
    >>> server.run(HuberItems(catalogue=ratings.catalogue))["vectors"].shape
    (30, 1)
    """

    catalogue: Catalogue
    threshold: float = 1.0
    facts: tuple[str, ...] = ()
    noise: Literal["radial", "gaussian"] = "radial"
    tolerance: float = 1e-6
    odds: float = 1e-11
    name: str = "an item's vector, by objective perturbation with Huber's loss"

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, above=0)
        require_number("tolerance", self.tolerance, least=LEAST_TOLERANCE)
        require(self.noise in ("radial", "gaussian"), f"noise must be 'radial' or 'gaussian', got {self.noise!r}")
        for fact in self.facts:
            require("=" in fact, f"a public fact is written as name=value, got {fact!r}")

    @property
    def dimensions(self) -> int:
        """Of a vector: the constant, and a feature for each fact."""
        return 1 + len(self.facts)

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """One vector for each item."""
        return {"vectors": (len(self.catalogue), self.dimensions)}

    # ── What it costs ──

    def spend(self, allowed: Allowance) -> Spend:
        """All that is allowed: the m above over m/ε, since only their ratio means anything here."""
        if allowed.unit.name != "rating":
            raise InputError(
                f"{self.name!r} is proven for one rating, and not for {allowed.unit}: keep a ledger for Rating(), or "
                "choose a model that hides users, for example Almanac"
            )
        if self.noise == "gaussian":
            require(allowed.mu > 0, f"{self.name!r} with Gaussian noise needs a delta above 0, for example 1e-6")
        moved = 2.0 if allowed.merged or allowed.unit.neighbours == "replace" else 1.0
        return Spend(
            what=self.name,
            mechanism="pure",
            norm="l2",
            sensitivity=moved,
            scale=moved / allowed.epsilon,
            slack=self.odds if self.noise == "gaussian" else 0.0,
        )

    def ridge(self, epsilon: float) -> float:
        """The Λ above, for one rating's epsilon.

        >>> import discreet as dc
        >>> asked = HuberItems(catalogue=dc.Catalogue.of(["a"], dc.Scale(1, 5)))
        >>> round(asked.ridge(1.0), 3), asked.ridge(100.0)
        (4.517, 2.0)
        """
        return max(LEAST_RIDGE, 1 / math.expm1(SHARE_OF_CURVATURE * epsilon))

    def objective_scale(self, epsilon: float, moved: float) -> float:
        """The s or σ above, for one rating's epsilon."""
        first = epsilon * (1 - SHARE_OF_OUTPUT) - math.log1p(1 / self.ridge(epsilon))
        if self.noise == "radial":
            return moved * self.threshold / first
        from scipy.special import ndtri

        z = -float(ndtri(self.odds / 2))
        return moved * self.threshold / (math.sqrt(z * z + 2 * first) - z)

    def deviation(self, epsilon: float, moved: float = 1.0) -> float:
        """Standard deviation of each coordinate of η."""
        scale = self.objective_scale(epsilon, moved)
        return scale * math.sqrt(self.dimensions + 1) if self.noise == "radial" else scale

    # ── What it does ──

    def draw(self, ratings: InParts, spend: Spend, randomness: Randomness) -> Mapping[str, AnyArray]:
        """Minimise with noise in the objective, check every gradient, and add the small noise."""
        moved, epsilon = spend.sensitivity, spend.pure_epsilon
        scale, size = self.objective_scale(epsilon, moved), len(self.catalogue)
        step, tolerance = math.sqrt(self.dimensions), max(self.tolerance, scale * 2.0**-30)  # as doubles err with η
        grid = min(grid_of(scale), grid_of(tolerance / step) * 2.0**25)
        zeros = np.zeros((size, self.dimensions))
        if self.noise == "gaussian":
            inside = add_gaussian(zeros, scale, grid, randomness)
        else:
            inside = add_balls(zeros, scale, grid, randomness)
        vectors, lengths = self._minimisers(ratings, inside, self.ridge(epsilon))
        if not bool((lengths <= tolerance / 2).all()):
            raise InputError("a minimiser was not found as exactly as its noise allows")
        outside = 2 * tolerance / self.ridge(epsilon) / (SHARE_OF_OUTPUT * epsilon)
        fine = grid_of(outside, step)
        outside += fine * step / (SHARE_OF_OUTPUT * epsilon)
        return {"vectors": add_balls(vectors, outside, fine, randomness)}

    def exact(self, ratings: InParts) -> Mapping[str, AnyArray]:
        """Minimisers without noise."""
        zeros = np.zeros((len(self.catalogue), self.dimensions))
        return {"vectors": self._minimisers(ratings, zeros, LEAST_RIDGE)[0]}

    def _minimisers(self, ratings: InParts, noise: Doubles, ridge: float) -> tuple[Doubles, Doubles]:
        if not isinstance(ratings, Ratings):
            raise InputError("objective perturbation needs all ratings in memory: load them at once")
        columns = ratings.by_item
        features = self._features(ratings)[columns.users]
        targets = columns.values.astype(np.float64) - expected_rating(self.catalogue.scale)
        return minimise(columns.indptr, features, targets, noise, self.threshold, ridge)

    def _features(self, ratings: Ratings) -> Doubles:
        found = np.ones((ratings.n_users, self.dimensions))
        for place, fact in enumerate(self.facts):
            name, _, value = fact.partition("=")
            column = ratings.user_facts.get(name)
            found[:, place + 1] = 0.0 if column is None else np.asarray(column).astype(np.str_) == value
        if not self.facts:
            return found
        lengths = np.linalg.norm(found[:, 1:], axis=1, keepdims=True)
        rest = math.sqrt(1 - CONSTANT) * found[:, 1:] / np.maximum(lengths, 1)
        whole = np.concatenate([np.full((len(found), 1), math.sqrt(CONSTANT)), rest], axis=1)
        return np.asarray(whole * (1 - 2.0**-40))

    # ── Its own check ──

    def check(self, catalogue: Catalogue) -> None:
        """Compare the densities of the exact minimisers on all neighbours in a small universe."""
        of_these = HuberItems(catalogue=catalogue, threshold=self.threshold, noise=self.noise, odds=self.odds)
        for unit in (Rating(), Rating("replace")):
            check_ratios(
                of_these,
                lambda ratings, spend: of_these._log_law(ratings, spend.pure_epsilon, spend.sensitivity),
                catalogue,
                Allowance(unit=unit, epsilon=1.0, mu=1.0),
            )

    def _log_law(self, ratings: Ratings, epsilon: float, moved: float) -> Doubles:
        """The logarithm of the density of item 0's, 1's … minimiser at some points; one dimension."""
        ridge, scale = self.ridge(epsilon), self.objective_scale(epsilon, moved)
        points = np.linspace(-2.5, 2.5, 41)
        total = np.zeros(len(points))
        centre = expected_rating(self.catalogue.scale)
        for item in range(len(self.catalogue)):
            rows = ratings.values[ratings.item_index == item].astype(np.float64) - centre
            residuals = rows[None, :] - points[:, None]
            noise = np.clip(residuals, -self.threshold, self.threshold).sum(axis=1) - ridge * points
            curvature = ridge + (np.abs(residuals) < self.threshold).sum(axis=1)
            odds = -np.abs(noise) / scale if self.noise == "radial" else -((noise / scale) ** 2) / 2
            total += odds + np.log(curvature)
        return total
