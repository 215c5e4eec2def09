"""The largest eigenvalues of a symmetric matrix: Lanczos' method, its products on a GPU if one is used.

A matrix of 4,096 rows has 64 MB, which is read for every product; a GPU does that in 20 microseconds. The vectors go to
and fro. Results are those of the processor up to rounding: they are made of released numbers, so nothing else matters.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.kernels.device import has_cuda
from discreet.kernels.threads import one_blas_thread
from discreet.types import AnyArray

LARGE = 1024
"""Rows from which on a GPU is worth its while."""


def uses_gpu(size: int) -> bool:
    """Whether products of matrices of so many rows are made on a GPU: where torch is in use already and sees one."""
    return size >= LARGE and "torch" in sys.modules and has_cuda()


def lanczos(matrix: AnyArray, most: int, start: AnyArray, tolerance: float, eigsh: Callable[..., Any]) -> Any:
    """``eigsh`` of scipy for the largest eigenvalues of a matrix."""
    if not uses_gpu(len(matrix)):
        return eigsh(matrix, k=most, which="LA", v0=start, tol=tolerance)
    import torch
    from scipy.sparse.linalg import LinearOperator

    there = torch.tensor(matrix, device="cuda")

    def product(vector: AnyArray) -> AnyArray:
        own = torch.from_numpy(np.ascontiguousarray(vector, dtype=matrix.dtype).ravel()).to("cuda")
        found: AnyArray = (there @ own).cpu().numpy()
        return found

    with one_blas_thread():  # the vectors are short: threads would wait for each other
        return eigsh(LinearOperator(matrix.shape, matvec=product, dtype=matrix.dtype), k=most, which="LA", v0=start,
                     tol=tolerance)  # fmt: skip
