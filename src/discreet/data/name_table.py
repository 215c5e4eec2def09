"""Names and their numbers in few bytes: the names one after the other, where each begins, and a hash table."""

import secrets
from collections.abc import Iterator

import numpy as np
import polars as pl

from discreet.data.growing import Growing
from discreet.kernels import naming
from discreet.strings import Strings
from discreet.types import AnyArray, Indices, Offsets

JOINED = 2**20  # bytes of names that are copied at once
FEWEST_SLOTS = 2**12
SHORT = 2**32 - 1  # up to so many bytes of names, 4 bytes say where one begins
SLICES = 16  # in which names move to their final places: so much of them is in memory twice


class NameTable:
    """Distinct names, numbered as they come. Memory is theirs, and 12 to 20 bytes for each.

    >>> table = NameTable()
    >>> table.encode(pl.Series(["b", "a", "b"])).tolist(), table.find(pl.Series(["a", "c"])).tolist()
    ([0, 1, 0], [1, -1])
    >>> names, renumber = table.finish(0)
    >>> names.tolist(), renumber.tolist()
    (['a', 'b'], [1, 0])
    """

    def __init__(self) -> None:
        self.size = 0
        self._content, self._starts = Growing(np.uint8), Growing(np.uint32)
        self._starts.append(np.zeros(1, dtype=np.uint32))
        self._slots: Indices = np.zeros(FEWEST_SLOTS, dtype=np.int32)
        # Whoever writes a file must not know which names meet in one slot.
        self._key = np.array([secrets.randbits(64), secrets.randbits(64)], dtype=np.uint64)

    def encode(self, names: pl.Series) -> Indices:
        """The number of each name; new ones get the next."""
        numbers, first = np.empty(len(names), dtype=np.int32), 0
        for rows, bounds in joined(names):
            count, row = len(bounds) - 1, 0
            if self._content.size + len(rows) > SHORT:
                self._starts.widen(np.int64)
            while row < count:
                row, size = naming.number(
                    rows,
                    bounds,
                    row,
                    self._slots,
                    self._content.room(len(rows)),
                    self._starts.room(count),
                    self.size,
                    self._key,
                    numbers[first : first + count],
                )
                self._count(size)
                if row < count:
                    self._grow()
            first += count
        return numbers

    def find(self, names: pl.Series) -> Indices:
        """The number of each name, -1 for those that have none."""
        numbers, first = np.empty(len(names), dtype=np.int32), 0
        for rows, bounds in joined(names):
            count = len(bounds) - 1
            self._find(rows, bounds, numbers[first : first + count])
            first += count
        return numbers

    def has_two_spellings(self) -> bool:
        """Whether a whole number is there twice: as 1 and as 1.0, or the like."""
        none = np.zeros(0, dtype=np.int32)
        content, starts = self._content.array, self._starts.array
        count = naming.digits_before_zeros(content, starts, self.size, none, none)
        if count == 0:
            return False
        found, digits = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        naming.digits_before_zeros(content, starts, self.size, found, digits)
        whole, numbers = NameTable(), np.empty(1, dtype=np.int32)
        for name, length in zip(found.tolist(), digits.tolist(), strict=True):
            rows = content[starts[name] : starts[name] + length]
            self._find(rows, np.array([0, length]), numbers)
            if numbers[0] >= 0:
                return True
            whole.encode(pl.Series([rows.tobytes().decode()]))
        return whole.size < count

    def finish(self, known: int) -> tuple[Strings, Indices]:
        """All names in their final order, and from the number so far to the final one. The table is of no use then.

        The first ``known`` stay where they are; the others come by value if all are whole numbers, else by spelling.
        """
        self._slots = np.zeros(0, dtype=np.int32)
        content, starts = self._content.array, self._starts.array
        by_value = naming.all_whole_numbers(content, starts, known, self.size)
        order = np.arange(self.size, dtype=np.int32)
        state = np.array([secrets.randbits(64) | 1], dtype=np.uint64)
        naming.sort_names(content, starts, order[known:], by_value, state)
        del content, starts
        if naming.is_in_order(order):
            self._content.shrink(self._content.size)
            return Strings(self._content.array, self._starts.array.astype(np.int64)), order
        names = self._moved(order)
        renumber = np.empty(self.size, dtype=np.int32)
        renumber[order] = np.arange(self.size, dtype=np.int32)
        return names, renumber

    def _moved(self, order: Indices) -> Strings:
        """The names in order. They go a slice at a time, and what is left closes up, so that few are there twice."""
        bounds = np.empty(self.size + 1, dtype=np.int64)
        starts = self._starts.array
        naming.new_bounds(starts, order, bounds)
        names = np.empty(int(bounds[-1]), dtype=np.uint8)  # takes memory as it is written to
        marks = np.zeros(self.size, dtype=np.uint8)
        step = max(int(bounds[-1]) // SLICES, JOINED)
        first = 0
        while first < self.size:
            end = max(first + 1, int(np.searchsorted(bounds, bounds[first] + step, side="right")) - 1)
            naming.take_out(self._content.array, starts, marks, order, bounds, first, end, names)
            if end < self.size:
                left = naming.close_gaps(self._content.array, starts, marks, self.size, self._content.size)
                self._content.shrink(left)
            first = end
        del starts
        self._content, self._starts = Growing(np.uint8), Growing(np.uint32)
        return Strings(names, bounds)

    def _find(self, rows: AnyArray, bounds: Offsets, numbers: Indices) -> None:
        content, starts = self._content.array, self._starts.array
        naming.find(rows, bounds, self._slots, content, starts, self._key, numbers)

    def _count(self, size: int) -> None:
        self.size = size
        self._starts.size = size + 1
        self._content.size = int(self._starts.array[-1])

    def _grow(self) -> None:
        slots = 2 * len(self._slots)
        self._slots = np.zeros(0, dtype=np.int32)  # the old table goes before the new one comes
        self._slots = np.zeros(slots, dtype=np.int32)
        naming.fill(self._slots, self._content.array, self._starts.array, self.size, self._key)


def joined(names: pl.Series) -> Iterator[tuple[AnyArray, Offsets]]:
    """A column of text without a gap in pieces: the bytes of some names, and where each begins.

    >>> [(rows.tobytes(), bounds.tolist()) for rows, bounds in joined(pl.Series(["ab", "c"]))]
    [(b'abc', [0, 2, 3])]
    """
    lengths = names.str.len_bytes()
    bounds = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(lengths.to_numpy(), out=bounds[1:])
    first = 0
    while first < len(names):
        end = max(first + 1, int(np.searchsorted(bounds, bounds[first] + JOINED, side="right")) - 1)
        text = names.slice(first, end - first).str.join("").cast(pl.Binary).item()
        yield np.frombuffer(text, dtype=np.uint8), bounds[first : end + 1] - bounds[first]
        first = end
