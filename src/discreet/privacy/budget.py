"""What may be spent on a data set in all: kept in a database, so that it outlives processes and is shared by them.

A spending goes through two states, and never back:

    reserved    booked before anything is computed, in a transaction that refuses what would overspend
    released    marked after the release was written

Both count as spent, so a process that dies in between has lost nothing of the account: there are no refunds. All
spends of a data set, of all its fits, are composed together at the delta of its limit, which costs less than adding
up their epsilons. Each line is planned as a whole, and may be chosen after seeing all answers of the lines before it
(:mod:`discreet.privacy.account`).

A release without privacy is a line too, of infinite epsilon: where a limit was declared it is refused, and after it
none can be declared.

A run that is named (``run_id``) is paid once, however often it is tried again; of all who try, one publishes.

The database holds mechanisms, settings, times, which models were looked at without paying, and a sketch of each data
set's users and items under a secret key (:mod:`discreet.privacy.fingerprint`); no rating and no name of a user.
"""

import math
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, inspect, select, text, update

from discreet.doors import checked, checked_methods
from discreet.errors import BudgetError, InputError
from discreet.looks import Look
from discreet.privacy.account import Account, Spending
from discreet.privacy.database import Database
from discreet.privacy.database import default_path as default_path
from discreet.privacy.ledger import Ledger
from discreet.privacy.schema import DATA_SETS, EXACT, LOOKS, SKETCHES, SPENDINGS, select_present
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User

if TYPE_CHECKING:
    from discreet.privacy.fingerprint import Sketch

PATIENCE = 60
"""Seconds to wait for others who are booking."""


@dataclass(frozen=True)
class Reservation:
    """A spending that is booked. What is computed with it is paid for, whether or not it is ever released.

    ``claim`` is the right to publish a run that may be tried again; ``published`` the checksum of what was published
    under its run id before.
    """

    budget: "Budget"
    id: int
    claim: str | None = None
    published: str | None = None

    def released(self, arrays: str | None = None) -> None:
        """Note that the release was written. It was paid for when it was reserved.

        A run that may be tried again is noted before the release appears, with the checksum of its arrays: raises where
        another process has taken it over or published it, and then nothing may appear.
        """
        line = update(SPENDINGS).where(SPENDINGS.c.id == self.id, SPENDINGS.c.released_at.is_(None))
        if self.claim is not None:
            line = line.where(SPENDINGS.c.claim == self.claim)
        with self.budget._writing(outcome="the release is paid for all the same") as connection:
            changed = connection.execute(line.values(released_at=_now(), arrays=arrays)).rowcount
        if self.claim is not None and changed != 1:
            raise BudgetError("another process has taken this run over, and publishes it; nothing was written here")


