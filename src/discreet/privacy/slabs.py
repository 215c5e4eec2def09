"""Gaussian noise on a lattice for millions of cells: the law of :mod:`discreet.privacy.noise`, several times as fast.

The integers from 0 on are cut into slabs of 2^b, with 64 to 128 of them in a standard deviation σ. A number is drawn in
three steps, each with random bits of its own:

    slab      j with odds ∝ exp(−(j 2^b)²/2σ²), looked up in a table of the first words of thresholds
    place     y = j 2^b + v with v uniform over the slab, and x = y or x = −y − 1 by a coin: |x| ≥ j 2^b
    keep      with odds exp(−(x² − (j 2^b)²)/2σ²), else draw again

**Law.** Every x comes from one slab, place and sign alone, so P(x) is a constant times the product of the odds, and
that is exp(−x²/2σ²). For the rounded Gaussian the odds of keeping are multiplied by its odds over exp(−x²/2σ²), up to a
constant below 1. ∎ Most numbers are kept by comparing integers: all odds of a slab lie above those of its far edge. For
the few others the odds are computed in doubles, and wherever rounding might matter exactly, as there: with as many
digits and words as it takes. So is the slab where its word is the first one of a threshold, as for all slabs that have
odds below 2**-64 together; there is no last one.

**Which words.** Every draw of many numbers has a key of its own, out of the stream of secret words, and with it a
ChaCha20 stream. Number c has the pair c of words of the stream; if that is rejected, pairs of blocks of its own, whose
public words say that it is number c and which attempt; and blocks for what doubles cannot decide. No word serves
twice, so numbers are independent, and each can be made without those before it: by several threads, or on a GPU
(:mod:`discreet.kernels.slab_noise_torch`), which makes the same integers.
"""

import math
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from functools import lru_cache, partial
from itertools import accumulate, chain, count, repeat
from operator import mul
from typing import Any

import numpy as np

from discreet.errors import library_for, require
from discreet.kernels.slab_noise import GUIDE_BITS, PAIRS, add_on_grid, draw_from_slabs
from discreet.privacy.noise import is_below, rounded_to_discrete
from discreet.privacy.randomness import Randomness, secret_key
from discreet.types import AnyArray, Doubles

SLABS = 2048
PIECE = 1 << 17
"""So many numbers are made at a time by one thread."""
_ZEROS = memoryview(bytes(16 * PIECE))
DOUBT = 2.0**-40
MOST_THREADS = 16


