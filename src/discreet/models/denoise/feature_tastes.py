"""How much users differ in their tastes for public features, as far as pairs of items tell: asked for anyway, so free.

At home a user's tastes η for features have a prior N(0, 1/precision) (:mod:`~discreet.models.home.conditional_logit`).
Where features say nothing about who rates what, any such fit is noise, and ranks worse than popularity alone. With
tastes of variance v, and z the features of items about their mean in all ratings, two items are rated together

    W_ij  ≈  E_ij (1 + v z_i·z_j),    E_ij = α q_i q_j  with q the shares of ratings, i ≠ j

as often, to first order in v. Least squares with weights 1/E give

    v̂  =  Σ z_i·z_j (W_ij − E_ij)  /  Σ E_ij (z_i·z_j)²

whose deviation s is that of the noise on W and of the sample of users. If even v̂ + 2 s is less than a taste that
matters, the prior is tighter by as much.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Of all data of ``benchmarks/robust.py`` that have features, changed or not, v̂ is least on synthetic ratings, .21;
    it is .4 to 1 on real ones, and below .02 where features were drawn at random."""

    least_variance: float = 0.2
    """From which on the prior is as usual."""
    deviations: float = 2.0
    """By how many deviations v may be larger than it seems."""
    tightest: float = 64.0
    """At most so many times tighter."""


CONSTANTS = _Constants()


def tighter_prior(weights: AnyArray, noise: float, added: float, counts: Doubles, features: Floats) -> float:
    """How many times tighter the prior of tastes for features is than usual; 1 where nothing speaks against them.

    Parameters
    ----------
    weights, noise
        W, symmetric, and the deviation of the noise off its diagonal.
    added
        What one user adds to a pair, about.
    counts, features
        Of the same items.

    >>> rng = np.random.default_rng(1)
    >>> features, q = rng.normal(size=(100, 3)).astype(np.float32), np.full(100, 50.0)
    >>> alike = 50 * np.exp(0.5 * features @ features.T)
    >>> tighter_prior(alike, 1.0, 1.0, q, features), tighter_prior(np.full((100, 100), 50.0), 1.0, 1.0, q, features) > 9
    (1.0, True)
    """
    shares = np.maximum(counts, 0) / max(float(np.maximum(counts, 0).sum()), 1e-9)
    z = features.astype(np.float64) - shares @ features
    lengths = np.square(z).sum(axis=1)
    own = np.diagonal(weights).astype(np.float64)
    together = float(weights.sum(dtype=np.float64) - own.sum()) / max(1 - float(shares @ shares), 1e-9)
    told = float(np.sum(z * (weights @ z))) - float(own @ lengths)
    expected = -together * float(np.square(shares) @ lengths)
    of_variance = together * (_squared(z * np.sqrt(shares)[:, None]) - float(np.square(shares * lengths).sum()))
    if not of_variance > 0:
        return 1.0
    of_noise = max(_squared(z) - float(np.square(lengths).sum()), 0.0)
    deviation = math.sqrt(2 * (noise**2 * of_noise + added * of_variance)) / of_variance
    likely = max((told - expected) / of_variance, 0.0) + CONSTANTS.deviations * deviation
    return float(np.clip(CONSTANTS.least_variance / max(likely, 1e-9), 1.0, CONSTANTS.tightest))


def _squared(rows: Doubles) -> float:
    """Σ (x_i·x_j)² over all pairs of rows, i = j among them."""
    return float(np.square(rows.T @ rows).sum())
