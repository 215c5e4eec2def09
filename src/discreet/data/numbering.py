"""Numbers for names of users and items, in the order in which they are first seen."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from discreet.data.cells import refuse_two_spellings
from discreet.data.name_table import NameTable, joined
from discreet.errors import DataError
from discreet.kernels.compiling import may_compile
from discreet.processes import require_threads
from discreet.strings import Strings
from discreet.types import Booleans, Indices

NAMED = 8  # a name weighs as much as so many rows: tables of polars take much memory for each


class Numbering:
    """Give every name a number on first sight; names known beforehand keep their places at the front.

    Few rows are numbered by polars, many by a table of our own, which takes a fraction of the memory; without numba
    polars numbers all.

    >>> numbering = Numbering(["b"])
    >>> numbering.encode(pl.Series(["10", "b", "9"])).tolist()
    [1, 0, 2]
    >>> names, renumber = numbering.finish()
    >>> names.tolist(), renumber.tolist()
    (['b', '9', '10'], [0, 2, 1])
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        require_threads("polars")
        names = list(known)
        self._known, self._rows = len(names), len(names)
        self._many: NameTable | None = None
        self._few = pl.DataFrame(
            {"name": names, "number": range(len(names))}, schema={"name": pl.String, "number": pl.Int32}
        )

    @property
    def size(self) -> int:
        """How many names have a number."""
        return self._few.height if self._many is None else self._many.size

    def encode(self, names: pl.Series) -> Indices:
        """The number of each name."""
        self._rows += len(names)
        if self._many is None and may_compile(max(self._rows, NAMED * self._few.height)):
            self._many = NameTable()
            self._many.encode(self._few["name"])
            self._few = self._few.clear()
        column = names.cast(pl.String)
        return self._numbered(column.alias("name").to_frame()) if self._many is None else self._many.encode(column)

    def _numbered(self, column: pl.DataFrame) -> Indices:
        new = column.unique(maintain_order=True).join(self._few, on="name", how="anti", maintain_order="left")
        if new.height:
            start = self._few.height
            numbers = pl.Series("number", np.arange(start, start + new.height, dtype=np.int32))
            self._few = pl.concat([self._few, new.with_columns(numbers)], rechunk=True)
        found = column.join(self._few, on="name", how="left", maintain_order="left")["number"]
        return np.asarray(found.to_numpy(), dtype=np.int32)

    def knows(self, names: pl.Series) -> Booleans:
        """Which names have a number."""
        column = names.cast(pl.String)
        if self._many is not None:
            return np.asarray(self._many.find(column) >= 0)
        return column.is_in(self._few["name"].implode()).to_numpy()

    def refuse_two_spellings(self, what: str, label: str) -> None:
        """Raise where text names one user or item in two ways, 1 and 1.0: they would count as two."""
        if self._many is None:
            refuse_two_spellings(self._few["name"], what, label)
        elif self._many.has_two_spellings():
            raise DataError.at(
                f"{label}", f"the same {what} is written as 1 and as 1.0, or the like: write each in one way"
            )

    def finish(self) -> tuple[Strings, Indices]:
        """All names in their final order, and from the number given so far to the final one.

        New names are put in order: by value when all are whole numbers, else by spelling. Nothing is numbered then.
        """
        if self._many is not None:
            return self._many.finish(self._known)
        new = self._few["name"][self._known :]
        if bool(new.str.contains(r"^[0-9]{1,18}$").all()):
            ordered = pl.DataFrame({"name": new, "value": new.cast(pl.Int64)})
            places = ordered.select(pl.arg_sort_by("value", "name")).to_series().to_numpy()
        else:
            places = new.arg_sort().to_numpy()  # by bytes in UTF-8, which is by characters
        order = np.concatenate([np.arange(self._known), self._known + places])
        renumber = np.empty(len(order), dtype=np.int32)
        renumber[order] = np.arange(len(order), dtype=np.int32)
        return to_strings(self._few["name"].gather(order)), renumber


def to_strings(column: pl.Series) -> Strings:
    """A column of text without a gap as strings of our own; no Python object is made for any of them.

    >>> to_strings(pl.Series(["a", "b\\0"])).tolist()
    ['a', 'b\\x00']
    """
    bounds = np.zeros(len(column) + 1, dtype=np.int64)
    np.cumsum(column.str.len_bytes().to_numpy(), out=bounds[1:])
    utf8, first = np.empty(int(bounds[-1]), dtype=np.uint8), 0
    for rows, _ in joined(column):
        utf8[first : first + len(rows)] = rows
        first += len(rows)
    return Strings(utf8, bounds)
