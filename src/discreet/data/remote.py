"""Ratings that lie elsewhere: a table or a query of PostgreSQL, or a file in an object store.

    postgresql://user@host/database?table=ratings       by ADBC; a password from PGPASSWORD or ~/.pgpass, as psql has it
    s3://bucket/ratings.parquet, gs://…, az://…, hf://…  by polars; keys and endpoints from the environment

A bounded number of rows is in memory at a time. Passwords and keys are never shown: an address is a :class:`Remote`,
whose text is the address without them, and that is what messages, accounts and files get to see.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import polars as pl

from discreet.data.columns import SEPARATORS, columns_there, ending, require_once
from discreet.data.gather import Where, rows_of
from discreet.data.handling import HANDLING
from discreet.data.text_format import TextFormat
from discreet.errors import DataError, InputError, require
from discreet.extras import load_extra
from discreet.processes import require_threads
from discreet.types import Progress, no_progress

DATABASES = ("postgresql", "postgres")
STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hf", "https", "http")
OWN = ("table", "query")
"""Parameters of an address that are ours, and not the database's."""
BATCH = 1_000_000
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def is_remote(data: object) -> bool:
    """Whether DATA is an address rather than a name or a path.

    >>> is_remote("s3://shop/ratings.parquet"), is_remote("ratings.csv"), is_remote("file:///tmp/ratings.csv")
    (True, False, False)
    """
    found = _ADDRESS.match(data) if isinstance(data, str) else None
    return found is not None and found[1].lower() != "file"


def local_path(data: str) -> str:
    """A path, also where it is written as ``file://…``.

    >>> local_path("file:///tmp/my%20ratings.csv"), local_path("ratings.csv")
    ('/tmp/my ratings.csv', 'ratings.csv')
    """
    return unquote(urlsplit(data).path) if data[:7].lower() == "file://" else data


