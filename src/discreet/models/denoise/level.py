"""The level of all ratings about what is expected of their items, and how many they are: two numbers.

Sums of clipped residuals say which items are liked better than others, but where ratings are skewed not how well all of
them are: with residuals about the expected rating of each item, in half widths of the scale and clipped to ±1,

    c, e   =  Σ (a, r_ui − base_i) + noise, with a = ¼
    shift  =  e/n, times t² / (t² + (s/n)²),    n = c/a the ratings, s the deviation of the noise, t that of a shift

is added to every base_i. It is asked for twice: before item sums, so that their residuals are clipped about what
ratings are on average, and after them.

**One rating** moves c by a and e by at most 1; a rating of another value, e by at most 2 and c not at all. Residuals
are rounded towards 0 to multiples of 2⁻¹⁰, so that sums of up to 2⁴³ of them are exact. ∎
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.models.denoise.private_als import Averages
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import Doubles, Floats

SPREAD = 0.3
"""The t above, in half widths: set beforehand."""
COUNTED = 0.25
"""The a above."""
NEAR = 0.05
"""How far a prior's level may lie from the one that is seen, in widths, to be taken: set beforehand."""


@dataclass(frozen=True, eq=False)
class RatingLevel:
    """What is asked for: the sum of all residuals about ``base``, for a population that hides single ratings."""

    base: Floats
    scale: Scale

    @property
    def contribution(self) -> Contribution:
        """The sum."""
        bounds = (
            Bound("rating", "l1", 1 + COUNTED, cells=2, replace=2.0),
            Bound("rating", "l2", math.sqrt(1 + COUNTED**2), cells=2, replace=2.0),
        )
        name = "how many ratings there are, and how far they lie from what is expected"
        return Contribution(name, (2,), self._total, bounds, most_users=most_on_lattice(1.0))

    def _total(self, ratings: Ratings) -> Doubles:
        residuals = ratings.values.astype(np.float64) - self.base[ratings.item_index]
        whole = np.trunc(np.clip(residuals / (self.scale.width / 2), -1, 1) * 2.0**10)
        return np.array([COUNTED * len(ratings), whole.sum() * 2.0**-10])

    def shift(self, population: Population, share: float) -> np.float32:
        """In points of the scale; 0 without a share."""
        if share <= 0:
            return np.float32(0)
        counted, total = population.sum(self.contribution, share)
        deviation = population.deviation(self.contribution, share)
        ratings = max(float(counted), deviation) / COUNTED
        shift = float(total) / ratings * SPREAD**2 / (SPREAD**2 + (deviation / ratings) ** 2)
        return np.float32(np.clip(shift, -1, 1) * self.scale.width / 2)


def about_level(sums: ItemStatistics, population: Population, share: float) -> ItemStatistics:
    """The same sums about the level of all ratings, or of a prior if it is near; as they are without a share.

    Sums about one level can be averaged.
    """
    if share <= 0:
        return sums
    level = sums.level + float(RatingLevel(sums.base, sums.scale).shift(population, share)) / sums.scale.width
    prior = population.catalogue.prior
    if prior is not None and prior.sums_kind is not None and sums.same_but_for_weight(prior.sums_kind, level=False):
        known = float(prior.sums_kind[-1])
        level = known if abs(level - known) <= NEAR else level
    return sums.about_level(level)


def levelled(seen: SeenItems, averages: Averages, population: Population, share: float) -> tuple[SeenItems, Averages]:
    """The same sums and what they say of the items, with the level of all ratings; as they were without a share."""
    if share <= 0:
        return seen, averages
    scale = population.catalogue.scale
    points = RatingLevel(averages.base, scale).shift(population, share)
    base = np.clip(averages.base + points, scale.low, scale.high)
    return replace(seen, sums=replace(seen.sums, base=seen.sums.base + points)), replace(averages, base=base)
