"""The methods of models that prepare an object which does the work: each model takes them as its own.

predict, score                            what is prepared has ``predict`` and ``scores``
predict_ratings, rank, explain(_many)     what is prepared has a ``ranking`` and a ``regression``
"""

from typing import Any

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.types import Floats, Indices


def predict(model: object, prepared: Any, histories: Ratings, users: Indices, items: Indices) -> Floats:
    """The expected rating of each pair, each user's own side solved from their history."""
    return np.asarray(prepared.predict(histories, users, items))


def score(model: object, prepared: Any, histories: Ratings) -> Floats:
    """Expected ratings of all items."""
    return np.asarray(prepared.scores(histories))


def predict_ratings(model: object, prepared: Any, histories: Ratings, users: Indices, items: Indices) -> Floats:
    """The expected rating of each pair, from the user's own ratings."""
    return predict(model, prepared.regression, histories, users, items)


def rank(model: object, prepared: Any, histories: Ratings) -> Floats:
    """How likely each item is to be the next that the user rates, as a logarithm."""
    return score(model, prepared.ranking, histories)


def explain(model: object, prepared: Any, history: History, item: int) -> Floats:
    """What each rating of the history adds to the score of ``item``."""
    return np.asarray(prepared.ranking.shares(history, np.array([item], dtype=np.int32))[0])


def explain_many(model: object, prepared: Any, history: History, items: Indices) -> Floats:
    """The same for several items at once, items by ratings."""
    return np.asarray(prepared.ranking.shares(history, items))
