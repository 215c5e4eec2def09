"""Many small ridge problems at once: one for each user (or item), solved exactly, in parallel.

Row ``u`` has rated some items; with their factors ``v_i`` and targets ``t_ui`` it solves::

    (base + Σ_i (weight v_i v_iᵀ + diag(penalty_of_a_rating))) x_u  =  Σ_i t_ui v_i

which is ridge regression with a fixed part of the penalty in ``base`` and a part that grows with the number
of ratings. With ``base`` holding a share of VᵀV it is also the half-step of implicit-feedback ALS.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import AnyArray, Floats, Indices, Offsets

TINY = np.float32(1e-12)  # a pivot that rounding took below 0
# Sums may be taken in any order and products fused, which lets them be vectorised; nothing is approximated.
REORDER = {"reassoc", "contract", "nsz"}
EIGHT = 8  # rows that are gathered at once
REGISTER = 8  # numbers of float32 in a vector register


@njit(cache=True, fastmath=REORDER)
def gather(
    first: int, last: int, items: Indices, targets: Floats, factors: Floats, weight: float, gram: Floats, moment: Floats
) -> None:
    """Add ``Σ weight v vᵀ`` (lower triangle) to ``gram`` and ``Σ t v`` to ``moment``, eight rows at a time.

    The sums are made beside it, in rows of whole vector registers, and added at the end.
    """
    d = factors.shape[1]
    width = (d + REGISTER - 1) // REGISTER * REGISTER
    sums = np.zeros((d, width), dtype=np.float32)
    own = np.zeros((EIGHT, width), dtype=np.float32)
    v0, v1, v2, v3, v4, v5, v6, v7 = own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7]
    for start in range(first, last, EIGHT):
        rows = min(EIGHT, last - start)
        for row in range(rows):
            i, t = items[start + row], targets[start + row]
            for k in range(d):
                own[row, k] = factors[i, k]
                moment[k] += t * factors[i, k]
        for row in range(rows, EIGHT):
            own[row, :] = 0
        for a in range(d):
            c0, c1, c2, c3, c4, c5, c6, c7 = v0[a], v1[a], v2[a], v3[a], v4[a], v5[a], v6[a], v7[a]
            cells = sums[a]
            for b in range((a // REGISTER + 1) * REGISTER):
                cells[b] += (
                    (c0 * v0[b] + c1 * v1[b] + c2 * v2[b] + c3 * v3[b])
                    + (c4 * v4[b] + c5 * v5[b] + c6 * v6[b] + c7 * v7[b])
                )  # fmt: skip
    w = np.float32(weight)
    for a in range(d):
        for b in range(a + 1):
            gram[a, b] += w * sums[a, b]


@njit(cache=True, fastmath=REORDER)
def cholesky(matrix: AnyArray) -> None:
    """Overwrite the lower triangle of a positive definite matrix by its Cholesky factor, four rows at a time.

    Four rows make four independent sums, which a processor works out at once; a single one it would wait for.
    """
    d = matrix.shape[0]
    inverse = np.empty(d, dtype=matrix.dtype)  # of the diagonal: products are quicker than divisions
    for top in range(0, d, 4):
        done = 0
        if top + 4 <= d:
            done = top
            r0, r1, r2, r3 = matrix[top], matrix[top + 1], matrix[top + 2], matrix[top + 3]
            for b in range(top):
                other = matrix[b]
                t0, t1, t2, t3 = r0[b], r1[b], r2[b], r3[b]
                for k in range(b):
                    x = other[k]
                    t0 -= r0[k] * x
                    t1 -= r1[k] * x
                    t2 -= r2[k] * x
                    t3 -= r3[k] * x
                x = inverse[b]
                r0[b], r1[b], r2[b], r3[b] = t0 * x, t1 * x, t2 * x, t3 * x
        for a in range(top, min(top + 4, d)):  # what is left: the corner of these rows, or the last rows whole
            for b in range(done, a + 1):
                total = matrix[a, b]
                for k in range(b):
                    total -= matrix[a, k] * matrix[b, k]
                if b < a:
                    matrix[a, b] = total * inverse[b]
                else:
                    matrix[a, a] = np.sqrt(max(total, TINY))
                    inverse[a] = 1 / matrix[a, a]


@njit(cache=True, fastmath=REORDER)
def substitute(triangle: AnyArray, vector: AnyArray) -> None:
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
