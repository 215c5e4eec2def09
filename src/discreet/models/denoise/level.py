"""The level of all ratings about what is expected of their items.

Sums of clipped residuals say which items are liked better than others, but where ratings are skewed not how well all of
them are. With c and e the two noisy sums of :mod:`~discreet.models.sums.rating_level`, in half widths of the scale,

    shift  =  e/n, times t² / (t² + (s/n)²),    n = c/a the ratings, s the deviation of the noise, t that of a shift

is added to every base_i. It is asked for twice: before item sums, so that their residuals are clipped about what
ratings are on average, and after them.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from discreet.models.denoise.averages import Averages
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.models.sums.rating_level import COUNTED, RatingLevel
from discreet.populations.population import Population

SPREAD = 0.3
"""The t above, in half widths: set beforehand."""
NEAR = 0.05
"""How far a prior's level may lie from the one that is seen, in widths, to be taken: set beforehand."""


def shift_of(
    asked: RatingLevel, population: Population, share: float, noise: Literal["gaussian"] | None = None
) -> np.float32:
    """In points of the scale; 0 without a share."""
    if share <= 0:
        return np.float32(0)
    question = replace(asked.contribution, noise=noise)
    counted, total = population.sum(question, share)
    deviation = population.deviation(question, share)
    ratings = max(float(counted), deviation) / COUNTED
    shift = float(total) / ratings * SPREAD**2 / (SPREAD**2 + (deviation / ratings) ** 2)
    return np.float32(np.clip(shift, -1, 1) * asked.scale.width / 2)


def about_level(sums: ItemStatistics, population: Population, share: float) -> ItemStatistics:
    """The same sums about the level of all ratings, or of a prior if it is near; as they are without a share.

    Sums about one level can be averaged.
    """
    if share <= 0:
        return sums
    level = sums.level + float(shift_of(RatingLevel(sums.base, sums.scale), population, share)) / sums.scale.width
    prior = population.catalogue.prior
    if prior is not None and prior.sums_kind is not None and sums.same_but_for_weight(prior.sums_kind, level=False):
        known = float(prior.sums_kind[-1])
        level = known if abs(level - known) <= NEAR else level
    return sums.about_level(level)


def levelled(
    seen: SeenItems,
    averages: Averages,
    population: Population,
    share: float,
    noise: Literal["gaussian"] | None = None,
) -> tuple[SeenItems, Averages]:
    """The same sums and what they say of the items, with the level of all ratings; as they were without a share."""
    if share <= 0:
        return seen, averages
    scale = population.catalogue.scale
    points = shift_of(RatingLevel(averages.base, scale), population, share, noise)
    base = np.clip(averages.base + points, scale.low, scale.high)
    return replace(seen, sums=replace(seen.sums, base=seen.sums.base + points)), replace(averages, base=base)
