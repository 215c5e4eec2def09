"""Noise in shares: several parties each draw a little, and the sum is what one trusted party would have drawn.

Nobody then knows the whole noise, and no party has to be trusted to draw it. ``honest`` says how many parties must
draw their share as told and keep it secret for the guarantee to hold. If more do, there is more noise, which
is independent and so costs nothing but accuracy; what the others add is theirs to know and takes nothing
away. The shares hide a sum only if the sum is all that anyone sees: send them masked, to a secure sum.

**Discrete Laplace**, P(x) ∝ exp(−|x|/t), q = e^(−1/t). It is the difference of two geometric numbers, and a geometric
number is the sum of m independent negative binomial numbers of shape 1/m (their generating functions
((1 − q)/(1 − qz))^(1/m) multiply). So a share is the difference of two negative binomial numbers of shape 1/m,
and the sum of m shares has the law *exactly*. A negative binomial number is a Poisson number, of mean
−ln(1 − q)/m, of logarithmic numbers, P(n) ∝ q^n/n. These are drawn by rejection: a power of two 2^j with odds ∝
q^(2^j), a uniform n from 2^j up to 2^(j+1), kept with odds (2^j/n)·q^(n − 2^j); the product is ∝ q^n/n for
every n. Tables have 128 bits, and odds that doubles cannot settle are computed with 100 digits, so that a
share is within :data:`SAMPLER_DISTANCE` of its law: the tables are off by less than 2**-115 together, and
what they cut off has odds below 2**-120.

**Gaussian.** A share is a discrete Gaussian number with σ/√m. The sum of two discrete Gaussian numbers with variances a
and b has odds exp(−x²/2(a + b))·Σ_y exp(−(y − c)²/2s²) with s² = ab/(a + b) and some c. By Poisson summation that
last sum is s√2π·(1 ± θ) whatever c is, θ ≤ 2.1·exp(−2π²s²); so the odds of the sum are those of a discrete
Gaussian up to a factor (1 + θ)/(1 − θ). Adding share after share s² is at least σ²/2m; with a share's deviation
of at least 4 steps θ < 2**-225 each time, which is nothing beside the samplers.

The sum is a discrete Gaussian vector; ledgers reckon with a rounded one (Gaussian noise, rounded). Their odds differ
by the factor R(x) = ∫ exp(−(2xt + t²)/2σ²) dt over |t| < ½, which is 1 + (x²/σ² − 1)/24σ² up to terms in σ^−4.
Its variance, the χ² distance per coordinate, is below 1/280σ⁴; distances of Kullback and Leibler are below that and
add up over d coordinates, so the statistical distance is at most √d/20σ² (:func:`gaussian_share_distance`),
which the ledger books in delta. On the lattices that populations use σ is 2**28 steps and more: √d·2**-60.
"""

import math
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from discreet.errors import require
from discreet.privacy.noise import _DOUBT, SAMPLER_DISTANCE, Integers, _check_scale, draw_discrete_gaussian
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray

SMALLEST_GAUSSIAN_SHARE = 4.0
_BLOCK = 1 << 16


def draw_laplace_share(scale: float, honest: int, count: int, randomness: Randomness) -> Integers:
    """One party's share: ``honest`` of them add up to P(x) ∝ exp(−|x| / scale).

    >>> shares = [draw_laplace_share(2.0, 3, 4, Randomness()) for _ in range(3)]
    >>> sum(shares).dtype
    dtype('int64')
    """
    _check_scale(scale)
    _check_honest(honest)
    out = np.empty(count, dtype=np.int64)
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        up, down = (_negative_binomials(scale, honest, size, randomness) for _ in range(2))
        out[first : first + size] = up - down
    return out


def draw_gaussian_share(sigma: float, honest: int, count: int, randomness: Randomness) -> Integers:
    """One party's share: ``honest`` of them add up to P(x) ∝ exp(−x² / 2σ²), within a stated distance.

    >>> draw_gaussian_share(2.0**28, 100, 3, Randomness()).dtype
    dtype('int64')
    """
    _check_honest(honest)
    share = sigma / math.sqrt(honest)
    require(
        share >= SMALLEST_GAUSSIAN_SHARE,
        f"a share of Gaussian noise needs a deviation of at least 4 steps, got {share:.3g}: take a finer grid",
    )
    return draw_discrete_gaussian(share, count, randomness)


def laplace_share_distance(honest: int, count: int) -> float:
    """Statistical distance of the sum of honest shares from discrete Laplace noise, at most."""
    return honest * count * SAMPLER_DISTANCE


