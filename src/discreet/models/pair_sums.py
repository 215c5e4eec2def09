"""Products of what users said about two items, as one bounded sum over users.

With x_ui the residual of a rating in units of the clip, cut to ±1, e_u the mark of what u rated among the listed items,
c = Σ_i e_ui and a constant κ, a user adds

    w_u (x_u x_uᵀ,  κ² e_u e_uᵀ)

numerator and denominator together, of which the upper triangle is sent. Three weights, three bounds:

Off the diagonal the cells of the two L2 sums are sent √2 times as large, so that a triangle is as long as its matrix.

**L2, one rating** (``w = 1/‖y‖`` with y = (x, κe)). Adding or removing one moves the sum by at most
√(2 (1 + κ⁴) / (1 + κ²)), for κ ≤ 1.

*Proof.* Let b = κ², X = ‖x‖² ≤ c, E = bc, S = X + E, and the new rating add a = x² ≤ 1 to X and b to E; S' = S + a + b.
The old and the new pair of matrices have squared lengths (X² + E²)/S and ((X+a)² + (E+b)²)/S', and their product is
(X² + E²)/√(SS'), so the square of the distance is

    (X² + E²)(1/√S − 1/√S')²  +  (2aX + 2bE + a² + b²)/S'

In the first term X² + E² ≤ S² and √S' − √S ≤ (a+b)/(2√S), so it is at most (a+b)²/(4S'). Let m = (1+b²)/(1+b).
As a ≤ 1 and X/S ≤ 1/(1+b): aX + bE ≤ mS. As (a²+b²)/(a+b) is convex in a, it is at most its value at 0 or 1, b or m:
at most m, for b ≤ 1. And (a+b)/4 ≤ (1+b)/4 ≤ m. Together (2mS + 2m(a+b))/S' = 2m. For c = 0 it is (a²+b²)/(a+b) ≤ m. ∎
No cap on c; an active user comes as near as one likes.

If residuals are also centred by the user's own mean, x_ui = cut(d_ui − m_u), where d is cut to ±D first and
m_u = Σd/(c + β), the bound is √2 √(1 + κ² + D²/(1 + β)).

*Proof.* Let f(y) = y yᵀ/‖y‖, f(0) = 0. A step h = a ŷ + b t (t ⊥ y) moves f by a ŷŷᵀ + b (ŷtᵀ + tŷᵀ), of squared
length a² + 2b² ≤ 2‖h‖². So f is Lipschitz with constant √2 (it is continuous, and a segment through 0 is the limit of
segments beside it), and what is sent are two blocks of f(y). One rating is a new place in x of at most 1 and one in κe
of κ, and it moves m_u by (d − m_u)/(c + 1 + β), at most 2D/(c + 1 + β), and so the c other places by no more than that
each: together √c 2D/(c + 1 + β) ≤ D/√(1 + β). ∎

**L2, one user** (``w = 1/√(‖x‖⁴ + κ⁴c²)``). Every user's pair of matrices has length 1 (or 0). ∎

**L1, one rating** (``w = 1/c``, not centred): at most 3/2 (1 + κ²).

*Proof.* With c ratings before: the c(c+1)/2 cells of the upper triangle of x xᵀ that were there shrink by at most
1/c − 1/(c+1) = 1/(c(c+1)) each, together by 1/2; the c + 1 new ones are at most 1/(c+1) each, together 1. For c = 0 it
is 1. The same for e, times κ². ∎
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.covariance import diagonal_places, packed_length, unpacked, weighted_moments
from discreet.populations.contribution import Contribution
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles, Floats, Indices

Weighting = Literal["rating, l2", "user, l2", "rating, l1"]

LONGEST = 2.0
"""The D above, in units of the clip: how far a residual may pull the user's own mean."""


