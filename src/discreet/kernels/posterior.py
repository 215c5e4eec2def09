"""Ridge problems of many users at once, with what remains unknown of the last few coefficients of each.

Row ``u`` solves ``(Σ_i v_i v_iᵀ + penalty I) x_u = Σ_i t_ui v_i`` as :func:`~discreet.kernels.ridge.solve_rows` does.
With L Lᵀ the matrix on the left and T the last d × d corner of L, the last d × d corner of its inverse is (T Tᵀ)⁻¹:
what is left after all other coefficients are eliminated.
"""

from typing import Any

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER, cholesky, gather, substitute
from discreet.types import Floats, Indices, Offsets


@njit(cache=True, fastmath=REORDER)
def _inverse_of_square(triangle: Floats, first: int, packed: Floats) -> None:
    """The packed lower triangle of ``(T Tᵀ)⁻¹`` for the corner T of a triangle from ``first`` on."""
    d = len(triangle) - first
    inverse = np.zeros((d, d), dtype=np.float32)  # of T, which is a lower triangle too
    for b in range(d):
        inverse[b, b] = 1 / triangle[first + b, first + b]
        for a in range(b + 1, d):
            total = np.float32(0.0)
            for k in range(b, a):
                total -= triangle[first + a, first + k] * inverse[k, b]
            inverse[a, b] = total / triangle[first + a, first + a]
    place = 0
    for a in range(d):
        for b in range(a + 1):
            total = np.float32(0.0)
            for k in range(a, d):
                total += inverse[k, a] * inverse[k, b]
            packed[place] = total
            place += 1


@njit(cache=True, parallel=True, fastmath=REORDER)
def posterior_rows(indptr: Offsets, items: Indices, targets: Floats, factors: Floats, penalty: float, last: int) -> Any:
    """The solution of every row, and the packed last corner of its inverse; for a row without ratings 0 and 1/penalty.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([8], dtype=np.float32)
    >>> [found.tolist() for found in posterior_rows(*data, one, 3.0, 1)]
    [[[2.0]], [[0.25]]]
    """
    rows, d = len(indptr) - 1, factors.shape[1]
    solved = np.zeros((rows, d), dtype=np.float32)
    corners = np.zeros((rows, last * (last + 1) // 2), dtype=np.float32)
    for u in prange(rows):
        gram = np.zeros((d, d), dtype=np.float32)
        for a in range(d):
            gram[a, a] = penalty
        gather(indptr[u], indptr[u + 1], items, targets, factors, 1.0, gram, solved[u])
        cholesky(gram)
        substitute(gram, solved[u])
        _inverse_of_square(gram, d - last, corners[u])
    return solved, corners
