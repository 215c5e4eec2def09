"""The mean rating and every item's bias from noisy counts and sums: empirical Bayes (:mod:`discreet.models.bias`)."""

import numpy as np

from discreet.data.catalogue import Scale
from discreet.errors import library_for
from discreet.models.sums.item_statistics import SUM_WEIGHT, item_statistics
from discreet.populations.population import Population
from discreet.types import Doubles, Floats

BIAS_DEVIATION = 0.1
"""The t of :mod:`discreet.models.bias`, in widths of the scale: 0.4 stars of 1 to 5."""
TYPICAL_USER_WEIGHT = 0.1
"""What a rating of a user with some 60 ratings weighs, to bring damping to the scale of weighted counts."""
# These are public constants, chosen on a sample of MovieLens 1M; ratings of the data at hand never touch them.


def item_biases(population: Population, damping: float, share: float = 1.0) -> tuple[float, Floats]:
    """The mean rating, and how far each item's damped mean lies from it."""
    mean, bias, _ = item_biases_and_weights(population, damping, share)
    return mean, bias


def item_biases_and_weights(
    population: Population, damping: float, share: float = 1.0
) -> tuple[float, Floats, Doubles]:
    """The same, and how much each item was rated: its count or weighted count, with its noise."""
    scale = population.catalogue.scale
    asked = item_statistics(len(population.catalogue), scale, population.unit)
    noise = population.deviation(asked, share)
    weights, sums = population.sum(asked, share)
    stars = scale.width / 2 / SUM_WEIGHT
    sums = sums * stars
    mean = scale.middle + _shrunk_mean(weights.sum(), sums.sum(), np.sqrt(sums.size) * noise * stars, scale)
    centred = sums - weights * (mean - scale.middle)
    if population.unit is not None and population.unit.name == "user":
        damping *= TYPICAL_USER_WEIGHT
    if noise == 0:
        bias = np.divide(centred, weights + damping, out=np.zeros_like(weights), where=weights + damping > 0)
    else:
        bias = _shrunk_biases(weights, centred, damping, noise, noise * stars, BIAS_DEVIATION * scale.width)
    return mean, bias.astype(np.float32), weights


def _shrunk_mean(weight: float, total: float, total_noise: float, scale: Scale) -> float:
    """How far the mean rating lies from the middle of the scale, where it is expected to within a quarter width."""
    if weight <= 0:
        return 0.0
    shrunk = total / (weight + total_noise**2 / (weight * (scale.width / 4) ** 2))
    return float(np.clip(shrunk, -scale.width / 2, scale.width / 2))


def _shrunk_biases(
    weights: Doubles, centred: Doubles, damping: float, weight_noise: float, sum_noise: float, spread: float
) -> Doubles:
    """Empirical Bayes, from noisy values and public constants alone."""
    with library_for("biases behind noise"):
        from scipy.special import log_ndtr

    average = max(float(weights.mean()), 0.05 * weight_noise)
    shifted = (weights - weight_noise**2 / average) / weight_noise
    weights = weight_noise * (shifted + np.exp(-0.5 * shifted**2 - log_ndtr(shifted)) / np.sqrt(2 * np.pi))
    log_weight = np.log(weights + weight_noise)
    log_weight -= (log_weight * weights).sum() / weights.sum()
    # The line: weighted least squares of the sums on (weight, weight · log weight), both held near 0.
    deviation = np.sqrt((weights * spread) ** 2 + sum_noise**2)
    rows = np.stack([weights, weights * log_weight], axis=1) / deviation[:, None]
    gram = rows.T @ rows + np.diag([4.0, 4.0])
    line = np.stack([np.ones_like(weights), log_weight], axis=1) @ np.linalg.solve(gram, rows.T @ (centred / deviation))
    return np.asarray(
        line + (centred - weights * line) / (weights + damping + sum_noise**2 / (weights * spread**2)), dtype=np.float64
    )
