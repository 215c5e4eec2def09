"""How a table of text is written, as far as its first row tells: separator, names of the columns, encoding.

The separator is the one by which the first row falls into the columns that are wanted. Of a file without a header the
names are given, and it is the one that makes as many fields.
"""

import codecs
import string
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from discreet.data.columns import SEPARATORS, ending
from discreet.data.sources import open_bytes
from discreet.errors import DataError, InputError, require, shown

MARKS = (",", "\t", ";", "|", "::", " ")
"""Separators that are tried, that of the file's ending first."""
PEEKED = 1 << 16
"""Bytes of a file that are looked at for its first row."""
_ALLOWED = {*string.punctuation, *map(chr, range(1, 33))} - {'"', "\r", "\n"}
"""What a separator is made of: letters and digits are in the fields themselves."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """What somebody says about how text is written; by default its first row says it.

    Parameters
    ----------
    columns
        Names of the columns, for a file without a header.
    separator
        Between two fields; None to find it.
    encoding
        For example ``latin-1``.
    """

    columns: tuple[str, ...] | None = None
    separator: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.columns is not None:
            names = tuple(name.strip() for name in self.columns)
            require(len(names) > 0 and all(names), "columns must name every column, for example user, item, rating")
            object.__setattr__(self, "columns", names)
        if self.separator is not None:
            marks = self.separator != "" and all(mark in _ALLOWED for mark in self.separator)
            require(
                marks,
                "a separator is a mark, such as a comma, a semicolon, |, ::, a space or a tab (\\t), "
                f"got {shown(self.separator)}",
            )
        try:
            "a".encode(self.encoding)  # also refuses what is no encoding of text, such as base64
        except (LookupError, ValueError):
            raise InputError(
                f"there is no encoding {shown(self.encoding)} of text: write utf-8 or latin-1, for example"
            ) from None

    @contextmanager
    def open(self, path: Path) -> Iterator[IO[bytes]]:
        """The file, as UTF-8."""
        with open_bytes(path) as file:
            if codecs.lookup(self.encoding).name == "utf-8":
                yield file
            else:
                yield _Recoded(file, self.encoding, str(path))  # type: ignore[misc]

    def or_utf_8(self, path: Path) -> "TextFormat":
        """The same for another file, which need not be in this encoding: one that is UTF-8 is read as UTF-8.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
        >>> _ = file.write_text("item,title\\n1,Café\\n", encoding="utf-8")
        >>> TextFormat(encoding="latin-1").or_utf_8(file).encoding
        'utf-8'
        """
        if codecs.lookup(self.encoding).name == "utf-8":
            return self
        decoder = codecs.getincrementaldecoder("utf-8")()
        with open_bytes(path) as file:
            try:
                while block := file.read(PEEKED):
                    if "\0" in decoder.decode(block):  # zeros are in no text but in that of two or four bytes a letter
                        return self
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return self
        return replace(self, encoding="utf-8")

    def separator_of(self, path: Path, wanted: Collection[str]) -> str:
        """The separator of a file in which these columns are wanted.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
        >>> _ = file.write_text("user;item;rating\\nann;tea;5\\n")
        >>> TextFormat().separator_of(file, ["user", "item"])
        ';'
        """
        if self.separator is not None:
            return self.separator
        usual = SEPARATORS.get(ending(path), ",")
        with self.open(path) as file:
            start = file.read(PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        line = start.replace(b"\r", b"\n").partition(b"\n")[0].decode("utf-8", errors="replace")
        return _separator(line, usual, wanted, self.columns)


def _separator(line: str, usual: str, wanted: Collection[str], columns: Sequence[str] | None) -> str:
    """The first mark that splits the row as it should be; else the one that makes most fields.

    >>> _separator("1::1193::5::978300760", ",", [], ["user", "item", "rating", "time"])
    '::'
    >>> _separator("user;item", ",", ["who"], None), _separator("user", ",", ["who"], None)
    (';', ',')
    """
    marks = [usual, *(mark for mark in MARKS if mark != usual)]
    fields = {mark: [field.strip().strip('"') for field in line.split(mark)] for mark in marks}
    if columns is not None:
        fits = [mark for mark in marks if len(fields[mark]) == len(columns)]
    else:
        fits = [mark for mark in marks if all(name.strip() in fields[mark] for name in wanted)]
    if fits:
        return fits[0]
    most = max(marks[:-1], key=lambda mark: len(fields[mark]))  # a space may stand in the name of a column
    return most if len(fields[usual]) == 1 else usual


class _Recoded:
    """A file in another encoding, read as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str, label: str) -> None:
        self._file, self._encoding, self._label = file, encoding, label
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, size: int = -1) -> bytes:
        while True:
            raw = self._file.read(size)
            try:
                text = self._decoder.decode(raw, final=not raw).encode()
            except UnicodeError:  # utf-16 without its first two bytes is no UnicodeDecodeError
                raise DataError(f"{self._label} is not text in {self._encoding}: name another encoding") from None
            if text or not raw:
                return text

    def tell(self) -> int:
        return self._file.tell()
