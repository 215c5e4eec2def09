"""What a list of spends costs together, where the list was fixed before any answer.

Pure losses add up, and Gaussian noise has its closed form. Distributions of the privacy loss are needed only for noise
on samples of the users; for them this is the one home of dp-accounting, an extra that is slow to load. What spends cost
that were chosen on the way is in :mod:`discreet.privacy.composition`.

Every mechanism is described to the library under the add-or-remove relation with its true sensitivity: with the
replace relation its accountants disagree about who doubles what.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.extras import load_extra
from discreet.privacy.searching import least_noise
from discreet.privacy.spend import Spend, amplified

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


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
    """What samplers that are off with these odds, all together, add to delta: (1 + e^ε)·odds.

    >>> delta_of_odds(0.0, 1000.0), delta_of_odds(1e-300, 1000.0)
    (0.0, 1.0)
    """
    return min(1.0, odds + math.exp(min(0.0, math.log(odds) + epsilon))) if odds > 0 else 0.0


def refused_for_samplers(what: str, odds: float, epsilon: float, delta: float) -> str:
    """Why noise of samplers that are off with these odds, all together, is refused, and what would be right."""
    return (
        f"cannot calibrate the noise of {what} at epsilon {epsilon:g} and delta {delta:g}: sampler error exceeds delta "
        f"(odds of {odds:.2g} that it is off count 1 + e^epsilon times); take a smaller epsilon or a larger delta"
    )


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
    try:
        return least_noise(lambda noise: epsilon_of(spends(noise), delta) / epsilon)
    except InputError:
        raise InputError(f"no amount of noise meets epsilon {epsilon} at delta {delta}") from None


@lru_cache(maxsize=64)
def sampled_noise_multiplier(
    epsilon: float, delta: float, sampling_rate: float, times: int, share: float = 1.0
) -> float:
    """Standard deviation, in units of the sensitivity, of the noise of so many sampled Gaussian steps.

    It is the least (to one part in 10,000) at which all steps cost ``epsilon`` at ``delta`` together with Gaussian
    noise that has the other shares (shares of Gaussian noise are of μ²), and by themselves no more than Gaussian noise
    with this share, so that a pure mechanism may have the rest. Without sampling it has a closed form.

    >>> round(sampled_noise_multiplier(1.0, 1e-6, 0.01, 1000) / sampled_noise_multiplier(1.0, 1e-6, 1.0, 1000), 3)
    0.012
    """
    mu = 1 / gaussian_noise_multiplier(epsilon, delta)
    if sampling_rate == 1:
        return math.sqrt(times / share) / mu

    def cost(noise: float) -> float:
        steps = _gaussian(noise, sampling_rate, times)
        if share == 1:
            return epsilon_of([steps], delta) / epsilon
        rest, alike = (_gaussian(1 / (mu * math.sqrt(part))) for part in (1 - share, share))
        return max(epsilon_of([steps, rest], delta) / epsilon, epsilon_of([steps], delta) / epsilon_of([alike], delta))

    # Many steps are close to Gaussian noise of μ = q·√(T·(e^(1/σ²) − 1)): there the search begins.
    guess = 1 / math.sqrt(math.log1p(mu * mu * share / (sampling_rate**2 * times)))
    try:
        return least_noise(lambda noise: cost(noise) * (1 + 1e-7), guess)
    except InputError:
        raise InputError("no amount of noise makes these steps cost their share") from None


def _gaussian(noise_multiplier: float, sampling_rate: float = 1.0, times: int = 1) -> Spend:
    return Spend(
        what="",
        mechanism="gaussian",
        norm="l2",
        sensitivity=1.0,
        scale=noise_multiplier,
        sampling_rate=sampling_rate,
        times=times,
    )


def _all_gaussian(spends: Sequence[Spend]) -> bool:
    return all(spend.mechanism == "gaussian" and spend.sampling_rate == 1 for spend in spends)


@lru_cache(maxsize=256)
def _composed(spends: tuple[Spend, ...], delta: float) -> float:
    if _all_gaussian(spends):
        from discreet.privacy.gaussian import epsilon_of_mu

        return epsilon_of_mu(gaussian_mu(spends), delta)
    return float(_loss(spends).get_epsilon_for_delta(delta))


def _loss(spends: tuple[Spend, ...]) -> "PrivacyLossDistribution":
    """The distribution of the privacy loss of all spends together, rounded against us."""
    alike: Counter[Spend] = Counter()
    for spend in spends:
        alike[_bare(spend)] += spend.times
    return _loss_of_all(tuple(sorted(alike.items(), key=lambda item: repr(item[0]))))


def _bare(spend: Spend) -> Spend:
    """What the loss of doing it once depends on, and nothing else: so that a distribution is computed once."""
    return Spend(
        what="",
        mechanism=spend.mechanism,
        norm=spend.norm,
        sensitivity=1.0,
        scale=spend.noise_multiplier,
        sampling_rate=spend.sampling_rate,
    )


@lru_cache(maxsize=16)  # each may take megabytes
def _loss_of_all(spends: tuple[tuple[Spend, int], ...]) -> "PrivacyLossDistribution":
    width = _width(spends)
    losses = [_loss_of_one(spend, width).self_compose(times) for spend, times in spends]
    return reduce(lambda total, loss: total.compose(loss), losses)


def _width(spends: tuple[tuple[Spend, int], ...]) -> float:
    """Of the cells in which losses are counted: 1e-4, or wider where sampled noise costs much.

    Cells that are wide beside epsilon cost a few parts in 10,000 of it, and are up to ten times as quick.
    """
    mu_squared = 0.0
    for spend, times in spends:
        if spend.mechanism != "gaussian":
            return 1e-4
        # As in sampled_noise_multiplier.
        mu_squared += spend.sampling_rate**2 * times * math.expm1(min(spend.noise_multiplier**-2, 50.0))
    return min(max(1e-4, 2e-4 * (mu_squared / 2 + 5 * math.sqrt(mu_squared))), 1e-3)


def _loss_of_one(spend: Spend, width: float) -> "PrivacyLossDistribution":
    needs = "what noise on samples of the users costs"
    pld = load_extra("dp_accounting.pld.privacy_loss_distribution", "accounting", needs)
    if spend.mechanism == "pure":  # dominated by randomised response between two answers
        once = amplified(1 / spend.noise_multiplier, spend.sampling_rate)
        return pld.from_privacy_parameters(
            pld.common.DifferentialPrivacyParameters(once, 0.0), value_discretization_interval=width
        )
    build = pld.from_gaussian_mechanism if spend.mechanism == "gaussian" else pld.from_laplace_mechanism
    return build(
        spend.scale,
        sensitivity=spend.sensitivity,
        sampling_prob=spend.sampling_rate,
        value_discretization_interval=width,
    )
