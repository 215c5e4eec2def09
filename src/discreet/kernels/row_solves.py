"""A weighted factorisation of a symmetric matrix, all rows at once: ridge solutions of every row, and half way there.

    L_i  ←  ½ L_i + ½ (Σ_j P_ij L_j L_jᵀ + penalty)⁻¹ Σ_j G_ij L_j

The sums are two products of large matrices, the rest are many small systems: work for a GPU if one is used.
"""

from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.eigenvectors import uses_gpu
from discreet.types import Doubles, Floats


def damped_row_solves(precision: Floats, gradient: Floats, factors: Floats, penalty: Floats, sweeps: int) -> Floats:
    """The factors after so many sweeps.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> damped_row_solves(one, one, one, one, 1).tolist()
    [[0.75]]
    """
    size, rank = factors.shape
    rows, columns = np.triu_indices(rank)
    if uses_gpu(size):
        return _by_torch(precision, gradient, factors, penalty, sweeps, rows, columns)
    grams = np.empty((size, rank, rank), dtype=np.float32)
    for _ in range(sweeps):
        grams[:, rows, columns] = grams[:, columns, rows] = precision @ (factors[:, rows] * factors[:, columns])
        solved = np.linalg.solve(grams + penalty, (gradient @ factors)[:, :, None])[:, :, 0]
        factors = np.asarray((factors + solved) / 2, dtype=np.float32)  # damped by half, as all rows move at once
    return factors


def _by_torch(
    precision: Floats, gradient: Floats, factors: Floats, penalty: Floats, sweeps: int, rows: Any, columns: Any,
    device: str = "cuda",
) -> Floats:  # fmt: skip
    torch = load_extra("torch", "torch", "a GPU")

    def there(array: Any) -> Any:
        return torch.tensor(array, device=device)

    heavy, pull, own, ridge, upper, lower = map(there, (precision, gradient, factors, penalty, rows, columns))
    grams = torch.empty((*own.shape, own.shape[1]), dtype=own.dtype, device=device)
    for _ in range(sweeps):
        sums = heavy @ (own[:, upper] * own[:, lower])
        grams[:, upper, lower] = sums
        grams[:, lower, upper] = sums
        solved = torch.linalg.solve(grams + ridge, (pull @ own)[:, :, None])[:, :, 0]
        own = (own + solved) / 2
    found: Floats = own.cpu().numpy()
    return found


def positive(matrices: Doubles) -> Doubles:
    """The nearest positive semidefinite matrices, one or many.

    >>> positive(np.array([[1.0, 0.0], [0.0, -2.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if matrices.ndim == 3 and uses_gpu(len(matrices)):
        return _positive_by_torch(matrices)
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _positive_by_torch(matrices: Doubles, device: str = "cuda") -> Doubles:
    torch = load_extra("torch", "torch", "a GPU")
    values, vectors = torch.linalg.eigh(torch.tensor(matrices, device=device))
    found: Doubles = ((vectors * values.clamp(min=0)[..., None, :]) @ vectors.mT).cpu().numpy()
    return found


def inverses(matrices: Doubles) -> Doubles:
    """Of many positive definite matrices.

    >>> inverses(np.array([[[2.0]]])).tolist()
    [[[0.5]]]
    """
    return _inverses_by_torch(matrices) if uses_gpu(len(matrices)) else np.asarray(np.linalg.inv(matrices))


def _inverses_by_torch(matrices: Doubles, device: str = "cuda") -> Doubles:
    torch = load_extra("torch", "torch", "a GPU")
    found: Doubles = torch.linalg.inv(torch.tensor(matrices, device=device)).cpu().numpy()
    return found
