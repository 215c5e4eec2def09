"""Any table with named columns: CSV, TSV, Parquet, Arrow, and frames of polars, pandas and pyarrow."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data import parquet_pages
from discreet.data.catalogue import IMPLICIT, Scale
from discreet.data.columnar import ARROW, PARQUET, collected, columns_of, scan, whole
from discreet.data.columns import TEXT_ENDINGS, columns_there, ending, listed, require_once
from discreet.data.gather import TEXT, Gatherer, Repeats, Where, rows_of
from discreet.data.handling import HANDLING, Handling, options_of_table
from discreet.data.history_file import read_history as read_history  # the command line looks for it here
from discreet.data.item_file import FACTS, ItemColumns, facts_of, facts_of_file
from discreet.data.item_file import read_catalogue as read_catalogue
from discreet.data.ratings import Ratings
from discreet.data.remote import Table
from discreet.data.text import text_batches
from discreet.data.text_format import TextFormat
from discreet.doors import checked
from discreet.errors import DataError, InputError, require
from discreet.processes import require_threads
from discreet.types import Progress, no_progress

BATCH = 2**17  # rows that are looked at together


def is_table(path: Path) -> bool:
    """Whether a file has the ending of a table that :func:`read_table` reads."""
    return ending(path) in {*TEXT_ENDINGS, *PARQUET, *ARROW}


@checked
def read_table(
    path: str | Path,
    *,
    scale: Scale | None = None,
    user: str = "user",
    item: str = "item",
    rating: str | None = "rating",
    time: str | None = None,
    items: str | Path | None = None,
    items_public: bool = False,
    items_id: str | None = None,
    title: str | None = None,
    features: Sequence[str] = (),
    drop_unlisted: bool = False,
    columns: Sequence[str] | None = None,
    items_columns: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    repeats: Repeats = "keep",
    progress: Progress = no_progress,
) -> Ratings:
    """Read ratings from a file of text, Parquet or Arrow, a bounded number of rows at a time.

    Parameters
    ----------
    path
        The file: text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, also ``.gz`` of these), ``.parquet``, ``.arrow``,
        ``.feather``. Text has the names of the columns in its first row; commas, tabs, semicolons, bars, ``::`` or
        spaces separate them, and the first row tells which.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating, time
        Names of the columns. Times are seconds since 1970 or dates. ``rating=None`` for data without ratings (clicks,
        plays), which need no scale: what happened twice counts once.
    items
        Another table that lists all items: a column of identifiers, and any of ``title``, ``genres`` (separated by
        ``|``, ``;`` or commas) and ``year``. A rating of an item that it does not list is an error. Without it the list
        is read off the ratings.
    items_public
        Say that the list of items is public: that it was made without looking at the ratings, from a shop's stock for
        example. Nothing can be proven otherwise, and nobody can see it from the list.
    items_id, title, features
        In the table of items: the column of identifiers, if it is not called as ``item`` is; that of the titles; and
        columns that become tags, as ``brand`` or ``price:number`` (:mod:`discreet.data.tags`).
    drop_unlisted
        Leave out ratings of items that are not listed.
    columns, items_columns
        Names of the columns, for a file of text without a header.
    separator, encoding
        Of text; ``None`` to find the separator, and for example ``latin-1``. A table of items that is UTF-8 is read as
        UTF-8 even if the ratings are not.
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
    scale = scale_for(rating, scale)
    text = TextFormat(
        columns=None if columns is None else listed("columns", columns), separator=separator, encoding=encoding
    )
    table = Table(place=str(path), user=user, item=item, rating=rating, time=time, text=text)
    facts = None
    if items is not None:
        fields = None if items_columns is None else listed("items_columns", items_columns)
        named = ItemColumns(item=items_id or item, title=title, features=listed("features", features))
        facts = facts_of_file(items, named, items_public, TextFormat(columns=fields, encoding=encoding))
    gatherer = Gatherer(scale, items=facts.items if facts else None, drop_unlisted=drop_unlisted)
    for batch, where in table.batches(progress):
        gatherer.add(batch, where)
    gatherer.options = options_of_table(path, rating, text.columns, time, items, features)
    return gatherer.finish(table.label, facts=facts, repeats=repeats)


def scale_for(rating: str | None, scale: Scale | None) -> Scale:
    """The scale that was declared, or that of data without ratings."""
    if rating is None:
        require(scale is None or scale.implicit, "data without ratings have no scale: leave it out")
        return IMPLICIT
    if not isinstance(scale, Scale):
        raise InputError(f"scale must be declared as a Scale, for example Scale(1, 5), got {type(scale).__name__}")
    require(not scale.implicit, "the scale says that there are no ratings: name no column of them, rating=None")
    return scale


def roles(user: str, item: str, rating: str | None, time: str | None) -> dict[str, str]:
    """From what columns mean to what they are called."""
    named = {"user": user, "item": item, "rating": rating, "time": time}
    return {role: name for role, name in named.items() if name is not None}


