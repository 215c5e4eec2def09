"""What noisy item sums say of the items: looks and nights that are averaged, and priors from other releases.

**Looks** at the same sums are averaged by their noise. What noise hides of the line on which biases lie
(:mod:`~discreet.models.denoise.item_biases`) is no error of single items: it lifts all items of a feature alike, and a
user's own regression makes up for it. So it is taken off the variances of items, and makes priors at home wider
instead.

**A prior from another release** is believed as far as the noisy sums bear it out, at no cost: their noise has known
standard deviations, and everything is estimated from noisy values and public columns.

    same people    Where the prior holds noisy sums of the same kind, and they differ from the new ones by no more than
                   both noises explain, the two are averaged as looks are: ten at a tenth of μ² are one with all of
                   it. Then only factors are taken from the prior, and the widths of priors at home are averaged.
    popularity     n_i = λ p_i e^{τ z_i}, p_i the counts of the prior. Against it stands the same with all p_i alike.
                   λ and τ are averaged over a grid, weighted by the likelihood of the noisy counts.
    means          sums as in :mod:`~discreet.models.denoise.item_biases` about base + ρ (expected there − its mean),
                   averaged over a grid of ρ from 0 (nothing is believed) to 1. Where popularity does not agree, items
                   were matched wrongly or people are others, so that ρ = 0 is far more likely beforehand.
    factors        of the prior, where both agree and more of them stand out there than in the new sums.

A prior that says nothing true about these items is outweighed, as its likelihood falls with every item that disagrees.
Items that the prior does not know go by their public features, as without one.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.prior import ItemPrior
from discreet.models.denoise.item_biases import CONSTANTS as BIASES
from discreet.models.denoise.item_biases import Averages, NoisyCounts, UnknownLine, posterior_biases, posterior_counts
from discreet.models.home.user_regression import CONSTANTS as AT_HOME
from discreet.models.sums.activity import Activity, Known
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.releases.choices import PARTS
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Set beforehand, and tried on splits of MovieLens 100K with seeds 101 to 103."""

    doubt: float = 0.5
    """The prior probability that its means say nothing, where popularity agrees."""
    doubt_of_strangers: float = 0.98
    """The same where it does not."""
    believed: float = 0.5
    """How likely it must be that the prior is about these people, for anything of it to be used."""


CONSTANTS = _Constants()
SPREADS, LEVELS, TRUSTS = np.geomspace(0.15, 2.5, 7), np.geomspace(0.5, 2, 7), np.linspace(0, 1, 5)
"""The grids of τ, of λ about its least-squares estimate, and of the trust in a prior's means."""
NODES = 15
"""Of the quadrature over z."""


# ── Looks ──

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


# ── A prior from another release ──


def informed(
    arrays: dict[str, AnyArray], population: Population, seen: SeenItems, features: Floats
) -> dict[str, AnyArray]:
    """The arrays of an almanac with what a prior adds, and with the noisy sums that a later fit may average.

    Without noise, arrays stay as they are.
    """
    if seen.deviation == 0:
        return arrays
    prior = population.catalogue.prior
    if prior is not None:
        arrays = _with_prior(arrays, prior, seen, features)
    return arrays | {
        "noisy_sums": seen.answer.astype(np.float32),
        "sums_noise": seen.deviations.astype(np.float32),
        "sums_kind": seen.sums.kind,
    }


def _with_prior(
    arrays: dict[str, AnyArray], prior: ItemPrior, seen: SeenItems, features: Floats
) -> dict[str, AnyArray]:
    """Counts, means and factors.

    What the noisy sums do not bear out changes nothing; nor is anything changed that rests on more patterns of the
    fit's own than the prior has.
    """
    found, same_people = dict(arrays), math.isfinite(seen.before)
    counts, agrees = counts_with(seen, prior)
    if not same_people and agrees <= CONSTANTS.believed:
        return found
    tastes, factors = arrays["taste_factors"], arrays["item_factors"]
    more_tastes, more_factors = _more(tastes, prior.tastes), _more(factors, prior.factors)
    if more_tastes:
        found["taste_factors"] = _fitted(prior.tastes, tastes.shape[1])
        found["neighbour_weights"] = np.zeros_like(found["neighbour_weights"])  # they go with what is replaced
    if same_people:
        return found | _of_nights_before(found, prior, seen, more_factors)
    asked = seen.sums
    if more_tastes or not tastes.any():
        found["counts"] = (counts / asked.typical_weight).astype(np.float32)
    if asked.counts_alone or (factors.any() and not more_factors):
        return found
    bias, unknown, believed = biases_with(counts, seen, prior, features, agrees)
    if believed <= CONSTANTS.believed:
        return found
    base = np.clip(asked.base + bias, asked.scale.low, asked.scale.high)
    mean = float(base @ counts / max(counts.sum(), 1e-9))
    found["mean"] = np.array([mean], dtype=np.float32)
    found["item_bias"] = (base - mean).astype(np.float32)
    found["unknown"] = unknown.astype(np.float32)
    if more_factors:
        found["item_factors"] = _fitted(prior.factors, factors.shape[1])
    return found


def _of_nights_before(
    arrays: dict[str, AnyArray], prior: ItemPrior, seen: SeenItems, more_factors: bool
) -> dict[str, AnyArray]:
    """What a release of the same people adds besides its sums, which were averaged already."""
    found: dict[str, AnyArray] = {}
    if more_factors:
        found["item_factors"] = _fitted(prior.factors, arrays["item_factors"].shape[1])
    if prior.prior_scales is not None and "prior_scales" in arrays:
        nights = (seen.deviation / seen.before) ** 2  # their part of all that was seen
        found["prior_scales"] = arrays["prior_scales"] ** (1 - nights) * prior.prior_scales**nights
    return found


