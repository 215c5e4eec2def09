"""Item counts and biases from noisy counts and sums, by empirical Bayes: post-processing, so it costs no privacy.

The noise has known standard deviations, s on counts and s' on sums (in points of the scale). Everything is estimated
from the noisy values and public constants.

    count n_i    y_i = n_i + noise. The prior of counts is a mixture on a grid, estimated from all y by nonparametric
                 maximum likelihood (some steps of expectation maximisation); n_i is the posterior mean given y_i.
    bias b_i     sum_i = n_i b_i + error + noise, of variance v_i = σ² n_i w + s'², w the weight of a rating, and
                 b_i = f_iᵀβ + t z_i,  z_i ~ N(0, 1),  f_i = (1, log(n_i + 2s), public features).
                 β by generalised ridge regression; given t, the posterior mean is
                 b_i = f_iᵀβ + t² n_i (sum_i − n_i f_iᵀβ) / (t² n_i² + v_i),  its variance t² v_i / (t² n_i² + v_i),
                 and what is not known of β. Both are averaged over a grid of t and σ, each weighted by its likelihood
                 and prior: where noise hides how far items differ, the most likely t alone would take noise for
                 differences; and where ratings of rare items scatter more than usual, a fixed σ would take that for
                 differences too.

Where a model has a damping, σ²/t² is likely to be near it; a damping of 0 says that σ is 0. Without noise its biases
are damped means, Σ (r − mean) / (n + damping): the same form without the line.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from discreet.kernels.threads import one_blas_thread
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported.

    Lengths are in widths of the scale.
    """

    residual_deviation: float = 0.235
    """The standard deviation of a rating about the expectation of its item: its prior median."""
    residual_deviations: tuple[float, ...] = tuple((0.235 * np.geomspace(0.75, 1.4, 5)).tolist())
    """The grid of it."""
    of_its_logarithm: float = 0.12
    """The prior standard deviation of its logarithm."""
    spreads: tuple[float, ...] = tuple(np.geomspace(0.005, 0.3, 15).tolist())
    """The grid of t."""
    likely_spread: float = 0.08
    """The prior median of t, where no damping is given. This and the next were chosen on splits with the seeds 501 to
    508 of MovieLens 100K and latest-small, FilmTrust and made-up ratings at epsilon .1, where noise says little of
    t."""
    of_log_spread: float = 0.7
    """The prior standard deviation of its logarithm."""
    of_log_damping: float = 0.3
    """The prior standard deviation of log σ²/t² about that of the damping."""
    unlikely: float = 1e-6
    """What has a smaller posterior probability is left out."""
    level_spread: float = 0.2
    """Prior standard deviation of the level of the line."""
    slope_spread: float = 0.05
    """Prior standard deviation of its other coefficients."""
    count_smoothing: float = 2.0
    """Added to counts in log n_i, in standard deviations of their noise: the logarithm of a small noisy count is mostly
    noise."""
    clear_count: float = 12.0
    """Counts above so many standard deviations of the noise are kept as they are: noise is a small part of them."""
    mixture_steps: int = 60
    """Steps of expectation maximisation."""

    @property
    def count_grid(self) -> Doubles:
        """Where counts may lie, in standard deviations of their noise."""
        return np.concatenate([[0.0], np.geomspace(0.02, 1, 16), np.arange(1.25, self.clear_count + 3, 0.25)])


CONSTANTS = _Constants()


# ── Counts and biases ──

FEW_CELLS = 1 << 20
"""Of items by features: below, the threads of BLAS gain nothing, and wait for each other where the machine is busy."""


def item_biases(population: Population, damping: float, share: float = 1.0) -> tuple[float, Floats]:
    """The mean rating and the item biases, from one sum over the users."""
    mean, bias, _ = item_biases_and_weights(population, damping, share)
    return mean, bias


