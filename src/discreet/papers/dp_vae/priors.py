"""The paper's priors (11), from what users say of themselves, with its noise.

    μ_wj = mean over users of m_kwj                          exact
    μ_kj = Σ_w m_kwj μ_wj + N(0, σ_k²)                      σ_k = √(2 ln(1.25/δ_k)) Δ/ε_k
    γ_kj² = Σ_w (m_kwj − μ_kj)² + N(0, σ_k²)

Δ has no number in the paper: 1 here, as much as one fact can move one μ_kj. A variance with such noise is negative for
one user in three or so, so the sum over w is read as a mean, and kept at ``LEAST_VARIANCE`` at least.
"""

import numpy as np

from discreet.models.home.user_prior import LEAST_VARIANCE, UserPriors
from discreet.papers.dp_vae.privacy import multiplier
from discreet.types import AnyArray, Floats

SENSITIVITY = 1.0
"""Δ."""


def exact_means(embedded: Floats) -> Floats:
    """μ_w, of all users: fields by dimensions."""
    return np.asarray(embedded.mean(axis=0), dtype=np.float32)


def published_priors(
    embedded: Floats, means: Floats, epsilons: AnyArray | None, delta: float, rng: np.random.Generator
) -> UserPriors:
    """Of every user; without noise where there are no levels.

    >>> embedded = np.full((2, 3, 4), 0.5, dtype=np.float32)
    >>> found = published_priors(embedded, exact_means(embedded), np.ones(2), 1.25e-5, np.random.default_rng(1))
    >>> found.means.shape, bool((found.variances >= LEAST_VARIANCE).all())
    ((2, 4), True)
    """
    exact = UserPriors.of(embedded, means)
    if epsilons is None:
        return exact
    deviation = (multiplier(delta) * SENSITIVITY / np.asarray(epsilons))[:, None]
    noisy = exact.means + deviation * rng.standard_normal(exact.means.shape)
    variances = ((embedded - noisy[:, None, :]) ** 2).mean(axis=1)
    variances = np.maximum(variances + deviation * rng.standard_normal(variances.shape), LEAST_VARIANCE)
    return UserPriors(np.asarray(noisy, dtype=np.float32), np.asarray(variances, dtype=np.float32))


def negative_share(variance: float, deviation: float) -> float:
    """How often a variance with the paper's noise is negative, as printed.

    >>> [round(negative_share(variance, 4.8), 2) for variance in (4.0, 0.5)]
    [0.2, 0.46]
    """
    from scipy.special import ndtr

    return float(ndtr(-variance / deviation))