def add_many_gaussians(values: AnyArray, sigma: float, grid: float, randomness: Randomness) -> Doubles:
    """Round to the grid and add Gaussian noise that is rounded to the grid too; ``sigma / grid`` at least 2**26."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    out = np.empty(len(flat))
    law = _Law(secret_key(randomness), sigma / grid, True, DOUBT)

    def fill(piece: slice) -> None:
        noise = np.empty(piece.stop - piece.start, dtype=np.int64)
        law.fill(piece.start, noise)
        add_on_grid(flat[piece], noise, grid, out[piece])

    _in_pieces(len(flat), fill)
    return out.reshape(np.shape(values))


def draw_from(
    sigma: float, count: int, randomness: Randomness, *, rounded: bool = True, doubt: float = DOUBT
) -> AnyArray:
    """Integers with the odds of a Gaussian of deviation ``sigma`` rounded to whole numbers, or ∝ exp(−x²/2σ²).

    ``doubt`` is how close a decision is taken exactly; doubles err by less than 2**-45 here.

    >>> draw_from(2.0**28, 3, Randomness()).dtype
    dtype('int64')
    """
    law = _Law(secret_key(randomness), sigma, rounded, doubt)
    out = np.empty(count, dtype=np.int64)
    _in_pieces(count, lambda piece: law.fill(piece.start, out[piece]))
    return out


class NoiseOnDevice:
    """Numbers that a GPU makes while others do something else; where there is none torch makes them at once.

    Parameters
    ----------
    sigma, grid, count
        The noise, the grid that it is rounded to, and how many numbers are wanted.
    randomness
        Where the key comes from.
    device
        As torch names it.

    Examples
    --------
    >>> here = NoiseOnDevice(1.0, 2.0**-28, 3, Randomness(seed=1), "cpu").integers()
    >>> here.tolist() == draw_from(2.0**28, 3, Randomness(seed=1)).tolist()
    True
    """

    def __init__(
        self, sigma: float, grid: float, count: int, randomness: Randomness, device: str, *, doubt: float = DOUBT
    ) -> None:
        from discreet.kernels.slab_noise_torch import draw_by_torch

        self._grid, self._law = grid, _Law(secret_key(randomness), sigma / grid, True, doubt)
        _check_count(count)
        self._drawn = draw_by_torch(self._law.key_words, _on_device(sigma / grid, doubt, device), count)

    def integers(self) -> Any:
        """A tensor of whole numbers."""
        for place in self._drawn.doubtful():
            self._drawn.decide(place, self._law.decided(place))
        return self._drawn.numbers

    def add_to(self, values: Any, divisor: float = 1.0, *, single: bool = False) -> Any:
        """Round a tensor of doubles to the grid and add the noise, on the device.

        Then, which is post-processing, divide by a public number and round to single precision if wanted.
        """
        from discreet.kernels.slab_noise_torch import add_on_grid_by_torch

        noisy = add_on_grid_by_torch(values.ravel(), self.integers(), self._grid, divisor, single=single)
        return noisy.reshape(values.shape)


def _in_pieces(count: int, work: Any) -> None:
    """Do a work piece by piece, by several threads."""
    pieces = [slice(first, min(first + PIECE, count)) for first in range(0, count, PIECE)]
    threads = max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)), len(pieces)))
    if pieces:
        work(pieces[0])  # which compiles, once
    if threads == 1:
        for piece in pieces[1:]:
            work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        for task in [pool.submit(work, piece) for piece in pieces[1:]]:
            task.result()


def _check_count(count: int) -> None:
    require(count < 1 << 32, f"at most 2**32 numbers are drawn at once, and not {count:,}")


class _Law:
    """The numbers of one key."""

    def __init__(self, key: bytes, sigma: float, rounded: bool, doubt: float) -> None:
        self.key, self.sigma, self.rounded, self.doubt = key, sigma, rounded, doubt
        self.key_words = np.frombuffer(key, dtype="<u4").astype(np.uint32)

    def fill(self, first: int, out: AnyArray) -> None:
        """The numbers from ``first`` on; ``first`` is a multiple of a piece."""
        _check_count(first + len(out))
        bits, high, guide, sure = _tables(self.sigma)
        words = self._words(first // PAIRS, 0, 0, 2 * len(out))
        doubtful = np.empty(len(out), dtype=np.int32)
        found = draw_from_slabs(
            words, first, self.key_words, high, guide, sure, bits, self.sigma, self.doubt, out, doubtful
        )
        for place in doubtful[:found].tolist():
            out[place] = self.decided(first + place)

    def decided(self, cell: int) -> int:
        """The number of a cell, attempt by attempt, all of it exactly."""
        bits, high, _, _ = _tables(self.sigma)
        attempt = 0
        while True:
            if attempt == 0:
                pair = self._words(cell // PAIRS, 0, 0, 8)[2 * (cell % PAIRS) :][:2]
            else:
                place = (attempt - 1) % PAIRS
                pair = self._words(cell, 1 + (attempt - 1) // PAIRS, 0, 8)[2 * place :][:2]
            word, second = (int(drawn) for drawn in pair)
            blocks = (self._words(cell, attempt, purpose, 8).tolist() for purpose in count(1))
            more = chain.from_iterable(blocks)
            slab = int(np.searchsorted(high, np.uint64(word)))
            if word == int(high[slab]):
                slab = _tied_slab(word, self.sigma, bits, more)
            place = (slab << bits) + (second & ((1 << bits) - 1))
            number = -place - 1 if second >> bits & 1 else place
            odds = partial(_odds_of_keeping, number, slab << bits, self.sigma, self.rounded)
            if is_below(second >> (bits + 1), 63 - bits, odds, more):
                return number
            attempt += 1

    def _words(self, counter: int, attempt: int, purpose: int, count: int) -> AnyArray:
        """Words of the stream from a block on."""
        with library_for("noise"):
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        public = struct.pack("<4I", counter, 0, attempt, purpose)
        stream = Cipher(algorithms.ChaCha20(self.key, public), mode=None).encryptor()
        out = np.empty(count, dtype=np.uint64)
        stream.update_into(_ZEROS[: 8 * count], out.data.cast("B"))
        return out


def _odds_of_keeping(number: int, edge: int, sigma: float, rounded: bool) -> Decimal:
    """The odds with which a number in the slab from ``edge`` on is kept, with the precision of the context."""
    variance = Decimal(sigma) ** 2
    odds = (-Decimal(number**2 - edge**2) / (2 * variance)).exp()
    if rounded:  # brought below 1 everywhere by a constant factor, which does not change the law
        odds *= rounded_to_discrete(number, variance) * (1 - Decimal(2) ** -44)
    return odds


def _sums_of_odds(sigma: float, bits: int, precision: int) -> list[int]:
    """Sums of the odds of all slabs up to each, in units of 2**-precision: those beyond the last come to less than one.

    Each odd is off by less than one unit, and so a sum by at most as many as there are slabs, and one.
    """
    with localcontext() as context:
        context.prec = precision // 3 + 60
        slabs = math.ceil(math.sqrt((precision + 20) * 2 * math.log(2)) * sigma / 2**bits)
        # The product of the steps over all before j is exp(−j² a).
        odds = accumulate(_steps(sigma, bits, slabs - 1), mul, initial=Decimal(1))
        return list(accumulate(int(odd * (1 << precision)) for odd in odds))


def _steps(sigma: float, bits: int, count: int) -> Iterator[Decimal]:
    """exp(−(2j + 1) a) = exp(−a) exp(−2a)ʲ, where exp(−j² a) are the odds of the slabs."""
    first = (-Decimal(1 << (2 * bits)) / (2 * Decimal(sigma) ** 2)).exp()
    return accumulate(repeat(first**2, count - 1), mul, initial=first)


def _tied_slab(word: int, sigma: float, bits: int, more: Iterator[int]) -> int:
    """The slab of a uniform number that begins with a word, with as many more words as it takes to know it."""
    drawn, known = word, 64
    while True:
        drawn, known = drawn << 64 | next(more), known + 64
        sums = _sums_of_odds(sigma, bits, known + 64)
        total, off = sums[-1], len(sums) + 1
        # The least slab that may hold it, and the least that surely does: the same, unless a threshold is in between.
        least = bisect_right(sums, (drawn * (total - off) >> known) - off)
        most = bisect_left(sums, off - (-(drawn + 1) * (total + off) >> known))
        if least == most < len(sums):
            return least


@lru_cache(maxsize=16)
def _on_device(sigma: float, doubt: float, device: str) -> Any:
    from discreet.kernels.slab_noise_torch import Slabs

    bits, high, _, _ = _tables(sigma)
    return Slabs.of(bits, sigma, doubt, high, device)


def _first_words(sigma: float, bits: int, precision: int = 256) -> list[int]:
    """The whole part of 2**64·P(slab ≤ j) for the first slabs; with 2**64 − 1 for what is larger."""
    sums = _sums_of_odds(sigma, bits, precision)
    total, off = sums[-1], len(sums) + 1
    first = sums[:SLABS] + [total] * (SLABS - len(sums))
    words = [min(((part - off) << 64) // (total + off), 2**64 - 1) for part in first]
    if words != [min(((part + off) << 64) // (total - off), 2**64 - 1) for part in first]:
        return _first_words(sigma, bits, 2 * precision)
    return words


@lru_cache(maxsize=16)
def _tables(sigma: float) -> tuple[int, AnyArray, AnyArray, AnyArray]:
    """Width of a slab in bits, first words of the thresholds, look-up guide, and what is kept for sure."""
    bits = max(0, math.floor(math.log2(sigma)) - 6)
    chances = 63 - bits
    with localcontext() as context:
        context.prec = 100
        # A little below the odds at the far edge, whatever their rounding: what lies below is kept in any case.
        edges = _steps(sigma, bits, SLABS)
        sure = [max(0, int((edge - Decimal(2) ** -40) * 2**chances) - 1) for edge in edges]
    upper = np.array(_first_words(sigma, bits), dtype=np.uint64)
    starts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    guide = np.searchsorted(upper, starts, side="left").astype(np.uint16)
    found = upper, guide, np.array(sure, dtype=np.uint64)
    for table in found:
        table.setflags(write=False)
    return bits, *found
