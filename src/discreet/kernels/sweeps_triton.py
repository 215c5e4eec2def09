# mypy: ignore-errors
# Functions that triton compiles have no types that Python knows, and triton is there only beside a GPU.
"""What users say of items in a sweep, added up on a GPU in one pass: see :mod:`discreet.kernels.gpu_sweeps`.

Plain operations of torch write and read a row of cells for every rating five times. Here rows are read once. All sums
are of whole numbers, exact in any order.
"""

from typing import Any

import torch
import triton
import triton.language as tl

TILE = 2048
"""Cells that a program has at once."""
RATINGS = 1024
"""Ratings of an item that one program adds up at most."""


@triton.jit
def _said_of_items(item_of, firsts, ends, users, targets, answers, scales, sums, packed, width,
                   ENTRIES: tl.constexpr, CELLS: tl.constexpr):  # fmt: skip
    piece = tl.program_id(0)
    item, first, end = tl.load(item_of + piece), tl.load(firsts + piece), tl.load(ends + piece)
    scale = tl.load(scales + item)
    entry, cell = tl.arange(0, ENTRIES), tl.arange(0, CELLS)
    inside = cell < width
    total = tl.zeros([ENTRIES, CELLS], tl.int64)
    for start in range(first, end, ENTRIES):
        there = start + entry < end
        user = tl.load(users + start + entry, mask=there, other=0)
        target = tl.load(targets + start + entry, mask=there, other=0.0) * scale
        said = tl.load(answers + user[:, None] * width + cell[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        total += (said * tl.where(cell[None, :] < packed, scale, target[:, None])).to(tl.int64)  # towards 0
    tl.atomic_add(sums + item * width + cell, tl.sum(total, axis=0).to(tl.float64), mask=inside, sem="relaxed")


def add_said_of_items(sums: Any, starts: Any, users: Any, targets: Any, answers: Any, scales: Any, packed: int) -> None:
    """Add to the sums of every item, whose users and targets begin at ``starts``."""
    lengths, width = starts[1:] - starts[:-1], sums.shape[1]
    pieces = -(-lengths // RATINGS)
    items = torch.repeat_interleave(torch.arange(len(lengths), device=sums.device), pieces)
    if len(items) == 0:
        return
    before = torch.cumsum(pieces, 0) - pieces
    firsts = starts[items] + RATINGS * (torch.arange(len(items), device=sums.device) - before[items])
    ends = torch.minimum(firsts + RATINGS, starts[items + 1])
    cells = triton.next_power_of_2(width)
    _said_of_items[(len(items),)](
        items, firsts, ends, users, targets, answers, scales, sums, packed, width,
        ENTRIES=max(1, TILE // cells), CELLS=cells, enable_fp_fusion=False,
    )  # fmt: skip
