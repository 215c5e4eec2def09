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


@triton.jit
def _layer_squares(inputs, delta, known, offsets, squares, wide_in, wide_out, fresh,
                   HAS_WEIGHTS: tl.constexpr, HAS_BIAS: tl.constexpr, SPARSE: tl.constexpr, KNOWN: tl.constexpr,
                   LANES: tl.constexpr):  # fmt: skip
    user = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, LANES)
    of_inputs = tl.zeros([LANES], tl.float64)
    first, last = user * wide_in, (user + 1) * wide_in
    if SPARSE:
        first, last = tl.load(offsets + user), tl.load(offsets + user + 1)
    if HAS_WEIGHTS:
        for start in range(first, last, LANES):
            own = tl.load(inputs + start + lane, mask=start + lane < last, other=0.0).to(tl.float64)
            of_inputs += own * own
    long = tl.sum(of_inputs, axis=0)
    if HAS_BIAS:
        long += 1.0
    if KNOWN:
        of_delta = tl.load(known + user)
    else:
        sums = tl.zeros([LANES], tl.float64)
        for start in range(0, wide_out, LANES):
            own = tl.load(delta + user * wide_out + start + lane, mask=start + lane < wide_out, other=0.0)
            own = own.to(tl.float64)
            sums += own * own
        of_delta = tl.sum(sums, axis=0)
    before = tl.load(squares + user)
    tl.store(squares + user, tl.where(fresh != 0, 0.0, before) + of_delta * long)


def squares_of_users(layers: dict[str, Any], batch: Any, last_squares: Any, fixed: tuple[str, ...]) -> Any:
    """‖g_u‖² of every user: Σ_layers ‖δ‖² (‖a‖² + 1), one kernel a layer."""
    users = batch.offsets.shape[0] - 1
    squares = torch.empty(users, dtype=torch.float64, device=batch.offsets.device)
    for number, (name, (inputs, delta)) in enumerate(layers.items()):
        known, sparse = name == "output" and last_squares is not None, inputs is None
        delta = delta.contiguous()
        inputs = batch.inputs if sparse else inputs.contiguous()
        _layer_squares[(users,)](
            inputs, delta, last_squares if known else delta, batch.offsets, squares,
            0 if sparse else inputs.shape[1], delta.shape[1], 0 if number else 1,
            HAS_WEIGHTS=f"{name}_weights" not in fixed, HAS_BIAS=f"{name}_bias" not in fixed, SPARSE=sparse,
            KNOWN=known, LANES=128, num_warps=1 if known or delta.shape[1] <= 512 else 4,
        )  # fmt: skip
    return squares
