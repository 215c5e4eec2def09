"""Bias: how much an item is liked, and how generous a user is.

    expected rating of item i by user u  =  mean + b_i + b_u

    b_i = Σ_u (r_ui − mean) / (n_i + item_damping)              released
    b_u = Σ_i (r_ui − mean − b_i) / (n_u + user_damping)        computed at home

The release is two sums over users, counts n_i and sums Σ_u (r_ui − middle of the scale).
"""

from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.models.fitting import check_population
from discreet.models.release import Release
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.unit import Bound
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
        require(self.item_damping >= 0, f"item_damping must not be negative, got {self.item_damping}")
        require(self.user_damping >= 0, f"user_damping must not be negative, got {self.user_damping}")

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for counts and sums, and release the mean and the item biases."""
        check_population(self, population)
        mean, item_bias = item_biases(population, self.item_damping)
        arrays: dict[str, AnyArray] = {"mean": np.array([mean], dtype=np.float32), "item_bias": item_bias}
        return Release(self, arrays, population.catalogue, population.guarantee)

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


def item_counts(catalogue_size: int) -> Contribution:
    """How many users rated each item. Adding or removing a rating moves one count by 1."""
    return Contribution(
        name="how often each item was rated",
        shape=(catalogue_size,),
        total=lambda ratings: np.bincount(ratings.item_index, minlength=catalogue_size),
        bounds=(Bound("rating", "l1", 1.0), Bound("rating", "l2", 1.0)),
    )


def item_sums(catalogue_size: int, centre: float, reach: float) -> Contribution:
    """Sum of each item's ratings about a public centre, from which none is further than ``reach``.

    Adding or removing a rating moves one sum by at most ``reach``.
    """
    return Contribution(
        name="sum of each item's ratings",
        shape=(catalogue_size,),
        total=lambda ratings: np.bincount(
            ratings.item_index, weights=ratings.values.astype(np.float64) - centre, minlength=catalogue_size
        ),
        bounds=(Bound("rating", "l1", reach), Bound("rating", "l2", reach)),
    )


def item_biases(population: Population, damping: float) -> tuple[float, Floats]:
    """The mean rating, and how far each item's damped mean lies from it."""
    size, scale = len(population.catalogue), population.catalogue.scale
    counts = population.sum(item_counts(size))
    sums = population.sum(item_sums(size, scale.middle, scale.width / 2))
    mean = scale.middle + sums.sum() / max(counts.sum(), 1.0)
    centred = sums - counts * (mean - scale.middle)
    bias = np.divide(centred, counts + damping, out=np.zeros(size), where=counts + damping > 0)
    return float(mean), bias.astype(np.float32)


def user_biases(histories: Ratings, base: AnyArray, damping: float) -> Floats:
    """At home: how far a user's ratings lie above ``base`` (expected rating of every item), damped."""
    residuals = histories.values - base[histories.item_index]
    sums = np.bincount(histories.user_index, weights=residuals, minlength=histories.n_users)
    weights = np.diff(histories.indptr) + damping
    return np.divide(sums, weights, out=np.zeros(histories.n_users), where=weights > 0).astype(np.float32)
