"""How many ratings there are, and how far all of them lie from what is expected of their items: two numbers.

With residuals in half widths of the scale, clipped to ±1, a rating adds

    (a, r_ui − base_i)        a = ¼

**One rating** moves the first by a and the second by at most 1; a rating of another value, the second by at most 2 and
the first not at all. Residuals are rounded towards 0 to multiples of 2⁻¹⁰, so that sums of up to 2⁴³ of them are exact.
∎
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.lattice import most_on_lattice
from discreet.privacy.unit import Bound
from discreet.types import Doubles, Floats

COUNTED = 0.25
"""The a above."""


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
        most, largest = most_on_lattice(1.0), float(len(self.base))
        return Contribution(name, (2,), self._total, bounds, most_users=most, largest=largest)

    def _total(self, ratings: Ratings) -> Doubles:
        residuals = ratings.values.astype(np.float64) - self.base[ratings.item_index]
        whole = np.trunc(np.clip(residuals / (self.scale.width / 2), -1, 1) * 2.0**10)
        return np.array([COUNTED * len(ratings), whole.sum() * 2.0**-10])
