"""The items' normal equations as one bounded sum over users: a step of private ALS.

User u computes at home the posterior mean p_u of their factors and its covariance S_u. Let z_u = (B, p_u) with a
constant B for the item's bias, and M_u = z_u z_uᵀ + a S_u with a covariance weight a (B is a constant, of variance 0).
With y_ui the residual of their rating without z_u, clipped to ±clip, public weights c_i of items and a constant κ, a
user adds for each listed item that they rated and keep

    w_u c_i (κ M_u,  y_ui z_u)                with   w_u = 1/√Σ_i c_i² (κ² ‖M_u‖² + y_ui² ‖z_u‖²)

the left and the right side of the item's normal equations together. Off the diagonal the cells of M are sent √2 times
as large, so that a packed triangle has the norm of its matrix. S_u is the term of expectation maximisation: p_u was
fitted to the same ratings, errors included, and without S_u factors that fit errors would persist, the more factors
the worse.

Which ratings are kept, and the weights, in three ways (c comes from public or released counts, so it costs nothing
more):

    uniform     at most k of a user's, drawn at random by the population's secret tags      c_i = 1
    tail        the k whose items are rated least                                           c_i = 1
    adaptive    all                                                                         c_i = count_i^−exponent

The published method clips ‖p_u‖, and the squares of its weights sum to a constant. Here the weights follow the user's
actual M and y, so that every user's whole answer has the same norm.

**L2, one user: 1.** The cells of different items are different cells, and the squares of a user's cells sum to w_u² Σ_i
c_i² (κ² ‖M‖² + y_ui² ‖z‖²) = 1, or to 0 for a user who keeps no rating. Rounding cells towards 0 shortens it. p_u, S_u,
w_u and what is kept come from the user's own ratings and tag (a function of the user's name and a key that is drawn
beforehand) and from what was public or released before, so no other user's answer changes. ∎ ‖p_u‖ needs no clipping,
which would bias the equations. NaN and infinite values, from a regression that overflows, count as 0: noise would not
hide them. The rows of items, residuals and coefficients of a user's own fit are rounded to public lattices, and the sum
in w_u is rounded up, so that a user says the same to the last bit wherever it is computed: on another processor, or on
a GPU (:mod:`discreet.kernels.own_fits`).

**L2, one rating: 2.** One rating changes p_u, and with it all that u sends: one vector of length 1 becomes another.
(They can be nearly opposite: with one rating left of two, y may change its sign.) The same holds for a rating that is
replaced. So one rating costs as much as replacing a user, and there is no cheaper form for it. ∎
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.gpu_sweeps import sweep_total
from discreet.kernels.own_fits import SweepQuestion, WholeRows, bits_for, own_answers, unit_for
from discreet.kernels.statistics import LATTICE, add_bounded_statistics, by_place
from discreet.models.home.user_regression import UserRegression
from discreet.populations.bounded import tags_of
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import keep_at_most
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Booleans, Doubles, Floats, Indices

Weighting = Literal["uniform", "tail", "adaptive"]


@dataclass(frozen=True)
class _Constants:
    """Of the adaptive weights, and of rounding."""

    least_count: float = 1.0
    """Items with a smaller count get the weight of items with this one: denoised counts can be near 0."""
    widest: float = 16.0
    """In users' own fits residuals are clipped at so many of their standard deviations, several widths of a scale."""
    users_at_once: int = 2048
    """What so many users say stays in the cache of a processor while it is added up."""


CONSTANTS = _Constants()


