"""What users' own coefficients have in common: the fixed effects of a mixed model whose random effects stay at home.

At home a user's coefficients are a_u ~ N(0, I) (:mod:`~discreet.models.home.user_regression`). Where noise hides the
line on which item biases lie, the expected ratings of all items of a feature are off together, and so users' own
coefficients have a mean m. Thousands of noisy item sums tell little of it; it has few dimensions, so one sum over users
that is about nothing else tells much more:

    r_ui − base_i  =  z_iᵀ (m + a_u) + error      â_u, the user's own fit with m = 0, is the gradient of its likelihood
    d_u            =  â_u / max(1, ‖â_u‖)         what user u adds
    Σ_u d_u        ≈  H m,   H = Σ_n users(n) A(n) / max(1, √tr A(n)),   A(n) = (n G + σ²I)⁻¹ n G

with G the mean of ω_i z_i z_iᵀ over ratings, by noisy counts, and users(n) what is known of users' activity, scaled to
the sum of all noisy counts, Σ_u √n_u (:mod:`~discreet.models.sums.activity`). From the noisy sum m
follows by Bayes: m ~ N(0, P), P what is hidden of the line. base_i + z_iᵀ m are the new expected ratings, and what is
still not known of m widens priors at home.

**One user** adds a vector of norm 1 at most (after rounding towards 0); exchanged for another's, it moves by 2 at most.

**One rating** changes all that its user says: by 2 at most. ∎ d_u depends on u's own ratings and on what was released
before. Where there are very many users one in so many takes part; who does is a function of their own ratings too. NaN
and infinities count as 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.left_out import one_user_in
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.activity import Activity
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import on_lattice
from discreet.privacy.unit import Bound
from discreet.releases.choices import PARTS
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 100K, FilmTrust, made-up ratings and seven or twenty ratings of each user of MovieLens 1M, on
    splits with the seed 611."""

    wanted_noise: float = 0.023
    """The deviation of the noise on the mean of users' d_u that is precise enough."""
    least_share: float = 0.01
    """Of the budget, at least."""
    most_share: float = 0.1
    """At most."""
    share_of_a_covariate: float = 0.0035
    """At most, for each of them: the more there are, the more of the line may be hidden."""
    following: float = 0.05
    """The prior variance of m for how far users follow opinion and popularity."""
    users: float = 60_000
    """About so many take part at most."""


CONSTANTS = _Constants()
_BOUNDS = (Bound("user", "l2", 1.0, replace=2.0), Bound("rating", "l2", 2.0, replace=2.0))


def share_for(activity: Activity, population: Population, features: int) -> float:
    """How much of the budget is enough, where items have so many public features."""
    noise = population.deviation(_contribution(1, lambda ratings: np.zeros(1)))
    enough = (noise / (CONSTANTS.wanted_noise * max(activity.total, 1.0))) ** 2
    covariates = features + 3  # and the level, opinion and popularity
    most = min(CONSTANTS.share_of_a_covariate * covariates, CONSTANTS.most_share)
    return float(np.clip(enough, CONSTANTS.least_share, max(most, CONSTANTS.least_share)))


@dataclass(frozen=True, eq=False)
class FixedEffects:
    """What is asked for: ``known`` is the regression at home, of whose users one in ``one_in`` takes part, about."""

    known: UserRegression
    one_in: int = 1

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: a number for each covariate."""
        return _contribution(self.known.rows.shape[1], self._total)

    def told(self, ratings: Ratings) -> Doubles:
        """d_u of every user who takes part."""
        if self.one_in > 1:
            ratings = ratings.select_users(np.flatnonzero(one_user_in(ratings.indptr, ratings.item_index, self.one_in)))
        own = self.known.posteriors(ratings, 0)[0].astype(np.float64)
        own[~np.isfinite(own).all(axis=1)] = 0
        return on_lattice(own / np.maximum(np.linalg.norm(own, axis=1) * (1 + 2.0**-40), 1.0)[:, None])

    def _total(self, ratings: Ratings) -> AnyArray:
        return np.asarray(self.told(ratings).sum(axis=0))

    def expected(self, activity: Activity, counts: Doubles) -> tuple[Doubles, float]:
        """H above, and the variance of each number of the sum that comes from users' differing."""
        rows = self.known.rows * np.sqrt(
            self.known.weights[:, None] * (counts / max(float(counts.sum()), 1e-9))[:, None]
        )
        gram, d = rows.T @ rows, rows.shape[1]
        expected, variance = np.zeros((d, d)), 0.0
        for users, ratings in zip(activity.users / self.one_in, activity.ratings, strict=True):
            own = np.linalg.solve(ratings * gram + self.known.residual_variance * np.eye(d), ratings * gram)
            length = max(1.0, float(np.trace(own)) ** 0.5)
            expected += users / length * own
            variance += users / length**2 * float(np.trace(own)) / d
        return expected, variance


def _contribution(size: int, total: Callable[[Ratings], AnyArray]) -> Contribution:
    name = "what users' own fits have in common"
    return Contribution(name, (size,), total, _BOUNDS, "gaussian", largest=1.0)


def with_fixed_effects(
    known: UserRegression,
    wider: Floats,
    activity: Activity,
    counts: Doubles,
    population: Population,
    share: float,
) -> tuple[Floats, Floats]:
    """Expected ratings, and how much wider priors at home are than the usual ones, by one look.

    ``wider`` says the latter before it, for each part; the regression has these priors.
    """
    if share <= 0:
        return known.base, wider
    asked = FixedEffects(known, max(1, round(activity.total / CONSTANTS.users)))
    answer = population.sum(asked.contribution, share)
    noise = population.deviation(asked.contribution, share)
    expected, variance = asked.expected(activity, counts)
    hidden = 1 - 1 / np.square(wider, dtype=np.float64)  # of the priors that the regression has
    hidden[PARTS.index("following opinion and popularity")] = CONSTANTS.following
    prior = np.zeros(known.rows.shape[1])
    parts = known.columns_of_parts
    for part, columns in zip(hidden, parts, strict=True):
        prior[columns] = part
    solved = expected.T / (noise**2 + variance + 1e-12)
    covariance = np.linalg.inv(solved @ expected + np.diag(1 / np.maximum(prior, 1e-9)))
    base = known.base + known.rows @ (covariance @ (solved @ answer))
    left = [float(np.diag(covariance)[columns].mean()) if prior[columns].size else 0.0 for columns in parts]
    left[PARTS.index("following opinion and popularity")] = 0.0
    return base.astype(np.float32), np.sqrt(1 + np.square(wider) * left).astype(np.float32)
