"""What noisy sums over pairs of items say: factors of ratings and of who rates what, which items go together.

All of it is post-processing, so it costs no privacy.

**Factors of who rates what.** Item i has popularity p_i. A user who rates n items rates n (p + T z_u) of them in
expectation, with z_u ~ N(0, I). The co-occurrence counts W_ij = Σ_u w_u over the users who rated both items are then,
off the diagonal, a multiple of p pᵀ + T Tᵀ, plus sampling error and noise.

Rows and columns are scaled by D_i = (n_i / mean count + ½ + ν)^−0.2, so that the most rated items do not
dominate. ν is the noise variance over the sampling variance: the more noise, the flatter D. Then

    D W D  ≈  Σ_k θ_k v_k v_kᵀ                   eigenvalues above the spectral threshold, shrunk
    T_ik   =  v_ik √(ξ_k / θ_1) / D_i            ξ_k = θ_k (1 − (threshold / 2θ_k)²): θ_k times the squared cosine of
                                                 v_k and its signal

(:mod:`~discreet.models.denoise.spectral` has the threshold, :mod:`~discreet.models.almanac.ranking` D). The diagonal
counts everyone who rated an item, whatever else they rated, so it is replaced by the low-rank estimate, a few times.

If anything but popularity stands out, the eigenvectors that follow are added as long as at least 5%
of their eigenvalue is signal on average, with ξ_k as in :mod:`~discreet.models.denoise.spectral`; that ξ_k is also used
for what stands out, if it is larger. Where there is little noise these are many, as who rates what has more patterns
than those that stand out; with much noise there are none.

The first eigenvector is popularity itself. With noise it is known better from W than from the noisy counts,
so the counts of the listed items become the inverse-variance weighted mean of both.

**Item-item weights**, by EASE. Taste factors T keep of W, how many rated both of two items, what stands out of the
noise. Single pairs of items that go together are lost in them. With L = T Tᵀ, scaled to W by least squares off the
diagonal,

    G     =  L + k (W − L)                  off the diagonal; most of what T leaves is noise, so k is small
    G_ii  =  what its raters weigh in W, or L_ii if that is more
    B     =  ridge weights of each item on all others   (:mod:`~discreet.kernels.weights_of_others`), with
    λ     =  125 a + 1.8 s √K               a what a rating weighs in W, s the noise on W, K the number of items

The spectral norm of k times the noise is 2 k s √K < λ, so G + λ I is positive definite unless L is far off; if it is
not, λ is doubled. Released are the largest weights of each item.

**Tastes for public features.** At home a user's tastes η for features have a prior N(0, 1/precision)
(:mod:`~discreet.models.almanac.ranking`). Where features say nothing about who rates what, any such fit is noise, and
ranks worse than popularity alone. With tastes of variance v, and z the features of items about their mean in all
ratings, two items are rated together

    W_ij  ≈  E_ij (1 + v z_i·z_j),    E_ij = α q_i q_j  with q the shares of ratings, i ≠ j

as often, to first order in v. Least squares with weights 1/E give

    v̂  =  Σ z_i·z_j (W_ij − E_ij)  /  Σ E_ij (z_i·z_j)²

whose deviation s is that of the noise on W and of the sample of users. If even v̂ + 2 s is less than a taste that
matters, the prior is tighter by as much.

**Factors of ratings** come from products of residuals (:mod:`~discreet.models.denoise.spectral`).
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError
from discreet.kernels.weights_of_others import weights_of_others
from discreet.models.almanac.ranking import item_scales
from discreet.models.denoise.spectral import (
    THRESHOLD_MARGIN,
    above_threshold,
    eigenvectors_of,
    rating_factors,
    signal_of,
    simulated_threshold,
    spectrum,
)
from discreet.models.sums.pair_sums import PairSums, weight_of_a_rating
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M, and on small data of ``benchmarks/robust.py`` with other seeds than those reported."""

    diagonal_fills: int = 3
    """How often the diagonal is estimated from the factors: more changes nothing."""
    popularity_deviation: float = 0.15
    """How far the first eigenvector may lie from popularity, relative to it."""
    fills_by: int = 64
    """By how many factors at first; where more stand out, once more by all."""
    least_signal: float = 0.05
    """The least ξ_k of a weak pattern, in eigenvalues: chosen on splits of both with the seeds 501 to 503."""
    kept_with_noise: float = 0.3
    """The k above."""
    kept: float = 0.5
    """The same without noise."""
    ridge_of_ratings: float = 125.0
    """λ, in what a rating weighs in W."""
    ridge_of_noise: float = 1.8
    """The same, in s √K."""
    width: int = 100
    """How many weights of an item are released: with half as many, half of the gain is lost where noise is small."""
    least_width: int = 16
    """The same in a very large catalogue."""
    one_in: int = 6
    """The same in a small one: a sixth of all items."""
    cells: int = 2_000_000
    """About how many weights are released of all items: 16 MB with the positions."""

    most_items: int = 8192
    """Of more items there are none: the inverse takes their square in doubles, half a GB here."""
    least_variance: float = 0.2
    """From which v on the prior is as usual: on all data with features v̂ is above, on random ones below .02."""
    deviations: float = 2.0
    """By how many deviations v may be larger than it seems."""
    tightest: float = 64.0
    """At most so many times tighter."""


