"""Low-rank structure of a noisy covariance matrix: post-processing of public numbers, so it costs no privacy.

Released are two symmetric matrices, with noise of a public standard deviation s on every cell off the diagonal:

    A_ij = W_ij C_ij + noise      products of users' residuals on two items; C_ij is their covariance
    W_ij = Σ_u w_u + noise        the total weight of the users who rated both

**Spectral threshold.** The eigenvalues of a symmetric n × n matrix of such noise alone lie within ±2 s √n. Eigenvalues
below that threshold cannot be distinguished from noise and are set to 0, negative ones included, so the rest is
positive semidefinite. An eigenvalue λ above it was θ before the noise, with λ = θ + s²n/θ, so it is shrunk to θ = (λ +
√(λ² − 4s²n)) / 2. Where the noise differs from cell to cell, the threshold is that of simulated noise. If no
eigenvalue lies above the threshold, there are no factors.

**Below the threshold.** Patterns that are too weak to stand out are still there, spread over the eigenvectors just
below it. An eigenvalue is vᵀ(signal)v + vᵀ(noise)v. As v depends on the noise, the second part has the mean
2 s² Σ_j 1/(λ_k − λ_j), over all other eigenvalues (Stein's identity), so what is left for the signal is

    ξ_k  =  λ_k − 2 s² Σ_{j≠k} 1/(λ_k − λ_j)

on average, made falling in k by isotonic regression. It is 0 for noise alone, and θ − s²n/θ = θ (1 − s²n/θ²) for an
eigenvalue above the threshold: θ times the squared cosine of v and its signal.

**Weights.** How many users rated both items is nearly a multiple of n_i n_j, the product of the counts. So W is
estimated as the best multiple of n nᵀ, plus what of the remainder lies above its own threshold.

**Factors.** C ≈ L Lᵀ of low rank. The error of a cell is noise plus sampling error, which grows with W_ij, so

    minimise  Σ_{i≠j} (A_ij − W_ij L_i·L_j)² / (s² + v W_ij)  +  Σ_ik L_ik² / t_k²

row by row: with the other rows fixed, each L_i is a ridge solution, and nearly 0 for an item that hardly anyone rated.
It starts from the eigenvectors of A_ij W_ij / (s² + v W_ij) above their threshold.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import library_for
from discreet.kernels.eigenvectors import all_eigenvalues, largest_eigenpairs
from discreet.kernels.row_solves import damped_row_solves
from discreet.models.sums.pair_sums import PairSums, weight_of_a_rating
from discreet.types import AnyArray, Doubles, Floats

THRESHOLD_MARGIN = 1.05
"""The largest eigenvalue of noise varies by a few per cent from draw to draw."""
EDGE_MARGIN = 2.0
"""For ξ: the deviation of the noise is taken so many n⁻²ᐟ³ larger, the order by which that eigenvalue varies."""


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported."""

    tiny: float = 1e-6
    """Keeps a division by a variance possible where there is no noise and nobody was counted."""
    dense_size: int = 64
    """Matrices up to this size are decomposed completely."""
    sampling_share: float = 0.15
    """The part of v that is the sampling variance of a product; the rest guards against overfitting it."""
    sweeps: int = 10
    """How often all rows are solved; each time they move half way."""
    sampling_variance: float = 1.0
    """v above, in weights of a rating, where there is no noise."""
    sampling_variance_with_noise: float = 1.5
    """The same with noise: the weights are known less well, so more shrinkage pays."""
    imagined_users: float = 20.0
    """Users of every pair whose products are chance alone: they keep factors from resting on pairs that few rated."""
    factor_spread: float = 0.1
    """The smallest t above, in units of the clip."""
    weight_factors: int = 6
    """How many factors W is denoised with, for the products."""


CONSTANTS = _Constants()


def spectral_threshold(deviation: float, size: int) -> float:
    """The largest eigenvalue of a symmetric matrix of noise with this standard deviation off its diagonal.

    >>> spectral_threshold(0.5, 100)
    10.0
    """
    return float(2 * deviation * np.sqrt(size))


def above_threshold(matrix: AnyArray, most: int, threshold: float) -> tuple[Doubles, Doubles]:
    """The largest eigenvalues above the threshold, at most ``most``, shrunk; and their eigenvectors.

    >>> values, vectors = above_threshold(np.diag([5.0, 3.0, 1.0, 0.0]), 2, threshold=4.0)
    >>> values.tolist(), vectors.shape
    ([4.0], (4, 1))
    """
    values, vectors = _leading(matrix, min(most, len(matrix)))
    kept = values > threshold
    values, vectors = values[kept], vectors[:, kept]
    return (values + np.sqrt(values**2 - threshold**2)) / 2, vectors


