"""Item counts and biases from noisy counts and sums, by empirical Bayes: post-processing, so it costs no privacy.

The noise has known standard deviations, s on counts and s' on sums (in points of the scale). Everything is estimated
from the noisy values and public constants.

    count n_i    y_i = n_i + noise. The prior of counts is a mixture on a grid, estimated from all y by nonparametric
                 maximum likelihood (some steps of expectation maximisation); n_i is the posterior mean given y_i.
    bias b_i     sum_i = n_i b_i + error + noise, of variance v_i = σ² n_i w + s'², w the weight of a rating, and
                 b_i = f_iᵀβ + t z_i,  z_i ~ N(0, 1),  f_i = (1, log(n_i + 2s), public features).
                 β by generalised ridge regression; given t, the posterior mean is
                 b_i = f_iᵀβ + t² n_i (sum_i − n_i f_iᵀβ) / (t² n_i² + v_i),  its variance t² v_i / (t² n_i² + v_i),
                 and what is not known of β. Both are averaged over a grid of t, each weighted by its likelihood: where
                 noise hides how far items differ, the most likely t alone would take noise for differences.

Where a model has a damping, it takes the place of σ²/t². Without noise its biases are damped means,
Σ (r − mean) / (n + damping): the same form without the line.
"""

from dataclasses import dataclass

import numpy as np

from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported.

    Lengths are in widths of the scale.
    """

    residual_deviation: float = 0.235
    """The standard deviation of a rating about the expectation of its item."""
    spreads: tuple[float, ...] = tuple(np.geomspace(0.005, 0.3, 30).tolist())
    """The grid of t."""
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


def posterior_counts(noisy: Doubles, deviation: float) -> Doubles:
    """Posterior means of counts; never negative.

    >>> posterior_counts(np.array([-3.0, 0.0, 50.0]), 0.0).tolist()
    [0.0, 0.0, 50.0]
    """
    if deviation == 0:
        return np.maximum(noisy, 0.0)
    counts = np.array(noisy, dtype=np.float64)
    low = noisy < CONSTANTS.clear_count * deviation
    if low.any():
        grid = CONSTANTS.count_grid * deviation
        likelihood = np.exp(-0.5 * ((noisy[low, None] - grid) / deviation) ** 2) + 1e-300
        prior = np.full(len(grid), 1 / len(grid))
        for _ in range(CONSTANTS.mixture_steps):
            posterior = likelihood * prior
            prior = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
        posterior = likelihood * prior
        counts[low] = (posterior @ grid) / posterior.sum(axis=1)
    return counts


def posterior_biases(
    counts: Doubles,
    sums: Doubles,
    deviation: float,
    weight: float,
    features: Floats,
    width: float,
    count_deviation: float = 0.0,
    damping: float | None = None,
) -> tuple[Doubles, Doubles]:
    """Posterior means and variances of the item biases about one base.

    Parameters
    ----------
    counts, sums
        The posterior counts, and the noisy sums, in points of the scale.
    deviation
        Standard deviation of the noise on the sums.
    weight
        What a rating weighs in counts and sums.
    features
        The public features of the items.
    width
        Of the scale.
    count_deviation
        Standard deviation of the noise on the counts before they were denoised.
    damping
        σ²/t², where it is given; else σ is the constant.
    """
    popularity = np.log((counts + CONSTANTS.count_smoothing * count_deviation) / weight + 1)
    popularity = (popularity - popularity @ counts / max(counts.sum(), 1e-9)) / 2
    line = np.concatenate([np.ones((len(counts), 1)), popularity[:, None], features], axis=1)
    prior = np.r_[CONSTANTS.level_spread, np.full(line.shape[1] - 1, CONSTANTS.slope_spread)] * width
    penalty = np.diag(1 / prior**2)
    deviances, means, variances = [], [], []
    for spread in np.array(CONSTANTS.spreads) * width:
        residual_variance = (CONSTANTS.residual_deviation * width) ** 2 if damping is None else damping * spread**2
        error_variance = residual_variance * weight * counts + deviation**2 + 1e-12
        variance = counts**2 * spread**2 + error_variance
        rows = line * (counts / np.sqrt(variance))[:, None]
        target = sums / np.sqrt(variance)
        gram = rows.T @ rows + penalty
        moment = rows.T @ target
        beta = np.linalg.solve(gram, moment)
        deviances.append(float(target @ target - moment @ beta + np.log(variance).sum() + np.linalg.slogdet(gram)[1]))
        expected, own = line @ beta, spread**2 * counts / variance
        means.append(expected + own * (sums - counts * expected))
        of_line = np.einsum("ij,ji->i", line, np.linalg.solve(gram, line.T))
        variances.append(spread**2 * error_variance / variance + (1 - own * counts) ** 2 * of_line)
    likely = np.exp(-0.5 * (np.array(deviances) - min(deviances)))
    likely /= likely.sum()
    mean = likely @ np.array(means)
    return mean, likely @ (np.array(variances) + (np.array(means) - mean) ** 2)
