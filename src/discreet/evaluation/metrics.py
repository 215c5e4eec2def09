"""What is measured, as formulas.

Errors of predicted ratings, e = predicted − given, over all held-out ratings:

    RMSE = √ mean e²        MAE = mean |e|        within x = share of |e| ≤ x   (the CDF of absolute errors)

Rankings, for each user with held-out items H (every held-out rating is a hit, whatever its value), the
user's history masked, over the ``k`` best items:

    NDCG@k   = Σ_{rank ≤ k, item ∈ H} 1 / log2(rank + 1)   /   Σ_{rank ≤ min(k, |H|)} 1 / log2(rank + 1)
    Recall@k = hits among the k best / min(k, |H|)
    Hit@k    = 1 if one of the k best is in H, else 0
    MRR@k    = 1 / rank of the best-placed hit, 0 if there is none among the k best
    Novelty@k = mean over the k best of −log2 ((n_i + 1) / (n + 1)),  n_i of all n users of the train part rated item i

and the mean over those users. Of all users together:

    Coverage@k = share of the catalogue that is among somebody's k best
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


def hit_at(k: int, hits: Booleans) -> Doubles:
    """Hit@k of each user; arguments as for :func:`ndcg_at`.

    >>> hit_at(2, np.array([[False, True, True], [False, False, True]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(hits[:, :k].any(axis=1), dtype=np.float64)


def mrr_at(k: int, hits: Booleans) -> Doubles:
    """MRR@k of each user; arguments as for :func:`ndcg_at`.

    >>> mrr_at(2, np.array([[False, True, True], [False, False, True]])).tolist()
    [0.5, 0.0]
    """
    places = hits[:, :k]
    return np.where(places.any(axis=1), 1 / (1.0 + places.argmax(axis=1)), 0.0)


def novelty_of(known: Ratings) -> Doubles:
    """How surprising each item is, in bits: −log2 of the share of users who are known to have rated it.

    >>> import discreet as dc
    >>> novelty_of(dc.synthetic(users=50, items=30, ratings=600, seed=1)).shape
    (30,)
    """
    counts = np.bincount(known.item_index, minlength=known.n_items)
    return np.asarray(np.log2((known.n_users + 1) / (counts + 1)), dtype=np.float64)


def novelty_at(k: int, best: Indices, novelty: Doubles) -> Doubles:
    """Novelty@k of each user: the mean over the best items, of which −1 is none.

    >>> novelty_at(2, np.array([[0, 1, 2], [2, -1, -1]]), np.array([1.0, 3.0, 5.0])).tolist()
    [2.0, 5.0]
    """
    places = best[:, :k]
    there = places >= 0
    sums = np.where(there, novelty[np.maximum(places, 0)], 0.0).sum(axis=1)
    return np.asarray(sums / np.maximum(there.sum(axis=1), 1), dtype=np.float64)


def find_hits(best: Indices, test: Ratings) -> Booleans:
    """For each user and place, whether the item there was held out."""
    held_out = np.zeros((test.n_users, test.n_items + 1), dtype=np.bool_)  # place −1 falls on the spare column
    held_out[test.user_index, test.item_index] = True
    return np.take_along_axis(held_out, best.astype(np.int64) % (test.n_items + 1), axis=1)