def counts_with(seen: SeenItems, prior: ItemPrior) -> tuple[Doubles, float]:
    """Posterior counts, and how likely it is that the prior's popularity is about these people."""
    counts = posterior_counts(seen.answer[0], seen.deviations[0])
    here = prior.matched & (prior.counts > 0)
    noisy, noise, expected = seen.answer[0][here], seen.deviations[0][here], prior.counts[here].astype(np.float64)
    if here.sum() < 2 or noisy @ expected <= 0:
        return counts, 0.0
    like_prior = _grid(noisy, noise, expected)
    alike = _grid(noisy, noise, np.full(len(noisy), max(float(noisy.mean()), 1e-9)))
    best = max(like_prior[0].max(), alike[0].max())
    mine, others = (np.exp(found[0] - best) for found in (like_prior, alike))
    agrees = float(mine.sum() / (mine.sum() + others.sum()))
    if agrees > 0:  # otherwise no grid point of the prior's has a likelihood that a double can hold
        counts[here] = agrees * (mine / mine.sum() @ like_prior[1]) + (1 - agrees) * counts[here]
    return counts, agrees


def _grid(noisy: Doubles, noise: Doubles, expected: Doubles) -> tuple[Doubles, Doubles]:
    """For every λ and τ the log-likelihood of the noisy counts, and the posterior means of the counts."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    level = max(float(noisy @ expected) / float(expected @ expected), 1e-12)
    likelihoods, means = [], []
    for spread in SPREADS:
        for factor in LEVELS:
            places = level * factor * expected[:, None] * np.exp(spread * points - spread**2 / 2)
            exponent = -0.5 * ((noisy[:, None] - places) / noise[:, None]) ** 2
            top = exponent.max(axis=1, keepdims=True)
            likely = weights * np.exp(exponent - top)
            total = likely.sum(axis=1)
            likelihoods.append(float((np.log(total) + top[:, 0]).sum()))
            means.append((likely * places).sum(axis=1) / total)
    return np.array(likelihoods), np.array(means)


def biases_with(
    counts: Doubles, seen: SeenItems, prior: ItemPrior, features: Floats, agrees: float
) -> tuple[Doubles, Doubles, float]:
    """Posterior biases about the base, their variances, and how likely it is that the prior's means say anything."""
    asked, width = seen.sums, seen.sums.scale.width
    sums, deviation = seen.answer[1] * asked.points, seen.deviations[1] * asked.points
    offset = np.zeros(len(counts))
    if prior.base is not None and agrees > 0:
        weight = counts * prior.matched
        offset = np.where(prior.matched, prior.base - prior.base @ weight / max(float(weight.sum()), 1e-9), 0.0)
    trusts = TRUSTS if offset.any() else TRUSTS[:1]
    doubt = agrees * CONSTANTS.doubt + (1 - agrees) * CONSTANTS.doubt_of_strangers
    scores, means, variances = [], [], []
    for trust in trusts:
        left = sums - counts * trust * offset
        settings = (counts, left, deviation, asked.typical_weight, features, width, seen.deviations[0])
        mean, variance = posterior_biases(*settings)
        beforehand = doubt if trust == 0 else (1 - doubt) / (len(trusts) - 1)
        scores.append(_evidence(*settings) + (0.0 if len(trusts) == 1 else np.log(beforehand)))
        means.append(mean + trust * offset)
        variances.append(variance)
    likely = np.exp(np.array(scores) - max(scores))
    likely /= likely.sum()
    mean = likely @ np.array(means)
    return mean, likely @ (np.array(variances) + (np.array(means) - mean) ** 2), float(1 - likely[0])


def _evidence(
    counts: Doubles, sums: Doubles, deviation: Doubles, weight: float, features: Floats, width: float, noise: Doubles
) -> float:
    """The log-likelihood of the sums, the line and the spread t averaged out, up to a constant.

    The same model as that of :func:`~discreet.models.denoise.item_biases.posterior_biases`.
    """
    popularity = np.log((counts + BIASES.count_smoothing * noise) / weight + 1)
    popularity = (popularity - popularity @ counts / max(counts.sum(), 1e-9)) / 2
    line = np.concatenate([np.ones((len(counts), 1)), popularity[:, None], features], axis=1)
    spread_of_line = np.r_[BIASES.level_spread, np.full(line.shape[1] - 1, BIASES.slope_spread)] * width
    found = []
    for spread in np.array(BIASES.spreads) * width:
        variance = counts**2 * spread**2 + (BIASES.residual_deviation * width) ** 2 * weight * counts
        variance = variance + deviation**2 + 1e-12
        rows, target = line * (counts / np.sqrt(variance))[:, None], sums / np.sqrt(variance)
        gram, moment = rows.T @ rows + np.diag(1 / spread_of_line**2), rows.T @ target
        fitted = moment @ np.linalg.solve(gram, moment)
        unlikely = (np.log(spread / width / BIASES.likely_spread) / BIASES.of_log_spread) ** 2
        found.append(-0.5 * (target @ target - fitted + np.log(variance).sum() + np.linalg.slogdet(gram)[1] + unlikely))
    top = max(found)
    return float(top + np.log(np.exp(np.array(found) - top).sum()))


def _more(own: Floats, others: Floats) -> bool:
    """Whether more patterns stand out in the prior."""
    return int(others.any(axis=0).sum()) > int(own.any(axis=0).sum())


def _fitted(factors: Floats, width: int) -> Floats:
    """Factors with so many columns, zeros behind them."""
    kept = factors[:, factors.any(axis=0)][:, :width]
    return np.pad(kept, ((0, 0), (0, width - kept.shape[1]))).astype(np.float32)
