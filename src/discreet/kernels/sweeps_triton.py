# mypy: ignore-errors
# Functions that triton compiles have no types that Python knows, and triton is there only beside a GPU.
"""Sums over ratings that plain operations of torch would take many passes over memory for, on a GPU.

What users say of items in a sweep (:mod:`discreet.kernels.gpu_sweeps`) is whole numbers, exact in any order. Gram
matrices of users (:mod:`discreet.kernels.left_out`) are added up one rating after the other, each product rounded.
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
        said = tl.load(
            answers + user[:, None] * width + cell[None, :], mask=there[:, None] & inside[None, :], other=0.0
        )
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


@triton.jit
def _ordered_gram(rows, starts, lengths, out, users, width, SIDE: tl.constexpr):
    user = tl.program_id(0).to(tl.int64)
    first = tl.load(starts + user)
    end = first + tl.load(lengths + user)
    side = tl.arange(0, SIDE)
    total = tl.zeros([SIDE, SIDE], tl.float64)
    for at in range(first, end):
        own = tl.load(rows + at * width + side, mask=side < width, other=0.0)
        total += own[:, None] * own[None, :]
    cell = side[:, None] * width + side[None, :]
    tl.store(out + cell * users + user, total, mask=(side[:, None] < width - 1) & (side[None, :] < width))


def ordered_grams(rows: Any, starts: Any, lengths: Any) -> Any:
    """Σ v (v, t)ᵀ of every user over rows (v, t), users last."""
    users, width = len(starts), rows.shape[1]
    out = torch.empty((width - 1, width, users), dtype=rows.dtype, device=rows.device)
    side = max(16, triton.next_power_of_2(width))
    _ordered_gram[(users,)](
        rows,
        starts,
        lengths,
        out,
        users,
        width,
        SIDE=side,
        num_warps=min(16, max(1, side // 16)),
        enable_fp_fusion=False,
    )
    return out
