# mypy: ignore-errors
# Functions that triton compiles have no types that Python knows, and triton is there only beside a GPU.
"""The Gaussian integers of :mod:`discreet.kernels.slab_noise` on a GPU: the same numbers, 4 million in a tenth of a ms.

One thread makes the four numbers of a block of ChaCha20. What is rejected, less than one in a hundred, is put on a list
and made in a second pass; what doubles cannot decide goes on another, for the processor. This file needs triton, which
comes with torch where there is a GPU.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from discreet.kernels.slab_noise_torch import Slabs, Undecided
from discreet.types import AnyArray

LANES = 128
MOST_DOUBTFUL = 1 << 16
"""So many can be left to the processor; a thousand times as many as there ever are."""
PROGRAMS = 1024


@triton.jit
def _turned(word, by: tl.constexpr):
    return (word << by) | (word >> (32 - by))


@triton.jit
def _quarter(a, b, c, d):
    a = a + b
    d = _turned(d ^ a, 16)
    c = c + d
    b = _turned(b ^ c, 12)
    a = a + b
    d = _turned(d ^ a, 8)
    c = c + d
    b = _turned(b ^ c, 7)
    return a, b, c, d


@triton.jit
def _long(low, high):
    return low.to(tl.uint64) | (high.to(tl.uint64) << 32)


@triton.jit
def _pairs(key, counter, attempt):
    """The eight words of 64 bits of a block, of every lane's own counter."""
    zero = counter * 0
    k0 = tl.load(key).to(tl.uint32, bitcast=True)
    k1 = tl.load(key + 1).to(tl.uint32, bitcast=True)
    k2 = tl.load(key + 2).to(tl.uint32, bitcast=True)
    k3 = tl.load(key + 3).to(tl.uint32, bitcast=True)
    k4 = tl.load(key + 4).to(tl.uint32, bitcast=True)
    k5 = tl.load(key + 5).to(tl.uint32, bitcast=True)
    k6 = tl.load(key + 6).to(tl.uint32, bitcast=True)
    k7 = tl.load(key + 7).to(tl.uint32, bitcast=True)
    a0, a1 = zero + 0x61707865, zero + 0x3320646E
    a2, a3 = zero + 0x79622D32, zero + 0x6B206574
    b0, b1, b2, b3 = zero + k0, zero + k1, zero + k2, zero + k3
    c0, c1, c2, c3 = zero + k4, zero + k5, zero + k6, zero + k7
    d0, d1, d2, d3 = counter, zero, zero + attempt, zero
    for _ in range(10):
        a0, b0, c0, d0 = _quarter(a0, b0, c0, d0)
        a1, b1, c1, d1 = _quarter(a1, b1, c1, d1)
        a2, b2, c2, d2 = _quarter(a2, b2, c2, d2)
        a3, b3, c3, d3 = _quarter(a3, b3, c3, d3)
        a0, b1, c2, d3 = _quarter(a0, b1, c2, d3)
        a1, b2, c3, d0 = _quarter(a1, b2, c3, d0)
        a2, b3, c0, d1 = _quarter(a2, b3, c0, d1)
        a3, b0, c1, d2 = _quarter(a3, b0, c1, d2)
    w0 = _long(a0 + 0x61707865, a1 + 0x3320646E)
    w1 = _long(a2 + 0x79622D32, a3 + 0x6B206574)
    w2 = _long(b0 + k0, b1 + k1)
    w3 = _long(b2 + k2, b3 + k3)
    w4 = _long(c0 + k4, c1 + k5)
    w5 = _long(c2 + k6, c3 + k7)
    w6 = _long(d0 + counter, d1)
    w7 = _long(d2 + (zero + attempt), d3)
    return w0, w1, w2, w3, w4, w5, w6, w7


