"""Bias: how well an item is liked, and how generously a user rates.

    expected rating of item i by user u  =  mean + b_i + b_u

    b_i = Σ_u w_u (r_ui − mean) / (Σ_u w_u + damping_i)          released
    b_u = Σ_i (r_ui − mean − b_i) / (n_u + user_damping)         computed at home

The release is made of one sum over users, of counts and ratings of every item
(:mod:`~discreet.models.sums.item_statistics` has the weights w_u and the sensitivity). With noise, counts and biases
are posterior means (:mod:`~discreet.models.denoise.item_biases`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_settings
from discreet.models.denoise.item_biases import item_biases
from discreet.models.home.item_arrays import ITEM_BIAS, MEAN
from discreet.models.home.user_bias import user_biases
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class Bias:
    """Item and user biases, damped. The baseline that every other model must beat.

    Parameters
    ----------
    item_damping, user_damping
        Ratings at the mean that every item and every user is imagined to have had.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Bias().fit(dc.NoPrivacy(ratings))
    >>> sorted(release.arrays)
    ['item_bias', 'mean']
    """

    item_damping: float = 5.0
    user_damping: float = 5.0

    def __post_init__(self) -> None:
        require_settings(self, "item_damping", "user_damping", least=0)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for counts and sums, and release the mean and the item biases."""
        check_population(self, population)
        mean, item_bias = item_biases(population, self.item_damping)
        arrays: dict[str, AnyArray] = {"mean": np.array([mean], dtype=np.float32), "item_bias": item_bias}
        return Release.of(self, population, arrays)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (MEAN, ITEM_BIAS)

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Mean plus item bias plus the user's own bias."""
        mean, item_bias = release.arrays["mean"][0], release.arrays["item_bias"]
        own = user_biases(histories, mean + item_bias, self.user_damping)
        return np.asarray(mean + item_bias[items] + own[users], dtype=np.float32)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """Predicted ratings: the same order for every user."""
        base = release.arrays["mean"][0] + release.arrays["item_bias"]
        own = user_biases(histories, base, self.user_damping)
        return np.asarray(base[None, :] + own[:, None], dtype=np.float32)