def gaussian_share_distance(sigma: float, honest: int, count: int) -> float:
    """Statistical distance of the sum of honest shares from rounded Gaussian noise, at most; σ ≥ 16 steps.

    >>> gaussian_share_distance(2.0**28, honest=1000, count=10_000) < 1e-15
    True
    """
    require(sigma >= 16, f"the sum of Gaussian shares needs a deviation of at least 16 steps, got {sigma}")
    return honest * count * SAMPLER_DISTANCE + math.sqrt(count) / (20 * sigma**2)


def honest_parties(parties: int, fraction: float) -> int:
    """How many of the parties are trusted to draw their share, at the least.

    >>> honest_parties(1000, 0.5)
    500
    """
    require(parties >= 1, f"noise in shares needs at least 1 party, got {parties}")
    require(0 < fraction <= 1, f"the honest fraction lies in (0, 1], got {fraction}")
    honest = math.floor(fraction * parties)
    require(honest >= 1, f"{fraction} of {parties} parties is less than one honest party")
    return honest


def _negative_binomials(scale: float, parts: int, count: int, randomness: Randomness) -> Integers:
    """P(n) ∝ Γ(n + r)/n! · q^n with r = 1/parts and q = exp(−1/scale)."""
    how_many = _look_up(*_poisson_table(scale, parts), count, randomness)
    sums = np.concatenate([[0], np.cumsum(_logarithmics(scale, int(how_many.sum()), randomness))])
    ends = np.cumsum(how_many)
    return np.asarray(sums[ends] - sums[ends - how_many])


def _logarithmics(scale: float, count: int, randomness: Randomness) -> Integers:
    """P(n) ∝ q^n / n for n ≥ 1, with q = exp(−1/scale)."""
    table = _power_table(scale)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        size = 16 + int(1.6 * (count - filled))
        power = np.int64(1) << _look_up(*table, size, randomness)
        candidates = power + (randomness.words(size).view(np.int64) & (power - 1))
        words = randomness.words(size)
        threshold = power / candidates * np.exp((power - candidates) / scale) * 2.0**64
        kept = words < threshold
        for place in np.flatnonzero(np.abs(words - threshold) <= _DOUBT * threshold + 2.0**12):
            kept[place] = _is_kept(int(candidates[place]), int(power[place]), scale, int(words[place]), randomness)
        accepted = candidates[kept][: count - filled]
        out[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return out


def _is_kept(candidate: int, power: int, scale: float, word: int, randomness: Randomness) -> bool:
    """The decision with 100 digits, and a second word."""
    with localcontext() as context:
        context.prec = 100
        odds = Decimal(power) / candidate * (Decimal(power - candidate) / Decimal(scale)).exp()
        return Decimal(word << 64 | int(randomness.words(1)[0])) < odds * 2**128


@lru_cache(maxsize=64)
def _poisson_table(scale: float, parts: int) -> tuple[AnyArray, AnyArray]:
    """How many logarithmic numbers make a negative binomial one."""
    with localcontext() as context:
        context.prec = 100
        mean = -(1 - (-1 / Decimal(scale)).exp()).ln() / parts
        term = (-mean).exp()
        terms = [term]
        while len(terms) <= mean or term > Decimal(2) ** -130:
            term = term * mean / len(terms)
            terms.append(term)
        return _thresholds(terms)


@lru_cache(maxsize=64)
def _power_table(scale: float) -> tuple[AnyArray, AnyArray]:
    """Which power of two is proposed: 2^j with odds ∝ q^(2^j)."""
    with localcontext() as context:
        context.prec = 100
        terms = [(-1 / Decimal(scale)).exp()]
        while terms[-1] > terms[0] * Decimal(2) ** -130:
            terms.append((-(2 ** len(terms)) / Decimal(scale)).exp())
        return _thresholds(terms)


def _thresholds(weights: list[Decimal]) -> tuple[AnyArray, AnyArray]:
    """The running sums of weights over their total, as 128-bit numbers in two halves; the last is above all."""
    total, running, high, low = sum(weights), Decimal(0), [], []
    for weight in weights:
        running += weight
        threshold = min(int(running / total * 2**128), 2**128 - 1)
        high.append(threshold >> 64)
        low.append(threshold & (2**64 - 1))
    high[-1] = low[-1] = 2**64 - 1
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


def _look_up(high: AnyArray, low: AnyArray, count: int, randomness: Randomness) -> Integers:
    """The least k with U < threshold k, for uniform 128-bit U of which mostly the first word is needed."""
    words = randomness.words(count)
    found = np.searchsorted(high, words, side="left")
    for place in np.flatnonzero(words == high[found]):
        second = int(randomness.words(1)[0])
        while found[place] < len(high) - 1 and words[place] == high[found[place]] and second >= int(low[found[place]]):
            found[place] += 1
    return found.astype(np.int64)


def _check_honest(honest: int) -> None:
    require(honest >= 1, f"noise in shares needs at least 1 honest party, got {honest}")
