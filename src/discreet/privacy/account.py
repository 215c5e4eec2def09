"""What may be spent on one data set by all fits together, and what was: the rules of a budget, without its database.

Each fit is planned as a whole, and chosen after the releases before it. So all of them together go through the filter
of :mod:`discreet.privacy.composition`, and what is promised is the limit that stood when the first fit was paid. One
that is declared or lowered later may have been chosen by what the releases say (tests/doors shows how far it fails): it
refuses more fits, and promises nothing. Where none stood at the beginning, what is shown as spent is a tally.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import InputError, OverspentError, require
from discreet.privacy.guarantee import Loss
from discreet.privacy.ledger import ROUNDING, Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User, units_changed

if TYPE_CHECKING:
    from discreet.privacy.composition import Filter

SUM_BY_SUM = "sums that a program asked for"
"""Purpose of sums that were not planned: each is a batch of its own, also where earlier versions kept one line."""


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
    claim: str | None = None
    arrays: str | None = None
    digest: str | None = None
    folder: str | None = None

    @property
    def state(self) -> Literal["reserved", "released"]:
        """Both count as spent."""
        return "reserved" if self.released_at is None else "released"

    def is_of(self, claim: str | None) -> bool:
        """Whether a run that is tried again is paid by it: it was released, or its answers are at hand."""
        return self.arrays is not None or (claim is not None and claim == self.claim)

    @property
    def batches(self) -> tuple[tuple[Spend, ...], ...]:
        """What was planned together: all of it, unless sums were asked for one by one."""
        return tuple((spend,) for spend in self.spends) if self.purpose == SUM_BY_SUM else (self.spends,)

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
class OneMore:
    """What can still be asked of a data set.

    Parameters
    ----------
    epsilon
        The greatest epsilon of one more fit like the last: the same looks, with all their noise scaled alike.
    fits
        How many more fits exactly like the last there can be.
    """

    epsilon: float
    fits: int


@dataclass(frozen=True, kw_only=True)
class Account:
    """What may be spent on one data set, and what was.

    A spend for users also costs ratings (:func:`~discreet.privacy.unit.units_changed`), and counts with twice its
    sensitivity in an account that is kept for ratings. A spend for ratings bounds nothing for a user as a whole.

    Parameters
    ----------
    data
        The name of the data set.
    unit
        Whose secret is kept, where that is settled: by the limit, or by the only unit that was ever spent for.
    epsilon, delta
        The limit, or None where none was declared: then nothing is refused.
    promised
        The limit that stood when the first fit was paid; None where there was none, or where this is not on record.
    spendings
        Every line, the oldest first.
    """

    data: str
    unit: Unit | None = None
    epsilon: float | None = None
    delta: float | None = None
    promised: Loss | None = None
    spendings: tuple[Spending, ...] = ()

    @property
    def accounting_delta(self) -> float:
        """The delta at which spends are composed: that of the limit, or else the largest that a fit asked for."""
        if self.delta is not None:
            return self.delta
        return max((spending.delta for spending in self.spendings), default=0.0)

    @property
    def promise(self) -> str:
        """What is promised of all fits that are paid from this account, in words."""
        if self.promised is not None:
            return f"{self.promised} for {self.unit}, of all fits paid from this account, however they are chosen"
        if self.epsilon is None:
            return "nothing of all fits together: no limit is declared, so what was spent is a tally"
        return (
            "nothing of all fits together: this limit is not on record as declared before the first fit was paid, so "
            "what was spent is a tally"
        )

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the data, of all fits."""
        return tuple(spend for spending in self.spendings for spend in spending.spends)

    def run(self, run_id: str) -> Spending | None:
        """The last line of a run that was named, if it was booked."""
        return next((line for line in reversed(self.spendings) if line.run_id == run_id), None)

    @property
    def exact(self) -> tuple[Spending, ...]:
        """The releases without privacy: after one of them no epsilon says anything about these ratings."""
        return tuple(line for line in self.spendings if line.is_exact)

    @property
    def parts(self) -> tuple["Account", ...]:
        """Only without a limit can there be several: what everything costs each unit that was spent for."""
        units = dict.fromkeys(line.unit for line in self.spendings if line.unit is not None)
        if self.unit is not None or len(units) <= 1:
            return (self,)
        return tuple(replace(self, unit=unit) for unit in units)

    @property
    def bounds_its_unit(self) -> bool:
        """Whether everything that was spent has a price for the unit: false after an exact release, and for users after
        a release that protects single ratings."""
        return not self.exact and all(_priced(line.spends, self.unit, line.unit) is not None for line in self.spendings)

    @property
    def spent(self) -> float:
        """The epsilon that everything costs together; infinite where not all of it has a price for the unit."""
        require(len(self.parts) == 1, f"{self.data} was spent for several units, which do not add up: see its parts")
        return self._filter(self.accounting_delta).spent if self.bounds_its_unit else math.inf

    @property
    def remaining(self) -> float | None:
        """The greatest epsilon of one more fit like the last; None without a limit."""
        left = self.one_more()
        return None if left is None else left.epsilon

    def one_more(self) -> OneMore | None:
        """What can still be asked for; None without a limit. Before the first fit it is all of the limit, once."""
        from discreet.privacy.remaining import greatest_epsilon, how_often

        if self.epsilon is None:
            return None
        if not self.spends:
            return OneMore(epsilon=self.epsilon, fits=1)
        used, (spends, price, delta) = self._filter(self.accounting_delta), self._like_the_last()
        return OneMore(epsilon=greatest_epsilon(used, spends, price, delta), fits=how_often(used, spends, price))

    def each_of(self, fits: int) -> float | None:
        """The greatest epsilon of each of so many more fits like the last; None without a limit.

        Before the first fit it is asked for fits of one look, with Gaussian noise where the limit has a delta.
        """
        from discreet.privacy.remaining import greatest_epsilon

        if self.epsilon is None or self.unit is None:
            return None
        return greatest_epsilon(self._filter(self.accounting_delta), *self._like_the_last(), fits)

    def _like_the_last(self) -> tuple[tuple[Spend, ...], int, float]:
        """The looks of the last fit, how often each counts, and its delta; before the first fit, those of one look."""
        look = Spend(what="a look", mechanism="laplace", norm="l1", sensitivity=1.0, scale=1.0)
        if self.delta:
            look = replace(look, mechanism="gaussian", norm="l2")
        fits = [(line.spends, line.unit, line.delta) for line in self.spendings if line.spends]
        spends, unit, delta = fits[-1] if fits else ((look,), self.unit, self.accounting_delta)
        assert self.unit is not None and unit is not None
        price = units_changed(self.unit, unit)
        assert price is not None
        return spends, price, delta

    def total_with(self, plan: Ledger, purpose: str) -> float:
        """What everything would cost together with ``plan``; raises where that is over the limit."""
        unit = bare_unit(plan.unit)
        if self.epsilon is None:
            before = replace(self, unit=unit)
            if not before.bounds_its_unit:
                return math.inf
            return before._filter(max(before.accounting_delta, plan.delta)).after(plan.spends).spent
        assert self.unit is not None
        price = units_changed(bare_unit(self.unit), unit)
        if price is None:
            raise self._other_unit(unit)
        used = self._filter(self.accounting_delta)
        total = used.after([spend.for_group(price) for spend in plan.spends]).spent
        if total > self.epsilon * (1 + ROUNDING):
            raise self._refusal(plan, price, total, purpose)
        if self.promised is not None and self.promised != Loss(self.epsilon, self.delta or 0.0):
            # Which part of delta sampled noise takes depends on the limit: what the promised one refuses is refused.
            replace(self, epsilon=self.promised.epsilon, delta=self.promised.delta).total_with(plan, purpose)
        return total

    def _refusal(self, plan: Ledger, price: int, total: float, purpose: str) -> OverspentError:
        from discreet.privacy.accounting import refused_for_samplers
        from discreet.privacy.composition import composed_epsilon
        from discreet.privacy.remaining import greatest_epsilon

        assert self.epsilon is not None
        if self.delta == 0 and any(spend.mechanism == "gaussian" for spend in plan.spends):
            return OverspentError(
                f"{purpose} adds Gaussian noise, which needs a delta above 0, and the limit of {self.data} has none; "
                "nothing was computed or spent"
            )
        if math.isinf(total) and any(spend.sampling_rate < 1 for spend in self.spends):
            return OverspentError(
                f"{purpose} would come over the limit of {self.data}: sampled steps before it took the delta of "
                f"{self.delta:g}, and nothing but pure looks can follow; nothing was computed or spent"
            )
        if math.isinf(total):
            odds = sum(spend.slack * spend.times for spend in (*self.spends, *plan.spends))
            refused = refused_for_samplers(f"{purpose} on {self.data}", odds, self.epsilon, self.accounting_delta)
            return OverspentError(f"{refused}; nothing was computed or spent")
        left = greatest_epsilon(self._filter(self.accounting_delta), plan.spends, price, plan.delta)
        asked = composed_epsilon(plan.spends, plan.delta)
        dear = f" (for {self.unit} it counts {price} times)" if price > 1 else ""
        return OverspentError(
            f"{purpose} asks for epsilon {asked:.4g} of {self.data}{dear}, "
            f"where {left:.4g} of {self.epsilon:g} is left: "
            f"together that comes to {total:.4g}, {total - self.epsilon:.4g} over the limit; "
            "nothing was computed or spent"
        )

    def _filter(self, delta: float) -> "Filter":
        """What is used up by all lines, each a planned batch at its price for the unit, in the order of paying."""
        from discreet.privacy.composition import Filter

        used = Filter(epsilon=self.epsilon, delta=delta)
        for line in self.spendings:
            for batch in line.batches:
                priced = _priced(batch, self.unit, line.unit)
                assert priced is not None
                used = used.after(priced)
        return used

    def check_unlimited(self, purpose: str) -> None:
        """Raise where a limit was declared: what has no privacy costs more than any limit."""
        if self.epsilon is not None:
            raise OverspentError(
                f"{self.data} has a limit of epsilon {self.epsilon:g}, and {purpose} without privacy "
                "would overspend any limit; nothing was computed or spent"
            )

    def limited(self, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> "Account":
        """The same account with a limit, which may become smaller later and never larger.

        It is promised if nothing was spent yet.
        """
        if self.exact:
            first = self.exact[0]
            raise InputError(
                f"{self.data} was released without privacy before ({first.purpose}, {first.reserved_at[:10]}): "
                "what it tells is bounded by no epsilon, so no limit can be kept any more"
            )
        unit = bare_unit(unit or self.unit or Rating())
        if self.epsilon is not None and self.unit is not None and bare_unit(self.unit) != unit:
            raise self._other_unit(unit)
        for line in self.spendings:
            if line.unit is not None and units_changed(unit, line.unit) is None:
                raise InputError(
                    f"{self.data} was spent for another unit before ({line.unit}), which bounds nothing for this one "
                    f"({unit}), so no limit can be kept for it"
                )
        delta = (self.delta or 0.0) if delta is None else delta
        Ledger(epsilon, delta, unit)  # checks epsilon and delta
        if self.epsilon is not None and self.delta is not None and (epsilon > self.epsilon or delta > self.delta):
            raise InputError(
                f"the limit of {self.data} is epsilon {self.epsilon:g}, delta {self.delta:g}: it can be lowered, "
                f"and never raised to epsilon {epsilon:g}, delta {delta:g}"
            )
        promised = self.promised if self.spendings else Loss(float(epsilon), float(delta))
        account = replace(self, unit=unit, epsilon=float(epsilon), delta=float(delta), promised=promised)
        if account.spent > epsilon * (1 + ROUNDING):
            raise InputError(
                f"{self.data} has spent epsilon {account.spent:.4g} at delta {delta:g} already, "
                f"so its limit cannot be {epsilon:g}"
            )
        return account

    def _other_unit(self, unit: Unit) -> InputError:
        return InputError(
            f"the budget of {self.data} is kept for another unit ({self.unit}), and an epsilon for this one "
            f"({unit}) does not add up with it; nothing was computed or spent"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data, with every line."""
        return self.summary() | {"spendings": [spending.to_json() for spending in self.spendings]}

    def summary(self) -> dict[str, Any]:
        """The limit, what was spent and what is left, as plain data."""
        left = self.one_more()
        return {
            "data": self.data,
            "limit": None if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta},
            "promised": None if self.promised is None else asdict(self.promised),
            "one_more": None if left is None else {"epsilon": left.epsilon, "fits": left.fits},
            "released_without_privacy": bool(self.exact),
            "spent": [
                {
                    "unit": None if part.unit is None else _unit_to_json(part.unit),
                    "epsilon": _finite(part.spent),
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


def _priced(spends: Sequence[Spend], kept: Unit | None, counted: Unit | None) -> list[Spend] | None:
    """What spends count in an account for the unit ``kept``; None where they bound nothing for it."""
    if not spends or kept is None or counted is None:
        return list(spends)
    price = units_changed(bare_unit(kept), bare_unit(counted))
    return None if price is None else [spend.for_group(price) for spend in spends]
