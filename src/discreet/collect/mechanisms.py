"""Three ways to perturb a rating at home. One promises nothing, two are locally differentially private.

======================  =====================================  ==============================================
mechanism               what is sent for a rating              what it promises for the value of one rating
======================  =====================================  ==============================================
UniformNoise            the rating plus noise on [−γ, γ]       no epsilon: see below
RandomisedResponse      the level itself, or any other one     epsilon, exactly
Piecewise               a number near it, or anywhere          epsilon, exactly
======================  =====================================  ==============================================

All three are laws of a window (:mod:`discreet.collect.windows`), drawn in integers, and all three report unbiased
estimates (:mod:`discreet.collect.channel`), so a recommender reads them alike.

**What none of them hides**: which items were rated (:class:`discreet.collect.presence.HiddenItems` does), and how many.
A history of n ratings is n reports of one rating each: its loss is n times epsilon, by composition. A second report of
the same ratings costs the same again.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import ClassVar

from discreet.collect.channel import Channel, LocalRandomiser
from discreet.collect.windows import Windows
from discreet.data.catalogue import Scale
from discreet.doors import checked, checked_methods
from discreet.errors import require
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.ledger import LARGEST_EPSILON, SMALLEST_EPSILON
from discreet.privacy.unit import Rating

EVERYONE = ("the recommender", "the public", "other users")
GRID = 1e-6
"""Uniform noise is a whole multiple of this, and so is what is sent."""

STEPS = 720_720
"""Steps of the piecewise mechanism's scale. All of 2 … 16 divide it: up to 17 levels lie on it exactly."""


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class UniformNoise(LocalRandomiser):
    """Randomised perturbation as published: the rating plus noise that is uniform on [−γ, γ].

    With n = γ / 10⁻⁶, the noise is one of −n, …, n millionths, each with the same odds. Reports therefore lie on
    one grid whatever the rating was.

    **Guarantee.** None. A report y rules out every rating further than γ from it, so no epsilon is finite, whatever
    γ. What does hold, per rating: two ratings that are d apart lead to the same law of reports but for a share
    δ = min(1, d / 2γ) of them, and that share tells them apart for certain. (Of 2n + 1 equally likely reports, all
    but d / 10⁻⁶ are possible for both, and δ is the same for every epsilon.) For γ < ½ and whole ratings every
    report gives the rating away: it is the nearest whole number. :func:`discreet.collect.reconstruction.risk_of`
    says how much for larger γ.

    Parameters
    ----------
    gamma
        Half the width of the noise. With 0 the rating itself is sent.

    Examples
    --------
    >>> mechanism = UniformNoise(gamma=1.5)
    >>> mechanism.channel(Scale(1, 5)).reported
    Scale(low=-0.5, high=6.5)
    >>> mechanism.told_apart(1.0), mechanism.told_apart(4.0)
    (0.3333333333333333, 1.0)
    """

    gamma: float
    name: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        require(
            math.isfinite(self.gamma) and 0 <= self.gamma <= 1000,
            f"gamma must be at least 0 and at most 1000, got {self.gamma:g}",
        )

    @property
    def guarantee(self) -> Guarantee:
        """None, and why."""
        if self.gamma == 0:
            return Guarantee.none("gamma is 0, so the ratings themselves are sent")
        shown = f"{self.told_apart(1.0):.0%}"
        return Guarantee.none(
            f"noise within {self.gamma:g} of a rating rules out every rating further away, so no epsilon is finite; "
            f"a report tells two ratings that are 1 apart from each other for certain with probability {shown}, "
            f"and which items were rated is not hidden at all"
        )

    def told_apart(self, distance: float) -> float:
        """The odds that a report tells two ratings at this distance apart for certain: δ above."""
        return 1.0 if self.gamma == 0 else min(1.0, abs(distance) / (2 * self.gamma))

    def channel(self, scale: Scale) -> Channel:
        """Its law on a rating scale."""
        reach = round(self.gamma / GRID)
        return Channel(Windows(inputs=round(scale.width / GRID) + 1, width=2 * reach + 1), scale, GRID)


