"""What noise leaves unknown of items' biases: what item sums with a smaller share of the budget would cost."""

from dataclasses import dataclass

import numpy as np

from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import Doubles


@dataclass(frozen=True)
class _Constants:
    """About those of :mod:`~discreet.models.denoise.item_biases` and :mod:`~discreet.models.home.user_regression`."""

    bias_deviation: float = 0.12
    """Of items, in widths of the scale."""
    residual_deviation: float = 0.2
    """Of ratings about what is expected, in widths of the scale."""


CONSTANTS = _Constants()


def least_share(
    counts: Doubles, population: Population, left: float, shares: tuple[float, float], most: tuple[float, float]
) -> float:
    """The least share of epsilon with which item sums cost at most so much accuracy, against all that is left.

    From the first of ``shares`` on it may cost the first of ``most``, and from the second on the second.
    """
    for share in np.arange(shares[0], left, 0.05):
        if cost_of(counts, population, left, float(share)) <= most[int(share >= shares[1])]:
            return float(share)
    return left


def cost_of(counts: Doubles, population: Population, left: float, share: float) -> float:
    """How much more is left with this share than with all that is left: C of the plan for the unit rating."""
    return uncertainty_of(counts, population, share) - uncertainty_of(counts, population, left)


def uncertainty_of(counts: Doubles, population: Population, share: float) -> float:
    """The variance of an item's bias once its sums are known, of the item of a rating, in squared widths."""
    asked = ItemStatistics.of(population.catalogue, "rating")
    noise = population.deviation(asked.contribution, share) * asked.points / asked.scale.width
    own = CONSTANTS.bias_deviation**2
    error = CONSTANTS.residual_deviation**2 * counts + noise**2
    return float(counts @ (own * error / (own * counts**2 + error))) / max(float(counts.sum()), 1e-9)
