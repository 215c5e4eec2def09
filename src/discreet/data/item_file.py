"""The public list of items, from a table: identifiers, titles, genres, years, and any other column as tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.cells import identifiers, kind_of, rows_of
from discreet.data.columnar import collected, columns_of, scan, whole
from discreet.data.columns import TEXT_ENDINGS, columns_there, ending, listed
from discreet.data.gather import ItemFacts
from discreet.data.movielens import NO_GENRE, year_of
from discreet.data.remote import Remote, is_remote, remote_frame
from discreet.data.tags import Kind, genres_of, parse_feature, tags_of
from discreet.data.text import header_of, text_batches
from discreet.data.text_format import TextFormat
from discreet.doors import checked
from discreet.errors import DataError
from discreet.processes import require_threads

TITLE, GENRES, YEAR = "title", "genres", "year"
FACTS = (TITLE, GENRES, YEAR)


@dataclass(frozen=True, kw_only=True)
class ItemColumns:
    """What the columns of a table of items are called.

    Parameters
    ----------
    item
        Identifiers.
    title
        Titles; None for a column ``title``, if there is one.
    features
        Columns that become tags: ``brand``, or with what they are, ``price:number``
        (:mod:`discreet.data.tags`). Columns ``genres`` and ``year`` are used in any case.
    """

    item: str = "item"
    title: str | None = None
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for feature in self.features:
            parse_feature(feature)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that must be there."""
        named = [self.item, *([self.title] if self.title else []), *(parse_feature(text)[0] for text in self.features)]
        return tuple(dict.fromkeys(named))

    def unused(self, names: Sequence[str]) -> list[str]:
        """Of the columns of a table, those that nothing is made of.

        >>> ItemColumns(features=("brand",)).unused(["item", "title", "brand", "price"])
        ['price']
        """
        return [name for name in names if name and name not in (*self.needed, *FACTS)]


