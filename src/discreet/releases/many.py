"""The best items of very many users, a block at a time: on the processor, or by torch with the same lists.

Scores by torch are those of the processor up to rounding. Where the order of a user's best items, or which is the last
of them, hangs on less than ``NEARLY_EQUAL``, that user is scored on the processor. So lists are the same as long as
rounding moves scores by less than that: five times what was measured, which is no proof.
"""

from collections.abc import Iterator

import numpy as np

from discreet.data.ratings import Ratings
from discreet.releases.contract import TorchRankingModel
from discreet.releases.recommendations import best_items
from discreet.releases.scorer import Scorer
from discreet.types import Booleans, Floats, Indices

NEARLY_EQUAL = 1e-5
"""Scores are logarithms; those that differ by less may change places. Rounding moves differences by some 2e-6."""


def best_of_many(
    scorer: Scorer, histories: Ratings, k: int, allowed: Booleans | None = None
) -> Iterator[tuple[int, Indices, Floats]]:
    """Blocks of users: the position of the first, their best items (−1 for no more), and the scores of these."""
    for first, scores in scorer.batches(histories):
        block = histories.select_users(np.arange(first, first + len(scores)))
        best = best_items(scores, [block], k, allowed)
        yield first, best, np.take_along_axis(scores, np.maximum(best, 0), axis=1)


def best_by_torch(
    scorer: Scorer, histories: Ratings, k: int, allowed: Booleans | None = None
) -> Iterator[tuple[int, Indices, Floats]]:
    """The same by torch, for a model that ranks so."""
    scorer.check_histories(histories)
    assert isinstance(scorer.model, TorchRankingModel)
    ranks = scorer.model.ranks_by_torch(scorer.prepared)
    for first, found, scores in ranks.best(histories.indptr, histories.item_index, k + 1, allowed):
        doubtful = np.flatnonzero(is_doubtful(scores))
        most = min(k, found.shape[1])
        best, values = found[:, :most].copy(), scores[:, :most].copy()
        if len(doubtful):
            again = histories.select_users(first + doubtful)
            for start, own, own_values in best_of_many(scorer, again, k, allowed):
                rows = doubtful[start : start + len(own)]
                best[rows], values[rows] = own, own_values
        yield first, best, values


def is_doubtful(scores: Floats) -> Booleans:
    """Whose best items, best first, might stand in another order, or be others.

    >>> is_doubtful(np.array([[3, 2, 1], [3, 3, 1], [3, -np.inf, -np.inf]], dtype=np.float32)).tolist()
    [False, True, False]
    """
    ended = scores[:, 1:] == -np.inf
    with np.errstate(invalid="ignore"):
        apart = scores[:, :-1] - scores[:, 1:] >= NEARLY_EQUAL  # false for NaN
    return np.asarray((~apart & ~ended).any(axis=1))
