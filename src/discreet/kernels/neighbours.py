"""Similar items: from sums over users to similarities, the nearest few, and what they say about a user.

Lists of neighbours have a fixed width: item ``i`` has the neighbours ``neighbours[i]``, in increasing order,
with ``similarities[i]``, all positive; what is left of the width holds similarity 0.
"""

import numpy as np
from numba import njit, prange

from discreet.kernels.gram import HANDS
from discreet.types import Doubles, Floats, Indices, Offsets

BINS = 512  # for finding the nearest: fine enough that few items share a bin


@njit(cache=True, parallel=True)
def cosine_rows(sums: Doubles, first: int, norms: Doubles, shrinkage: float) -> Floats:
    """Cosines of a block of items with all items; an item has none with itself.

    ``sums`` are the products, and the counts as well where there is ``shrinkage``: the cosine of two items that
    ``n`` users both rated is multiplied by ``n / (n + shrinkage)``.
    """
    rows, items, _ = sums.shape
    similarities = np.zeros((rows, items), dtype=np.float32)
    for row in prange(rows):
        for item in range(items):
            scale = norms[first + row] * norms[item]
            if item != first + row and scale > 0:
                similarity = sums[row, item, 0] / scale
                if shrinkage > 0:
                    similarity *= sums[row, item, 1] / (sums[row, item, 1] + shrinkage)
                similarities[row, item] = similarity
    return similarities


@njit(cache=True, parallel=True)
def pearson_rows(sums: Doubles, first: int, shrinkage: float) -> Floats:
    """Correlations of a block of items with all items, each over the users who rated both.

    0 where fewer than two users did or where one item's ratings do not vary among them.
    """
    rows, items, _ = sums.shape
    similarities = np.zeros((rows, items), dtype=np.float32)
    for row in prange(rows):
        for item in range(items):
            product, count, own, other, own_square, other_square = sums[row, item]
            if item != first + row and count > 1:
                own_spread = own_square - own * own / count
                other_spread = other_square - other * other / count
                # A spread below this is what rounding leaves of equal ratings.
                if own_spread > 1e-6 and other_spread > 1e-6:
                    correlation = (product - own * other / count) / np.sqrt(own_spread * other_spread)
                    correlation = min(1.0, max(-1.0, correlation))
                    similarities[row, item] = correlation * count / (count + shrinkage)
    return similarities


@njit(cache=True, parallel=True)
def nearest(similarities: Floats, width: int) -> tuple[Indices, Floats]:
    """The ``width`` largest positive similarities of each row, in the order of the items.

    Where several are equal and not all fit, the first items stay.
    """
    rows, items = similarities.shape
    nearest_items = np.zeros((rows, width), dtype=np.int32)
    kept = np.zeros((rows, width), dtype=np.float32)
    for row in prange(rows):
        least, room = _least_kept(similarities[row], width)
        size = 0
        for item in range(items):
            similarity = similarities[row, item]
            if similarity > least or (similarity == least and similarity > 0 and room > 0):
                if similarity == least:
                    room -= 1
                nearest_items[row, size], kept[row, size] = item, similarity
                size += 1
    return nearest_items, kept


@njit(cache=True)
def _least_kept(row: Floats, width: int) -> tuple[np.float32, int]:
    """The smallest of the ``width`` largest positive values, and how many equal to it are among them.

    Counting into bins between 0 and the largest finds the bin it lies in; only that one is sorted.
    """
    largest = row.max()
    if not largest > 0:
        return np.float32(0), 0
    counts = np.zeros(BINS, dtype=np.int64)
    scale = BINS / largest
    for value in row:
        if value > 0:
            counts[min(int(value * scale), BINS - 1)] += 1
    room, edge = width, BINS - 1
    while edge > 0 and counts[edge] < room:
        room -= counts[edge]
        edge -= 1
    if counts[edge] < room:
        return np.float32(0), 0
    inside = np.empty(counts[edge], dtype=np.float32)
    size = 0
    for value in row:
        if value > 0 and min(int(value * scale), BINS - 1) == edge:
            inside[size] = value
            size += 1
    inside.sort()
    least = inside[size - room]
    return least, room - np.sum(inside > least)


@njit(cache=True, parallel=True, fastmath=True)
def neighbour_means(
    users: Indices,
    items: Indices,
    indptr: Offsets,
    rated: Indices,
    residuals: Floats,
    neighbours: Indices,
    similarities: Floats,
    damping: float,
) -> Floats:
    """For each pair, the mean of the user's residuals over the item's neighbours, weighted by similarity.

        Σ_j s_ij x_uj / (Σ_j s_ij + damping),    j over the neighbours of i that u rated;  0 if there is none

    Pairs must come sorted by user. Each hand takes a run of pairs and spreads one user's residuals over the
    items at a time.
    """
    means = np.zeros(len(users), dtype=np.float32)
    width = neighbours.shape[1]
    for hand in prange(HANDS):
        begin, end = hand * len(users) // HANDS, (hand + 1) * len(users) // HANDS
        if begin == end:
            continue
        spread = np.zeros(len(neighbours), dtype=np.float32)
        seen = np.zeros(len(neighbours), dtype=np.float32)
        user = -1
        for pair in range(begin, end):
            if users[pair] != user:
                if user >= 0:
                    for place in range(indptr[user], indptr[user + 1]):
                        spread[rated[place]], seen[rated[place]] = 0, 0
                user = users[pair]
                for place in range(indptr[user], indptr[user + 1]):
                    spread[rated[place]], seen[rated[place]] = residuals[place], 1
            item = items[pair]
            above, below = np.float32(0), np.float32(damping)
            for place in range(width):
                similarity, neighbour = similarities[item, place], neighbours[item, place]
                above += similarity * spread[neighbour]
                below += similarity * seen[neighbour]
            if below > 0:
                means[pair] = above / below
    return means


@njit(cache=True, parallel=True)
def similar_sums(
    indptr: Offsets, rated: Indices, weights: Floats, starts: Offsets, similar: Indices, similarities: Floats
) -> Floats:
    """For each user and item, the weights of the user's ratings times the similarity of the two items, summed.

    The lists are those of the rated item: ``similar[starts[j]:starts[j + 1]]`` are the items that have ``j`` as
    a neighbour.
    """
    users = len(indptr) - 1
    sums = np.zeros((users, len(starts) - 1), dtype=np.float32)
    for user in prange(users):
        for place in range(indptr[user], indptr[user + 1]):
            for other in range(starts[rated[place]], starts[rated[place] + 1]):
                sums[user, similar[other]] += weights[place] * similarities[other]
    return sums
