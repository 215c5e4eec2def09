"""What is measured, as formulas.

Errors of predicted ratings, e = predicted − given, over all held-out ratings:

    RMSE = √ mean e²        MAE = mean |e|        within x = share of |e| ≤ x   (the CDF of absolute errors)

Rankings, for each user with held-out items H (every held-out rating is a hit, whatever its value), the
user's history masked, over the ``k`` best items:

    NDCG@k   = Σ_{rank ≤ k, item ∈ H} 1 / log2(rank + 1)   /   Σ_{rank ≤ min(k, |H|)} 1 / log2(rank + 1)
    Recall@k = hits among the k best / min(k, |H|)

and the mean over those users.
"""

from collections.abc import Sequence

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.types import AnyArray, Booleans, Doubles, Indices

TOLERANCE = 1e-6  # predictions are float32: an error of exactly x must count as within x


def error_sizes(predicted: AnyArray, given: AnyArray) -> Doubles:
    """|e| of each rating.

    >>> error_sizes(np.array([3.0, 5.0]), np.array([4.0, 2.0])).tolist()
    [1.0, 3.0]
    """
    require(len(predicted) == len(given) and len(given) > 0, "an error needs as many predictions as ratings, and one")
    sizes: Doubles = np.abs(np.asarray(predicted, dtype=np.float64) - given)
    return sizes


def error_terms(name: str, sizes: Doubles) -> Doubles:
    """What each rating adds to the metric of that name, which is their mean, or for ``rmse`` the root of it.

    >>> error_terms("within 1", np.array([1.0, 3.0])).tolist()
    [1.0, 0.0]
    """
    if name == "rmse":
        return sizes**2
    if name == "mae":
        return sizes
    return (sizes <= float(name.removeprefix("within ")) + TOLERANCE).astype(np.float64)


def error_cdf(sizes: Doubles, grid: Sequence[float] | AnyArray) -> Doubles:
    """For each x of the grid, the share of predictions that are off by at most x.

    >>> error_cdf(np.array([1.0, 3.0]), [0, 1, 3]).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.searchsorted(np.sort(sizes), np.asarray(grid) + TOLERANCE, side="right") / len(sizes)


def ndcg_at(k: int, hits: Booleans, held_out: AnyArray) -> Doubles:
    """NDCG@k of each user.

    Parameters
    ----------
    k
        How many of the best items count.
    hits
        Users by places (at least ``k``, or as many as there are items): whether a held-out item is there.
    held_out
        How many items of each user were held out, at least 1.

    Examples
    --------
    Two held-out items, found in places 1 and 3 of 3: (1 + 1/2) / (1 + 1/log2(3)).

    >>> ndcg_at(3, np.array([[True, False, True]]), np.array([2])).round(4).tolist()
    [0.9197]
    """
    places = hits[:, :k]
    worth = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(worth)])
    gained: Doubles = (places @ worth[: places.shape[1]]) / ideal[np.minimum(k, held_out)]
    return gained


def recall_at(k: int, hits: Booleans, held_out: AnyArray) -> Doubles:
    """Recall@k of each user, with min(k, held out) as denominator; arguments as for :func:`ndcg_at`.

    >>> recall_at(3, np.array([[True, False, True]]), np.array([8])).round(4).tolist()
    [0.6667]
    """
    found: Doubles = hits[:, :k].sum(axis=1) / np.minimum(k, held_out)
    return found


def find_hits(best: Indices, test: Ratings) -> Booleans:
    """For each user and place, whether the item there was held out."""
    held_out = np.zeros((test.n_users, test.n_items + 1), dtype=np.bool_)  # place −1 falls on the spare column
    held_out[test.user_index, test.item_index] = True
    return np.take_along_axis(held_out, best.astype(np.int64) % (test.n_items + 1), axis=1)
