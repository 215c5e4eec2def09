"""How many users there are, and how much they rate: small questions, for planning by what was seen.

**With the unit user**, a histogram: a user adds 1 to one cell, that of how many items they rated, in bins whose bounds
grow by about half. *One user* adds one cell of 1: a vector of length 1. Exchanged for another it moves by √2 at most in
L2, and by 2 in L1. *One rating* moves its user from one bin to the next, or in from nowhere: two cells by 1, √2 in L2
and 2 in L1. A rating of another value moves nothing.

**With the unit rating**, two numbers, each a question of its own with half the share: how many ratings there are, and
Σ_u √(n_u − 1) over users with n_u ≥ 1 ratings, about the trace of users' co-occurrence with the weights that
:mod:`~discreet.models.sums.pair_sums` has there. *One rating* moves the first by 1. It moves one n_u from k to k + 1,
and so the second by √k − √(k − 1) for k ≥ 1, which is 1 for k = 1 and less than 1/2 beyond, and not at all for k = 0.
Roots are rounded towards 0 to multiples of 2⁻¹⁰, which leaves 1 as it is and adds at most 2⁻¹⁰ to the others, and are
at most 2¹⁰, so sums are exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.models.sums.item_statistics import Scaling
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles

BINS = (1, 2, 4, 7, 12, 20, 35, 60, 100, 170, 290, 500, 850)
"""The fewest ratings of each bin. Public."""
MIDDLES = np.array([math.sqrt(low * (high - 1)) for low, high in zip(BINS, (*BINS[1:], 2 * BINS[-1]), strict=True)])
"""What a user of a bin counts as."""
TYPICAL = 60.0
"""How many ratings users have where noise hides it."""
MOST_ROOT = 2.0**10
"""The largest root that is counted as it is."""
CLEAR = 2.0
"""Bins below so many deviations of the noise count as empty."""


def activity_of_users() -> Contribution:
    """The histogram, for a population.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> int(activity_of_users().total(ratings).sum())
    50
    """
    bounds = (
        Bound("user", "l1", 1.0, cells=1, replace=2.0),
        Bound("user", "l2", 1.0, cells=1, replace=math.sqrt(2)),
        Bound("rating", "l2", math.sqrt(2), cells=2),
        Bound("rating", "l1", 2.0, cells=2),
    )
    return Contribution(
        "how many users rated how much", (len(BINS),), _histogram, bounds, "gaussian", largest=1.0, signed=False
    )


def activity_of_ratings(catalogue: Catalogue) -> tuple[Contribution, Contribution]:
    """The two numbers, for a population that protects single ratings.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> [asked.total(ratings).round().tolist() for asked in activity_of_ratings(ratings.catalogue)]
    [[600.0], [165.0]]
    """
    most = float(max(len(catalogue), 2))

    def asked(name: str, total: Callable[[Ratings], Doubles], largest: float) -> Contribution:
        bounds = Bound("rating", "l1", 1.0), Bound("rating", "l2", 1.0)
        most_users = most_on_lattice(1.0)
        return Contribution(name, (1,), total, bounds, most_users=most_users, largest=largest, signed=False)

    return (
        asked("how many ratings there are", _count, most),
        asked("how many pairs users rate", _roots, min(math.sqrt(most - 1), MOST_ROOT)),
    )


def _histogram(ratings: Ratings) -> Doubles:
    lengths = np.diff(ratings.indptr)
    bins = np.searchsorted(BINS, lengths[lengths > 0], side="right") - 1
    return np.bincount(bins, minlength=len(BINS)).astype(np.float64)


def _count(ratings: Ratings) -> Doubles:
    return np.array([float(len(ratings))])


def _roots(ratings: Ratings) -> Doubles:
    roots = np.minimum(np.sqrt(np.maximum(np.diff(ratings.indptr) - 1.0, 0)), MOST_ROOT)
    return np.array([np.trunc(roots * 2.0**10).sum() * 2.0**-10])


@dataclass(frozen=True, eq=False)
class Activity:
    """So many users with so many ratings each, as far as noise lets one see."""

    users: Doubles
    ratings: Doubles

    @classmethod
    def ask(cls, population: Population, share: float, noise: Literal["gaussian"] | None) -> "Activity":
        """By the unit's questions; ``noise`` is that of one about users, None for the unit's own."""
        if population.unit is None or population.unit.name == "user":
            asked = replace(activity_of_users(), noise=noise)
            return cls.by_histogram(population.sum(asked, share), population.deviation(asked, share))
        count, roots = activity_of_ratings(population.catalogue)
        answers = [population.sum(each, share / 2) for each in (count, roots)]
        return cls.by_sums(np.concatenate(answers), population.deviation(count, share / 2))

    @classmethod
    def by_histogram(cls, answer: AnyArray, deviation: float) -> "Activity":
        """Nobody where noise hides all bins."""
        found = np.asarray(answer, dtype=np.float64)
        return cls(np.where(found > CLEAR * deviation, found, 0.0), MIDDLES)

    @classmethod
    def by_sums(cls, answer: AnyArray, deviation: float) -> "Activity":
        """Everyone alike: n = N²/τ² ratings each, of N in all. τ is taken larger by its noise: rather more users."""
        ratings = max(float(answer[0]), deviation)
        users = min((max(float(answer[1]), 0.0) + CLEAR * deviation) ** 2 / ratings, ratings / 2)
        return cls(np.array([users]), np.array([ratings / users]))

    def with_roots(self, roots: float) -> "Activity":
        """As many users as have this Σ_u √n_u, which item sums of users tell; with a typical number of ratings each
        where noise hides who there is."""
        if self.users.sum() <= 0:
            return Activity(np.array([max(roots, 1.0) / math.sqrt(TYPICAL)]), np.array([TYPICAL]))
        return Activity(self.users * (max(roots, 1.0) / float(self.users @ np.sqrt(self.ratings))), self.ratings)

    @property
    def total(self) -> float:
        """Users."""
        return float(self.users.sum())

    @property
    def mean_ratings(self) -> float:
        """Of a user; 0 where nobody was seen."""
        return float(self.users @ self.ratings) / self.total if self.total > 0 else 0.0

    @property
    def size(self) -> tuple[float, float]:
        """Users, and their ratings."""
        return self.total, self.total * self.mean_ratings

    def weight(self, scaling: Scaling) -> float:
        """Of a rating, on average: 1, or where users are scaled 1/√n in L2 and 1/n in L1, with n ratings."""
        if scaling == "rating":
            return 1.0
        of_a_user = np.sqrt(self.ratings) if scaling == "user, l2" else np.ones(len(self.ratings))
        return float(self.users @ of_a_user) / max(self.size[1], 1e-9)

    def learned(self, strengths: Doubles, noise: float, covered: float = 1.0) -> Doubles:
        """How much of their place in patterns of these variances users can learn from a part of their ratings, which
        err by ``noise``: n v / (noise + n v), on average over users."""
        told = self.ratings[:, None] * covered * strengths
        return np.asarray(self.users @ (told / (noise + told)) / max(self.total, 1e-9))


@dataclass(frozen=True, eq=False)
class Known:
    """What a plan goes by: all public, or answered and paid for.

    ``counts`` are the ratings of each item. ``count_precision`` and ``sum_precision`` are one over the variance of the
    noise so far, on a weighted count and, in widths of the scale, on a weighted sum.
    """

    counts: Doubles
    activity: Activity
    count_precision: float
    sum_precision: float
