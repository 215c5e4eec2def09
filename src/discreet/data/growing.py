"""Columns that grow without a second copy of themselves."""

import mmap
import sys
from typing import Any

import numpy as np

from discreet.types import AnyArray

LEAST = 2**16  # bytes
MOVES = sys.platform == "linux"  # where mappings of memory can change their size


class Growing:
    """A column to which rows are added. Where the system can, its pages move as it grows, and are never copied.

    Pages that nothing was written to take no memory, so room may be made generously.

    >>> column = Growing(np.int32)
    >>> column.append(np.array([3, 4]))
    >>> column.append(np.array([5]))
    >>> column.array.tolist()
    [3, 4, 5]
    """

    def __init__(self, kind: Any) -> None:
        self.kind, self.size = np.dtype(kind), 0
        self._pages: mmap.mmap | None = None
        self._room: AnyArray = np.empty(0, dtype=self.kind)

    @property
    def array(self) -> AnyArray:
        """The rows so far. Let go of it before more are added."""
        return self._room[: self.size]

    def room(self, more: int) -> AnyArray:
        """All rows with room for ``more`` behind them; let go of it before more is asked for."""
        if self.size + more > len(self._room):
            self._resize(max(self.size + more, len(self._room) + len(self._room) // 2))
        return self._room

    def append(self, rows: AnyArray) -> None:
        """Add rows; where they do not fit into the type, all change to one that holds both."""
        self.widen(np.result_type(self.kind, rows))
        self.room(len(rows))[self.size : self.size + len(rows)] = rows
        self.size += len(rows)

    def widen(self, kind: Any) -> None:
        """Change all rows to another type, which holds them."""
        if np.dtype(kind) != self.kind:
            wider = Growing(kind)
            wider.room(self.size)[: self.size] = self.array
            wider.size = self.size
            self.__dict__ = wider.__dict__

    def shrink(self, size: int) -> None:
        """Keep the first rows, and give back the room of the others."""
        self.size = size
        self._resize(size)

    def _resize(self, size: int) -> None:
        if not MOVES:
            other = np.empty(size, dtype=self.kind)
            other[: min(self.size, size)] = self._room[: min(self.size, size)]
            self._room = other
            return
        wanted = max(size * self.kind.itemsize, LEAST)
        self._room = np.empty(0, dtype=self.kind)  # pages move only while no array looks at them
        try:
            if self._pages is not None:
                self._pages.resize(wanted)
            else:
                self._pages = _mapped(wanted)
        except BufferError:  # some array does, for example in a frame of numba that is not collected yet
            before = np.frombuffer(self._pages, dtype=np.uint8)  # type: ignore[arg-type]
            self._pages = _mapped(wanted)
            kept = min(self.size * self.kind.itemsize, wanted)
            np.frombuffer(self._pages, dtype=np.uint8)[:kept] = before[:kept]
        self._room = np.frombuffer(self._pages, dtype=self.kind)


def _mapped(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
