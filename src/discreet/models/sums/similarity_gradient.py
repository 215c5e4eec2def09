"""The gradient of listed similarities as a bounded sum over users: what noisy descent and Langevin steps ask for.

With x_uj the residual of a rating, computed at home, and j over the neighbours of item i that user u rated,

    p_ui = Σ_j s_ij x_uj / D_ui,      D_ui = max(Σ_j |s_ij|, floor)
    g_u  = ∂/∂S ½ Σ_i (p_ui − x_ui)²                      i over what u rated
         : (p_ui − x_ui) (x_uj − sign(s_ij) p_ui) / D_ui   in the cell of i and j; below the floor without the p_ui

and a user adds g_u · min(1, C/‖g_u‖), with ‖·‖ the length over all cells together.

**Sensitivity.** One user, present or absent: C. One rating, present or absent or of another value: 2C. One user
replaced by another: 2C.

*Proof.* Similarities, floor, C and everything that residuals are computed from besides u's own ratings are public or
were released before, and a user's residuals are computed alone, by the same kernel however many users there are. So g_u
is a function of u's ratings alone, and what u adds lies in the ball of radius C. A user who comes or goes moves the sum
by one point of the ball; any other neighbour replaces one point of it by another. ∎

A rating acts through every row of its user's gradient, as target and as neighbour, so clipping single rows would not do
better: n rows of length c that may all turn round are 2c√n. The length is summed in doubles, whatever precision the
means p_ui and divisors have: they are the same numbers in the length and in the sum. Rounding of the sum itself is far
within ``FLOAT_MARGIN`` of the populations.

**Sampled users.** Everything of u's is in one g_u, so a step over a sample of users is what
:mod:`discreet.populations.steps` proves cheaper, for users who are present or absent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.pairs import pair_products
from discreet.kernels.pnbm import clipped_gradient
from discreet.models.home.fold_in import fixed
from discreet.models.home.user_regression import UserRegression
from discreet.populations.contribution import Contribution
from discreet.populations.steps import Steps
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles, Floats, Indices


def gradient_steps(shape: tuple[int, int], clip: float, steps: int, sampling_rate: float) -> Steps:
    """All steps together, for a population; lists of ``shape`` (items, width) need not be known yet."""
    bounds = Bound("user", "l2", clip, replace=2 * clip), Bound("rating", "l2", 2 * clip, replace=2 * clip)
    return Steps(name="gradients of similarities", shape=shape, bounds=bounds, count=steps, sampling_rate=sampling_rate)


def gradient_residuals(home: UserRegression, ratings: Ratings) -> Floats:
    """How far each rating lies from what its user's own ratings lead to expect.

    Always by compiled kernels, which take one user after the other: which other users there are changes no bit of it.
    """
    own, _ = home.posteriors(ratings, last=1)
    pairs = fixed(ratings.user_index), fixed(ratings.item_index)
    expected = home.base[ratings.item_index] + pair_products(fixed(own), fixed(home.rows), *pairs)
    return np.asarray(ratings.values - expected, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class SimilarityGradient:
    """What is asked for in each step.

    Parameters
    ----------
    neighbours
        Which items each item lists, one row an item. Public.
    home
        What every user's own expectation is computed from. Public.
    floor, clip
        The least D and the C above.
    steps, sampling_rate
        How many steps, each over which share of the users.
    """

    neighbours: Indices
    home: UserRegression
    floor: float
    clip: float
    steps: int
    sampling_rate: float = 1.0

    @property
    def asked(self) -> Steps:
        """All steps together, for a population."""
        size, width = self.neighbours.shape
        return gradient_steps((size, width), self.clip, self.steps, self.sampling_rate)

    def contribution(self, similarities: Floats) -> Contribution:
        """The question of one step, at these similarities."""

        def total(ratings: Ratings) -> Doubles:
            by_item, residuals = self._prepared(ratings)
            by_user = ratings.indptr, ratings.item_index, residuals
            return clipped_gradient(self.neighbours, similarities, by_item, by_user, self.floor, self.clip)

        return self.asked.contribution(total)

    @cached_property
    def _prepared(self) -> Callable[[Ratings], tuple[tuple[AnyArray, Indices, Indices], Floats]]:
        """Both orders of ratings, and residuals; of the last ratings seen, because every step asks for them."""

        @lru_cache(maxsize=1)
        def prepare(ratings: Ratings) -> tuple[tuple[AnyArray, Indices, Indices], Floats]:
            places = np.argsort(ratings.item_index, kind="stable").astype(np.int32)
            counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            users = ratings.user_index[places].astype(np.int32)
            return (indptr, users, places), gradient_residuals(self.home, ratings)

        return prepare
