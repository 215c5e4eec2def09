"""How generous a user is, found at home."""

import numpy as np

from discreet.data.ratings import Ratings
from discreet.types import AnyArray, Floats


def user_biases(histories: Ratings, base: AnyArray, damping: float) -> Floats:
    """At home: how far a user's ratings lie above ``base`` (expected rating of every item), damped."""
    residuals = histories.values - base[histories.item_index]
    sums = np.bincount(histories.user_index, weights=residuals, minlength=histories.n_users)
    weights = np.diff(histories.indptr) + damping
    return np.divide(sums, weights, out=np.zeros(histories.n_users), where=weights > 0).astype(np.float32)
