"""Item sums that are asked for in several looks, averaged; and what they say of the items."""

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.denoise.item_biases import denoised, posterior_counts
from discreet.models.denoise.private_als import Averages, NoisyCounts
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices


@dataclass(frozen=True, eq=False)
class SeenItems:
    """Noisy counts and sums, from Gaussian looks with ``share`` of μ² altogether.

    Averaged by their shares, looks at the same sums have the noise of one look with all of them: variances are as one
    over the share.
    """

    sums: ItemStatistics
    answer: Doubles
    share: float

    @classmethod
    def ask(cls, sums: ItemStatistics, population: Population, share: float) -> "SeenItems":
        """The first look."""
        return cls(sums, population.sum(replace(sums.contribution, noise="gaussian"), share), share)

    def again(self, population: Population, share: float) -> "SeenItems":
        """One more."""
        other = SeenItems.ask(self.sums, population, share)
        total = self.share + share
        return replace(self, answer=(self.answer * self.share + other.answer * share) / total, share=total)

    def deviation(self, population: Population) -> float:
        """Of the noise on every number."""
        return population.deviation(replace(self.sums.contribution, noise="gaussian"), self.share)

    def averages(self, population: Population, features: Floats, most: int) -> Averages:
        """What it says of every item, of which the ``most`` most rated are listed."""
        noisy_counts, noisy_sums = self.answer
        counts, bias, unknown = denoised(self.sums, noisy_counts, noisy_sums, self.deviation(population), features)
        scale = self.sums.scale
        base = np.clip(self.sums.base + bias, scale.low, scale.high).astype(np.float32)
        return Averages(base, unknown, counts / self.sums.typical_weight, self.listed(most))

    def listed(self, most: int) -> Indices:
        """The most rated items, by the noisy counts."""
        return np.sort(np.argsort(-self.answer[0], kind="stable")[:most]).astype(np.int32)

    def counts_with(self, said: NoisyCounts, averages: Averages, population: Population) -> Doubles:
        """Counts by these looks and by sweeps together, in the unit of the averages."""
        weight = self.sums.typical_weight
        noisy, deviation = self.answer[0] / weight, self.deviation(population) / weight
        together, deviations = said.averaged_with(noisy[averages.listed], deviation)
        counts = averages.counts.copy()
        counts[averages.listed] = posterior_counts(together, float(np.median(deviations)))
        return counts
