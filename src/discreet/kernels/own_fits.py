"""What users answer in a sweep of private ALS, made of their own ratings: the same to the last bit wherever it is made.

    fit        (Σ_i v_i v_iᵀ + penalty) a_u = Σ_i t_ui v_i, and S_u, the posterior covariance of the last coefficients
    answer     κ M_u, z_u and y_ui, weighted: :mod:`discreet.models.sums.factor_sums` says what they mean

Processors differ in the order in which they add, and in whether a product is rounded before it is added. So that none
of this changes a bit, all sums over ratings and all inner products are of whole numbers that doubles hold exactly:

    v, t        multiples of a power of two, of so many bits that sums of products over all items fit in 53 bits
    a           multiples of 2⁻²⁰ within ±64; NaN and infinities count as 0
    w_u         1/√Σ_i q_i, with q_i the squared length of what is said of item i as a multiple of its maximum over i
                times 2⁻⁴⁰, rounded up: the answer is not longer than without rounding

What is left are single operations in a fixed order: Cholesky's method one column after the other, each product rounded.
:mod:`discreet.kernels.gpu_sweeps` does the same by torch.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER
from discreet.types import AnyArray, Booleans, Doubles, Floats, Indices, Offsets

EXACT_BITS = 53
MOST_BITS = 19
OWN_UNIT = 2.0**-20
"""Of a user's coefficients; they have the prior variance 1."""
MOST_OWN = 2.0**26
"""In units: ±64."""
SHARE_UNIT = 2.0**-40
"""Of a rating's share in the squared length of what its user says."""
LENGTH = 1 - 2.0**-30
"""The norm of a user's answer: a little below 1, as rounding in doubles must not lengthen it."""
AT_ONCE = 8
"""Ratings that are gathered at once."""
REGISTER = 4
"""Doubles in a vector register."""


@dataclass(frozen=True, eq=False)
class WholeRows:
    """Numbers as whole multiples of a power of two, held by doubles."""

    rows: Doubles
    unit: float

    @classmethod
    def of(cls, values: AnyArray, bits: int) -> "WholeRows":
        """The finest unit for which so many bits are enough; NaN and infinities count as 0.

        >>> WholeRows.of(np.array([1.0, 0.3, np.nan]), 2).rows.tolist()
        [2.0, 1.0, 0.0]
        """
        found = np.where(np.isfinite(values), values, 0).astype(np.float64)
        unit = unit_for(float(np.abs(found).max(initial=0.0)), bits)
        return cls(np.ascontiguousarray(np.rint(found / unit)), unit)


def unit_for(largest: float, bits: int) -> float:
    """A power of two of which nothing up to ``largest`` has more than ``2**bits``.

    >>> unit_for(3.0, 1)
    2.0
    """
    return math.ldexp(1.0, max(math.frexp(largest)[1], -400) - bits) if largest > 0 else 1.0


