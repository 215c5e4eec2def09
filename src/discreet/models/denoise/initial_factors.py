"""Where sweeps start if no public features say: from products of residuals on pairs of items, under noise.

From random factors alternating least squares takes many sweeps to find the right directions, and each has its noise.
One sum over pairs of the most rated items (:mod:`~discreet.models.sums.pair_sums`) shows these directions at once
(:mod:`~discreet.models.denoise.spectral`). What follows is about all items, and refines them.
"""

import numpy as np

from discreet.models.denoise.averages import Averages
from discreet.models.denoise.pair_factors import rating_factors
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.sums.almanac_plan import Sweeps, products
from discreet.populations.population import Population
from discreet.types import Floats


def initial_factors(sweeps: Sweeps, population: Population, seen: SeenItems, averages: Averages, most: int) -> Floats:
    """Factors of all items, 0 for those that take no part, the strongest first; none if nothing is spent on them."""
    if sweeps.start == 0:
        return np.zeros((len(averages.base), 0), dtype=np.float32)
    listed = seen.listed(sweeps.items)
    counts = averages.counts[listed] * seen.sums.typical_weight
    pairs, asked = products(listed, averages.base, population.catalogue.scale.width, "ratings")
    answer, deviation = population.sum(asked, sweeps.start), population.deviation(asked, sweeps.start)
    found = rating_factors(pairs, answer, deviation, counts, most)
    every = np.zeros((len(averages.base), found.shape[1]), dtype=np.float32)
    every[listed] = found[:, np.argsort(-(counts @ found**2), kind="stable")]
    return every
