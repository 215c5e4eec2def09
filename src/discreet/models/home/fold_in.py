"""At home: how a user finds their own factors from their own ratings and the released item factors.

    rating of item i  ≈  offset_i + b + pᵀq_i

    (b, p)  =  argmin  Σ_i (r_i − offset_i − b − pᵀq_i)² + n λ_b b² + n λ ‖p‖²      over the n rated items

A penalty that grows with the number of ratings is what stochastic gradient steps and weighted ALS train
with, so the same one is used here: a user of the training data gets back what training gave them.
"""

from typing import TypeVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.pairs import pair_products
from discreet.kernels.ridge import solve_rows
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
    return np.asarray(
        solve_rows(histories.indptr, histories.item_index, targets, fixed(factors), base, 1.0, penalty_of_a_rating)
    )


def predict_pairs(own: Floats, factors: Floats, offsets: Floats, users: Indices, items: Indices) -> Floats:
    """Offset plus product of factors, for each pair."""
    products = pair_products(fixed(own), fixed(factors), fixed(users), fixed(items))
    return np.asarray(offsets[items] + products, dtype=np.float32)


def rating_offsets(release: Release) -> Floats:
    """What is expected of each item before anything is known about the user."""
    return np.asarray(release.arrays["mean"][0] + release.arrays["item_bias"], dtype=np.float32)
