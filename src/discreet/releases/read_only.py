"""A mapping that stays as it was."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")


class ReadOnly(Mapping[str, Value]):
    """Names and what belongs to them; neither they nor arrays among them can be changed.

    Unlike ``types.MappingProxyType`` it can be copied and pickled, and its arrays stay closed when it is.

    Examples
    --------
    >>> kept = ReadOnly({"counts": np.zeros(2)})
    >>> kept["counts"] = np.ones(2)
    Traceback (most recent call last):
    TypeError: 'ReadOnly' object does not support item assignment
    """

    def __init__(self, entries: Mapping[str, Value]) -> None:
        self._entries = dict(entries)
        for value in self._entries.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getitem__(self, name: str) -> Value:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def digest(self) -> str:
        """Of arrays: SHA-256 of their names, types, shapes and contents, as they were when it was first asked for."""
        found = hashlib.sha256()
        for name in sorted(self):
            array = np.asarray(self[name])
            found.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def __reduce__(self) -> tuple[type["ReadOnly[Value]"], tuple[dict[str, Value]]]:
        return type(self), (self._entries,)

    def __repr__(self) -> str:
        return f"ReadOnly({', '.join(self._entries)})"
