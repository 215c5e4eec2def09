"""Records in Thrift's compact protocol, in which Parquet describes itself: read and written without knowing them.

A record is a dictionary from the number of a field to its kind and value; a list has the kind of its entries beside it.
What comes out of a file may be anything: whatever is no record raises ValueError, after a bounded amount of work.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, RECORD = 1, 2, 3, 7, 8, 9, 10, 11, 12
WHOLE = (4, 5, 6)  # whole numbers of 2, 4 and 8 bytes
DEEPEST = 12

Record: TypeAlias = "dict[int, Field]"


class Field(NamedTuple):
    """A value, with what the protocol calls its kind."""

    kind: int
    value: Any


class Entries(NamedTuple):
    """The entries of a list, all of one kind."""

    kind: int
    values: list[Any]


@dataclass
class Reader:
    """Reads records from bytes; ``at`` is the place where the next one begins.

    >>> Reader(b"\\x15\\x04\\x18\\x02ab\\x00").record()
    {1: Field(kind=5, value=2), 2: Field(kind=8, value=b'ab')}
    """

    content: bytes
    at: int = 0
    left: int = 2**18  # values that are read before it is too much work

    def record(self, depth: int = 0) -> Record:
        """The record that begins here."""
        if depth > DEEPEST:
            raise ValueError("records in records without end")
        fields: Record = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            kind = head & 15
            fields[number] = Field(kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth))
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ValueError("too many values")
        if kind in WHOLE:
            return self._whole()
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == BINARY:
            return self._bytes(self._natural())
        if kind == DOUBLE:
            return self._bytes(8)
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._natural()
            return Entries(head & 15, [self._value(head & 15, depth) for _ in range(count)])
        if kind == RECORD:
            return self.record(depth + 1)
        raise ValueError("a kind of value that is not read")

    def _byte(self) -> int:
        self.at += 1
        if self.at > len(self.content):
            raise ValueError("the bytes end within a record")
        return self.content[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.content):
            raise ValueError("the bytes end within a record")
        return self.content[self.at - count : self.at]

    def _natural(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number without end")

    def _whole(self) -> int:
        folded = self._natural()
        return folded >> 1 if folded & 1 == 0 else -(folded >> 1) - 1


def written(record: Record) -> bytes:
    """A record as bytes.

    >>> record = {1: Field(5, -2), 20: Field(LIST, Entries(RECORD, [{1: Field(FALSE, False)}]))}
    >>> Reader(written(record)).record() == record
    True
    """
    parts, before = [], 0
    for number, (kind, value) in sorted(record.items()):
        step = number - before
        parts.append(bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _folded(number))
        if kind not in (TRUE, FALSE):
            parts.append(_written(kind, value))
        before = number
    return b"".join(parts) + b"\0"


def _written(kind: int, value: Any) -> bytes:
    if kind in WHOLE:
        return _folded(value)
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value])
    if kind == BINARY:
        return _natural(len(value)) + bytes(value)
    if kind in (LIST, SET):
        count = len(value.values)
        head = bytes([count << 4 | value.kind]) if count < 15 else bytes([15 << 4 | value.kind]) + _natural(count)
        return head + b"".join(_written(value.kind, entry) for entry in value.values)
    return written(value) if kind == RECORD else bytes(value)


def _natural(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _folded(number: int) -> bytes:
    return _natural(2 * number if number >= 0 else -2 * number - 1)
