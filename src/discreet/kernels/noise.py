"""Integer noise from uniform 64-bit words, by table look-up.

A base-4096 digit is the least k with U < c_k, where c is a rising table of thresholds and U a uniform number of which
the first 64 bits are one word. Only when those 64 bits are the threshold's own (odds below 2**-52) is more needed.
"""

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import AnyArray

DIGIT_BITS = 12
GUIDE_BITS = 13


@njit(cache=True)
def geometric_digits(words: AnyArray, high: AnyArray, guide: AnyArray, out: AnyArray, ties: AnyArray) -> int:
    """Geometric numbers, digit by digit; ``high`` has the first words of the thresholds of every digit.

    ``words`` holds a word for the lowest digit of every number, then one for the next digit of every number, and so on:
    a whole pass for each digit is several times quicker than number by number. A word that is the first one of a
    threshold does not tell the digit, which then counts 0 here: its place goes to ``ties``. Returns how many there are,
    also where ``ties`` holds fewer.
    """
    count, tied = len(out), 0
    for level in range(high.shape[0]):
        upper, start = high[level], guide[level]
        shift = np.int64(DIGIT_BITS * level)
        for position in range(count):
            word = words[level * count + position]
            k = np.int64(start[np.int64(word >> np.uint64(64 - GUIDE_BITS))])
            # Most cells of the guide hold one threshold or none. On which side of it a word lies is a coin's toss, so
            # a branch would be guessed wrongly: this step has none, and more than it is hardly ever needed.
            k += np.int64(word > upper[k])
            if word >= upper[k]:
                while word > upper[k]:
                    k += 1
                if word == upper[k]:
                    k = np.int64(0)
                    if tied < len(ties):
                        ties[tied] = level * count + position
                    tied += 1
            out[position] = k << shift if level == 0 else out[position] + (k << shift)
    return tied


@njit(cache=True)
def put_signs(numbers: AnyArray, words: AnyArray, out: AnyArray) -> int:
    """Numbers with random signs, of the two zeros only the positive one; returns how many of ``out`` were filled."""
    kept = 0
    for position in range(len(numbers)):
        negative = np.int64(words[position] >> np.uint64(63))
        out[kept] = (numbers[position] ^ -negative) + negative  # minus the number, without a branch
        kept += 1 - int((negative == 1) & (numbers[position] == 0))
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
        out[kept] = candidates[position]  # overwritten by the next one unless it is kept
        kept += int(word < threshold)
        if kept == len(out):
            return kept, position + 1
    return kept, len(candidates)
