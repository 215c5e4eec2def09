"""Matrix factorisation by stochastic gradient descent.

    expected rating of item i by user u  =  mean + b_u + b_i + p_uᵀq_i

    minimise  Σ_ui (r_ui − mean − b_u − b_i − p_uᵀq_i)² + λ (b_u² + b_i² + ‖p_u‖² + ‖q_i‖²)

over all ratings, one rating at a time. The release holds mean, b_i and q_i. The users' side of the training
is thrown away: at home each user solves the same problem for their own b_u and p_u, which is ridge
regression on their own ratings.

Gradient steps look at one rating at a time, so this needs the raw ratings and no population can hide
them: it is a reference, not a private model.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.sorting import stable_order
from discreet.errors import require_kinds, require_settings
from discreet.kernels.sgd import deal, grid_for, sgd_epoch
from discreet.models.home import methods
from discreet.models.home.fold_in import FoldIn, rating_offsets, with_ones
from discreet.models.home.item_arrays import ITEM_BIAS, MEAN
from discreet.populations.asking import check_ratings
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Indices, Offsets, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class MF:
    """Matrix factorisation trained by stochastic gradient descent on raw ratings.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    epochs
        Passes over the ratings.
    learning_rate
        Size of the first epoch's steps.
    decay
        Each epoch's steps are this much smaller than the one's before.
    regularisation
        λ above: how strongly factors and biases are pulled to 0, for each rating.
    biased
        Whether to model a mean and biases; without, the rating is p_uᵀq_i alone.
    seed
        Of the initial factors and the order of the ratings. The same seed gives the same release on any
        number of threads.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.MF(factors=4, epochs=5).fit(ratings)
    >>> release.arrays["item_factors"].shape
    (30, 4)
    >>> print(release.guarantee)
    No privacy: it was trained on the raw ratings.
    """

    raw_ratings: ClassVar[bool] = True

    factors: int = 50
    epochs: int = 60
    learning_rate: float = 0.02
    decay: float = 0.97
    regularisation: float = 0.12
    biased: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", least=1)
        require_settings(self, "epochs", "regularisation", least=0)
        require_settings(self, "learning_rate", above=0, below=1)
        require_settings(self, "decay", above=0, most=1)
        require_kinds(self)

    def fit(self, ratings: Ratings, progress: Progress = no_progress) -> Release:
        """Train on raw ratings, and release the item side."""
        check_ratings(self, ratings)
        rng = np.random.default_rng(self.seed)
        mean = np.float32(ratings.values.mean(dtype=np.float64) if self.biased and len(ratings) else 0)
        starts, users, items, values = in_blocks(ratings, rng)
        values -= mean
        user_factors = rng.normal(0, 0.1, (ratings.n_users, self.factors)).astype(np.float32)
        item_factors = rng.normal(0, 0.1, (ratings.n_items, self.factors)).astype(np.float32)
        user_bias, item_bias = np.zeros(ratings.n_users, np.float32), np.zeros(ratings.n_items, np.float32)
        sides = user_factors, item_factors, user_bias, item_bias
        grid = round(len(starts) ** 0.5)
        for epoch in range(self.epochs):
            rate = self.learning_rate * self.decay**epoch
            rates = rate, rate if self.biased else 0.0, self.regularisation, self.regularisation
            sgd_epoch(starts, rng.permutation(grid), (users, items, values), sides, rates)
            progress(epoch + 1, self.epochs, "epochs")
        item_factors[np.bincount(ratings.item_index, minlength=ratings.n_items) == 0] = 0
        arrays = {"mean": np.array([mean]), "item_bias": item_bias, "item_factors": item_factors}
        return Release.of_ratings(self, ratings, arrays)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (MEAN, ITEM_BIAS, Array("item_factors", "float32", ("items", self.factors)))

    def prepare(self, release: Release) -> FoldIn:
        """The item side."""
        factors = release.arrays["item_factors"]
        if self.biased:
            factors = with_ones(factors)
        penalty = np.full(factors.shape[1], self.regularisation, dtype=np.float32)
        return FoldIn(factors, rating_offsets(release), penalty)

    predict, score = methods.predict, methods.score


def in_blocks(ratings: Ratings, rng: np.random.Generator) -> tuple[Offsets, Indices, Indices, Floats]:
    """Ratings sorted by block of the grid, in random order within each: ``(starts, users, items, values)``."""
    grid = grid_for(len(ratings), ratings.n_users, ratings.n_items)
    user_group = deal(np.diff(ratings.indptr), grid)
    item_group = deal(np.bincount(ratings.item_index, minlength=ratings.n_items), grid)
    shuffled = rng.permutation(len(ratings))
    block = user_group[ratings.user_index[shuffled]] * np.int32(grid) + item_group[ratings.item_index[shuffled]]
    order = shuffled[stable_order(block, grid * grid)]
    starts = np.zeros(grid * grid + 1, dtype=np.int64)
    np.cumsum(np.bincount(block, minlength=grid * grid), out=starts[1:])
    return starts, ratings.user_index[order], ratings.item_index[order], ratings.values[order]
