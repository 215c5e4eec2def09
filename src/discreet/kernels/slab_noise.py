"""Gaussian integers by rejection from slabs: one word says in which slab a number lies, another where in it.

See :mod:`discreet.privacy.slabs` for the law. Only integers are compared, and doubles where they leave no doubt.
"""

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import AnyArray

GUIDE_BITS = 13


@njit(cache=True, nogil=True)
def draw_from_slabs(
    words: AnyArray,
    more: AnyArray,
    high: AnyArray,
    low: AnyArray,
    guide: AnyArray,
    sure: AnyArray,
    bits: int,
    sigma: float,
    doubt: float,
    first: int,
    used: int,
    out: AnyArray,
) -> tuple[int, int, int]:
    """Numbers from pairs of words, from the pair ``first`` on, in order.

    A slab is the least j with U < c_j. Of the second word the lowest ``bits`` are the place in the slab, the next is
    the sign, and the others say whether the number is kept: at once where they lie below ``sure[j]``, else with a word
    of ``more``. It stops where doubles cannot decide, with j in ``out``, or when ``more`` is used up. Returns how many
    were kept, how many pairs were settled, and how many words of ``more`` were used.
    """
    kept = 0
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    scale = 2.0 ** (-float(63 - bits))
    for pair in range(first, len(words) // 2):
        word = words[2 * pair]
        j = np.int64(guide[np.int64(word >> np.uint64(64 - GUIDE_BITS))])
        while word > high[j]:
            j += 1
        if word == high[j]:
            if used >= len(more):
                return kept, pair, used
            second = more[used]
            used += 1
            while j < len(high) - 1 and word == high[j] and second >= low[j]:
                j += 1
        word = words[2 * pair + 1]
        place = (np.int64(j) << np.int64(bits)) + np.int64(word & mask)
        negative = np.int64((word >> shift) & np.uint64(1))
        number = place ^ -negative  # minus the number, minus one
        chance = word >> (shift + np.uint64(1))
        if chance >= sure[j]:
            if used >= len(more):
                return kept, pair, used
            edge = float(np.int64(j) << np.int64(bits))
            size = abs(float(number))
            odds = np.exp(-0.5 * ((size - edge) / sigma) * ((size + edge) / sigma))
            drawn = (float(chance) + float(more[used]) * 2.0**-64) * scale
            if abs(drawn - odds) <= doubt:
                out[kept] = j
                return kept, pair, used
            used += 1
            if drawn >= odds:
                continue
        out[kept] = number
        kept += 1
    return kept, len(words) // 2, used


@njit(cache=True, nogil=True)
def add_on_grid(values: AnyArray, noise: AnyArray, grid: float, out: AnyArray) -> None:
    """Round to the grid, clip to a public range and add the noise."""
    most = 2.0**61
    for cell in range(len(values)):
        steps = np.rint(values[cell] / grid)
        out[cell] = float(np.int64(min(max(steps, -most), most)) + noise[cell]) * grid
