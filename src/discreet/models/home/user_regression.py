"""Bayesian linear regression of a user's own ratings on covariates of the items, computed at home.

    r_ui − base_i  =  z_iᵀ a_u + error,        a_u ~ N(0, I),   error ~ N(0, σ² + v_i)

    z_i  =  (τ, γ f_i, η t_i, κ b_i, λ p_i, L_i)    the user's bias; preferences for public features f, and for patterns
                                                    t of who rates what; how far the user follows general opinion
                                                    (the item bias b) and popularity (p = log count, centred); and
                                                    the released factors L

σ² is the residual variance, v_i the posterior variance of the item's base. With weights ω_i = σ²/(σ² + v_i) the
posterior mean is

    a_u  =  (Σ_i ω_i z_i z_iᵀ + σ² I)⁻¹ Σ_i ω_i z_i (r_ui − base_i)

and base_i + z_iᵀ a_u is the expected rating. It is linear in the user's ratings, so the share of each is known. A user
without ratings has a_u = 0 and gets base_i.

The prior standard deviations τ, γ, η, κ and λ are constants, unless a release scales them, and L, by what its users
said (:mod:`~discreet.models.almanac.questions`).

**Patterns of who rates what as covariates.** People tend to like what is rated by those who rate what they like, so the
patterns of who rates what (:mod:`~discreet.models.almanac.pairs`) serve where genres would, and beside them. With T the
released taste factors, whose first column is popularity,

    t_ik  =  T_ik / |T_i1|,    k = 2, 3, …                    0 for items without factors
    t_ik  ←  (t_ik − mean of column k) / deviation of column 2,    clipped to ±3

mean and deviation over ratings of items with factors. So a weaker pattern, which noise hides more of, also counts for
less. They are made of what is released already, so they cost no privacy.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.kernels.posterior import posterior_rows
from discreet.models.home.fold_in import fixed, predict_pairs, solve_rows
from discreet.releases.choices import PARTS
from discreet.types import AnyArray, Booleans, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Prior standard deviations, in widths of the scale unless said otherwise.

    Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported; what is about patterns
    of who rates what on one split, with the seed 875, of small data of ``benchmarks/robust.py``.
    """

    residual_deviation: float = 0.2
    """The standard deviation of a rating about its expectation."""
    user_bias: float = 0.11
    """Of users' biases."""
    feature_weight: float = 0.065
    """Of a user's preference for one feature."""
    taste_weight: float = 0.02
    """Of a user's preference for one pattern of who rates what: .015 and .03 do nearly as well."""
    bias_weight: float = 0.4
    """Of how far a user exaggerates or dampens the item biases; no length, as the bias has one."""
    popularity_weight: float = 0.03
    """Of a user's preference for popular items, for each unit of log count."""
    most: int = 12
    """How many patterns at most: more cost users time, and changed next to nothing."""
    furthest: float = 3.0
    """Where covariates are clipped: the ratios of rare items are mostly noise."""


CONSTANTS = _Constants()


# ── The regression ──


