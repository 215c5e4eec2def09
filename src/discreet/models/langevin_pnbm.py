"""Similarities sampled from their posterior by Langevin steps, each accounted as the Gaussian mechanism that it is.

    p(S | ratings)  ∝  exp(−(s · loss(S) + ‖S − S₁‖²/(2 spread²)) / temperature),     S ≥ 0

    loss(S) = Σ_u clipped loss of u: its gradient is Σ_u g_u · min(1, clip/‖g_u‖)     as in :class:`~discreet.NoisyPNBM`

    S ← S − (η/2) (s · (gradient + noise) + (S − S₁)/spread²) + rest of the noise

What the sampler needs as randomness and what hides a user is the same noise. A gradient comes with noise of deviation d
for what the budget allows; the sampler wants √(temperature · η) in a step. So the loss is tempered by

    s = min(1, 2 √(temperature/η) / d)

and where s = 1, which is to say where the budget allows more than the posterior of the ratings themselves, the rest of
the noise is added by the model.

**Guarantee.** Step t shifts S by at most (η/2) s C for the clip C (twice that for a rating), with noise of deviation
(η/2) s d at least: the Gaussian mechanism on a sum of sensitivity C with noise d, whatever the steps before were. All
steps are planned and composed as such by the population; μ² = (s C)² Σ_t η / (4 · temperature) for T full steps and
s < 1. The prior is public. So every similarity of every step may be released, and their mean too. Nothing rests on the
chain having converged: how near S is to a sample of the posterior is a question of accuracy alone.

Means and lists are paid for as in :class:`~discreet.NoisyPNBM`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.models.denoise.item_lists import Lists, ask_for_start, check_lists
from discreet.models.home import lists
from discreet.models.noisy_pnbm import LEAST
from discreet.models.sums.similarity_gradient import SimilarityGradient
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class LangevinPNBM:
    """Item-item neighbours with similarities drawn from their posterior.

    Parameters
    ----------
    start
        The mean S₁ of the prior, where the chain starts: from ``pairs`` of items, or ``constant``.
    steps
        Length of the chain.
    sampling_rate
        The share of the users in each gradient, as in :class:`~discreet.NoisyPNBM`.
    clip
        The greatest length of a user's gradient.
    spread
        Standard deviation of the prior.
    temperature
        Of the posterior; 1 for the tempered posterior itself, less for a narrower one.
    step
        How far each step goes back to the start if nothing else moved it: η/(2 spread²), between 0 and 1.
    averaged
        Whether the mean of the second half of the chain is released, or its last state: one sample.
    steps_share
        How much of the budget the gradients get.
    even
        Similarity of all neighbours in a constant start: so small that what is learned soon outweighs it.
    neighbours
        How many items each item lists at most. None for 200, fewer with a small catalogue.
    floor
        Least sum of similarities to divide by.
    factors, items, features, audience, pair_share
        Of the start, as in :class:`~discreet.NeighbourList`; ``pair_share`` is of what the gradients leave.
    seed
        Of the rest of the noise, which hides nothing.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=5.0, delta=1e-6, unit=dc.User())
    >>> release = dc.LangevinPNBM(steps=10).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.times for spend in ledger.spends], release.guarantee.proven.epsilon <= 5
    ([1, 1, 10], True)
    """

    start: Literal["pairs", "constant"] = "pairs"
    steps: int = 20
    sampling_rate: float = 1.0
    clip: float = 3.0
    spread: float = 0.01
    temperature: float = 1.0
    step: float = 0.1
    averaged: bool = True
    steps_share: float = 0.1
    even: float = 0.003
    neighbours: int | None = None
    floor: float = 1.0
    factors: int = 30
    items: int | None = None
    features: bool = True
    audience: int = 1000
    pair_share: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require_kinds(self)
        require_settings(self, "steps", least=1)
        require_settings(self, "clip", "spread", "temperature", "even", above=0)
        require_settings(self, "sampling_rate", "step", above=0, most=1)
        require_settings(self, "steps_share", above=0, below=1)
        check_lists(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for item means and the start, then walk, and release the mean of the walk or its end."""
        check_population(self, population)
        found = ask_for_start(self, population)
        similarities = self._sampled(found, population, progress)
        return Release.of(self, population, found.released(similarities))

    def chain(self, deviation: float) -> tuple[float, float, float]:
        """``(η, s, deviation of the rest of the noise)`` for gradients with noise of this deviation.

        >>> eta, tempering, rest = LangevinPNBM(spread=1.0, step=0.5).chain(deviation=4.0)
        >>> eta, tempering, rest
        (1.0, 0.5, 0.0)
        """
        eta = 2 * self.step * self.spread**2
        wanted = (self.temperature * eta) ** 0.5
        if deviation == 0:
            return eta, 1.0, wanted
        tempering = min(1.0, 2 * wanted / (eta * deviation))
        return eta, tempering, max(wanted**2 - (eta / 2 * tempering * deviation) ** 2, 0.0) ** 0.5

    def _sampled(self, found: Lists, population: Population, progress: Progress) -> Floats:
        asked = SimilarityGradient(found.neighbours, found.home, self.floor, self.clip, self.steps, self.sampling_rate)
        drawn = population.steps(asked.asked, self.steps_share)
        eta, tempering, rest = self.chain(drawn.deviation / self.sampling_rate)
        randomness = np.random.default_rng(self.seed)
        start, listed = found.similarities.astype(np.float64), found.similarities > 0
        state, total, kept = start, np.zeros_like(start), 0
        for number in range(self.steps):
            slope = drawn.sum(asked.contribution(state.astype(np.float32))) / self.sampling_rate
            drift = tempering * slope + (state - start) / self.spread**2
            state = state - eta / 2 * drift + rest * randomness.standard_normal(start.shape)
            state = np.where(listed, np.maximum(state, LEAST), 0.0)
            if number >= self.steps // 2:
                total, kept = total + state, kept + 1
            progress(number + 1, self.steps, "sampling similarities")
        return np.asarray(total / kept if self.averaged else state, dtype=np.float32)

    declared, prepare = lists.declared, lists.prepare
    predict, score, explain = lists.predict, lists.score, lists.explain
