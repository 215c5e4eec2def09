"""The one law behind every local mechanism: a window that moves with the secret.

A secret is a whole number x in 0 … inputs − 1. What is sent is a whole number y in 0 … size − 1 with
size = inputs − 1 + width. The window of x is x … x + width − 1. An output has the weight ``inside`` if it lies in
the window and ``outside`` if it does not, so

    P(y | x) = inside / total   for y in the window of x,   outside / total   elsewhere,
    total    = width · inside + (size − width) · outside,

and ``total`` is the same for every x, since every window has the same width and lies within 0 … size − 1.

**Guarantee.** P(y | x) / P(y | x′) is one of outside/inside, 1 and inside/outside. The mechanism is therefore
ln(inside/outside) locally differentially private, exactly, and with ``outside`` = 0 it has no finite epsilon. All
weights are integers, the draw is an integer below ``total`` by rejection from secret words, and there is no
floating-point number in it. :meth:`Windows.of_epsilon` rounds ``outside`` up, with 60 digits, so epsilon is
never exceeded. With width 1 this is k-ary randomised response; with a wide window the piecewise mechanism; with
``outside`` = 0 it is uniform noise.

**Unbiased.** P(· | x) is ``outside`` everywhere plus ``inside − outside`` on the window, so

    E[y | x] = offset + slope · x,     slope  = (inside − outside) · width / total,
    offset   = (outside · size (size − 1) + (inside − outside) · width (width − 1)) / (2 total),

and (y − offset) / slope is an unbiased estimate of x.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from discreet.errors import require
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

INSIDE = 1 << 40
"""Weight of an output in the window, where epsilon is finite: fine enough to come within 1e-11 of it."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Outputs in the window of the secret are more likely than the others.

    Parameters
    ----------
    inputs
        How many secrets there are.
    width
        How many outputs a window has.
    inside, outside
        Weights of an output in the window and of another.

    Examples
    --------
    >>> law = Windows.of_epsilon(inputs=5, width=1, epsilon=1.0)
    >>> law.size, round(law.epsilon, 9)
    (5, 1.0)
    >>> bool((law.draw(np.array([0, 4]), Randomness()) < 5).all())
    True
    """

    inputs: int
    width: int
    inside: int = 1
    outside: int = 0

    def __post_init__(self) -> None:
        require(self.inputs >= 1 and self.width >= 1, "a window law needs at least one input and one output")
        require(self.inside > self.outside >= 0, "an output in the window must weigh more than one outside")
        require(self.total < 1 << 62, "the scale is too wide for the grid of this mechanism")

    @classmethod
    def of_epsilon(cls, inputs: int, width: int, epsilon: float) -> "Windows":
        """The law whose loss is at most ``epsilon``, and below it by no more than rounding needs."""
        with localcontext() as context:
            context.prec = 60
            outside = math.ceil(INSIDE * (-Decimal(epsilon)).exp())
        require(outside < INSIDE, f"epsilon {epsilon:g} is too small to leave anything of a rating")
        return cls(inputs, width, INSIDE, outside)

    @property
    def size(self) -> int:
        """How many outputs there are."""
        return self.inputs - 1 + self.width

    @property
    def total(self) -> int:
        """Weight of all outputs together."""
        return self.width * self.inside + (self.size - self.width) * self.outside

    @property
    def epsilon(self) -> float:
        """The largest log ratio of odds under any two secrets."""
        if self.inputs == 1:
            return 0.0
        return math.log(self.inside / self.outside) if self.outside else math.inf

    @property
    def slope(self) -> float:
        """How much of the secret is left in the mean of the output."""
        return (self.inside - self.outside) * self.width / self.total

    @property
    def offset(self) -> float:
        """Mean of the output for the secret 0."""
        extra = (self.inside - self.outside) * self.width * (self.width - 1)
        return (self.outside * self.size * (self.size - 1) + extra) / (2 * self.total)

    def draw(self, secrets: AnyArray, randomness: Randomness) -> Integers:
        """One output for each secret, exactly by the law above.

        Of ``total`` equally likely numbers the first (inside − outside) · width stand for a place in the window,
        the others for a place anywhere.
        """
        more = self.inside - self.outside
        numbers = _below(self.total, len(secrets), randomness)
        anywhere = (numbers - more * self.width) // max(self.outside, 1)
        return np.where(numbers < more * self.width, secrets + numbers // more, anywhere)

    def odds(self, outputs: AnyArray, secret: int) -> Doubles:
        """P(output | secret), for each output."""
        within = (outputs >= secret) & (outputs < secret + self.width)
        return np.where(within, self.inside / self.total, self.outside / self.total)

    def variance(self, secret: int) -> float:
        """Variance of the unbiased estimate of a secret."""
        middle = secret + (self.width - 1) / 2
        everywhere = _spread(self.size) + ((self.size - 1) / 2) ** 2
        window = _spread(self.width) + middle**2
        share = self.size * self.outside / self.total  # of draws that fall anywhere
        second = share * everywhere + (1 - share) * window
        return (second - (self.offset + self.slope * secret) ** 2) / self.slope**2


def _spread(count: int) -> float:
    """Variance of a uniform number below ``count``."""
    return (count * count - 1) / 12


def _below(bound: int, count: int, randomness: Randomness) -> Integers:
    """Independent uniform numbers below ``bound``: words cut to its length, and those too large thrown away."""
    bits = (bound - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        missing = count - filled
        words = (randomness.words(missing + 16 + missing // 4) >> np.uint64(64 - bits)).astype(np.int64)
        kept = words[words < bound][:missing]
        out[filled : filled + len(kept)] = kept
        filled += len(kept)
    return out