@dataclass(frozen=True, eq=False)
class UserRegression:
    """What every user's regression needs: all public or released.

    Parameters
    ----------
    base
        The expected rating of each item.
    rows
        The z above, one row per item.
    weights
        The ω above.
    residual_variance
        σ², in squared points of the scale.
    factors
        How many columns of the rows, the last, are released factors.
    """

    base: Floats
    rows: Floats
    weights: Floats
    residual_variance: float
    factors: int = 0

    @classmethod
    def of(
        cls,
        base: Floats,
        unknown: Floats,
        counts: Floats,
        features: Floats,
        factors: Floats,
        width: float,
        scales: Floats | None = None,
        tastes: Floats | None = None,
    ) -> "UserRegression":
        """From the released arrays and the public features; ``scales`` has a number for each of the ``PARTS``."""
        of_bias, of_features, of_following, of_factors = (1.0,) * len(PARTS) if scales is None else map(float, scales)
        share = (counts / max(float(counts.sum()), 1e-9)).astype(np.float64)
        popularity = np.log(counts.astype(np.float64) + 1)
        columns = [
            np.full((len(base), 1), of_bias * CONSTANTS.user_bias * width),
            of_features * CONSTANTS.feature_weight * width * (features - share @ features),
            of_features * CONSTANTS.taste_weight * width * (features[:, :0] if tastes is None else tastes),
            of_following * CONSTANTS.bias_weight * (base - share @ base)[:, None],
            of_following * CONSTANTS.popularity_weight * width * (popularity - share @ popularity)[:, None],
            of_factors * factors,
        ]
        residual_variance = (CONSTANTS.residual_deviation * width) ** 2
        return cls(
            base,
            np.concatenate(columns, axis=1).astype(np.float32),
            (residual_variance / (residual_variance + unknown)).astype(np.float32),
            residual_variance,
            factors.shape[1],
        )

    @property
    def width(self) -> float:
        """Of the scale of ratings."""
        return math.sqrt(self.residual_variance) / CONSTANTS.residual_deviation

    @property
    def columns_of_parts(self) -> tuple[slice, slice, slice, slice]:
        """Which columns of the rows belong to each of the ``PARTS``."""
        end = self.rows.shape[1] - self.factors
        return slice(0, 1), slice(1, end - 2), slice(end - 2, end), slice(end, self.rows.shape[1])

    def coefficients(self, histories: Ratings) -> Floats:
        """a_u of every user, users by covariates."""
        width = self.rows.shape[1]
        roots = np.sqrt(self.weights)
        targets = (histories.values - self.base[histories.item_index]) * roots[histories.item_index]
        prior = np.diag(np.full(width, self.residual_variance, dtype=np.float32))
        none = np.zeros(width, dtype=np.float32)
        return solve_rows(histories, targets, self.rows * roots[:, None], prior, none)

    def predict(self, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair."""
        return predict_pairs(self.coefficients(histories), self.rows, self.base, users, items)

    def scores(self, histories: Ratings) -> Floats:
        """The expected ratings of all items."""
        return np.asarray(self.coefficients(histories) @ self.rows.T + self.base)

    def posteriors(self, histories: Ratings, last: int) -> tuple[Floats, Floats]:
        """a_u of every user, and the packed posterior covariance of its ``last`` coefficients."""
        roots = np.sqrt(self.weights)
        targets = (histories.values - self.base[histories.item_index]) * roots[histories.item_index]
        rows = fixed((self.rows * roots[:, None]).astype(np.float32))
        own, corners = posterior_rows(
            histories.indptr, histories.item_index, targets, rows, self.residual_variance, last
        )
        return own, corners * np.float32(self.residual_variance)

    def shares(self, history: History, item: int) -> Floats:
        """What each rating of a history adds to the expected rating of ``item``."""
        rated = self.rows[history.items].astype(np.float64)
        weighted = rated * self.weights[history.items, None]
        gram = weighted.T @ rated + self.residual_variance * np.eye(rated.shape[1])
        weights = weighted @ np.linalg.solve(gram, self.rows[item].astype(np.float64))
        return np.asarray(weights * (history.values - self.base[history.items]), dtype=np.float32)


# ── Patterns of who rates what as covariates ──


def taste_covariates(taste_factors: AnyArray, counts: AnyArray) -> Floats:
    """t above, items by patterns; no columns where nothing but popularity stands out."""
    factors = taste_factors[:, taste_factors.any(axis=0)][:, : 1 + CONSTANTS.most].astype(np.float64)
    listed: Booleans = np.asarray(factors.any(axis=1))
    share = np.where(listed, counts, 0).astype(np.float64)
    if factors.shape[1] < 2 or not share.any():
        return np.zeros((len(counts), 0), dtype=np.float32)
    share /= share.sum()
    popularity = np.abs(factors[:, :1])
    ratios = np.divide(factors[:, 1:], popularity, out=np.zeros_like(factors[:, 1:]), where=popularity > 0)
    centred = np.where(listed[:, None], ratios - share @ ratios, 0.0)
    deviation = max(float(np.sqrt(share @ centred[:, 0] ** 2)), 1e-9)
    return np.clip(centred / deviation, -CONSTANTS.furthest, CONSTANTS.furthest).astype(np.float32)