@triton.jit
def _number(word, second, high, numbers, BITS: tl.constexpr, SLABS_LOG: tl.constexpr):
    """What a pair of words makes: kept, doubtful, and the number."""
    slab = tl.zeros_like(word).to(tl.int32)
    for step in tl.static_range(SLABS_LOG):  # how many thresholds lie below the word
        ahead = slab + (1 << (SLABS_LOG - 1 - step))
        below = tl.load(high + ahead - 1).to(tl.uint64, bitcast=True) < word
        slab = tl.where(below, ahead, slab)
    tie = tl.load(high + slab).to(tl.uint64, bitcast=True) == word
    long = slab.to(tl.int64)
    place = (long << BITS) + (second & ((1 << BITS) - 1)).to(tl.int64)
    negative = ((second >> BITS) & 1).to(tl.int64)
    number = place ^ (0 - negative)
    chance = (second >> (BITS + 1)).to(tl.int64)
    sigma = tl.load(numbers)
    doubt = tl.load(numbers + 1)
    scale = tl.load(numbers + 2)
    edge = (long << BITS).to(tl.float64)
    size = tl.abs(number.to(tl.float64))
    odds = tl.exp(((size - edge) / sigma) * ((size + edge) / sigma) * -0.5)
    drawn = chance.to(tl.float64) * scale
    kept = (drawn + scale + doubt <= odds) & (tie == 0)
    rejected = (drawn - doubt >= odds) & (tie == 0)
    return kept, rejected, number


@triton.jit
def _append(places, counter, cell, wanted, most):
    at = tl.atomic_add(counter + tl.zeros_like(cell), 1, mask=wanted, sem="relaxed")
    tl.store(places + at, cell, mask=wanted & (at < most))


@triton.jit
def _first_pair(word, second, cell, count, out, high, numbers, again, doubtful, counters, most_again, most_doubtful,
                BITS: tl.constexpr, SLABS_LOG: tl.constexpr):  # fmt: skip
    kept, rejected, number = _number(word, second, high, numbers, BITS, SLABS_LOG)
    there = cell < count
    tl.store(out + cell, number, mask=there)
    _append(again, counters, cell, there & rejected, most_again)
    _append(doubtful, counters + 1, cell, there & (kept == 0) & (rejected == 0), most_doubtful)


