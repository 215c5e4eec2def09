"""Noise on a lattice: integers with an exactly known law, from secret random words.

Textbook samplers on doubles leak, because which outputs can be reached depends on the input. Here the
statistic is rounded to a public grid, integer noise is added, and the sum is a multiple of the grid
whatever the statistic was. What happens to it afterwards is post-processing.

**Discrete Laplace**, P(x) ∝ exp(−|x|/t). A geometric number with ratio q = exp(−1/t) and a random sign has
this law once one of the two zeros is thrown away. The base-b digits of a geometric number are independent,
since P(n) ∝ q^n factorises over the digits of n: digit l, worth b^l, is a geometric number with ratio
q^(b^l) conditioned to lie below b, and what is above the lower digits is a geometric number without a condition. A
digit is the least k with U < c_k for its thresholds c and a uniform number U.

**Discrete Gaussian**, P(x) ∝ exp(−x²/2σ²). A discrete Laplace number y with t = ⌊σ⌋ + 1 is kept with odds
exp(−(|y| − σ²/t)²/2σ²), since exp(−|y|/t) times that is a constant times exp(−y²/2σ²).

**Rounded Gaussian**, P(x) = P(x − ½ < N(0, σ²) < x + ½). Adding it to an integer is the same as adding Gaussian
noise and rounding the result, so what is proven of Gaussian noise holds for it to the letter, in any
dimension. For σ ≥ 2**26 its odds differ from the discrete Gaussian's by less than a factor 1 ± 2**-45 (within
40σ), far less than the margin in which decisions are taken exactly: only these need to know.

**These laws are exact.** Every decision compares a uniform number with odds that are known to any precision. Its first
64 bits mostly tell: kernels look at them alone, in tables of the first words of thresholds or with odds in doubles
whose error is bounded, and leave open whatever that does not settle. Then further bits are drawn, with the odds to as
many digits as they need, until the number lies on one side (:func:`is_below`). So with large epsilons as with small
ones nothing has to be added to delta; an error of 2**-100 would count e^ε times. (Noise is clipped at 2**62 steps: with
scales up to 2**45 that has odds below exp(−2**17), which times e^1000 is less than any delta that a double can hold.)
"""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, getcontext, localcontext
from functools import lru_cache, partial
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from discreet.errors import require
from discreet.kernels.noise import DIGIT_BITS, GUIDE_BITS, geometric_digits, put_signs, thin_to_gaussian
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

LARGEST_SCALE = 2.0**45
SMALLEST_ROUNDED = 2.0**26
_BASE = 1 << DIGIT_BITS
_TOP_SCALE = _BASE / (127 * math.log(2))  # at most this many of the last digit's steps: it hardly ever needs two words
_MOST = 1 << 62
_BLOCK = 1 << 18
_DOUBT = 2.0**-40

Integers = NDArray[np.int64]


def draw_discrete_laplace(scale: float, count: int, randomness: Randomness) -> Integers:
    """Integers with P(x) ∝ exp(−|x| / scale).

    >>> draw_discrete_laplace(2.0, 3, Randomness()).dtype
    dtype('int64')
    """
    _check_scale(scale)
    levels = 1
    while not _is_last(scale, levels - 1):
        levels += 1
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        size = min(_BLOCK, count - filled)
        words = randomness.words((levels + 1) * size)
        numbers = draw_digits(scale, 0, levels, words[: levels * size], spare(randomness))
        filled += put_signs(numbers, words[levels * size :], out[filled:])
    return out


