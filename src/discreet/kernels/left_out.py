"""How well everyone's own ratings foresee each other, by ridge regressions with several penalties.

For a user with rows v_i and targets t_i, and for each penalty P (a diagonal), with A = Σ_i v_i v_iᵀ + P and a its
solution for Σ_i t_i v_i, the error at rating i of the fit to all the others is known without fitting anew:

    e_i  =  (t_i − v_iᵀ a) / (1 − v_iᵀ A⁻¹ v_i)

Sums are in one order and no product is fused, so a user's errors are the same to the last bit wherever they are made.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.own_fits import eliminate
from discreet.types import Booleans, Doubles, Floats, Indices, Offsets

LEAST_PIVOT = 1e-12
"""Of a matrix that only rounding made singular."""


@njit(cache=True)
def _one_in(items: Indices, count: int) -> bool:
    """Whether a user with these items is one in so many: by a hash of the items, whatever their order."""
    mixed = np.uint64(0)
    for item in items:
        own = np.uint64(item + 1) * np.uint64(0x9E3779B97F4A7C15)
        own ^= own >> np.uint64(29)
        mixed += own * own
    return bool((mixed >> np.uint64(32)) % np.uint64(count) == 0)


@njit(cache=True)
def one_user_in(indptr: Offsets, items: Indices, count: int) -> Booleans:
    """Which users are asked where one in so many is."""
    found = np.zeros(len(indptr) - 1, dtype=np.bool_)
    for u in range(len(found)):
        found[u] = _one_in(items[indptr[u] : indptr[u + 1]], count)
    return found


@njit(cache=True, parallel=True)
def left_out_errors(
    indptr: Offsets,
    items: Indices,
    values: Floats,
    base: Doubles,
    rows: Doubles,
    roots: Doubles,
    penalties: Doubles,
    most: int,
    one_in: int,
) -> Doubles:
    """For each user and each row of ``penalties`` the sum over ratings of e_i²/root_i², users by penalties.

    Rows are those of items times their roots; targets are values less the base, times the root. Of users with more than
    ``most`` ratings so many at most are left out in turn, evenly spread, and count for all. One user in so many is
    asked; the others have zeros.

    >>> one = np.ones((1, 1))
    >>> data = np.array([0, 2], dtype=np.int64), np.zeros(2, dtype=np.int32), np.array([1, 3], dtype=np.float32)
    >>> left_out_errors(*data, 0 * one[0], one, one[0], one, 9, 1).round(9).tolist()  # 1 − 3/2 and 3 − 1/2
    [[6.5]]
    """
    users, d, count = len(indptr) - 1, rows.shape[1], len(penalties)
    found = np.zeros((users, count))
    for u in prange(users):
        first, last = indptr[u], indptr[u + 1]
        if first == last or (one_in > 1 and not _one_in(items[first:last], one_in)):
            continue
        left_out = np.arange(first, last, -(-(last - first) // most))
        gram, wide, inverse = np.zeros((d, d)), np.empty((d, d + 1 + len(left_out))), np.empty(d)
        moment = np.zeros(d)
        for at in range(first, last):
            i = items[at]
            row, target = rows[i], (np.float64(values[at]) - base[i]) * roots[i]
            for a in range(d):
                moment[a] += target * row[a]
                x, cells = row[a], gram[a]
                for b in range(a, d):
                    cells[b] += x * row[b]
        for g in range(count):
            for a in range(d):
                wide[a, a:d] = gram[a, a:]
                wide[a, a] += penalties[g, a]
                wide[a, d] = moment[a]
                for j in range(len(left_out)):
                    wide[a, d + 1 + j] = rows[items[left_out[j]], a]
            eliminate(wide, inverse, LEAST_PIVOT)
            expected, leverages = np.zeros(len(left_out)), np.zeros(len(left_out))
            for a in range(d):
                x, cells = wide[a, d], wide[a, d + 1 :]
                for j in range(len(left_out)):
                    expected[j] += x * cells[j]
                    leverages[j] += cells[j] * cells[j]
            total = 0.0
            for j in range(len(left_out)):
                at = left_out[j]
                i = items[at]
                target = (np.float64(values[at]) - base[i]) * roots[i]
                error = (target - expected[j]) / max(1 - leverages[j], LEAST_PIVOT) / roots[i]
                total += error * error
            found[u, g] = total * (last - first) / len(left_out)
    return found
