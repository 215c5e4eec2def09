"""What the most similar of a user's own items say about an item, from a full matrix of similarities."""

import numpy as np
from numba import njit, prange

from discreet.types import Floats, Indices, Offsets


@njit(cache=True, parallel=True)
def rated_neighbour_means(
    users: Indices,
    items: Indices,
    indptr: Offsets,
    rated: Indices,
    residuals: Floats,
    similarities: Floats,
    k: int,
    damping: float,
) -> Floats:
    """For each pair, the mean residual of the ``k`` rated items that are most similar to the item.

        Σ_j s_ij x_uj / (Σ_j |s_ij| + damping),

    with j over the k items that u rated, other than i, with the largest |s_ij| > 0; 0 where there is none. Of equal
    similarities the first items stay.

    >>> one = np.ones(1, dtype=np.int32)
    >>> similarities = np.array([[1, 0, 0], [0.5, 1, -0.25], [0, 0, 1]], dtype=np.float32)
    >>> own = np.array([0, 0, 2]), np.array([0, 2], dtype=np.int32), np.array([3, 1], dtype=np.float32)
    >>> rated_neighbour_means(one, one, *own, similarities, 1, 0.0).tolist()
    [3.0]
    >>> round(float(rated_neighbour_means(one, one, *own, similarities, 2, 0.0)[0]), 4)
    1.6667
    """
    means = np.zeros(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        row, user, item = similarities[items[pair]], users[pair], items[pair]
        sizes = np.empty(k, dtype=np.float32)  # of the nearest so far, the largest first
        places = np.empty(k, dtype=np.int64)
        kept = 0
        for place in range(indptr[user], indptr[user + 1]):
            size = abs(row[rated[place]])
            if rated[place] == item or not size > 0 or (kept == k and size <= sizes[kept - 1]):
                continue
            if kept < k:
                kept += 1
            position = kept - 1
            while position > 0 and sizes[position - 1] < size:
                sizes[position], places[position] = sizes[position - 1], places[position - 1]
                position -= 1
            sizes[position], places[position] = size, place
        above, below = 0.0, damping
        for position in range(kept):
            above += row[rated[places[position]]] * residuals[places[position]]
            below += sizes[position]
        if kept > 0:
            means[pair] = above / below
    return means
