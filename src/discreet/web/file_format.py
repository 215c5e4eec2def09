"""The one file that a device needs: header and arrays of a release, as docs/device.md says byte by byte.

    8 bytes      "DISCREET"
    4 bytes      version of the format, little-endian
    4 bytes      length of the header, little-endian
    header       JSON in UTF-8, padded with spaces to a multiple of 8 bytes
    arrays       little-endian, each at a multiple of 8 bytes

All of it is compressed by gzip, which browsers can undo themselves. Matrices may be stored by columns (which then
compress better), without the rows that are all 0, as half floats, or as bytes with one scale for each column and half
floats for those columns that bytes would blur.
"""

import gzip
import json
import struct
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from discreet.errors import ReleaseError
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans, Floats

MAGIC, VERSION = b"DISCREET", 1
ALIGNMENT = 8
LARGEST_HALF = 60_000.0
"""Near the largest number that a half float holds; matrices beyond it stay single floats."""
BLURRED = 0.005
"""Rounding errors beyond this share of a column's standard deviation can change the order of the best items."""
_START = struct.Struct("<8sII")
_TYPES = {
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "F16": "float16",
    "F32": "float32",
}
_NAMES = {np.dtype(name): code for code, name in _TYPES.items()}

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")


@dataclass
class FileArrays:
    """Arrays on their way into a file, and what the header says of each; ``precision`` is that of matrices."""

    precision: Precision = "float32"
    table: dict[str, dict[str, Any]] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0

    def vector(self, name: str, values: AnyArray) -> Floats:
        """Keep numbers in single precision; returns them."""
        kept = np.asarray(values, dtype=np.float32)
        self._add(name, kept, {"shape": list(kept.shape)})
        return kept

    def whole(self, name: str, values: AnyArray) -> None:
        """Keep whole numbers that are not negative, in the narrowest type that holds them all."""
        highest = int(values.max()) if values.size else 0
        kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if highest <= np.iinfo(kind).max)
        self._add(name, values.astype(kind), {"shape": list(values.shape)})

    def signed(self, name: str, values: AnyArray) -> None:
        """Keep small whole numbers."""
        self._add(name, values.astype(np.int16), {"shape": list(values.shape)})

    def text(self, name: str, strings: Strings) -> None:
        """Keep strings: their UTF-8, and the length of each in bytes (small numbers, which compress well)."""
        self._add(f"{name}.utf8", strings.bytes, {"shape": [len(strings.bytes)]})
        self.whole(f"{name}.lengths", np.diff(strings.offsets))

    def matrix(self, name: str, values: AnyArray, *, by_rows: bool = False, closely: bool = False) -> Floats:
        """Keep a matrix in the precision that was asked for, without the rows that are 0; returns what is read back.

        ``by_rows`` is for one that has a row but no column for each item. ``closely`` is for one where a single column
        can change the order of items: those that bytes would blur are then kept in half floats, in a matrix beside it.
        """
        wide = np.asarray(values, dtype=np.float32)
        said: dict[str, Any] = {"shape": list(wide.shape)}
        rows = np.flatnonzero(wide.any(axis=1))
        stored = wide
        if 2 * len(rows) < len(wide):
            self.whole(f"{name}.rows", rows)
            said["rows"] = f"{name}.rows"
            stored = wide[rows]
        fine = _blurred(stored) if closely and self.precision == "int8" else np.zeros(wide.shape[1], dtype=bool)
        kept, scales = self._reduced(stored[:, ~fine], self.precision)
        if scales is not None:
            said["scales"] = f"{name}.scales"
            self.vector(f"{name}.scales", scales)
        found = np.zeros_like(wide)
        place = rows if "rows" in said else np.arange(len(wide))
        found[np.ix_(place, ~fine)] = kept.astype(np.float32) * (1 if scales is None else scales)
        if fine.any():
            self.whole(f"{name}.fine_columns", np.flatnonzero(fine))
            halves, _ = self._reduced(stored[:, fine], "float16")
            self._add(f"{name}.fine", halves.T, {"shape": [len(halves), int(fine.sum())], "by": "columns"})
            said |= {"fine": f"{name}.fine", "fine_columns": f"{name}.fine_columns"}
            found[np.ix_(place, fine)] = halves
        if not by_rows:
            said["by"] = "columns"
        self._add(name, kept if by_rows else kept.T, said)
        return found

    def reduced(self, name: str, values: AnyArray) -> Floats:
        """Keep a long list of numbers in the precision of matrices; returns what is read back."""
        stored, scales = self._reduced(np.asarray(values, dtype=np.float32)[:, None], self.precision)
        said: dict[str, Any] = {"shape": [len(stored)]}
        if scales is not None:
            said["scales"] = f"{name}.scales"
            self.vector(f"{name}.scales", scales)
        self._add(name, stored[:, 0], said)
        return np.asarray(stored[:, 0].astype(np.float32) * (1 if scales is None else scales[0]))

    @staticmethod
    def _reduced(values: Floats, precision: Precision) -> tuple[AnyArray, Floats | None]:
        largest = np.abs(values).max(axis=0, initial=0)
        if precision == "float16" and largest.max(initial=0) < LARGEST_HALF:
            return values.astype(np.float16), None
        if precision == "int8":
            scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
            return np.clip(np.rint(values / scales), -127, 127).astype(np.int8), scales
        return values, None

    def _add(self, name: str, values: AnyArray, said: dict[str, Any]) -> None:
        content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        self.table[name] = {"type": _NAMES[values.dtype], **said, "at": self.size}
        padded = content + b"\0" * (-len(content) % ALIGNMENT)
        self.chunks.append(padded)
        self.size += len(padded)

    def file(self, header: dict[str, Any]) -> bytes:
        """All of it, compressed; the same release gives the same bytes."""
        text = json.dumps({**header, "arrays": self.table}, ensure_ascii=False, sort_keys=True).encode()
        text += b" " * (-len(text) % ALIGNMENT)
        whole = b"".join([_START.pack(MAGIC, VERSION, len(text)), text, *self.chunks])
        return gzip.compress(whole, compresslevel=9, mtime=0)