def bits_for(items: int) -> int:
    """How many bits keep sums of products over so many items exact.

    >>> bits_for(17_770), bits_for(10**6)
    (19, 16)
    """
    return min(MOST_BITS, (EXACT_BITS - max(items, 1).bit_length()) // 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepQuestion:
    """All that is public in a sweep.

    Parameters
    ----------
    position, weights
        Where every item stands in the list, −1 for nowhere; and how much each listed item counts.
    fitted, centre, roots, penalty, target_unit
        The fit: rows of items times the roots of their weights; what is taken off ratings, and these roots; the ridge
        penalty; and the unit of t.
    plain, base
        Rows whose part in the fit is taken off a rating before y, and what is taken off besides.
    factors
        How many coefficients, the last, are the user's factors.
    clip, constant, relative_weight, covariance_weight
        As in :class:`discreet.models.sums.factor_sums.FactorSums`.
    """

    position: Indices
    weights: Doubles
    fitted: WholeRows
    centre: Doubles
    roots: Doubles
    penalty: float
    target_unit: float
    plain: WholeRows
    base: Doubles
    factors: int
    clip: float
    constant: float
    relative_weight: float
    covariance_weight: float

    @property
    def bits(self) -> int:
        """Of t, and of the rows."""
        return bits_for(len(self.position))

    @property
    def whole_penalty(self) -> float:
        """The penalty beside products of whole rows."""
        return self.penalty / self.fitted.unit**2

    @property
    def own_scale(self) -> float:
        """From the solution in whole numbers to units of a coefficient."""
        return self.target_unit / self.fitted.unit / OWN_UNIT

    @property
    def square_scales(self) -> Doubles:
        """κ on the diagonal of a packed triangle, and √2 times as much off it."""
        rows, columns = np.tril_indices(self.factors + 1)
        return np.where(rows == columns, self.relative_weight, self.relative_weight * math.sqrt(2.0))


def own_answers(
    question: SweepQuestion, indptr: Offsets, items: Indices, values: Floats, kept: Booleans
) -> tuple[Doubles, Doubles, Doubles]:
    """w y of every rating that is kept (0 for others), and z and w κ M of every user, the latter packed."""
    f = question.factors + 1
    users, packed = len(indptr) - 1, f * (f + 1) // 2
    targets, factors, squares = np.zeros(len(items)), np.zeros((users, f)), np.zeros((users, packed))
    _own_answers(
        (indptr, items, values, kept),
        (question.position, question.weights**2),
        (question.fitted.rows, question.centre, question.roots, question.plain.rows, question.base),
        (
            question.whole_penalty, 1 / question.target_unit, 2.0**question.bits, question.own_scale,
            question.plain.unit * OWN_UNIT, question.clip, question.constant, question.covariance_weight,
        ),
        question.square_scales,
        (targets, factors, squares),
    )  # fmt: skip
    return targets, factors, squares


@njit(cache=True, fastmath=REORDER)
def _gather(first: int, last: int, items: Indices, targets: Doubles, rows: Doubles) -> Doubles:
    """The lower triangle of Σ (v, t)(v, t)ᵀ. All sums are exact, so they may be taken in any order.

    Rows are whole vector registers long, so that no cell is left to be added up by itself.
    """
    d = rows.shape[1]
    width = d // REGISTER * REGISTER + REGISTER
    sums, own = np.zeros((d + 1, width)), np.zeros((AT_ONCE, width))
    v0, v1, v2, v3, v4, v5, v6, v7 = own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7]
    for start in range(first, last, AT_ONCE):
        count = min(AT_ONCE, last - start)
        for row in range(count):
            i = items[start + row]
            for k in range(d):
                own[row, k] = rows[i, k]
            own[row, d] = targets[start + row - first]
        for row in range(count, AT_ONCE):
            own[row, :] = 0
        for a in range(d + 1):
            c0, c1, c2, c3, c4, c5, c6, c7 = v0[a], v1[a], v2[a], v3[a], v4[a], v5[a], v6[a], v7[a]
            cells = sums[a]
            for b in range((a // REGISTER + 1) * REGISTER):
                cells[b] += (
                    (c0 * v0[b] + c1 * v1[b] + c2 * v2[b] + c3 * v3[b])
                    + (c4 * v4[b] + c5 * v5[b] + c6 * v6[b] + c7 * v7[b])
                )  # fmt: skip
    return sums


@njit(cache=True, fastmath=REORDER)
def _product(one: Doubles, other: Doubles) -> float:
    """The inner product; exact, as it is of whole numbers."""
    total = 0.0
    for k in range(len(one)):
        total += one[k] * other[k]
    return total


@njit(cache=True)
def eliminate(upper: Doubles, inverse: Doubles, least: float) -> None:
    """Cholesky's method on the columns of a matrix with its right sides, column after column, in place."""
    d, width = upper.shape
    for k in range(d):
        own = upper[k]
        pivot = own[k]
        if not pivot > least:  # which only rounding can do
            pivot = least
        inverse[k] = 1 / np.sqrt(pivot)
        for j in range(k + 1, width):
            own[j] *= inverse[k]
        for i in range(k + 1, d):
            x, cells = own[i], upper[i]
            for j in range(i, width):
                cells[j] -= x * own[j]


@njit(cache=True)
def _corner(upper: Doubles, inverse: Doubles, first: int, corner: Doubles) -> None:
    """The last corner of the inverse of the matrix that was eliminated, lower triangle."""
    f = len(upper) - first
    turned = np.zeros((f, f))
    for k in range(f):
        turned[k, k] = 1.0
    for k in range(f):
        for b in range(k + 1):
            turned[k, b] *= inverse[first + k]
        for j in range(k + 1, f):
            x = upper[first + k, first + j]
            for b in range(k + 1):
                turned[j, b] -= x * turned[k, b]
    for k in range(f):
        for a in range(k + 1):
            for b in range(a + 1):
                corner[a, b] += turned[k, a] * turned[k, b]


@njit(cache=True, parallel=True)
def _own_answers(ratings, listed, public, constants, square_scales, out) -> None:  # type: ignore[no-untyped-def]
    indptr, items, values, kept = ratings
    position, squared_weights = listed
    fitted, centre, roots, plain, base = public
    penalty, per_target, most_target, own_scale, known_unit, clip, constant, covariance_weight = constants
    targets, factors, squares = out
    d, f, rest = fitted.shape[1], factors.shape[1], plain.shape[1]
    for u in prange(len(indptr) - 1):
        first, last = indptr[u], indptr[u + 1]
        own_targets = np.empty(last - first)
        for at in range(first, last):
            i = items[at]
            t = np.rint((np.float64(values[at]) - centre[i]) * roots[i] * per_target)
            if not t >= -most_target:
                t = -most_target if t < 0 else 0.0
            own_targets[at - first] = min(t, most_target)
        sums = _gather(first, last, items, own_targets, fitted)
        upper, inverse = np.zeros((d, d + 1)), np.empty(d)
        for a in range(d):
            for b in range(a, d + 1):
                upper[a, b] = sums[b, a]
            upper[a, a] += penalty
        eliminate(upper, inverse, penalty / 2)
        own = np.empty(d)
        for k in range(d - 1, -1, -1):
            x = upper[k, d] * inverse[k]
            for j in range(k):
                upper[j, d] -= upper[j, k] * x
            x = np.rint(x * own_scale)
            if not np.isfinite(x):
                x = 0.0
            own[k] = min(max(x, -MOST_OWN), MOST_OWN)
        corner = np.zeros((f - 1, f - 1))
        _corner(upper, inverse, d - f + 1, corner)
        z, packed = factors[u], squares[u]
        z[0] = constant
        for a in range(1, f):
            z[a] = own[rest + a - 1] * OWN_UNIT
        place, of_squares, of_factors = 0, 0.0, 0.0
        for a in range(f):
            of_factors += z[a] * z[a]
            for b in range(a + 1):
                cell = z[a] * z[b]
                if b > 0:
                    unknown = corner[a - 1, b - 1] * penalty
                    if np.isfinite(unknown):
                        cell += unknown * covariance_weight
                cell *= square_scales[place]
                of_squares += cell * cell
                packed[place] = cell
                place += 1
        largest = 0.0
        known_part = own[:rest]
        for at in range(first, last):
            if kept[at]:
                i = items[at]
                y = (np.float64(values[at]) - base[i]) - _product(plain[i], known_part) * known_unit
                if not y >= -clip:
                    y = -clip if y < 0 else 0.0
                y = min(y, clip)
                targets[at] = y
                share = (y * y * of_factors + of_squares) * squared_weights[position[i]]
                own_targets[at - first] = share
                largest = max(largest, share)
        whole = np.int64(0)
        for at in range(first, last):
            if kept[at] and largest > 0:
                whole += int(np.ceil(own_targets[at - first] / largest / SHARE_UNIT))
        weight = 0.0
        if whole > 0:
            weight = LENGTH / np.sqrt(largest * (whole * SHARE_UNIT))
        for at in range(first, last):
            targets[at] *= weight
        for place in range(len(packed)):
            packed[place] *= weight
