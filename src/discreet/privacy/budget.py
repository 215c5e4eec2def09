"""What may be spent on a data set in all: kept in a database, so that it outlives processes and is shared by them.

A spending goes through two states, and never back:

    reserved    booked before anything is computed, in a transaction that refuses what would overspend
    released    marked after the release was written

Both count as spent, so a process that dies in between has lost nothing of the account: there are no refunds. All
spends of a data set, of all its fits, are composed together at the delta of its limit, which costs less than adding
up their epsilons. What is spent next may be chosen after seeing what was released before: sums of pure epsilons and of
the μ² of Gaussian noise hold for such choices too; other mixtures are composed as if they had been planned beforehand.

A release without privacy is a line too, of infinite epsilon: where a limit was declared it is refused, and after it
none can be declared.

The database holds mechanisms, settings and times; no rating, no user, and nothing that was computed from them.
"""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    create_engine,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import BudgetError, InputError, require
from discreet.privacy.account import Account, Spending
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Rating, Unit, User

PATIENCE = 60
"""Seconds to wait for others who are booking."""
_LOCK = 0x64697363
"""Of PostgreSQL, held while the tables are made: any number that is always the same."""

_EXACT = "none"
"""In place of a unit: whose secret a release without privacy keeps."""

_TABLES = MetaData()
_DATA_SETS = Table(
    "discreet_data_sets",
    _TABLES,
    Column("name", String, primary_key=True),
    Column("unit", String),  # these four are the limit: null until it is declared
    Column("neighbours", String),
    Column("epsilon", Double),
    Column("delta", Double),
)
_SPENDINGS = Table(
    "discreet_spendings",
    _TABLES,
    Column("id", Integer, primary_key=True),
    Column("data_set", ForeignKey(_DATA_SETS.c.name), nullable=False, index=True),
    Column("unit", String, nullable=False),  # _EXACT, and an infinite epsilon, for a release without privacy
    Column("neighbours", String, nullable=False),
    Column("purpose", String, nullable=False),
    Column("reserved_at", String, nullable=False),
    Column("released_at", String),
    Column("epsilon", Double, nullable=False),  # of this fit alone, at the delta that it was asked to meet
    Column("delta", Double, nullable=False),
    Column("total", Double, nullable=False),  # of everything until then, at the delta of the data set
    Column("spends", JSON, nullable=False),
)


@dataclass(frozen=True)
class Reservation:
    """A spending that is booked. What is computed with it is paid for, whether or not it is ever released."""

    budget: "Budget"
    id: int

    def released(self) -> None:
        """Note that the release was written. It was paid for when it was reserved."""
        with self.budget._writing(outcome="the release is paid for all the same") as connection:
            connection.execute(
                update(_SPENDINGS)
                .where(_SPENDINGS.c.id == self.id, _SPENDINGS.c.released_at.is_(None))
                .values(released_at=_now())
            )


class Budget:
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
    >>> budget.report("our ratings").remaining
    0.25
    >>> budget.reserve("our ratings", plan, "popularity again")
    Traceback (most recent call last):
    discreet.errors.OverspentError: popularity again asks for epsilon 0.75 of our ratings, where 0.25 of 1 is left: \