@checked
def read_catalogue(
    path: str | Path,
    scale: Scale,
    item: str = "item",
    *,
    items_public: bool = False,
    title: str | None = None,
    features: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Catalogue:
    """Read the list of items from a table: a column of identifiers, and any of ``title``, ``genres`` and ``year``.

    Parameters
    ----------
    path
        The file, or an address as of ratings.
    scale
        The rating scale.
    item, title, features, columns, encoding
        As ``items_id``, ``title``, ``features``, ``items_columns`` and ``encoding`` of
        :func:`discreet.data.tables.read_table`. A file that is UTF-8 is read as UTF-8 whatever the encoding.
    items_public
        Say that the list was made without looking at the ratings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
    >>> _ = file.write_text("item,title\\n1,Toy Story (1995)\\n")
    >>> read_catalogue(file, Scale(1, 5)).find("Toy Story (1995)")
    0
    """
    text = TextFormat(columns=None if columns is None else listed("columns", columns), encoding=encoding)
    named = ItemColumns(item=item, title=title, features=listed("features", features))
    return facts_of_file(path, named, items_public, text).catalogue(scale)


def facts_of_file(path: str | Path, columns: ItemColumns, declared: bool, text: TextFormat | None = None) -> ItemFacts:
    """What a file says of items."""
    text = TextFormat() if text is None else text
    if is_remote(path):
        address = Remote.of(str(path))
        return facts_of(_fetched(address, columns), columns, str(address), 1, declared)
    first_row = 1
    if ending(Path(path)) in TEXT_ENDINGS:
        text, first_row = text.or_utf_8(Path(path)), 1 if text.columns is not None else 2
    return facts_of(_read(Path(path), columns, text), columns, str(path), first_row, declared)


def unused_columns(
    path: str | Path, columns: ItemColumns, text: TextFormat | None = None
) -> tuple[list[str], list[str]]:
    """The columns of a file of items, and those that nothing is made of; its rows are not read.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
    >>> _ = file.write_text("item,title,price\\n1,Tea,2.50\\n")
    >>> unused_columns(file, ItemColumns())
    (['item', 'title', 'price'], ['price'])
    """
    if is_remote(path):
        return [], []  # it is not asked twice
    path, text = Path(path), TextFormat() if text is None else text
    if ending(path) not in TEXT_ENDINGS:
        with whole(path, ending(path)):
            there = list(columns_of(scan(path, ending(path))))
    else:
        text = text.or_utf_8(path)
        there = list(text.columns) if text.columns is not None else header_of(path, text, columns.needed)
    return there, columns.unused(there)


def _fetched(address: Remote, columns: ItemColumns) -> pl.DataFrame:
    """A table of items that lies elsewhere, whole."""

    def wanted(names: list[str]) -> dict[str, str]:
        more = dict.fromkeys([*columns.needed[1:], *(name for name in FACTS if name in names)])
        return {"item": columns.item} | {name: name for name in more if name not in ("item", columns.item)}

    return remote_frame(address, wanted).rename({"item": columns.item})


def _read(path: Path, columns: ItemColumns, text: TextFormat) -> pl.DataFrame:
    """A table of items, whole."""
    require_threads("polars")
    kind = ending(path)
    if kind not in TEXT_ENDINGS:
        with whole(path, kind):
            lazy = scan(path, kind)
            names = columns_of(lazy)
            wanted = dict.fromkeys(name for name in (*columns.needed, *FACTS) if name in names)
            return collected(lazy.select(list(wanted)) if columns.item in names else lazy.head(0))
    separator = text.separator_of(path, columns.needed)
    with text.open(path) as file:
        batches = text_batches(
            file,
            str(path),
            separator=separator,
            fields=text.columns,
            columns={name: name for name in columns.needed},
            optional=FACTS,
            quoted=len(separator) == 1,
        )
        parts = [batch for batch, _ in batches]
    if not parts:
        raise DataError(f"{path} is empty: it lists no item")
    return pl.concat(parts)


def facts_of(frame: pl.DataFrame, columns: ItemColumns, label: str, first_row: int, declared: bool) -> ItemFacts:
    """Titles, genres, years and tags out of a table of items, in the order of the table."""
    for name in columns.needed:
        if name not in frame.columns:
            raise DataError.at(f"{label}", f"there is no column {name!r}; {columns_there(frame.columns)}")
    names = identifiers(frame[columns.item], "item", rows_of(label, first_row)).cast(pl.String)
    twice = ~names.is_first_distinct()
    if bool(twice.any()):
        raise DataError.at(f"{label}, row {first_row + int(twice.arg_max() or 0)}", "this item is listed twice")
    items = names.to_list()
    titles, own = items, columns.title or TITLE
    if own in frame.columns:
        given = _text(frame[own], label).to_list()
        titles = [title or name for title, name in zip(given, items, strict=True)]
    if YEAR in frame.columns:
        column = frame[YEAR]
        numbers = column if column.dtype.is_numeric() else _text(column, label)
        numbers = numbers.cast(pl.Float64, strict=False).fill_null(0).fill_nan(0)
        years = numbers.cast(pl.Int16, strict=False).fill_null(0).to_list()
    else:
        years = [year_of(title) for title in titles]
    tags, read = _tags(frame, columns, label)
    return ItemFacts(items, titles, tags, years, declared, tags_from=read)


def _tags(frame: pl.DataFrame, columns: ItemColumns, label: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """The genres of each item and the tags of all columns that were asked for, and how each column was read."""
    asked = dict.fromkeys(parse_feature(feature) for feature in columns.features)
    otherwise = (GENRES, "number") in asked or (GENRES, "text") in asked
    found = []
    if GENRES in frame.columns and not otherwise:  # once: as a feature they would have a second name
        found.append(genres_of(_values(frame[GENRES], label), NO_GENRE))
        asked = {(name, kind): None for name, kind in asked if name != GENRES}
    for name, kind in asked:
        own = tags_of(_values(frame[name], label), kind)
        if frame.height and not any(own.rows):
            raise DataError.at(label, f"the column {name!r} gives no tags: {_why(kind)}")
        found.append(own)
    tags = [[tag for row in rows for tag in row] for rows in zip(*(own.rows for own in found), strict=True)]
    return tags or [[] for _ in range(frame.height)], tuple(own.how for own in found)


def _why(kind: Kind | None) -> str:
    """Why a column gives no tags, and what to do."""
    if kind == "number":
        return "there is no number in it; leave out that it is one, or leave it out of the features"
    if kind == "text":
        return "there is no word of three letters in it; leave it out of the features"
    return "it is empty; leave it out of the features"


def _values(column: pl.Series, label: str) -> pl.Series:
    """A column of tags, as lists or text."""
    return column if isinstance(column.dtype, pl.List) else _text(column, label)


def _text(column: pl.Series, label: str) -> pl.Series:
    """A column that describes items, as text."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Date)):
        raise DataError(f"{label}: the column {column.name!r} is of the type {kind_of(column)}, where text is expected")
    return column.cast(pl.String)
