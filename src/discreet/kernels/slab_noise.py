"""Gaussian integers by rejection from slabs: one word says in which slab a number lies, another where in it.

See :mod:`discreet.privacy.slabs` for the law and for which words belong to which number. Only integers are compared,
and doubles where they leave no doubt.
"""

from typing import Any

import numpy as np

from discreet.kernels.chacha import chacha_block
from discreet.kernels.compiling import njit
from discreet.types import AnyArray

GUIDE_BITS = 13
KEPT, REJECTED, DOUBTFUL = 1, 0, -1
PAIRS = 4
"""So many pairs of words are in a block."""


@njit(cache=True, nogil=True)
def number_of_pair(
    word: Any, second: Any, high: AnyArray, guide: AnyArray, sure: AnyArray, bits: int, sigma: float, doubt: float
) -> Any:
    """What a pair of words makes: whether the number is kept, and which it is.

    A slab is the least j with U < c_j; ``high`` has the upper 64 bits of c. Of the second word the lowest ``bits`` are
    the place in the slab, the next is the sign, and the others say whether the number is kept.
    """
    shift = np.uint64(bits)
    j = np.int64(guide[np.int64(word >> np.uint64(64 - GUIDE_BITS))])
    while word > high[j]:
        j += 1
    if word == high[j]:
        return DOUBTFUL, 0
    place = (np.int64(j) << np.int64(bits)) + np.int64(second & ((np.uint64(1) << shift) - np.uint64(1)))
    negative = np.int64((second >> shift) & np.uint64(1))
    number = place ^ -negative  # minus the number, minus one
    chance = second >> (shift + np.uint64(1))
    if chance < sure[j]:
        return KEPT, number
    edge = float(np.int64(j) << np.int64(bits))
    size = abs(float(number))
    odds = np.exp(-0.5 * ((size - edge) / sigma) * ((size + edge) / sigma))
    scale = 2.0 ** (-float(63 - bits))
    drawn = float(chance) * scale  # what was drawn lies between this and one more scale
    if drawn + scale + doubt <= odds:
        return KEPT, number
    if drawn - doubt >= odds:
        return REJECTED, number
    return DOUBTFUL, 0


@njit(cache=True, nogil=True)
def draw_from_slabs(
    words: AnyArray,
    first: int,
    key: AnyArray,
    high: AnyArray,
    guide: AnyArray,
    sure: AnyArray,
    bits: int,
    sigma: float,
    doubt: float,
    out: AnyArray,
    doubtful: AnyArray,
) -> int:
    """The numbers ``first``, ``first`` + 1, …, of which ``words`` are the first pairs.

    Returns how many could not be decided; their places in ``out`` are in ``doubtful``.
    """
    undecided = 0
    block = np.empty(16, dtype=np.uint32)
    for place in range(len(out)):
        state, number = number_of_pair(words[2 * place], words[2 * place + 1], high, guide, sure, bits, sigma, doubt)
        attempt = 0
        while state == REJECTED:
            if attempt % PAIRS == 0:
                chacha_block(key, first + place, 1 + attempt // PAIRS, 0, block)
            at = 4 * (attempt % PAIRS)
            word = np.uint64(block[at]) | (np.uint64(block[at + 1]) << np.uint64(32))
            second = np.uint64(block[at + 2]) | (np.uint64(block[at + 3]) << np.uint64(32))
            state, number = number_of_pair(word, second, high, guide, sure, bits, sigma, doubt)
            attempt += 1
        out[place] = number
        if state == DOUBTFUL:
            doubtful[undecided] = place
            undecided += 1
    return undecided


@njit(cache=True, nogil=True)
def add_on_grid(values: AnyArray, noise: AnyArray, grid: float, out: AnyArray) -> None:
    """Round to the grid, clip to a public range and add the noise."""
    most = 2.0**61
    for cell in range(len(values)):
        steps = np.rint(values[cell] / grid)
        out[cell] = float(np.int64(min(max(steps, -most), most)) + noise[cell]) * grid
