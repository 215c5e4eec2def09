"""What may be spent on one data set by all fits together, and what was: the rules of a budget, without its database."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from discreet.errors import InputError, OverspentError
from discreet.privacy.ledger import ROUNDING, Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit


@dataclass(frozen=True, kw_only=True)
class Spending:
    """One line of an account: what a fit may spend, since when, and whether its release was written."""

    id: int
    purpose: str
    reserved_at: str
    released_at: str | None
    epsilon: float
    delta: float
    total: float
    spends: tuple[Spend, ...]

    @property
    def state(self) -> Literal["reserved", "released"]:
        """Both count as spent."""
        return "reserved" if self.released_at is None else "released"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "purpose": self.purpose,
            "state": self.state,
            "reserved_at": self.reserved_at,
            "released_at": self.released_at,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "total": self.total,
            "spends": [spend.to_json() for spend in self.spends],
        }


@dataclass(frozen=True, kw_only=True)
class Account:
    """What may be spent on one data set, and what was.

    Parameters
    ----------
    data
        The name of the data set.
    unit
        Whose secret is kept; None before the first spending.
    epsilon, delta
        The limit, or None where none was declared: then nothing is refused.
    spendings
        Every line, the oldest first.
    """

    data: str
    unit: Unit | None = None
    epsilon: float | None = None
    delta: float | None = None
    spendings: tuple[Spending, ...] = ()

    @property
    def accounting_delta(self) -> float:
        """The delta that everything is composed at: that of the limit, or else the largest that a fit asked for."""
        if self.delta is not None:
            return self.delta
        return max((spending.delta for spending in self.spendings), default=0.0)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the data, of all fits."""
        return tuple(spend for spending in self.spendings for spend in spending.spends)

    @property
    def spent(self) -> float:
        """The epsilon that everything costs together."""
        return _epsilon_of(self.spends, self.accounting_delta)

    @property
    def remaining(self) -> float | None:
        """How much epsilon is left; None without a limit."""
        return None if self.epsilon is None else max(0.0, self.epsilon - self.spent)

    def total_with(self, plan: Ledger, purpose: str) -> float:
        """What everything would cost together with ``plan``; raises where that is over the limit."""
        self._check_unit(plan.unit)
        if self.epsilon is None:
            return _epsilon_of((*self.spends, *plan.spends), max(self.accounting_delta, plan.delta))
        delta = self.accounting_delta
        total = _epsilon_of((*self.spends, *plan.spends), delta)
        if math.isinf(total):
            raise OverspentError(
                f"{purpose} adds Gaussian noise, which needs a delta above 0, and the limit of {self.data} has none; "
                "nothing was computed or spent"
            )
        if total > self.epsilon * (1 + ROUNDING):
            raise OverspentError(
                f"{purpose} asks for epsilon {_epsilon_of(plan.spends, delta):.4g} of {self.data}, "
                f"where {self.remaining:.4g} of {self.epsilon:g} is left: "
                f"that is {total - self.epsilon:.4g} over the limit; nothing was computed or spent"
            )
        return total

    def limited(self, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> "Account":
        """The same account with a limit, which may become smaller later and never larger."""
        unit = unit or self.unit or Rating()
        self._check_unit(unit)
        delta = (self.delta or 0.0) if delta is None else delta
        Ledger(epsilon, delta, unit)  # checks epsilon and delta
        if self.epsilon is not None and self.delta is not None and (epsilon > self.epsilon or delta > self.delta):
            raise InputError(
                f"the limit of {self.data} is epsilon {self.epsilon:g}, delta {self.delta:g}: it can be lowered, "
                f"and never raised to epsilon {epsilon:g}, delta {delta:g}"
            )
        account = replace(self, unit=unit, epsilon=float(epsilon), delta=float(delta))
        if account.spent > epsilon * (1 + ROUNDING):
            raise InputError(
                f"{self.data} has spent epsilon {account.spent:.4g} at delta {delta:g} already, "
                f"so its limit cannot be {epsilon:g}"
            )
        return account

    def _check_unit(self, unit: Unit) -> None:
        # A bound on how many ratings of a user are used changes what is computed, not whose secret is kept.
        if self.unit is not None and (self.unit.name, self.unit.neighbours) != (unit.name, unit.neighbours):
            raise InputError(
                f"the budget of {self.data} is kept for another unit ({self.unit}), and an epsilon for this one "
                f"({unit}) does not add up with it; nothing was computed or spent"
            )

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "data": self.data,
            "unit": None if self.unit is None else {"name": self.unit.name, "neighbours": self.unit.neighbours},
            "limit": None if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta},
            "spent": {"epsilon": self.spent, "delta": self.accounting_delta},
            "remaining": self.remaining,
            "spendings": [spending.to_json() for spending in self.spendings],
        }


def _epsilon_of(spends: Sequence[Spend], delta: float) -> float:
    from discreet.privacy.accounting import epsilon_of

    return epsilon_of(spends, delta)
