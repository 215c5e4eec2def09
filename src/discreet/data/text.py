"""Tables written as text, read in bounded blocks, with the number of every row at hand."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import numpy as np
import polars as pl

from discreet.data.gather import Where, rows_of
from discreet.data.sources import record_blocks
from discreet.errors import DataError
from discreet.types import AnyArray


def text_batches(
    file: IO[bytes],
    label: str,
    *,
    separator: str,
    fields: Sequence[str] | None,
    columns: Mapping[str, str],
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
        Names of the fields in order, or None: they are in the first row.
    columns
        From the name of a column in the batches to that of the field.
    quoted
        Whether a field may stand in double quotes.
    """
    mark = separator if len(separator) == 1 else "\t"
    row = 1
    for block in record_blocks(file, label, quoted=quoted):
        text = block if mark == separator else block.replace(separator.encode(), mark.encode())
        if fields is None:
            head, _, text = text.partition(b"\n")
            fields = next(csv.reader([head.decode().rstrip("\r")], delimiter=mark), [])
            row += 1
        if row <= 2:
            for field in columns.values():
                if field not in fields:
                    known = ", ".join(fields)
                    raise DataError(f"{label}, row 1: there is no column {field!r}; the columns are {known}")
        if not text.strip():
            row += text.count(b"\n")
            continue
        batch = _parse(text, label, row, mark, fields, columns, quoted)
        where = rows_of(label, row)
        row += batch.height
        blank = batch.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if bool(blank.any()):
            where = _skipping(where, np.flatnonzero(~blank.to_numpy()))
            batch = batch.filter(~blank)
        yield batch, where


def _parse(
    text: bytes,
    label: str,
    row: int,
    separator: str,
    fields: Sequence[str],
    columns: Mapping[str, str],
    quoted: bool,
) -> pl.DataFrame:
    # The fields get names of ours, so that a header with odd or repeated names does no harm.
    names = [f"f{position}" for position in range(len(fields))]
    header = separator.join(names).encode() + b"\n"
    wanted = {name: f"f{fields.index(field)}" for name, field in columns.items()}
    try:
        frame = pl.read_csv(
            header + text,
            separator=separator,
            quote_char='"' if quoted else None,
            columns=sorted(set(wanted.values())),
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        raise DataError(_what_is_wrong(text, label, row, separator, len(fields), quoted)) from None
    return frame.select(pl.col(field).alias(name) for name, field in wanted.items())


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
                return f"{label}, row {row + number}: there are {len(record)} fields where {width} are expected"
    except csv.Error as error:
        return f"{label}, row {row + number + 1}: the quotes do not close as they should ({error})"
    return f"{label}, near row {row}: this does not look like a table with {width} fields"


def _skipping(where: Where, positions: AnyArray) -> Where:
    return lambda position: where(int(positions[position]))
