"""What may be spent on one data set by all fits together, and what was: the rules of a budget, without its database."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from discreet.errors import InputError, OverspentError, require
from discreet.privacy.ledger import ROUNDING, Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User


@dataclass(frozen=True, kw_only=True)
class Spending:
    """One line of an account: what a fit may spend, since when, and whether its release was written.

    A line without a unit is a release without privacy: its epsilon is infinite, for every unit.
    """

    id: int
    unit: Unit | None
    purpose: str
    reserved_at: str
    released_at: str | None
    epsilon: float
    delta: float
    total: float
    spends: tuple[Spend, ...]
    settings: str | None = None
    run_id: str | None = None
    arrays: str | None = None
    digest: str | None = None

    @property
    def state(self) -> Literal["reserved", "released"]:
        """Both count as spent."""
        return "reserved" if self.released_at is None else "released"

    @property
    def is_exact(self) -> bool:
        """Whether it is a release without privacy."""
        return self.unit is None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "purpose": self.purpose,
            "unit": None if self.unit is None else _unit_to_json(self.unit),
            "private": not self.is_exact,
            "state": self.state,
            "reserved_at": self.reserved_at,
            "released_at": self.released_at,
            "settings": self.settings,
            "run_id": self.run_id,
            "epsilon": _finite(self.epsilon),
            "delta": self.delta,
            "total": _finite(self.total),
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
        Whose secret is kept, where that is settled: by the limit, or by the only unit that was ever spent for.
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
        """The delta at which spends are composed: that of the limit, or else the largest that a fit asked for."""
        if self.delta is not None:
            return self.delta
        return max((spending.delta for spending in self.spendings), default=0.0)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the data, of all fits."""
        return tuple(spend for spending in self.spendings for spend in spending.spends)

    def run(self, run_id: str) -> Spending | None:
        """The line of a run that was named, if it was booked."""
        return next((line for line in self.spendings if line.run_id == run_id), None)

    @property
    def exact(self) -> tuple[Spending, ...]:
        """The releases without privacy: after one of them no epsilon says anything about these ratings."""
        return tuple(line for line in self.spendings if line.is_exact)

    @property
    def parts(self) -> tuple["Account", ...]:
        """Only without a limit can there be several: what was spent for each unit."""
        units = dict.fromkeys(line.unit for line in self.spendings if line.unit is not None)
        return (self,) if len(units) <= 1 else tuple(self._part(unit) for unit in units)

    @property
    def spent(self) -> float:
        """The epsilon that everything costs together; infinite after a release without privacy."""
        if self.exact:
            return math.inf
        require(len(self.parts) == 1, f"{self.data} was spent for several units, which do not add up: see its parts")
        return _epsilon_of(self.spends, self.accounting_delta)

    @property
    def remaining(self) -> float | None:
        """How much epsilon is left; None without a limit."""
        return None if self.epsilon is None else max(0.0, self.epsilon - self.spent)

    def total_with(self, plan: Ledger, purpose: str) -> float:
        """What everything would cost together with ``plan``; raises where that is over the limit."""
        if self.epsilon is None:
            before = self._part(bare_unit(plan.unit))
            if before.exact:
                return math.inf
            return _epsilon_of((*before.spends, *plan.spends), max(before.accounting_delta, plan.delta))
        self._check_unit(plan.unit)
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
                f"together that comes to {total:.4g}, {total - self.epsilon:.4g} over the limit; "
                "nothing was computed or spent"
            )
        return total

    def check_unlimited(self, purpose: str) -> None:
        """Raise where a limit was declared: what has no privacy costs more than any limit."""
        if self.epsilon is not None:
            raise OverspentError(
                f"{self.data} has a limit of epsilon {self.epsilon:g}, and {purpose} without privacy "
                "would overspend any limit; nothing was computed or spent"
            )

    def limited(self, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> "Account":
        """The same account with a limit, which may become smaller later and never larger."""
        if self.exact:
            first = self.exact[0]
            raise InputError(
                f"{self.data} was released without privacy before ({first.purpose}, {first.reserved_at[:10]}): "
                "what it tells is bounded by no epsilon, so no limit can be kept any more"
            )
        unit = bare_unit(unit or self.unit or Rating())
        self._check_unit(unit)
        for part in self.parts:
            part._check_unit(unit)
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

    def _part(self, unit: Unit) -> "Account":
        return replace(self, unit=unit, spendings=tuple(line for line in self.spendings if line.unit in (unit, None)))

    def _check_unit(self, unit: Unit) -> None:
        if self.unit is not None and bare_unit(self.unit) != bare_unit(unit):
            raise InputError(
                f"the budget of {self.data} is kept for another unit ({self.unit}), and an epsilon for this one "
                f"({unit}) does not add up with it; nothing was computed or spent"
            )

    def to_json(self) -> dict[str, Any]:
        """As plain data, with every line."""
        return self.summary() | {"spendings": [spending.to_json() for spending in self.spendings]}

    def summary(self) -> dict[str, Any]:
        """The limit, what was spent and what is left, as plain data."""
        return {
            "data": self.data,
            "limit": None if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta},
            "released_without_privacy": bool(self.exact),
            "spent": [
                {
                    "unit": None if part.unit is None else _unit_to_json(part.unit),
                    "epsilon": None if part.exact else part.spent,
                    "delta": part.accounting_delta,
                    "remaining": part.remaining,
                }
                for part in self.parts
            ],
        }


def bare_unit(unit: Unit) -> Unit:
    """The unit without a bound on how many ratings are used: that changes what is computed, not whose secret is kept.

    >>> bare_unit(User(max_ratings=200))
    User(max_ratings=None, neighbours='add-or-remove')
    """
    return User(neighbours=unit.neighbours) if unit.name == "user" else Rating(unit.neighbours)


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity: null stands for an epsilon that promises nothing."""
    return epsilon if math.isfinite(epsilon) else None


def _unit_to_json(unit: Unit) -> dict[str, Any]:
    return {"name": unit.name, "neighbours": unit.neighbours}


def _epsilon_of(spends: Sequence[Spend], delta: float) -> float:
    from discreet.privacy.accounting import adaptive_epsilon_of

    return adaptive_epsilon_of(spends, delta)
