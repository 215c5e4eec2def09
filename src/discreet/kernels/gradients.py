"""The whole gradient of a factor model at once, row by row."""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER
from discreet.types import Floats, Indices, Offsets


@njit(cache=True, parallel=True, fastmath=REORDER)
def residual_sums(indptr: Offsets, items: Indices, values: Floats, own: Floats, factors: Floats) -> Floats:
    """``Σ_i (value_i − x·v_i) v_i`` over the rated items of each row, ``x`` being the row of ``own``.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([5], dtype=np.float32)
    >>> residual_sums(*data, one, 2 * one).tolist()
    [[6.0]]
    """
    rows, d = own.shape
    sums = np.zeros((rows, d), dtype=np.float32)
    for u in prange(rows):
        for row in range(indptr[u], indptr[u + 1]):
            i = items[row]
            dot = np.float32(0.0)
            for k in range(d):
                dot += own[u, k] * factors[i, k]
            e = values[row] - dot
            for k in range(d):
                sums[u, k] += e * factors[i, k]
    return sums
