"""At home: how a user finds their own factors from their own ratings and the released item factors.

    rating of item i  ≈  offset_i + b + pᵀq_i

    (b, p)  =  argmin  Σ_i (r_i − offset_i − b − pᵀq_i)² + n λ_b b² + n λ ‖p‖²      over the n rated items

A penalty that grows with the number of ratings is what stochastic gradient steps and weighted ALS train
with, so the same one is used here: a user of the training data gets back what training gave them.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.kernels import few_pairs, few_users, pairs, ridge
from discreet.kernels.compiling import by_numpy, chosen
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices

FixedArray = TypeVar("FixedArray", bound=AnyArray)

FAINT_PENALTY = 1e-3  # keeps the problem solvable in single precision when a penalty is 0


def with_ones(factors: Floats) -> Floats:
    """Item factors with a column of ones: its coefficient is the user's bias."""
    return np.concatenate([factors, np.ones((len(factors), 1), dtype=np.float32)], axis=1)


def fixed(array: FixedArray) -> FixedArray:
    """A view that cannot be written to. Kernels are compiled for one kind of array instead of for both."""
    view = array.view()
    view.flags.writeable = False
    return view


def fold_in(
    histories: Ratings, factors: Floats, offsets: Floats, penalty_of_a_rating: Floats, penalty: Floats | None = None
) -> Floats:
    """The factors of each user, users by factors; zeros for a user without ratings."""
    base = np.diag(np.full(factors.shape[1], FAINT_PENALTY) if penalty is None else penalty).astype(np.float32)
    targets = histories.values - offsets[histories.item_index]
    return solve_rows(histories, targets, factors, base, penalty_of_a_rating)


def solve_rows(
    histories: Ratings, targets: Floats, factors: Floats, base: Floats, penalty_of_a_rating: Floats
) -> Floats:
    """Every user's own ridge regression of ``targets``, one for each rating, on the factors of the rated items."""
    require_rows(factors, histories.n_items)
    solve = chosen(histories.n_users, few_users.solve_rows, ridge.solve_rows)
    indptr, items = histories.indptr, histories.item_index
    return np.asarray(solve(indptr, items, targets, fixed(factors), base, 1.0, penalty_of_a_rating))


def require_rows(matrix: Floats, items: int) -> None:
    """Raise unless there is a row for each item: kernels read memory by the positions of items."""
    require(matrix.ndim == 2 and len(matrix) == items, f"there must be one row of factors for each of {items:,} items")


def row_sums(histories: Ratings, matrix: Floats) -> Floats:
    """For each user the sum of the rows of ``matrix``, one an item, over the items that the user rated."""
    require_rows(matrix, histories.n_items)
    if by_numpy(histories.n_users):
        return few_users.row_sums(histories.indptr, histories.item_index, matrix)
    rated = histories.csr.copy()
    rated.data = np.ones(len(histories), dtype=np.float32)
    return np.asarray(rated @ matrix)


def predict_pairs(own: Floats, factors: Floats, offsets: Floats, users: Indices, items: Indices) -> Floats:
    """Offset plus product of factors, for each pair."""
    product = chosen(len(own), few_pairs.pair_products, pairs.pair_products)
    products = product(fixed(own), fixed(factors), fixed(users), fixed(items))
    return np.asarray(offsets[items] + products, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class FoldIn:
    """What users' own factors are solved from; nothing here depends on a user.

    Parameters
    ----------
    factors
        Of the items.
    offsets
        What is expected of each item before anything is known about the user.
    penalty_of_a_rating, penalty
        The parts of the penalty that grow with the number of ratings, and that do not.
    """

    factors: Floats
    offsets: Floats
    penalty_of_a_rating: Floats
    penalty: Floats | None = None

    def own(self, histories: Ratings) -> Floats:
        """The factors of each user."""
        return fold_in(histories, self.factors, self.offsets, self.penalty_of_a_rating, self.penalty)

    def predict(self, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair."""
        return predict_pairs(self.own(histories), self.factors, self.offsets, users, items)

    def scores(self, histories: Ratings) -> Floats:
        """The expected ratings of all items."""
        return np.asarray(self.own(histories) @ self.factors.T + self.offsets)


def rating_offsets(release: Release) -> Floats:
    """What is expected of each item before anything is known about the user."""
    return np.asarray(release.arrays["mean"][0] + release.arrays["item_bias"], dtype=np.float32)
