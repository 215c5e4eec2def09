"""Noise whose density falls with its length: P(η) ∝ exp(−‖η‖/s) in d dimensions, rounded to a lattice.

This is the noise that hides a bound in L2 with a pure epsilon (s = sensitivity/ε): by the triangle inequality no
output is more than e^(D/s) times likelier after a shift of length D. Its direction is uniform and its length
follows Gamma(d, s), so it is far larger than Gaussian noise in many dimensions; objective perturbation uses it.

**How it is drawn.** η = s·χ·N, where χ² has d + 1 degrees of freedom and N is a standard normal vector,
independent of it. Proof: given v = χ² the density at x is proportional to v^(−d/2) exp(−‖x‖²/2s²v), and χ² has
density ∝ v^((d−1)/2) e^(−v/2). Their product, integrated over v, is ∫ v^(−1/2) exp(−v/2 − ‖x‖²/2s²v) dv
= √(2π)·exp(−‖x‖/s), the integral of the inverse Gaussian law. So only one number, σ = s·χ, is needed
before everything is Gaussian noise, and *given σ the rounded Gaussian of* :mod:`discreet.privacy.noise` *adds it
without any floating-point error*. χ²/2 is a sum of exponential numbers (and half a one, E·cos², for even d), drawn
as a geometric number with mean 2**89, and below its last digit by rejection: given all digits down to 2**-89 the rest
F of an exponential number has density ∝ e^(−F), so a uniform one is kept with odds e^(−F).

**Small σ.** The rounded Gaussian wants σ ≥ 2**26. For any odd f, rounding x·f to a whole number, dividing by f and
rounding again gives x rounded, because every half-integer times f is a half-integer. So a small σ is drawn on
a lattice f times finer.

**How far from the ideal.** Rounding down to 2**-2073 moves χ²/2 = Γ by at most (k + 1)·2**-2073
for its k ≤ (d + 1)/2 + ½ terms, and its root is rounded down to 2**-2073 too, so σ moves by a share h of at most
(k + 1)·2**-2074/Γ + 2**-2073/√(2Γ). Two Gaussians in d dimensions whose σ differ by a
share h are within √d·h of each other in statistical distance (Pinsker). Averaged over Γ this is below √d·2**-2060
(d = 1, where E[min(1, 1/Γ)] diverges slowly, is the worst): times e^1000 less than any delta that a double can hold.

**What is not proven.** The result above covers :func:`add_ball`: a vector, rounded to the lattice, plus this noise.
Objective perturbation puts the noise inside an optimisation and releases the minimiser; its proof needs the exact
minimiser and a density, and neither a solver that stops early nor arithmetic on doubles gives these. A model
that uses it must say so in its guarantee, or release a rounded minimiser with output perturbation.
"""

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext

import numpy as np

from discreet.errors import require
from discreet.kernels.noise import DIGIT_BITS
from discreet.privacy.noise import (
    _DOUBT,
    LARGEST_SCALE,
    SMALLEST_ROUNDED,
    Integers,
    _add,
    _draw_gaussian,
    add_laplace,
    draw_digits,
    draw_rounded_gaussian,
    fresh,
    is_below,
    spare,
)
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

_MEAN_BITS = 89  # exponential numbers are drawn as geometric ones with this mean
_DIGITS = 4  # in each of two halves: 96 bits, the last digit without an end
_REST = 31  # words below them
_BITS = _MEAN_BITS + 64 * _REST
_PRECISION = 700  # digits: more than are in 2**2073
_CHUNK = 1 << 14
_FINE = 2.0**40  # steps of a deviation, where many vectors are drawn in doubles


