"""At home: a user's own prior in the latent space of an autoencoder, from what the user says of themselves.

    μ_kj  = Σ_w m_kwj μ_wj                      m_kw the user's own facts, μ_w the released means of all users
    γ_kj² = mean over w of (m_kwj − μ_kj)²      at least ``LEAST_VARIANCE``

It is made of public numbers and of the user's own facts, and is shown to nobody: so it needs no noise. What it does to
a user's gradient is clipped with the rest.
"""

from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.word_vectors import embed_facts
from discreet.types import Floats

LEAST_VARIANCE = 0.05
"""The divergence from a prior grows as one over its variance."""


@dataclass(frozen=True, eq=False)
class UserPriors:
    """Means and variances, users by latent dimensions."""

    means: Floats
    variances: Floats

    @classmethod
    def standard(cls, users: int, dimensions: int) -> "UserPriors":
        """N(0, 1) for everybody."""
        return cls(np.zeros((users, dimensions), np.float32), np.ones((users, dimensions), np.float32))

    @classmethod
    def of(cls, embedded: Floats, means: Floats) -> "UserPriors":
        """From users' embedded facts (users by fields by dimensions) and the means of all users.

        >>> found = UserPriors.of(np.full((1, 3, 2), 0.5), np.full((3, 2), 0.5))
        >>> found.means.tolist(), found.variances.tolist()
        ([[0.75, 0.75]], [[0.0625, 0.0625]])
        """
        own = (embedded * means).sum(axis=1)
        variances = np.maximum(((embedded - own[:, None, :]) ** 2).mean(axis=1), LEAST_VARIANCE)
        return cls(np.asarray(own, dtype=np.float32), np.asarray(variances, dtype=np.float32))

    @classmethod
    def of_users(cls, users: Ratings, means: Floats, table: Floats) -> "UserPriors":
        """Of users with their facts; ``table`` has the vectors of words."""
        return cls.of(embed_facts(users.user_facts, users.n_users, table), means)