class Remote(str):
    """An address as it may be shown; ``url`` is the whole of it.

    >>> address = Remote.of("postgresql://ann:secret@db.shop/films?table=ratings&sslmode=require")
    >>> address
    'postgresql://db.shop/films?table=ratings'
    """

    url: str

    @classmethod
    def of(cls, data: str, query: str | None = None) -> "Remote":
        """The address; ``query`` is what to ask a database for, in place of a table."""
        if isinstance(data, Remote) and query is None:
            return data
        url = data.url if isinstance(data, Remote) else str(data)
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
        except ValueError:
            raise InputError("the address of the ratings cannot be read: check its host and port") from None
        if scheme not in (*DATABASES, *STORES):
            known = ", ".join(f"{name}://" for name in ("postgresql", "s3", "gs", "az", "hf", "https"))
            raise InputError(f"ratings cannot be read from {scheme}://…: there are {known} and files")
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
        if query is not None:
            require(scheme in DATABASES, "a query is for a database: leave it out for a file")
            require("table" not in asked, "name either a table, in the address, or a query")
            asked["query"] = query
            url = urlunsplit(parts._replace(query=urlencode(asked)))
        where = f"{host}:{port}" if port else host
        shown = f"{scheme}://{where}{parts.path}"
        if scheme in DATABASES:
            shown = f"postgresql://{where or asked.get('host', 'localhost')}{parts.path}"
            if "query" in asked:
                shown += f"?query={hashlib.sha256(asked['query'].encode()).hexdigest()[:12]}"
            elif "table" in asked:
                shown += f"?table={asked['table']}"
        made = super().__new__(cls, shown)
        made.url = url
        return made

    def __str__(self) -> str:
        return self  # stays an address where text is asked for


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of ratings, here or elsewhere, and what its columns are called.

    Parameters
    ----------
    place
        A file (CSV, TSV, Parquet, Arrow), or an address as above.
    user, item, rating, time
        Names of the columns; None for a rating that is not there.
    text
        How a file of text is written.

    Examples
    --------
    >>> print(Table(place="s3://key:secret@shop/ratings.parquet"))
    s3://shop/ratings.parquet
    """

    place: str
    user: str = "user"
    item: str = "item"
    rating: str | None = "rating"
    time: str | None = None
    text: TextFormat = TextFormat()  # noqa: RUF009 (immutable)

    def __post_init__(self) -> None:
        place = str(self.place)
        object.__setattr__(self, "place", Remote.of(place) if is_remote(place) else local_path(place))

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return str(self.place)

    def __str__(self) -> str:
        return self.label

    @property
    def columns(self) -> dict[str, str]:
        """From what columns mean to what they are called."""
        named = {"user": self.user, "item": self.item, "rating": self.rating, "time": self.time}
        return {role: name for role, name in named.items() if name is not None}

    def is_file(self, path: Path) -> bool:
        """Whether it lies in this very file."""
        return not isinstance(self.place, Remote) and Path(self.place).resolve() == path.resolve()

    def digest(self, progress: Progress = no_progress) -> str | None:
        """A checksum of a file and the names of its columns; None for what lies elsewhere, which has none."""
        if isinstance(self.place, Remote):
            return None
        from discreet.data.sources import require_plain

        require_plain(Path(self.place))
        progress(0, 1, f"checking {Path(self.place).name}")
        with Path(self.place).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        written = "" if self.text == TextFormat() else f":{self.text}"
        return f"{content}:{sorted(self.columns.items())}{written}"

    def _with_marks(self, names: list[str]) -> dict[str, str]:
        """The columns, and the one that says what was done to the ratings, where there is one."""
        marked = HANDLING in names and HANDLING not in self.columns.values()
        return self.columns | ({HANDLING: HANDLING} if marked else {})

    def batches(self, progress: Progress = no_progress) -> Iterator[tuple[pl.DataFrame, Where]]:
        """Its rows, a bounded number at a time, with the columns user, item, rating and perhaps time."""
        from discreet.data.tables import table_batches

        if isinstance(self.place, Remote):
            return remote_batches(self.place, self._with_marks, progress)
        return table_batches(Path(self.place), self.columns, progress, self.text)


def remote_batches(
    address: Remote, columns: "Chosen", progress: Progress = no_progress
) -> Iterator[tuple[pl.DataFrame, Where]]:
    """The rows of a table that lies elsewhere; ``columns`` is from what they mean to what they are called."""
    require_threads("polars")
    database = urlsplit(address.url).scheme.lower() in DATABASES
    first = 1
    for batch in _of_database(address, columns) if database else _of_store(address, columns):
        yield batch, rows_of(str(address), first)
        first += batch.height
        progress(0, 0, "reading ratings")


def remote_frame(address: Remote, chosen: Callable[[list[str]], dict[str, str]]) -> pl.DataFrame:
    """A small table that lies elsewhere, whole: items, users, or what is in stock.

    ``chosen`` is given the names of its columns and says which are wanted: from what they mean to what they are called.
    """
    require_threads("polars")
    database = urlsplit(address.url).scheme.lower() in DATABASES
    parts = list(_of_database(address, chosen) if database else _of_store(address, chosen))
    if not parts:
        raise DataError(f"{address} is empty")
    return pl.concat(parts)


# ── PostgreSQL ──

Chosen = dict[str, str] | Callable[[list[str]], dict[str, str]]
"""Which columns are read: from what they mean to what they are called; perhaps by what is there."""


def _of_database(address: Remote, columns: Chosen) -> Iterator[pl.DataFrame]:
    adbc = load_extra("adbc_driver_postgresql.dbapi", "sources", "reading ratings from PostgreSQL")
    parts = urlsplit(address.url)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    source = _source(address, asked)
    others = {name: value for name, value in asked.items() if name not in OWN}
    url = urlunsplit(parts._replace(scheme="postgresql", query=urlencode(others, quote_via=quote)))
    with _refusals(address), adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {source} LIMIT 0")
        there = cursor.fetch_record_batch().schema
        columns = _columns(address, there.names, columns)
        # Text of all that is neither a list nor a time: numbers of any length and identifiers have no type in Arrow.
        lists = {field.name for field in there if str(field.type).startswith("list")}
        kinds = {role: "" if name in lists or role == "time" else "::text" for role, name in columns.items()}
        kinds |= {"rating": "::float8"}
        chosen = [f"{_quoted(name)}{kinds[role]} AS {_quoted(role)}" for role, name in columns.items()]
        cursor.execute(f"SELECT {', '.join(chosen)} FROM {source}")
        for batch in cursor.fetch_record_batch():
            table = pl.from_arrow(batch)
            assert isinstance(table, pl.DataFrame)
            if table.height:
                yield table


def _source(address: Remote, asked: dict[str, str]) -> str:
    if query := asked.get("query", "").strip().rstrip(";"):
        return f"({query}) AS asked"
    if table := asked.get("table", ""):
        return ".".join(_quoted(part) for part in table.split("."))
    raise InputError(f"{address} does not say which table: add ?table=NAME to the address, or give a query")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _refusals(address: Remote) -> Iterator[None]:
    """What the database refuses, in a sentence of our own: its messages quote passwords and values."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith("adbc_driver_manager"):
            raise
        state = str(getattr(error, "sqlstate", None) or "")
        reasons = {
            "28": "the login was refused: check the user in the address, and PGPASSWORD or ~/.pgpass",
            "3D": "there is no such database",
            "42": "it does not know the table, or does not understand the query",
            "22": "a value in a column cannot be read as what the column should be",
        }
        reason = reasons.get(state[:2], f"the database refused (SQLSTATE {state})" if state else _unreachable(error))
        raise DataError(f"{address} cannot be read: {reason}") from None


