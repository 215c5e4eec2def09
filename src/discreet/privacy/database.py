"""Where a budget is kept: the URL of a database, a connection to it, and the key of its sketches."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_data_path

from discreet.errors import BudgetError
from discreet.files import beside, sweep, sync_folder
from discreet.privacy.connections import Connection, Row, backend_of
from discreet.privacy.schema import KEYS, SCHEMA, TABLES, bring_up_to_date, version_of

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
        self._backend = backend_of(str(place or default_path()), patience)
        self._file = self._backend.file
        if place and self._file is not None and not self._file.parent.is_dir():
            # A mistyped path must not become a new budget, in which nothing was ever spent.
            raise BudgetError(f"there is no folder {self._file.parent} to keep a budget in; nothing was spent")

    @property
    def place(self) -> str:
        """Where it is kept, without a password."""
        return self._backend.place

    def key(self) -> bytes:
        """The secret key of the sketches: in a file beside the database, or in PostgreSQL in a table."""
        if self._file is not None:
            return _key_beside(self._file)
        with self._writing() as connection:
            new = f"INSERT INTO {KEYS} (id, key) VALUES (1, :key) ON CONFLICT (id) DO NOTHING"
            connection.run(new, key=secrets.token_hex(KEY_BYTES))
            [row] = connection.rows(f"SELECT key FROM {KEYS}")
            return _read_key(row["key"], self.place)

    @property
    def key_place(self) -> str:
        """Where the key is, or should be."""
        return str(_key_file(self._file)) if self._file is not None else f"the table {KEYS} of {self.place}"

    def _has_key(self) -> bool:
        return _key_file(self._file).exists() if self._file is not None else bool(self._rows(KEYS))

    def tidy(self) -> None:
        """Remove what a killed process left beside a SQLite file: temporary folders, and a journal of nothing written.

        SQLite removes such a journal itself when it writes, and leaves it where it only reads.
        """
        if self._file is None:
            return
        sweep(self._file.parent)
        if self._file.with_name(self._file.name + "-journal").exists():
            with self._writing() as connection:
                for change in (+1, -1):  # SQLite writes nothing where nothing changes
                    connection.run(f"UPDATE {SCHEMA} SET version = version + :change", change=change)

    def _rows(self, table: str, data: str | None = None) -> list[Row]:
        """The rows of a table that an older database may not have yet."""
        with self._reading() as connection:
            return [] if connection is None else rows_of(connection, table, data)

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
    def _reading(self) -> Iterator[Connection | None]:
        """A connection; None where there is no database yet."""
        if self._file is not None and not self._file_exists():
            yield None
            return
        with self._sentences("nothing was spent"), self._backend.reading() as connection:
            version_of(connection, self.place)
            yield connection

    @contextmanager
    def _writing(self, outcome: str = "nothing was spent") -> Iterator[Connection]:
        """A transaction that sees what all earlier ones wrote, and is written whole or not at all."""
        if self._file is not None:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise BudgetError(f"cannot write to {self._file.parent}: {error.strerror}; {outcome}") from None
        with self._sentences(outcome), self._backend.writing() as connection:
            bring_up_to_date(connection, self._backend)
            yield connection
            unknown = "whether it was booked is not known, and nothing was computed"
            with self._sentences(outcome if self._file is not None else unknown):
                connection.commit()

    @contextmanager
    def _sentences(self, outcome: str) -> Iterator[None]:
        """Whatever is wrong with the database becomes one sentence."""
        raised: tuple[type[Exception], ...] = (OSError, *self._backend.errors)
        try:
            yield
        except raised as error:
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            lines = words.splitlines() or [type(error).__name__]
            raise BudgetError(f"the budget in {self.place} cannot be used: {lines[0].strip()}; {outcome}") from None


def rows_of(connection: Connection, table: str, data: str | None) -> list[Row]:
    """The rows of a table, of one data set or all, with the columns that an older database has."""
    present = connection.columns(table)
    if not present:
        return []
    known = ", ".join(name for name in TABLES[table] if name in present)
    chosen = "" if data is None else " WHERE data_set = :data"
    order = next(iter(TABLES[table]))
    values = {} if data is None else {"data": data}
    return connection.rows(f"SELECT {known} FROM {table}{chosen} ORDER BY {order}", **values)


def default_path() -> Path:
    """The SQLite file in the user's data folder of the operating system."""
    return user_data_path("discreet", appauthor=False) / "budget.sqlite"


def _key_file(file: Path) -> Path:
    return file.with_name(file.name + ".key")


def _key_beside(file: Path) -> bytes:
    """The secret key of the sketches in a SQLite file: in a file beside it that only its owner may read.

    It is made when it is first asked for. Of two processes that make it at once, one succeeds, and both use that.
    """
    place = _key_file(file)
    try:
        sweep(file.parent)
        if not place.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with beside(place) as folder:
                own = folder / "key"
                with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
                    written.write(secrets.token_hex(KEY_BYTES) + "\n")
                    written.flush()
                    os.fsync(written.fileno())
                with suppress(FileExistsError):
                    os.link(own, place)
            sync_folder(place.parent)
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
