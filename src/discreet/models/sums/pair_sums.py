"""Products of users' residuals on two items, and co-occurrence weights, as one bounded sum over users.

With x_ui the residual of a rating in units of the clip, clipped to ±1, e_ui = 1 for the listed items that u rated and 0
otherwise, c = Σ_i e_ui and a constant κ, a user adds

    w_u (x_u x_uᵀ,  κ² e_u e_uᵀ)

numerator and denominator together, of which the upper triangle is sent. There are three weights w, with a bound each.
In the two L2 sums, cells off the diagonal are sent √2 times as large, so that a triangle has the norm of its matrix.

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

If residuals are also centred by the user's own mean, x_ui = clip(d_ui − m_u), where d is clipped to ±D first and
m_u = Σd/(c + β), the bound is √2 √(1 + κ² + D²/(1 + β)).

*Proof.* Let f(y) = y yᵀ/‖y‖, f(0) = 0. A step h = a ŷ + b t (t ⊥ y) moves f by a ŷŷᵀ + b (ŷtᵀ + tŷᵀ), of squared
length a² + 2b² ≤ 2‖h‖². So f is Lipschitz with constant √2 (it is continuous, and a segment through 0 is the limit of
segments next to it), and what is sent are two blocks of f(y). One rating is a new place in x of at most 1 and one in κe
of κ, and it moves m_u by (d − m_u)/(c + 1 + β), at most 2D/(c + 1 + β), and so the c other places by no more than that
each: together √c 2D/(c + 1 + β) ≤ D/√(1 + β). ∎

**L2, one user** (``w = 1/√(‖x‖⁴ + κ⁴c²)``). Every user's pair of matrices has length 1 (or 0). Exchanged for another
user's it moves by √2 at most: ⟨x xᵀ, y yᵀ⟩ = (x·y)² ≥ 0, and the same for e. ∎

**L1, one rating** (``w = 1/c``, not centred): at most 3/2 (1 + κ²).

*Proof.* With c ratings before: the c(c+1)/2 cells of the upper triangle of x xᵀ that were there shrink by at most
1/c − 1/(c+1) = 1/(c(c+1)) each, together by 1/2; the c + 1 new ones are at most 1/(c+1) each, together 1. For c = 0 it
is 1. The same for e, times κ². ∎

**In whole numbers.** x is a multiple of 2⁻ᵖ and w a multiple of 2⁻ᵠ, rounded down. So every user adds whole multiples
of 2⁻⁽²ᵖ⁺ᵠ⁾, of which there are at most 2³⁹ in a cell; sums over up to 2²³ users (``MOST_USERS`` of the populations) are
exact in 64 bits, and the same in whatever order users come, in whatever parts and by however many threads they are
added. Let n be the number of listed items. To the bounds, which hold for any x within ±1, this adds, at most:

    L2, one rating                3n 2⁻ᵠ + n 2⁻²⁶           centred: √(2n) 2⁻ᵖ more
    L2, one user                  n 2⁻²⁶
    L1, one rating                n² 2⁻ᵠ + n 2⁻²⁶

*Proof.* Rounding lessens w by at most 2⁻ᵠ, and with it each of a user's two pairs of matrices by at most 2⁻ᵠ times
‖(x xᵀ, κ² e eᵀ)‖ ≤ √2 n, together less than 3n 2⁻ᵠ; that makes no user longer than 1. In L1 each of at most n(n−1)/2
old cells moves by 2⁻ᵠ more, in both matrices, and (1 + κ²)/2 ≤ 1. Where residuals are centred, d is rounded before,
and d − m_u after: that moves every one of the c places by at most 2⁻ᵖ more, and f is Lipschitz with constant √2. What
is left is one product of each exact sum by a constant (κ² and √2), in doubles. It is the same for equal sums, so only
cells that the unit touches count; it errs by 2⁻⁵² of the cell, twice. In L2 a cell is at most √2 2²³, as
w |x_i x_j| ≤ 1, κ² w ≤ 1, and at most n(n+1) cells are touched: at most 2⁻²⁶ n. In L1 all cells of any c items together
are at most (1 + κ²) c 2²³, since a user v adds |C ∩ C_v|² cells of at most 1/|C ∩ C_v|: less again. ∎ Weights w are
computed to within 2⁻⁵⁰ of themselves, for which noise is made anyway (``FLOAT_MARGIN`` of the populations).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.kernels.covariance import diagonal_places, packed_length, unpacked, weighted_moments
from discreet.kernels.gpu_pairs import PairQuestion, PairTotals, pair_totals
from discreet.populations.contribution import Contribution
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles, Floats, Indices

Weighting = Literal["rating, l2", "user, l2", "rating, l1"]

USERS_AT_ONCE = 1 << 16
"""Users whose residuals are in memory at once."""
CELLS_AT_ONCE = 1 << 20
"""Cells that are scaled at once."""


@dataclass(frozen=True)
class _Constants:
    """Of the bounds above. 2p + q is at most 39 bits for each cell."""

    mean_clip: float = 2.0
    """The D above, in units of the clip: where residuals are clipped in the user's own mean."""
    bits: tuple[int, int] = (4, 31)
    """The p and q above. Residuals that are not centred can be rounded at no cost, weights cannot."""
    bits_of_users: tuple[int, int] = (4, 23)
    """The same for one user, whose bound does not depend on q: fewer bits are fewer products of bytes on a GPU."""
    bits_of_centred: tuple[int, int] = (10, 19)
    """The same where residuals are centred: rounding them moves all residuals of a user, so they are finer."""


