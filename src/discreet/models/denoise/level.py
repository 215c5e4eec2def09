"""The level of all ratings about what is expected of their items, asked for as one number.

Sums of clipped residuals say which items are liked better than others, but where ratings are skewed not how well all of
them are: with residuals about the expected rating of each item, in half widths of the scale and clipped to ±1,

    e      =  Σ (r_ui − base_i) + noise
    shift  =  e/n, times t² / (t² + (s/n)²),    n the ratings, s the deviation of the noise, t that of a shift

is added to every base_i.

**One rating** moves the sum by at most 1; a rating of another value, by at most 2. Residuals are rounded towards 0 to
multiples of 2⁻¹⁰, so that sums of up to 2⁴³ of them are exact. ∎
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.models.denoise.private_als import Averages
from discreet.models.denoise.seen_items import SeenItems
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import Doubles, Floats

SPREAD = 0.1
"""The t above, in half widths: set beforehand."""


@dataclass(frozen=True, eq=False)
class RatingLevel:
    """What is asked for: the sum of all residuals about ``base``, for a population that hides single ratings."""

    base: Floats
    scale: Scale

    @property
    def contribution(self) -> Contribution:
        """The sum."""
        bounds = (Bound("rating", "l1", 1.0, cells=1, replace=2.0), Bound("rating", "l2", 1.0, cells=1, replace=2.0))
        name = "how far ratings lie from what is expected"
        return Contribution(name, (1,), self._total, bounds, most_users=most_on_lattice(1.0))

    def _total(self, ratings: Ratings) -> Doubles:
        residuals = ratings.values.astype(np.float64) - self.base[ratings.item_index]
        whole = np.trunc(np.clip(residuals / (self.scale.width / 2), -1, 1) * 2.0**10)
        return np.array([whole.sum() * 2.0**-10])


def levelled(seen: SeenItems, averages: Averages, population: Population, share: float) -> tuple[SeenItems, Averages]:
    """The same sums and what they say of the items, with the level of all ratings; as they were without a share."""
    if share <= 0:
        return seen, averages
    scale = population.catalogue.scale
    asked = RatingLevel(averages.base, scale).contribution
    ratings = max(float(averages.counts.sum()), 1.0)
    noise = population.deviation(asked, share) / ratings
    shift = float(population.sum(asked, share)[0]) / ratings * SPREAD**2 / (SPREAD**2 + noise**2)
    points = np.float32(np.clip(shift, -1, 1) * scale.width / 2)
    base = np.clip(averages.base + points, scale.low, scale.high)
    return replace(seen, sums=replace(seen.sums, base=seen.sums.base + points)), replace(averages, base=base)
