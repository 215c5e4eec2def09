"""The sums of :mod:`discreet.kernels.covariance` on a GPU, or wherever torch runs.

    A = Σ_u w_u x_u x_uᵀ = XᵀDX        W = EᵀDE

Users are taken in blocks, spread out as rows of a dense matrix and multiplied: a GPU does far more work than there are
pairs, and is still the quicker. The same sums as the other kernel's, to the rounding of the type that is used.
Nothing here is private by itself: noise is added where the sums are asked for.
"""

from importlib import import_module
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets

BLOCK_CELLS = 1 << 27  # of a block of users, spread out: 512 MB in float32


def torch_moments(
    indptr: Offsets,
    items: Indices,
    values: Floats,
    weights: Doubles,
    size: int,
    *,
    device: str | None = None,
    precision: str = "float32",
    out: Any = None,
) -> Any:
    """The sums A and W over a block of users, as a torch tensor of two square matrices on the device.

    Parameters
    ----------
    indptr, items, values, weights, size
        As for :func:`~discreet.kernels.covariance.weighted_moments`.
    device
        ``cuda`` or ``cpu``; by default a GPU where there is one.
    precision
        In which the products are made: ``float32``, ``float64``, or ``bfloat16``, which rounds weights and values to 8
        bits. They are added up in float32 (``float64`` in itself).
    out
        Sums so far, to add to.
    """
    torch = _torch()
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = getattr(torch, precision)
    total = torch.float64 if precision == "float64" else torch.float32
    if out is None:
        out = torch.zeros((2, size, size), dtype=total, device=device)
    users = len(indptr) - 1
    block = max(1, min(users, BLOCK_CELLS // max(1, size)))
    dense = torch.zeros((block, size), dtype=kind, device=device)
    # √w on both sides: one matrix for each product, and the result exactly symmetric.
    roots = torch.as_tensor(np.sqrt(weights), device=device)
    for first in range(0, users, block):
        last = min(first + block, users)
        rows = slice(int(indptr[first]), int(indptr[last]))
        lengths = torch.as_tensor(np.diff(indptr[first : last + 1]), device=device)
        user = torch.repeat_interleave(torch.arange(last - first, device=device), lengths)
        cell = user * size + torch.as_tensor(items[rows], device=device).to(torch.int64)
        root = roots[first + user]
        for number, of_ratings in enumerate((torch.as_tensor(values[rows], device=device) * root, root)):
            dense.view(-1)[cell] = of_ratings.to(kind)
            spread = dense[: last - first]
            if kind == total:
                out[number].addmm_(spread.T, spread)
            else:
                out[number] += _product(torch, spread, total)
        dense.view(-1)[cell] = 0
    return out


def packed_by_torch(moments: Any) -> AnyArray:
    """Two packed upper triangles, as the other kernel returns them."""
    torch = _torch()
    size = moments.shape[1]
    row, column = torch.triu_indices(size, size, device=moments.device)
    packed: AnyArray = moments[:, row, column].cpu().numpy()
    return packed


def _product(torch: Any, spread: Any, total: Any) -> Any:
    if spread.device.type == "cuda":
        try:
            return torch.mm(spread.T, spread, out_dtype=total)
        except TypeError:  # before torch 2.8: the block's sums are rounded once more
            pass
    return (spread.T @ spread).to(total)


def _torch() -> Any:
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise InputError(
            "this sum runs on torch, which is not installed; the one in numba needs nothing more"
        ) from error
    return torch