def item_biases_and_weights(
    population: Population, damping: float, share: float = 1.0
) -> tuple[float, Floats, Doubles]:
    """The same, and the (weighted) count of every item, with its noise."""
    catalogue = population.catalogue
    asked = ItemStatistics.about_middle(len(catalogue), catalogue.scale, population.unit)
    noise = population.deviation(asked.contribution, share)
    weights, sums = population.sum(asked.contribution, share)
    if noise == 0:
        mean, bias = _damped_means(asked, weights, sums * asked.points, damping)
    else:
        features = np.zeros((len(catalogue), 0), dtype=np.float32)
        counts, bias, _ = denoised(asked, weights, sums, noise, features, damping)
        level = float(bias @ counts / max(counts.sum(), 1e-9))
        mean, bias = asked.scale.middle + level, bias - level
    return mean, bias.astype(np.float32), weights


def _damped_means(asked: ItemStatistics, weights: Doubles, sums: Doubles, damping: float) -> tuple[float, Doubles]:
    total = float(weights.sum())
    level = float(sums.sum()) / total if total > 0 else 0.0
    damping *= asked.typical_weight
    centred = sums - weights * level
    bias = np.divide(centred, weights + damping, out=np.zeros_like(weights), where=weights + damping > 0)
    return asked.scale.middle + level, bias


def denoised(
    asked: ItemStatistics,
    weights: Doubles,
    sums: Doubles,
    noise: float,
    features: Floats,
    damping: float | None = None,
) -> tuple[Doubles, Doubles, Doubles]:
    """Posterior counts, biases about the base, and variances of these, from a noisy answer."""
    counts = posterior_counts(weights, noise)
    biases, variances = posterior_biases(
        counts,
        sums * asked.points,
        noise * asked.points,
        asked.typical_weight,
        features,
        asked.scale.width,
        noise,
        damping,
    )
    return counts, biases, variances


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """How often each item is rated, and the deviation of the noise on it."""

    counts: Doubles
    deviations: Doubles | float

    def averaged_with(self, counts: Doubles, deviation: Doubles | float) -> tuple[Doubles, Doubles]:
        """The inverse-variance mean with other noisy counts, and its deviation."""
        here, there = 1 / np.square(self.deviations), 1 / deviation**2
        return (self.counts * here + counts * there) / (here + there), (here + there) ** -0.5


def posterior_counts(noisy: Doubles, deviation: Doubles | float) -> Doubles:
    """Posterior means of counts, of items with the same noise together; never negative.

    >>> posterior_counts(np.array([-3.0, 0.0, 50.0]), 0.0).tolist()
    [0.0, 0.0, 50.0]
    """
    if isinstance(deviation, np.ndarray):
        counts = np.empty(len(noisy))
        for one in np.unique(deviation):
            counts[deviation == one] = posterior_counts(noisy[deviation == one], float(one))
        return counts
    if deviation == 0:
        return np.maximum(noisy, 0.0)
    counts = np.array(noisy, dtype=np.float64)
    low = noisy < CONSTANTS.clear_count * deviation
    if low.any():
        grid = CONSTANTS.count_grid * deviation
        likelihood = np.exp(-0.5 * ((noisy[low, None] - grid) / deviation) ** 2) + 1e-300
        prior = np.full(len(grid), 1 / len(grid))
        for _ in range(CONSTANTS.mixture_steps):
            prior = prior * ((1 / (likelihood @ prior)) @ likelihood) / len(likelihood)
        posterior = likelihood * prior
        counts[low] = (posterior @ grid) / posterior.sum(axis=1)
    return counts