CONSTANTS = _Constants()


# ── Who rates what ──


def taste_factors(
    weights: Floats, counts: AnyArray, noise: float, count_noise: float, chance: float, most: int
) -> tuple[Floats, Doubles]:
    """T above, one row per listed item and one column per factor above the threshold; and the improved counts.

    Parameters
    ----------
    weights
        The noisy W of the listed items.
    counts
        How often these were rated, in any unit.
    noise, count_noise
        Standard deviations of the noise on W off its diagonal, and on the counts.
    chance
        The sampling variance of a cell of W, divided by its mean: what one more user adds to it.
    most
        The largest number of factors, popularity included.
    """
    size = len(counts)
    known = np.maximum(np.asarray(counts, dtype=np.float64), 0)
    if not known.any():
        return np.zeros((size, 0), dtype=np.float32), known
    expected = np.outer(known, known)
    np.fill_diagonal(expected, 0)
    expected *= max(float((weights * expected).sum()) / float((expected**2).sum() or 1.0), 0.0)
    sampling_variance = max(chance, 0.0) * float(expected.mean())
    scales = item_scales(known, noise**2 / max(sampling_variance, 1e-12))
    matrix = (weights * np.outer(scales, scales)).astype(np.float32)
    deviations = np.outer(scales, scales) * np.sqrt(noise**2 + max(chance, 0.0) * expected)
    noise_alone = simulated_threshold(deviations.astype(np.float32))
    threshold = THRESHOLD_MARGIN * noise_alone
    np.fill_diagonal(matrix, 0)
    few = min(most, CONSTANTS.fills_by)
    values, vectors = above_threshold(matrix, few, threshold)
    for _ in range(CONSTANTS.diagonal_fills):
        np.fill_diagonal(matrix, (vectors**2 @ values).astype(np.float32))
        values, vectors = above_threshold(matrix, few, threshold)
    if len(values) == 0:
        return np.zeros((size, 0), dtype=np.float32), known
    if few == len(values) < most:
        values, vectors = above_threshold(matrix, _count(matrix, threshold, most), threshold)
        np.fill_diagonal(matrix, (vectors**2 @ values).astype(np.float32))
        values, vectors = above_threshold(matrix, _count(matrix, threshold, most), threshold)
    signal = values * (1 - (threshold / (2 * values)) ** 2)
    if 1 < len(values) < most:
        signal, vectors = _with_weak(matrix, signal, vectors, noise_alone, most)
    factors = vectors * np.sqrt(signal / values[0]) / scales[:, None]
    first = np.abs(vectors[:, 0]) / scales
    predicted = first * float(known @ first) / float(first @ first)
    if noise > 0 and count_noise > 0:
        error = (predicted @ first / (first @ first)) * noise * float(np.sqrt((scales**2).mean())) / values[0]
        variance = error**2 + (CONSTANTS.popularity_deviation * predicted) ** 2
        known = (known * variance + predicted * count_noise**2) / (variance + count_noise**2)
    return factors.astype(np.float32), known


def _count(matrix: Floats, threshold: float, most: int) -> int:
    return min(int((spectrum(matrix) > threshold).sum()), most)


def _with_weak(
    matrix: Floats, signal: Doubles, vectors: Doubles, noise_alone: float, most: int
) -> tuple[Doubles, Doubles]:
    """ξ and v of what stands out, and of the patterns after it with at least ``least_signal`` of their eigenvalue."""
    values, strong = spectrum(matrix), len(signal)
    all_signal = signal_of(values, noise_alone, most)
    kept = all_signal >= CONSTANTS.least_signal * values[: len(all_signal)]
    kept[:strong] = True
    count = int(np.argmin(np.append(kept, False)))
    all_signal[:strong] = np.maximum(all_signal[:strong], signal)
    return all_signal[:count], vectors if count == strong else eigenvectors_of(matrix, count)


# ── Item-item weights ──