def draw_digits(scale: float, first: int, levels: int, words: AnyArray, more: Iterator[int]) -> Integers:
    """Some digits, from ``first`` on, of geometric numbers with ratio exp(−1 / scale): as numbers, without the others.

    ``words`` holds a word for the lowest digit of every number, then one for the next digit of every number, and so on.
    """
    high, guide = digit_tables(scale, first, levels)
    out = np.empty(len(words) // levels, dtype=np.int64)
    ties = np.empty(64, dtype=np.int64)
    while (found := geometric_digits(words, high, guide, out, ties)) > len(ties):
        ties = np.empty(found, dtype=np.int64)
    for tie in ties[:found].tolist():  # the words that are the first ones of a threshold: see geometric_digits
        level, position = divmod(tie, len(out))
        digit = _tied_digit(scale, first + level, int(words[tie]), more)
        out[position] = min(int(out[position]) + (digit << (DIGIT_BITS * level)), _MOST)
    return out


def draw_discrete_gaussian(sigma: float, count: int, randomness: Randomness, *, doubt: float = _DOUBT) -> Integers:
    """Integers with P(x) ∝ exp(−x² / 2σ²).

    ``doubt`` is how close to the threshold a decision is taken exactly; doubles err by less than 2**-43 here, so there
    is no reason to change it but to test that path.

    >>> draw_discrete_gaussian(2.0, 3, Randomness()).dtype
    dtype('int64')
    """
    _check_scale(sigma)
    return _draw_gaussian(sigma, count, randomness, doubt, rounded=False)


def draw_rounded_gaussian(sigma: float, count: int, randomness: Randomness) -> Integers:
    """Gaussian numbers of standard deviation ``sigma`` ≥ 2**26, rounded to whole ones.

    >>> draw_rounded_gaussian(2.0**28, 3, Randomness()).dtype
    dtype('int64')
    """
    _check_scale(sigma)
    require(sigma >= SMALLEST_ROUNDED, f"a rounded Gaussian needs a sigma of at least 2**26, got {sigma}")
    return _draw_gaussian(sigma, count, randomness, _DOUBT, rounded=True)


def _draw_gaussian(
    exact_sigma: float | Decimal,
    count: int,
    randomness: Randomness,
    doubt: float,
    rounded: bool,
    laplace_scale: float | None = None,  # any will do; candidates are wasted where it is far from sigma
) -> Integers:
    sigma = float(exact_sigma)  # exact enough for all but the doubtful decisions
    if laplace_scale is None:
        laplace_scale = math.floor(sigma) + 1.0
    centre = sigma * sigma / laplace_scale
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        block = min(_BLOCK, 64 + int(1.5 * (count - filled)))
        candidates = draw_discrete_laplace(laplace_scale, block, randomness)
        words = randomness.words(block)
        settled = 0
        while settled < block and filled < count:
            kept, seen = thin_to_gaussian(candidates[settled:], words[settled:], sigma, centre, doubt, out[filled:])
            filled, settled = filled + kept, settled + seen
            if settled < block and filled < count:  # stopped at a doubtful one
                candidate = int(candidates[settled])
                odds = partial(_odds_of_keeping, candidate, exact_sigma, laplace_scale, rounded)
                if is_below(int(words[settled]), 64, odds, fresh(randomness)):
                    out[filled] = candidate
                    filled += 1
                settled += 1
    return out


def add_laplace(values: AnyArray, scale: float, grid: float, randomness: Randomness) -> Doubles:
    """Round to the grid and add discrete Laplace noise: P(noise = x) ∝ exp(−|x| / scale)."""
    return _add(values, grid, draw_discrete_laplace(scale / grid, np.size(values), randomness))


def add_gaussian(values: AnyArray, sigma: float, grid: float, randomness: Randomness) -> Doubles:
    """Round to the grid and add Gaussian noise that is rounded to the grid too."""
    return _add(values, grid, draw_rounded_gaussian(sigma / grid, np.size(values), randomness))


def grid_of(scale: float, cells: float = 1) -> float:
    """A public grid, fine beside noise of this scale: a power of two.

    Rounding moves every number by at most half a step, so the images of two neighbours that differ in
    ``n`` cells lie at most ``n · grid`` (L1) or ``√n · grid`` (L2) further apart than the neighbours. With
    ``cells`` = n or √n this is below 2**-18 of the scale for up to 2**22 cells.

    >>> grid_of(1.5) == 2.0**-28
    True
    """
    bits = 28 if cells <= 1024 else min(40, 18 + math.ceil(math.log2(cells)))
    return float(2.0 ** (math.floor(math.log2(scale)) - bits))


def _add(values: AnyArray, grid: float, noise: Integers) -> Doubles:
    # What lies beyond 64 bits is clipped to a public range, which moves no two neighbours further apart; an error
    # here would come after the ledger was charged, and would tell something about the values.
    steps = np.clip(np.rint(np.asarray(values, dtype=np.float64) / grid), -(2.0**61), 2.0**61)
    return np.asarray((steps.astype(np.int64) + noise.reshape(steps.shape)) * grid, dtype=np.float64)


def is_below(drawn: int, bits: int, odds: Callable[[], Decimal], more: Iterator[int]) -> bool:
    """Whether a uniform number lies below odds, of which ``drawn`` are the first bits: with as many more as that takes.

    ``odds`` computes with the precision of the decimal context; it may lose 30 digits.

    >>> is_below(1 << 62, 64, lambda: Decimal(1) / 3, iter([]))
    True
    """
    while True:
        with localcontext() as context:
            context.prec = bits // 3 + 40  # 2**bits has fewer digits than that, by 40 and more
            limit = odds() * 2**bits
        if drawn + 2 <= limit:
            return True
        if drawn - 1 >= limit:
            return False
        drawn, bits = drawn << 64 | next(more), bits + 64


def fresh(randomness: Randomness) -> Iterator[int]:
    """Words one by one, each drawn when it is needed."""
    return (int(randomness.words(1)[0]) for _ in repeat(None))


def spare(randomness: Randomness) -> Iterator[int]:
    """The same, the first ones drawn at once: what is drawn after them does not depend on how many were needed."""
    return chain(randomness.words(64).tolist(), fresh(randomness))


def _odds_of_keeping(candidate: int, sigma: float | Decimal, laplace_scale: float, rounded: bool) -> Decimal:
    """The odds with which a candidate is kept, with the precision of the context."""
    variance = Decimal(sigma) ** 2
    centre = variance / Decimal(laplace_scale)
    odds = (-((abs(candidate) - centre) ** 2) / (2 * variance)).exp()
    if rounded:
        # Brought below 1 everywhere by a constant factor, which does not change the law.
        odds *= rounded_to_discrete(candidate, variance) * (1 - Decimal(2) ** -44)
    return odds


def rounded_to_discrete(x: int, variance: Decimal) -> Decimal:
    """∫ exp(−(2xt + t²)/2σ²) dt over |t| < ½: the rounded Gaussian's odds over exp(−x²/2σ²), as a power series."""
    slope_squared, curve = (Decimal(x) / variance) ** 2, 1 / (2 * variance)
    total, slope_term = Decimal(0), Decimal(1)
    terms = 8 + getcontext().prec // 10  # within 100σ each has 11 digits more
    for i in range(terms):
        term = slope_term
        for j in range(terms):
            total += term / (4 ** (i + j) * (2 * (i + j) + 1))  # ∫ t^(2(i+j)) dt
            term *= -curve / (j + 1)
        slope_term *= slope_squared / ((2 * i + 1) * (2 * i + 2))
    return total


@lru_cache(maxsize=16)
def digit_tables(scale: float, first: int, levels: int) -> tuple[AnyArray, AnyArray]:
    """First words of the thresholds and look-up guide of some digits of a geometric number, from ``first`` on."""
    high = np.array([_first_words(scale, first + level) for level in range(levels)], dtype=np.uint64)
    starts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    guide = np.array([np.searchsorted(row, starts, side="left") for row in high], dtype=np.uint16)
    for table in (high, guide):
        table.setflags(write=False)
    return high, guide


def _is_last(scale: float, level: int) -> bool:
    """Whether a digit has no others above it, and so no condition."""
    return scale <= _TOP_SCALE * float(_BASE) ** level


def _first_words(scale: float, level: int, precision: int = 256) -> list[int]:
    """The whole part of 2**64·P(digit ≤ k) for k = 0 … base − 1; with 2**64 − 1 for what is larger."""
    unit = 1 << precision
    with localcontext() as context:
        context.prec = precision // 3 + 80
        ratio = int((-(Decimal(_BASE) ** level) / Decimal(scale)).exp() * unit)
    power, below = unit, []
    for _ in range(_BASE):
        power = (power * ratio) >> precision
        below.append(unit - power)
    off = 3 * _BASE  # each power is off by less than 3 more than the one before it
    last = _is_last(scale, level)
    least, most = (unit, unit) if last else (below[-1] - off, below[-1] + off)
    words = [min(((part - off) << 64) // most, 2**64 - 1) for part in below]
    if not last:
        words[-1] = 2**64 - 1
        below.pop()
    if words[: len(below)] != [min(((part + off) << 64) // least, 2**64 - 1) for part in below]:
        return _first_words(scale, level, 2 * precision)
    return [max(word, 0) for word in words]


def _tied_digit(scale: float, level: int, word: int, more: Iterator[int]) -> int:
    """The digit of a uniform number that begins with a word, with as many more words as it takes to know it."""
    drawn, bits = word, 64
    while True:
        drawn, bits = drawn << 64 | next(more), bits + 64
        if drawn + 1 == 1 << bits:
            continue
        with localcontext() as context:
            context.prec = 2 * (bits // 3) + 80  # of which 1 − whole·U loses up to half, and 40 where steps are tiny
            step = -(Decimal(_BASE) ** level) / Decimal(scale)
            whole = Decimal(1) if _is_last(scale, level) else 1 - (_BASE * step).exp()
            # U < (1 − r^(k + 1)) / whole is k + 1 > log(1 − whole·U) / log r.
            low, high = ((1 - whole * end / 2**bits).ln() / step for end in (Decimal(drawn), Decimal(drawn + 1)))
            hair = Decimal(10) ** -(bits // 3 + 20)
            if math.floor(low - hair) == math.floor(high + hair):
                return int(low)


def _check_scale(scale: float) -> None:
    require(0 < scale <= LARGEST_SCALE, f"integer noise needs a scale above 0 and at most 2**45, got {scale}")