def _unreachable(error: Exception) -> str:
    text = str(error)
    if "password" in text or "authentication" in text or "role" in text:
        return "the login was refused: check the user in the address, and PGPASSWORD or ~/.pgpass"
    if "does not exist" in text and "database" in text:
        return "there is no such database"
    return "the database does not answer; check host and port"


# ── Object stores ──


def _of_store(address: Remote, columns: Chosen) -> Iterator[pl.DataFrame]:
    kind = ending(Path(urlsplit(address.url).path))
    try:
        if kind in (".parquet", ".pq"):
            lazy = pl.scan_parquet(address.url)
        elif kind in SEPARATORS:
            lazy = pl.scan_csv(address.url, separator=SEPARATORS[kind], infer_schema=False)
        elif kind in (".arrow", ".feather", ".ipc"):
            lazy = pl.scan_ipc(address.url)
        else:
            raise InputError(f"{address} is no table that Discreet reads: .parquet, .csv, .tsv, .arrow or .feather")
        names = lazy.collect_schema().names()
        columns = _columns(address, names, columns)
        chosen = lazy.select(pl.col(name).alias(role) for role, name in columns.items())
        if hasattr(chosen, "collect_batches"):
            yield from chosen.collect_batches(chunk_size=BATCH, maintain_order=True)
            return
        for first in range(0, int(chosen.select(pl.len()).collect().item()), BATCH):  # older versions of polars
            yield chosen.slice(first, BATCH).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ImportError, RuntimeError) as error:
        raise DataError(f"{address} cannot be read: {_store_reason(error)}") from None


def _store_reason(error: BaseException) -> str:
    text = str(error)
    for word, reason in (
        ("404", "there is no such file"),
        ("NotFound", "there is no such file"),
        ("not found", "there is no such file"),
        ("403", "access was refused: check the keys in the environment"),
        ("401", "access was refused: check the keys in the environment"),
        ("credential", "no keys were found in the environment"),
        ("Credential", "no keys were found in the environment"),
    ):
        if word in text:
            return reason
    return f"the store does not answer, or the file is damaged ({type(error).__name__})"


def _columns(address: Remote, names: list[str], columns: Chosen) -> dict[str, str]:
    """Which columns are read, all of which must be there."""
    columns = columns if isinstance(columns, dict) else columns(names)
    for name in columns.values():
        if name not in names:
            raise DataError.at(str(address), f"there is no column {name!r}; {columns_there(names)}")
        require_once(names, name, str(address))
    return columns