@checked
@partial(checked_methods, own_first=False)
class Budget(Database):
    """The accounts of all data sets, in SQLite or PostgreSQL.

    Parameters
    ----------
    url
        A path of a SQLite file, ``sqlite:///…``, or ``postgresql://user@host/database``. By default the variable
        ``DISCREET_BUDGET``, or else a file in the user's data folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget(f"{folder.name}/budget.sqlite")
    >>> budget.declare("our ratings", epsilon=1.0)
    >>> plan = Ledger(epsilon=0.75)
    >>> plan.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=3, scale=4.0))
    >>> budget.reserve("our ratings", plan, "popularity").released()
    >>> budget.account("our ratings").remaining
    0.25
    >>> budget.reserve("our ratings", plan, "popularity again")
    Traceback (most recent call last):
    discreet.errors.OverspentError: popularity again asks for epsilon 0.75 of our ratings, where 0.25 of 1 is left: \
together that comes to 1.5, 0.5 over the limit; nothing was computed or spent
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path | None = None) -> None:
        super().__init__(url, PATIENCE)

    def declare(self, data: str, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> None:
        """Set the limit of a data set. Later it can be lowered, as far as is not yet spent, and never raised."""
        data = self.resolve(data)
        self.account(data).limited(epsilon, delta, unit)  # as in reserve
        with self._writing() as connection:
            account = self._lock(connection, data).limited(epsilon, delta, unit)
            assert account.unit is not None
            limit = {"unit": account.unit.name, "neighbours": account.unit.neighbours}
            connection.execute(
                update(DATA_SETS)
                .where(DATA_SETS.c.name == data)
                .values(epsilon=account.epsilon, delta=account.delta, **limit)
            )

    def reserve(
        self,
        data: str,
        plan: Ledger,
        purpose: str,
        *,
        settings: str = "",
        digest: str | None = None,
        run_id: str | None = None,
    ) -> Reservation:
        """Book what ``plan`` holds, before anything is computed; raises where that would overspend.

        Of several who ask at the same instant for the last of a budget, one gets it. Without a declared limit
        everything is booked and nothing is refused; what is spent for different units is then kept apart.

        Parameters
        ----------
        data
            Which account pays.
        plan, purpose
            What is spent, and on what, in words.
        settings
            A hash of the model and its settings.
        digest
            Of the reports that are paid for, where users perturbed their ratings themselves.
        run_id
            Names the run: where it was booked before with the same plan and settings, that line is taken over.
        """
        data = self.resolve(data)
        # Once without a lock: loading the accountant and composing are slow, and what is found is remembered.
        before = self.account(data)
        if run_id is None or before.run(run_id) is None:
            before.total_with(plan, purpose)
        own = plan.spent
        claim = None if run_id is None else secrets.token_hex(16)
        with self._writing() as connection:
            account = self._lock(connection, data)
            if run_id is not None and (line := account.run(run_id)) is not None:
                return self._take_over(connection, line, plan, settings, claim)
            total = account.total_with(plan, purpose)
            number = _write_line(
                connection,
                data_set=data,
                unit=plan.unit.name,
                neighbours=plan.unit.neighbours,
                purpose=purpose,
                epsilon=own,
                delta=plan.delta,
                total=total,
                spends=[spend.to_json() for spend in plan.spends],
                settings=settings or None,
                digest=digest,
                run_id=run_id,
                claim=claim,
            )
        return Reservation(self, number, claim)

    def _take_over(
        self, connection: Connection, line: Spending, plan: Ledger, settings: str, claim: str | None
    ) -> Reservation:
        """Go on with a line that is booked: from now on only the new claim may publish it."""
        if (line.settings or "") != settings or line.spends != plan.spends or line.delta != plan.delta:
            raise InputError(
                f"the run {line.run_id} was booked for something else ({line.purpose}): name this one otherwise; "
                "nothing was computed or spent"
            )
        if line.released_at is None:
            connection.execute(update(SPENDINGS).where(SPENDINGS.c.id == line.id).values(claim=claim))
        return Reservation(self, line.id, claim, line.arrays)

    def expose(self, data: str, purpose: str, *, settings: str = "") -> Reservation:
        """Book a release without privacy, before it is written; raises where a limit was declared.

        From then on no limit can be declared: no epsilon bounds what is out.
        """
        data = self.resolve(data)
        self.account(data).check_unlimited(purpose)
        with self._writing() as connection:
            self._lock(connection, data).check_unlimited(purpose)
            number = _write_line(
                connection,
                data_set=data,
                unit=EXACT,
                neighbours=EXACT,
                purpose=purpose,
                epsilon=math.inf,
                delta=0.0,
                total=math.inf,
                spends=[],
                settings=settings or None,
            )
        return Reservation(self, number)

    def write_look(self, data: str, look: Look) -> None:
        """Write down an unpaid look at a data set, before it is taken."""
        data = self.resolve(data)
        with self._writing("nothing was computed") as connection:
            self._lock(connection, data)
            models = [list(model) for model in look.models]
            connection.execute(insert(LOOKS).values(data_set=data, at=look.at, what=look.what, models=models))

    def looks(self, data: str) -> tuple[Look, ...]:
        """Every unpaid look at a data set, the oldest first."""
        rows = self._rows(LOOKS, self.resolve(data))
        return tuple(Look(what=row.what, models=tuple((k, s) for k, s in row.models), at=row.at) for row in rows)

    def remember(self, data: str, sketch: "Sketch", place: str = "") -> None:
        """Keep what a data set looks like, and where it was read from, unless both are kept already."""
        data = self.resolve(data)
        kept = {"users": sketch.users, "tastes": sketch.tastes, "items": sketch.items, "key_id": sketch.key_id}
        with self._writing() as connection:
            self._lock(connection, data)
            same = [SKETCHES.c[name] == value for name, value in {**kept, "place": place}.items()]
            known = connection.execute(select(SKETCHES.c.id).where(SKETCHES.c.data_set == data, *same)).first()
            if known is None:
                connection.execute(insert(SKETCHES).values(data_set=data, at=_now(), place=place, **kept))

    def sketches(self) -> "dict[str, list[Sketch]]":
        """What every data set looks like, as far as that is kept."""
        rows = self._rows(SKETCHES)
        if not rows:
            return {}
        from discreet.privacy.fingerprint import Sketch

        found: dict[str, list[Sketch]] = {}
        for row in rows:
            found.setdefault(row.data_set, []).append(Sketch(row.key_id, row.users, row.tastes, row.items))
        return found

    def key(self) -> bytes:
        """The secret key of the sketches; raises where there are some that were made under another."""
        from discreet.privacy.fingerprint import key_id

        kept = {row.key_id for row in self._rows(SKETCHES)}
        if kept and not (self._has_key() and kept == {key_id(super().key())}):
            raise BudgetError(
                f"the key in {self.key_place} is not the one under which the data sets of this budget are known: "
                "put it back from a backup, or, if it is lost, empty the table discreet_sketches, and name the account "
                "of every data set that had one; nothing was computed or spent"
            )
        return super().key()

    def resolve(self, data: str) -> str:
        """How an account is called that is kept: letters are compared as one reads them, paths as they are.

        >>> Budget("budget.sqlite").resolve(" Films")
        'films'
        """
        if Path(data).is_absolute():
            return data
        name = _read_aloud(data)
        kept = [row.name for row in self._rows(DATA_SETS)]
        if data in kept or name in kept:
            return data if data in kept else name
        return next((other for other in kept if not Path(other).is_absolute() and _read_aloud(other) == name), name)

    def knows(self, data: str) -> bool:
        """Whether there is an account of this name, with a limit, a spending or a look."""
        account = self.account(data)
        return account.epsilon is not None or bool(account.spendings) or bool(self.looks(data))

    def account(self, data: str) -> Account:
        """The account of a data set; an empty one where nothing is known of it."""
        data = self.resolve(data)
        if self._file is not None and not self._file_exists():
            return Account(data=data)
        with self._connected("nothing was spent") as connection:
            if not inspect(connection).has_table(SPENDINGS.name):
                return Account(data=data)
            return self._read(connection, data)

    def _lock(self, connection: Connection, data: str) -> Account:
        """The account as it is now, which nobody else can change before the transaction ends."""
        row = text("INSERT INTO discreet_data_sets (name) VALUES (:name) ON CONFLICT (name) DO NOTHING")
        connection.execute(row, {"name": data})
        # SQLite has no locks on rows, and ignores this: its file is locked as a whole.
        connection.execute(select(DATA_SETS.c.name).where(DATA_SETS.c.name == data).with_for_update())
        return self._read(connection, data)

    def _read(self, connection: Connection, data: str) -> Account:
        row = connection.execute(select(DATA_SETS).where(DATA_SETS.c.name == data)).one_or_none()
        if row is None:
            return Account(data=data)
        lines = connection.execute(
            select_present(connection, SPENDINGS).where(SPENDINGS.c.data_set == data).order_by(SPENDINGS.c.id)
        )
        spendings = tuple(
            Spending(
                id=line.id,
                unit=None if line.unit == EXACT else _unit_of(line),
                purpose=line.purpose,
                reserved_at=line.reserved_at,
                released_at=line.released_at,
                epsilon=line.epsilon,
                delta=line.delta,
                total=line.total,
                spends=tuple(Spend.from_json(spend) for spend in line.spends),
                **{name: getattr(line, name, None) for name in ("settings", "run_id", "arrays", "digest")},
            )
            for line in lines
        )
        units = {spending.unit for spending in spendings if spending.unit} if row.epsilon is None else {_unit_of(row)}
        unit = units.pop() if len(units) == 1 else None
        return Account(data=data, unit=unit, epsilon=row.epsilon, delta=row.delta, spendings=spendings)


def _read_aloud(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


def _unit_of(row: Row[Any]) -> Unit:
    unit: Unit = User(neighbours=row.neighbours) if row.unit == "user" else Rating(row.neighbours)
    return unit


def _write_line(connection: Connection, **values: Any) -> int:
    line = insert(SPENDINGS).values(reserved_at=_now(), **values).returning(SPENDINGS.c.id)
    return int(connection.execute(line).scalar_one())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
