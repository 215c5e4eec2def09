"""What the rows of a budget say; one that cannot be read is named in one sentence, and nothing is spent on it."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import BudgetError, DiscreetError, require
from discreet.looks import Look
from discreet.privacy.account import Account, Spending
from discreet.privacy.connections import Row
from discreet.privacy.guarantee import Loss
from discreet.privacy.schema import EXACT
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User


def account_of(data: str, row: Row | None, lines: Sequence[Row], place: str) -> Account:
    """The account of a data set, from its row and its lines."""
    if row is None:
        return Account(data=data)
    with _named(f"the account of {data}", place):
        limit, delta = (None if row[name] is None else _number(row, name) for name in ("epsilon", "delta"))
        require((limit is None) == (delta is None), "its limit is not whole")
        kept = None if limit is None else _unit(row)
        promised = None
        if row.get("promised_epsilon") is not None and row.get("promised_delta") is not None:
            promised = Loss(_number(row, "promised_epsilon"), _number(row, "promised_delta"))
        elif limit is not None and delta is not None and not lines:  # in a database of an earlier version
            promised = Loss(limit, delta)
    spendings = tuple(_spending(line, data, place) for line in lines)
    units = {line.unit for line in spendings if line.unit} if kept is None else {kept}
    unit = units.pop() if len(units) == 1 else None
    return Account(data=data, unit=unit, epsilon=limit, delta=delta, promised=promised, spendings=spendings)


def look_of(row: Row, place: str) -> Look:
    """One unpaid look."""
    with _named(f"the look {row['id']} at {row['data_set']}", place):
        models = tuple((str(kind), str(settings)) for kind, settings in _parsed(row, "models"))
        kept = [] if row.get("reading") is None else _parsed(row, "reading")  # older versions did not write it down
        reading = tuple((str(part), str(chosen)) for part, chosen in kept)
        return Look(what=row["what"], models=models, at=row["at"], reading=reading)


def _spending(row: Row, data: str, place: str) -> Spending:
    with _named(f"line {row['id']} of {data}", place):
        is_exact = row["unit"] == EXACT and row["neighbours"] == EXACT
        return Spending(
            id=row["id"],
            unit=None if is_exact else _unit(row),
            purpose=row["purpose"],
            reserved_at=row["reserved_at"],
            released_at=row["released_at"],
            epsilon=_number(row, "epsilon"),
            delta=_number(row, "delta"),
            total=_number(row, "total"),
            spends=tuple(Spend.from_json(spend) for spend in _parsed(row, "spends")),
            **{name: row.get(name) for name in ("settings", "run_id", "claim", "arrays", "digest", "folder")},
        )


@contextmanager
def _named(what: str, place: str) -> Iterator[None]:
    """Whatever is wrong with a row becomes one sentence that says which."""
    try:
        yield
    except (DiscreetError, ValueError, TypeError, RecursionError) as error:
        reason = str(error) if isinstance(error, DiscreetError) else "it cannot be read"
        raise BudgetError(
            f"{what} in the budget in {place} is damaged: {reason}; put it back from a backup; nothing was spent"
        ) from None


def _unit(row: Row) -> Unit:
    name, neighbours = row["unit"], row["neighbours"]
    require(name in ("rating", "user"), f"it was booked for the unit {name!r}, which this version does not know")
    return User(neighbours=neighbours) if name == "user" else Rating(neighbours)


def _number(row: Row, name: str) -> float:
    value = row[name]
    sound = isinstance(value, int | float) and not math.isnan(value) and value >= 0
    require(sound, f"its {name} is not a number of at least 0")
    return float(value)


def _parsed(row: Row, name: str) -> list[Any]:
    try:
        found = json.loads(row[name])
    except (ValueError, TypeError, RecursionError):
        found = None
    require(isinstance(found, list), f"its {name} are no JSON list")
    return list(found)
