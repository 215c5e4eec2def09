"""One short connection to SQLite or PostgreSQL: statements with ``:name`` parameters, rows as dictionaries.

Nothing is kept open between two uses, so nothing is shared with a process that is forked.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.errors import InputError, require
from discreet.extras import load_extra
from discreet.files import sync_folder

Row = dict[str, Any]
EXAMPLE = "for example postgresql://user@host/database, or the path of a SQLite file"
UNREADABLE = f"the URL of the budget cannot be read; write {EXAMPLE}"


def backend_of(place: str, patience: float) -> "Backend":
    """The database that a path or a URL means; one that names something else is refused, and not shown (passwords)."""
    if "://" not in place:
        return Sqlite(_lasting(place), patience)
    scheme, _, rest = place.partition("://")
    scheme = scheme.partition("+")[0]
    require(bool(scheme), UNREADABLE)
    if scheme in ("postgresql", "postgres"):
        return Postgres(_checked(f"postgresql://{rest}"), patience)
    require(scheme == "sqlite", f"a budget is kept in SQLite or PostgreSQL, not in {scheme}: write {EXAMPLE}")
    path, _, options = rest.partition("?")
    require(path == "" or path.startswith("/"), f"sqlite:// is followed by a path, not by a host: write {EXAMPLE}")
    require(not options or "memory" in options, f"the URL of a SQLite file takes no options: write {EXAMPLE}")
    return Sqlite(_lasting("" if options else path[1:]), patience)


def _lasting(path: str) -> Path:
    """The file that a path means; what SQLite would keep in memory is refused."""
    memory = path in ("", ":memory:") or path.startswith("file:")
    require(not memory, f"a budget must outlive the process: write {EXAMPLE}")
    return Path(path).expanduser().absolute()


def _checked(url: str) -> str:
    """A URL of PostgreSQL whose parts can be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError(UNREADABLE) from None
    hosts = parts.netloc.rpartition("@")[2].split(",")
    require(all(re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?", host) for host in hosts), UNREADABLE)
    return url


# ── SQLite ──


class Sqlite:
    """A SQLite file; nothing is opened before it is used."""

    serial = "INTEGER NOT NULL PRIMARY KEY"
    for_update = ""  # it has no locks on rows: its file is locked as a whole
    errors = (sqlite3.Error, UnicodeError)

    def __init__(self, file: Path, patience: float) -> None:
        self.file, self._patience = file, patience

    @property
    def place(self) -> str:
        """Its path."""
        return str(self.file)

    @contextmanager
    def reading(self) -> Iterator["_SqliteConnection"]:
        """A connection to read with: one view of all tables. It makes no file."""
        with self._opened("rw") as connection:
            connection.execute("BEGIN")
            yield _SqliteConnection(connection)

    @contextmanager
    def writing(self) -> Iterator["_SqliteConnection"]:
        """A transaction that sees what all earlier ones wrote; without a commit nothing of it stays.

        It locks the file now, and not at the first change.
        """
        is_new = not self.file.exists()
        with self._opened("rwc") as connection:
            # What is committed must survive a power cut, whatever defaults the database was given.
            connection.execute("PRAGMA synchronous = EXTRA")  # the folder too, after the journal is gone
            connection.execute("BEGIN IMMEDIATE")
            if is_new:
                sync_folder(self.file.parent)
            yield _SqliteConnection(connection)

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        # With isolation level None Python leaves transactions to us.
        place = f"{self.file.as_uri()}?mode={mode}"
        opened = sqlite3.connect(place, uri=True, timeout=self._patience, isolation_level=None)
        with closing(opened) as connection:
            yield connection


class _SqliteConnection:
    """What the tables of a budget are read and written through."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement that gives rows."""
        cursor = self._connection.execute(statement, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def run(self, statement: str, **values: Any) -> int:
        """Run a statement that changes rows; how many it changed."""
        return self._connection.execute(statement, values).rowcount

    def insert(self, table: str, **values: Any) -> int:
        """Add a row; the number that it gets."""
        return int(self._connection.execute(_insertion(table, values), values).lastrowid or 0)

    def columns(self, table: str) -> list[str]:
        """The columns of a table; none where there is no such table."""
        return [str(row["name"]) for row in self.rows(f"PRAGMA table_info({table})")]

    def tables(self) -> list[str]:
        return [str(row["name"]) for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]

    def commit(self) -> None:
        self._connection.execute("COMMIT")


# ── PostgreSQL ──

LOCK = 0x64697363
"""Held while tables are made: any number that is always the same."""


class Postgres:
    """A database of a PostgreSQL server, with the methods of :class:`Sqlite`."""

    file = None
    serial = "SERIAL PRIMARY KEY"
    for_update = " FOR UPDATE"

    def __init__(self, url: str, patience: float) -> None:
        self._url, self._patience = url, patience
        self._driver = load_extra("psycopg", "postgres", "a budget in PostgreSQL")
        try:
            self._driver.conninfo.conninfo_to_dict(url)
        except self._driver.Error:  # its words may hold the password
            raise InputError(UNREADABLE) from None

    @property
    def place(self) -> str:
        """Its URL, without passwords."""
        parts = urlsplit(self._url)
        who, at, host = parts.netloc.rpartition("@")
        name, colon, _ = who.partition(":")
        options = [(key, "***" if "password" in key else value) for key, value in parse_qsl(parts.query)]
        shown = parts._replace(netloc=f"{name}{':***' if colon else ''}{at}{host}", query=urlencode(options, safe="/*"))
        return urlunsplit(shown)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What it raises."""
        return (self._driver.Error, UnicodeError)

    @contextmanager
    def reading(self) -> Iterator["_PostgresConnection"]:
        """A transaction; nothing is changed."""
        with closing(self._opened()) as connection:
            yield _PostgresConnection(connection)

    @contextmanager
    def writing(self) -> Iterator["_PostgresConnection"]:
        """A transaction that waits for others as long as it was told to."""
        with closing(self._opened()) as connection:
            # What is committed must survive a power cut, whatever defaults the database was given.
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute(f"SET LOCAL lock_timeout = '{self._patience}s'")
            yield _PostgresConnection(connection)

    def _opened(self) -> Any:
        opened = self._driver.connect(self._url, connect_timeout=10, client_encoding="utf8")
        # Read committed, whatever the server's default: after waiting for a lock the next statement must see
        # what the one before us booked, not how things were when we started.
        opened.isolation_level = self._driver.IsolationLevel.READ_COMMITTED
        opened.row_factory = self._driver.rows.dict_row
        opened.adapters.register_loader("json", self._driver.types.string.TextLoader)  # read as from SQLite
        return opened


class _PostgresConnection:
    """The methods of a connection to SQLite."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, statement: str, **values: Any) -> list[Row]:
        return list(self._connection.execute(_named(statement), values).fetchall())

    def run(self, statement: str, **values: Any) -> int:
        return int(self._connection.execute(_named(statement), values).rowcount)

    def insert(self, table: str, **values: Any) -> int:
        [row] = self.rows(f"{_insertion(table, values)} RETURNING id", **values)
        return int(row["id"])

    def columns(self, table: str) -> list[str]:
        found = self.rows(
            "SELECT attname AS name FROM pg_attribute "
            "WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            name=table,
        )
        return [str(row["name"]) for row in found]

    def tables(self) -> list[str]:
        found = self.rows("SELECT tablename AS name FROM pg_tables WHERE schemaname = ANY (current_schemas(false))")
        return [str(row["name"]) for row in found]

    def commit(self) -> None:
        self._connection.commit()

    def lock_tables(self) -> None:
        self.rows(f"SELECT pg_advisory_xact_lock({LOCK}) AS done")


Backend = Sqlite | Postgres
Connection = _SqliteConnection | _PostgresConnection


def _insertion(table: str, values: Mapping[str, Any]) -> str:
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})"


def _named(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement)