@dataclass(frozen=True, kw_only=True)
class PrivateForValues(LocalRandomiser):
    """What is locally private for the value of one rating, with a pure epsilon."""

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon for the value of one rating."""
        return Guarantee(
            reason="the odds of every report differ by a factor of at most e^epsilon, whatever the rating was; "
            "which items were rated is not hidden",
            proven=Loss(self.epsilon),
            unit=Rating("replace"),
            protects_from=EVERYONE,
        )


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class RandomisedResponse(PrivateForValues):
    """k-ary randomised response on the levels of the scale: the level, or with lower odds any of the others.

    Of k levels the true one is drawn with p = e^ε / (e^ε + k − 1) and each other one with q = p / e^ε. Reported is the
    unbiased estimate: for level v it is (v − q·Σ levels) / (p − q), a number outside the scale for most of them.

    **Guarantee.** epsilon-local differential privacy for the value of one rating: the odds of a report under two
    values differ by p/q at most, and p/q ≤ e^ε holds exactly, in integers (:mod:`discreet.collect.windows`).

    Parameters
    ----------
    epsilon
        For the value of one rating.
    step
        Distance of two levels, 1 for whole stars.

    Examples
    --------
    >>> mechanism = RandomisedResponse(epsilon=1.0)
    >>> print(mechanism.guarantee.proven)
    epsilon 1
    >>> mechanism.channel(Scale(1, 5)).law.size
    5
    """

    step: float = 1.0
    name: ClassVar[str] = "response"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(math.isfinite(self.step) and self.step > 0, f"step must be positive, got {self.step:g}")

    def channel(self, scale: Scale) -> Channel:
        """Its law on a rating scale."""
        return Channel(Windows.of_epsilon(levels_of(scale, self.step), 1, self.epsilon), scale, self.step, True)


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class Piecewise(PrivateForValues):
    """The piecewise mechanism: a number from a window around the rating, or with lower odds from anywhere.

    The scale is cut into M = 720,720 steps, and the window is W = M·e^(−ε/2) steps wide, the width that the
    mechanism's authors chose (Wang et al., ICDE 2019). The lower epsilon, the wider the window and the range of
    what is reported. Unlike randomised response it does not need levels, and it is the better of the two where epsilon
    is small: see docs/collection.md.

    **Guarantee.** epsilon-local differential privacy for the value of one rating: the odds of a report under two
    values are equal or differ by inside/outside ≤ e^ε, exactly, in integers (:mod:`discreet.collect.windows`). The
    width matters for accuracy alone.

    Parameters
    ----------
    epsilon
        For the value of one rating.

    Examples
    --------
    >>> mechanism = Piecewise(epsilon=2.0)
    >>> low, high = mechanism.channel(Scale(1, 5)).reported.low, mechanism.channel(Scale(1, 5)).reported.high
    >>> round(low, 2), round(high, 2)
    (-1.33, 7.33)
    """

    name: ClassVar[str] = "piecewise"

    def channel(self, scale: Scale) -> Channel:
        """Its law on a rating scale."""
        with localcontext() as context:  # the same on every machine, or reports would not agree
            context.prec = 60
            width = max(1, round(STEPS * (-Decimal(self.epsilon) / 2).exp()))
        return Channel(Windows.of_epsilon(STEPS + 1, width, self.epsilon), scale, scale.width / STEPS)


def check_epsilon(epsilon: float) -> None:
    """Raise unless epsilon is positive, and small enough to promise something."""
    require(math.isfinite(epsilon) and epsilon > 0, f"epsilon must be positive and finite, got {epsilon:g}")
    require(epsilon >= SMALLEST_EPSILON, f"epsilon {epsilon:g} is too small: at least {SMALLEST_EPSILON:g}")
    require(
        epsilon <= LARGEST_EPSILON,
        f"epsilon {epsilon:g} promises nothing: at most {LARGEST_EPSILON:g}; send the ratings themselves rather",
    )


def levels_of(scale: Scale, step: float) -> int:
    """How many levels a scale has; its ends must be two of them.

    >>> levels_of(Scale(0.5, 5), 0.5)
    10
    """
    steps = scale.width / step
    require(
        1 <= round(steps) <= 10_000 and abs(steps - round(steps)) < 1e-6,
        f"steps of {step:g} do not lead from one end of the scale {scale} to the other",
    )
    return round(steps) + 1
