"""How often each item was rated and how well, as one bounded sum over users; and what stands behind its noise.

With y_ui = (r_ui − base_i) in half widths of the scale, cut to ±1, and a constant c, a user adds over the rated items

    w_u (1, c y_ui)

    unit rating, or no privacy    w_u = 1                        one rating moves it by 1 + c in L1, √(1 + c²) in L2
    unit user, Gaussian noise     w_u = 1/√Σ_i (1 + c² y_ui²)    everyone's vector has length 1 (or 0) in L2
    unit user, Laplace noise      w_u = 1/Σ_i (1 + c |y_ui|)     everyone's vector has length 1 (or 0) in L1

The bounds are immediate: entries of different items are different cells, and base and c are public. A rating of another
value moves one sum by at most 2c, and no count.

**Behind the noise**, of known deviations s on counts and s' on sums (in points of the scale), by empirical Bayes, from
noisy values and public constants alone:

    count n_i    y = n_i + noise; counts spread over the items as a mixture that is found from the noisy counts
                 themselves (nonparametric maximum likelihood, a few steps of expectation maximisation on a grid);
                 n_i is the mean of what y leaves possible
    bias b_i     sum_i = n_i b_i + chance + noise, with variance v_i = σ² n_i w + s'²   (w what a rating weighs), and
                 b_i = f_iᵀβ + t z_i,   z_i standard normal, f_i = (1, log n_i, public features):
                 β by generalised ridge, t the likeliest of a grid; then
                 b_i = f_iᵀβ + t² n_i (sum_i − n_i f_iᵀβ) / (t² n_i² + v_i),  with what remains unknown
                 t² v_i / (t² n_i² + v_i)
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.lattice import most_on_lattice, on_lattice
from discreet.privacy.unit import Bound
from discreet.types import Doubles, Floats

Scaling = Literal["rating", "user, l2", "user, l1"]

EXPECTED = 0.625
"""What is expected of a rating before anything is known, in widths of the scale from its low end: people choose what
they rate."""
SUMS_BESIDE = 1.5
"""The c above."""
TYPICAL_WEIGHT = 0.1
"""What a rating of a user with some 60 ratings weighs where users are scaled."""

RESIDUAL_DEVIATION = 0.235
"""How far a rating strays from what is expected of its item, in widths of the scale."""
SPREADS = np.geomspace(0.02, 0.3, 25)
"""The grid of t, in widths of the scale."""
MEAN_SPREAD, LINE_SPREAD = 0.2, 0.05
"""How large the coefficients of the line are expected, its level and the others, in widths of the scale."""
CLEAR, STEPS = 12.0, 60
GRID = np.concatenate([[0.0], np.geomspace(0.02, 1, 16), np.arange(1.25, CLEAR + 3, 0.25)])
"""Where counts may lie, in deviations of their noise, and how often the mixture is improved."""


@dataclass(frozen=True, eq=False)
class ItemSums:
    """What is asked for.

    Parameters
    ----------
    base
        The expected rating of every item. Public.
    scale
        The declared scale.
    relative_weight
        The c above: how finely sums are told beside counts.
    scaling
        How users are weighted.
    """

    base: Floats
    scale: Scale
    relative_weight: float
    scaling: Scaling

    @classmethod
    def of(cls, catalogue: Catalogue, scaling: Scaling) -> "ItemSums":
        """About what is expected before anything is known."""
        base = np.full(len(catalogue), expected_rating(catalogue.scale), dtype=np.float32)
        return cls(base, catalogue.scale, SUMS_BESIDE, scaling)

    @property
    def typical_weight(self) -> float:
        """What a rating weighs, about."""
        return 1.0 if self.scaling == "rating" else TYPICAL_WEIGHT

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population."""
        c = self.relative_weight
        bounds: tuple[Bound, ...] = (Bound("user", "l2" if self.scaling == "user, l2" else "l1", 1.0),)
        if self.scaling == "rating":
            bounds = (
                Bound("rating", "l1", 1 + c, cells=2, replace=2 * c),
                Bound("rating", "l2", math.sqrt(1 + c**2), cells=2, replace=2 * c),
            )
        name = "how often each item was rated, and its ratings' sum"
        return Contribution(name, (2, len(self.base)), self._total, bounds, most_users=most_on_lattice(max(1.0, c)))

    @property
    def points(self) -> float:
        """What one unit of a sum is in points of the scale."""
        return self.scale.width / 2 / self.relative_weight

    def _total(self, ratings: Ratings) -> Doubles:
        residuals = (ratings.values.astype(np.float64) - self.base[ratings.item_index]) / (self.scale.width / 2)
        residuals = self.relative_weight * np.clip(residuals, -1, 1)
        weights = np.ones(len(ratings))
        if self.scaling != "rating":
            size = 1 + (residuals**2 if self.scaling == "user, l2" else np.abs(residuals))
            length = np.bincount(ratings.user_index, weights=size, minlength=ratings.n_users)
            if self.scaling == "user, l2":
                length = np.sqrt(length)
            weights = (1 / np.maximum(length, 1))[ratings.user_index]
        rows = [on_lattice(weights), on_lattice(weights * residuals)]
        return np.stack([np.bincount(ratings.item_index, weights=row, minlength=len(self.base)) for row in rows])


