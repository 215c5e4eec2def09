"""From a rating to what is sent instead: the law of a mechanism, laid over a rating scale.

A rating r on the scale is the secret x = (r − low) / step. The law of :mod:`discreet.collect.windows` draws an output
y, and what is reported is the unbiased estimate of the rating,

    low + step · (y − offset) / slope,

rounded to a fixed number of digits. It is a function of y and of public numbers alone, so it gives nothing away that y
does not; in particular its last bits do not depend on the rating, as they would if a rating and noise were
added in floating point. Its mean is the rating, but for the rounding (at most half of the last digit).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from discreet.collect.windows import Integers, Windows
from discreet.data.catalogue import Scale
from discreet.data.history import History
from discreet.data.report import ReportForm, UserReport
from discreet.doors import checked_methods
from discreet.errors import require
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.randomness import Randomness
from discreet.types import AnyArray, Doubles

DIGITS = 6
"""Digits after the point of what is reported, at least."""

SEEDED = Guarantee.none("the noise was seeded, so whoever knows the seed can take it away")


@checked_methods
class LocalRandomiser(Protocol):
    """How a user perturbs ratings: a frozen dataclass with its settings, each rating perturbed on its own."""

    name: ClassVar[str]

    @property
    def settings(self) -> dict[str, float]:
        """What a report says of it."""
        return dict(vars(self))

    @property
    def guarantee(self) -> Guarantee:
        """What one report promises."""
        ...

    def channel(self, scale: Scale) -> "Channel":
        """Its law on a rating scale."""
        ...

    def form(self, scale: Scale, *, seeded: bool = False) -> ReportForm:
        """What every report has in common."""
        return ReportForm(self.name, self.settings, scale, self.channel(scale).reported, seeded)

    def perturb(self, history: History, randomness: Randomness) -> UserReport:
        """One user's report."""
        scale = history.catalogue.scale
        return UserReport(
            form=self.form(scale, seeded=randomness.is_seeded),
            items=tuple(history.catalogue.items[position] for position in history.items.tolist()),
            values=self.channel(scale).perturb(history.values, randomness),
            guarantee=str(SEEDED if randomness.is_seeded else self.guarantee),
        )


@dataclass(frozen=True)
class Channel:
    """A law over a rating scale.

    Parameters
    ----------
    law
        What is drawn for a secret.
    scale
        The scale of the ratings.
    step
        How far two secrets lie apart on it.
    levels_only
        Whether ratings between two steps are refused; else they are rounded to the nearest.

    Examples
    --------
    >>> channel = Channel(Windows.of_epsilon(5, 1, epsilon=1.0), Scale(1, 5), step=1.0, levels_only=True)
    >>> channel.secrets(np.array([1.0, 5.0])).tolist()
    [0, 4]
    """

    law: Windows
    scale: Scale
    step: float
    levels_only: bool = False

    @property
    def reported(self) -> Scale:
        """Within which everything that is reported lies."""
        low, high = self.values(np.array([0, self.law.size - 1])).tolist()
        return Scale(low, high)

    def secrets(self, ratings: AnyArray) -> Integers:
        """Ratings as whole numbers of steps above the lowest."""
        exact = (np.asarray(ratings, dtype=np.float64) - self.scale.low) / self.step
        found = np.rint(exact).astype(np.int64)
        inside = (found >= 0) & (found < self.law.inputs)
        require(bool(inside.all()), f"a rating is outside the scale {self.scale}")
        on_levels = not self.levels_only or bool((np.abs(exact - found) < 1e-4).all())
        require(on_levels, f"a rating is not one of the levels {self.scale.low:g}, {self.scale.low + self.step:g}, …")
        return found

    def values(self, outputs: AnyArray) -> Doubles:
        """What is reported for outputs."""
        estimate = self.scale.low + self.step * ((outputs - self.law.offset) / self.law.slope)
        digits = max(DIGITS, math.ceil(-math.log10(self.step)))
        return np.round(estimate, digits) + 0.0  # without a negative zero

    def outputs(self, values: AnyArray) -> Integers:
        """Outputs that are reported as these values."""
        exact = (np.asarray(values) - self.scale.low) / self.step * self.law.slope + self.law.offset
        return np.clip(np.rint(exact), 0, self.law.size - 1).astype(np.int64)

    def perturb(self, ratings: AnyArray, randomness: Randomness) -> Doubles:
        """What is reported instead of ratings, each perturbed on its own."""
        return self.values(self.law.draw(self.secrets(ratings), randomness))

    def deviation(self, rating: float) -> float:
        """Standard deviation of what is reported for a rating."""
        return self.step * math.sqrt(self.law.variance(int(self.secrets(np.array([rating]))[0])))
