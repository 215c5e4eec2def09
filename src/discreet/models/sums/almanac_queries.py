"""What an almanac asks for, settled beforehand from public facts: the terms, the catalogue, the announced audience.

How clearly pairs of items can be seen is

    signal_to_noise  =  audience / (deviation of the noise on a co-count, if the whole budget went there)

for co-counts in which a user with c ratings has the weight 1/√c (unit rating); where it is 1/c (unit user, or Laplace
noise) the deviation is taken ten times, as co-counts are then √c times fainter. And how sharply items are told is

    item_signal_to_noise  =  ratings of an average item, at 100 for each of the audience (at 10 where a user's ratings are scaled
                  to length 1) / (deviation of the noise on a sum of ratings, in widths of the scale, likewise)

From both:

    pairs         are asked for where signal_to_noise is 200 and item_signal_to_noise 30 (40 with the unit rating, where item sums alone
                  may have Laplace noise, which is then the smaller), or half of both where items have no public
                  features and rankings have nothing else to go by; else the whole budget buys item sums
    products      of ratings are asked for with them, in one sum, where signal_to_noise is 600; else only co-counts, since
                  factors of ratings could not stand out
    item sums     get (60/item_signal_to_noise)² of the budget beside pairs, within 8% (16% with the unit user) and 50%
    items         35 √signal_to_noise, the most rated, and at most 4096, take part in pairs

Co-counts are told less finely beside products where signal_to_noise is 5000 with the unit user: rankings lack nothing there.

The constants were chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported; those of
many users on made-up ratings, 60,000 users with seed 21 and 480,000 with seed 11 (``benchmarks/almanac.py``). Shares
are of μ² where noise is Gaussian and of epsilon where it is Laplace's. No rating is looked at for any of this.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import InputError
from discreet.models.sums.item_sums import ItemSums, Scaling
from discreet.models.sums.pair_sums import PairSums, Weighting
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Floats, Indices

COUNTS_BESIDE, COUNTS_BESIDE_OF_USERS, COUNTS_BESIDE_OF_MANY = 1.0, 0.6, 0.3
"""How finely co-counts are told beside products: the κ² of :mod:`~discreet.models.sums.pair_sums`. With the unit user
they take more from each other."""
MANY = 5000.0
CLIP = 0.25
"""The furthest that a residual counts in a product, in widths of the scale."""
TYPICAL_LENGTH = 10.0
"""√c of a typical user."""
SEEN, TOLD_APART = 200.0, 600.0
SHARP_ENOUGH, SHARP_ENOUGH_OF_RATINGS = 30.0, 40.0
WITHOUT_FEATURES = 0.5
SUMS_AT, LEAST_SUMS, LEAST_SUMS_OF_USERS, MOST_SUMS = 60.0, 0.08, 0.16, 0.5
ITEMS_AT = 35.0
FEWEST_ITEMS, MOST_ITEMS = 100, 4096


@dataclass(frozen=True)
class AlmanacQueries:
    """How users are weighted in both sums, among how many items pairs are asked for, with which share of the budget.

    ``products`` is False where pairs are only counted; ``relative_weight`` is the κ² of pairs.
    """

    scaling: Scaling
    weighting: Weighting
    items: int
    share: float
    products: bool
    relative_weight: float = COUNTS_BESIDE

    def item_sums(self, population: Population) -> tuple[ItemSums, Contribution]:
        """Counts and sums of the items, and how they are to be asked for.

        Beside pairs with Gaussian noise, as its squares add up best; alone with what disturbs least.
        """
        sums = ItemSums.of(population.catalogue, self.scaling)
        wanted = [_gaussian(sums.contribution)]
        if self.share == 0 or self.weighting == "rating, l1":
            wanted.append(sums.contribution)
        return sums, min(wanted, key=population.deviation)

    def pair_sums(self, population: Population, rows: Indices, base: Floats) -> tuple[PairSums, Contribution]:
        """Products and co-counts of the listed items, and how they are to be asked for.

        Residuals that are infinitely small beside their clip leave nothing but co-counts.
        """
        clip = CLIP * population.catalogue.scale.width if self.products else math.inf
        pairs = PairSums(rows, base, clip, self.relative_weight, None, self.weighting)
        return pairs, _gaussian(pairs.contribution)


def queries_for(
    population: Population, audience: int, items: int | None, share: float | None, features: bool
) -> AlmanacQueries:
    """The queries; ``items`` and ``share`` are None for the rules above. ``features``: whether there are public ones."""
    size = len(population.catalogue)
    unit = population.unit
    if unit is None:
        most = min(size, items or MOST_ITEMS)
        return AlmanacQueries("rating", "rating, l2", most, 0.5 if share is None else share, True)
    most = min(size, items or MOST_ITEMS)
    by_user = unit.name == "user"
    queries = AlmanacQueries(
        "user, l2" if by_user else "rating", "user, l2" if by_user else "rating, l2", most, 0.0, False
    )
    noise = _noise_on_co_counts(queries, population)
    if noise is None and by_user:  # pairs of all that a user rated are too many for Laplace noise
        return replace(queries, scaling="user, l1")
    if noise is None:
        queries = replace(queries, weighting="rating, l1")
        noise = _noise_on_co_counts(queries, population)
    assert noise is not None
    signal_to_noise = audience / (noise * (1.0 if queries.weighting == "rating, l2" else TYPICAL_LENGTH))
    if items is None:
        most = int(np.clip(ITEMS_AT * math.sqrt(signal_to_noise), min(size, FEWEST_ITEMS), most))
    queries = replace(queries, items=most, products=signal_to_noise >= TOLD_APART)
    if queries.products and by_user:
        queries = replace(
            queries, relative_weight=COUNTS_BESIDE_OF_USERS if signal_to_noise < MANY else COUNTS_BESIDE_OF_MANY
        )
    if share is None:
        item_signal_to_noise = _item_signal_to_noise(queries, population, audience)
        sharp_enough = SHARP_ENOUGH if by_user else SHARP_ENOUGH_OF_RATINGS
        part = 1.0 if features else WITHOUT_FEATURES
        seen = signal_to_noise >= part * SEEN and item_signal_to_noise >= part * sharp_enough
        least = LEAST_SUMS_OF_USERS if by_user else LEAST_SUMS
        share = 1 - float(np.clip((SUMS_AT / item_signal_to_noise) ** 2, least, MOST_SUMS)) if seen else 0.0
    return replace(queries, share=share)


def _item_signal_to_noise(queries: AlmanacQueries, population: Population, audience: int) -> float:
    sums, wanted = replace(queries, share=0.5).item_sums(population)
    noise = population.deviation(wanted) * sums.points / sums.scale.width
    length = TYPICAL_LENGTH if queries.scaling == "user, l2" else TYPICAL_LENGTH**2
    return audience * length / (len(population.catalogue) * noise)


def _noise_on_co_counts(queries: AlmanacQueries, population: Population) -> float | None:
    """The deviation on a co-count off the diagonal, or None where there is no such noise: without a delta."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    pairs, wanted = queries.pair_sums(population, np.arange(queries.items, dtype=np.int32), base)
    try:
        return pairs.deviations(population.deviation(wanted))[1]
    except InputError:
        return None


def _gaussian(contribution: Contribution) -> Contribution:
    return replace(contribution, noise="gaussian")
