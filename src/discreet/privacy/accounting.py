"""What a list of spends costs together. The one home of dp-accounting, which is loaded only where pure sums do not do.

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


def adaptive_epsilon_of(spends: Sequence[Spend], delta: float) -> float:
    """As :func:`epsilon_of`, for spends that were not planned together: each may depend on the answers before it.

    The privacy loss distributions of steps that are chosen on the way do not simply convolve. What does hold is that
    pure losses add up, that the squares of 1 / noise multiplier of Gaussian ones do, and that two such accounts
    together cost the sum of their epsilons and of their deltas. Steps with sampling are accounts of their own.
    Laplace noise counts with its pure loss, which is exact on a lattice too (its loss distribution is not).
    """
    always = [spend for spend in spends if spend.mechanism != "gaussian"]
    full = [spend for spend in spends if spend.mechanism == "gaussian" and spend.sampling_rate == 1]
    sampled = [spend for spend in spends if spend.mechanism == "gaussian" and spend.sampling_rate < 1]
    groups = [group for group in (full, *([spend] for spend in sampled)) if group]
    pure = sum(spend.pure_epsilon for spend in always)
    if not groups:
        return pure_or_nothing(always, delta)
    part = (delta - sampler_delta(always, pure)) / len(groups)
    return pure + sum(epsilon_of(group, part) if part > 0 else math.inf for group in groups)


def pure_or_nothing(spends: Sequence[Spend], delta: float) -> float:
    """The sum of pure losses; infinite if the samplers alone take more than a positive delta."""
    pure = sum(spend.pure_epsilon for spend in spends)
    return pure if delta == 0 or sampler_delta(spends, pure) <= delta else math.inf


def sampler_delta(spends: Sequence[Spend], epsilon: float) -> float:
    """What the samplers add to delta: one that is off with odds s adds (1 + e^ε)·s."""
    off = sum(spend.slack * spend.times for spend in spends)
    return min(1.0, off * (1 + math.exp(min(epsilon, 700.0))))


def delta_of(spends: Sequence[Spend], epsilon: float) -> float:
    """The delta at which the spends together are (epsilon, delta)-private."""
    taken = sampler_delta(spends, epsilon)
    if sum(spend.pure_epsilon for spend in spends) <= epsilon:
        return taken
    return min(1.0, float(_loss(tuple(spends)).get_delta_for_epsilon(epsilon)) + taken)


def gaussian_noise_multiplier(epsilon: float, delta: float) -> float:
    """Standard deviation, in units of the sensitivity, of the Gaussian noise that meets (epsilon, delta).

    >>> round(1 / gaussian_noise_multiplier(1.0, 1e-6), 4)
    0.2367
    """
    if not 0 < delta < 1:
        raise InputError(f"Gaussian noise needs a delta between 0 and 1, got {delta}")
    import dp_accounting

    return float(dp_accounting.get_sigma_gaussian(epsilon, delta))


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


@lru_cache(maxsize=256)
def _composed(spends: tuple[Spend, ...], delta: float) -> float:
    import dp_accounting

    if all(spend.mechanism == "gaussian" and spend.sampling_rate == 1 for spend in spends):
        # Gaussians compose to a Gaussian; the library has its exact epsilon.
        precision = sum(spend.times / spend.noise_multiplier**2 for spend in spends)
        return float(dp_accounting.get_epsilon_gaussian(1 / math.sqrt(precision), delta))
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
