"""What noisy sums over pairs of items say: factors of ratings and of who rates what, which items go together."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.models.denoise.co_occurrence import taste_factors
from discreet.models.denoise.feature_tastes import tighter_prior
from discreet.models.denoise.item_weights import item_weights, released_width
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.sums.pair_sums import PairSums, weight_of_a_rating
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M, and on splits of MovieLens 100K, FilmTrust and the 100 most rated items of MovieLens 1M
    with other seeds than those reported."""

    sampling_variance: float = 1.0
    """The v of :mod:`~discreet.models.denoise.spectral`, in weights of a rating, where there is no noise."""
    sampling_variance_with_noise: float = 1.5
    """The same with noise: the weights are known less well, so more shrinkage pays."""
    imagined_users: float = 20.0
    """Users of every pair whose products are chance alone: they keep factors from resting on pairs that few rated."""
    factor_spread: float = 0.1
    """The t of :mod:`~discreet.models.denoise.spectral`, in units of the clip."""
    weight_factors: int = 6
    """How many factors W is denoised with, for the products."""


CONSTANTS = _Constants()
USUAL_WIDTH = 64
"""How many columns taste factors have in a release, whatever was found, unless more were."""


@dataclass(frozen=True, eq=False)
class PairFactors:
    """Of the listed items, a row each: factors of ratings in points of the scale, taste factors, and counts.

    ``neighbours`` are the items that weigh most for each of them, by their positions in the catalogue. ``tighter``
    is how much tighter than usual tastes for features are held (:mod:`~discreet.models.denoise.feature_tastes`).
    """

    factors: Floats
    tastes: Floats
    counts: Doubles
    neighbours: Indices
    neighbour_weights: Floats
    tighter: float = 1.0

    @classmethod
    def nothing(cls) -> "PairFactors":
        """Where no pairs were asked for."""
        none = np.zeros((0, 0), dtype=np.float32)
        return cls(none, none, np.zeros(0), none.astype(np.int32), none)

    @classmethod
    def of(
        cls,
        pairs: PairSums,
        answer: AnyArray,
        deviation: float,
        counts: Doubles,
        count_noise: float,
        *,
        most: int,
        most_tastes: int,
        features: Floats | None = None,
    ) -> "PairFactors":
        """From a noisy answer, the deviation of its noise, and the counts of the listed items with theirs.

        ``features`` are the public ones of all items.
        """
        _, weights = pairs.matrices(answer)
        _, weight_noise = pairs.deviations(deviation)
        added = weight_of_a_rating(weights, counts, pairs.weighting)
        tastes, known = taste_factors(weights, counts, weight_noise, count_noise, added, most_tastes)
        width = min(released_width(len(pairs.base)), len(counts) - 1)
        places, of_neighbours = item_weights(weights, tastes, counts, weight_noise, added, width)
        factors = rating_factors(pairs, answer, deviation, counts, most)
        tighter = 1.0
        if features is not None and features.shape[1]:
            tighter = tighter_prior(weights, weight_noise, added, known, features[pairs.listed])
        return cls(factors, tastes, known, pairs.listed[places], of_neighbours, tighter)

    def arrays(self, size: int, rows: Indices, most: int, most_tastes: int) -> dict[str, AnyArray]:
        """What a release of ``size`` items holds, with zeros for those that are not listed.

        Every item has a row of neighbours, if only of zeros: shapes do not tell what was found.
        """
        width = released_width(size)
        neighbours, weights = np.zeros((size, width), dtype=np.int32), np.zeros((size, width), dtype=np.float32)
        own = self.neighbours.shape[1]
        if own:
            neighbours[rows, :own], weights[rows, :own] = self.neighbours, self.neighbour_weights
        return {
            "item_factors": padded(size, rows, self.factors, most),
            "taste_factors": padded(size, rows, self.tastes, most_tastes),
            "neighbours": neighbours,
            "neighbour_weights": weights,
            "feature_precision": np.array([self.tighter], dtype=np.float32),
        }


def rating_factors(pairs: PairSums, answer: AnyArray, deviation: float, counts: Doubles, most: int) -> Floats:
    """Factors of ratings alone; none where pairs are only counted."""
    if not np.isfinite(pairs.clip):
        return np.zeros((len(counts), 0), dtype=np.float32)
    products, weights = pairs.matrices(answer)
    noise, weight_noise = pairs.deviations(deviation)
    weights = denoised_weights(weights, counts, weight_noise, CONSTANTS.weight_factors)
    weight = weight_of_a_rating(weights, counts, pairs.weighting)
    variance = weight * (CONSTANTS.sampling_variance_with_noise if noise > 0 else CONSTANTS.sampling_variance)
    unclear = math.sqrt(noise**2 + CONSTANTS.imagined_users * weight * variance)
    factors = denoised_factors(products, weights, unclear, variance, CONSTANTS.factor_spread, most)
    return factors * np.float32(pairs.clip)


def padded(size: int, places: Indices, found: AnyArray, most: int) -> Floats:
    """Factors of all items, ``most`` columns of them: zeros where there are none."""
    every = np.zeros((size, most), dtype=np.float32)
    if found.shape[1]:
        every[places, : found.shape[1]] = found[:, :most]
    return every


def as_wide_as_needed(arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """The same arrays, taste factors with the usual columns, or with twice or four times as many if these are needed.

    So a release grows only where more patterns were found, and of small data its shapes tell nothing.

    >>> factors = np.zeros((2, 256), dtype=np.float32)
    >>> [as_wide_as_needed({"taste_factors": factors + (np.arange(256) < q)})["taste_factors"].shape for q in (0, 65)]
    [(2, 64), (2, 128)]
    """
    factors, width = arrays["taste_factors"], USUAL_WIDTH
    while factors[:, width:].any():
        width *= 2
    return arrays | {"taste_factors": np.ascontiguousarray(factors[:, :width])}