def expected_rating(scale: Scale) -> float:
    """Of an item of which nothing is known.

    >>> expected_rating(Scale(1, 5))
    3.5
    """
    return scale.low + EXPECTED * scale.width


def posterior_counts(noisy: Doubles, deviation: float) -> Doubles:
    """The counts behind noise: never negative, and pulled to where counts are.

    >>> posterior_counts(np.array([-3.0, 0.0, 50.0]), 0.0).tolist()
    [0.0, 0.0, 50.0]
    """
    if deviation == 0:
        return np.maximum(noisy, 0.0)
    counts = np.array(noisy, dtype=np.float64)
    low = noisy < CLEAR * deviation  # above, noise is a small part of a count, which stands as it is
    if low.any():
        grid = GRID * deviation
        likelihood = np.exp(-0.5 * ((noisy[low, None] - grid) / deviation) ** 2) + 1e-300
        prior = np.full(len(grid), 1 / len(grid))
        for _ in range(STEPS):
            behind = likelihood * prior
            prior = (behind / behind.sum(axis=1, keepdims=True)).mean(axis=0)
        behind = likelihood * prior
        counts[low] = (behind @ grid) / behind.sum(axis=1)
    return counts


def posterior_biases(
    counts: Doubles, sums: Doubles, deviation: float, weight: float, features: Floats, width: float
) -> tuple[Doubles, Doubles]:
    """The biases behind noisy sums about one base, and the variance of what remains unknown of each.

    Parameters
    ----------
    counts, sums
        The counts as far as they are known, and the noisy sums, in points of the scale.
    deviation
        Of the noise on the sums.
    weight
        What a rating weighs in counts and sums.
    features
        The public features of the items.
    width
        Of the scale.
    """
    residual_variance = (RESIDUAL_DEVIATION * width) ** 2 * weight * counts + deviation**2 + 1e-12
    popularity = np.log(counts / weight + 1)
    popularity = (popularity - popularity @ counts / max(counts.sum(), 1e-9)) / 2
    line = np.concatenate([np.ones((len(counts), 1)), popularity[:, None], features], axis=1)
    spreads = np.r_[MEAN_SPREAD, np.full(line.shape[1] - 1, LINE_SPREAD)] * width
    penalty = np.diag(1 / spreads**2)
    best: tuple[float, Doubles, float] | None = None
    for spread in SPREADS * width:
        variance = counts**2 * spread**2 + residual_variance
        rows = line * (counts / np.sqrt(variance))[:, None]
        target = sums / np.sqrt(variance)
        gram = rows.T @ rows + penalty
        moment = rows.T @ target
        beta = np.linalg.solve(gram, moment)
        surprise = float(target @ target - moment @ beta + np.log(variance).sum() + np.linalg.slogdet(gram)[1])
        if best is None or surprise < best[0]:
            best = surprise, beta, float(spread)
    assert best is not None
    _, beta, spread = best
    expected = line @ beta
    precision = spread**2 * counts**2 + residual_variance
    biases = expected + spread**2 * counts * (sums - counts * expected) / precision
    return np.asarray(biases), np.asarray(spread**2 * residual_variance / precision)
