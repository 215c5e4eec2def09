"""Own taste: a baseline that uses no one else's data, only a user's own ratings and public facts about items.

    rating of item i  =  prior mean + user's bias + preference for the item's genres and age

Bias and preferences come from the user's own ratings by the regression of
:mod:`~discreet.models.home.user_regression`, on public features alone. Items are ranked by the conditional logit of
:mod:`~discreet.models.almanac.ranking`, with all items equally popular:

    P(i)  ∝  exp(ηᵀf_i)        η the maximum a posteriori estimate for what the user rated before

Nothing is asked of the population, so nothing is released and nothing is spent. A release must beat this to be worth
its epsilon.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.data.features import item_features
from discreet.models.almanac import CONSTANTS
from discreet.models.almanac.ranking import ConditionalLogit, InteractionModel
from discreet.models.home import methods
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import expected_rating
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class OwnTaste:
    """A user's own mean and own taste in public genres and years. Nothing is released: the baseline of privacy.

    **Guarantee.** The population is asked for nothing, so the ledger stays empty: epsilon 0.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.OwnTaste().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> dict(release.arrays), release.guarantee.proven.epsilon
    ({}, 0.0)
    >>> len(release.recommend(ratings.history_at(0), k=3))
    3
    """

    implicit: ClassVar[bool] = True

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for nothing."""
        check_population(self, population)
        return Release.of(self, population, {})

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return ()

    def prepare(self, release: Release) -> "Prepared":
        """What does not depend on a user."""
        return Prepared(release)

    predict, score = methods.predict_ratings, methods.rank
    explain, explain_many = methods.explain, methods.explain_many


@dataclass(frozen=True, eq=False)
class Prepared:
    """What rankings and ratings at home start from, each made when it is first asked for."""

    release: Release

    @cached_property
    def ranking(self) -> ConditionalLogit:
        """For rankings: all items as popular."""
        size = len(self.release.catalogue)
        alike = InteractionModel.of(np.ones(size, dtype=np.float32), np.zeros((size, 0), dtype=np.float32))
        features = item_features(self.release.catalogue, CONSTANTS.ages_for_ranking)
        return ConditionalLogit.of(alike, np.zeros(size, dtype=np.float32), features)

    @cached_property
    def regression(self) -> UserRegression:
        """For ratings: of every item the same is expected."""
        catalogue = self.release.catalogue
        size, width = len(catalogue), catalogue.scale.width
        base = np.full(size, expected_rating(catalogue.scale), dtype=np.float32)
        nothing, alike = np.zeros(size, dtype=np.float32), np.ones(size, dtype=np.float32)
        none = np.zeros((size, 0), dtype=np.float32)
        return UserRegression.of(base, nothing, alike, item_features(catalogue), none, width)
