"""Item sums that are asked for in several looks, averaged; and what they say of the items.

What noise hides of the line on which biases lie (:mod:`~discreet.models.denoise.item_biases`) is no error of single
items: it lifts all items of a feature alike, and a user's own regression makes up for it. So it is taken off the
variances of items, and makes priors at home wider instead.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.models.denoise.item_biases import NoisyCounts, UnknownLine, posterior_biases, posterior_counts
from discreet.models.denoise.private_als import Averages
from discreet.models.home.user_regression import CONSTANTS as AT_HOME
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices


@dataclass(frozen=True, eq=False)
class SeenItems:
    """Noisy counts and sums, from one look or several, and the deviation of the noise on every number.

    Looks at the same sums are averaged by their noise. Gaussian looks then have the noise of one look with the shares
    of all of them; Laplace looks have a little more. Where looks weigh sums beside counts differently, each row is
    averaged by its own noise, and ``sums`` has the relative weight with which one look would have had these noises.
    """

    sums: ItemStatistics
    answer: Doubles
    deviation: float
    noise: Literal["laplace", "gaussian"]

    @classmethod
    def ask(
        cls,
        sums: ItemStatistics,
        population: Population,
        share: float,
        noise: Literal["laplace", "gaussian"] = "gaussian",
    ) -> "SeenItems":
        """The first look."""
        asked = replace(sums.contribution, noise="gaussian") if noise == "gaussian" else sums.contribution
        answer = np.atleast_2d(population.sum(asked, share))
        return cls(sums, answer, population.deviation(asked, share), noise)

    def again(self, population: Population, share: float, relative_weight: float | None = None) -> "SeenItems":
        """One more, with the same weight of sums beside counts or another one."""
        here = self.sums.relative_weight
        there = here if relative_weight is None or self.sums.counts_alone else relative_weight
        other = SeenItems.ask(replace(self.sums, relative_weight=there), population, share, self.noise)
        longer = self.sums.typical_length(there) / self.sums.typical_length(here)  # the other's users weigh less
        rows = len(self.answer)
        units = np.array([1.0, here])[:rows], np.array([1.0, there])[:rows] / longer
        precisions = [(unit / look.deviation) ** 2 for unit, look in zip(units, (self, other), strict=True)]
        deviations = (precisions[0] + precisions[1]) ** -0.5
        answer = sum(
            look.answer * (precision / unit)[:, None]
            for look, precision, unit in zip((self, other), precisions, units, strict=True)
        )
        weight = here if here == there else float(deviations[0] / deviations[1])
        answer = answer * (deviations**2 * [1.0, weight][:rows])[:, None]
        return replace(
            self, sums=replace(self.sums, relative_weight=weight), answer=answer, deviation=float(deviations[0])
        )

    def averages(self, features: Floats, most: int) -> Averages:
        """What it says of every item, of which the ``most`` most rated are listed."""
        asked, scale, counts = self.sums, self.sums.scale, self._counts
        if asked.counts_alone:
            nothing = np.zeros(len(counts))
            return Averages(asked.base, nothing, counts / asked.typical_weight, self.listed(most))
        sums, noise = self.answer[1] * asked.points, self.deviation * asked.points
        about = asked.typical_weight, features, scale.width, self.deviation
        bias, unknown = posterior_biases(counts, sums, noise, *about)
        base = np.clip(self.sums.base + bias, scale.low, scale.high).astype(np.float32)
        unknown = np.maximum(unknown - self._unknown_line(features).of_items, 0.0)
        return Averages(base, unknown, counts / self.sums.typical_weight, self.listed(most))

    def prior_scales(self, features: Floats) -> Floats:
        """How much wider priors at home are for what is hidden of the line: it adds to what differs between users."""
        if self.sums.counts_alone:
            return np.ones(3, dtype=np.float32)
        line = self._unknown_line(features)
        usual = np.array([AT_HOME.user_bias, AT_HOME.feature_weight]) * self.sums.scale.width
        return np.asarray([*np.sqrt(1 + np.array([line.level, line.slope]) / usual**2), 1.0], dtype=np.float32)

    @property
    def roots(self) -> float:
        """Σ_u √n_u, with one deviation of its noise added: of who there are, rather too much is believed."""
        noise = self.deviation * len(self.answer[0]) ** 0.5
        return float(max(self.answer[0].sum(), 0.0) + noise) * self.sums.typical_length(self.sums.relative_weight)

    @cached_property
    def _counts(self) -> Doubles:
        return posterior_counts(self.answer[0], self.deviation)

    def _unknown_line(self, features: Floats) -> UnknownLine:
        return UnknownLine.of(self.sums, self._counts, self.answer[1], self.deviation, features)

    def listed(self, most: int) -> Indices:
        """The most rated items, by the noisy counts."""
        return np.sort(np.argsort(-self.answer[0], kind="stable")[:most]).astype(np.int32)

    def counts_with(self, said: NoisyCounts, averages: Averages) -> Doubles:
        """Counts by these looks and by sweeps together, in the unit of the averages."""
        weight = self.sums.typical_weight
        together, deviations = said.averaged_with(self.answer[0][averages.listed] / weight, self.deviation / weight)
        counts = averages.counts.copy()
        counts[averages.listed] = posterior_counts(together, float(np.median(deviations)))
        return counts
