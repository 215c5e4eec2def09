"""The noise that each server draws, in whole steps of the encoding.

**Gaussian noise on any lattice.** With σ of 2^26 steps and more it is the rounded Gaussian of
:mod:`discreet.privacy.noise`. With fewer it is drawn on a lattice that is 2^k times finer and rounded to whole steps,
by ⌊x/2^k + ½⌋. This rounding commutes with adding whole steps: z + ⌊x/2^k + ½⌋ = ⌊(z·2^k + x)/2^k + ½⌋. So the noisy
sum is post-processing of one with noise on the fine lattice, for which Gaussian privacy is proven, sampler distance
included. Coarse steps, which short words need, therefore cost nothing but what rounding at home adds to the
sensitivity. ∎
"""

import math

import numpy as np

from discreet.privacy.noise import SMALLEST_ROUNDED, Integers, draw_discrete_laplace, draw_rounded_gaussian
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend


def draw_noise(spend: Spend, step: float, count: int, randomness: Randomness) -> Integers:
    """Noise for ``count`` cells as a line of a ledger describes it, in whole steps.

    >>> line = Spend(what="a", mechanism="gaussian", norm="l2", sensitivity=1, scale=2.0)
    >>> draw_noise(line, 2.0**-10, 3, Randomness()).dtype
    dtype('int64')
    """
    scale = spend.scale / step
    if spend.mechanism == "laplace":
        return draw_discrete_laplace(scale, count, randomness)
    finer = max(0, math.ceil(math.log2(SMALLEST_ROUNDED / scale)))
    drawn = draw_rounded_gaussian(scale * 2.0**finer, count, randomness)
    return drawn if finer == 0 else np.asarray((drawn + (1 << (finer - 1))) >> finer)