def signal_of(values: Doubles, threshold: float, most: int) -> Doubles:
    """ξ of the largest of all eigenvalues, at most ``most`` and none below 0; ``threshold`` is that of the noise alone.

    Noise of deviation 1, and a pattern of strength 60:

    >>> noise = np.triu(np.random.default_rng(1).standard_normal((400, 400)), 1)
    >>> values = np.linalg.eigvalsh(noise + noise.T + 60 / 400)[::-1]
    >>> found = signal_of(values, spectral_threshold(1.0, 400), 50)
    >>> values[:50:10].round().tolist()
    [66.0, 35.0, 32.0, 30.0, 27.0]
    >>> found[:50:10].round().tolist()
    [52.0, -2.0, -2.0, -3.0, -3.0]
    """
    size = len(values)
    variance = ((1 + EDGE_MARGIN * size ** (-2 / 3)) * threshold / 2) ** 2 / size
    own = values[: min(most, int((values > 0).sum()))]
    apart = own[:, None] - values
    np.fill_diagonal(apart, np.inf)
    least = 0.1 * threshold / size  # two eigenvalues of noise are hardly ever nearer
    apart = np.where(apart < 0, np.minimum(apart, -least), np.maximum(apart, least))
    with library_for("eigenvectors"):
        from scipy.optimize import isotonic_regression
    left = own - 2 * variance * (1 / apart).sum(axis=1)
    return np.asarray(isotonic_regression(left, increasing=False).x, dtype=np.float64)


def denoised_weights(weights: Floats, counts: AnyArray, deviation: float, most: int) -> Floats:
    """W denoised: a multiple of ``counts countsᵀ`` plus what lies above the threshold; never negative."""
    if deviation == 0:
        return weights
    expected = np.outer(counts, counts).astype(np.float32)
    off = ~np.eye(len(counts), dtype=np.bool_)
    scale = max(float((weights * expected)[off].sum() / max((expected**2)[off].sum(), CONSTANTS.tiny)), 0.0)
    rest = weights - scale * expected
    np.fill_diagonal(rest, 0)
    values, vectors = above_threshold(rest, most, spectral_threshold(deviation, len(counts)))
    estimate = scale * expected + ((vectors * values) @ vectors.T).astype(np.float32)
    return np.asarray(np.maximum(estimate, 0), dtype=np.float32)


def denoised_factors(
    products: Floats,
    weights: Floats,
    deviation: float,
    chance: float,
    spread: float,
    most: int,
    sweeps: int = CONSTANTS.sweeps,
) -> Floats:
    """L above: one row per item, one column per eigenvalue above the threshold, at most ``most``.

    Parameters
    ----------
    products, weights
        The noisy A, and the denoised W. Their diagonals are not used.
    deviation, chance, spread
        The public s and v above, and the smallest t.
    most
        The largest number of factors.
    sweeps
        How often all rows are solved.
    """
    size = len(products)
    precision = weights / (np.float32(deviation**2 + CONSTANTS.tiny) + np.float32(chance) * weights)
    np.fill_diagonal(precision, 0)
    gradient = products * precision
    deviations = np.sqrt(np.float32(deviation**2) + np.float32(CONSTANTS.sampling_share * chance) * weights)
    values, vectors = above_threshold(gradient, most, THRESHOLD_MARGIN * simulated_threshold(precision * deviations))
    rank = len(values)
    if rank == 0:
        return np.zeros((size, 0), dtype=np.float32)
    precision *= weights
    start = ((vectors * values) @ vectors.T).astype(np.float32)
    scale = max(float((gradient * start).sum()) / max(float((precision * start**2).sum()), CONSTANTS.tiny), 0.0)
    factors = (vectors * np.sqrt(scale * values)).astype(np.float32)
    # A prior as wide as half the starting factors, if they are large: strong factors are not shrunk.
    own = np.sqrt((factors**2 * weights.sum(axis=1)[:, None]).sum(axis=0) / max(float(weights.sum()), CONSTANTS.tiny))
    penalty = np.diag(np.maximum(own / 2, spread) ** -2.0).astype(np.float32)
    factors = damped_row_solves(precision, gradient, factors, penalty, sweeps)
    return factors


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


def simulated_threshold(deviations: Floats) -> float:
    """The largest eigenvalue of simulated symmetric noise with these standard deviations. No data are used.

    >>> round(simulated_threshold(np.full((400, 400), 0.5, dtype=np.float32)) / spectral_threshold(0.5, 400), 1)
    1.0
    """
    noise = np.random.default_rng(0).standard_normal(deviations.shape, dtype=np.float32) * deviations
    noise = np.triu(noise, 1)
    return float(_leading(noise + noise.T, 1)[0][0])


def spectrum(matrix: AnyArray) -> Doubles:
    """All eigenvalues, in falling order."""
    return np.asarray(all_eigenvalues(matrix)[::-1], dtype=np.float64)


def eigenvectors_of(matrix: AnyArray, most: int) -> Doubles:
    """Those of the largest eigenvalues, a column each."""
    return _leading(matrix, most)[1]


def _leading(matrix: AnyArray, most: int) -> tuple[Doubles, Doubles]:
    """The largest eigenvalues, in falling order, and their eigenvectors."""
    size = len(matrix)
    if not matrix.any():
        return np.zeros(most), np.eye(size, most)
    start = np.random.default_rng(1).standard_normal(size).astype(matrix.dtype)
    with library_for("eigenvectors"):
        from scipy.sparse.linalg import ArpackNoConvergence, eigsh
    try:
        if size <= CONSTANTS.dense_size or most > size // 4:
            values, vectors = np.linalg.eigh(matrix)
        else:
            values, vectors = largest_eigenpairs(matrix, most, start, 1e-4, eigsh)
    except ArpackNoConvergence:
        values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-values)[:most]
    return values[order].astype(np.float64), vectors[:, order].astype(np.float64)