def posterior_biases(
    counts: Doubles,
    sums: Doubles,
    deviation: Doubles | float,
    weight: float,
    features: Floats,
    width: float,
    count_deviation: Doubles | float = 0.0,
    damping: float | None = None,
) -> tuple[Doubles, Doubles]:
    """Posterior means and variances of the item biases about one base.

    Parameters
    ----------
    counts, sums
        The posterior counts, and the noisy sums, in points of the scale.
    deviation
        Standard deviation of the noise on the sums, of every item or of all.
    weight
        What a rating weighs in counts and sums.
    features
        The public features of the items.
    width
        Of the scale.
    count_deviation
        Standard deviation of the noise on the counts before they were denoised.
    damping
        About σ²/t², where it is given.
    """
    line, fits = _likely_fits(counts, sums, deviation, weight, features, width, count_deviation, damping)
    mean, square, variance = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    for likely, fit in fits:
        own, left = fit.posterior(line, counts, sums)
        mean += likely * own
        square += likely * own**2
        variance += likely * left
    return mean, variance + np.maximum(square - mean**2, 0.0)


@dataclass(frozen=True, eq=False)
class UnknownLine:
    """What noise hides of β: its part in every item's variance, and the variances of the level (where items are rated
    most) and of the slopes of features, on average."""

    of_items: Doubles
    level: float
    slope: float

    @classmethod
    def of(
        cls, asked: ItemStatistics, counts: Doubles, sums: Doubles, noise: Doubles, features: Floats
    ) -> "UnknownLine":
        """From posterior counts and noisy sums; the noise is that of both."""
        of_asked = asked.typical_weight, features, asked.scale.width, noise[0]
        line, fits = _likely_fits(counts, sums * asked.points, noise[1] * asked.points, *of_asked, None)
        middle = counts @ line / max(counts.sum(), 1e-9)
        covariance = np.sum([likely * np.linalg.inv(fit.gram) for likely, fit in fits], axis=0)
        of_items = np.sum([likely * fit.of_line(line, counts) for likely, fit in fits], axis=0)
        slopes = np.diag(covariance)[2:]
        return cls(of_items, float(middle @ covariance @ middle), float(slopes.mean()) if len(slopes) else 0.0)


def _likely_fits(
    counts: Doubles,
    sums: Doubles,
    deviation: Doubles | float,
    weight: float,
    features: Floats,
    width: float,
    count_deviation: Doubles | float,
    damping: float | None,
) -> tuple[Doubles, list[tuple[float, "_Line"]]]:
    """The f above, and the regressions on it with their posterior probabilities."""
    popularity = np.log((counts + CONSTANTS.count_smoothing * count_deviation) / weight + 1)
    popularity = (popularity - popularity @ counts / max(counts.sum(), 1e-9)) / 2
    line = np.concatenate([np.ones((len(counts), 1)), popularity[:, None], features], axis=1)
    prior = np.r_[CONSTANTS.level_spread, np.full(line.shape[1] - 1, CONSTANTS.slope_spread)] * width
    fits, deviances = [], []
    for residual_deviation in CONSTANTS.residual_deviations if damping != 0 else (0.0,):
        error_variance = (residual_deviation * width) ** 2 * weight * counts + deviation**2 + 1e-12
        lines = _Line.of_each(line, counts, sums, np.array(CONSTANTS.spreads) * width, error_variance, prior)
        for fit, deviance in lines:
            fits.append(fit)
            deviances.append(deviance + _prior_deviance(residual_deviation, fit.spread / width, damping))
    likely = np.exp(-0.5 * (np.array(deviances) - min(deviances)))
    likely /= likely.sum()
    kept = likely >= CONSTANTS.unlikely
    likely = np.where(kept, likely, 0.0) / likely[kept].sum()
    return line, [(float(one), fit) for one, fit in zip(likely, fits, strict=True) if one > 0]


def _prior_deviance(residual_deviation: float, spread: float, damping: float | None) -> float:
    """−2 log prior of σ and t, up to a constant."""
    if residual_deviation == 0:
        return 0.0
    of_residuals = math.log(residual_deviation / CONSTANTS.residual_deviation) / CONSTANTS.of_its_logarithm
    if damping is None:
        return of_residuals**2 + (math.log(spread / CONSTANTS.likely_spread) / CONSTANTS.of_log_spread) ** 2
    return of_residuals**2 + (math.log(residual_deviation**2 / spread**2 / damping) / CONSTANTS.of_log_damping) ** 2


