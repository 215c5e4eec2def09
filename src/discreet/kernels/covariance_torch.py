"""The sums of :mod:`discreet.kernels.covariance` on a GPU, or wherever torch runs.

    A = Σ_u w_u x_u x_uᵀ = Xᵀ(wX)        W = Eᵀ(wE)

Users are taken in blocks, spread out as rows of dense matrices and multiplied: a GPU does far more work than there are
pairs, and is still the quicker. Of the symmetric results only the upper triangle is made, a strip of rows at a time.

Tensor cores multiply numbers of 8 bits. A number is nearly the sum of two such, h + l, and a product of two is
h h' + h l' + l h' up to 2⁻¹⁶ of it: the precision ``split``, which is as good as single precision for these sums at a
multiple of its speed. Marks are 0 or 1 and need one part only. Nothing here is private by itself: noise is added where
the sums are asked for.

Sums of whole numbers come out as in the other kernel, to the last digit: a user adds less than 2³⁹ to a cell, so those
of 2¹⁴ users stay within the 53 bits of a double, in which sums of whole numbers are exact in any order.
"""

from typing import Any, Literal

import numpy as np

from discreet.extras import load_extra
from discreet.types import AnyArray, Indices, Offsets

Precision = Literal["float64", "float32", "split", "bfloat16"]

BLOCK_CELLS = 1 << 27  # of a block of users, spread out: 256 MB for each part
STRIPS = 16
EXACT_USERS = 1 << 14  # whose sums fit into a double exactly


def torch_moments(
    indptr: Offsets,
    items: Indices,
    values: AnyArray,
    weights: AnyArray,
    size: int,
    *,
    device: str | None = None,
    precision: Precision = "split",
    out: Any = None,
) -> Any:
    """The sums A and W over a block of users: a torch tensor of two matrices, of which the upper triangles count.

    Parameters
    ----------
    indptr, items, values, weights, size
        As for :func:`~discreet.kernels.covariance.weighted_moments`.
    device
        ``cuda`` or ``cpu``; by default a GPU where there is one.
    precision
        Of the products: ``float64``, ``float32``, ``split`` or ``bfloat16``. They are added up in float32, for
        ``float64`` in itself.
    out
        Sums so far, to add to.
    """
    torch = load_extra("torch", "torch", "an engine of torch")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = getattr(torch, "bfloat16" if precision == "split" else precision)
    total = torch.float64 if precision == "float64" else torch.float32
    if out is None:
        out = torch.zeros((2, size, size), dtype=total, device=device)
    users = len(indptr) - 1
    block = max(1, min(users, BLOCK_CELLS // max(1, size)))
    parts = {name: torch.zeros((block, size), dtype=kind, device=device) for name in _names(precision)}
    for first in range(0, users, block):
        last = min(first + block, users)
        rows = slice(int(indptr[first]), int(indptr[last]))
        lengths = torch.as_tensor(np.diff(indptr[first : last + 1]), device=device)
        user = torch.repeat_interleave(torch.arange(last - first, device=device), lengths)
        cell = user * size + torch.tensor(items[rows], device=device).to(torch.int64)
        weight = torch.tensor(weights[first:last], device=device).to(total)[user]
        value = torch.tensor(values[rows], device=device).to(total)
        for name, of_ratings in (("x", value), ("wx", weight * value), ("e", torch.ones_like(value)), ("we", weight)):
            high = of_ratings.to(kind)
            parts[name].view(-1)[cell] = high
            if name + "'" in parts:
                parts[name + "'"].view(-1)[cell] = (of_ratings - high).to(kind)
        _add_products(torch, {name: part[: last - first] for name, part in parts.items()}, out)
        for part in parts.values():
            part.view(-1)[cell] = 0
    return out


def whole_moments_by_torch(
    indptr: Offsets,
    items: Indices,
    values: AnyArray,
    weights: AnyArray,
    size: int,
    *,
    out: AnyArray,
    device: str | None = None,
) -> AnyArray:
    """Add whole numbers to the packed sums ``out``, as :func:`~discreet.kernels.covariance.weighted_moments` does.

    ``weights · values²`` must be below 2³⁹.
    """
    sums = None
    for first in range(0, len(indptr) - 1, EXACT_USERS):
        own = indptr[first : first + EXACT_USERS + 1]
        rows = slice(int(own[0]), int(own[-1]))
        some = own - own[0], items[rows], values[rows], weights[first : first + EXACT_USERS]
        whole = torch_moments(*some, size, device=device, precision="float64").long()
        sums = whole if sums is None else sums.add_(whole)
    if sums is not None:
        out += packed_by_torch(sums)
    return out


def packed_by_torch(moments: Any) -> AnyArray:
    """Two packed upper triangles, as the other kernel returns them."""
    torch = load_extra("torch", "torch", "an engine of torch")
    size = moments.shape[1]
    row, column = torch.triu_indices(size, size, device=moments.device)
    packed: AnyArray = moments[:, row, column].cpu().numpy()
    return packed


def products_of_a_block(precision: Precision) -> int:
    """How many dense products of users by items are made for both sums; half of each, by symmetry.

    >>> products_of_a_block("float32"), products_of_a_block("split")
    (2, 5)
    """
    return 5 if precision == "split" else 2


def _names(precision: Precision) -> tuple[str, ...]:
    return ("x", "wx", "e", "we", "x'", "wx'", "we'") if precision == "split" else ("x", "wx", "e", "we")


def _add_products(torch: Any, parts: dict[str, Any], out: Any) -> None:
    of_values, of_marks = [("x", "wx")], [("e", "we")]
    if "x'" in parts:
        of_values += [("x", "wx'"), ("x'", "wx")]
        of_marks += [("e", "we'")]
    size = out.shape[1]
    step = -(-size // STRIPS)
    for number, products in enumerate((of_values, of_marks)):
        for top in range(0, size, step):
            strip = out[number, top : top + step, top:]
            for left, right in products:
                _add_product(torch, strip, parts[left][:, top : top + step].T, parts[right][:, top:])


def _add_product(torch: Any, strip: Any, left: Any, right: Any) -> None:
    if left.dtype == strip.dtype:
        strip.addmm_(left, right)
    elif left.device.type == "cuda":
        strip += torch.mm(left, right, out_dtype=strip.dtype)
    else:
        strip += left.to(strip.dtype) @ right.to(strip.dtype)