CONSTANTS = _Constants()


@dataclass(frozen=True, eq=False)
class PairSums:
    """What is asked for: the listed items, the expected rating of each, and how users are weighted.

    Parameters
    ----------
    listed
        Positions of the items in the catalogue, increasing. Public.
    base
        The expected rating of every item of the catalogue. Public.
    clip
        Where residuals are clipped, which is also their unit, in points of the scale.
    relative_weight
        The κ² above, between 1/256 and 1.
    user_damping
        The β above, to centre by the user's own mean; None not to.
    weighting
        Which of the three weights and bounds.
    """

    listed: Indices
    base: Floats
    clip: float
    relative_weight: float
    user_damping: float | None
    weighting: Weighting

    def __post_init__(self) -> None:
        require(
            2.0**-8 <= self.relative_weight <= 1,
            f"relative_weight must lie between 1/256 and 1, got {self.relative_weight}",
        )

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population."""
        shape = (2, packed_length(len(self.listed)))
        name = "products of pairs of items, and their weights"
        if math.isinf(self.clip):  # all products are 0
            name = "how often pairs of items were rated together"
        return Contribution(
            name,
            shape,
            self._whole_total,
            self._bounds,
            finish=self._scaled,
            largest=math.sqrt(2),  # w |x_i x_j| and κ² w are at most 1 (above)
            signed=math.isfinite(self.clip),
            on_torch=self._whole_total_by_torch,
        )

    def matrices(self, sums: AnyArray) -> tuple[Floats, Floats]:
        """The two symmetric matrices A and W of a (noisy) total."""
        size = len(self.listed)
        products, weights = sums
        scale = 1 / math.sqrt(2) if self.weighting != "rating, l1" else 1.0
        both = []
        for packed, unit in ((products, scale), (weights, scale / self.relative_weight)):
            matrix = unpacked(packed, size) * np.float32(unit)
            np.fill_diagonal(matrix, packed[diagonal_places(size)] * (unit / scale))
            both.append(matrix)
        return both[0], both[1]

    def deviations(self, of_a_cell: float) -> tuple[float, float]:
        """The noise on the matrices off their diagonals, for noise on a cell of the total."""
        scale = 1 / math.sqrt(2) if self.weighting != "rating, l1" else 1.0
        return of_a_cell * scale, of_a_cell * scale / self.relative_weight

    @property
    def _bits(self) -> tuple[int, int]:
        if self.user_damping is not None:
            return CONSTANTS.bits_of_centred
        return CONSTANTS.bits_of_users if self.weighting == "user, l2" else CONSTANTS.bits

    @property
    def _bounds(self) -> tuple[Bound, ...]:
        size, (p, q) = len(self.listed), self._bits
        rounding = size * 2.0**-26
        if self.weighting == "user, l2":
            return (Bound("user", "l2", 1.0 + rounding, replace=math.sqrt(2) + rounding),)
        if self.weighting == "rating, l1":
            rounding += size**2 * 2.0**-q
            return (
                (Bound("rating", "l1", 1.5 * (1 + self.relative_weight) + rounding),)
                if self.user_damping is None
                else ()
            )
        rounding += 3 * size * 2.0**-q
        if self.user_damping is None:
            moved = (1 + self.relative_weight**2) / (1 + self.relative_weight)
        else:
            moved = 1 + self.relative_weight + CONSTANTS.mean_clip**2 / (1 + self.user_damping)
            rounding += math.sqrt(2 * size) * 2.0**-p
        return (Bound("rating", "l2", math.sqrt(2 * moved) + rounding),)

    def _whole_total(self, ratings: Ratings) -> AnyArray:
        size = len(self.listed)
        sums = np.zeros((2, packed_length(size)), dtype=np.int64)
        for first in range(0, ratings.n_users, USERS_AT_ONCE):
            block = ratings.select_users(np.arange(first, min(first + USERS_AT_ONCE, ratings.n_users)))
            indptr, items, values = self.residuals(block)
            whole = (values * np.float32(2.0 ** self._bits[0])).astype(np.int16)
            weighted_moments(indptr, items, whole, self._weights(indptr, whole), size, out=sums)
        return sums

    def _whole_total_by_torch(self, parts: Iterable[Ratings]) -> AnyArray:
        return self.on_device(parts).packed()

    def on_device(self, parts: Iterable[Ratings]) -> PairTotals:
        """The same numbers over several parts, made of the ratings on a GPU and still there."""
        position = np.full(len(self.base), -1, dtype=np.int32)
        position[self.listed] = np.arange(len(self.listed), dtype=np.int32)
        question = PairQuestion(
            position=position,
            size=len(self.listed),
            base=self.base,
            clip=self.clip,
            damping=self.user_damping,
            mean_clip=CONSTANTS.mean_clip,
            bits=self._bits,
            weighting=self.weighting,
            relative_weight=self.relative_weight,
        )
        columns = ((part.indptr, part.item_index, part.values) for part in parts)
        return pair_totals(question, columns)

    def _weights(self, indptr: AnyArray, values: AnyArray) -> AnyArray:
        """What each user's products count, in units of 2⁻ᵠ."""
        p, q = self._bits
        squares = _sums_of_users(indptr, values.astype(np.float64) ** 2) * 4.0**-p
        counts = np.diff(indptr).astype(np.float64)
        if self.weighting == "user, l2":
            length = np.sqrt(squares**2 + (self.relative_weight * counts) ** 2)
        elif self.weighting == "rating, l2":
            length = np.sqrt(squares + self.relative_weight * counts)
        else:
            length = counts
        return np.divide(2.0**q, length, out=np.zeros_like(length), where=length > 0).astype(np.int64)

    def _scaled(self, sums: AnyArray) -> Doubles:
        """Whole sums as what is sent, in their own memory: the larger part of all that is needed."""
        p, q = self._bits
        units = np.array([[2.0 ** -(2 * p + q)], [self.relative_weight * 2.0**-q]])
        places = diagonal_places(len(self.listed))
        diagonal = sums[:, places] * units
        scaled = sums.view(np.float64)
        off_diagonal = units * (1.0 if self.weighting == "rating, l1" else math.sqrt(2))
        for first in range(0, sums.shape[1], CELLS_AT_ONCE):
            cells = slice(first, first + CELLS_AT_ONCE)
            scaled[:, cells] = sums[:, cells] * off_diagonal
        scaled[:, places] = diagonal
        return scaled

    def residuals(self, ratings: Ratings) -> tuple[AnyArray, Indices, Floats]:
        """At home: each user's residuals on the listed items, ``(indptr, positions in the list, x)``."""
        position = np.full(ratings.n_items, -1, dtype=np.int32)
        position[self.listed] = np.arange(len(self.listed), dtype=np.int32)
        items = position[ratings.item_index]
        kept = items >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr = before[ratings.indptr].astype(np.int64)
        values = self._rounded((ratings.values - self.base[ratings.item_index])[kept] / np.float32(self.clip))
        if self.user_damping is not None:
            np.clip(values, -CONSTANTS.mean_clip, CONSTANTS.mean_clip, out=values)
            counts = np.diff(indptr)
            means = _sums_of_users(indptr, values.astype(np.float64)) / np.maximum(counts + self.user_damping, 1e-9)
            values = self._rounded(values - np.repeat(means, counts))
        return indptr, items[kept], np.clip(values, -1, 1)

    def _rounded(self, values: AnyArray) -> Floats:
        """To multiples of 2⁻ᵖ; single precision holds them as they are."""
        steps = 2.0 ** self._bits[0]
        return np.asarray(np.rint(values * steps) / steps, dtype=np.float32)


def _sums_of_users(indptr: AnyArray, values: Doubles) -> Doubles:
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.asarray(np.bincount(users, weights=values, minlength=len(indptr) - 1), dtype=np.float64)


def weight_of_a_rating(weights: Floats, counts: AnyArray, weighting: Weighting) -> float:
    """The average w_u, from the weights of pairs and the counts of their items."""
    ratio = float(np.trace(weights)) / max(float(counts.sum()), 1e-9)
    return ratio**2 if weighting == "user, l2" else ratio  # counts are weighted by about 1/√n there
