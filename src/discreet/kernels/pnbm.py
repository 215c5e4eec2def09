"""The gradient of a learned similarity, and what such a similarity says about a user.

As in :mod:`discreet.kernels.gram`, every row of the gradient is owned by one thread.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.gram import HANDS
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets


def similarity_gradient(
    similarities: Floats,
    by_item: tuple[Offsets, Indices, Floats],
    by_user: tuple[Offsets, Indices, Floats],
    floor: float,
) -> Doubles:
    """Gradient, in the similarities, of half the sum of squared errors over all ratings.

    Parameters
    ----------
    similarities
        Items by items, 0 on the diagonal.
    by_item
        ``(indptr, users, deviations)``: who rated each item, and how far from its mean.
    by_user
        ``(indptr, items, deviations)``: the same user by user.
    floor
        The sum of similarities that errors are divided by is at least this; where it is less, it is constant.

    Returns
    -------
    numpy.ndarray
        Items by items, 0 on the diagonal.
    """
    gradient = np.zeros(similarities.shape)
    indptr, items, deviations = by_user
    # Unsigned positions spare the kernel a test for negative ones in its innermost lines.
    _similarity_gradient(gradient, similarities, *by_item, indptr, items.view(np.uint32), deviations, floor)
    return gradient


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def _similarity_gradient(
    gradient: Doubles,
    similarities: Floats,
    item_indptr: Offsets,
    item_users: Indices,
    item_deviations: Floats,
    indptr: Offsets,
    items: AnyArray,
    deviations: Floats,
    floor: float,
) -> None:
    size = len(similarities)
    for hand in prange(HANDS):
        for item in range(hand, size, HANDS):
            row, slope = similarities[item], gradient[item]
            for place in range(item_indptr[item], item_indptr[item + 1]):
                first, last = indptr[item_users[place]], indptr[item_users[place] + 1]
                above, below = np.float32(0), np.float32(0)
                for other in range(first, last):
                    similarity = row[items[other]]
                    above += similarity * deviations[other]
                    below += abs(similarity)
                divisor = max(np.float64(below), floor)
                if divisor == 0:
                    continue
                mean = above / divisor
                step = (mean - item_deviations[place]) / divisor
                # Below the floor the divisor does not move with the similarities.
                moved = mean if below >= floor else 0.0
                for other in range(first, last):
                    slope[items[other]] += step * (deviations[other] - np.sign(row[items[other]]) * moved)
            slope[item] = 0


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc"})
def learned_means(
    users: Indices,
    items: Indices,
    indptr: Offsets,
    rated: Indices,
    deviations: Floats,
    similarities: Floats,
    floor: float,
    otherwise: Floats,
) -> Floats:
    """For each pair, ``Σ_j s_ij a_uj / max(Σ_j |s_ij|, floor)`` over what the user rated.

    ``otherwise[u]`` where no similarity speaks for the item.
    """
    means = np.empty(len(users), dtype=np.float32)
    for pair in prange(len(users)):
        row, user = similarities[items[pair]], users[pair]
        above, below = np.float32(0), np.float32(0)
        for place in range(indptr[user], indptr[user + 1]):
            similarity = row[rated[place]]
            above += similarity * deviations[place]
            below += abs(similarity)
        means[pair] = above / max(np.float64(below), floor) if below > 0 else otherwise[user]
    return means
