"""Bias: how much an item is liked, and how generous a user is.

    expected rating of item i by user u  =  mean + b_i + b_u

    b_i = Σ_u w_u (r_ui − mean) / (Σ_u w_u + damping_i)          released
    b_u = Σ_i (r_ui − mean − b_i) / (n_u + user_damping)         computed at home

The release is one sum over users, of (w_u, c w_u x_ui) over the items that u rated, where x_ui is the rating about
the middle of the scale, in half widths. Without privacy and with the unit rating w_u = 1. With the unit user w_u
scales each user's whole vector to length 1, so that nobody moves the sum by more than 1, however much they rated.

Noise of a known deviation s then stands in the way twice, and empirical Bayes answers both:

    weight_i   given its noisy value y ~ N(weight_i, s²), and weights spread exponentially over the items:
               the mean of a normal about y − s²/mean weight, cut off at 0
    b_i        given its noisy sum, and biases that spread by t about a line in log weight (popular items are
               liked more):  line_i + (sum_i − weight_i line_i) / (weight_i + damping + s_sum² / (weight_i t²))
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.errors import require_number
from discreet.models.fitting import check_population
from discreet.models.release import Release
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.bounding import centre
from discreet.privacy.unit import Bound, Unit
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

SUM_WEIGHT = 1.5
"""The c above: how finely sums are released beside counts."""
BIAS_DEVIATION = 0.1
"""The t above, in widths of the scale: 0.4 stars of 1 to 5."""
TYPICAL_USER_WEIGHT = 0.1
"""What a rating of a user with some 60 ratings weighs, to bring damping to the scale of weighted counts."""
# These are public constants, chosen on a sample of MovieLens 1M; ratings of the data at hand never touch them.


@dataclass(frozen=True, kw_only=True)
class Bias:
    """Item and user biases, damped. The baseline that every other model must beat.

    Parameters
    ----------
    item_damping, user_damping
        Ratings at the mean that every item and every user is imagined to have had.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Bias().fit(dc.NoPrivacy(ratings))
    >>> sorted(release.arrays)
    ['item_bias', 'mean']
    """

    item_damping: float = 5.0
    user_damping: float = 5.0

    def __post_init__(self) -> None:
        require_number("item_damping", self.item_damping, least=0)
        require_number("user_damping", self.user_damping, least=0)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for counts and sums, and release the mean and the item biases."""
        check_population(self, population)
        mean, item_bias = item_biases(population, self.item_damping)
        arrays: dict[str, AnyArray] = {"mean": np.array([mean], dtype=np.float32), "item_bias": item_bias}
        return Release.of(self, population, arrays)

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Mean plus item bias plus the user's own bias."""
        mean, item_bias = release.arrays["mean"][0], release.arrays["item_bias"]
        own = user_biases(histories, mean + item_bias, self.user_damping)
        return np.asarray(mean + item_bias[items] + own[users], dtype=np.float32)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """Predicted ratings: the same order for every user."""
        base = release.arrays["mean"][0] + release.arrays["item_bias"]
        own = user_biases(histories, base, self.user_damping)
        return np.asarray(base[None, :] + own[:, None], dtype=np.float32)


def on_lattice(values: Doubles) -> Doubles:
    """Values rounded towards 0 to multiples of 2**-30, so that sums of them are exact in doubles.

    Rounding towards 0 makes no entry larger, so every bound that held before holds after it; and sums that are exact
    do not depend on their order, so neighbours differ by what they contribute and by no rounding error.
    """
    return np.asarray(np.trunc(values * 2.0**30) * 2.0**-30)


def most_on_lattice(largest: float) -> int:
    """Over how many users sums of such values are exact, if none is larger: doubles hold multiples of 2**-30 to 2**23.

    >>> most_on_lattice(1.0) == 2**23
    True
    """
    return int(2.0**23 / largest)


def item_counts(catalogue_size: int, unit: Unit | None = None) -> Contribution:
    """How many users rated each item; with the unit user each counts with weight 1/√n for n ratings.

    Adding or removing a rating moves one count by 1. Adding or removing a user moves n counts by 1/√n each,
    which has length 1. Two users' vectors have no negative entry, so ‖a − b‖² ≤ ‖a‖² + ‖b‖² ≤ 2 where one replaces the
    other.
    """

    def total(ratings: Ratings) -> AnyArray:
        if unit is None or unit.name == "rating":
            return np.bincount(ratings.item_index, minlength=catalogue_size)
        weights = on_lattice(1 / np.sqrt(np.maximum(np.diff(ratings.indptr), 1)))
        return np.bincount(ratings.item_index, weights=weights[ratings.user_index], minlength=catalogue_size)

    bounds: tuple[Bound, ...] = (Bound("rating", "l1", 1.0, cells=1), Bound("rating", "l2", 1.0, cells=1))
    if unit is not None and unit.name == "user":
        bounds = (Bound("user", "l2", 1.0, replace=math.sqrt(2)),)
    most = most_on_lattice(1.0)
    return Contribution("how often each item was rated", (catalogue_size,), total, bounds, most_users=most)


