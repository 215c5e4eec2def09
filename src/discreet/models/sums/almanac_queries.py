"""What an almanac asks for, decided beforehand from public facts: the terms, the catalogue, the announced audience.

The signal-to-noise ratio of pairs of items is

    R  =  audience / (deviation of the noise on a co-occurrence count, if the whole budget went there)

for counts in which a user with c ratings has the weight 1/√c (unit rating). Where the weight is 1/c (unit user, or
Laplace noise) the deviation is taken ten times, as counts are then √c times smaller. That of item sums is

    S  =  ratings of an average item / (deviation of the noise on a sum of ratings, in widths of the scale, likewise)

with 100 ratings for each of the audience, or 10 where a user's ratings are scaled to length 1. From both:

    pairs         are asked for if R ≥ 200 and S ≥ 30 (40 with the unit rating, where item sums alone may have Laplace
                  noise, which is then smaller); half of both is enough where items have no public features, as rankings
                  have nothing else to use. Otherwise the whole budget goes to item sums
    products      of ratings are asked for with them, in one sum, if R ≥ 600; otherwise only co-occurrence counts, since
                  factors of ratings would be below the noise
    item sums     get (60/S)² of the budget if pairs are asked for, within 8% (16% with the unit user) and 50%
    items         the 35 √R most rated, at most 4096, take part in pairs

With the unit user and R ≥ 5000 co-occurrence counts get a smaller weight relative to products: rankings are accurate
enough there.

The constants were chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported; those of
many users on synthetic ratings, 60,000 users with seed 21 and 480,000 with seed 11 (``benchmarks/almanac.py``). Shares
are of μ² for Gaussian noise and of epsilon for Laplace noise. No rating is looked at for any of this.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import InputError
from discreet.models.sums.item_statistics import ItemStatistics, Scaling
from discreet.models.sums.pair_sums import PairSums, Weighting
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """The numbers of the rules above."""

    clip_without_noise: float = 1.125
    """Where residuals in item sums are clipped without noise, in half widths of the scale: with 1, items that many rate
    at the bottom lost .007 RMSE where most ratings are at the top; with 1.25, which clips none, a single low rating
    weighs too much where items have few. Chosen on splits with the seeds 1203 and 1204 of changed data of
    ``benchmarks/robust.py``."""
    relative_weight: float = 1.0
    """κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of counts relative to products, for the unit rating."""
    relative_weight_of_users: float = 0.6
    """The same for the unit user, where counts cost products more."""
    relative_weight_of_many_users: float = 0.3
    """The same where the signal-to-noise ratio is at least ``many``."""
    many: float = 5000.0
    """R above which rankings are accurate enough."""
    clip: float = 0.25
    """Where residuals are clipped in products, in widths of the scale."""
    typical_length: float = 10.0
    """√c of a typical user."""
    least_pair_ratio: float = 200.0
    """The least R for which pairs are asked for."""
    least_product_ratio: float = 600.0
    """The least R for which products are asked for."""
    least_item_ratio: float = 30.0
    """The least S for which pairs are asked for, with the unit user."""
    least_item_ratio_of_ratings: float = 40.0
    """The same with the unit rating."""
    without_features: float = 0.5
    """How much of these is enough without public features."""
    full_item_ratio: float = 60.0
    """S at which item sums would get the whole budget."""
    least_item_share: float = 0.08
    """What item sums get at least, with the unit rating."""
    least_item_share_of_users: float = 0.16
    """The same with the unit user."""
    most_item_share: float = 0.5
    """What item sums get at most if pairs are asked for."""
    items_per_root_ratio: float = 35.0
    """How many items take part in pairs, over √R."""
    fewest_items: int = 100
    """How many take part at least."""
    most_items: int = 4096
    """How many take part at most: two square matrices of 64 MB."""


CONSTANTS = _Constants()


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
    relative_weight: float = CONSTANTS.relative_weight

    def item_sums(self, population: Population) -> tuple[ItemStatistics, Contribution]:
        """Counts and sums of the items, and how they are to be asked for.

        With pairs, Gaussian noise, as it composes best; alone, whatever noise is smaller.
        """
        sums = ItemStatistics.of(population.catalogue, self.scaling)
        if population.unit is None:
            sums = replace(sums, clip=CONSTANTS.clip_without_noise)
        wanted = [_gaussian(sums.contribution)]
        if self.share == 0 or self.weighting == "rating, l1":
            wanted.append(sums.contribution)
        return sums, min(wanted, key=population.deviation)

    def pair_sums(self, population: Population, rows: Indices, base: Floats) -> tuple[PairSums, Contribution]:
        """Products and co-occurrence counts of the listed items, and how they are to be asked for.

        Without products the clip is infinite: all residuals become 0 and only co-occurrence counts are left.
        """
        clip = CONSTANTS.clip * population.catalogue.scale.width if self.products else math.inf
        pairs = PairSums(rows, base, clip, self.relative_weight, None, self.weighting)
        return pairs, _gaussian(pairs.contribution)


def queries_for(
    population: Population, audience: int, items: int | None, share: float | None, features: bool
) -> AlmanacQueries:
    """The queries; ``items`` and ``share`` are None for the rules above, ``features`` says whether there are any."""
    size = len(population.catalogue)
    unit = population.unit
    if unit is None:
        most = min(size, items or CONSTANTS.most_items)
        return AlmanacQueries("rating", "rating, l2", most, 0.5 if share is None else share, True)
    most = min(size, items or CONSTANTS.most_items)
    by_user = unit.name == "user"
    queries = AlmanacQueries(
        "user, l2" if by_user else "rating", "user, l2" if by_user else "rating, l2", most, 0.0, False
    )
    noise = _co_occurrence_noise(queries, population)
    if noise is None and by_user:  # pairs of all that a user rated are too many for Laplace noise
        return replace(queries, scaling="user, l1")
    if noise is None:
        queries = replace(queries, weighting="rating, l1")
        noise = _co_occurrence_noise(queries, population)
    assert noise is not None
    signal_to_noise = audience / (noise * (1.0 if queries.weighting == "rating, l2" else CONSTANTS.typical_length))
    if items is None:
        most = int(
            np.clip(
                CONSTANTS.items_per_root_ratio * math.sqrt(signal_to_noise), min(size, CONSTANTS.fewest_items), most
            )
        )
    queries = replace(queries, items=most, products=signal_to_noise >= CONSTANTS.least_product_ratio)
    if queries.products and by_user:
        queries = replace(
            queries,
            relative_weight=CONSTANTS.relative_weight_of_users
            if signal_to_noise < CONSTANTS.many
            else CONSTANTS.relative_weight_of_many_users,
        )
    if share is None:
        item_signal_to_noise = _item_signal_to_noise(queries, population, audience)
        least_item_ratio = CONSTANTS.least_item_ratio if by_user else CONSTANTS.least_item_ratio_of_ratings
        part = 1.0 if features else CONSTANTS.without_features
        worthwhile = (
            signal_to_noise >= part * CONSTANTS.least_pair_ratio and item_signal_to_noise >= part * least_item_ratio
        )
        least = CONSTANTS.least_item_share_of_users if by_user else CONSTANTS.least_item_share
        share = (
            1
            - float(np.clip((CONSTANTS.full_item_ratio / item_signal_to_noise) ** 2, least, CONSTANTS.most_item_share))
            if worthwhile
            else 0.0
        )
    return replace(queries, share=share)


def _item_signal_to_noise(queries: AlmanacQueries, population: Population, audience: int) -> float:
    sums, wanted = replace(queries, share=0.5).item_sums(population)
    noise = population.deviation(wanted) * sums.points / sums.scale.width
    length = CONSTANTS.typical_length if queries.scaling == "user, l2" else CONSTANTS.typical_length**2
    return audience * length / (len(population.catalogue) * noise)


def _co_occurrence_noise(queries: AlmanacQueries, population: Population) -> float | None:
    """The deviation of the noise on a co-occurrence count off the diagonal; None without a delta, which it needs."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    pairs, wanted = queries.pair_sums(population, np.arange(queries.items, dtype=np.int32), base)
    try:
        return pairs.deviations(population.deviation(wanted))[1]
    except InputError:
        return None


def _gaussian(contribution: Contribution) -> Contribution:
    return replace(contribution, noise="gaussian")
