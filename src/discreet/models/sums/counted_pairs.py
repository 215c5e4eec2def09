"""Among how many items co-occurrence is asked for, and how near to popularity rankings by it stay.

By q and T of the K most rated items, for K from 1 on (:mod:`~discreet.models.sums.almanac_plan` for the unit user,
:mod:`~discreet.models.sums.rating_plan` for the unit rating): the K for which q (T − 3)^0.4 is largest.
"""

from dataclasses import dataclass

import numpy as np

from discreet.models.home.conditional_logit import USUAL_FLOOR
from discreet.types import Doubles


@dataclass(frozen=True)
class _Constants:
    """Chosen by rankings with K from 30 to 3,200, on splits with the seeds 701, 702 and 711 of all small data of
    ``benchmarks/robust.py``."""

    hidden_by_noise: float = 3.0
    """The part of T that noise takes in any case."""
    power_of_popularity: float = 0.4
    """How much the rest of T counts beside q."""
    fewest_items: int = 20
    """K at least."""
    most_items: int = 4096
    """K at most: two square matrices of 64 MB."""
    covered_if_unclear: float = 0.6
    """The q that decides between the next two. These three were chosen on splits with the seeds 901 to 903."""
    floor_if_unclear: float = 0.3
    """Of popularity, where pairs with features are not clear."""
    floor_of_few: float = 1.0
    """The same where the listed items also have a smaller share of the ratings."""


CONSTANTS = _Constants()


@dataclass(frozen=True)
class CountedPairs:
    """Among how many items co-occurrence is asked for, 0 for none; whether it says more than features do, or, if
    not, what share of the ratings these items have."""

    items: int = 0
    clear: bool = True
    covered: float = 1.0

    @classmethod
    def of(
        cls,
        covered: Doubles,
        popularity: Doubles,
        least: tuple[float, float],
        least_if_clear: tuple[float, float] | None = None,
    ) -> "CountedPairs":
        """By q and T for K from 1 on, and the least T and q; None where items have no features."""
        if items := items_for_counts(covered, popularity, least_if_clear or least):
            return cls(items)
        items = items_for_counts(covered, popularity, least)
        return cls(items, False, float(covered[items - 1])) if items else cls()

    @property
    def floor(self) -> float:
        """The share of popularity that everyone keeps in rankings."""
        if self.clear:
            return USUAL_FLOOR
        wide = self.covered >= CONSTANTS.covered_if_unclear
        return CONSTANTS.floor_if_unclear if wide else CONSTANTS.floor_of_few


def items_for_counts(covered: Doubles, popularity: Doubles, least: tuple[float, float]) -> int:
    """K above, by q and T for K from 1 on and the least T and q; 0 where counts of pairs are not worth asking for."""
    fitting = (popularity >= least[0]) & (covered >= least[1])
    fitting[: min(CONSTANTS.fewest_items, len(fitting)) - 1] = False
    if not fitting.any():
        return 0
    clear = np.maximum(popularity - CONSTANTS.hidden_by_noise, 0.0)
    return int(np.argmax(np.where(fitting, covered * clear**CONSTANTS.power_of_popularity, 0.0))) + 1
