"""Chosen pairs of rows, and of users and items."""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import Floats, Indices, Offsets

RatedPairs = tuple[Indices, Indices, Offsets, Indices, Floats]
"""Pairs that are asked about, and what users rated: the user and the item of each pair, by position; where the ratings
of each user begin; and of every rating its item and its residual."""


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
