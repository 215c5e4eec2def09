"""Item sums that are asked for in several looks, averaged; and what they say of the items.

What noise hides of the line on which biases lie (:mod:`~discreet.models.denoise.item_biases`) is no error of single
items: it lifts all items of a feature alike, and a user's own regression makes up for it. So it is taken off the
variances of items, and makes priors at home wider instead.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.prior import ItemPrior
from discreet.models.denoise.averages import Averages
from discreet.models.denoise.item_biases import NoisyCounts, UnknownLine, posterior_biases, posterior_counts
from discreet.models.home.user_regression import CONSTANTS as AT_HOME
from discreet.models.sums.activity import Activity, Known
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.releases.choices import PARTS
from discreet.types import Doubles, Floats, Indices

DRIFT = 4.0
"""By how many standard deviations sums may differ more than noise explains, and still be of the same people."""

GAUSSIAN, LAPLACE = 3.0, 6.0
"""The mean of the fourth power of noise, in squared variances."""

TINY = 1e-9
"""What noise is at least, so that one can be divided by its variance."""


@dataclass(frozen=True, eq=False)
class SeenItems:
    """Noisy counts and sums, from one look or several, and the deviation of the noise on every number.

    Looks at the same sums are averaged by their noise. Gaussian looks then have the noise of one look with the shares
    of all of them; Laplace looks have a little more. Looks may weigh sums beside counts differently: all are put into
    the unit of the first.
    """

    sums: ItemStatistics
    answer: Doubles
    deviations: Doubles
    noise: Literal["gaussian"] | None
    before: float = math.inf
    """The deviation of the noise on a count in the looks of nights before; infinite where none were averaged."""
    kurtosis: float = LAPLACE
    """Of the noise, at most: an average of several looks has less."""

    @classmethod
    def ask(
        cls,
        sums: ItemStatistics,
        population: Population,
        share: float,
        noise: Literal["gaussian"] | None = "gaussian",
    ) -> "SeenItems":
        """The first look; None for the noise of the unit."""
        asked = replace(sums.contribution, noise=noise)
        answer = np.atleast_2d(population.sum(asked, share))
        deviations = np.full(answer.shape, population.deviation(asked, share))
        drawn = [spend.mechanism for spend in population.spends if spend.what == asked.name]
        return cls(sums, answer, deviations, noise, kurtosis=GAUSSIAN if drawn[-1:] == ["gaussian"] else LAPLACE)

    @property
    def deviation(self) -> float:
        """Of the noise on the count of an item that takes part in all looks."""
        return float(np.median(self.deviations[0]))

    def again(self, population: Population, share: float, relative_weight: float | None = None) -> "SeenItems":
        """One more, with the same weight of sums beside counts or another one."""
        asked = self.sums.with_weight(relative_weight)
        return self.averaged_with(SeenItems.ask(asked, population, share, self.noise))

    def averaged_with(self, other: "SeenItems") -> "SeenItems":
        """Both looks, each number by its noise."""
        other = other._in_unit_of(self.sums.relative_weight)
        here, there = self.deviations**-2.0, other.deviations**-2.0
        answer = (self.answer * here + other.answer * there) / (here + there)
        return replace(self, answer=answer, deviations=(here + there) ** -0.5)

    def with_nights_before(self, prior: ItemPrior | None) -> "SeenItems":
        """Averaged with the looks behind a prior, if it has some of this kind and they are of the same people.

        If both are of the same sums, Σ difference²/(both variances) over the k cells has mean k. Its variance is the
        sum of κp² + 6p(1 − p) + κ'(1 − p)² − 1, for noises with the kurtoses κ, κ' and the parts p, 1 − p of the
        variance of a cell: 2k where both are Gaussian, and between 3.5k and 5k where both are Laplace's. A release does
        not say which noise it had. Where users are scaled in L2 it can only be Gaussian; otherwise the larger is taken.
        """
        if prior is None or prior.sums is None or prior.sums_noise is None or prior.sums_kind is None:
            return self
        same = self.sums.same_but_for_weight(prior.sums_kind) and prior.sums.shape == self.answer.shape
        if self.deviation == 0 or not same or not prior.matched.any():
            return self
        asked = replace(self.sums, relative_weight=float(prior.sums_kind[1]))
        noise = np.where(prior.matched, np.maximum(prior.sums_noise, TINY), np.inf)
        kurtosis = GAUSSIAN if self.sums.scaling == "user, l2" else LAPLACE
        before = SeenItems(asked, prior.sums, noise, self.noise, kurtosis=kurtosis)
        before = before._in_unit_of(self.sums.relative_weight)
        here, there = self.deviations[:, prior.matched] ** 2, before.deviations[:, prior.matched] ** 2
        ratio = (self.answer - before.answer)[:, prior.matched] ** 2 / (here + there)
        part = here / (here + there)
        variance = self.kurtosis * part**2 + 6 * part * (1 - part) + kurtosis * (1 - part) ** 2 - 1
        if ratio.mean() > 1 + DRIFT * math.sqrt(float(variance.sum())) / ratio.size:
            return self
        heard = float(np.median(before.deviations[0, prior.matched]))
        return replace(self.averaged_with(before), before=heard)

    def _in_unit_of(self, relative_weight: float) -> "SeenItems":
        """The same as if sums had had this weight beside counts: where they weigh more, users weigh less."""
        here = self.sums.relative_weight
        if relative_weight == here:
            return self
        unit = np.array([[1.0], [relative_weight / here]]) * (
            self.sums.typical_length(here) / self.sums.typical_length(relative_weight)
        )
        asked = replace(self.sums, relative_weight=relative_weight)
        return replace(self, sums=asked, answer=self.answer * unit, deviations=self.deviations * unit)

    def denoised(self, features: Floats) -> tuple[Doubles, Doubles, Doubles]:
        """Posterior counts, biases about the base, and variances of these."""
        asked = self.sums
        about = asked.typical_weight, features, asked.scale.width, self.deviations[0]
        sums, noise = self.answer[1] * asked.points, self.deviations[1] * asked.points
        return self._counts, *posterior_biases(self._counts, sums, noise, *about)

    def averages(self, features: Floats, most: int) -> Averages:
        """What it says of every item, of which the ``most`` most rated are listed."""
        asked, scale, counts = self.sums, self.sums.scale, self._counts
        if asked.counts_alone:
            nothing = np.zeros(len(counts))
            return Averages(asked.base, nothing, counts / asked.typical_weight, self.listed(most))
        _, bias, unknown = self.denoised(features)
        base = np.clip(self.sums.base + bias, scale.low, scale.high).astype(np.float32)
        unknown = np.maximum(unknown - self._unknown_line(features).of_items, 0.0)
        return Averages(base, unknown, counts / self.sums.typical_weight, self.listed(most))

    def prior_scales(self, features: Floats) -> Floats:
        """How much wider priors at home are for what is hidden of the line: it adds to what differs between users."""
        if self.sums.counts_alone:
            return np.ones(len(PARTS), dtype=np.float32)
        line = self._unknown_line(features)
        usual = np.array([AT_HOME.user_bias, AT_HOME.feature_weight]) * self.sums.scale.width
        return np.asarray([*np.sqrt(1 + np.array([line.level, line.slope]) / usual**2), 1.0, 1.0], dtype=np.float32)

    def known(self, averages: Averages, activity: Activity) -> Known:
        """What a plan goes by, where ``averages`` are what these sums say.

        Users are two deviations fewer than the sums say, so that noise is not taken for users.
        """
        asked = self.sums
        length = asked.typical_length(asked.relative_weight)
        noise = np.maximum(np.median(self.deviations, axis=1) * length, TINY)
        on_sums = 0.0 if asked.counts_alone else float(noise[1] * asked.points / asked.scale.width) ** -2
        if asked.scaling != "user, l2":
            counts = averages.counts * (activity.size[1] / max(float(averages.counts.sum()), TINY))
        else:
            activity = activity.with_roots(self.roots - 3 * self._noise_on_roots)
            counts = averages.counts * (asked.typical_weight * length / activity.weight(asked.scaling))
        return Known(counts, activity, float(noise[0]) ** -2, on_sums)

    @property
    def roots(self) -> float:
        """Σ_u √n_u, with one deviation of its noise added: of who there are, rather too much is believed."""
        counted = max(float(self.answer[0].sum()), 0.0) * self.sums.typical_length(self.sums.relative_weight)
        return counted + self._noise_on_roots

    @property
    def _noise_on_roots(self) -> float:
        return float(np.linalg.norm(self.deviations[0])) * self.sums.typical_length(self.sums.relative_weight)

    @cached_property
    def _counts(self) -> Doubles:
        return posterior_counts(self.answer[0], self.deviations[0])

    def _unknown_line(self, features: Floats) -> UnknownLine:
        return UnknownLine.of(self.sums, self._counts, self.answer[1], self.deviations, features)

    def listed(self, most: int) -> Indices:
        """The most rated items, by the noisy counts."""
        return np.sort(np.argsort(-self.answer[0], kind="stable")[:most]).astype(np.int32)

    def counts_with(self, said: NoisyCounts, averages: Averages) -> Doubles:
        """Counts by these looks and by sweeps together, in the unit of the averages."""
        weight = self.sums.typical_weight
        seen = (row[averages.listed] / weight for row in (self.answer[0], self.deviations[0]))
        together, deviations = said.averaged_with(*seen)
        counts = averages.counts.copy()
        counts[averages.listed] = posterior_counts(together, float(np.median(deviations)))
        return counts
