"""What a list of spends costs together, where the list was fixed before any answer.

The one home of dp-accounting, which is slow to load and is needed only for distributions of the privacy loss: noise on
samples, and Laplace noise at a delta. Pure losses add up, and Gaussian noise has its closed form. What spends cost
that were chosen on the way is in :mod:`discreet.privacy.composition`.

Every mechanism is described to the library under the add-or-remove relation with its true sensitivity: with the
replace relation its accountants disagree about who doubles what.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.privacy.spend import Spend, amplified

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

CALIBRATION_TOLERANCE = 1e-4


def epsilon_of(spends: Sequence[Spend], delta: float) -> float:
    """The epsilon at which the spends together are (epsilon, delta)-private.

    >>> once = Spend(what="a", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0)
    >>> epsilon_of([once, once], 0.0)
    1.0
    """
    if not spends:
        return 0.0
    pure = sum(spend.pure_epsilon for spend in spends)
    if delta == 0:
        return pure
    if not any(spend.slack for spend in spends):
        return min(pure, _composed(tuple(spends), delta))
    # The samplers take their part of delta. With what epsilon is at half of delta in place of ε this is enough,
    # as long as it takes no more than the other half.
    taken = sampler_delta(spends, _composed(tuple(spends), delta / 2))
    composed = _composed(tuple(spends), delta - taken) if taken <= delta / 2 else math.inf
    return min(composed, pure_or_nothing(spends, delta))


def pure_or_nothing(spends: Sequence[Spend], delta: float) -> float:
    """The sum of pure losses; infinite if the samplers alone take more than a positive delta."""
    pure = sum(spend.pure_epsilon for spend in spends)
    return pure if delta == 0 or sampler_delta(spends, pure) <= delta else math.inf


def sampler_delta(spends: Sequence[Spend], epsilon: float) -> float:
    """What the samplers add to delta: one that is off with odds s adds (1 + e^ε)·s."""
    return delta_of_odds(sum(spend.slack * spend.times for spend in spends), epsilon)


def delta_of_odds(odds: float, epsilon: float) -> float:
    """What samplers that are off with these odds, all together, add to delta: (1 + e^ε)·odds."""
    return min(1.0, odds * (1 + math.exp(min(epsilon, 700.0))))


def delta_of(spends: Sequence[Spend], epsilon: float) -> float:
    """The delta at which the spends together are (epsilon, delta)-private."""
    taken = sampler_delta(spends, epsilon)
    if sum(spend.pure_epsilon for spend in spends) <= epsilon:
        return taken
    if _all_gaussian(spends):
        from discreet.privacy.gaussian import delta_of_mu

        return min(1.0, delta_of_mu(gaussian_mu(spends), epsilon) + taken)
    return min(1.0, float(_loss(tuple(spends)).get_delta_for_epsilon(epsilon)) + taken)


def gaussian_mu(spends: Sequence[Spend]) -> float:
    """The μ of Gaussian noise without sampling, all together: the squares of sensitivity / σ add up."""
    return math.sqrt(math.fsum(spend.times / spend.noise_multiplier**2 for spend in spends))


def gaussian_noise_multiplier(epsilon: float, delta: float) -> float:
    """Standard deviation, in units of the sensitivity, of the Gaussian noise that meets (epsilon, delta).

    >>> round(1 / gaussian_noise_multiplier(1.0, 1e-6), 4)
    0.2367
    """
    if not 0 < delta < 1:
        raise InputError(f"Gaussian noise needs a delta between 0 and 1, got {delta}")
    from discreet.privacy.gaussian import mu_of

    return 1 / mu_of(epsilon, delta)


def calibrate(spends: Callable[[float], Sequence[Spend]], epsilon: float, delta: float) -> float:
    """The least noise for which the spends cost at most ``epsilon`` at ``delta``.

    ``spends(noise)`` describes what would be done with noise multiplied by ``noise``; more must not cost more.
    The result costs between 99.9% of ``epsilon`` and all of it, never more.
    """
    low, high = 1.0, 1.0
    while epsilon_of(spends(high), delta) > epsilon:
        low, high = high, high * 2
        if high > 2.0**40:
            raise InputError(f"no amount of noise meets epsilon {epsilon} at delta {delta}")
    while epsilon_of(spends(low), delta) <= epsilon:
        low, high = low / 2, low
        if low < 2.0**-40:
            return high
    while high / low - 1 > CALIBRATION_TOLERANCE:
        middle = math.sqrt(low * high)
        if epsilon_of(spends(middle), delta) > epsilon:
            low = middle
        else:
            high = middle
    return high


def _all_gaussian(spends: Sequence[Spend]) -> bool:
    return all(spend.mechanism == "gaussian" and spend.sampling_rate == 1 for spend in spends)


@lru_cache(maxsize=256)
def _composed(spends: tuple[Spend, ...], delta: float) -> float:
    if _all_gaussian(spends):
        from discreet.privacy.gaussian import epsilon_of_mu

        return epsilon_of_mu(gaussian_mu(spends), delta)
    return float(_loss(spends).get_epsilon_for_delta(delta))


@lru_cache(maxsize=256)
def _loss(spends: tuple[Spend, ...]) -> "PrivacyLossDistribution":
    """The distribution of the privacy loss of all spends together, rounded against us."""
    losses = [_loss_of_one(spend).self_compose(spend.times) for spend in spends]
    return reduce(lambda total, loss: total.compose(loss), losses)


def _loss_of_one(spend: Spend) -> "PrivacyLossDistribution":
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    if spend.mechanism == "pure":  # dominated by randomised response between two answers
        once = amplified(1 / spend.noise_multiplier, spend.sampling_rate)
        return pld.from_privacy_parameters(DifferentialPrivacyParameters(once, 0.0))
    build = pld.from_gaussian_mechanism if spend.mechanism == "gaussian" else pld.from_laplace_mechanism
    return build(spend.scale, sensitivity=spend.sensitivity, sampling_prob=spend.sampling_rate)
