"""What spends cost together: those that were planned, and those of which each was chosen after the answers before it.

**Planned.** The list of mechanisms and scales is fixed before any answer; only what is asked may depend on answers.
Then pure losses add up to p, the squares of μ = sensitivity / σ of Gaussian noise add up to μ², and all of it costs
p + ε(μ, δ) at δ, in whatever order. A pure mechanism may also count as Gaussian noise, which it is no worse than
(:func:`~discreet.privacy.gaussian.mu_of_pure`). The realised cost is what is proven.

**Chosen on the way.** Whether and how to look again is decided after seeing answers. Then p + ε(μ, δ) of what was done
in the end is not proven: whoever spends pure epsilon only where an answer was lucky gets a larger delta (tests/doors
shows it). What is proven is a filter, which refuses whatever would exceed a limit (ε, δ) that is fixed in advance; the
limit is the promise, however little was used. Ours has two phases; P and Q are the laws of all answers on neighbours:

1. Pure spends only. Whatever the path h of answers, P(h) ≤ e^p·Q(h) with the p spent on it.
2. From the first Gaussian noise on, what is left, (ε − p, δ), belongs to a filter of Gaussian privacy: it refuses when
   the sum of μ² is over the square of the μ that is (ε − p, δ)-private. Then all of this phase is (ε − p, δ)-private,
   however it was chosen (Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2022). A pure spend counts with its μ.

Both together: P(S) = Σ P(h)·P(S|h) ≤ Σ P(h)·(e^(ε−p)·Q(S|h) + δ) ≤ Σ e^p·Q(h)·e^(ε−p)·Q(S|h) + δ = e^ε·Q(S) + δ.

What is charged at once is a planned batch. It can be simulated from one draw for each of its mechanisms (Blackwell), so
its pure draws may be taken to come first: with the first Gaussian noise they still count in phase 1.

**Sampled Gaussian noise** has no useful μ: one batch of it is (e, d)-private by the distribution of its loss, with d
half of the delta that is left, or all of it where half would exceed the limit: d is known before the answer. In phase 1
e and d add up: let m(h) = min(P(h), e^e·Q(h)), so that Σ (P − m) ≤ d; then
P(S) ≤ d + Σ m(h)·(e^(ε−e)·Q(S|h) + δ − d) ≤ e^ε·Q(S) + δ. In phase 2 it can be simulated by a mechanism that tells all
with probability d and is pure e-private else (Kairouz, Oh & Viswanath 2015), and counts with the μ of e; these d come
out of a part of delta that is set aside from the start. Or it counts as if everybody were in the sample.

**Samplers.** A sampler that is off with odds s moves either law by s, so all together add (1 + e^ε)·s to delta. For
that a part of delta is set aside from the start, and a filter refuses what exceeds it (:func:`samplers_delta`). Noise
that a server draws is exact and adds nothing (:mod:`discreet.privacy.noise`): this is for
mechanisms that say so.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.privacy.accounting import delta_of_odds, epsilon_of, pure_or_nothing, sampler_delta
from discreet.privacy.spend import Spend

SET_ASIDE = 1e-3
"""Of delta: half for the samplers, half for sampled noise in phase 2."""

SAMPLER_ODDS = 2.0**-70
"""With a delta of 0: that any sampler is off, or less where e^epsilon times that is no small delta."""
PURE_DELTA = 1e-12
"""So much delta remains at most where it is said to be 0."""


def samplers_delta(epsilon: float, delta: float) -> float:
    """The part of delta that is set aside for samplers; with a delta of 0 the delta that remains.

    >>> samplers_delta(1.0, 1e-6), samplers_delta(50.0, 0.0)
    (5e-10, 1e-12)
    """
    return delta * SET_ASIDE / 2 if delta > 0 else min(PURE_DELTA, delta_of_odds(SAMPLER_ODDS, epsilon))


def composed_epsilon(spends: Sequence[Spend], delta: float) -> float:
    """What spends cost that were planned together.

    Never more than what a filter counts for the same spends one after another, so it also checks a release whose
    promise is the limit.

    >>> once = Spend(what="a", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0)
    >>> composed_epsilon([once, once], 1e-6)
    1.0
    """
    if delta == 0:
        return math.fsum(spend.pure_epsilon for spend in spends)
    usual = _cheapest(spends, delta * (1 - SET_ASIDE))
    if sampler_delta(spends, usual) <= delta * SET_ASIDE:
        return usual
    taken = sampler_delta(spends, _cheapest(spends, delta / 2))
    composed = _cheapest(spends, delta - taken) if taken <= delta / 2 else math.inf
    return min(composed, pure_or_nothing(spends, delta))


def filtered_epsilon(batches: Iterable[Sequence[Spend]], delta: float, limit: float | None = None) -> float:
    """What a filter counts for batches that were chosen one after another.

    It refuses what brings this over the ``limit``. Without a limit it is a tally: nothing is promised by it.
    """
    counted = Filter(epsilon=limit, delta=delta)
    for batch in batches:
        counted = counted.after(batch)
    return counted.spent


@dataclass(frozen=True, kw_only=True)
class Filter:
    """How much of a limit is used up; see above.

    Parameters
    ----------
    epsilon, delta
        The limit; an epsilon of None for a tally.
    pure, mu_squared
        What phase 1 and phase 2 have counted.
    switched
        Whether phase 2 has begun.
    taken, taken_aside
        How much of delta sampled noise has taken in either phase.
    odds
        That some sampler was off.
    """

    epsilon: float | None
    delta: float
    pure: float = 0.0
    mu_squared: float = 0.0
    switched: bool = False
    taken: float = 0.0
    taken_aside: float = 0.0
    odds: float = 0.0

    def after(self, batch: Sequence[Spend]) -> "Filter":
        """The same filter when one more planned batch is charged."""
        gaussian = [replace(spend, slack=0.0) for spend in batch if spend.mechanism == "gaussian"]
        sampled = any(spend.sampling_rate < 1 for spend in gaussian)
        pure, mu_squared, odds = self.pure, self.mu_squared, self.odds
        for spend in batch:
            odds += spend.slack * spend.times
            if spend.mechanism != "gaussian" and self.switched:
                mu_squared += _mu_squared_of_pure(spend)
            elif spend.mechanism != "gaussian":
                pure += spend.pure_epsilon
            elif not sampled:
                mu_squared += spend.times / spend.noise_multiplier**2
        counted = replace(self, pure=pure, mu_squared=mu_squared, odds=odds)
        if not sampled:
            return replace(counted, switched=self.switched or bool(gaussian))
        if self.switched:
            part = (self.delta * SET_ASIDE / 2 - self.taken_aside) / 2
            more = _squared_mu_of(epsilon_of(gaussian, part))
            whole = math.fsum(spend.times / spend.noise_multiplier**2 for spend in gaussian)
            if whole <= more:  # a sample tells no more than everybody would
                return replace(counted, mu_squared=mu_squared + whole)
            return replace(counted, mu_squared=mu_squared + more, taken_aside=self.taken_aside + part)
        part = self._left / 2
        cost = epsilon_of(gaussian, part)
        if self.epsilon is not None and pure + cost > self.epsilon:  # then it is allowed all of delta, or nothing
            part = self._left
            cost = epsilon_of(gaussian, part)
        return replace(counted, pure=pure + cost, taken=self.taken + part)

    @property
    def spent(self) -> float:
        """The smallest epsilon that a limit would need to allow all this; infinite where none would do."""
        spent = self.pure
        if self.switched:
            from discreet.privacy.gaussian import epsilon_of_mu

            spent += epsilon_of_mu(math.sqrt(self.mu_squared), self._left)
        epsilon = spent if self.epsilon is None else self.epsilon
        return spent if delta_of_odds(self.odds, epsilon) <= samplers_delta(epsilon, self.delta) else math.inf

    @property
    def _left(self) -> float:
        return self.delta * (1 - SET_ASIDE) - self.taken


def _cheapest(spends: Sequence[Spend], delta: float) -> float:
    """The first so many pure spends as they are, the others as Gaussian noise: for the best such number."""
    pure = [spend for spend in spends if spend.mechanism != "gaussian"]
    gaussian = [replace(spend, slack=0.0) for spend in spends if spend.mechanism == "gaussian"]
    cost = math.fsum(spend.pure_epsilon for spend in pure) + epsilon_of(gaussian, delta)
    if not pure:
        return cost
    counts = [_mu_squared_of_pure(spend) for spend in pure] if len(spends) > 1 else []
    sampled = any(spend.sampling_rate < 1 for spend in gaussian)
    for kept in range(len(counts)):
        if sampled and kept:  # every further try composes distributions
            break
        mu = math.sqrt(math.fsum(counts[kept:]))
        as_noise = Spend(what="pure", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)
        other = epsilon_of([*gaussian, as_noise], delta)
        cost = min(cost, math.fsum(spend.pure_epsilon for spend in pure[:kept]) + other)
    return cost


def _mu_squared_of_pure(spend: Spend) -> float:
    return spend.times * _squared_mu_of(spend.pure_epsilon / spend.times)


def _squared_mu_of(epsilon: float) -> float:
    from discreet.privacy.gaussian import mu_of_pure

    return math.inf if math.isinf(epsilon) else mu_of_pure(epsilon) ** 2
