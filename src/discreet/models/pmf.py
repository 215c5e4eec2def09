"""Probabilistic matrix factorisation: the most probable factors, by gradient descent on all ratings at once.

    expected rating of item i by user u  =  p_uᵀq_i

    E  =  ½ Σ_ui (r_ui − p_uᵀq_i)² + ½ λ (Σ_u ‖p_u‖² + Σ_i ‖q_i‖²)

    Each step, n being the number of ratings:
        velocity ← momentum · velocity − rate · ∇E        factors ← factors + velocity
        rate = learning_rate / n, on small data less: 1 / 2σ, where σ is the largest singular value of the ratings,
        since the curvature of E is about 2σ and longer steps would overflow

λ is small and the steps are few, so it is the early stop that keeps the factors from fitting noise. At home
there is no such stop: each user solves ridge regression on their own ratings, with a penalty of their own
for each rating.

The steps need everyone's factors on one machine, so this takes the raw ratings: it is a reference, not a private model.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_kinds, require_settings
from discreet.kernels.gradients import residual_sums
from discreet.models.home import methods
from discreet.models.home.fold_in import FoldIn
from discreet.populations.asking import check_ratings
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class PMF:
    """Probabilistic matrix factorisation on raw ratings, without biases.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    steps
        How many; a few times as many fit the noise.
    learning_rate
        Of the gradient of the mean over all ratings.
    momentum
        Share of the last step that the next one keeps.
    regularisation
        λ above.
    home_regularisation
        At home: how strongly a user's factors are pulled to 0, for each rating.
    seed
        Of the initial factors.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.models.PMF(factors=4, steps=5).fit(ratings)
    >>> release.arrays["item_factors"].shape
    (30, 4)
    """

    raw_ratings: ClassVar[bool] = True

    factors: int = 20
    steps: int = 50
    learning_rate: float = 50.0
    momentum: float = 0.8
    regularisation: float = 0.01
    home_regularisation: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", least=1)
        require_settings(self, "steps", "regularisation", "home_regularisation", least=0)
        require_settings(self, "learning_rate", above=0)
        require_settings(self, "momentum", least=0, below=1)
        require_kinds(self)

    def fit(self, ratings: Ratings, progress: Progress = no_progress) -> Release:
        """Train on raw ratings, and release the item factors."""
        check_ratings(self, ratings)
        rng = np.random.default_rng(self.seed)
        users: AnyArray = rng.normal(0, 0.1, (ratings.n_users, self.factors)).astype(np.float32)
        items: AnyArray = rng.normal(0, 0.1, (ratings.n_items, self.factors)).astype(np.float32)
        user_velocity, item_velocity = np.zeros_like(users), np.zeros_like(items)
        by_item, keep, shrink = ratings.by_item, np.float32(self.momentum), np.float32(self.regularisation)
        rate = np.float32(min(self.learning_rate / max(len(ratings), 1), 0.5 / largest_singular_value(ratings)))
        for step in range(self.steps):
            user_pull = residual_sums(ratings.indptr, ratings.item_index, ratings.values, users, items) - shrink * users
            item_pull = residual_sums(by_item.indptr, by_item.users, by_item.values, items, users) - shrink * items
            user_velocity = keep * user_velocity + rate * user_pull
            item_velocity = keep * item_velocity + rate * item_pull
            users, items = users + user_velocity, items + item_velocity
            progress(step + 1, self.steps, "steps")
        items[np.diff(by_item.indptr) == 0] = 0
        return Release.of_ratings(self, ratings, {"item_factors": items})

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", self.factors)),)

    def prepare(self, release: Release) -> FoldIn:
        """The item side."""
        factors = release.arrays["item_factors"]
        penalty = np.full(self.factors, self.home_regularisation, dtype=np.float32)
        return FoldIn(factors, np.zeros(len(factors), dtype=np.float32), penalty)

    predict, score = methods.predict, methods.score


def largest_singular_value(ratings: Ratings, rounds: int = 30) -> float:
    """Of the matrix of ratings with 0 where there is none, by power iteration; never below a tiny number.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=30, items=20, ratings=300, seed=1)
    >>> bool(np.isclose(largest_singular_value(ratings), np.linalg.norm(ratings.csr.toarray(), 2), rtol=1e-3))
    True
    """
    matrix = ratings.csr.astype(np.float64)
    vector, value = np.ones(ratings.n_items), 0.0
    for _ in range(rounds):
        image = matrix.T @ (matrix @ vector)
        value = float(np.linalg.norm(image))
        if value == 0:
            break
        vector = image / value
    return max(float(np.sqrt(value)), 1e-6)
