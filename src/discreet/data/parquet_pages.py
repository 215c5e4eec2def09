"""Columns of a Parquet file a few pages at a time, so that memory does not follow the size of its row groups.

A row group is what polars reads at once: many writers make one of a million rows, which may be the whole file. But
within it every column is a sequence of pages of about a megabyte, each packed by itself. Here some pages, behind the
dictionary that they refer to, are given a description of their own and so become a small Parquet file of one column.
Polars reads that: how values are packed and encoded is its business.

Only plain columns are read like this. What is not known here (nested columns, encryption) raises NotPlain, wherever it
is noticed, and is left to polars from there on. Pages that contradict the description of the file are refused: polars
believes them, and where one says that it has fewer than no values it ends the process.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from discreet.data.columnar import collected, one_line
from discreet.data.thrift import LIST, RECORD, Entries, Field, Reader, Record, written
from discreet.errors import DataError

MAGIC = b"PAR1"
PIECE = 2**20  # bytes of unpacked pages that are read at once, and more only where one page has more
MOST_ROWS = 2**17  # that are read at once
TEXT, VIEW = 2**19, 16  # bytes of text that are made at once, and what polars takes for each besides its letters
SLICES = 8  # in which the text of a piece is made: for each of them its pages are unpacked
MOST_PAGES = 2**12  # in a piece: looking through smaller ones would take longer than reading them
HEADER, LONGEST_HEADER = 2**12, 2**24  # bytes in which the description of a page is looked for, first and at most
DATA, DICTIONARY, DATA_2 = 0, 2, 3  # kinds of pages
REFERRING = (2, 8)  # encodings of pages that refer to the dictionary
REPEATED = 2
WHOLE, LONG = 5, 6  # of 4 and 8 bytes


def batches(path: Path, columns: Mapping[str, str], kinds: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    """The rows of a file, some at a time; ``columns`` is from what they mean to what they are called.

    ``kinds`` says what polars takes each of them for.
    """
    try:
        with path.open("rb") as file:
            yield from _together(file, columns, kinds)
    except _Damaged as error:
        raise DataError(f"{path} cannot be read as parquet: it is cut off or damaged ({error})") from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:  # a record is not what it should be
        raise NotPlain from error


class NotPlain(Exception):  # noqa: N818 - no error: polars reads on
    """A file is not known well enough to read it in pieces."""


class _Damaged(Exception):  # noqa: N818 - becomes an error of ours, with the name of the file
    """Pages contradict the description of the file."""


def _together(file: IO[bytes], columns: Mapping[str, str], kinds: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    """The pages of different columns end at different rows: as many as all have go on together."""
    footer = _footer(file)
    parts = {role: _Column(file, footer, name, kinds[name]).pieces() for role, name in columns.items()}
    left = {role: pl.Series(dtype=pl.Null) for role in parts}
    while True:
        for role, pieces in parts.items():
            while len(left[role]) == 0:
                following = next(pieces, None)
                if following is None:
                    return
                left[role] = following
        rows = min(map(len, left.values()))
        yield pl.DataFrame([column.head(rows).alias(role) for role, column in left.items()])
        left = {role: column.slice(rows) for role, column in left.items()}


def _footer(file: IO[bytes]) -> Record:
    """What a file says about itself at its end."""
    size = file.seek(0, io.SEEK_END)
    end = _bytes(file, size - 8, 8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC:
        raise ValueError("this is no Parquet file")
    footer = Reader(_bytes(file, size - 8 - length, length)).record()
    if _number(footer, 3) != sum(_number(group, 3) for group in _entries(footer, 4)):
        raise _Damaged("its row groups do not have as many rows as it says")
    return footer


def _bytes(file: IO[bytes], at: int, size: int) -> bytes:
    """Bytes of a file, all of which must be there: else room would be made for what is not."""
    if at < 0 or size < 0 or at + size > file.seek(0, io.SEEK_END):
        raise _Damaged("it refers to a place outside the file")
    file.seek(at)
    return file.read(size)


@dataclass
class _Piece:
    """Pages that follow one another: where they are, and how much is in them."""

    at: int
    size: int = 0
    unpacked: int = 0
    rows: int = 0
    pages: int = 0
    refers: bool = False

    def add(self, size: int, unpacked: int, rows: int) -> None:
        if rows < 0:
            raise _Damaged("a page has fewer values than none")
        self.size, self.unpacked = self.size + size, self.unpacked + unpacked
        self.rows, self.pages = self.rows + rows, self.pages + 1


class _Column:
    """One column of a file: where its pages are, and what they hold."""

    def __init__(self, file: IO[bytes], footer: Record, name: str, kind: pl.DataType) -> None:
        self._file, self._name, self._kind = file, name, kind
        schema = _entries(footer, 2)
        self._root, self._leaf = schema[0], self._find(schema)
        self._groups = _entries(footer, 4)

    def _find(self, schema: list[Record]) -> Record:
        """The description of the column, which is no part of another and has no parts."""
        place, found = 1, []
        for _ in range(_number(schema[0], 5)):
            element, inside = schema[place], 1
            if 5 not in element and _number(element, 3) != REPEATED and element[4].value == self._name.encode():
                found.append(element)
            while inside:  # all that belongs to it
                inside += _number(schema[place], 5) - 1 if 5 in schema[place] else -1
                place += 1
        if len(found) != 1:
            raise ValueError("the column is not a plain one")
        return found[0]

    def pieces(self) -> Iterator[pl.Series]:
        """Its values, some at a time."""
        for group in self._groups:
            path: list[Any] = [self._name.encode()]
            chunks = [chunk for chunk in _entries(group, 1) if 3 in chunk and _entries(chunk[3].value, 3) == path]
            if len(chunks) != 1 or set(chunks[0]) & {1, 8, 9}:  # in another file, or encrypted
                raise ValueError("the column is not in this file alone")
            yield from self._of_chunk(chunks[0][3].value, _number(group, 3))

    def _of_chunk(self, chunk: Record, rows: int) -> Iterator[pl.Series]:
        at = _number(chunk, 9)
        if 11 in chunk and 0 < _number(chunk, 11) < at:
            at = _number(chunk, 11)
        end = at + _number(chunk, 7)
        dictionary, piece = _Piece(at), _Piece(at)
        while at < end and rows:
            header, length = self._header(at, end)
            kind, size, unpacked = _number(header, 1), length + _number(header, 3), length + _number(header, 2)
            if size < length or unpacked < length or at + size > end:
                raise _Damaged("a page ends outside its column")
            at += size
            if kind == DICTIONARY:
                if dictionary.pages or piece.pages:
                    raise _Damaged("a dictionary comes late")
                dictionary.add(size, unpacked, min(0, _number(header[7].value, 1)))
                piece = _Piece(at)
                continue
            counts, encoding = {DATA: (5, 2), DATA_2: (8, 4)}[kind]  # where a page says what is in it
            piece.add(size, unpacked, _number(header[counts].value, 1))
            piece.refers |= _number(header[counts].value, encoding) in REFERRING
            if piece.rows > rows:
                raise _Damaged("there are more rows in the pages than in the row group")
            if piece.pages > MOST_PAGES:
                raise ValueError("very small pages")
            if piece.unpacked >= PIECE or piece.rows >= min(rows, MOST_ROWS):
                yield from self._read(chunk, dictionary if piece.refers else _Piece(at), piece)
                rows, piece = rows - piece.rows, _Piece(at)
        if rows:
            raise _Damaged("there are fewer rows in the pages than in the row group")

    def _header(self, at: int, end: int) -> tuple[Record, int]:
        """The description of a page, and how many bytes it takes: not known before it was read."""
        window = HEADER
        while True:
            reader = Reader(_bytes(self._file, at, min(window, end - at)))
            try:
                return reader.record(), reader.at
            except ValueError:
                if window >= min(end - at, LONGEST_HEADER):
                    raise _Damaged("a page has no description") from None
            window *= 8

    def _read(self, chunk: Record, dictionary: _Piece, piece: _Piece) -> Iterator[pl.Series]:
        """The values in some pages: a file of its own, read by polars."""
        rows = piece.rows
        of_column = {field: chunk[field] for field in (1, 2, 3, 4)} | {
            5: Field(LONG, rows),
            6: Field(LONG, dictionary.unpacked + piece.unpacked),
            7: Field(LONG, dictionary.size + piece.size),
            9: Field(LONG, len(MAGIC) + dictionary.size),
        }
        if dictionary.pages:
            of_column[11] = Field(LONG, len(MAGIC))
        of_group = {
            1: _list([{2: Field(LONG, len(MAGIC)), 3: Field(RECORD, of_column)}]),
            2: of_column[6],
            3: Field(LONG, rows),
        }
        footer = written(
            {
                1: Field(WHOLE, 1),
                2: _list([self._root | {5: Field(WHOLE, 1)}, self._leaf]),
                3: Field(LONG, rows),
                4: _list([of_group]),
            }
        )
        pages = (_bytes(self._file, part.at, part.size) for part in (dictionary, piece))
        table = pl.scan_parquet(io.BytesIO(b"".join((MAGIC, *pages, footer, len(footer).to_bytes(4, "little"), MAGIC))))
        step = _at_once(self._kind, dictionary, piece)
        for start in range(0, rows, step):
            try:
                column = collected(table.slice(start, step)).to_series()
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise _Damaged(one_line(error)) from None
            if column.dtype != self._kind or len(column) != min(step, rows - start):
                raise ValueError("it reads as something else by itself")
            yield column


def _number(record: Record, field: int) -> int:
    value = record[field].value if field in record else 0
    if not isinstance(value, int):
        raise ValueError("a number is expected")
    return value


def _entries(record: Record, field: int) -> list[Any]:
    value = record[field].value if field in record else None
    if not isinstance(value, Entries):
        raise ValueError("a list is expected")
    return value.values


def _list(records: list[Record]) -> Field:
    return Field(LIST, Entries(RECORD, records))


def _at_once(kind: pl.DataType, dictionary: _Piece, piece: _Piece) -> int:
    """How many rows of a piece are made at once; a long dictionary is unpacked for each time, which would take long."""
    if kind != pl.String or dictionary.unpacked > 2 * TEXT:
        return MOST_ROWS
    few = TEXT * piece.rows // (piece.unpacked + VIEW * piece.rows)
    return min(MOST_ROWS, max(few, -(-piece.rows // SLICES)))
