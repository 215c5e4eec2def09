"""A weighted factorisation of a symmetric matrix, all rows at once: ridge solutions of every row, and half way there.

    L_i  ←  ½ L_i + ½ (Σ_j P_ij L_j L_jᵀ + penalty)⁻¹ Σ_j G_ij L_j

The sums are two products of large matrices, the rest are many small systems: work for a GPU if one is used.
"""

from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.device import as_tensor
from discreet.kernels.eigenvectors import uses_gpu
from discreet.types import AnyArray, Doubles, Floats


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


def where_solved(size: int, *arrays: AnyArray) -> tuple[Any, ...]:
    """Arrays where so many small systems are solved: as tensors on a GPU if one is used."""
    return arrays if (device := _device(size)) is None else tuple(as_tensor(array, device) for array in arrays)


def _device(size: int) -> str | None:
    return "cuda" if uses_gpu(size) else None


def beside(other: Any, *arrays: AnyArray) -> tuple[Any, ...]:
    """Arrays where another lies already."""
    return arrays if isinstance(other, np.ndarray) else tuple(as_tensor(array, other.device) for array in arrays)


def in_memory(array: Any) -> Doubles:
    """What lies there, as an array."""
    found: Doubles = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return found


def library_of(array: Any) -> Any:
    """What computes with it: numpy or torch.

    >>> library_of(np.zeros(1)).__name__
    'numpy'
    """
    return np if isinstance(array, np.ndarray) else load_extra("torch", "torch", "a GPU")


def positive(matrices: Any) -> Any:
    """The nearest positive semidefinite matrices, one or many, an array or a tensor.

    >>> positive(np.array([[1.0, 0.0], [0.0, -2.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = library_of(matrices).linalg.eigh(matrices)
    return (vectors * values.clip(0)[..., None, :]) @ vectors.swapaxes(-1, -2)
