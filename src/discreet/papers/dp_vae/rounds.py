"""Algorithm 3, whatever the network: rounds of batches, clipped gradients and their noise.

    S        ``optimal``: Optimal_Clip of the batch's norms; ``constant`` and ``plain``: a number
    ĝ_k      = g_k min(1, S/‖g_k‖) + N(0, σ_k² I),    σ_k = √(2 ln(1.25/δ)) S/ε_k
    weights  ← weights − η mean_k ĝ_k

The noise of the users of a batch is drawn as one, of variance Σσ_k²: the server adds them up anyway.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from discreet.papers.dp_vae.clipping import expected_error, optimal_clip
from discreet.papers.dp_vae.privacy import batch_deviation
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

Clipping = Literal["optimal", "constant", "plain"]
LEAST_LEVEL = 1e-3
"""Levels are uniform in (0, ε]; below this share of ε they are taken for it, or one user's noise would be all there
is."""
LARGEST = 1e6
"""Training stops before a weight is larger. With Optimal_Clip larger weights have larger gradients, these a larger
bound, and this larger noise, until numbers overflow."""


class UserGradients(Protocol):
    """Of several users: all that a round needs to know."""

    @property
    def norms(self) -> Doubles:
        """‖g_k‖."""
        ...

    @property
    def sums(self) -> Doubles:
        """|g_k|₁."""
        ...

    def total(self, weights: AnyArray, out: Floats) -> None:
        """Σ_k w_k g_k."""
        ...


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How long, how fast, and with which noise; ``levels`` are ε_k, None for no clipping and no noise."""

    levels: Doubles | None
    delta: float
    clipping: Clipping
    clip: float
    epochs: int
    batch: int
    learning_rate: float
    epsilon: float | None

    def descend(
        self,
        flat: Floats,
        users: int,
        gradients: Callable[[AnyArray], UserGradients],
        order: np.random.Generator,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> int:
        """Change the weights in place; how many rounds were made: fewer than planned where numbers overflowed."""
        change, rounds, calibrated = np.zeros_like(flat), 0, self._calibrated(users)
        for epoch in range(self.epochs):
            for chosen in np.array_split(order.permutation(users), max(1, users // self.batch)):
                found = gradients(chosen)
                share, deviation = self.clipped(found, chosen, len(flat), calibrated)
                step = self.learning_rate / len(chosen)
                found.total(step * share, change)
                if deviation:
                    change += np.float32(step * deviation) * rng.standard_normal(len(change), dtype=np.float32)
                flat -= change
                if not float(np.abs(flat).max()) < LARGEST:
                    flat += change
                    flat[~np.isfinite(flat)] = 0
                    return rounds
                rounds += 1
            progress(epoch + 1, self.epochs, "epochs")
        return rounds

    def clipped(
        self, found: UserGradients, chosen: AnyArray, count: int, calibrated: float = 0.0
    ) -> tuple[Doubles, float]:
        """By what each gradient is multiplied, and the deviation of the noise on their sum."""
        if self.levels is None:
            return np.ones(len(chosen)), 0.0
        bound = self.clip
        if self.clipping == "optimal":
            error = expected_error(found.norms, found.sums, self.levels[chosen], self.delta, count)
            bound = optimal_clip(found.norms, error)
        share = np.minimum(1, bound / np.maximum(found.norms, 1e-30))
        noise = calibrated if self.clipping == "plain" else batch_deviation(self.levels[chosen], self.delta)
        return share, bound * noise

    def _calibrated(self, users: int) -> float:
        """The noise of plain DP-SGD, in units of S: for all steps together, as if batches were secret samples."""
        if self.epsilon is None or self.clipping != "plain" or self.epochs == 0:
            return 0.0
        from discreet.privacy.accounting import sampled_noise_multiplier

        steps = max(1, users // self.batch)
        return sampled_noise_multiplier(float(self.epsilon), self.delta, 1 / steps, steps * self.epochs)


def draw_levels(epsilon: float | None, users: int, seed: int, *, same: bool = False) -> Doubles | None:
    """ε_k of every user, uniform in (0, ε] or all the same; None without noise.

    >>> levels = draw_levels(1.0, 1000, seed=1)
    >>> bool(0 < levels.min() and levels.max() <= 1), draw_levels(None, 3, 1) is None
    (True, True)
    """
    if epsilon is None:
        return None
    if same:
        return np.full(users, float(epsilon))
    drawn = 1 - np.random.default_rng([seed, 1]).random(users)
    return np.asarray(epsilon * np.maximum(drawn, LEAST_LEVEL))


def fast_generator(randomness: Randomness) -> np.random.Generator:
    """A generator keyed by the secret stream: 30 epochs take 780 million numbers, and nothing is proven of them."""
    return np.random.Generator(np.random.SFC64(randomness.words(4).tolist()))