def released_width(size: int) -> int:
    """How many weights of an item are released, of a catalogue with so many items.

    >>> [released_width(size) for size in (10, 1_000, 40_000, 10**6)]
    [1, 100, 50, 16]
    """
    return min(max(CONSTANTS.cells // size, CONSTANTS.least_width), CONSTANTS.width, size // CONSTANTS.one_in)


def item_weights(
    weights: Floats, tastes: Floats, counts: Doubles, noise: float, weight_of_a_rating: float, width: int
) -> tuple[Indices, Floats]:
    """For each listed item the positions of the listed items that weigh most for it, and their weights: items by width.

    Parameters
    ----------
    weights
        The noisy W of the listed items.
    tastes
        Their taste factors. Without a pattern beside popularity all weights are 0.
    counts
        How often they were rated, in the unit in which a rating weighs ``weight_of_a_rating`` in W.
    noise
        The standard deviation of the noise on W off its diagonal.
    weight_of_a_rating
        The a above.
    width
        How many for each.
    """
    size = len(counts)
    if tastes.shape[1] < 2 or width < 1 or weight_of_a_rating <= 0 or size > CONSTANTS.most_items:
        return np.zeros((size, width), dtype=np.int32), np.zeros((size, width), dtype=np.float32)
    explained = tastes.astype(np.float64) @ tastes.T.astype(np.float64)
    diagonal = np.diag(explained).copy()
    np.fill_diagonal(explained, 0)
    scale = max(float(np.vdot(explained, weights)) / (float(np.vdot(explained, explained)) or 1.0), 0.0)
    kept = CONSTANTS.kept_with_noise if noise > 0 else CONSTANTS.kept
    gram = (1 - kept) * scale * explained + kept * weights
    np.fill_diagonal(gram, np.maximum(counts * weight_of_a_rating, scale * diagonal))
    ridge = CONSTANTS.ridge_of_ratings * weight_of_a_rating + CONSTANTS.ridge_of_noise * noise * np.sqrt(size)
    return _largest(_weights(gram, ridge), width)


def _weights(gram: Doubles, ridge: float) -> Floats:
    while True:
        try:
            return weights_of_others(gram, ridge)
        except InputError:  # not positive definite
            ridge *= 2


def _largest(weights: Floats, width: int) -> tuple[Indices, Floats]:
    """Of each column the rows with the largest absolute values, in the order of the rows."""
    by_item = np.ascontiguousarray(weights.T)
    chosen: AnyArray = np.argpartition(-np.abs(by_item), width - 1, axis=1)[:, :width]
    chosen = np.sort(chosen, axis=1).astype(np.int32)
    return chosen, np.take_along_axis(by_item, chosen, axis=1)


# ── Tastes for public features ──


def tighter_prior(weights: AnyArray, noise: float, added: float, counts: Doubles, features: Floats) -> float:
    """How many times tighter the prior of tastes for features is than usual; 1 where nothing speaks against them.

    Parameters
    ----------
    weights, noise
        W, symmetric, and the deviation of the noise off its diagonal.
    added
        What one user adds to a pair, about.
    counts, features
        Of the same items.

    >>> rng = np.random.default_rng(1)
    >>> features, q = rng.normal(size=(100, 3)).astype(np.float32), np.full(100, 50.0)
    >>> alike = 50 * np.exp(0.5 * features @ features.T)
    >>> tighter_prior(alike, 1.0, 1.0, q, features), tighter_prior(np.full((100, 100), 50.0), 1.0, 1.0, q, features) > 9
    (1.0, True)
    """
    shares = np.maximum(counts, 0) / max(float(np.maximum(counts, 0).sum()), 1e-9)
    z = features.astype(np.float64) - shares @ features
    lengths = np.square(z).sum(axis=1)
    own = np.diagonal(weights).astype(np.float64)
    together = float(weights.sum(dtype=np.float64) - own.sum()) / max(1 - float(shares @ shares), 1e-9)
    told = float(np.sum(z * (weights @ z))) - float(own @ lengths)
    expected = -together * float(np.square(shares) @ lengths)
    of_variance = together * (_squared(z * np.sqrt(shares)[:, None]) - float(np.square(shares * lengths).sum()))
    if not of_variance > 0:
        return 1.0
    of_noise = max(_squared(z) - float(np.square(lengths).sum()), 0.0)
    deviation = math.sqrt(2 * (noise**2 * of_noise + added * of_variance)) / of_variance
    likely = max((told - expected) / of_variance, 0.0) + CONSTANTS.deviations * deviation
    return float(np.clip(CONSTANTS.least_variance / max(likely, 1e-9), 1.0, CONSTANTS.tightest))


def _squared(rows: Doubles) -> float:
    """Σ (x_i·x_j)² over all pairs of rows, i = j among them."""
    return float(np.square(rows.T @ rows).sum())


# ── All of it together ──

USUAL_WIDTH = 64
"""How many columns taste factors have in a release, whatever was found, unless more were."""


@dataclass(frozen=True, eq=False)
class PairFactors:
    """Of the listed items, a row each: factors of ratings in points of the scale, taste factors, and counts.

    ``neighbours`` are the items that weigh most for each of them, by their positions in the catalogue. ``tighter``
    is how much tighter than usual tastes for features are held (:mod:`~discreet.models.almanac.pairs`).
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
