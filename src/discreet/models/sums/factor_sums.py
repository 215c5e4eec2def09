"""What users say about items through their own factors, as one bounded sum over users: a step of private ALS.

At home user u finds p_u and what remains unknown of it, a covariance S_u; z_u = (B, p_u) with a constant B for the
item's bias, and M_u = z_u z_uᵀ + a S_u with a caution a (nothing is unknown of B). With y_ui what is left of their
rating once all but z_u is taken away, cut to ±clip, public weights c_i of items and a constant κ, a user adds for each
rated item of the list that they keep

    w_u c_i (κ M_u,  y_ui z_u)                with   w_u = 1/√Σ_i c_i² (κ² ‖M_u‖² + y_ui² ‖z_u‖²)

the left and the right side of the item's normal equations together. Off the diagonal the cells of M are sent √2 times
as large, so that a packed triangle is as long as its matrix. S_u is what expectation maximisation adds: p_u was found
from the very ratings that are explained here, strays and all, and without S_u factors of mere strays would keep each
other alive, the more factors the worse.

Which ratings are kept, and the weights, in three ways (c from public or released counts, so both cost nothing more):

    uniform     at most k of a user's, drawn at random by the population's secret tags      c_i = 1
    tail        the k whose items are rated least                                           c_i = 1
    adaptive    all                                                                         c_i = count_i^−exponent

As published, ‖p_u‖ is clipped and the squares of weights sum to a constant; here weights follow what a user's M and
y really are, so that everybody's whole answer has the same length.

**L2, one user: 1.** The cells of different items are different cells, and the squares of a user's cells sum to w_u² Σ_i
c_i² (κ² ‖M‖² + y_ui² ‖z‖²) = 1, or to 0 for a user who keeps no rating. Rounding cells towards 0 shortens it. p_u, S_u,
w_u and what is kept come from the user's own ratings and tag (a function of the user's name and a key that is drawn
beforehand) and from what was public or released before, so no other user's answer changes. ∎ No cap on ‖p_u‖ is needed:
clipping it would bend the equations, a weight does not. Where a regression at home leaves the range of its numbers,
what is no number counts 0: it would show through any noise.

**L2, one rating: 2.** One rating moves p_u, and so everything that u says: a vector of length 1 becomes another one.
(They can be nearly opposite: with one rating left of two, y may change its sign.) So does a rating that is replaced. A
rating costs as much as replacing a user, so there is no cheaper form for it. ∎
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.pairs import pair_products
from discreet.kernels.statistics import bounded_statistics
from discreet.models.home.fold_in import fixed
from discreet.models.home.user_regression import UserRegression
from discreet.populations.bounded import tags_of
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import keep_at_most
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Booleans, Doubles, Floats, Indices

Weighting = Literal["uniform", "tail", "adaptive"]

LEAST_COUNT = 1.0
"""Items that are rated less are weighted like items that are rated so often."""
SHORTER = 1 - 2.0**-30
"""Rounding in doubles must not lengthen what has length 1."""


@dataclass(frozen=True, eq=False)
class FactorSums:
    """What is asked for in one step.

    Parameters
    ----------
    known
        What every user's own regression needs; the last ``factors`` columns of its rows are the item factors.
    base
        What is taken from ratings before y, for each item. Public.
    factors
        How many factors.
    listed
        Positions of the items that take part, increasing. Public.
    counts
        How often each item of the catalogue was rated, as far as it is known. Public.
    weighting, kept, exponent
        How a user's ratings are weighted; ``kept`` is the k above.
    clip
        The furthest that y counts, in points of the scale.
    constant, relative_weight, caution
        The B, the κ and the a above.
    draw
        Which random ratings are kept.
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
    caution: float
    draw: tuple[int, int] = (0, 0)

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: one row for each listed item."""
        d = self.factors + 1
        shape = (len(self.listed), d * (d + 1) // 2 + d)
        bounds = (Bound("user", "l2", 1.0), Bound("rating", "l2", 2.0, replace=2.0))
        name, most = "what users' own factors say about each item", most_on_lattice(1.0)
        return Contribution(name, shape, self._total, bounds, "gaussian", most_users=most)

    @property
    def item_weights(self) -> Doubles:
        """The c above, for each listed item."""
        if self.weighting != "adaptive":
            return np.ones(len(self.listed))
        counts = np.maximum(self.counts[self.listed], LEAST_COUNT)
        return np.asarray((counts / counts.mean()) ** -self.exponent)

    def normal_equations(self, sums: AnyArray) -> tuple[Doubles, Doubles]:
        """The (noisy) left and right sides ``(items × d × d, items × d)`` of a total, without the factors κ and c."""
        d = self.factors + 1
        packed = sums[:, :-d] / self.relative_weight
        rows, columns = np.tril_indices(d)
        packed = packed / np.where(rows == columns, 1.0, np.sqrt(2))
        grams = np.empty((len(sums), d, d))
        grams[:, rows, columns] = grams[:, columns, rows] = packed
        return grams, np.asarray(sums[:, -d:])

    def _total(self, ratings: Ratings) -> Doubles:
        own, unknown = self.known.posteriors(ratings, self.factors)  # from all own ratings, whatever is kept below
        position = np.full(ratings.n_items, -1, dtype=np.int32)
        position[self.listed] = np.arange(len(self.listed), dtype=np.int32)
        kept = np.flatnonzero(self._keeps(ratings, position))
        places, users = position[ratings.item_index[kept]], ratings.user_index[kept]
        order = np.argsort(places, kind="stable")
        kept, places, users = kept[order], places[order], users[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(self.listed)))]).astype(np.int64)

        rest, items = own.shape[1] - self.factors, ratings.item_index[kept]
        known = pair_products(fixed(own[:, :rest].copy()), fixed(self.known.rows[:, :rest].copy()), users, items)
        left = ratings.values[kept].astype(np.float64) - self.base[items] - known
        targets = _finite(np.clip(left, -self.clip, self.clip))
        factors = np.concatenate([np.full((len(own), 1), self.constant), _finite(own[:, rest:])], axis=1)
        squares = self._squares(factors, _finite(unknown))
        weights = self._weights_of_users(factors, squares, targets, users, self.item_weights[places])
        squares *= weights[:, None]
        return np.asarray(
            bounded_statistics(indptr, users, targets * weights[users], factors, squares, self.item_weights)
        )

    def _squares(self, factors: Doubles, unknown: Doubles) -> Doubles:
        """κ M of every user, packed, off the diagonal √2 times as large."""
        rows, columns = np.tril_indices(self.factors + 1)
        squares = factors[:, rows] * factors[:, columns]
        squares[:, columns > 0] += self.caution * unknown  # the triangle without its first column, row by row
        return np.asarray(squares * np.where(rows == columns, self.relative_weight, self.relative_weight * np.sqrt(2)))

    def _weights_of_users(
        self, factors: Doubles, squares: Doubles, targets: Doubles, users: Indices, item_weights: Doubles
    ) -> Doubles:
        """The w above."""
        of_squares, of_factors = (squares**2).sum(axis=1), (factors**2).sum(axis=1)
        own = item_weights**2 * (of_squares[users] + of_factors[users] * targets**2)
        length = np.sqrt(np.bincount(users, weights=own, minlength=len(factors)))
        return np.asarray(np.divide(SHORTER, length, out=np.zeros_like(length), where=length > 0))

    def _keeps(self, ratings: Ratings, position: Indices) -> Booleans:
        """Which ratings a user speaks about: a function of the user's own ratings and of public facts."""
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


def _finite(values: AnyArray) -> Doubles:
    """In doubles, with 0 for what is no number."""
    return np.nan_to_num(values.astype(np.float64), copy=False, nan=0.0, posinf=0.0, neginf=0.0)
