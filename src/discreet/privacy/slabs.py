"""Gaussian noise on a lattice for millions of cells: the law of :mod:`discreet.privacy.noise`, several times as fast.

The integers from 0 on are cut into slabs of 2^b, with 64 to 128 of them in a standard deviation σ. A number is drawn in
three steps, each with random bits of its own:

    slab      j with odds ∝ exp(−(j 2^b)²/2σ²), looked up in a table of 128-bit thresholds
    place     y = j 2^b + v with v uniform over the slab, and x = y or x = −y − 1 by a coin: |x| ≥ j 2^b
    keep      with odds exp(−(x² − (j 2^b)²)/2σ²), else draw again

**Law.** Every x comes from one slab, place and sign alone, so P(x) is a constant times the product of the odds, and
that is exp(−x²/2σ²). For the rounded Gaussian the odds of keeping are multiplied by its odds over exp(−x²/2σ²), up to a
constant below 1. ∎ Most numbers are kept by comparing integers: all odds of a slab lie above those of its far edge. For
the few others the odds are computed in doubles, and wherever rounding might matter again with 100 digits, as there.

**How far from the ideal.** 2,048 slabs reach to 16σ, beyond which lie odds of 2**-180; table entries are off by at most
2**-126: together far below the 2**-100 that the ledger books for a draw.

Words are drawn from one stream in a fixed order and numbers made of them by several threads: what comes out does not
depend on how many there are.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from discreet.kernels.slab_noise import GUIDE_BITS, add_on_grid, draw_from_slabs
from discreet.privacy.noise import rounded_to_discrete
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

SLABS = 2048
PIECE = 1 << 17
"""So many numbers are made at a time by one thread."""
DOUBT = 2.0**-40
MOST_THREADS = 8


def add_many_gaussians(values: AnyArray, sigma: float, grid: float, randomness: Randomness) -> Doubles:
    """Round to the grid and add Gaussian noise that is rounded to the grid too; ``sigma / grid`` at least 2**26."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    out = np.empty(len(flat))
    pieces = [slice(first, min(first + PIECE, len(flat))) for first in range(0, len(flat), PIECE)]
    threads = max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)), len(pieces)))

    def fill(piece: slice, own: Randomness) -> None:
        noise = draw_from(sigma / grid, piece.stop - piece.start, own)
        add_on_grid(flat[piece], noise, grid, out[piece])

    fill(pieces[0], randomness.split())  # which compiles, once
    with ThreadPoolExecutor(threads) as pool:
        for task in [pool.submit(fill, piece, randomness.split()) for piece in pieces[1:]]:
            task.result()
    return out.reshape(np.shape(values))


def draw_from(
    sigma: float, count: int, randomness: Randomness, *, rounded: bool = True, doubt: float = DOUBT
) -> AnyArray:
    """Integers with the odds of a Gaussian of deviation ``sigma`` rounded to whole numbers, or ∝ exp(−x²/2σ²).

    ``doubt`` is how close a decision is taken with 100 digits; doubles err by less than 2**-45 here.

    >>> draw_from(2.0**28, 3, Randomness()).dtype
    dtype('int64')
    """
    bits, high, low, guide, sure = _tables(sigma)
    out, filled = np.empty(count, dtype=np.int64), 0
    while filled < count:
        pairs = 64 + int(1.04 * (count - filled))
        words, more = randomness.words(2 * pairs), randomness.words(64 + pairs // 16)
        room, settled, used = np.empty(pairs, dtype=np.int64), 0, 0
        while settled < pairs and used < len(more) and filled < count:
            kept, settled, used = draw_from_slabs(
                words, more, high, low, guide, sure, bits, sigma, doubt, settled, used, room
            )
            taken = min(kept, count - filled)
            out[filled : filled + taken] = room[:taken]
            filled += taken
            if settled < pairs and used < len(more) and filled < count:  # stopped at a doubtful one
                # The same pair is looked at again, with 64 bits more than the doubles saw.
                drawn = int(more[used]) << 64 | int(randomness.words(1)[0])
                number = _decided(int(room[kept]), int(words[2 * settled + 1]), drawn, bits, sigma, rounded)
                used += 1
                if number is not None:
                    out[filled] = number
                    filled += 1
                settled += 1
    return out


def _decided(slab: int, word: int, drawn: int, bits: int, sigma: float, rounded: bool) -> int | None:
    """The number in a slab that a word makes, if it is kept, decided with 100 digits; None if it is not."""
    place = (slab << bits) + (word & ((1 << bits) - 1))
    number = -place - 1 if word >> bits & 1 else place
    with localcontext() as context:
        context.prec = 100
        variance = Decimal(sigma) ** 2
        odds = (-(Decimal(number) ** 2 - Decimal(slab << bits) ** 2) / (2 * variance)).exp()
        if rounded:  # brought below 1 everywhere by a constant factor, which does not change the law
            odds *= rounded_to_discrete(number, variance) * (1 - Decimal(2) ** -44)
        chance = Decimal((word >> (bits + 1)) << 128 | drawn) / Decimal(1 << (128 + 63 - bits))
        return number if chance < odds else None


@lru_cache(maxsize=16)
def _tables(sigma: float) -> tuple[int, AnyArray, AnyArray, AnyArray, AnyArray]:
    """Width of a slab in bits, thresholds (upper and lower 64 bits), look-up guide, and what is kept for sure."""
    bits = max(0, math.floor(math.log2(sigma)) - 6)
    chances = 63 - bits
    with localcontext() as context:
        context.prec = 100
        twice = 2 * Decimal(sigma) ** 2
        odds = [int((-(Decimal(j << bits) ** 2) / twice).exp() * 2**256) for j in range(SLABS)]
        steps = [(-Decimal((2 * j + 1) << (2 * bits)) / twice).exp() for j in range(SLABS)]
        # A little below the odds at the far edge, whatever their rounding: what lies below is kept in any case.
        sure = [max(0, int((step - Decimal(2) ** -40) * 2**chances) - 1) for step in steps]
    total, sums = sum(odds), np.cumsum(np.array(odds, dtype=object))
    thresholds = [min((int(part) << 128) // total, 2**128 - 1) for part in sums]
    upper = np.array([threshold >> 64 for threshold in thresholds], dtype=np.uint64)
    lower = np.array([threshold & (2**64 - 1) for threshold in thresholds], dtype=np.uint64)
    starts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    guide = np.searchsorted(upper, starts, side="left").astype(np.uint16)
    found = upper, lower, guide, np.array(sure, dtype=np.uint64)
    for table in found:
        table.setflags(write=False)
    return bits, *found