@dataclass(frozen=True, eq=False)
class PairSums:
    """What is asked for: the listed items, what is expected of each, and how users are weighted.

    Parameters
    ----------
    listed
        Positions of the items in the catalogue, increasing. Public.
    base
        The expected rating of every item of the catalogue. Public.
    clip
        The unit of residuals, and the furthest one counts, in points of the scale.
    beside
        The κ² above, at most 1: how much the weights count beside the products.
    user_damping
        The β above, to centre by the user's own mean; None not to.
    weighting
        Which of the three weights and bounds.
    """

    listed: Indices
    base: Floats
    clip: float
    beside: float
    user_damping: float | None
    weighting: Weighting

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population."""
        shape = (2, packed_length(len(self.listed)))
        return Contribution("products of pairs of items, and their weights", shape, self._total, self._bounds)

    def matrices(self, sums: AnyArray) -> tuple[Floats, Floats]:
        """The two symmetric matrices A and W of a (noisy) total."""
        size = len(self.listed)
        products, weights = sums
        scale = 1 / math.sqrt(2) if self.weighting != "rating, l1" else 1.0
        both = []
        for packed, unit in ((products, scale), (weights, scale / self.beside)):
            matrix = unpacked(packed, size) * np.float32(unit)
            np.fill_diagonal(matrix, packed[diagonal_places(size)] * (unit / scale))
            both.append(matrix)
        return both[0], both[1]

    def deviations(self, of_a_cell: float) -> tuple[float, float]:
        """The noise on the matrices off their diagonals, for noise on a cell of the total."""
        scale = 1 / math.sqrt(2) if self.weighting != "rating, l1" else 1.0
        return of_a_cell * scale, of_a_cell * scale / self.beside

    @property
    def _bounds(self) -> tuple[Bound, ...]:
        if self.weighting == "user, l2":
            return (Bound("user", "l2", 1.0),)
        if self.weighting == "rating, l1":
            return (Bound("rating", "l1", 1.5 * (1 + self.beside)),) if self.user_damping is None else ()
        if self.user_damping is None:
            moved = (1 + self.beside**2) / (1 + self.beside)
        else:
            moved = 1 + self.beside + LONGEST**2 / (1 + self.user_damping)
        return (Bound("rating", "l2", math.sqrt(2 * moved)),)

    def _total(self, ratings: Ratings) -> Doubles:
        size = len(self.listed)
        indptr, items, values = self.residuals(ratings)
        squares = _sums_of_users(indptr, values.astype(np.float64) ** 2)
        counts = np.diff(indptr).astype(np.float64)
        if self.weighting == "user, l2":
            length = np.sqrt(squares**2 + (self.beside * counts) ** 2)
        elif self.weighting == "rating, l2":
            length = np.sqrt(squares + self.beside * counts)
        else:
            length = counts
        weights = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        sums = weighted_moments(indptr, items, values, weights, size)
        sums[1] *= self.beside
        if self.weighting != "rating, l1":
            diagonal = diagonal_places(size)
            kept = sums[:, diagonal]
            sums *= math.sqrt(2)
            sums[:, diagonal] = kept
        return np.asarray(sums)

    def residuals(self, ratings: Ratings) -> tuple[AnyArray, Indices, Floats]:
        """At home: what each user says about the listed items, ``(indptr, positions in the list, x)``."""
        position = np.full(ratings.n_items, -1, dtype=np.int32)
        position[self.listed] = np.arange(len(self.listed), dtype=np.int32)
        items = position[ratings.item_index]
        kept = items >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr = before[ratings.indptr].astype(np.int64)
        values = ((ratings.values - self.base[ratings.item_index])[kept] / np.float32(self.clip)).astype(np.float32)
        if self.user_damping is not None:
            np.clip(values, -LONGEST, LONGEST, out=values)
            counts = np.diff(indptr)
            means = _sums_of_users(indptr, values.astype(np.float64)) / np.maximum(counts + self.user_damping, 1e-9)
            values = (values - np.repeat(means, counts)).astype(np.float32)
        return indptr, items[kept], np.clip(values, -1, 1)


def _sums_of_users(indptr: AnyArray, values: Doubles) -> Doubles:
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.asarray(np.bincount(users, weights=values, minlength=len(indptr) - 1), dtype=np.float64)
