"""Popularity: everyone is recommended what most people rated.

    score of item i  =  n_i,  how many users rated it

The release is one sum over users.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.models.home.item_arrays import NOISY_COUNTS
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class Popularity:
    """Rank items by how many users rated them. The baseline of every ranking.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    >>> int(release.arrays["counts"].sum())
    600
    """

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask how often each item was rated, and release that."""
        check_population(self, population)
        counts = population.sum(item_counts(len(population.catalogue), population.unit)).astype(np.float32)
        return Release.of(self, population, {"counts": counts})

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (NOISY_COUNTS,)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The counts, the same for every user."""
        counts: Floats = release.arrays["counts"]
        return np.broadcast_to(counts, (histories.n_users, len(counts))).copy()
