"""Gaussian noise in closed form: epsilon, delta and μ = sensitivity / σ of one another.

Noise with μ is (ε, δ)-private for exactly (Balle & Wang 2018)

    δ = Φ(−x) − e^ε·Φ(−y),   x = ε/μ − μ/2,   y = ε/μ + μ/2.

The two terms nearly cancel where δ is small. Since φ(x) = e^ε·φ(y), with the Mills ratio R(x) = Φ(−x)/φ(x)

    δ = φ(x)·(R(x) − R(y)),

which loses no digit in the tail, whatever δ is. For a small μ the difference is μ·|R'(ε/μ)| and a correction in μ³.

What is returned is rounded against us by :data:`HAIR`, which is more than the root finder and the functions err.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri

HAIR = 1e-12
_SMALL = 1e-3
"""A μ below this goes by the series."""


def log_delta(epsilon: float, mu: float) -> float:
    """The logarithm of the δ at ε of Gaussian noise with μ; not rounded.

    >>> round(math.exp(log_delta(1.0, 0.2367)) / 1e-6, 2)
    1.0
    """
    middle = epsilon / mu
    x, y = middle - mu / 2, middle + mu / 2
    if mu >= _SMALL and x < 0:
        return math.log(float(ndtr(-x)) - math.exp(epsilon + float(log_ndtr(-y))))
    if mu >= _SMALL:
        gap = _mills(x) - _mills(y)
    else:
        # R' = xR − 1, R'' = R + xR', R''' = 2R' + xR''.
        ratio = _mills(middle)
        first = middle * ratio - 1
        third = 2 * first + middle * (ratio + middle * first)
        gap = -mu * (first + mu**2 / 24 * third)
    return -x * x / 2 - math.log(2 * math.pi) / 2 + math.log(gap)


def delta_of_mu(mu: float, epsilon: float) -> float:
    """The δ at ε of Gaussian noise with μ."""
    if mu == 0:
        return 0.0
    return min(1.0, math.exp(log_delta(epsilon, mu)) * (1 + 1e-9))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The ε at δ of Gaussian noise with μ; infinite at δ 0.

    >>> round(epsilon_of_mu(0.2367, 1e-6), 3)
    1.0
    """
    if mu == 0:
        return 0.0
    if delta <= 0 or not math.isfinite(mu):
        return math.inf
    target = math.log(delta)
    if log_delta(0.0, mu) <= target:
        return 0.0
    # δ ≤ Φ(−x) ≤ exp(−x²/2), so here it is met.
    most = mu * mu / 2 + mu * math.sqrt(-2 * target)
    found = brentq(lambda epsilon: log_delta(epsilon, mu) - target, 0.0, most * (1 + 1e-9), xtol=most * 1e-15)
    return float(found) * (1 + HAIR) + HAIR * mu


def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ at which Gaussian noise is (ε, δ)-private; 0 at δ 0.

    >>> round(mu_of(1.0, 1e-6), 4)
    0.2367
    """
    if delta <= 0 or epsilon < 0:
        return 0.0
    target = math.log(delta)
    tail = math.sqrt(-2 * target)
    # As above; or so little that δ is enough without any ε.
    least = max(2 * epsilon / (tail + math.sqrt(tail * tail + 2 * epsilon)), 2 * float(ndtri(0.5 + delta / 2))) * 0.999
    if least < 1e-300:
        return 0.0
    most = 2 * least
    while log_delta(epsilon, most) < target:
        most *= 2
    found = brentq(lambda mu: log_delta(epsilon, mu) - target, least, most, xtol=least * 1e-15)
    return float(found) * (1 - HAIR)


def mu_of_pure(epsilon: float) -> float:
    """The μ of Gaussian noise that tells at least as much as any pure ε-private mechanism: 2·Φ⁻¹(e^ε/(1 + e^ε)).

    A test of false positive rate α misses at least f(α) = max(1 − e^ε·α, (1 − α)/e^ε) against a pure mechanism, and
    G(α) = Φ(Φ⁻¹(1 − α) − μ) against Gaussian noise. f consists of two chords: from (0, 1) to (a, a), where
    a = 1/(1 + e^ε), and on to (1, 0). G is convex and goes through the same three points, since Φ(−μ/2) = a: so it
    lies below f.

    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    if epsilon > 600:
        return math.sqrt(8 * epsilon)  # Φ(−x) ≤ exp(−x²/2)/2, and μ = 2x
    if epsilon < 1:
        return 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2))) * (1 + HAIR)
    return 2 * math.sqrt(2) * float(erfcinv(2 / (1 + math.exp(epsilon)))) * (1 + HAIR)


def pure_of_mu(mu: float) -> float:
    """The pure ε whose μ this is: the inverse of :func:`mu_of_pure`, ln(Φ(μ/2)/Φ(−μ/2)).

    >>> round(pure_of_mu(mu_of_pure(1.0)), 9)
    1.0
    """
    if mu < 1:
        return 2 * math.atanh(float(erf(mu / (2 * math.sqrt(2))))) * (1 - 2 * HAIR)
    return float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)) * (1 - 2 * HAIR)


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(erfcx(x / np.sqrt(2)))
