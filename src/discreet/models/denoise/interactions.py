"""What an almanac makes of data without ratings: counts and co-occurrence counts are all that it asks for.

    1. the count of each item                        (:mod:`~discreet.models.sums.item_statistics`, with c = 0)
    2. W_ij among the items used most, if noise leaves something of it      (:mod:`~discreet.models.sums.pair_sums`)

Nothing is spent on sums of ratings. Counts are denoised, and W gives the taste factors, as with ratings.
"""

from typing import NamedTuple

import numpy as np

from discreet.models.denoise.co_occurrence import taste_factors
from discreet.models.denoise.item_biases import posterior_counts
from discreet.models.sums.almanac_queries import AlmanacQueries
from discreet.models.sums.pair_sums import weight_of_a_rating
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices, Progress


class Interactions(NamedTuple):
    """Denoised counts of all items, and the taste factors of those at ``rows``."""

    counts: Doubles
    rows: Indices
    tastes: Floats


def fit_interactions(
    queries: AlmanacQueries, population: Population, most_factors: int, progress: Progress
) -> Interactions:
    """Ask for counts and, where the queries have a share for them, for co-occurrence counts."""
    sums, asked = queries.item_sums(population)
    noise = population.deviation(asked, 1 - queries.share)
    noisy = population.sum(asked, 1 - queries.share)
    counts = posterior_counts(noisy, noise)
    progress(1, 2, "how often items were used")
    rows = np.zeros(0, dtype=np.int32)
    tastes = np.zeros((0, 0), dtype=np.float32)
    if queries.share > 0:
        rows = np.sort(np.argsort(-noisy, kind="stable")[: queries.items]).astype(np.int32)
        pairs, asked = queries.pair_sums(population, rows, np.zeros(len(noisy), dtype=np.float32))
        weights = pairs.matrices(population.sum(asked, queries.share))[1]
        pair_noise = pairs.deviations(population.deviation(asked, queries.share))[1]
        added = weight_of_a_rating(weights, counts[rows], queries.weighting)
        tastes, known = taste_factors(weights, counts[rows], pair_noise, noise, added, most_factors)
        counts[rows] = known
    progress(2, 2, "which are used together")
    return Interactions(counts / sums.typical_weight, rows, tastes)
