"""The noise that each server draws, in whole steps of the encoding, and which noisy sums honest devices can have sent.

**Gaussian noise on any lattice.** With σ of 2^26 steps and more it is the rounded Gaussian of
:mod:`discreet.privacy.noise`. With fewer it is drawn on a lattice that is 2^k times finer and rounded to whole steps,
by ⌊x/2^k + ½⌋. This rounding commutes with adding whole steps: z + ⌊x/2^k + ½⌋ = ⌊(z·2^k + x)/2^k + ½⌋. So the noisy
sum is post-processing of one with noise on the fine lattice, for which Gaussian privacy is proven.
Coarse steps, which short words need, therefore cost nothing but what rounding at home adds to the
sensitivity. ∎
"""

import math

import numpy as np

from discreet.errors import DishonestDeviceError
from discreet.privacy.noise import SMALLEST_ROUNDED, Integers, draw_discrete_laplace, draw_rounded_gaussian
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend

FALSE_ALARM = 1e-9
"""The odds, for each sum, that honest devices are taken for dishonest ones: once in a billion sums."""


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


def check_sum(
    name: str, whole: Integers, spend: Spend, step: float, *, users: int, largest: float, signed: bool
) -> None:
    """Raise where no honest devices can have sent this: ``whole`` is their sum with both servers' noise, in steps.

    **What is possible.** An honest device sends at most ``largest`` in a cell, and no less than that with the other
    sign, or than 0 where cells are not ``signed``; rounding moves it by a step at most. So the noisy sum of so many
    lies within users·(largest + step) + t, and above −users·step − t for counts, where t is what both noises together
    exceed in any cell with odds of at most 1e-9. For Gaussian noise, whose variance is 2σ² then, P(|N| > t) ≤
    exp(−t²/4σ²); for Laplace noise one of both exceeds t/2, so P ≤ 2·exp(−t/2b). With L = ln(2·cells/1e-9) that gives t
    = 2σ·√L and t = 2b·L, by a union bound over the cells; each noise was rounded by a step at most. ∎

    **Guarantee.** Only the noisy sum and public numbers are looked at, so the check is post-processing: it costs no
    privacy. The number of devices is public (:attr:`~discreet.populations.secure_sums.SecureSums.public`).

    A dishonest device can still move a cell to wherever all honest ones together could: no server sees one device's
    values, and none proves that they are within its bound.
    """
    odds = math.log(2 * max(whole.size, 1) / FALSE_ALARM)
    tail = 2 * spend.scale * (odds if spend.mechanism == "laplace" else math.sqrt(odds))
    most = users * (largest / step + 1) + tail / step + 2
    least = -most if signed else -users - tail / step - 2
    if whole.size and not least <= int(whole.min()) <= int(whole.max()) <= most:
        raise DishonestDeviceError(
            f"the noisy sum {name!r} is beyond what honest devices can send: at least one device sent something that "
            "no honest device sends; nothing of it was released, and what was booked for it stays spent"
        )
