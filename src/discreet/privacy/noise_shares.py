"""Noise in shares: several parties each draw a little, and the sum is what one trusted party would have drawn.

Nobody then knows the whole noise, and no party has to be trusted to draw it. ``honest`` says how many parties must
draw their share as told and keep it secret for the guarantee to hold. If more do, there is more noise, which
is independent and so costs nothing but accuracy; what the others add is theirs to know and takes nothing
away. The shares hide a sum only if the sum is all that anyone sees: send them masked, to a secure sum.

A share is a discrete Gaussian number with σ/√m. The sum of two discrete Gaussian numbers with variances a
and b has odds exp(−x²/2(a + b))·Σ_y exp(−(y − c)²/2s²) with s² = ab/(a + b) and some c. By Poisson summation that
last sum is s√2π·(1 ± θ) whatever c is, θ ≤ 2.1·exp(−2π²s²); so the odds of the sum are those of a discrete
Gaussian up to a factor (1 + θ)/(1 − θ). Adding share after share s² is at least σ²/2m; with a share's deviation
of at least 4 steps θ < 2**-225 each time, which is nothing beside the samplers.

The sum is a discrete Gaussian vector; ledgers reckon with a rounded one (Gaussian noise, rounded). Their odds differ
by the factor R(x) = ∫ exp(−(2xt + t²)/2σ²) dt over |t| < ½, which is 1 + (x²/σ² − 1)/24σ² up to terms in σ^−4.
Its variance, the χ² distance per coordinate, is below 1/280σ⁴; distances of Kullback and Leibler are below that and
add up over d coordinates, so the statistical distance is at most √d/20σ² (:func:`gaussian_share_distance`),
which the ledger books in delta. On the lattices that populations use σ is 2**28 steps and more: √d·2**-60.
"""

import math

from discreet.errors import require
from discreet.privacy.noise import SAMPLER_DISTANCE, Integers, draw_discrete_gaussian
from discreet.privacy.randomness import Randomness

SMALLEST_GAUSSIAN_SHARE = 4.0


def draw_gaussian_share(sigma: float, honest: int, count: int, randomness: Randomness) -> Integers:
    """One party's share: ``honest`` of them add up to P(x) ∝ exp(−x² / 2σ²), within a stated distance.

    >>> draw_gaussian_share(2.0**28, 100, 3, Randomness()).dtype
    dtype('int64')
    """
    require(honest >= 1, f"noise in shares needs at least 1 honest party, got {honest}")
    share = sigma / math.sqrt(honest)
    require(
        share >= SMALLEST_GAUSSIAN_SHARE,
        f"a share of Gaussian noise needs a deviation of at least 4 steps, got {share:.3g}: take a finer grid",
    )
    return draw_discrete_gaussian(share, count, randomness)


def gaussian_share_distance(sigma: float, honest: int, count: int) -> float:
    """Statistical distance of the sum of honest shares from rounded Gaussian noise, at most; σ ≥ 16 steps.

    >>> gaussian_share_distance(2.0**28, honest=1000, count=10_000) < 1e-15
    True
    """
    require(sigma >= 16, f"the sum of Gaussian shares needs a deviation of at least 16 steps, got {sigma}")
    return honest * count * SAMPLER_DISTANCE + math.sqrt(count) / (20 * sigma**2)
