"""Many small ridge problems at once: one for each user (or item), solved exactly, in parallel.

Row ``u`` has rated some items; with their factors ``v_i`` and targets ``t_ui`` it solves::

    (base + Σ_i (weight v_i v_iᵀ + diag(penalty_of_a_rating))) x_u  =  Σ_i t_ui v_i

which is ridge regression with a fixed part of the penalty in ``base`` and a part that grows with the number
of ratings. With ``base`` holding a share of VᵀV it is also the half-step of implicit-feedback ALS.
"""

import numpy as np
from numba import njit, prange

from discreet.types import AnyArray, Floats, Indices, Offsets

TINY = np.float32(1e-12)  # a pivot that rounding took below 0
# Sums may be taken in any order and products fused, which lets them be vectorised; nothing is approximated.
REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=REORDER)
def gather(
    first: int, last: int, items: Indices, targets: Floats, factors: Floats, weight: float, gram: Floats, moment: Floats
) -> None:
    """Add ``Σ weight v vᵀ`` (lower triangle) to ``gram`` and ``Σ t v`` to ``moment``, four rows at a time."""
    d = factors.shape[1]
    w = np.float32(weight)
    row = first
    while row + 4 <= last:
        i0, i1, i2, i3 = items[row], items[row + 1], items[row + 2], items[row + 3]
        t0, t1, t2, t3 = targets[row], targets[row + 1], targets[row + 2], targets[row + 3]
        for k in range(d):
            moment[k] += t0 * factors[i0, k] + t1 * factors[i1, k] + t2 * factors[i2, k] + t3 * factors[i3, k]
        for a in range(d):
            c0, c1, c2, c3 = w * factors[i0, a], w * factors[i1, a], w * factors[i2, a], w * factors[i3, a]
            for b in range(a + 1):
                gram[a, b] += c0 * factors[i0, b] + c1 * factors[i1, b] + c2 * factors[i2, b] + c3 * factors[i3, b]
        row += 4
    while row < last:
        i0, t0 = items[row], targets[row]
        for k in range(d):
            moment[k] += t0 * factors[i0, k]
        for a in range(d):
            c0 = w * factors[i0, a]
            for b in range(a + 1):
                gram[a, b] += c0 * factors[i0, b]
        row += 1


@njit(cache=True, fastmath=REORDER)
def cholesky(matrix: AnyArray) -> None:
    """Overwrite the lower triangle of a positive definite matrix by its Cholesky factor, row by row."""
    d = matrix.shape[0]
    for a in range(d):
        for b in range(a):
            total = matrix[a, b]
            for k in range(b):
                total -= matrix[a, k] * matrix[b, k]
            matrix[a, b] = total / matrix[b, b]
        total = matrix[a, a]
        for k in range(a):
            total -= matrix[a, k] * matrix[a, k]
        matrix[a, a] = np.sqrt(max(total, TINY))


@njit(cache=True, fastmath=REORDER)
def substitute(triangle: Floats, vector: Floats) -> None:
    """Overwrite ``vector`` by the solution of ``L Lᵀ x = vector``."""
    d = len(vector)
    for a in range(d):
        total = vector[a]
        for k in range(a):
            total -= triangle[a, k] * vector[k]
        vector[a] = total / triangle[a, a]
    for a in range(d - 1, -1, -1):
        x = vector[a] / triangle[a, a]
        vector[a] = x
        for k in range(a):
            vector[k] -= triangle[a, k] * x


@njit(cache=True, parallel=True, fastmath=REORDER)
def solve_rows(
    indptr: Offsets,
    items: Indices,
    targets: Floats,
    factors: Floats,
    base: Floats,
    weight: float,
    penalty_of_a_rating: Floats,
) -> Floats:
    """Solve the problem of every row; a row without ratings gets zeros.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([8], dtype=np.float32)
    >>> solve_rows(*data, one, 3 * one, 1.0, 0 * one[0]).tolist()
    [[2.0]]
    """
    rows, d = len(indptr) - 1, factors.shape[1]
    solved = np.zeros((rows, d), dtype=np.float32)
    for u in prange(rows):
        first, last = indptr[u], indptr[u + 1]
        if first < last:
            gram = base.copy()
            gather(first, last, items, targets, factors, weight, gram, solved[u])
            for a in range(d):
                gram[a, a] += penalty_of_a_rating[a] * (last - first)
            cholesky(gram)
            substitute(gram, solved[u])
    return solved
