"""At home: a small Bayesian regression of a user's own ratings on what is known of the items.

    r_ui − base_i  =  z_iᵀ a_u + error,        a_u ~ N(0, I),   error ~ N(0, σ² + v_i)

    z_i  =  (τ, γ f_i, κ b_i, λ p_i, L_i)      generosity; tastes for public features f; how much the user goes by what
                                               everyone likes (the bias b) and by what everyone rates (p = log count,
                                               about its mean); and the released factors L

σ² is how far ratings stray, v_i what is not known of the item's base. With ω_i = σ²/(σ² + v_i) the mean of what the own
ratings leave possible is

    a_u  =  (Σ_i ω_i z_i z_iᵀ + σ² I)⁻¹ Σ_i ω_i z_i (r_ui − base_i)

and base_i + z_iᵀ a_u is the expected rating. It is linear in the own ratings, so each has its share in it. Whoever has
no ratings gets a_u = 0, which is to say base_i.
"""

from dataclasses import dataclass

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.kernels.posterior import posterior_rows
from discreet.models.home.fold_in import fixed, predict_pairs, solve_rows
from discreet.types import Floats, Indices

RESIDUAL_DEVIATION, GENEROSITY, FEATURE, AGREEMENT, MAINSTREAM = 0.2, 0.11, 0.065, 0.4, 0.03
"""In widths of the scale, but for agreement, which is a share of the bias itself."""


@dataclass(frozen=True, eq=False)
class UserRegression:
    """What every user's own regression needs: all public or released.

    Parameters
    ----------
    base
        The expected rating of each item.
    rows
        The z above, one row an item.
    weights
        The ω above.
    residual_variance
        σ² in squared points of the scale.
    """

    base: Floats
    rows: Floats
    weights: Floats
    residual_variance: float

    @classmethod
    def of(
        cls, base: Floats, unknown: Floats, counts: Floats, features: Floats, factors: Floats, width: float
    ) -> "UserRegression":
        """From the released arrays and the public features."""
        share = (counts / max(float(counts.sum()), 1e-9)).astype(np.float64)
        popularity = np.log(counts.astype(np.float64) + 1)
        columns = [
            np.full((len(base), 1), GENEROSITY * width),
            FEATURE * width * (features - share @ features),
            AGREEMENT * (base - share @ base)[:, None],
            MAINSTREAM * width * (popularity - share @ popularity)[:, None],
            factors,
        ]
        residual_variance = (RESIDUAL_DEVIATION * width) ** 2
        return cls(
            base,
            np.concatenate(columns, axis=1).astype(np.float32),
            (residual_variance / (residual_variance + unknown)).astype(np.float32),
            residual_variance,
        )

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
        """a_u of every user, and the covariance of what remains unknown of its ``last`` coefficients, packed."""
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
