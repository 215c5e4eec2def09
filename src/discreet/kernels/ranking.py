"""The best few of many scores, for a block of users at once."""

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import Floats, Indices


@njit(cache=True)
def top_items(scores: Floats, k: int) -> Indices:
    """Positions of the ``k`` highest scores of each row, best first, ``-1`` where there are fewer.

    Equal scores: the lower position first. A score of −∞ (masked) or NaN is never among the best.

    One pass with a heap of the best so far, its worst on top. Positions come in increasing order, so a
    new score that only equals the worst one kept loses to it.
    """
    users, items = scores.shape
    best = np.full((users, k), -1, dtype=np.int32)
    kept = np.empty(k, dtype=np.float32)
    for user in range(users):
        places = best[user]
        size = 0
        item = 0
        while item < items and size < k:
            score = scores[user, item]
            if score > -np.inf:
                here = size
                size += 1
                while here > 0 and score <= kept[(here - 1) // 2]:
                    above = (here - 1) // 2
                    kept[here], places[here] = kept[above], places[above]
                    here = above
                kept[here], places[here] = score, item
            item += 1
        worst = kept[0]
        for later in range(item, items):
            if scores[user, later] > worst:
                _sink(kept, places, size, scores[user, later], later)
                worst = kept[0]
        for last in range(size - 1, 0, -1):  # take the worst off the heap, again and again
            score, item = kept[last], places[last]
            kept[last], places[last] = kept[0], places[0]
            _sink(kept, places, last, score, item)
    return best


@njit(cache=True)
def _sink(kept: Floats, places: Indices, size: int, score: float, item: int) -> None:
    """Put a pair where the root was, and let it sink below everything that is worse than it."""
    here = 0
    while True:
        child = 2 * here + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            kept[other] < kept[child] or (kept[other] == kept[child] and places[other] > places[child])
        ):
            child = other
        if kept[child] > score or (kept[child] == score and places[child] < item):
            break
        kept[here], places[here] = kept[child], places[child]
        here = child
    kept[here], places[here] = score, item
