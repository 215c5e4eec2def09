"""Privacy levels on offer: each has its own epsilon, and whoever chose it takes part with less weight, or less often.

Which levels there are is public. Who chose which is as private as the ratings.

**By weights.** A user of a level with weight w moves every weighted sum by w times its bound, and rounding
(:meth:`~discreet.privacy.spend.Spend.for_weight`). For neighbours that differ in a user of this level the looks are
therefore mechanisms with that smaller sensitivity, and everything that is proven of looks holds with it: what a plan
costs, or that a filter keeps a limit that was fixed before (:mod:`discreet.privacy.composition`). So each level has a
limit of its own, and a ledger refuses a look that would exceed any of them. A look to which no weights were applied
counts in full for everybody. ∎ Where neighbours replace a user, both have the same level: the choice of a level is then
not hidden.

**By sampling.** Everything looks at one secret sample, into which each unit comes with the rate π of its level. Let all
looks together be (t, δ)-private for the units of the sample. With A and B the odds of an outcome with the unit in the
sample and without it, the odds on the data with the unit are π·A + (1 − π)·B ≤ (1 + π(e^t − 1))·B + π·δ, and those on
the data without it are B; the other direction is no worse (:mod:`discreet.privacy.personal`). So the unit pays
(ln(1 + π(e^t − 1)), π·δ), and π = (e^ε − 1)/(e^t − 1) makes that ε. If the looks are (t, δ)-private for a replaced
unit too, then so is a unit of another value: (πA + (1 − π)B)/(πA' + (1 − π)B) falls with B, and B ≥ e^−t·A, A' ≥ e^−t·A
give the same bound. ∎ Where looks are private for users and levels are chosen for each rating, one rating is a group of
so many users as :func:`~discreet.privacy.unit.units_changed` says, and t, δ are those of the group.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import InputError, require
from discreet.privacy.unit import Rating, Unit, units_changed

MARGIN = 1e-3
"""By which weights below 1 are lowered: rounding to the lattice does not shrink with the weight."""

By = Literal["weights", "sampling"]


@dataclass(frozen=True, kw_only=True)
class Level:
    """What a user may choose.

    Parameters
    ----------
    name
        What it is called.
    epsilon
        What it may cost whoever chose it, at the delta of the ledger.
    weight
        By which everything is multiplied that they contribute.
    rate
        With which they, or each of their ratings, come into the sample.
    group
        As how many units of the ledger the unit counts that the level is chosen for.
    """

    name: str
    epsilon: float
    weight: float = 1.0
    rate: float = 1.0
    group: int = 1

    def paid(self, epsilon: float, delta: float = 0.0) -> tuple[float, float]:
        """What is paid at this level where the looks at the sample cost ``epsilon`` and ``delta`` for each unit.

        >>> level = Level(name="strict", epsilon=0.5, rate=0.3775)
        >>> round(level.paid(1.0)[0], 4)
        0.5
        """
        from discreet.privacy.spend import amplified

        growth = 1.0 if self.group == 1 else math.fsum(math.exp(k * epsilon) for k in range(self.group))
        return amplified(self.group * epsilon, self.rate), self.rate * growth * delta


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Which levels there are, and how whoever chose one takes part. Public.

    Parameters
    ----------
    epsilons
        Of each level, by name.
    by
        ``weights`` or ``sampling``.
    each_rating
        Whether a level is chosen for each rating, and not by each user for all of theirs.
    gaussian
        Whether all noise is Gaussian: weights are then those that suit it exactly.
    """

    epsilons: Mapping[str, float]
    by: By = "weights"
    each_rating: bool = False
    gaussian: bool = False

    def __post_init__(self) -> None:
        require(self.by in ("weights", "sampling"), f"levels go by 'weights' or 'sampling', got {self.by!r}")
        for name, own in self.epsilons.items():
            named = isinstance(name, str) and 0 < len(name.strip()) <= 100 and name.isprintable()
            require(named, f"a privacy level needs a name, got {name!r}")
            require(
                isinstance(own, int | float) and math.isfinite(own) and own > 0,
                f"the level {name!r} must have a positive and finite epsilon, got {own}",
            )

    def levels(self, epsilon: float, delta: float, unit: Unit) -> tuple[Level, ...]:
        """The levels, where taking part in full costs ``epsilon`` at ``delta``."""
        if self.by == "weights":
            return levels_on_offer(self.epsilons, epsilon, delta, gaussian=self.gaussian)
        return sampled_levels(self.epsilons, epsilon, group_of(unit, each_rating=self.each_rating))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "epsilons": dict(self.epsilons),
            "by": self.by,
            "each_rating": self.each_rating,
            "gaussian": self.gaussian,
        }


def group_of(unit: Unit, *, each_rating: bool) -> int:
    """As how many units of a ledger that counts ``unit`` the unit counts that a sampled level is chosen for.

    >>> from discreet.privacy.unit import User
    >>> group_of(Rating(), each_rating=True), group_of(User(), each_rating=True), group_of(User(), each_rating=False)
    (1, 2, 1)
    """
    if unit.name == "user" and not each_rating:
        return 1
    size = units_changed(Rating(), unit)
    if size is None:
        raise InputError(
            f"a sample hides more of what is present or absent, and a ledger for {unit} does not hide that: keep one "
            "for Rating(), or let users choose levels, by weights"
        )
    return size


def levels_on_offer(
    offers: Mapping[str, float], epsilon: float, delta: float, *, gaussian: bool = False
) -> tuple[Level, ...]:
    """Levels by their epsilons, where the full weight costs ``epsilon`` at ``delta``.

    The weight is the one that suits Laplace noise or Gaussian noise, whichever is less; with ``gaussian`` the latter.

    >>> [(level.name, round(level.weight, 3)) for level in levels_on_offer({"strict": 0.25, "normal": 1.0}, 1.0, 1e-6)]
    [('strict', 0.25), ('normal', 1.0)]
    """
    for name, own in offers.items():
        require(0 < own <= epsilon, f"the level {name!r} must have an epsilon in (0, {epsilon:g}], got {own}")
    if not offers:
        return ()
    import numpy as np

    from discreet.privacy.personal import weights_for

    epsilons = np.array(list(offers.values()), dtype=np.float64)
    weights = weights_for(epsilons, epsilon, delta)
    if not gaussian:
        weights = np.minimum(weights_for(epsilons, epsilon), weights)
    weights = np.where(epsilons == epsilon, 1.0, weights * (1 - MARGIN))
    return tuple(
        Level(name=name, epsilon=float(own), weight=float(weight))
        for name, own, weight in zip(offers, epsilons, weights, strict=True)
    )


def sampled_levels(offers: Mapping[str, float], epsilon: float, group: int = 1) -> tuple[Level, ...]:
    """Levels by their epsilons, where whoever is in the sample pays ``epsilon`` for each of a ``group`` of units.

    >>> [(level.name, round(level.rate, 4)) for level in sampled_levels({"strict": 0.1, "normal": 1.0}, 0.393)]
    [('strict', 0.2185), ('normal', 1.0)]
    """
    if not offers:
        return ()
    import numpy as np

    from discreet.privacy.personal import rates_for

    whole = group * epsilon
    rates = rates_for(np.array(list(offers.values()), dtype=np.float64), whole)
    return tuple(
        Level(name=name, epsilon=min(float(own), whole), rate=float(rate), group=group)
        for (name, own), rate in zip(offers.items(), rates, strict=True)
    )
