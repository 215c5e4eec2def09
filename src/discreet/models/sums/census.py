"""How many users there are, and how much they rate: one small histogram, for planning by what was seen.

A user adds 1 to one cell: that of how many items they rated, in bins whose bounds grow by about half.

**One user** adds one cell of 1: a vector of length 1. Exchanged for another it moves by √2 at most.

**One rating** moves its user from one bin to the next, or in from nowhere: two cells by 1, √2 in L2 and 2 in L1. A
rating of another value moves nothing.

Where single ratings are hidden, one number is enough: Σ_u √(n_u − 1), over users with n_u ≥ 1 ratings. It is about the
trace of users' co-occurrence, with the weights that :mod:`~discreet.models.sums.pair_sums` has there. **One rating**
moves one n_u from k to k + 1 and so the sum by √k − √(k − 1) for k ≥ 1, which is 1 for k = 1 and less than 1/2 beyond,
and not at all for k = 0. Roots are rounded towards 0 to multiples of 2⁻¹⁰, which leaves 1 as it is and adds at most
2⁻¹⁰ to the others; and none counts more than 2¹⁰, so sums are exact.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles

BINS = (1, 2, 4, 7, 12, 20, 35, 60, 100, 170, 290, 500, 850)
"""The fewest ratings of each bin. Public."""
MIDDLES = np.array([math.sqrt(low * (high - 1)) for low, high in zip(BINS, (*BINS[1:], 2 * BINS[-1]), strict=True)])
"""What a user of a bin counts as."""
CLEAR = 2.0
"""Bins below so many deviations of the noise count as empty."""


def census_of_users() -> Contribution:
    """The histogram, for a population.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> int(census_of_users().total(ratings).sum())
    50
    """
    bounds = (
        Bound("user", "l2", 1.0, cells=1, replace=math.sqrt(2)),
        Bound("rating", "l2", math.sqrt(2), cells=2),
        Bound("rating", "l1", 2.0, cells=2),
    )
    name, most = "how many users rated how much", most_on_lattice(1.0)
    return Contribution(name, (len(BINS),), _total, bounds, "gaussian", most_users=most)


def trace_of_users() -> Contribution:
    """Σ_u √(n_u − 1), for a population that hides single ratings.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> round(float(trace_of_users().total(ratings)[0] / 50), 1)
    3.3
    """
    bounds = (Bound("rating", "l1", 1.0, cells=1), Bound("rating", "l2", 1.0, cells=1))
    return Contribution("how many pairs users rate", (1,), _trace, bounds, most_users=most_on_lattice(1.0))


def _trace(ratings: Ratings) -> Doubles:
    lengths = np.diff(ratings.indptr).astype(np.float64)
    roots = np.minimum(np.sqrt(np.maximum(lengths - 1, 0)), 2.0**10)
    return np.array([np.trunc(roots * 2.0**10).sum() * 2.0**-10])


def _total(ratings: Ratings) -> Doubles:
    lengths = np.diff(ratings.indptr)
    bins = np.searchsorted(BINS, lengths[lengths > 0], side="right") - 1
    return np.bincount(bins, minlength=len(BINS)).astype(np.float64)


@dataclass(frozen=True)
class Census:
    """How many users there are, and how much they rate, as far as the noise lets one see."""

    users: Doubles
    """In every bin."""

    @classmethod
    def ask(cls, population: Population, share: float) -> "Census":
        """By one look."""
        asked = census_of_users()
        return cls.of(population.sum(asked, share), population.deviation(asked, share))

    @classmethod
    def of(cls, answer: AnyArray, deviation: float) -> "Census":
        """From a noisy answer."""
        found = np.asarray(answer, dtype=np.float64)
        return cls(np.where(found > CLEAR * deviation, found, 0.0))

    @property
    def total(self) -> float:
        """Users."""
        return float(self.users.sum())

    @property
    def ratings_of_a_user(self) -> float:
        """On average; 0 where nobody was seen."""
        return float(self.users @ MIDDLES) / self.total if self.total > 0 else 0.0

    @property
    def size(self) -> tuple[float, float]:
        """Users, and their ratings."""
        return self.total, self.total * self.ratings_of_a_user
