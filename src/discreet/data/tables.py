"""Any table with named columns: CSV, TSV, Parquet, Arrow, and frames of polars, pandas and pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.columns import SEPARATORS, columns_there, ending, require_once
from discreet.data.gather import Gatherer, ItemFacts, Repeats, Where, identifiers, kind_of, rows_of
from discreet.data.history_file import read_history as read_history  # the command line looks for it here
from discreet.data.movielens import NO_GENRE, year_of
from discreet.data.ratings import Ratings
from discreet.data.remote import Table
from discreet.data.sources import open_bytes, require_plain
from discreet.data.text import text_batches
from discreet.doors import checked
from discreet.errors import DataError, InputError
from discreet.processes import require_threads
from discreet.types import Progress, no_progress

PARQUET, ARROW = {".parquet", ".pq"}, {".arrow", ".feather", ".ipc"}
FACTS = ("title", "genres", "year")
BATCH = 2_000_000  # rows that are looked at together


def is_table(path: Path) -> bool:
    """Whether a file has the ending of a table that :func:`read_table` reads."""
    return ending(path) in {*SEPARATORS, *PARQUET, *ARROW}


@checked
def read_table(
    path: str | Path,
    *,
    scale: Scale,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    time: str | None = None,
    items: str | Path | None = None,
    items_public: bool = False,
    repeats: Repeats = "keep",
    progress: Progress = no_progress,
) -> Ratings:
    """Read ratings from a CSV, TSV, Parquet or Arrow file, a bounded number of rows at a time.

    Parameters
    ----------
    path
        The file: ``.csv`` or ``.tsv`` (also ``.gz`` of these; UTF-8, names of the columns in the first row),
        ``.parquet``, ``.arrow``, ``.feather``.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating, time
        Names of the columns. Times are seconds since 1970 or dates.
    items
        Another table that lists all items: a column of the same name as ``item``, and any of ``title``, ``genres``
        (separated by ``|``) and ``year``. A rating of an item that it does not list is an error. Without it the list
        is read off the ratings.
    items_public
        Say that the list of items is public: that it was made without looking at the ratings, from a shop's stock for
        example. Nothing can be proven otherwise, and nobody can see it from the list.
    repeats
        What becomes of several ratings of one item by one user: ``"keep"`` them (only at different times), or
        merge them by a rule (``"last"``, ``"mean"`` or ``"recency"``, see :meth:`discreet.Ratings.merge`).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = file.write_text("who,what,stars\\nann,tea,5\\nbob,tea,2\\n")
    >>> read_table(file, scale=Scale(1, 5), user="who", item="what", rating="stars")
    Ratings(2 ratings, 2 users, 1 item, scale 1 to 5)
    """
    table = Table(place=str(path), user=user, item=item, rating=rating, time=time)
    facts = None if items is None else _facts_of_file(items, item, items_public)
    gatherer = Gatherer(scale, items=facts.items if facts else None)
    for batch, where in table.batches(progress):
        gatherer.add(batch, where)
    return gatherer.finish(table.label, facts=facts, repeats=repeats)


@checked
def from_frame(
    frame: Any,
    *,
    scale: Scale | tuple[float, float],
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    time: str | None = None,
    items: Any = None,
    items_public: bool = False,
    repeats: Repeats = "keep",
) -> Ratings:
    """Take ratings from a frame of polars or pandas or a table of pyarrow; the parameters are those of a file.

    Parameters
    ----------
    frame
        The ratings.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating, time
        Names of the columns. Times are seconds since 1970 or dates.
    items
        Another frame that lists all items: a column of the same name as ``item``, and any of ``title``, ``genres``
        (lists, or text separated by ``|``) and ``year``. A rating of an item that it does not list is an error.
        Without it the list is read off the ratings.
    items_public
        Say that the list of items is public: that it was made without looking at the ratings, from a shop's stock for
        example. Nothing can be proven otherwise, and nobody can see it from the list.
    repeats
        ``"keep"`` several ratings of one item by one user (only at different times), or merge them by a rule.

    Examples
    --------
    >>> import polars as pl
    >>> from_frame(pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "rating": [4.5, 2]}), scale=Scale(0.5, 5))
    Ratings(2 ratings, 1 user, 2 items, scale 0.5 to 5)
    """
    scale = Scale(*scale) if isinstance(scale, tuple) else scale
    if not isinstance(scale, Scale):
        raise InputError(f"scale must be declared as a Scale, for example Scale(1, 5), got {type(scale).__name__}")
    require_threads("polars")
    facts = None
    if items is not None:
        if type(items).__module__.partition(".")[0] not in ("polars", "pandas", "pyarrow") or not (
            hasattr(items, "columns") or hasattr(items, "column_names")
        ):
            raise InputError(f"items must be a frame of polars, pandas or pyarrow, got {type(items).__name__}")
        if item not in items_columns(items):
            raise DataError(f"the frame of items: there is no column {item!r}; {columns_there(items_columns(items))}")
        described = _to_polars(items, [name for name in (item, *FACTS) if name in items_columns(items)])
        facts = _facts_of(described, item, "the frame of items", 1, items_public)
    columns = {"user": user, "item": item, "rating": rating} | ({} if time is None else {"time": time})
    whole = _to_polars(frame, list(columns.values()))
    gatherer = Gatherer(scale, items=facts.items if facts else None)
    for first in range(0, whole.height, BATCH):
        part = whole.slice(first, BATCH).select(pl.col(name).alias(role) for role, name in columns.items())
        gatherer.add(part, rows_of("the frame", first + 1))
    return gatherer.finish("the frame", facts=facts, repeats=repeats)


@checked
def read_catalogue(path: str | Path, scale: Scale, item: str = "item", *, items_public: bool = False) -> Catalogue:
    """Read the list of items from a table: a column of identifiers, and any of ``title``, ``genres`` and ``year``.

    ``items_public`` says that the list was made without looking at the ratings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
    >>> _ = file.write_text("item,title\\n1,Toy Story (1995)\\n")
    >>> read_catalogue(file, Scale(1, 5)).find("Toy Story (1995)")
    0
    """
    facts = _facts_of_file(path, item, items_public)
    return Catalogue.of(
        facts.items, scale, titles=facts.titles, genres=facts.genres, years=facts.years, declared=items_public
    )


# ── Files ──


def table_batches(
    path: Path, columns: dict[str, str], progress: Progress = no_progress
) -> Iterator[tuple[pl.DataFrame, Where]]:
    """The rows of a table, a bounded number at a time; ``columns`` is from what they mean to what they are called."""
    require_threads("polars")
    kind = ending(path)
    if kind in SEPARATORS:
        with open_bytes(path) as file:
            size = path.stat().st_size
            for batch, where in text_batches(
                file, str(path), separator=SEPARATORS[kind], fields=None, columns=columns, quoted=True
            ):
                yield batch, where
                progress(min(file.tell(), size), size, f"reading {path.name}")
        return
    with _whole(path, kind):
        lazy = _scan(path, kind)
        names = lazy.collect_schema().names()
        for name in columns.values():
            if name not in names:
                raise DataError.at(f"{path}", f"there is no column {name!r}; {columns_there(names)}")
        lazy = lazy.select(pl.col(name).alias(role) for role, name in columns.items())
        height = int(lazy.select(pl.len()).collect().item())
        for first in range(0, height, BATCH):
            yield lazy.slice(first, BATCH).collect(), rows_of(str(path), first + 1)
            progress(min(first + BATCH, height), height, f"reading {path.name}")


@contextmanager
def _whole(path: Path, kind: str) -> Iterator[None]:
    """Say plainly that a file is damaged, however the reading of it fails: polars panics at some broken files."""
    try:
        yield
    except pl.exceptions.DuplicateError:
        raise DataError(f"{path} cannot be read: two of its columns have the same name") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(f"{path} cannot be read as {kind[1:]}: it is cut off or damaged ({_one_line(error)})") from None


def _scan(path: Path, kind: str) -> pl.LazyFrame:
    require_plain(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it holds no rating")
    if kind in PARQUET:
        return pl.scan_parquet(path)
    if kind in ARROW:
        return pl.scan_ipc(path)
    raise InputError(f"{path} is no table that Discreet reads: .csv, .tsv, .parquet, .arrow or .feather")


def _read_small(path: Path, item: str) -> pl.DataFrame:
    """A table of items, whole."""
    require_threads("polars")
    kind = ending(path)
    if kind not in SEPARATORS:
        with _whole(path, kind):
            lazy = _scan(path, kind)
            names = lazy.collect_schema().names()
            return (
                lazy.select(name for name in (item, *FACTS) if name in names).collect()
                if item in names
                else lazy.head(0).collect()
            )
    with open_bytes(path) as file:
        batches = text_batches(
            file,
            str(path),
            separator=SEPARATORS[kind],
            fields=None,
            columns={item: item},
            optional=FACTS,
            quoted=True,
        )
        parts = [batch for batch, _ in batches]
    if not parts:
        raise DataError(f"{path} is empty: it lists no item")
    return pl.concat(parts)


def _head(path: str | Path) -> int:
    """The number of the first row: in text, the first is the header."""
    return 2 if ending(Path(path)) in SEPARATORS else 1


def _facts_of_file(path: str | Path, item: str, declared: bool) -> ItemFacts:
    return _facts_of(_read_small(Path(path), item), item, str(path), _head(path), declared)


def _facts_of(frame: pl.DataFrame, item: str, label: str, first_row: int, declared: bool) -> ItemFacts:
    """Titles, genres and years out of a table of items, in the order of the table."""
    if item not in frame.columns:
        raise DataError.at(f"{label}", f"there is no column {item!r}; {columns_there(frame.columns)}")
    names = identifiers(frame[item], "item", rows_of(label, first_row)).cast(pl.String)
    twice = ~names.is_first_distinct()
    if bool(twice.any()):
        raise DataError.at(f"{label}, row {first_row + int(twice.arg_max() or 0)}", "this item is listed twice")
    items = names.to_list()
    titles = items
    if "title" in frame.columns:
        given = _text(frame["title"], label).to_list()
        titles = [title or name for title, name in zip(given, items, strict=True)]
    genres: list[list[str]] = [[] for _ in items]
    if "genres" in frame.columns:
        column = frame["genres"]
        split = _text(column, label).str.split("|") if column.dtype != pl.List(pl.String) else column
        genres = [[genre for genre in own or [] if genre and genre not in NO_GENRE] for own in split.to_list()]
    if "year" in frame.columns:
        column = frame["year"]
        numbers = column if column.dtype.is_numeric() else _text(column, label)
        numbers = numbers.cast(pl.Float64, strict=False).fill_null(0).fill_nan(0)
        years = numbers.cast(pl.Int16, strict=False).fill_null(0).to_list()
    else:
        years = [year_of(title) for title in titles]
    return ItemFacts(items, titles, genres, years, declared)


def _text(column: pl.Series, label: str) -> pl.Series:
    """A column that describes items, as text."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Date)):
        raise DataError(f"{label}: the column {column.name!r} is of the type {kind_of(column)}, where text is expected")
    return column.cast(pl.String)