def item_statistics(catalogue_size: int, scale: Scale, unit: Unit | None = None) -> Contribution:
    """Two rows: how often each item was rated, and c times the sum of its ratings about the middle of the scale.

    Ratings count in half widths of the scale, so each lies within ±1. Adding or removing one moves one entry
    of the first row by 1 and one of the second by at most c: L1 1 + c, L2 √(1 + c²). With the unit user
    everyone's entries are divided by their length √Σ(1 + c² x²), so a user moves the rows by at most 1 in L2.

    Where one replaces another: a changed rating moves the second row by at most 2c. Of two users' vectors a and b, the
    parts (1, cx) and (1, cy) of an item that both rated stand at an angle of at most 2 arctan c, whose cosine is
    (1 − c²)/(1 + c²) < 0, so a·b ≥ Σ_i |a_i| |b_i| (1 − c²)/(1 + c²) ≥ (1 − c²)/(1 + c²), and
    ‖a − b‖² ≤ 2 − 2 (1 − c²)/(1 + c²) = 4c²/(1 + c²). (Rounding to multiples of 2⁻³⁰ turns these angles by so little
    that up to 2²⁰ items stay within ``FLOAT_MARGIN`` of the populations.)
    """

    def total(ratings: Ratings) -> AnyArray:
        centred = SUM_WEIGHT * centre(ratings.values, scale.low, scale.high)
        weights = np.ones(len(ratings))
        if unit is not None and unit.name == "user":
            squares = np.bincount(ratings.user_index, weights=1 + centred**2, minlength=ratings.n_users)
            weights = (1 / np.sqrt(np.maximum(squares, 1)))[ratings.user_index]
        rows = [on_lattice(weights), on_lattice(weights * centred)]
        return np.stack([np.bincount(ratings.item_index, weights=row, minlength=catalogue_size) for row in rows])

    bounds: tuple[Bound, ...] = (
        Bound("rating", "l1", 1 + SUM_WEIGHT, cells=2, replace=2 * SUM_WEIGHT),
        Bound("rating", "l2", (1 + SUM_WEIGHT**2) ** 0.5, cells=2, replace=2 * SUM_WEIGHT),
    )
    if unit is not None and unit.name == "user":
        bounds = (Bound("user", "l2", 1.0, replace=2 * SUM_WEIGHT / math.sqrt(1 + SUM_WEIGHT**2)),)
    name, most = "how often each item was rated, and its ratings' sum", most_on_lattice(SUM_WEIGHT)
    return Contribution(name, (2, catalogue_size), total, bounds, most_users=most)


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
    mean = scale.middle + _mean_through_noise(weights.sum(), sums.sum(), np.sqrt(sums.size) * noise * stars, scale)
    centred = sums - weights * (mean - scale.middle)
    if population.unit is not None and population.unit.name == "user":
        damping *= TYPICAL_USER_WEIGHT
    if noise == 0:
        bias = np.divide(centred, weights + damping, out=np.zeros_like(weights), where=weights + damping > 0)
    else:
        bias = _biases_through_noise(weights, centred, damping, noise, noise * stars, BIAS_DEVIATION * scale.width)
    return mean, bias.astype(np.float32), weights


def _mean_through_noise(weight: float, total: float, total_noise: float, scale: Scale) -> float:
    """How far the mean rating lies from the middle of the scale, where it is expected to within a quarter width."""
    if weight <= 0:
        return 0.0
    shrunk = total / (weight + total_noise**2 / (weight * (scale.width / 4) ** 2))
    return float(np.clip(shrunk, -scale.width / 2, scale.width / 2))


def _biases_through_noise(
    weights: Doubles, centred: Doubles, damping: float, weight_noise: float, sum_noise: float, spread: float
) -> Doubles:
    """Empirical Bayes, from noisy values and public constants alone."""
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


def user_biases(histories: Ratings, base: AnyArray, damping: float) -> Floats:
    """At home: how far a user's ratings lie above ``base`` (expected rating of every item), damped."""
    residuals = histories.values - base[histories.item_index]
    sums = np.bincount(histories.user_index, weights=residuals, minlength=histories.n_users)
    weights = np.diff(histories.indptr) + damping
    return np.divide(sums, weights, out=np.zeros(histories.n_users), where=weights > 0).astype(np.float32)