def _blurred(values: Floats) -> Booleans:
    """Columns that would lose more than half a per cent of their standard deviation in bytes."""
    stored, scales = FileArrays._reduced(values, "int8")
    lost = np.sqrt(np.square(stored * scales - values).sum(axis=0))
    return np.asarray(lost > BLURRED * np.sqrt(len(values)) * values.std(axis=0) if len(values) else lost > 0)


def read_header(content: bytes) -> dict[str, Any]:
    """What the header of a file says."""
    return _opened(content)[0]


def read_array(content: bytes, name: str) -> AnyArray:
    """One array of a file, as it is stored: for tests and for other programs in Python."""
    header, data = _opened(content)
    said = header["arrays"][name]
    kind = np.dtype(_TYPES[said["type"]]).newbyteorder("<")
    shape = list(said["shape"])
    if "rows" in said:
        shape[0] = header["arrays"][said["rows"]]["shape"][0]
    if "fine" in said:
        shape[1] -= header["arrays"][said["fine"]]["shape"][1]
    order = shape[::-1] if said.get("by") == "columns" else shape
    found = np.frombuffer(data, dtype=kind, count=int(np.prod(order)), offset=said["at"]).reshape(order)
    return found.T if said.get("by") == "columns" else found


def _opened(content: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        whole = gzip.decompress(content)
        magic, version, length = _START.unpack_from(whole)
    except (OSError, EOFError, struct.error):
        raise ReleaseError("this is no release for devices: it is cut off, or something else") from None
    if magic != MAGIC or version != VERSION:
        raise ReleaseError(f"this is no release for devices of version {VERSION}")
    header: dict[str, Any] = json.loads(whole[_START.size : _START.size + length])
    return header, whole[_START.size + length :]