# ── Frames ──


def items_columns(frame: Any) -> list[str]:
    """Names of the columns of a frame of any kind."""
    columns = getattr(frame, "column_names", None)  # pyarrow's name for them
    return [str(name) for name in (frame.columns if columns is None else columns)]


def _to_polars(frame: Any, names: list[str]) -> pl.DataFrame:
    """These columns of a frame of polars, pandas or pyarrow; neither of the others is imported for it."""
    home = type(frame).__module__.partition(".")[0]
    if home == "polars" and hasattr(frame, "collect"):
        frame = frame.collect()
    if home not in ("polars", "pandas", "pyarrow") or not (hasattr(frame, "columns") or hasattr(frame, "column_names")):
        raise InputError(f"from_frame takes a frame of polars, pandas or pyarrow, got {type(frame).__name__}")
    known = items_columns(frame)
    for name in names:
        if name not in known:
            raise DataError(f"the frame: there is no column {name!r}; {columns_there(known)}")
        require_once(known, name, "the frame")
    if home == "polars":
        return pl.DataFrame(frame.select(names))
    if home == "pyarrow":
        converted = pl.from_arrow(frame.select(names))
        assert isinstance(converted, pl.DataFrame)
        return converted
    return pl.DataFrame([_from_pandas(frame[name], name) for name in names])


def _from_pandas(series: Any, name: str) -> pl.Series:
    """A column of pandas: numbers and times as arrays, all else through its distinct values."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype) and kind in "iufbM":
        values = series.to_numpy()
        return pl.Series(name, values.astype("datetime64[us]") if kind == "M" else values, nan_to_null=True)
    if len(series) and all(isinstance(value, list | tuple | np.ndarray) for value in series.iloc[:1]):
        return pl.Series(name, [list(value) for value in series])
    codes, distinct = series.factorize()
    values = pl.Series(name, [None if value is None else str(value) for value in distinct], dtype=pl.String)
    places = pl.Series(codes.astype(np.int64))
    return values.gather(places.set(places < 0, None))


def _one_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
