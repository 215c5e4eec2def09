"""The arrays of a release in one file, in the layout of safetensors: nothing is compressed, and nothing is executed.

    8 bytes           length of the header, little-endian
    header            JSON: for each array its type, its shape, and where its bytes begin and end; padded with spaces
    bytes             of all arrays, row by row, little-endian, without gaps

The sizes of everything are known from the header before anything is read or allocated, and other programs can map the
file into memory. Text is two arrays: its UTF-8 bytes, and where each string begins. Here the file is read rather than
mapped: what was checked must not change afterwards.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, ReleaseError
from discreet.releases.regular_files import regular_file
from discreet.strings import Strings
from discreet.types import AnyArray

TYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}
"""The types of the layout, and numpy's."""
_NAMES = {np.dtype(name): code for code, name in TYPES.items()}
TEXT, STARTS = ".utf8", ".starts"
"""What is added to the name of an array of strings."""
MOST_HEADER = 1 << 20
MOST_ENTRIES = 1 << 48
"""More than any machine holds, and less than what overflows."""
MOST_AXES = 8
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Entry:
    """What the header says of one array."""

    type: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Numpy's type."""
        return np.dtype(TYPES[self.type])

    def to_json(self) -> dict[str, Any]:
        """As a card says it."""
        return {"type": self.type, "shape": list(self.shape)}


Table = dict[str, Entry]


# ── Writing ──


def write_arrays(path: Path, arrays: Mapping[str, AnyArray | Strings]) -> dict[str, Any]:
    """Write them, and return what a card says of them: type and shape of each."""
    members = {part: value for name, array in arrays.items() for part, value in _members(name, array)}
    # Wide types first, so that each array begins at a multiple of its own width.
    order = sorted(members, key=lambda name: (-members[name].itemsize, name))
    table, end = {}, 0
    for name in order:
        begin, end = end, end + members[name].nbytes
        table[name] = Entry(_NAMES[members[name].dtype], members[name].shape, begin, end)
    header = json.dumps(
        {
            name: {"dtype": entry.type, "shape": entry.shape, "data_offsets": (entry.begin, entry.end)}
            for name, entry in table.items()
        }
    ).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(_LENGTH.pack(len(header)) + header)
        for name in order:
            little = members[name].dtype.newbyteorder("<")
            file.write(np.ascontiguousarray(members[name]).astype(little, copy=False).data)
    return {name: entry.to_json() for name, entry in sorted(table.items())}


def _members(name: str, array: AnyArray | Strings) -> list[tuple[str, AnyArray]]:
    if isinstance(array, Strings) or array.dtype.kind == "U":
        text = Strings.of(array)
        return [(name + TEXT, text.bytes), (name + STARTS, text.offsets)]
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if native.dtype not in _NAMES:
        raise InputError(f"the array {name!r} is of {array.dtype}, which cannot be saved; nothing was written")
    return [(name, native)]


# ── Reading ──


def read_table(path: Path) -> Table:
    """What a file holds by its header; refused unless the bytes of its arrays follow each other to its very end."""
    with _opened(path) as (file, size):
        return _header(path, file, size)[0]


def read_arrays(path: Path, table: Table, checksum: str) -> dict[str, AnyArray]:
    """The arrays of a file whose header said this, and whose bytes have this checksum."""
    with _opened(path) as (file, size):
        again, start = _header(path, file, size)
        if again != table:
            raise damaged(path, "it was changed while it was read")
        _require_memory(path, size)
        file.seek(0)
        try:
            content = np.empty(size, dtype=np.uint8)
        except MemoryError:
            raise ReleaseError(f"{path} takes {_gigabytes(size)} of memory, which are not free") from None
        if file.readinto(content.data) != size:
            raise damaged(path, "it ends too early")
    if hashlib.sha256(content.data).hexdigest() != checksum:
        raise damaged(path, "its checksum is not the one in the card")
    arrays = {}
    for name, entry in table.items():
        part = content[start + entry.begin : start + entry.end]
        if entry.type == "BOOL" and part.size and part.max() > 1:
            raise damaged(path, f"the array {name!r} holds what is neither true nor false")
        stored = part.view(entry.dtype.newbyteorder("<")).reshape(entry.shape)
        arrays[name] = stored.astype(entry.dtype, copy=False)
    return arrays


def strings(path: Path, arrays: dict[str, AnyArray], name: str) -> Strings:
    """Take the strings of this name out of the arrays."""
    try:
        return Strings.of_buffers(arrays.pop(name + TEXT), arrays.pop(name + STARTS))
    except InputError as wrong:
        raise damaged(path, f"of {name!r}, {wrong}") from None


def damaged(path: Path, why: str) -> ReleaseError:
    """The error for a file of arrays that cannot be used."""
    return ReleaseError(f"{path} is missing or damaged: {why}")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    try:
        with regular_file(path) as opened:
            yield opened
    except FileNotFoundError:
        raise damaged(path, "there is no such file") from None


def _header(path: Path, file: BufferedReader, size: int) -> tuple[Table, int]:
    start = file.read(_LENGTH.size)
    length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else size
    if length > size - _LENGTH.size:
        raise damaged(path, "it is shorter than its header should be")
    if length > MOST_HEADER:
        raise damaged(path, f"its header has more than {MOST_HEADER:,} bytes")
    content = file.read(length)
    try:
        header = json.loads(content.decode(), object_pairs_hook=without_repeats)
        if not isinstance(header, dict):
            raise ValueError("it is no table")
        header.pop("__metadata__", None)
        table = {name: _entry(name, said) for name, said in header.items()}
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its header cannot be read: {error}") from None
    end = 0
    for name, entry in sorted(table.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != end:
            raise damaged(path, f"the array {name!r} does not begin where the one before it ends")
        end = entry.end
    if _LENGTH.size + length + end != size:
        raise damaged(path, f"it has {size:,} bytes where its header says {_LENGTH.size + length + end:,}")
    return table, _LENGTH.size + length


def _entry(name: str, said: Any) -> Entry:
    if not isinstance(said, dict) or set(said) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the array {name!r:.100} needs a dtype, a shape and data_offsets")
    kind, shape, places = said["dtype"], said["shape"], said["data_offsets"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"the array {name!r:.100} is of an unknown type {kind!r:.100}")
    if not (_whole(shape) and len(shape) <= MOST_AXES and math.prod(axis or 1 for axis in shape) <= MOST_ENTRIES):
        raise ValueError(f"the array {name!r:.100} has a shape that is too large, or none")
    if not (_whole(places) and len(places) == 2):
        raise ValueError(f"the array {name!r:.100} does not say where it begins and ends")
    if places[1] - places[0] != math.prod(shape) * np.dtype(TYPES[kind]).itemsize:
        raise ValueError(f"the array {name!r:.100} has not as many bytes as its shape needs")
    return Entry(kind, tuple(shape), *places)


def _whole(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that has two values for a name is refused, since readers differ in which they take."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"it says {repeated!r:.100} twice")
    return found


def _require_memory(path: Path, size: int) -> None:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return
    if size > memory > 0:
        raise ReleaseError(
            f"{path} takes {_gigabytes(size)} of memory, and this machine has no more than {_gigabytes(memory)}"
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
