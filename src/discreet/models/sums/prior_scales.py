"""How wide the priors of users' own regressions should be: asked of everyone's own ratings, under noise.

At home, a user's coefficients have prior standard deviations (:mod:`~discreet.models.home.user_regression`). How much
users differ in their biases, in their tastes for features, and in how far they follow opinion and popularity is
another matter for jokes than for films; and released factors may have been learned from noise. Each user can tell:
with D(x) the sum of squared errors when each of their own ratings is foreseen from all the others with priors 2^x as
wide, in squared widths of the scale, user u adds

    d_u  =  (D(±1) − D(0) for each of the four) / (c √n),    scaled down to norm 1 where it is longer

with c a constant and n about how many ratings a user has, by noisy answers. A rating that is foreseen is left out of
its item's mean too: of what is known of item i, with variance v_i of t², one of n_i ratings is h_i = (1 − v_i/t²)/n_i.
From the noisy sum (L₋, L₊) of each of the four, a parabola through 0 is least at

    x  =  (L₋ − L₊) / (2 (L₋ + L₊)),    where (L₋ + L₊)/2 counts as at least 0, plus twice the deviation of the noise

so that x stays near 0 where noise hides the answer, and within ±2 anywhere; released factors are scaled down only, as
users' own ratings are in them, so that they seem to foresee these better than they do.

**One user** adds a vector of norm 1 at most (after rounding towards 0); exchanged for another's, it moves by 2 at most.

**One rating** changes all that its user says: one vector of norm at most 1 becomes another, so the sum moves by 2 at
most; both likewise in L1, where vectors are scaled down to 1 in that norm. ∎ d_u depends on u's own ratings and on what
was released before. Where there are very many users one in so many takes part; who does is a function of their own
ratings too. NaN and infinities count as 0.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.left_out import left_out_errors, left_out_errors_by_torch
from discreet.models.home.user_regression import UserRegression
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import on_lattice
from discreet.privacy.unit import Bound, Norm
from discreet.releases.choices import PARTS
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seed 501 of MovieLens 100K and latest-small, FilmTrust, MovieTweetings and synthetic
    ratings."""

    typical_error: float = 0.04
    """The c above."""
    least_curvature: float = 2.0
    """The least curvature of a parabola, in deviations of the noise."""
    furthest: float = 2.0
    """The largest x."""
    left_out: int = 24
    """How many ratings of a user are left out in turn, at most."""
    users: int = 30_000
    """About so many take part at most: more would make it slow, and noise matters no more for so many."""
    cells: float = 3e7
    """Where a user's regression has d columns, about this over d² take part, for the same reason."""