def draw_ball(scale: float, dimensions: int, randomness: Randomness) -> Integers:
    """One vector with density ∝ exp(−‖η‖ / scale), rounded to whole numbers.

    >>> draw_ball(2.0**28, 3, Randomness()).shape
    (3,)
    """
    require(dimensions >= 1, f"noise needs at least 1 dimension, got {dimensions}")
    require(
        0 < scale * math.sqrt(dimensions + 1) <= LARGEST_SCALE / 32,
        f"noise in {dimensions} dimensions needs a scale above 0 and at most 2**40/√d, got {scale}",
    )
    with localcontext() as context:
        context.prec = _PRECISION
        # χ is √(2Γ), in steps of 2**-2073: by whole numbers, which is 25 times as fast as by decimal ones.
        length = math.isqrt(_half_chi_square(dimensions + 1, randomness) << (_BITS + 1))
        sigma = Decimal(scale) * length / 2**_BITS
        finer = 1 if sigma >= Decimal(SMALLEST_ROUNDED) else 2 * math.ceil(Decimal(SMALLEST_ROUNDED) / sigma) + 1
        if finer > 2**40:  # then every coordinate rounds to 0
            return np.zeros(dimensions, dtype=np.int64)
        # One of few scales for the candidates, so that their tables need not be built anew for each vector.
        nearby = 2.0 ** (round(2 * math.log2(sigma * finer)) / 2)
        fine = _draw_gaussian(sigma * finer, dimensions, randomness, _DOUBT, rounded=True, laplace_scale=nearby)
    return (fine + (finer - 1) // 2) // finer


def add_ball(values: AnyArray, scale: float, grid: float, randomness: Randomness) -> Doubles:
    """Round to the grid and add noise of density ∝ exp(−‖noise‖ / scale), rounded to the grid too.

    **Guarantee.** Two vectors that differ by D in L2, rounding included (√n · grid for n changed cells), give outputs
    whose odds differ by at most e^(D/scale): it is the continuous mechanism, rounded.
    Its line in a ledger: ``Spend(mechanism="pure", norm="l2", sensitivity=D, scale=scale)``.

    >>> noisy = add_ball(np.array([1.0, 2.0]), 0.5, 2.0**-30, Randomness())
    >>> bool((noisy * 2.0**30 == np.rint(noisy * 2.0**30)).all())
    True
    """
    return _add(values, grid, draw_ball(scale / grid, np.size(values), randomness))


def add_balls(rows: AnyArray, scale: float, grid: float, randomness: Randomness) -> Doubles:
    """The same for every row of a table, each with noise of its own; in one dimension it is Laplace noise.

    >>> add_balls(np.zeros((3, 2)), 0.5, 2.0**-30, Randomness()).shape
    (3, 2)
    """
    if np.shape(rows)[1] == 1:
        return add_laplace(rows, scale, grid, randomness)
    return np.stack([add_ball(row, scale, grid, randomness) for row in rows])


def draw_balls(scale: float, count: int, dimensions: int, randomness: Randomness) -> Doubles:
    """Many vectors with density ∝ exp(−‖η‖ / scale) at once, in doubles: for what is worked out in doubles anyway.

    They are s·χ·N as above, χ being the length of a normal vector in d + 1 dimensions. No lattice: nothing is proven of
    sums to which they are added, and published systems that put them into an objective prove nothing in doubles.

    >>> draw_balls(4000.0, 3, 50, Randomness()).shape
    (3, 50)
    """
    require(count >= 0, f"the number of noise vectors must not be negative, got {count}")
    require(dimensions >= 1, f"noise needs at least 1 dimension, got {dimensions}")
    require(0 < scale < math.inf, f"noise needs a scale that is positive and finite, got {scale}")
    drawn = draw_rounded_gaussian(_FINE, count * (2 * dimensions + 1), randomness) / _FINE
    normal = drawn.reshape(count, 2 * dimensions + 1)
    length = np.sqrt((normal[:, dimensions:] ** 2).sum(axis=1, keepdims=True))
    return np.asarray(scale * length * normal[:, :dimensions], dtype=np.float64)


def _half_chi_square(degrees: int, randomness: Randomness) -> int:
    """A Gamma number of shape degrees/2, rounded down, in steps of 2**-2073."""
    whole, half = divmod(degrees, 2)
    total = 0
    for first in range(0, whole, _CHUNK):
        total += sum(_exponentials(min(_CHUNK, whole - first), randomness))
    if half:
        total += int(_exponentials(1, randomness)[0] * _squared_cosine(randomness))
    return total


def _exponentials(count: int, randomness: Randomness) -> list[int]:
    """Exponential numbers of mean 2**2073, rounded down: geometric ones of mean 2**89, by their digits, and a rest."""
    halves = []
    for first in (0, _DIGITS):
        words = randomness.words(_DIGITS * count)
        halves.append(draw_digits(2.0**_MEAN_BITS, first, _DIGITS, words, spare(randomness)).tolist())
    rests = _rests(count, randomness)
    return [
        (high << (DIGIT_BITS * _DIGITS)) + low << (64 * _REST) | rest
        for low, high, rest in zip(*halves, rests, strict=True)
    ]


def _rests(count: int, randomness: Randomness) -> Iterator[int]:
    """What is below the last digit: F·2**2073 for F below 2**-89 with density ∝ e^(−F)."""
    drawn = randomness.words(count * (_REST + 1)).reshape(count, _REST + 1)
    for row in drawn:
        chance, words = int(row[0]), row[1:]
        while True:
            rest = int.from_bytes(words.tobytes(), "little")
            if is_below(chance, 64, lambda: (-Decimal(rest) / 2**_BITS).exp(), fresh(randomness)):  # noqa: B023
                break
            chance, words = int(randomness.words(1)[0]), randomness.words(_REST)
        yield rest


def _squared_cosine(randomness: Randomness) -> Decimal:
    """The squared cosine of a uniform angle: of a uniform point in a quarter disc."""
    while True:
        x, y = (Decimal(int.from_bytes(randomness.words(_REST + 1).tobytes(), "little")) for _ in range(2))
        square = x * x + y * y
        if 0 < square <= Decimal(2) ** (128 * (_REST + 1)):
            return x * x / square
