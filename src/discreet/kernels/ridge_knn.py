"""Predictions from the neighbours that a user rated: by weighted means over lists, or by interpolation weights.

Interpolation weights (Bell and Koren) are the best linear prediction from the ``k`` rated items that are most
correlated with the item: with N these items, C the covariances and s² the residual variance,

    θ = (C_NN + s² I)⁻¹ C_Ni           expected residual = Σ_{j∈N} θ_j x_uj

Each is a small ridge problem of its own; pairs are solved in parallel.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.pairs import RatedPairs
from discreet.kernels.ridge import cholesky, substitute
from discreet.types import Floats, Indices, Offsets


@njit(cache=True)
def keep_nearest(nearness: float, place: int, sizes: Floats, places: Offsets, kept: int) -> int:
    """Add one to the nearest so far, which are in falling order; of equal ones the first stay. Returns how many."""
    k = len(sizes)
    if not nearness > 0 or (kept == k and nearness <= sizes[k - 1]):
        return kept
    at = kept if kept < k else k - 1
    while at > 0 and sizes[at - 1] < nearness:
        sizes[at], places[at] = sizes[at - 1], places[at - 1]
        at -= 1
    sizes[at], places[at] = nearness, place
    return kept + 1 if kept < k else k


@njit(cache=True, parallel=True)
def listed_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, k: int, damping: float) -> Floats:
    """For each pair the mean residual of the item's ``k`` nearest listed neighbours that the user rated.

        Σ_j s_ij x_uj / (Σ_j s_ij + damping);   0 where there is none

    Every item lists its neighbours in increasing order, as the user's items are: both are walked side by side.

    >>> one = np.ones(1, dtype=np.int32)
    >>> own = np.array([0, 0, 2]), np.array([0, 2], dtype=np.int32), np.array([3, 1], dtype=np.float32)
    >>> lists = np.array([[1], [0], [1]], dtype=np.int32), np.array([[0.5], [0.5], [0]], dtype=np.float32)
    >>> listed_means((one, one, *own), *lists, 20, 0.5).tolist()
    [1.5]
    """
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    width = neighbours.shape[1]
    for pair in prange(len(users)):
        item, user = items[pair], users[pair]
        sizes, places = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
        kept, at = 0, indptr[user]
        end = indptr[user + 1]
        for column in range(width):
            if similarities[item, column] > 0:
                neighbour = neighbours[item, column]
                while at < end and rated[at] < neighbour:
                    at += 1
                if at < end and rated[at] == neighbour and neighbour != item:
                    kept = keep_nearest(similarities[item, column], at, sizes, places, kept)
        above, below = 0.0, damping
        for n in range(kept):
            above += sizes[n] * residuals[places[n]]
            below += sizes[n]
        if kept > 0:
            means[pair] = above / below
    return means


@njit(cache=True, parallel=True)
def interpolated(asked: RatedPairs, positions: Indices, covariance: Floats, k: int, residual_variance: float) -> Floats:
    """For each pair the expected residual by interpolation weights; 0 where no rated item is correlated with it.

    ``positions`` says where an item stands in ``covariance``, and is −1 for those that do not; ``residual_variance``
    is s².

    >>> one = np.ones(1, dtype=np.int32)
    >>> own = np.array([0, 0, 1]), np.array([0], dtype=np.int32), np.array([3], dtype=np.float32)
    >>> covariance = np.array([[1, 0.5], [0.5, 1]], dtype=np.float32)
    >>> round(float(interpolated((one, one, *own), np.arange(2, dtype=np.int32), covariance, 20, 1.0)[0]), 4)
    0.75
    """
    users, items, indptr, rated, residuals = asked
    means = np.zeros(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        item, user = positions[items[pair]], users[pair]
        if item < 0:
            continue
        sizes, places = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
        kept = 0
        for place in range(indptr[user], indptr[user + 1]):
            other = positions[rated[place]]
            if other >= 0 and other != item:
                nearness = covariance[item, other] / np.sqrt(covariance[other, other] + residual_variance)
                kept = keep_nearest(nearness, place, sizes, places, kept)
        if kept == 0:
            continue
        gram, weights = np.empty((kept, kept), dtype=np.float32), np.empty(kept, dtype=np.float32)
        for a in range(kept):
            own = positions[rated[places[a]]]
            weights[a] = covariance[own, item]
            for b in range(a + 1):
                gram[a, b] = covariance[own, positions[rated[places[b]]]]
            gram[a, a] += np.float32(residual_variance)
        cholesky(gram)
        substitute(gram, weights)
        total = np.float32(0)
        for a in range(kept):
            total += weights[a] * residuals[places[a]]
        means[pair] = total
    return means
