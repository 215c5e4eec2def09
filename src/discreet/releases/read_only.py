"""A mapping that stays as it was."""

from collections.abc import Iterator, Mapping
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

    def __reduce__(self) -> tuple[type["ReadOnly[Value]"], tuple[dict[str, Value]]]:
        return type(self), (self._entries,)

    def __repr__(self) -> str:
        return f"ReadOnly({', '.join(self._entries)})"