@dataclass(frozen=True, eq=False)
class _Line:
    """The ridge regression of biases on the line, for one t and one σ."""

    spread: float
    error_variance: Doubles
    gram: Doubles
    beta: Doubles

    @classmethod
    def of_each(
        cls, line: Doubles, counts: Doubles, sums: Doubles, spreads: Doubles, error_variance: Doubles, prior: Doubles
    ) -> list[tuple["_Line", float]]:
        """For one σ and each t, with its deviance."""
        variances = counts**2 * spreads[:, None] ** 2 + error_variance
        weights = counts / variances
        penalty = np.diag(1 / prior**2)
        with one_blas_thread() if line.size < FEW_CELLS else nullcontext():
            grams = np.stack([(line.T * row) @ line + penalty for row in weights * counts])
        moments = (weights * sums) @ line
        betas = np.linalg.solve(grams, moments[:, :, None])[:, :, 0]
        deviances = (sums**2 / variances + np.log(variances)).sum(axis=1) - (moments * betas).sum(axis=1)
        deviances += np.linalg.slogdet(grams)[1]
        found = zip(spreads, grams, betas, deviances, strict=True)
        return [(cls(float(t), error_variance, gram, beta), float(one)) for t, gram, beta, one in found]

    def posterior(self, line: Doubles, counts: Doubles, sums: Doubles) -> tuple[Doubles, Doubles]:
        """Means and variances of the biases."""
        variance = counts**2 * self.spread**2 + self.error_variance
        expected, own = line @ self.beta, self.spread**2 * counts / variance
        left = self.spread**2 * self.error_variance / variance + self.of_line(line, counts)
        return expected + own * (sums - counts * expected), left

    def of_line(self, line: Doubles, counts: Doubles) -> Doubles:
        """The part of these variances that is about β."""
        of_line = np.einsum("ij,ji->i", line, np.linalg.solve(self.gram, line.T))
        return np.asarray((self.error_variance / (counts**2 * self.spread**2 + self.error_variance)) ** 2 * of_line)


# ── Averages ──

TINY = 1e-9
"""Keeps divisions possible where nothing was counted."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Of every item: expected rating, its posterior variance (that of factors included), and count."""

    base: Floats
    unknown: Doubles
    counts: Doubles
    listed: Indices

    @property
    def share(self) -> Doubles:
        """Of all ratings."""
        return np.asarray(self.counts / max(float(self.counts.sum()), TINY))

    def followed(self, spread: float) -> Doubles:
        """h / (1 − h), h how far the expectation of each item follows one of its ratings: (1 − v/t²)/n.

        v is what is not known of it, and t² the variance of items, at least ``spread``.
        """
        known = 1 - self.unknown / max(spread, float(self.unknown.max(initial=0.0)))
        h = np.clip(known / np.maximum(self.counts, 1), 0, 0.5)
        return np.asarray(h / (1 - h))

    def at_home(
        self, features: AnyArray, factors: AnyArray, width: float, scales: Floats | None = None
    ) -> UserRegression:
        """Users' own regressions, with priors of these scales."""
        return covariates(self.base, self.unknown, self.counts, features, factors, width, scales)

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """What a release has of them."""
        mean = float(self.base @ self.counts / max(self.counts.sum(), TINY))
        return {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": (self.base - mean).astype(np.float32),
            "unknown": self.unknown.astype(np.float32),
            "counts": self.counts.astype(np.float32),
        }


def covariates(
    base: AnyArray,
    unknown: AnyArray,
    counts: AnyArray,
    features: AnyArray,
    factors: AnyArray,
    width: float,
    scales: Floats | None = None,
) -> UserRegression:
    """What users' own regressions need, the item factors last."""
    return UserRegression.of(
        np.asarray(base, dtype=np.float32),
        np.asarray(unknown, dtype=np.float32),
        np.asarray(counts, dtype=np.float32),
        np.asarray(features, dtype=np.float32),
        np.asarray(factors, dtype=np.float32),
        width,
        scales,
    )