@checked
def from_frame(
    frame: Any,
    *,
    scale: Scale | tuple[float, float] | None = None,
    user: str = "user",
    item: str = "item",
    rating: str | None = "rating",
    time: str | None = None,
    items: Any = None,
    items_public: bool = False,
    items_id: str | None = None,
    title: str | None = None,
    features: Sequence[str] = (),
    drop_unlisted: bool = False,
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
        Names of the columns. Times are seconds since 1970 or dates. ``rating=None`` for data without ratings.
    items
        Another frame that lists all items: a column of identifiers, and any of ``title``, ``genres`` (lists, or text)
        and ``year``. A rating of an item that it does not list is an error. Without it the list is read off the
        ratings.
    items_public
        Say that the list of items is public: that it was made without looking at the ratings, from a shop's stock for
        example. Nothing can be proven otherwise, and nobody can see it from the list.
    items_id, title, features, drop_unlisted
        As of a file: :func:`discreet.data.tables.read_table`.
    repeats
        ``"keep"`` several ratings of one item by one user (only at different times), or merge them by a rule.

    Examples
    --------
    >>> import polars as pl
    >>> from_frame(pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "rating": [4.5, 2]}), scale=Scale(0.5, 5))
    Ratings(2 ratings, 1 user, 2 items, scale 0.5 to 5)
    >>> from_frame(pl.DataFrame({"user": [1, 1, 1], "item": ["a", "b", "b"]}), rating=None)
    Ratings(2 ratings, 1 user, 2 items, scale none (no ratings))
    """
    scale = scale_for(rating, Scale(*scale) if isinstance(scale, tuple) else scale)
    require_threads("polars")
    facts = None
    if items is not None:
        if type(items).__module__.partition(".")[0] not in ("polars", "pandas", "pyarrow") or not (
            hasattr(items, "columns") or hasattr(items, "column_names")
        ):
            raise InputError(f"items must be a frame of polars, pandas or pyarrow, got {type(items).__name__}")
        named = ItemColumns(item=items_id or item, title=title, features=listed("features", features))
        there = items_columns(items)
        for name in named.needed:
            if name not in there:
                raise DataError(f"the frame of items: there is no column {name!r}; {columns_there(there)}")
        described = _to_polars(items, list(dict.fromkeys(name for name in (*named.needed, *FACTS) if name in there)))
        facts = facts_of(described, named, "the frame of items", 1, items_public)
    columns = roles(user, item, rating, time)
    whole = _to_polars(frame, list(columns.values()), optional=HANDLING)
    if HANDLING in whole.columns and HANDLING not in columns.values():
        columns |= {HANDLING: HANDLING}
    gatherer = Gatherer(scale, items=facts.items if facts else None, drop_unlisted=drop_unlisted)
    for first in range(0, whole.height, BATCH):
        part = whole.slice(first, BATCH).select(pl.col(name).alias(role) for role, name in columns.items())
        gatherer.add(part, rows_of("the frame", first + 1))
    gatherer.options = options_of_table("", rating, None, time, items, features)
    ratings = gatherer.finish("the frame", facts=facts, repeats=repeats)
    marked = Handling().marked_as(gatherer.marks)
    return replace(ratings, handling=replace(ratings.handling, unmarked=marked.unmarked or not marked.words))


# ── Files ──


def table_batches(
    path: Path, columns: dict[str, str], progress: Progress = no_progress, text: TextFormat | None = None
) -> Iterator[tuple[pl.DataFrame, Where]]:
    """The rows of a table, a bounded number at a time; ``columns`` is from what they mean to what they are called."""
    require_threads("polars")
    kind, text = ending(path), TextFormat() if text is None else text
    if kind in TEXT_ENDINGS:
        separator = text.separator_of(path, columns.values())
        with text.open(path) as file:
            size = path.stat().st_size
            for batch, where in text_batches(
                file,
                str(path),
                separator=separator,
                fields=text.columns,
                columns=columns,
                optional=(HANDLING,),
                quoted=len(separator) == 1,
            ):
                yield batch, where
                progress(min(file.tell(), size), size, f"reading {path.name}")
        return
    require(text.columns is None, f"{path} names its columns itself: leave out what they are called in order")
    with whole(path, kind):
        lazy = scan(path, kind)
        kinds = columns_of(lazy)
        for name in columns.values():
            if name not in kinds:
                raise DataError.at(f"{path}", f"there is no column {name!r}; {columns_there(list(kinds))}")
        if kinds.get(HANDLING) in TEXT and HANDLING not in columns.values():
            columns = columns | {HANDLING: HANDLING}
        lazy = lazy.select(pl.col(name).alias(role) for role, name in columns.items())
        height, first = int(collected(lazy.select(pl.len())).item()), 0
        if kind in PARQUET:
            with suppress(parquet_pages.NotPlain):  # what it does not know is read in another way, below
                for batch in parquet_pages.batches(path, columns, kinds):
                    yield batch, rows_of(str(path), first + 1)
                    first += batch.height
                    progress(first, height, f"reading {path.name}")
        while first < height:
            yield collected(lazy.slice(first, BATCH)), rows_of(str(path), first + 1)
            first = min(first + BATCH, height)
            progress(first, height, f"reading {path.name}")


# ── Frames ──


def items_columns(frame: Any) -> list[str]:
    """Names of the columns of a frame of any kind."""
    columns = getattr(frame, "column_names", None)  # pyarrow's name for them
    return [str(name) for name in (frame.columns if columns is None else columns)]


def _to_polars(frame: Any, names: list[str], optional: str | None = None) -> pl.DataFrame:
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
    if optional not in names and known.count(str(optional)) == 1:
        names = [*names, str(optional)]
    if home == "polars":
        return pl.DataFrame(frame.select(names))
    if home == "pyarrow":
        converted = pl.from_arrow(frame.select(names))
        assert isinstance(converted, pl.DataFrame)
        return converted
    columns = {name: frame[name] for name in names}
    if optional in columns:  # of what may be anybody's own, the words alone
        columns[optional] = columns[optional].map(lambda word: word if isinstance(word, str) else "")
    return pl.DataFrame([_from_pandas(series, name) for name, series in columns.items()])


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
