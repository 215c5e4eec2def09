"""Matrix factorisation that hides the value of every rating, and not which items were rated.

**Which items a user rated is public here.** Whoever cannot say that of their data should use
:class:`~discreet.Almanac` or :class:`~discreet.HuberMF`, which hide it.

    u_i = (a, b·features of the pattern)        from the pattern of ratings alone, of length at most 1
    s_j = Σ_i u_i (r_ij − centre) + noise       the only look at values (:mod:`~discreet.models.sums.value_sums`)
    G_j = Σ_i u_i u_iᵀ                          from the pattern: exact

What follows looks at no rating again. The first coordinate of s_j is a noisy sum, and counts are exact: with public
features of the items it becomes a bias and what is not known of it (:mod:`~discreet.models.denoise.item_biases`). What
is left of the others is c_j = G_j v_j + chance + noise, of covariance σ² G_j + s² I, with v_j ~ N(0, t² I) before:

    v_j  =  t² G_j (t² G_j² + σ² G_j + s² I)⁻¹ c_j

**At home** a user solves for a vector of their own, from the released items and all of their own ratings
(:mod:`~discreet.models.home.user_regression`): nobody is served from a vector that was trained on others.

**Guarantee.** A pure ε for the value of one rating, by the proof of the one look; for users and for the presence of a
rating it promises nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.errors import require_kinds, require_settings
from discreet.models.denoise.item_biases import posterior_biases
from discreet.models.home import methods
from discreet.models.home.item_arrays import COUNTS, ITEM_BIAS, MEAN, UNKNOWN
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import expected_rating
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class PatternPrior:
    """What is expected of ratings before anything is known, in widths of the scale.

    Parameters
    ----------
    residual
        How far a rating lies from what is expected of its item: the σ above.
    spread
        How large the coefficients of an item are: the t above.
    home
        How large a user's own coefficients are, beside those of the pattern.
    """

    residual: float = 0.225
    spread: float = 0.3
    home: float = 0.134


PRIOR = PatternPrior()
"""Chosen on splits of MovieLens 100K with other seeds than those that are reported."""


@dataclass(frozen=True, kw_only=True)
class PatternMF:
    """Item biases and factors from the values of ratings, where which items a user rated is public.

    Parameters
    ----------
    factors
        How many features of the pattern are used beside the constant. Noise grows with their number: on small data the
        constant alone predicts best.
    features
        Whether genres and years of the catalogue are used.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=1.0, unit=dc.Rating("replace"))
    >>> release = dc.PatternMF().fit(dc.TrustedServer(ratings, ledger))
    >>> release.guarantee.public
    ('which items a user rated',)
    """

    factors: int = 0
    features: bool = True

    def __post_init__(self) -> None:
        require_settings(self, "factors", least=0)
        require_kinds(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """One look at the values, and everything else from the pattern."""
        from discreet.models.sums.value_sums import CONSTANT, ValueSums

        check_population(self, population)
        catalogue = population.catalogue
        asked = ValueSums(catalogue=catalogue, factors=self.factors)
        drawn = population.run(asked)
        noise = 0.0 if population.unit is None else asked.deviation(population.spends[-1])
        width, constant = catalogue.scale.width, np.sqrt(CONSTANT) if self.factors else 1.0
        counts = drawn["grams"][:, 0, 0] / constant**2
        sums = drawn["sums"][:, 0] / constant
        bias, unknown = posterior_biases(counts, sums, noise / constant, 1.0, self._features(catalogue), width)
        centre = expected_rating(catalogue.scale)
        mean = centre + float(bias @ counts) / max(float(counts.sum()), 1.0)
        base = np.clip(centre + bias, catalogue.scale.low, catalogue.scale.high).astype(np.float32)
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": base - np.float32(mean),
            "unknown": unknown.astype(np.float32),
            "counts": counts.astype(np.float32),
            "item_factors": _factors(drawn, bias / constant, noise, width).astype(np.float32),
        }
        progress(1, 1, "item sums")
        return Release.of(self, population, arrays)

    def _features(self, catalogue: Catalogue) -> Floats:
        found = item_features(catalogue)
        return found if self.features else found[:, :0]

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (MEAN, ITEM_BIAS, UNKNOWN, COUNTS, Array("item_factors", "float32", ("items", self.factors)))

    def prepare(self, release: Release) -> UserRegression:
        """The regression of everyone's own ratings, without any user."""
        arrays = release.arrays
        return UserRegression.of(
            arrays["mean"][0] + arrays["item_bias"],
            arrays["unknown"],
            arrays["counts"],
            self._features(release.catalogue),
            arrays["item_factors"] * np.float32(PRIOR.home),
            release.catalogue.scale.width,
        )

    predict, score = methods.predict, methods.score


def _factors(drawn: dict[str, Doubles], bias: Doubles, noise: float, width: float) -> Doubles:
    """The v above, without the constant's coefficient."""
    grams = drawn["grams"][:, 1:, 1:]
    left = drawn["sums"][:, 1:] - drawn["grams"][:, 1:, 0] * bias[:, None]
    spread, residual = (PRIOR.spread * width) ** 2, (PRIOR.residual * width) ** 2
    covariance = spread * grams @ grams + residual * grams + (noise**2 + 1e-9) * np.eye(grams.shape[1])
    return np.asarray(spread * (grams @ np.linalg.solve(covariance, left[:, :, None]))[:, :, 0])
