"""Factors of who rates what, from noisy co-occurrence counts: post-processing, so it costs no privacy.

**Model.** Item i has popularity p_i. A user who rates n items rates n (p + T z_u) of them in expectation, with
z_u ~ N(0, I). The co-occurrence counts W_ij = Σ_u w_u over the users who rated both items are then, off the diagonal,
a multiple of p pᵀ + T Tᵀ, plus sampling error and noise.

**Estimate.** Rows and columns are scaled by D_i = (n_i / mean count + ½ + ν)^−0.2, so that the most rated items do not
dominate. ν is the noise variance over the sampling variance: the more noise, the flatter D. Then

    D W D  ≈  Σ_k θ_k v_k v_kᵀ                   eigenvalues above the spectral threshold, shrunk
    T_ik   =  v_ik √(ξ_k / θ_1) / D_i            ξ_k = θ_k (1 − (threshold / 2θ_k)²): θ_k times the squared cosine of
                                                 v_k and its signal

(:mod:`~discreet.models.denoise.spectral` has the threshold, :mod:`~discreet.models.home.item_scales` D). The diagonal
counts everyone who rated an item, whatever else they rated, so it is replaced by the low-rank estimate, a few times.

**Weak patterns.** If anything but popularity stands out, the eigenvectors that follow are added as long as at least 5%
of their eigenvalue is signal on average, with ξ_k as in :mod:`~discreet.models.denoise.spectral`; that ξ_k is also used
for what stands out, if it is larger. Where there is little noise these are many, as who rates what has more patterns
than those that stand out; with much noise there are none.

**Counts.** The first eigenvector is popularity itself. With noise it is known better from W than from the noisy counts,
so the counts of the listed items become the inverse-variance weighted mean of both.
"""

from dataclasses import dataclass

import numpy as np

from discreet.models.denoise.spectral import (
    THRESHOLD_MARGIN,
    above_threshold,
    eigenvectors_of,
    signal_of,
    simulated_threshold,
    spectrum,
)
from discreet.models.home.item_scales import item_scales
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported."""

    diagonal_fills: int = 3
    """How often the diagonal is estimated from the factors: more changes nothing."""
    popularity_deviation: float = 0.15
    """How far the first eigenvector may lie from popularity, relative to it."""
    fills_by: int = 64
    """By how many factors at first; where more stand out, once more by all."""
    least_signal: float = 0.05
    """The least ξ_k of a weak pattern, in eigenvalues: chosen on splits of both with the seeds 501 to 503."""


CONSTANTS = _Constants()


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
