# mypy: ignore-errors
# Functions that triton compiles have no types that Python knows, and triton is there only beside a GPU.
"""Weighted sums of rows, bag by bag, on a GPU: what goes into the first layer of a network, and back to its items.

    out_b  =  Σ_{e in bag b} weight_e rows[index_e]

Some items are rated by nearly everyone: a bag is walked many entries at a time. The order of every sum is fixed by the
bag alone, so what comes out does not depend on what other bags hold. What lies behind the last bag is not looked at.
"""

from typing import Any

import torch
import triton
import triton.language as tl

ENTRIES = 16


@triton.jit
def _bag_sums(rows, index, weights, offsets, out, width, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr):
    bag = tl.program_id(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    entry = tl.arange(0, ENTRIES)
    first, last = tl.load(offsets + bag), tl.load(offsets + bag + 1)
    inside = column < width
    total = tl.zeros([ENTRIES, COLUMNS], out.dtype.element_ty)
    for start in range(first, last, ENTRIES):
        there = start + entry < last
        row = tl.load(index + start + entry, mask=there, other=0)
        weight = tl.load(weights + start + entry, mask=there, other=0.0).to(out.dtype.element_ty)
        own = tl.load(rows + row[:, None] * width + column[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        total += own * weight[:, None]
    tl.store(out + bag.to(tl.int64) * width + column, tl.sum(total, axis=0), mask=inside)


def bag_sums(rows: Any, index: Any, weights: Any, offsets: Any) -> Any:
    """The sum of each bag; there are as many as offsets, less one."""
    bags, width = offsets.shape[0] - 1, rows.shape[1]
    out = torch.empty((bags, width), dtype=rows.dtype, device=rows.device)
    columns = min(128, triton.next_power_of_2(width))
    _bag_sums[(bags, triton.cdiv(width, columns))](
        rows.contiguous(), index, weights, offsets, out, width, ENTRIES=ENTRIES, COLUMNS=columns
    )
    return out
