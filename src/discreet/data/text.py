"""Tables written as text, read in bounded blocks, with the number of every row at hand."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from discreet.data.cells import Where, left_out, rows_of
from discreet.data.columns import other_separator, require_once, what_is_there
from discreet.data.sources import record_blocks
from discreet.data.text_format import PEEKED, TextFormat
from discreet.errors import DataError

MOST_COLUMNS = 10_000
"""Of a table: all are parsed, so that a row with too many fields is found, and each takes memory."""


def text_batches(
    file: IO[bytes],
    label: str,
    *,
    separator: str,
    fields: Sequence[str] | None,
    columns: Mapping[str, str],
    optional: Sequence[str] = (),
    quoted: bool = False,
) -> Iterator[tuple[pl.DataFrame, Where]]:
    """Read a table of text: batches of string columns, and where their rows came from.

    Parameters
    ----------
    file, label
        The open file, and what to call it in messages.
    separator
        Between two fields; may be longer than one character if the fields never contain it.
    fields
        Names of the fields in order, or None: they are in the first row. Spaces around them do not count, and if
        there are some, those around the fields of all other rows do not count either.
    columns
        From the name of a column in the batches to that of the field.
    optional
        Fields that are read under their own names if they are there.
    quoted
        Whether a field may stand in double quotes.
    """
    mark = separator if len(separator) == 1 else "\t"
    row = 1
    padded = False
    wanted: dict[str, int] = {}
    for block in record_blocks(file, label, quoted=quoted):
        text = block if mark == separator else block.replace(separator.encode(), mark.encode())
        if fields is None:
            head, _, text = text.partition(b"\n")
            given = _header(head.decode().rstrip("\r"), mark, label)
            fields = [field.strip() for field in given]
            padded = fields != given
            row += 1
        if not wanted:
            wanted = _wanted(fields, columns, optional, label, separator)
        if not text.strip():
            row += text.count(b"\n")
            continue
        empty = 0
        if text.endswith((b"\n\n", b"\n\r\n")):  # polars would make a row of every empty line
            empty = text.count(b"\n", len(text.rstrip(b"\r\n"))) - 1
            text = text.rstrip(b"\r\n")
        batch = _parse(text, label, row, mark, len(fields), quoted)
        where = rows_of(label, row)
        row += batch.height + empty
        blank = batch.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if bool((batch.to_series(-1).is_null() & ~blank).any()):  # an empty last field, or none
            _refuse_short_rows(text, mark, len(fields), quoted, where)
        batch = batch.select(pl.col(f"f{place}").alias(name) for name, place in wanted.items())
        if padded:
            batch = batch.select(pl.all().str.strip_chars())
        if bool(blank.any()):
            where = left_out(where, np.flatnonzero(blank.to_numpy()))
            batch = batch.filter(~blank)
        yield batch, where


def header_of(path: Path, text: TextFormat, wanted: Collection[str]) -> list[str]:
    """The names of the columns in the first row of a file; no other is read."""
    separator = text.separator_of(path, wanted)
    mark = separator if len(separator) == 1 else "\t"
    with text.open(path) as file:
        block = next(record_blocks(file, str(path), quoted=len(separator) == 1, size=PEEKED), b"")
    head = block.partition(b"\n")[0].decode().rstrip("\r").replace(separator, mark)
    return [name.strip() for name in _header(head, mark, str(path))]


def _header(line: str, mark: str, label: str) -> list[str]:
    """The names of the columns."""
    try:
        names = next(csv.reader([line], delimiter=mark), []) if '"' in line else line.split(mark)
    except csv.Error:
        raise DataError.at(
            f"{label}, row 1", "the names of the columns cannot be read: a quote is never closed, or a name is too long"
        ) from None
    if len(names) > MOST_COLUMNS:
        raise DataError.at(
            f"{label}, row 1", f"there are {len(names):,} columns, and at most {MOST_COLUMNS:,} are read"
        )
    return names


def require_columns(fields: Sequence[str], columns: Mapping[str, str], place: str, separator: str) -> None:
    """Raise unless each of the columns, from what they mean to what they are called, is there once."""
    for field in columns.values():
        if field.strip() not in fields:
            # Without ratings nothing in a first row looks like data, and unless it names a column it may name a user.
            named = any(other.strip() in fields for other in columns.values())
            nameable = named or "user" not in columns or ("rating" in columns and len(fields) >= len(columns))
            found = what_is_there(fields, separator)
            if not nameable:
                found = other_separator(fields, separator) or "the first row must name the columns"
            raise DataError.at(place, f"there is no column {field!r}; {found}")
        require_once(fields, field.strip(), place)


def _wanted(
    fields: Sequence[str], columns: Mapping[str, str], optional: Sequence[str], label: str, separator: str
) -> dict[str, int]:
    """From the name of a column in the batches to the place of its field."""
    require_columns(fields, columns, f"{label}, row 1", separator)
    places = {name: fields.index(field.strip()) for name, field in columns.items()}
    return places | {name: fields.index(name) for name in optional if name in fields and name not in places}


def _parse(text: bytes, label: str, row: int, separator: str, width: int, quoted: bool) -> pl.DataFrame:
    """All fields as text, wanted or not: only then does polars refuse a row that has too many."""
    # The fields get names of ours, so that a header with odd or repeated names does no harm.
    header = separator.join(f"f{position}" for position in range(width)).encode() + b"\n"
    try:
        return pl.read_csv(header + text, separator=separator, quote_char='"' if quoted else None, infer_schema=False)
    except pl.exceptions.PolarsError:
        raise DataError(_what_is_wrong(text, label, row, separator, width, quoted)) from None


def _refuse_short_rows(text: bytes, separator: str, width: int, quoted: bool, where: Where) -> None:
    """Polars fills short rows up; but a row that lacks a field in front has all others under the wrong names."""
    content = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", dtype=np.uint8)
    mark, end = content == ord(separator), content == ord("\n")
    if quoted and b'"' in text:
        outside = np.cumsum(content == ord('"'), dtype=np.int32) & 1 == 0
        mark, end = mark & outside, end & outside
    ends = np.flatnonzero(end)
    widths = np.diff(np.searchsorted(np.flatnonzero(mark), ends), prepend=0) + 1
    lengths = np.diff(ends, prepend=-1) - 1
    lengths -= (lengths > 0) & (content[ends - 1] == ord("\r"))
    short = (widths < width) & (lengths > 0)
    if short.any():
        first = int(short.argmax())
        raise DataError.at(where(first), f"{_widths(int(widths[first]), width)}")


def _what_is_wrong(text: bytes, label: str, row: int, separator: str, width: int, quoted: bool) -> str:
    """Find the row that does not fit, slowly: this happens once."""
    lines = io.StringIO(text.decode("utf-8"), newline="")
    number = -1
    records = (
        csv.reader(lines, delimiter=separator, strict=True)
        if quoted
        else csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    )
    try:
        for number, record in enumerate(records):
            if len(record) > width:
                return f"{label}, row {row + number}: {_widths(len(record), width)}"
    except csv.Error as error:
        return f"{label}, row {row + number + 1}: the quotes do not close as they should ({error})"
    return f"{label}, near row {row}: this does not look like a table with {width} fields"


def _widths(found: int, expected: int) -> str:
    return f"there {'is 1 field' if found == 1 else f'are {found} fields'} where {expected} are expected"