together that comes to 1.5, 0.5 over the limit; nothing was computed or spent
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path | None = None) -> None:
        place = url or os.environ.get("DISCREET_BUDGET")
        self._url = _read_url(str(place or default_path()))
        if place and self._file is not None and not self._file.parent.is_dir():
            # A mistyped path must not become a new budget, in which nothing was ever spent.
            raise BudgetError(f"there is no folder {self._file.parent} to keep a budget in; nothing was spent")
        self._engine = _connect_later(self._url)

    @property
    def place(self) -> str:
        """Where it is kept, without a password."""
        return str(self._file or self._url.set(drivername="postgresql").render_as_string(hide_password=True))

    def declare(self, data: str, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> None:
        """Set the limit of a data set. Later it can be lowered, as far as is not yet spent, and never raised."""
        self.report(data).limited(epsilon, delta, unit)  # as in reserve
        with self._writing() as connection:
            account = self._lock(connection, data).limited(epsilon, delta, unit)
            assert account.unit is not None
            limit = {"unit": account.unit.name, "neighbours": account.unit.neighbours}
            connection.execute(
                update(_DATA_SETS)
                .where(_DATA_SETS.c.name == data)
                .values(epsilon=account.epsilon, delta=account.delta, **limit)
            )

    def reserve(self, data: str, plan: Ledger, purpose: str) -> Reservation:
        """Book what ``plan`` holds, before anything is computed; raises where that would overspend.

        Of several who ask at the same instant for the last of a budget, one gets it. Without a declared limit
        everything is booked and nothing is refused; what is spent for different units is then kept apart.
        """
        # Once without a lock: loading the accountant and composing are slow, and what is found is remembered.
        self.report(data).total_with(plan, purpose)
        own = plan.spent
        with self._writing() as connection:
            total = self._lock(connection, data).total_with(plan, purpose)
            line = connection.execute(
                insert(_SPENDINGS)
                .values(
                    data_set=data,
                    unit=plan.unit.name,
                    neighbours=plan.unit.neighbours,
                    purpose=purpose,
                    reserved_at=_now(),
                    epsilon=own,
                    delta=plan.delta,
                    total=total,
                    spends=[spend.to_json() for spend in plan.spends],
                )
                .returning(_SPENDINGS.c.id)
            ).scalar_one()
        return Reservation(self, int(line))

    def expose(self, data: str, purpose: str) -> Reservation:
        """Book a release without privacy, before it is written; raises where a limit was declared.

        From then on no limit can be declared: no epsilon bounds what is out.
        """
        self.report(data).check_unlimited(purpose)
        with self._writing() as connection:
            self._lock(connection, data).check_unlimited(purpose)
            line = connection.execute(
                insert(_SPENDINGS)
                .values(
                    data_set=data,
                    unit=_EXACT,
                    neighbours=_EXACT,
                    purpose=purpose,
                    reserved_at=_now(),
                    epsilon=math.inf,
                    delta=0.0,
                    total=math.inf,
                    spends=[],
                )
                .returning(_SPENDINGS.c.id)
            ).scalar_one()
        return Reservation(self, int(line))

    def report(self, data: str) -> Account:
        """The account of a data set; an empty one where nothing is known of it."""
        if self._file is not None and not self._file_exists():
            return Account(data=data)
        with self._connected("nothing was spent") as connection:
            if not inspect(connection).has_table(_SPENDINGS.name):
                return Account(data=data)
            return self._read(connection, data)

    @property
    def _file(self) -> Path | None:
        return Path(str(self._url.database)) if self._is_sqlite else None

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    def _file_exists(self) -> bool:
        assert self._file is not None
        try:
            self._file.stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise BudgetError(
                f"the budget in {self.place} cannot be used: {error.strerror}; nothing was spent"
            ) from None
        return True

    def _lock(self, connection: Connection, data: str) -> Account:
        """The account as it is now, which nobody else can change before the transaction ends."""
        row = text("INSERT INTO discreet_data_sets (name) VALUES (:name) ON CONFLICT (name) DO NOTHING")
        connection.execute(row, {"name": data})
        # SQLite has no locks on rows, and ignores this: its file is locked as a whole.
        connection.execute(select(_DATA_SETS.c.name).where(_DATA_SETS.c.name == data).with_for_update())
        return self._read(connection, data)

    def _read(self, connection: Connection, data: str) -> Account:
        row = connection.execute(select(_DATA_SETS).where(_DATA_SETS.c.name == data)).one_or_none()
        if row is None:
            return Account(data=data)
        lines = connection.execute(select(_SPENDINGS).where(_SPENDINGS.c.data_set == data).order_by(_SPENDINGS.c.id))
        spendings = tuple(
            Spending(
                id=line.id,
                unit=None if line.unit == _EXACT else _unit_of(line),
                purpose=line.purpose,
                reserved_at=line.reserved_at,
                released_at=line.released_at,
                epsilon=line.epsilon,
                delta=line.delta,
                total=line.total,
                spends=tuple(Spend.from_json(spend) for spend in line.spends),
            )
            for line in lines
        )
        units = {spending.unit for spending in spendings if spending.unit} if row.epsilon is None else {_unit_of(row)}
        unit = units.pop() if len(units) == 1 else None
        return Account(data=data, unit=unit, epsilon=row.epsilon, delta=row.delta, spendings=spendings)

    @contextmanager
    def _writing(self, outcome: str = "nothing was spent") -> Iterator[Connection]:
        """A transaction that sees what all earlier ones wrote, and is written whole or not at all."""
        if self._file is not None:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise BudgetError(f"cannot write to {self._file.parent}: {error.strerror}; {outcome}") from None
        with self._connected(outcome) as connection:
            # What is committed must survive a power cut, whatever defaults the database was given.
            if self._is_sqlite:
                connection.exec_driver_sql("PRAGMA synchronous = FULL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # locks the file now, and not at the first change
            else:
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
            if not inspect(connection).has_table(_SPENDINGS.name):
                if not self._is_sqlite:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                _TABLES.create_all(connection)
            yield connection
            try:
                connection.commit()
            except SQLAlchemyError as error:
                lost = outcome if self._is_sqlite else "whether it was booked is not known, and nothing was computed"
                raise self._sentence(error, lost) from None

    @contextmanager
    def _connected(self, outcome: str) -> Iterator[Connection]:
        """A connection; whatever is wrong with the database becomes one sentence."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._sentence(error, outcome) from None

    def _sentence(self, error: SQLAlchemyError, outcome: str) -> BudgetError:
        lines = str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__]
        return BudgetError(f"the budget in {self.place} cannot be used: {lines[0].strip()}; {outcome}")


def default_path() -> Path:
    """The SQLite file in the user's data folder of the operating system."""
    if base := os.environ.get("XDG_DATA_HOME"):
        folder = Path(base)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        folder = Path.home() / ".local" / "share"
    return folder / "discreet" / "budget.sqlite"


def _read_url(place: str) -> URL:
    """The URL that a path or a URL means; one that names something else is refused, and never shown (passwords)."""
    if "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser().absolute()))
    example = "for example postgresql://user@host/database, or the path of a SQLite file"
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        raise InputError(f"the URL of the budget cannot be read; write {example}") from None
    scheme = url.drivername.partition("+")[0]
    if scheme in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    require(scheme == "sqlite", f"a budget is kept in SQLite or PostgreSQL, not in {scheme}: write {example}")
    require(url.database not in (None, "", ":memory:"), f"a budget must outlive the process: write {example}")
    return url.set(drivername="sqlite", database=str(Path(str(url.database)).absolute()))


def _connect_later(url: URL) -> Engine:
    """One short connection for each use, so that nothing is shared with a process that is forked."""
    if url.get_backend_name() == "sqlite":
        # With isolation level None Python leaves transactions to us.
        return create_engine(url, poolclass=NullPool, connect_args={"timeout": PATIENCE, "isolation_level": None})
    try:
        # Read committed, whatever the server's default: after waiting for a lock the next statement must see
        # what the one before us booked, not how things were when we started.
        options = {"connect_timeout": 10, "client_encoding": "utf8"}
        return create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED", connect_args=options)
    except ModuleNotFoundError:
        raise InputError("a budget in PostgreSQL needs psycopg: pip install 'discreet[postgres]'") from None


def _unit_of(row: Row[Any]) -> Unit:
    unit: Unit = User(neighbours=row.neighbours) if row.unit == "user" else Rating(row.neighbours)
    return unit


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
