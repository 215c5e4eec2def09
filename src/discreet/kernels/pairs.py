"""Inner products of chosen pairs of rows."""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import Floats, Indices


@njit(cache=True, parallel=True, fastmath=True)
def pair_products(left: Floats, right: Floats, rows: Indices, columns: Indices) -> Floats:
    """``left[rows[n]] · right[columns[n]]`` for every ``n``, without copies of the rows.

    >>> two = np.eye(2, dtype=np.float32)
    >>> zero, one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
    >>> pair_products(two, two, zero, zero).tolist(), pair_products(two, two, zero, one).tolist()
    ([1.0], [0.0])
    """
    products = np.empty(len(rows), dtype=np.float32)
    for n in prange(len(rows)):
        u, i = rows[n], columns[n]
        total = np.float32(0.0)
        for k in range(left.shape[1]):
            total += left[u, k] * right[i, k]
        products[n] = total
    return products
