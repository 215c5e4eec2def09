"""Noise on a lattice: integers with an exactly known law, from secret random words.

Textbook samplers on doubles leak, because which outputs can be reached depends on the input. Here the
statistic is rounded to a public grid, integer noise is added, and the sum is a multiple of the grid
whatever the statistic was. What happens to it afterwards is post-processing.

**Discrete Laplace**, P(x) ∝ exp(−|x|/t). A geometric number with ratio q = exp(−1/t) and a random sign has
this law once one of the two zeros is thrown away. The base-b digits of a geometric number are independent,
since P(n) ∝ q^n factorises over the digits of n: digit l, worth b^l, is a geometric number with ratio
q^(b^l) conditioned to lie below b. Each digit is looked up in a table of 128-bit thresholds; the digits above
the last one are left out, which matters with odds q^(b^L) < 2**-127.

**Discrete Gaussian**, P(x) ∝ exp(−x²/2σ²). A discrete Laplace number y with t = ⌊σ⌋ + 1 is kept with odds
exp(−(|y| − σ²/t)²/2σ²), since exp(−|y|/t) times that is a constant times exp(−y²/2σ²). The odds are computed
in doubles; whenever the drawn word lies so close that rounding might matter, they are computed again with
100 digits.

**Rounded Gaussian**, P(x) = P(x − ½ < N(0, σ²) < x + ½). Adding it to an integer is the same as adding Gaussian
noise and rounding the result, so what is proven of Gaussian noise holds for it to the letter, in any
dimension. For σ ≥ 2**26 its odds differ from the discrete Gaussian's by less than a factor 1 ± 2**-45 (within
40σ), far less than the margin in which decisions are taken with 100 digits: only these need to know.

**How far from the ideal.** A draw of either law is within a statistical distance of 2**-100 of it: table
entries are off by at most 2**-126, at most 4096 · 4 of them take part in a draw, and 2**-127 is cut off.
The ledger books this in delta (:data:`SAMPLER_DISTANCE`).
"""

import math
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import require
from discreet.kernels.noise import DIGIT_BITS, GUIDE_BITS, discrete_laplace, thin_to_gaussian
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

SAMPLER_DISTANCE = 2.0**-100
"""Statistical distance of one draw from its ideal law."""

LARGEST_SCALE = 2.0**45
SMALLEST_ROUNDED = 2.0**26
_BASE = 1 << DIGIT_BITS
_TOP_SCALE = _BASE / (127 * math.log(2))  # the last digit's scale: what it cuts off has odds below 2**-127
_BLOCK = 1 << 18
_DOUBT = 2.0**-40

Integers = NDArray[np.int64]


def draw_discrete_laplace(scale: float, count: int, randomness: Randomness) -> Integers:
    """Integers with P(x) ∝ exp(−|x| / scale).

    >>> draw_discrete_laplace(2.0, 3, Randomness()).dtype
    dtype('int64')
    """
    _check_scale(scale)
    high, low, guide = _tables(scale)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        size = min(_BLOCK, count - filled)
        words = randomness.words((len(high) + 1) * size)
        filled += discrete_laplace(words, high, low, guide, _spare(randomness), out[filled:])
    return out


def draw_discrete_gaussian(sigma: float, count: int, randomness: Randomness, *, doubt: float = _DOUBT) -> Integers:
    """Integers with P(x) ∝ exp(−x² / 2σ²).

    ``doubt`` is how close to the threshold a decision is taken with 100 digits; doubles err by less than
    2**-43 here, so there is no reason to change it but to test that path.

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
                drawn = int(words[settled]) << 64 | int(randomness.words(1)[0])
                if Decimal(drawn) < _threshold(candidate, exact_sigma, laplace_scale, rounded):
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


def _threshold(candidate: int, sigma: float | Decimal, laplace_scale: float, rounded: bool) -> Decimal:
    """The odds with which a candidate is kept, times 2**128, with 100 digits."""
    with localcontext() as context:
        context.prec = 100
        variance = Decimal(sigma) ** 2
        centre = variance / Decimal(laplace_scale)
        odds = (-((abs(candidate) - centre) ** 2) / (2 * variance)).exp()
        if rounded:
            # Brought below 1 everywhere by a constant factor, which does not change the law.
            odds *= rounded_to_discrete(candidate, variance) * (1 - Decimal(2) ** -44)
        return odds * 2**128


def rounded_to_discrete(x: int, variance: Decimal) -> Decimal:
    """∫ exp(−(2xt + t²)/2σ²) dt over |t| < ½: the rounded Gaussian's odds over exp(−x²/2σ²), as a power series."""
    slope_squared, curve = (Decimal(x) / variance) ** 2, 1 / (2 * variance)
    total, slope_term = Decimal(0), Decimal(1)
    for i in range(8):
        term = slope_term
        for j in range(8):
            total += term / (4 ** (i + j) * (2 * (i + j) + 1))  # ∫ t^(2(i+j)) dt
            term *= -curve / (j + 1)
        slope_term *= slope_squared / ((2 * i + 1) * (2 * i + 2))
    return total


def _tables(scale: float) -> tuple[AnyArray, AnyArray, AnyArray]:
    """What every digit of a geometric number is looked up in."""
    levels = 1
    while scale / _BASE ** (levels - 1) > _TOP_SCALE:
        levels += 1
    return digit_tables(scale, 0, levels)


@lru_cache(maxsize=16)
def digit_tables(scale: float, first: int, levels: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Thresholds (upper and lower 64 bits) and look-up guide of some digits of a geometric number, from ``first``."""
    high = np.empty((levels, _BASE), dtype=np.uint64)
    low = np.empty((levels, _BASE), dtype=np.uint64)
    guide = np.empty((levels, 1 << GUIDE_BITS), dtype=np.uint16)
    for level in range(levels):
        thresholds = _digit_thresholds(scale, first + level)
        high[level] = [threshold >> 64 for threshold in thresholds]
        low[level] = [threshold & (2**64 - 1) for threshold in thresholds]
        starts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
        guide[level] = np.searchsorted(high[level], starts, side="left")
    for table in (high, low, guide):
        table.setflags(write=False)
    return high, low, guide


def _digit_thresholds(scale: float, level: int) -> list[int]:
    """P(digit ≤ k) for k = 0 … base − 1, as whole multiples of 2**-128."""
    with localcontext() as context:
        context.prec = 100
        ratio = int((-(Decimal(_BASE) ** level) / Decimal(scale)).exp() * 2**256)  # in units of 2**-256
    power, powers = 1 << 256, []
    for _ in range(_BASE):
        power = (power * ratio) >> 256
        powers.append(power)
    whole = (1 << 256) - powers[-1]
    thresholds = [(((1 << 256) - power) << 128) // whole for power in powers]
    return [min(threshold, 2**128 - 1) for threshold in thresholds]


def _spare(randomness: Randomness) -> AnyArray:
    """Second words for the rare look-ups that need one; entry 0 counts down which is next."""
    spare = randomness.words(64)
    spare[0] = 63
    return spare


def _check_scale(scale: float) -> None:
    require(0 < scale <= LARGEST_SCALE, f"integer noise needs a scale above 0 and at most 2**45, got {scale}")
