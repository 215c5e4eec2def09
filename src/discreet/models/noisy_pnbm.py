"""Similarities learned by noisy gradient descent: the private form of :class:`~discreet.PNBM`.

    x_uj = r_uj − expected_uj                                             the user's own expectation, computed at home
    p_ui = Σ_j s_ij x_uj / D_ui,    D_ui = max(Σ_j s_ij, floor)           j over the listed neighbours that u rated

    minimise  ½ Σ_ui (p_ui − x_ui)² + ½ pull ‖S − S₁‖²   from S₁:

    S ← S − step · (Σ_u g_u · min(1, clip/‖g_u‖) + noise + pull · (S − S₁)),   never below 0

1. Item means are paid for first, as one noisy sum over users.
2. The start S₁ and the lists are paid for or public: ``pairs`` takes those of :class:`~discreet.NeighbourList`, from a
   noisy sum; ``constant`` lists the most rated items, by the noisy counts of 1, with one similarity.
3. All gradients are planned together (:mod:`~discreet.models.sums.similarity_gradient` has the bound: the clip for a
   user, twice the clip for a rating), each over a secret sample of the users where ``sampling_rate`` is below 1.

The noise of a gradient is known before the first step, so the step is made so short that noise alone moves no
similarity by more than ``spread`` (standard deviation) in all steps together: what noise hides is not learned, and
costs little.

It is a model of its own and not a setting of ``PNBM``: that one compares all pairs of items and takes exact means, both
of which a private one cannot afford.

**Guarantee.** The release is a function of the noisy sums, which are booked, and of public facts.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.models.denoise.item_lists import Lists, ask_for_start, check_lists
from discreet.models.home import lists
from discreet.models.sums.similarity_gradient import SimilarityGradient
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress

LEAST = 1e-6
"""Similarities that are learned stay above this: one of 0 would be no neighbour."""


@checked
@dataclass(frozen=True, kw_only=True)
class NoisyPNBM:
    """Item-item neighbours with similarities learned by noisy gradient descent.

    Parameters
    ----------
    start
        Lists and similarities before the first step: from ``pairs`` of items, or ``constant``.
    steps
        How many gradients are asked for.
    sampling_rate
        The share of the users in each of them. Below 1 for users who are present or absent only, and with a plan of
        the whole fit, as ``discreet fit`` and :func:`~discreet.spend_and_release` make it.
    clip
        The greatest length of a user's gradient.
    step, spread
        Length of a step; and how far noise alone may move a similarity in all steps together, which makes it shorter.
    pull
        How strongly similarities are drawn back to the start.
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

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=5.0, delta=1e-6, unit=dc.User())
    >>> release = dc.NoisyPNBM(steps=4).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.times for spend in ledger.spends], release.guarantee.proven.epsilon <= 5
    ([1, 1, 4], True)
    """

    start: Literal["pairs", "constant"] = "pairs"
    steps: int = 5
    sampling_rate: float = 1.0
    clip: float = 3.0
    step: float = 0.005
    spread: float = 0.003
    pull: float = 0.0
    steps_share: float = 0.1
    even: float = 0.003
    neighbours: int | None = None
    floor: float = 1.0
    factors: int = 30
    items: int | None = None
    features: bool = True
    audience: int = 1000
    pair_share: float | None = None

    def __post_init__(self) -> None:
        require_kinds(self)
        require_settings(self, "steps", least=1)
        require_settings(self, "sampling_rate", above=0, most=1)
        require_settings(self, "clip", "step", "spread", "even", above=0)
        require_settings(self, "pull", least=0)
        require_settings(self, "steps_share", above=0, below=1)
        check_lists(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for item means and the start, then for one gradient a step, and release the similarities."""
        check_population(self, population)
        found = ask_for_start(self, population)
        similarities = self._learned(found, population, progress)
        return Release.of(self, population, found.released(similarities))

    def _learned(self, found: Lists, population: Population, progress: Progress) -> Floats:
        asked = SimilarityGradient(found.neighbours, found.home, self.floor, self.clip, self.steps, self.sampling_rate)
        drawn = population.steps(asked.asked, self.steps_share)
        noise = drawn.deviation / self.sampling_rate * self.steps**0.5
        length = min(self.step, self.spread / noise) if noise > 0 else self.step
        start, listed = found.similarities, found.similarities > 0
        similarities = start
        for number in range(self.steps):
            slope = drawn.sum(asked.contribution(similarities)) / self.sampling_rate
            slope += self.pull * (similarities - start)
            moved = np.maximum(similarities - length * slope, LEAST).astype(np.float32)
            similarities = np.where(listed, moved, np.float32(0))
            progress(number + 1, self.steps, "learning similarities")
        return similarities

    declared, prepare = lists.declared, lists.prepare
    predict, score, explain = lists.predict, lists.score, lists.explain
