"""Co-occurrence counts of listed items that are asked for in two looks, averaged; and the patterns in them."""

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.denoise.co_occurrence import taste_factors
from discreet.models.denoise.feature_tastes import tighter_prior
from discreet.models.denoise.pair_factors import PairFactors
from discreet.models.sums.almanac_plan import co_occurrence
from discreet.models.sums.pair_sums import PairSums, weight_of_a_rating
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices

MOST_PATTERNS = 4
"""How many are looked for where it only matters whether there are any."""


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Noisy co-occurrence counts, from one look or two, and the deviation of the noise on every number."""

    pairs: PairSums
    asked: Contribution
    answer: Doubles
    deviation: float

    @classmethod
    def ask(cls, listed: Indices, population: Population, share: float) -> "SeenPairs":
        """The first look."""
        pairs, asked = co_occurrence(listed, np.zeros(len(population.catalogue), dtype=np.float32))
        return cls(pairs, asked, population.sum(asked, share), population.deviation(asked, share))

    def again(self, population: Population, share: float) -> "SeenPairs":
        """One more: together they have the noise of one look with the shares of both."""
        answer, deviation = population.sum(self.asked, share), population.deviation(self.asked, share)
        here, there = self.deviation**-2, deviation**-2
        together = (self.answer * here + answer * there) / (here + there)
        return replace(self, answer=together, deviation=float((here + there) ** -0.5))

    def factors(self, counts: Doubles, weight: float, count_noise: float, most: int, features: Floats) -> PairFactors:
        """Patterns and better counts of the listed items; ``counts`` are of all items, ``weight`` a rating's."""
        answer, own = (self.answer, self.deviation), counts[self.pairs.listed] * weight
        return PairFactors.of(self.pairs, *answer, own, count_noise, most=0, most_tastes=most, features=features)

    def tighter(self, counts: Doubles, weight: float, features: Floats) -> float:
        """How much tighter tastes for features are held, where pairs are not used for anything else."""
        own, weights = counts[self.pairs.listed] * weight, self.pairs.matrices(self.answer)[1]
        added = weight_of_a_rating(weights, own, self.pairs.weighting)
        known = weights, self.pairs.deviations(self.deviation)[1], added, own
        return tighter_prior(*known, features[self.pairs.listed]) if features.shape[1] else 1.0

    def patterns(self, counts: Doubles, weight: float, count_noise: float) -> int:
        """How many stand out, popularity among them."""
        own, weights = counts[self.pairs.listed] * weight, self.pairs.matrices(self.answer)[1]
        added = weight_of_a_rating(weights, own, self.pairs.weighting)
        noise = self.pairs.deviations(self.deviation)[1]
        return int(taste_factors(weights, own, noise, count_noise, added, MOST_PATTERNS)[0].shape[1])