@triton.jit
def _first_pass(key, high, numbers, out, again, doubtful, counters, count, most_again, most_doubtful,
                BITS: tl.constexpr, SLABS_LOG: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    block = tl.program_id(0) * LANES + tl.arange(0, LANES)
    w0, w1, w2, w3, w4, w5, w6, w7 = _pairs(key, block.to(tl.uint32), tl.zeros([LANES], dtype=tl.uint32))
    cell = block.to(tl.int64) * 4
    _first_pair(w0, w1, cell, count, out, high, numbers, again, doubtful, counters, most_again, most_doubtful,
                BITS, SLABS_LOG)  # fmt: skip
    _first_pair(w2, w3, cell + 1, count, out, high, numbers, again, doubtful, counters, most_again, most_doubtful,
                BITS, SLABS_LOG)  # fmt: skip
    _first_pair(w4, w5, cell + 2, count, out, high, numbers, again, doubtful, counters, most_again, most_doubtful,
                BITS, SLABS_LOG)  # fmt: skip
    _first_pair(w6, w7, cell + 3, count, out, high, numbers, again, doubtful, counters, most_again, most_doubtful,
                BITS, SLABS_LOG)  # fmt: skip


@triton.jit
def _later_pair(word, second, cell, pending, out, high, numbers, doubtful, counters, most_doubtful,
                BITS: tl.constexpr, SLABS_LOG: tl.constexpr):  # fmt: skip
    kept, rejected, number = _number(word, second, high, numbers, BITS, SLABS_LOG)
    tl.store(out + cell, number, mask=pending & kept)
    _append(doubtful, counters + 1, cell, pending & (kept == 0) & (rejected == 0), most_doubtful)
    return pending & rejected


@triton.jit
def _later_passes(key, high, numbers, out, again, doubtful, counters, most_doubtful,
                  BITS: tl.constexpr, SLABS_LOG: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    listed = tl.load(counters)
    for start in range(tl.program_id(0) * LANES, listed, tl.num_programs(0) * LANES):
        at = start + tl.arange(0, LANES)
        pending = at < listed
        cell = tl.load(again + at, mask=pending, other=0)
        attempt = tl.zeros([LANES], dtype=tl.uint32) + 1
        left = tl.sum(pending.to(tl.int32), axis=0)
        while left > 0:
            w0, w1, w2, w3, w4, w5, w6, w7 = _pairs(key, cell.to(tl.uint32), attempt)
            pending = _later_pair(w0, w1, cell, pending, out, high, numbers, doubtful, counters, most_doubtful,
                                  BITS, SLABS_LOG)  # fmt: skip
            pending = _later_pair(w2, w3, cell, pending, out, high, numbers, doubtful, counters, most_doubtful,
                                  BITS, SLABS_LOG)  # fmt: skip
            pending = _later_pair(w4, w5, cell, pending, out, high, numbers, doubtful, counters, most_doubtful,
                                  BITS, SLABS_LOG)  # fmt: skip
            pending = _later_pair(w6, w7, cell, pending, out, high, numbers, doubtful, counters, most_doubtful,
                                  BITS, SLABS_LOG)  # fmt: skip
            attempt += 1
            left = tl.sum(pending.to(tl.int32), axis=0)


def draw_by_triton(key: AnyArray, slabs: Slabs, count: int) -> Undecided:
    """As :func:`~discreet.kernels.slab_noise_torch.draw_by_torch`; the numbers are still on their way."""
    device = slabs.high.device
    if device.type != "cuda":  # triton's interpreter, in tests
        return _drawn(key, slabs, count)
    working, own = torch.cuda.current_stream(device), _stream(str(device))
    with torch.cuda.stream(own):  # so that numbers are made while the device waits for its memory elsewhere
        drawn = _drawn(key, slabs, count)
        seen = torch.empty(1, dtype=torch.int32, pin_memory=True)
        seen.copy_(drawn.how_many, non_blocking=True)
        ready = torch.cuda.Event()
        ready.record(own)
    for tensor in (drawn.numbers, drawn.places):
        tensor.record_stream(working)
    return Undecided(drawn.numbers, drawn.places, seen, ready)


@lru_cache(maxsize=8)
def _stream(device: str) -> Any:
    return torch.cuda.Stream(device)


def _drawn(key: AnyArray, slabs: Slabs, count: int) -> Undecided:
    device = slabs.high.device
    out = torch.empty(count, dtype=torch.int64, device=device)
    again = torch.empty(count, dtype=torch.int64, device=device)
    doubtful = torch.empty(MOST_DOUBTFUL, dtype=torch.int64, device=device)
    counters = torch.zeros(2, dtype=torch.int32, device=device)
    words = torch.from_numpy(key.view(np.int32).copy()).to(device)
    sizes = {"BITS": slabs.bits, "SLABS_LOG": len(slabs.high).bit_length() - 1, "LANES": LANES}
    tables = words, slabs.high, slabs.numbers, out, again, doubtful, counters
    _first_pass[(triton.cdiv(count, 4 * LANES),)](*tables, count, count, MOST_DOUBTFUL, **sizes)
    _later_passes[(PROGRAMS,)](*tables, MOST_DOUBTFUL, **sizes)
    return Undecided(out, doubtful, counters[1:])


@triton.jit
def _add_on_grid(values, noise, grids, out, count, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    there = at < count
    grid = tl.load(grids)
    most = tl.load(grids + 1)
    exact = tl.load(values + at, mask=there, other=0.0) / grid
    steps = tl.floor(exact)
    rest = exact - steps
    odd = (steps - 2 * tl.floor(steps * 0.5)) == 1  # halves go to the even one, as on the processor
    steps += ((rest > 0.5) | ((rest == 0.5) & odd)).to(tl.float64)
    steps = tl.minimum(tl.maximum(steps, 0.0 - most), most)
    total = steps.to(tl.int64) + tl.load(noise + at, mask=there, other=0)
    found = total.to(tl.float64) * grid / tl.load(grids + 2)
    tl.store(out + at, found.to(out.dtype.element_ty), mask=there)


@lru_cache(maxsize=16)
def _on_device(grid: float, divisor: float, device: str) -> Any:
    return torch.tensor([grid, 2.0**61, divisor], dtype=torch.float64, device=device)


def add_on_grid_by_triton(values: Any, noise: Any, grid: float, divisor: float, kind: Any) -> Any:
    """As :func:`~discreet.kernels.slab_noise_torch.add_on_grid_by_torch`."""
    values = values.to(torch.float64).contiguous()
    out = torch.empty_like(values, dtype=kind)
    grids = _on_device(grid, divisor, str(values.device))
    _add_on_grid[(triton.cdiv(len(values), 1024),)](values, noise, grids, out, len(values), LANES=1024)
    return out
