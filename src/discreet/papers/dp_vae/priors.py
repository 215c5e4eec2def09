"""The paper's priors (11), from what users say of themselves, with its noise.

    μ_wj = mean over users of m_kwj                          exact
    μ_kj = Σ_w m_kwj μ_wj + N(0, σ_k²)                      σ_k = √(2 ln(1.25/δ_k)) Δ/ε_k
    γ_kj² = Σ_w (m_kwj − μ_kj)² + N(0, σ_k²)

Δ has no number in the paper: 1 here, as much as one fact can move one μ_kj. A variance with such noise is negative for
one user in three or so: it is kept at ``LEAST_VARIANCE`` at least.
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
    own, deviation = (embedded * means).sum(axis=1), np.zeros((len(embedded), 1))
    if epsilons is not None:
        deviation = (multiplier(delta) * SENSITIVITY / np.asarray(epsilons))[:, None]
    own = own + deviation * rng.standard_normal(own.shape)
    variances = ((embedded - own[:, None, :]) ** 2).sum(axis=1) + deviation * rng.standard_normal(own.shape)
    variances = np.maximum(variances, LEAST_VARIANCE)
    return UserPriors(np.asarray(own, dtype=np.float32), np.asarray(variances, dtype=np.float32))


def negative_share(variance: float, deviation: float) -> float:
    """How often a variance with the paper's noise is negative, as printed.

    >>> [round(negative_share(variance, 4.8), 2) for variance in (4.0, 0.5)]
    [0.2, 0.46]
    """
    from scipy.special import ndtr

    return float(ndtr(-variance / deviation))
