"""Where sweeps start if no public features say: from products of residuals on pairs of items, under noise.

From random factors alternating least squares takes many sweeps to find the right directions, and each has its noise.
One sum over pairs of the most rated items (:mod:`~discreet.models.sums.pair_sums`) shows these directions at once
(:mod:`~discreet.models.denoise.spectral`). What follows is about all items, and refines them.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.denoise.private_als import Averages
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.sums.almanac_plan import Sweeps
from discreet.models.sums.pair_sums import PairSums, weight_of_a_rating
from discreet.populations.population import Population
from discreet.types import Floats


@dataclass(frozen=True)
class _Constants:
    """As for :class:`~discreet.CovarianceKNN`, whose factors these are; the clip in widths of the scale."""

    clip: float = 0.25
    relative_weight: float = 0.1
    factor_spread: float = 0.1
    sampling_variance: float = 2.0
    weight_factors: int = 6


CONSTANTS = _Constants()


def initial_factors(sweeps: Sweeps, population: Population, seen: SeenItems, averages: Averages, most: int) -> Floats:
    """Factors of all items, 0 for those that take no part, the strongest first; none if nothing is spent on them."""
    if sweeps.start == 0:
        return np.zeros((len(averages.base), 0), dtype=np.float32)
    listed, share = seen.listed(sweeps.items), sweeps.start
    clip, counts = CONSTANTS.clip * population.catalogue.scale.width, averages.counts[listed] * seen.sums.typical_weight
    pairs = PairSums(listed, averages.base, clip, CONSTANTS.relative_weight, None, "user, l2")
    asked = replace(pairs.contribution, noise="gaussian")
    products, weights = pairs.matrices(population.sum(asked, share))
    noise, weight_noise = pairs.deviations(population.deviation(asked, share))
    weights = denoised_weights(weights, counts, weight_noise, CONSTANTS.weight_factors)
    variance = CONSTANTS.sampling_variance * weight_of_a_rating(weights, counts, pairs.weighting)
    found = denoised_factors(products, weights, noise, variance, CONSTANTS.factor_spread, most) * np.float32(clip)
    every = np.zeros((len(averages.base), found.shape[1]), dtype=np.float32)
    every[listed] = found[:, np.argsort(-(counts @ found**2), kind="stable")]
    return every
