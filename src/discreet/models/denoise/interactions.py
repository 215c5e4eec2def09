"""What an almanac makes of data without ratings: counts and co-occurrence counts are all that it asks for.

    1. the count of each item                        (:mod:`~discreet.models.sums.item_statistics`, with c = 0)
    2. W_ij among the items used most, if noise leaves something of it      (:mod:`~discreet.models.sums.pair_sums`)

Nothing is spent on sums of ratings. Counts are denoised, and W gives taste factors and item-item weights, as with
ratings.
"""

from typing import NamedTuple

import numpy as np

from discreet.models.denoise.item_biases import posterior_counts
from discreet.models.denoise.pair_factors import PairFactors
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.sums.almanac_queries import AlmanacQueries
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices, Progress


class Interactions(NamedTuple):
    """Noisy and denoised counts of all items, and what pairs of those at ``rows`` say."""

    seen: SeenItems
    counts: Doubles
    rows: Indices
    found: PairFactors


def fit_interactions(
    queries: AlmanacQueries, population: Population, most_factors: int, features: Floats, progress: Progress
) -> Interactions:
    """Ask for counts and, where the queries have a share for them, for co-occurrence counts."""
    sums, asked = queries.item_sums(population)
    seen = SeenItems.ask(sums, population, 1 - queries.share, asked.noise)
    seen = seen.with_nights_before(population.catalogue.prior)
    noisy, noise = seen.answer[0], seen.deviation
    counts = posterior_counts(noisy, seen.deviations[0])
    progress(1, 2, "how often items were used")
    rows, found = np.zeros(0, dtype=np.int32), PairFactors.nothing()
    if queries.share > 0:
        rows = np.sort(np.argsort(-noisy, kind="stable")[: queries.items]).astype(np.int32)
        pairs, asked = queries.pair_sums(population, rows, np.zeros(len(noisy), dtype=np.float32))
        answer, deviation = population.sum(asked, queries.share), population.deviation(asked, queries.share)
        known = counts[rows], noise
        found = PairFactors.of(pairs, answer, deviation, *known, most=0, most_tastes=most_factors, features=features)
        counts[rows] = found.counts
    progress(2, 2, "which are used together")
    return Interactions(seen, counts / sums.typical_weight, rows, found)