CONSTANTS = _Constants()
STEPS = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class PriorLosses:
    """What is asked for.

    Parameters
    ----------
    known
        The regression with its usual priors.
    followed
        h / (1 − h) of each item. Public.
    ratings_of_a_user
        The n above. Public.
    one_in
        One user in so many takes part, about. Public.
    norm
        In which norm vectors are scaled down.
    """

    known: UserRegression
    followed: Doubles
    ratings_of_a_user: float
    one_in: int
    norm: Norm

    @classmethod
    def of(cls, known: UserRegression, followed: Doubles, users: float, ratings: float, laplace: bool) -> "PriorLosses":
        """For about so many users and ratings, by noisy answers."""
        norm: Norm = "l1" if laplace else "l2"
        users = max(users, 1.0)
        most = min(CONSTANTS.users, CONSTANTS.cells / known.rows.shape[1] ** 2)
        return cls(known, followed, max(ratings / users, 1.0), max(1, round(users / most)), norm)

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: two numbers for each part of the priors."""
        bounds: tuple[Bound, ...] = (Bound("user", "l2", 1.0, replace=2.0), Bound("rating", "l2", 2.0, replace=2.0))
        if self.norm == "l1":
            bounds = (Bound("user", "l1", 1.0, replace=2.0), Bound("rating", "l1", 2.0, replace=2.0), *bounds)
        return Contribution(
            "how well users' own ratings foresee each other",
            (len(PARTS), len(STEPS)),
            self._total,
            bounds,
            "gaussian" if self.norm == "l2" else None,
            largest=1.0,
            on_torch=self._total_by_torch,
        )

    def losses(self, ratings: Ratings) -> Doubles:
        """d_u of every user, users by parts by steps."""
        errors = left_out_errors(ratings.indptr, ratings.item_index, ratings.values, *self._question)
        return self._told(errors)

    @property
    def _question(self) -> tuple[Doubles, Doubles, Doubles, Doubles, Doubles, int, int]:
        """All that is public, for a kernel."""
        known = self.known
        roots = np.sqrt(known.weights.astype(np.float64))
        rows = known.rows.astype(np.float64) * roots[:, None]
        powers = np.zeros((1 + len(PARTS) * len(STEPS), rows.shape[1]))
        for place, columns in enumerate(known.columns_of_parts):
            for other, step in enumerate(STEPS):
                powers[1 + place * len(STEPS) + other, columns] = step
        penalties = known.residual_variance * 4.0**-powers
        return known.base.astype(np.float64), rows, roots, self.followed, penalties, CONSTANTS.left_out, self.one_in

    def _told(self, errors: Doubles) -> Doubles:
        told = errors[:, 1:] - errors[:, :1]
        told /= CONSTANTS.typical_error * math.sqrt(self.ratings_of_a_user) * self.known.width**2
        told[~np.isfinite(told).all(axis=1)] = 0
        lengths = np.abs(told).sum(axis=1) if self.norm == "l1" else np.sqrt(np.square(told).sum(axis=1))
        return on_lattice(told / np.maximum(lengths * (1 + 2.0**-40), 1.0)[:, None])

    def _total(self, ratings: Ratings) -> AnyArray:
        return np.asarray(self.losses(ratings).sum(axis=0)).reshape(len(PARTS), len(STEPS))

    def _total_by_torch(self, parts: Iterable[Ratings]) -> AnyArray:
        columns = ((part.indptr, part.item_index, part.values) for part in parts)
        total = np.zeros(len(PARTS) * len(STEPS))
        for errors in left_out_errors_by_torch(columns, *self._question):
            total += self._told(errors).sum(axis=0)
        return total.reshape(len(PARTS), len(STEPS))


def asked_scales(
    known: UserRegression,
    followed: Doubles,
    size: tuple[float, float],
    population: Population,
    share: float,
    scales: Floats | None = None,
    laplace: bool = False,
) -> dict[str, AnyArray]:
    """The released array, by one look; none without a share. ``size`` is how many users and ratings there are.

    ``scales`` are those that the regression has already, if any. The noise is Gaussian, unless it is ``laplace``.
    """
    if share <= 0:
        return {}
    asked = PriorLosses.of(known, followed, *size, laplace).contribution
    deviation = population.deviation(asked, share)
    found = scales_of(population.sum(asked, share), deviation)
    if deviation == 0:  # patterns, too, know the ratings that are left out, and without noise by heart: half way
        found = np.sqrt(found)
    return {"prior_scales": found if scales is None else found * scales}


def scales_of(answer: AnyArray, deviation: float) -> Floats:
    """2^x for each part.

    >>> scales_of(np.array([[1.0, 1.0], [-2.0, 6.0], [0.1, -0.1], [0.1, -0.1]]), 0.0).tolist()
    [1.0, 0.5, 4.0, 1.0]
    """
    narrower, wider = np.asarray(answer, dtype=np.float64).T
    curvature = np.maximum((narrower + wider) / 2, 0) + CONSTANTS.least_curvature * deviation
    slope = (wider - narrower) / 2
    best = -slope / (2 * np.maximum(curvature, 1e-9))
    most = np.full(len(best), CONSTANTS.furthest)
    most[PARTS.index("released factors")] = 0.0
    return np.asarray(np.exp2(np.clip(best, -CONSTANTS.furthest, most)), dtype=np.float32)
