"""A privacy loss for each user (or rating): who wants more privacy takes part with less weight, or less often.

**By weight.** A user's contribution is multiplied by w ≤ 1, so that user moves the sum by w times the bound,
and Gaussian noise that costs the full weight μ costs this user w·μ; Laplace noise w·ε. :func:`weights_for`
turns wishes into weights, and ``Ledger.cost(weight)`` says what a weight pays for everything in the ledger.

**By sampling.** Everything that follows looks only at a sample, into which each unit comes with a rate of its
own, once and in secret. If what follows is pure t-private for the units of the sample, a unit with rate π pays
ln(1 + π(e^t − 1)); so π = (e^ε − 1)/(e^t − 1) makes it pay exactly ε, for ε ≤ t. Proof: the output's odds with
the unit in the data are π·A + (1 − π)·B, where B are those without it and A ≤ e^t·B those with it in the
sample; so at most (1 + π(e^t − 1))·B. The other direction: π·A + (1 − π)·B ≥ (1 + π(e^−t − 1))·B, and 1/(1 +
π(e^−t − 1)) ≤ 1 + π(e^t − 1), since the product of the two is 1 + π(1 − π)(e^t + e^−t − 2) ≥ 1. With (t, δ) it
pays (ln(1 + π(e^t − 1)), π·δ). The sample is drawn once: several releases from it must be t-private together.
Rates of ratings protect ratings; a user whose n ratings are sampled one by one pays for the group.

The wishes are each unit's own. Which weights and rates exist at all (the levels on offer) is public; who chose
which is not, and neither are statistics of the choices, such as their mean.
"""

import math

import numpy as np

from discreet.errors import require
from discreet.privacy.guarantee import Loss
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import amplified
from discreet.types import AnyArray, Booleans, Doubles

_ROUNDING = 2.0**-48
"""Rates and weights are lowered by this share, more than doubles err: nobody pays more than they wished."""


def weights_for(epsilons: AnyArray, base: float, delta: float = 0.0) -> Doubles:
    """The weight with which each unit pays its own epsilon, where the full weight 1 pays ``base``; at most 1.

    With delta 0 (Laplace noise) weights are in proportion to epsilon; otherwise (Gaussian noise) to the μ at which
    Gaussian noise costs that epsilon at delta. ``base`` is public: not the largest wish of those who take part.

    >>> weights_for(np.array([0.5, 1.0, 3.0]), base=2.0).round(6).tolist()
    [0.25, 0.5, 1.0]
    >>> weights_for(np.array([0.5, 2.0]), base=2.0, delta=1e-6).round(3).tolist()
    [0.277, 1.0]
    """
    epsilons = _checked(epsilons)
    _check_base(base)
    require(0 <= delta < 1, f"delta must lie in [0, 1), got {delta}")
    levels, place = np.unique(np.append(np.minimum(epsilons, base), base), return_inverse=True)
    if delta > 0:
        from discreet.privacy.accounting import gaussian_noise_multiplier

        # A thousandth of delta is left to the samplers, as populations do; and another one to whoever takes part
        # with less, because rounding to the lattice does not shrink with the weight.
        shares = [0.998] * (len(levels) - 1) + [0.999]
        mus = [1 / gaussian_noise_multiplier(*at) for at in zip(levels, delta * np.array(shares), strict=True)]
        levels = np.array(mus)
    weights = levels / levels[-1] * (1 - 1e-9)
    weights[-1] = 1.0
    return np.asarray(weights[place[:-1]].reshape(epsilons.shape), dtype=np.float64)


def rates_for(epsilons: AnyArray, base: float) -> Doubles:
    """How often each unit must take part to pay its own epsilon, where what follows costs ``base``; at most 1.

    >>> rates_for(np.array([0.5, 1.0, 3.0]), base=1.0).round(4).tolist()
    [0.3775, 1.0, 1.0]
    """
    epsilons = _checked(epsilons)
    _check_base(base)
    wanted = np.minimum(epsilons, base)
    # (e^ε − 1)/(e^t − 1) as e^(ε − t)·(1 − e^−ε)/(1 − e^−t), which cannot overflow.
    rates = np.exp(wanted - base) * np.expm1(-wanted) / math.expm1(-base) * (1 - _ROUNDING)
    return np.asarray(np.where(epsilons >= base, 1.0, rates))


def paid_by(rate: float, loss: Loss) -> Loss:
    """What a unit pays that comes into the sample at a rate, where what follows has this loss.

    >>> print(paid_by(0.3775, Loss(1.0)))
    epsilon 0.5
    """
    require(0 < rate <= 1, f"a sampling rate lies in (0, 1], got {rate}")
    return Loss(amplified(loss.epsilon, rate), rate * loss.delta)


def draw_sample(rates: AnyArray, randomness: Randomness | None = None) -> Booleans:
    """Who comes into the sample: each unit on its own, with its rate (rounded down to a multiple of 2**-64).

    >>> draw_sample(np.array([1.0, 1.0])).tolist()
    [True, True]
    """
    rates = np.asarray(rates, dtype=np.float64)
    require(bool(((rates > 0) & (rates <= 1)).all()), "sampling rates lie in (0, 1]")
    words = (Randomness() if randomness is None else randomness).words(rates.size).reshape(rates.shape)
    certain = rates == 1
    thresholds = np.floor(np.where(certain, 0.5, rates) * 2.0**64).astype(np.uint64)
    return np.asarray((words < thresholds) | certain)


def _checked(epsilons: AnyArray) -> Doubles:
    epsilons = np.asarray(epsilons, dtype=np.float64)
    require(
        epsilons.size > 0 and bool((np.isfinite(epsilons) & (epsilons > 0)).all()),
        "every epsilon must be positive and finite",
    )
    return epsilons


def _check_base(base: float) -> None:
    require(math.isfinite(base) and base > 0, f"the base epsilon must be positive and finite, got {base}")
