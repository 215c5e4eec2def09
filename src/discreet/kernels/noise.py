"""Integer noise from uniform 64-bit words, by table look-up.

``digit`` draws one base-4096 digit: the least k with U < c_k, where c is a rising table of 128-bit
thresholds and U a uniform number of which the first 64 bits are one word. Only when those 64 bits equal
the threshold's (odds below 2**-52) is a second word taken.
"""

import numpy as np
from numba import njit

from discreet.types import AnyArray

DIGIT_BITS = 12
GUIDE_BITS = 13


@njit(cache=True, inline="always")
def _digit(word: int, level: int, high: AnyArray, low: AnyArray, guide: AnyArray, spare: AnyArray) -> int:
    k = guide[level, word >> np.uint64(64 - GUIDE_BITS)]
    while word > high[level, k]:
        k += 1
    if word == high[level, k]:
        second = spare[spare[0]]
        spare[0] -= np.uint64(1)
        while word == high[level, k] and second >= low[level, k]:
            k += 1
    return np.int64(k)  # type: ignore[return-value]


@njit(cache=True)
def discrete_laplace(
    words: AnyArray, high: AnyArray, low: AnyArray, guide: AnyArray, spare: AnyArray, out: AnyArray
) -> int:
    """Geometric numbers, digit by digit, with a random sign; of the two zeros only the positive one is kept.

    Takes one word for each digit and one for the sign. Returns how many of ``out`` were filled.
    """
    levels = high.shape[0]
    kept = 0
    for position in range(0, len(words) - levels, levels + 1):
        total = np.int64(0)
        for level in range(levels):
            total += _digit(words[position + level], level, high, low, guide, spare) << np.int64(DIGIT_BITS * level)
        negative = words[position + levels] >> np.uint64(63)
        if negative and total == 0:
            continue
        out[kept] = (total ^ -np.int64(negative)) + np.int64(negative)  # minus the number, without a branch
        kept += 1
    return kept


@njit(cache=True)
def thin_to_gaussian(
    candidates: AnyArray, words: AnyArray, sigma: float, centre: float, doubt: float, out: AnyArray
) -> tuple[int, int]:
    """Keep each candidate y with odds exp(−(|y| − centre)² / 2σ²), as far as doubles can tell.

    Kept ones go to ``out`` in order. Where the word lies within a share ``doubt`` of the threshold, it
    stops and leaves the decision open. Returns how many were kept and how many candidates were settled.
    """
    kept = 0
    for position in range(len(candidates)):
        distance = (abs(float(candidates[position])) - centre) / sigma
        threshold = np.exp(-0.5 * distance * distance) * 2.0**64
        word = float(words[position])
        if abs(word - threshold) <= doubt * threshold + 2.0**12:
            return kept, position
        if word < threshold:
            out[kept] = candidates[position]
            kept += 1
            if kept == len(out):
                return kept, position + 1
    return kept, len(candidates)
