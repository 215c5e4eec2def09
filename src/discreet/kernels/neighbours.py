"""Similar items: from sums over users to similarities, the nearest few, and what they say about a user.

Lists of neighbours have a fixed width: item ``i`` has the neighbours ``neighbours[i]``, in increasing order,
with ``similarities[i]``, all positive; what is left of the width holds similarity 0.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.gram import HANDS
from discreet.kernels.pairs import RatedPairs
from discreet.types import Doubles, Floats, Indices, Offsets


@njit(cache=True, parallel=True)
def cosine_rows(sums: Doubles, first: int, norms: Doubles, shrinkage: float) -> Floats:
    """Cosines of a block of items with all items; an item has none with itself.

    ``sums`` are the products, and the counts as well where there is ``shrinkage``: the cosine of two items that
    ``n`` users both rated is multiplied by ``n / (n + shrinkage)``.
    """
    rows, items, _ = sums.shape
    similarities = np.empty((rows, items), dtype=np.float32)
    scales = np.zeros(items)
    for item in range(items):
        if norms[item] > 0:
            scales[item] = 1 / norms[item]
    for row in prange(rows):
        for item in range(items):
            similarity = sums[row, item, 0] * (scales[first + row] * scales[item])
            if shrinkage > 0:
                similarity *= sums[row, item, 1] / (sums[row, item, 1] + shrinkage)
            similarities[row, item] = similarity
        similarities[row, first + row] = 0
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


def nearest(similarities: Floats, width: int) -> tuple[Indices, Floats]:
    """The ``width`` largest positive similarities of each row, in the order of the items.

    Where several are equal and not all fit, the first items stay.

    >>> items, kept = nearest(np.array([[0.5, -1, 0.25, 0.5, 0.75]], dtype=np.float32), 2)
    >>> items.tolist(), kept.tolist()
    ([[0, 4]], [[0.5, 0.75]])
    """
    # Positive floats are in the order of their bits read as integers.
    chosen = _nearest(similarities.view(np.int32), width)
    kept = np.take_along_axis(similarities, np.maximum(chosen, 0), axis=1)
    kept[chosen < 0] = 0
    return np.maximum(chosen, 0), kept


@njit(cache=True, parallel=True)
def _nearest(bits: Indices, width: int) -> Indices:
    rows, items = bits.shape
    chosen = np.full((rows, width), -1, dtype=np.int32)
    for row in prange(rows):
        least, room = _least_kept(bits[row], width)
        size = 0
        for item in range(items):
            if bits[row, item] > least or (bits[row, item] == least and room > 0):
                room -= bits[row, item] == least
                chosen[row, size] = item
                size += 1
    return chosen


@njit(cache=True)
def _least_kept(bits: Indices, width: int) -> tuple[int, int]:
    """The smallest of the ``width`` largest positive numbers, and how many equal to it are among them.

    Both 0 where there are not more than ``width``: all are kept.

    Found digit by digit, 11, 10 and 10 bits: how many numbers have each digit says which one it has.
    """
    positive = np.empty(len(bits), dtype=np.int32)  # often few: gathered first, to look through them thrice
    size = 0
    for number in bits:
        positive[size] = number
        size += number > 0
    if size <= width:
        return 0, 0
    least, room = 0, width
    counts = np.empty(2048, dtype=np.int64)
    for shift in (20, 10, 0):
        counts[:] = 0
        for number in positive[:size]:
            if shift == 20 or number >> (shift + 10) == least:
                counts[(number >> shift) & (2047 if shift == 20 else 1023)] += 1
        digit = 2047
        while counts[digit] < room:
            room -= counts[digit]
            digit -= 1
        least = (least << 10) | digit
    return least, room


@njit(cache=True, parallel=True, fastmath=True)
def neighbour_means(asked: RatedPairs, neighbours: Indices, similarities: Floats, damping: float) -> Floats:
    """For each pair, the mean of the user's residuals over the item's neighbours, weighted by similarity.

        Σ_j s_ij x_uj / (Σ_j s_ij + damping),    j over the neighbours of i that u rated;  0 if there is none

    Pairs must come sorted by user. Each hand takes a run of pairs and spreads one user's residuals over the
    items at a time.
    """
    users, items, indptr, rated, residuals = asked
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
