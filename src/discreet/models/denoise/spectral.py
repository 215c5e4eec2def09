"""What can be learned from a noisy matrix of covariances: free post-processing, from public numbers alone.

Released are two symmetric matrices, with noise of a public deviation s on every cell off the diagonal:

    A_ij = W_ij C_ij + noise      products of what users said about two items, C_ij their covariance
    W_ij = Σ_u w_u + noise        how much was said about both

**The noise edge.** A symmetric matrix of n rows of nothing but such noise has its eigenvalues within ±2 s √n. What
lies below is not told from noise and is cut, negative ones first of all, so what is left is positive semidefinite; an
eigenvalue λ above the edge was θ before the noise, where λ = θ + s²n/θ, so it is shrunk to
θ = (λ + √(λ² − 4s²n)) / 2. Where cells differ in their noise the edge is that of noise drawn for the purpose. If
nothing lies above the edge, there are no factors.

**Weights.** How many rated both items is nearly what their counts n_i n_j lead to expect. So W is the best multiple of
n nᵀ, plus what of the rest stands above its own edge.

**Factors.** C ≈ L Lᵀ of low rank. Cells err by the noise, and by chance as few or many users were counted, so

    minimise  Σ_{i≠j} (A_ij − W_ij L_i·L_j)² / (s² + v W_ij)  +  Σ_ik L_ik² / t_k²

row by row: with the other rows held fixed each L_i is a ridge solution, which for an item that hardly anyone rated
is nearly 0. It starts from the eigenvectors of A_ij W_ij / (s² + v W_ij), what pulls L away from 0, that stand above
their noise edge.
"""

import numpy as np

from discreet.errors import library_for
from discreet.kernels.memoizing import memoized
from discreet.types import AnyArray, Doubles, Floats

FAINT = 1e-6  # keeps a division by a variance possible where there is no noise and nobody was counted
MARGIN = 1.05  # the largest eigenvalue of noise varies by a few hundredths from draw to draw
SMALL = 64  # matrices so small are decomposed whole
CHANCE_OF_PRODUCTS = 0.15
"""The part of v that chance has in a product; the rest is caution against factors that fit it."""


def spectral_threshold(deviation: float, size: int) -> float:
    """The largest eigenvalue that noise alone reaches, in a symmetric matrix with this deviation off its diagonal.

    >>> spectral_threshold(0.5, 100)
    10.0
    """
    return float(2 * deviation * np.sqrt(size))


def above_threshold(matrix: AnyArray, most: int, edge: float) -> tuple[Doubles, Doubles]:
    """Eigenvalues above the edge, the largest first and at most so many, shrunk; and their eigenvectors.

    >>> values, vectors = above_threshold(np.diag([5.0, 3.0, 1.0, 0.0]), 2, edge=4.0)
    >>> values.tolist(), vectors.shape
    ([4.0], (4, 1))
    """
    values, vectors = _leading(matrix, min(most, len(matrix)))
    kept = values > edge
    values, vectors = values[kept], vectors[:, kept]
    return (values + np.sqrt(values**2 - edge**2)) / 2, vectors


def denoised_weights(weights: Floats, counts: AnyArray, deviation: float, most: int) -> Floats:
    """The matrix W behind its noise: a multiple of ``counts countsᵀ`` and what else stands out; never negative."""
    if deviation == 0:
        return weights
    expected = np.outer(counts, counts).astype(np.float32)
    off = ~np.eye(len(counts), dtype=np.bool_)
    scale = max(float((weights * expected)[off].sum() / max((expected**2)[off].sum(), FAINT)), 0.0)
    rest = weights - scale * expected
    np.fill_diagonal(rest, 0)
    values, vectors = above_threshold(rest, most, spectral_threshold(deviation, len(counts)))
    likely = scale * expected + ((vectors * values) @ vectors.T).astype(np.float32)
    return np.asarray(np.maximum(likely, 0), dtype=np.float32)


@memoized
def denoised_factors(
    products: Floats, weights: Floats, deviation: float, chance: float, spread: float, most: int, sweeps: int = 10
) -> Floats:
    """L above: one row an item, as many columns as stand above the noise edge, at most ``most``.

    Parameters
    ----------
    products, weights
        A with its noise, and W as far as it is known. Their diagonals are not used.
    deviation, chance, spread
        The public s and v above, and the least t.
    most
        How many factors at most.
    sweeps
        How often all rows are solved.
    """
    size = len(products)
    precision = weights / (np.float32(deviation**2 + FAINT) + np.float32(chance) * weights)
    np.fill_diagonal(precision, 0)
    pull = products * precision
    deviations = np.sqrt(np.float32(deviation**2) + np.float32(CHANCE_OF_PRODUCTS * chance) * weights)
    values, vectors = above_threshold(pull, most, MARGIN * simulated_threshold(precision * deviations))
    rank = len(values)
    if rank == 0:
        return np.zeros((size, 0), dtype=np.float32)
    precision *= weights
    start = ((vectors * values) @ vectors.T).astype(np.float32)
    scale = max(float((pull * start).sum()) / max(float((precision * start**2).sum()), FAINT), 0.0)
    factors = (vectors * np.sqrt(scale * values)).astype(np.float32)
    rows, columns = np.triu_indices(rank)
    # Where the start is far above what is expected of factors, half of it is: strong patterns are not held down.
    own = np.sqrt((factors**2 * weights.sum(axis=1)[:, None]).sum(axis=0) / max(float(weights.sum()), FAINT))
    penalty = np.diag(np.maximum(own / 2, spread) ** -2.0).astype(np.float32)
    grams = np.empty((size, rank, rank), dtype=np.float32)
    for _ in range(sweeps):
        grams[:, rows, columns] = grams[:, columns, rows] = precision @ (factors[:, rows] * factors[:, columns])
        solved = np.linalg.solve(grams + penalty, (pull @ factors)[:, :, None])[:, :, 0]
        factors = np.asarray((factors + solved) / 2, dtype=np.float32)  # half a step: all rows move at once
    return factors


def simulated_threshold(deviations: Floats) -> float:
    """The largest eigenvalue of symmetric noise with these deviations: noise drawn for the purpose, at no cost.

    >>> round(simulated_threshold(np.full((400, 400), 0.5, dtype=np.float32)) / spectral_threshold(0.5, 400), 1)
    1.0
    """
    noise = np.random.default_rng(0).standard_normal(deviations.shape, dtype=np.float32) * deviations
    noise = np.triu(noise, 1)
    return float(_leading(noise + noise.T, 1)[0][0])


@memoized
def _leading(matrix: AnyArray, most: int) -> tuple[Doubles, Doubles]:
    """The largest eigenvalues, in falling order, and their eigenvectors."""
    size = len(matrix)
    if not matrix.any():
        return np.zeros(most), np.eye(size, most)
    start = np.random.default_rng(1).standard_normal(size).astype(matrix.dtype)
    with library_for("eigenvectors"):
        from scipy.sparse.linalg import ArpackNoConvergence, eigsh
    try:
        if size <= SMALL or most > size // 4:
            values, vectors = np.linalg.eigh(matrix)
        else:
            values, vectors = eigsh(matrix, k=most, which="LA", v0=start, tol=1e-4)
    except ArpackNoConvergence:
        values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-values)[:most]
    return values[order].astype(np.float64), vectors[:, order].astype(np.float64)
