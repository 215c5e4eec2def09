"""Bytes in and out: fixed layouts, every length checked, nothing executed."""

import struct
from collections.abc import Callable
from typing import TypeVar

from discreet.errors import DiscreetError, InputError

VERSION = 2
MAGIC = b"DS"
T = TypeVar("T")


class RefusedError(InputError):
    """A message that a party does not act upon; its state is what it was before."""


def refuse_unless(condition: bool, message: str) -> None:
    """Raise :class:`RefusedError` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise RefusedError(message)


class Reader:
    """Takes a message apart from the front; what is missing or left over is refused.

    >>> Reader(b"\\x07", "a message").number("B")
    7
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data, self._place, self._what = memoryview(data), 0, what

    def take(self, size: int) -> bytes:
        """So many bytes."""
        refuse_unless(self._place + size <= len(self._data), f"{self._what} is too short: {len(self._data)} bytes")
        found = self._data[self._place : self._place + size]
        self._place += size
        return bytes(found)

    def number(self, kind: str) -> int:
        """A whole number, in the letters of :mod:`struct`."""
        return int(struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0])

    def double(self) -> float:
        """A double."""
        return float(struct.unpack("<d", self.take(8))[0])

    def text(self, most: int) -> str:
        """Text with its length before it."""
        size = self.number("H")
        refuse_unless(size <= most, f"{self._what} holds a text of {size} bytes, and at most {most} are allowed")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            raise RefusedError(f"{self._what} holds a text that is not UTF-8") from None

    def rest(self) -> memoryview:
        """All that is left, without a copy."""
        found = self._data[self._place :]
        self._place = len(self._data)
        return found

    def end(self) -> None:
        """Raise where anything is left."""
        left = len(self._data) - self._place
        refuse_unless(left == 0, f"{self._what} has {left} bytes too many")


def text_bytes(text: str) -> bytes:
    """Text with its length before it."""
    data = text.encode()
    return struct.pack("<H", len(data)) + data


def parsed(build: Callable[[], T], what: str) -> T:
    """What ``build`` makes of a message; whatever it finds wrong is a refusal."""
    try:
        return build()
    except RefusedError:
        raise
    except (DiscreetError, ValueError, OverflowError) as error:
        raise RefusedError(f"{what} says something that cannot be: {error}") from None
