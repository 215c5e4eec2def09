"""WARP: factors trained to put what a user rated above what they did not.

    score of item i for user u  =  b_i + q_iᵀ x_u        x_u = Σ_j y_j / √n  over the n items j that u rated

    Each step takes a rated item i and draws items k that were not rated until  score_k > score_i − 1. If that took
    t draws, about items/t of all rank above i, and the step is  log(items/t) · learning_rate  along the gradient of
    score_i − score_k. While it trains, i itself is left out of x_u.

A user is the sum of their own items, so the release (b, q and y, all about items) holds no user, and each of the
user's items can be named as a reason.

Pairs are compared one at a time, so this needs the raw ratings: it is a reference, not a private model. It looks
at who rated what, not how high.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require_kinds, require_settings
from discreet.kernels.warp import warp_epoch
from discreet.models.home.fold_in import row_sums
from discreet.models.home.item_arrays import ITEM_BIAS
from discreet.populations.asking import check_ratings
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class WARP:
    """Ranking factors trained on raw ratings by the weighted approximate-rank pairwise loss.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    epochs
        Passes over the users.
    learning_rate
        Size of the first epoch's steps.
    decay
        Each epoch's steps are this much smaller than the one's before.
    regularisation
        How strongly factors and biases are pulled to 0 with each step.
    trials
        Most draws for one rated item; if none ranks too high, there is no step.
    seed
        Of the initial factors, the order of the users and the draws.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.WARP(factors=4, epochs=3).fit(ratings)
    >>> sorted(release.arrays)
    ['inputs', 'item_bias', 'outputs']
    """

    raw_ratings: ClassVar[bool] = True

    factors: int = 64
    epochs: int = 30
    learning_rate: float = 0.01
    decay: float = 0.95
    regularisation: float = 0.35
    trials: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", "trials", least=1)
        require_settings(self, "epochs", "regularisation", least=0)
        require_settings(self, "learning_rate", above=0, below=1)
        require_settings(self, "decay", above=0, most=1)
        require_kinds(self)

    def fit(self, ratings: Ratings, progress: Progress = no_progress) -> Release:
        """Train on raw ratings, and release what is about items."""
        check_ratings(self, ratings)
        rng = np.random.default_rng(self.seed)
        inputs = rng.normal(0, 0.1, (ratings.n_items, self.factors)).astype(np.float32)
        outputs = rng.normal(0, 0.1, (ratings.n_items, self.factors)).astype(np.float32)
        bias = np.zeros(ratings.n_items, dtype=np.float32)
        for epoch in range(self.epochs):
            order = rng.permutation(ratings.n_users).astype(np.int32)
            rate, draws = self.learning_rate * self.decay**epoch, int(rng.integers(2**62))
            settings = rate, self.regularisation, self.trials, draws
            warp_epoch(ratings.indptr, ratings.item_index, order, inputs, outputs, bias, *settings)
            progress(epoch + 1, self.epochs, "epochs")
        inputs[np.bincount(ratings.item_index, minlength=ratings.n_items) == 0] = 0
        arrays = {"inputs": inputs, "outputs": outputs, "item_bias": bias}
        return Release.of_ratings(self, ratings, arrays)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (
            Array("inputs", "float32", ("items", self.factors)),
            Array("outputs", "float32", ("items", self.factors)),
            ITEM_BIAS,
        )

    def score(self, release: Release, histories: Ratings) -> Floats:
        """Item bias plus the product with the sum of the user's own items."""
        own = row_sums(histories, release.arrays["inputs"])
        own /= np.sqrt(np.maximum(np.diff(histories.indptr), 1))[:, None]
        return np.asarray(own @ release.arrays["outputs"].T + release.arrays["item_bias"], dtype=np.float32)

    def explain(self, release: Release, history: History, item: int) -> Floats:
        """What each rated item adds to the score."""
        share = release.arrays["inputs"][history.items] @ release.arrays["outputs"][item]
        return np.asarray(share / max(len(history), 1) ** 0.5, dtype=np.float32)
