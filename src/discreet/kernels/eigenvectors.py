"""The largest eigenvalues of a symmetric matrix: by scipy's ARPACK or LAPACK, or on a GPU where one is used.

There Lanczos' method builds an orthogonal basis, one product with the matrix at a time; each vector is made orthogonal
to all others twice. The eigenvalues of the matrix seen in that basis are soon those of the matrix itself. An eigenpair
is good enough if the next vector of the basis would change it by no more than the tolerance, relative to it: the rule
of ARPACK. Where the basis ends early, all eigenpairs are computed. Results are those of the processor up to that: they
are made of released numbers, so nothing else matters.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.device import has_cuda
from discreet.types import AnyArray

LARGE = 1024
"""Rows from which on a GPU is worth its while."""
MANY = 64
"""Eigenvectors beyond which ARPACK takes longer than to compute them from the whole matrix."""
ENDED = 1e-10
LOOKS = 64
"""After so many vectors more it is looked whether they are enough."""


def uses_gpu(size: int) -> bool:
    """Whether products of matrices of so many rows are made on a GPU: where torch is in use already and sees one."""
    return size >= LARGE and "torch" in sys.modules and has_cuda()


def largest_eigenpairs(
    matrix: AnyArray, most: int, start: AnyArray, tolerance: float, eigsh: Callable[..., Any]
) -> tuple[AnyArray, AnyArray]:
    """The ``most`` largest eigenvalues and their eigenvectors, in any order; ``eigsh`` is scipy's."""
    if uses_gpu(len(matrix)):
        return lanczos(matrix, most, start, tolerance, "cuda")
    if most > MANY:
        from scipy.linalg import eigh

        size = len(matrix)
        values, vectors = eigh(matrix, subset_by_index=(size - most, size - 1), check_finite=False)
    else:
        values, vectors = eigsh(matrix, k=most, which="LA", v0=start, tol=tolerance)
    return values, vectors


def all_eigenvalues(matrix: AnyArray) -> AnyArray:
    """Every eigenvalue, rising.

    >>> import numpy as np
    >>> all_eigenvalues(np.diag([2.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    if uses_gpu(len(matrix)):
        torch = load_extra("torch", "torch", "a GPU")
        found: AnyArray = torch.linalg.eigvalsh(torch.tensor(matrix, device="cuda").double()).cpu().numpy()
        return found
    return np.linalg.eigvalsh(matrix)


def lanczos(matrix: AnyArray, most: int, start: AnyArray, tolerance: float, device: str) -> tuple[AnyArray, AnyArray]:
    """The same by torch on a device.

    >>> import numpy as np
    >>> values, _ = lanczos(np.diag(np.arange(50.0)), 2, np.ones(50), 1e-9, "cpu")
    >>> sorted(values.round(6).tolist())
    [48.0, 49.0]
    """
    torch, size = load_extra("torch", "torch", "a GPU"), len(matrix)
    there = torch.tensor(matrix, device=device).double()
    basis = torch.zeros((size, size), device=device, dtype=torch.float64)  # a vector a row; memory is taken as needed
    diagonal = torch.zeros(size, device=device, dtype=torch.float64)
    beside = torch.zeros(size, device=device, dtype=torch.float64)
    first = torch.tensor(start, device=device).double()
    basis[0] = first / first.norm()
    for count in range(1, size + 1):
        image = there @ basis[count - 1]
        diagonal[count - 1] = image @ basis[count - 1]
        known = basis[:count]
        for _ in range(2):
            image -= known.T @ (known @ image)
        beside[count - 1] = image.norm()
        enough = count == size
        if count > max(most, 1) and (count % LOOKS == 0 or enough):
            if bool(beside[: count - 1].min() <= ENDED * diagonal.abs().max()):
                break  # the matrix maps these vectors onto themselves, and what followed is rounding
            seen = (
                torch.diag(diagonal[:count]) + torch.diag(beside[: count - 1], 1) + torch.diag(beside[: count - 1], -1)
            )
            values, turned = torch.linalg.eigh(seen)
            values, turned = values[-most:], turned[:, -most:]
            left = beside[count - 1] * turned[-1].abs()
            if enough or bool((left <= tolerance * values.abs().clamp(min=1e-12)).all()):
                return values.cpu().numpy(), (known.T @ turned).cpu().numpy()
        if count < size:
            basis[count] = image / beside[count - 1].clamp(min=1e-300)
    values, vectors = torch.linalg.eigh(there)
    return values[-most:].cpu().numpy(), vectors[:, -most:].cpu().numpy()
