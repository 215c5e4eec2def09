"""What the most similar of a user's own items say about an item, from a full matrix of similarities."""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.pairs import RatedPairs
from discreet.kernels.ridge_knn import keep_nearest
from discreet.types import Floats


@njit(cache=True, parallel=True)
def rated_neighbour_means(asked: RatedPairs, similarities: Floats, k: int, damping: float) -> Floats:
    """For each pair, the mean residual of the ``k`` rated items that are most similar to the item.

        Σ_j s_ij x_uj / (Σ_j |s_ij| + damping),

    with j over the k items that u rated, other than i, with the largest |s_ij| > 0; 0 where there is none. Of equal
    similarities the first items stay.

    >>> one = np.ones(1, dtype=np.int32)
    >>> similarities = np.array([[1, 0, 0], [0.5, 1, -0.25], [0, 0, 1]], dtype=np.float32)
    >>> own = np.array([0, 0, 2]), np.array([0, 2], dtype=np.int32), np.array([3, 1], dtype=np.float32)
    >>> rated_neighbour_means((one, one, *own), similarities, 1, 0.0).tolist()
    [3.0]
    >>> round(float(rated_neighbour_means((one, one, *own), similarities, 2, 0.0)[0]), 4)
    1.6667
    """
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        row, user, item = similarities[items[pair]], users[pair], items[pair]
        sizes = np.empty(k, dtype=np.float32)  # of the nearest so far, the largest first
        places = np.empty(k, dtype=np.int64)
        kept = 0
        for place in range(indptr[user], indptr[user + 1]):
            if rated[place] != item:
                kept = keep_nearest(abs(row[rated[place]]), place, sizes, places, kept)
        above, below = 0.0, damping
        for position in range(kept):
            above += row[rated[places[position]]] * residuals[places[position]]
            below += sizes[position]
        if kept > 0:
            means[pair] = above / below
    return means


@njit(cache=True, parallel=True)
def jointly_weighted(asked: RatedPairs, similarities: Floats, moments: Floats, k: int, sweeps: int) -> Floats:
    """For each pair, ``Σ_j θ_j x_uj`` over the ``k`` rated items with the largest similarity > 0; 0 if there is none.

    With N these items and A = ``moments``, θ minimises θᵀ A_NN θ − 2 θᵀ A_Ni within 0 ≤ θ ≤ 1, by at most so many
    rounds over its places, until none moves by more than 10⁻⁴. With noise A need not be positive, and then the box is
    what keeps θ finite; a place with A_jj ≤ 0 has 0.

    >>> one = np.ones(1, dtype=np.int32)
    >>> own = np.array([0, 0, 2]), np.array([0, 2], dtype=np.int32), np.array([3, 1], dtype=np.float32)
    >>> moments = np.array([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]], dtype=np.float32)
    >>> jointly_weighted((one, one, *own), moments, moments, 2, 10).tolist()
    [1.75]
    """
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        user, item = users[pair], items[pair]
        sizes, places = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
        kept = 0
        for place in range(indptr[user], indptr[user + 1]):
            if rated[place] != item:
                kept = keep_nearest(similarities[item, rated[place]], place, sizes, places, kept)
        near, weights = np.empty((kept, kept), dtype=np.float32), np.zeros(kept, dtype=np.float32)
        left = np.empty(kept, dtype=np.float32)  # A_Ni − A_NN θ
        for a in range(kept):
            left[a] = moments[rated[places[a]], item]
            for b in range(kept):
                near[a, b] = moments[rated[places[a]], rated[places[b]]]
        for _ in range(sweeps):
            furthest = np.float32(0)
            for a in range(kept):
                if near[a, a] > 0:
                    moved = min(max(weights[a] + left[a] / near[a, a], np.float32(0)), np.float32(1)) - weights[a]
                    if moved != 0:
                        weights[a] += moved
                        furthest = max(furthest, abs(moved))
                        for b in range(kept):
                            left[b] -= near[a, b] * moved
            if furthest < np.float32(1e-4):
                break
        total = np.float32(0)
        for a in range(kept):
            total += weights[a] * residuals[places[a]]
        means[pair] = total
    return means
