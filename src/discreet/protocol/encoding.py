"""Real numbers as whole ones modulo 2^64 or 2^32, so that sums of masked values are exact.

A value x becomes z = round(x / step), clipped to ±cap, and travels as z mod 2^bits. Sums are taken modulo 2^bits,
which numpy does by itself, and are read as numbers from −2^(bits−1) up to 2^(bits−1).

**No wrap-around.** A sum of k ≤ ``most_users`` values is at most k·cap < 2^(bits−1)·(1 − headroom), so it is read as it
is; a quarter of the range is left for noise. If noise goes beyond that the sum wraps. That costs accuracy, never
privacy: reduction modulo 2^bits is post-processing of the noisy sum. :meth:`FixedPoint.check_noise` sees to it that it
takes a draw of more than ten standard deviations.

**Exact.** |decoded sum − true sum| ≤ k·step/2 where nothing is clipped, and 0 where values are multiples of the step.

**Clipping** moves no two values further apart, so a bound on how far one unit moves a statistic holds after it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, require
from discreet.types import AnyArray, Doubles

HEADROOM = 0.25
"""The part of the range that is left for noise."""

Integers = NDArray[np.int64]


def word_type(bits: int) -> np.dtype[np.unsignedinteger]:
    """The type of words of this many bits, in memory and on the wire.

    >>> word_type(32)
    dtype('uint32')
    """
    require(bits in (32, 64), f"words have 32 or 64 bits, got {bits}")
    return np.dtype("<u4" if bits == 32 else "<u8")


@dataclass(frozen=True, kw_only=True)
class FixedPoint:
    """How values become words.

    Parameters
    ----------
    step
        The value of one whole number: a power of two, so that dividing by it is exact.
    most_users
        Over how many users sums are read rightly.
    bits
        64 or 32.

    Examples
    --------
    >>> points = FixedPoint(step=2.0**-24, most_users=1000)
    >>> words = points.encode(np.array([1.5, -0.25])) + points.encode(np.array([-2.0, -0.25]))
    >>> points.decode(words)
    array([-0.5, -0.5])
    """

    step: float
    most_users: int
    bits: int = 64

    def __post_init__(self) -> None:
        word_type(self.bits)
        exact = math.isfinite(self.step) and self.step > 0 and math.frexp(self.step)[0] == 0.5
        require(exact, f"the step of an encoding must be a power of two, got {self.step}")
        require(self.most_users >= 1, f"most_users must be at least 1, got {self.most_users}")
        require(self.cap >= 1, f"{self.most_users} users do not fit into words of {self.bits} bits: take 64 bits")

    @property
    def cap(self) -> int:
        """The largest whole number of one user."""
        return int(2 ** (self.bits - 1) * (1 - HEADROOM)) // self.most_users

    @property
    def largest(self) -> float:
        """The largest value of one user that is not clipped."""
        return self.cap * self.step

    def whole(self, values: AnyArray) -> Integers:
        """Values as whole numbers of steps, clipped; what is no finite number counts 0."""
        steps = np.asarray(values, dtype=np.float64) / self.step
        steps = np.rint(np.where(np.isfinite(steps), steps, 0.0))
        # The largest double below the cap, where the cap itself is none: a rounded-up one could wrap.
        most = float(self.cap) if int(float(self.cap)) <= self.cap else math.nextafter(float(self.cap), 0.0)
        return np.clip(steps, -most, most).astype(np.int64)

    def encode(self, values: AnyArray) -> AnyArray:
        """Values as words."""
        return self.words(self.whole(values))

    def words(self, whole: AnyArray) -> AnyArray:
        """Whole numbers as words."""
        return np.asarray(whole, dtype=np.int64).astype(word_type(self.bits))

    def signed(self, words: AnyArray) -> Integers:
        """Words as whole numbers between −2^(bits−1) and 2^(bits−1)."""
        if words.dtype != word_type(self.bits):
            raise InputError(f"words of {self.bits} bits were expected, got {words.dtype}")
        return words.view(np.dtype("<i4" if self.bits == 32 else "<i8")).astype(np.int64)

    def decode(self, words: AnyArray) -> Doubles:
        """Words as values."""
        return np.asarray(self.signed(words) * self.step, dtype=np.float64)

    def check_noise(self, deviation: float) -> None:
        """Raise where noise of this standard deviation might wrap around with odds worth a word."""
        require(
            10 * deviation <= HEADROOM * 2 ** (self.bits - 1) * self.step,
            f"noise of deviation {deviation:.3g} does not fit into words of {self.bits} bits with a step of "
            f"{self.step:.3g}: take 64 bits, or a larger step",
        )
