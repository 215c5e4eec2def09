"""Matrix factorisation trained by the paper's Algorithm 3 (its Table 11): SVD has biases, MF has none.

    rating of item i by user k  ≈  mean + b_k + b_i + p_kᵀ q_i          (MF: p_kᵀ q_i alone)
    loss of user k = ½ Σ_i [(error)² + λ (b_k² + b_i² + ‖p_k‖² + ‖q_i‖²)]    over the items that k rated

One sample is the whole row, as for the autoencoder; all of P, Q and b get noise, those of users who are not in the
batch too, as the listing adds it to all weights.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data.ratings import Ratings
from discreet.papers.dp_vae.rounds import Rounds
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True, eq=False)
class RowGradient:
    """Of one user: the user, the items, the gradient at p, at the rows of q, and at both biases (or nothing)."""

    user: int
    items: AnyArray
    own: AnyArray
    others: AnyArray
    own_bias: float
    biases: AnyArray


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Sizes and settings."""

    factors: int = 100
    regularisation: float = 0.02
    biased: bool = True
    seed: int = 0

    def views(self, flat: AnyArray, users: int, items: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """P, Q, b of users and b of items in one vector."""
        width = self.factors
        first, second, third = users * width, (users + items) * width, (users + items) * width + users
        return (
            flat[:first].reshape(users, width),
            flat[first:second].reshape(items, width),
            flat[second:third],
            flat[third:],
        )

    def train(self, ratings: Ratings, rounds: Rounds, rng: np.random.Generator) -> Floats:
        """Expected ratings of all users and items."""
        users, items = ratings.n_users, ratings.n_items
        order = np.random.default_rng([self.seed, 3])
        flat = order.normal(0, 0.1, (users + items) * (self.factors + 1)).astype(np.float32)
        flat[(users + items) * self.factors :] = 0
        own, others, own_bias, biases = self.views(flat, users, items)
        # The middle of the scale: a mean of the ratings would be one more thing without noise.
        mean = np.float32(ratings.catalogue.scale.middle if self.biased else 0.0)

        def gradient(user: int) -> RowGradient:
            rows = slice(ratings.indptr[user], ratings.indptr[user + 1])
            rated, count = ratings.item_index[rows], int(ratings.indptr[user + 1] - ratings.indptr[user])
            guess = mean + own_bias[user] + biases[rated] + others[rated] @ own[user]
            error = guess - ratings.values[rows]
            pull = self.regularisation
            return RowGradient(
                user,
                rated,
                error @ others[rated] + pull * count * own[user],
                error[:, None] * own[user] + pull * others[rated],
                float(error.sum() + pull * count * own_bias[user]) if self.biased else 0.0,
                error + pull * biases[rated] if self.biased else np.zeros_like(error),
            )

        def gradients(chosen: AnyArray) -> FactorGradients:
            return FactorGradients(self, users, items, tuple(gradient(int(user)) for user in chosen))

        rounds.descend(flat, users, gradients, order, rng)
        return np.asarray(mean + own_bias[:, None] + biases + own @ others.T, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class FactorGradients:
    """Of several users."""

    model: Factors
    users: int
    items: int
    rows: tuple[RowGradient, ...]

    @cached_property
    def norms(self) -> Doubles:
        """‖g_k‖."""
        return np.sqrt([sum(float(np.sum(part**2)) for part in _parts(row)) for row in self.rows])

    @cached_property
    def sums(self) -> Doubles:
        """|g_k|₁."""
        return np.array([sum(float(np.abs(part).sum()) for part in _parts(row)) for row in self.rows])

    def total(self, weights: AnyArray, out: Floats) -> None:
        """Σ_k w_k g_k."""
        out[...] = 0
        own, others, own_bias, biases = self.model.views(out, self.users, self.items)
        for weight, row in zip(np.asarray(weights, dtype=np.float32), self.rows, strict=True):
            own[row.user] += weight * row.own
            others[row.items] += weight * row.others
            own_bias[row.user] += weight * row.own_bias
            biases[row.items] += weight * row.biases


def _parts(row: RowGradient) -> tuple[AnyArray, ...]:
    return row.own, row.others, np.array([row.own_bias]), row.biases