@dataclass(frozen=True, eq=False)
class FactorSums:
    """What is asked for in one step.

    Parameters
    ----------
    known
        What every user's own regression needs; the last ``factors`` columns of its rows are the item factors.
    base
        What is subtracted from ratings before y, for each item. Public.
    factors
        How many factors.
    listed
        Positions of the items that take part, increasing. Public.
    counts
        The denoised count of each item of the catalogue. Public.
    weighting, kept, exponent
        How a user's ratings are weighted; ``kept`` is the k above.
    clip
        Where y is clipped, in points of the scale.
    constant, relative_weight, covariance_weight
        The B, the κ and the a above.
    draw
        Which random ratings are kept.
    planned
        For how many factors cells are asked for, if more than there are: the others are 0 for everybody. So what is
        asked costs what was planned before it was known how many factors there would be.
    """

    known: UserRegression
    base: Floats
    factors: int
    listed: Indices
    counts: Doubles
    weighting: Weighting
    kept: int
    exponent: float
    clip: float
    constant: float
    relative_weight: float
    covariance_weight: float
    draw: tuple[int, int] = (0, 0)
    planned: int = 0

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: one row for each listed item."""
        d = max(self.factors, self.planned) + 1
        shape = (len(self.listed), d * (d + 1) // 2 + d)
        bounds = (Bound("user", "l2", 1.0), Bound("rating", "l2", 2.0, replace=2.0))
        name = "what users' own factors say about each item"
        return Contribution(name, shape, self._total, bounds, "gaussian", largest=1.0, on_torch=self._total_by_torch)

    @property
    def item_weights(self) -> Doubles:
        """The c above, for each listed item."""
        if self.weighting != "adaptive":
            return np.ones(len(self.listed))
        counts = np.maximum(self.counts[self.listed], CONSTANTS.least_count)
        return np.asarray((counts / counts.mean()) ** -self.exponent)

    def normal_equations(self, sums: AnyArray) -> tuple[Doubles, Doubles]:
        """The (noisy) left and right sides ``(items × d × d, items × d)`` of a total, without the factors κ and c."""
        d, wide = self.factors + 1, max(self.factors, self.planned) + 1
        packed, moments = sums[:, : d * (d + 1) // 2] / self.relative_weight, sums[:, -wide:][:, :d]
        rows, columns = np.tril_indices(d)
        packed = packed / np.where(rows == columns, 1.0, np.sqrt(2))
        places = np.empty((d, d), dtype=np.intp)
        places[rows, columns] = places[columns, rows] = np.arange(len(rows))
        return np.take(packed, places, axis=1), np.asarray(moments)

    def _as_planned(self, statistics: Doubles) -> Doubles:
        """With the cells of factors that there are not: a packed triangle begins with that of fewer rows."""
        d, shape = self.factors + 1, self.contribution.shape
        if statistics.shape == shape:
            return statistics
        wide, packed = np.zeros(shape), d * (d + 1) // 2
        first = shape[1] - max(self.factors, self.planned) - 1
        wide[:, :packed], wide[:, first : first + d] = statistics[:, :packed], statistics[:, packed:]
        return wide

    @property
    def question(self) -> SweepQuestion:
        """All that is public, for a kernel."""
        known, bits = self.known, bits_for(len(self.base))
        position = np.full(len(self.base), -1, dtype=np.int32)
        position[self.listed] = np.arange(len(self.listed), dtype=np.int32)
        roots = np.sqrt(known.weights.astype(np.float64))
        return SweepQuestion(
            position=position,
            weights=self.item_weights,
            fitted=WholeRows.of(known.rows * roots[:, None], bits),
            centre=known.base.astype(np.float64),
            roots=roots,
            penalty=float(known.residual_variance),
            target_unit=unit_for(CONSTANTS.widest * math.sqrt(known.residual_variance), bits),
            plain=WholeRows.of(known.rows[:, : known.rows.shape[1] - self.factors], bits),
            base=self.base.astype(np.float64),
            factors=self.factors,
            clip=float(self.clip),
            constant=self.constant,
            relative_weight=self.relative_weight,
            covariance_weight=self.covariance_weight,
        )

    def _total(self, ratings: Ratings) -> Doubles:
        question, indptr = self.question, ratings.indptr
        places = question.position[ratings.item_index]
        if self.weighting != "adaptive":
            places[~self._keeps(ratings, question.position)] = -1
        d = self.factors + 1
        statistics = np.zeros((len(self.listed), d * (d + 1) // 2 + d))
        for first in range(0, ratings.n_users, CONSTANTS.users_at_once):
            starts = indptr[first : first + CONSTANTS.users_at_once + 1]
            own = slice(starts[0], starts[-1])
            starts, there = starts - starts[0], places[own]
            # From all own ratings, whatever is kept.
            targets, factors, squares = own_answers(
                question, starts, ratings.item_index[own], ratings.values[own], there >= 0
            )
            by_item = by_place(starts, there, targets, len(self.listed))
            add_bounded_statistics(statistics, *by_item, factors, squares, question.weights)
        return self._as_planned(statistics / LATTICE)

    def _total_by_torch(self, parts: Iterable[Ratings]) -> Doubles:
        question, all_listed = self.question, self.weighting == "adaptive"

        def columns() -> Iterator[tuple[AnyArray, ...]]:
            for part in parts:
                own = part.indptr, part.item_index, part.values
                yield own if all_listed else (*own, self._keeps(part, question.position))

        return self._as_planned(sweep_total(question, columns()))

    def _keeps(self, ratings: Ratings, position: Indices) -> Booleans:
        """Which ratings a user's answer is about: a function of the user's own ratings and of public facts."""
        listed = position[ratings.item_index] >= 0
        if self.weighting == "adaptive":
            return np.asarray(listed)
        rows = np.flatnonzero(listed)
        before = np.concatenate([[0], np.cumsum(listed)])
        indptr = before[ratings.indptr].astype(np.int64)
        items = ratings.item_index[rows]
        if self.weighting == "uniform":
            # The draw is public and the users' tags are the population's secret.
            key = hashlib.sha256(f"which ratings are kept, {self.draw}".encode()).digest()
            kept = keep_at_most(indptr, items, tags_of(ratings), self.kept, key)
        else:
            rarity = np.empty(len(self.listed), dtype=np.int64)
            rarity[np.argsort(self.counts[self.listed], kind="stable")] = np.arange(len(self.listed))
            users = ratings.user_index[rows].astype(np.int64)
            order = np.argsort(users * len(self.listed) + rarity[position[items]])
            kept = np.empty(len(rows), dtype=np.bool_)
            kept[order] = np.arange(len(rows)) - indptr[users[order]] < self.kept
        listed[rows[~kept]] = False
        return np.asarray(listed)
