"""Where a budget is kept: the URL of a database, a connection to it, and the key of its sketches."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, Row, Table, create_engine, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import BudgetError, InputError, require
from discreet.extras import load_extra
from discreet.privacy.schema import KEYS, LOCK, bring_up_to_date, is_current

KEY_BYTES = 32


class Database:
    """A database in SQLite or PostgreSQL that holds the tables of a budget, or will once something is written.

    Parameters
    ----------
    url
        See :class:`~discreet.privacy.budget.Budget`.
    patience
        How many seconds to wait for others who are writing.
    """

    def __init__(self, url: str | Path | None, patience: float) -> None:
        place = url or os.environ.get("DISCREET_BUDGET")
        self._url = _read_url(str(place or default_path()))
        if place and self._file is not None and not self._file.parent.is_dir():
            # A mistyped path must not become a new budget, in which nothing was ever spent.
            raise BudgetError(f"there is no folder {self._file.parent} to keep a budget in; nothing was spent")
        self._patience = patience
        self._engine = _connect_later(self._url, patience)

    @property
    def place(self) -> str:
        """Where it is kept, without a password."""
        return str(self._file or self._url.set(drivername="postgresql").render_as_string(hide_password=True))

    def key(self) -> bytes:
        """The secret key of the sketches: in a file beside the database, or in PostgreSQL in a table."""
        if self._file is not None:
            return _key_beside(self._file)
        with self._writing() as connection:
            row = text(f"INSERT INTO {KEYS.name} (id, key) VALUES (1, :key) ON CONFLICT (id) DO NOTHING")
            connection.execute(row, {"key": secrets.token_hex(32)})
            return _read_key(connection.execute(select(KEYS.c.key)).scalar_one(), self.place)

    @property
    def key_place(self) -> str:
        """Where the key is, or should be."""
        return str(_key_file(self._file)) if self._file is not None else f"the table {KEYS.name} of {self.place}"

    def _has_key(self) -> bool:
        return _key_file(self._file).exists() if self._file is not None else bool(self._rows(KEYS))

    def _rows(self, table: Table, data: str | None = None) -> list[Row[Any]]:
        """The rows of a table that an older database may not have yet."""
        if self._file is not None and not self._file_exists():
            return []
        with self._connected("nothing was spent") as connection:
            if not inspect(connection).has_table(table.name):
                return []
            wanted = select(table).order_by(*table.primary_key)
            return list(connection.execute(wanted if data is None else wanted.where(table.c.data_set == data)))

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
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{self._patience}s'")
            if not is_current(connection):
                if not self._is_sqlite:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
                bring_up_to_date(connection)
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
    return user_data_path("discreet", appauthor=False) / "budget.sqlite"


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


def _connect_later(url: URL, patience: float) -> Engine:
    """One short connection for each use, so that nothing is shared with a process that is forked."""
    if url.get_backend_name() == "sqlite":
        # With isolation level None Python leaves transactions to us.
        return create_engine(url, poolclass=NullPool, connect_args={"timeout": patience, "isolation_level": None})
    load_extra("psycopg", "postgres", "a budget in PostgreSQL")
    # Read committed, whatever the server's default: after waiting for a lock the next statement must see
    # what the one before us booked, not how things were when we started.
    options = {"connect_timeout": 10, "client_encoding": "utf8"}
    return create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED", connect_args=options)


def _key_file(file: Path) -> Path:
    return file.with_name(file.name + ".key")


def _key_beside(file: Path) -> bytes:
    """The secret key of the sketches in a SQLite file: in a file beside it that only its owner may read.

    It is made when it is first asked for. Of two processes that make it at once, one succeeds, and both use that.
    """
    place = _key_file(file)
    try:
        if not place.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            own = place.with_name(f"{place.name}.{os.getpid()}.{secrets.token_hex(4)}")
            with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
                written.write(secrets.token_hex(KEY_BYTES) + "\n")
            try:
                os.link(own, place)
            except FileExistsError:
                pass
            finally:
                own.unlink()
        return _read_key(place.read_text().strip(), str(place))
    except OSError as error:
        raise BudgetError(f"the key in {place} cannot be used: {error.strerror}; nothing was spent") from None


def _read_key(text: str, place: str) -> bytes:
    """The key that is written somewhere; a damaged one is refused, since nothing would be known again with it."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BudgetError(f"the key in {place} is damaged: put it back from a backup; nothing was spent")
    return key
