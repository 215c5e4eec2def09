"""Who has which privacy level, as in the paper's experiments: three groups of ratings, drawn at random."""

from dataclasses import dataclass

import numpy as np

from discreet.errors import require, require_number
from discreet.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Shares of ratings, and the range of levels in each: 54 % conservative, 37 % moderate, 9 % liberal by default.

    >>> Levels().mean  # 0.54 · 0.15 + 0.37 · 0.6 + 0.09 · 1
    0.393
    """

    conservative: float = 0.54
    moderate: float = 0.37
    conservative_epsilon: float = 0.1
    moderate_epsilon: float = 0.2
    liberal_epsilon: float = 1.0

    def __post_init__(self) -> None:
        require_number("conservative", self.conservative, least=0, most=1)
        require_number("moderate", self.moderate, least=0, most=1)
        require(
            self.conservative + self.moderate <= 1 + 1e-9,
            f"conservative and moderate are shares of all ratings: together at most 1, got "
            f"{self.conservative + self.moderate:g}",
        )
        require_number("conservative_epsilon", self.conservative_epsilon, above=0)
        require(
            self.conservative_epsilon <= self.moderate_epsilon <= self.liberal_epsilon,
            f"privacy levels must not fall from conservative to moderate to liberal (epsilon), got "
            f"{self.conservative_epsilon:g}, {self.moderate_epsilon:g} and {self.liberal_epsilon:g}",
        )

    @property
    def mean(self) -> float:
        """Of all levels, expected."""
        liberal = 1 - self.conservative - self.moderate
        middle = self.moderate_epsilon
        mean = self.conservative * (self.conservative_epsilon + middle) / 2
        return round(mean + self.moderate * (middle + self.liberal_epsilon) / 2 + liberal * self.liberal_epsilon, 12)


def draw_levels(levels: Levels, count: int, seed: int) -> Doubles:
    """The level of each rating, at random.

    The words do not depend on the shares, so more conservative ratings means the same ones and more.

    >>> round(float(draw_levels(Levels(), 100_000, seed=1).mean()), 2)
    0.39
    """
    rng = np.random.default_rng(seed)
    group, within = rng.random(count), rng.random(count)
    low, middle, high = levels.conservative_epsilon, levels.moderate_epsilon, levels.liberal_epsilon
    own = np.where(group < levels.conservative, low + within * (middle - low), middle + within * (high - middle))
    return np.where(group < levels.conservative + levels.moderate, own, high)


def threshold_of(threshold: float | str, levels: Doubles) -> float:
    """t: the mean of all levels, their maximum, or a number between the least and the greatest of them.

    >>> [threshold_of(one, np.array([0.1, 0.5])) for one in ("mean", "max", 0.2)]
    [0.3, 0.5, 0.2]
    """
    if threshold == "mean":
        return float(levels.mean())
    if threshold == "max":
        return float(levels.max())
    value = float(threshold)
    require(
        float(levels.min()) <= value <= float(levels.max()),
        f"the threshold must lie between the least and the greatest privacy level on offer, got {value:g}",
    )
    return value
