"""Many strings in two arrays: their text in UTF-8, one after the other, and where each begins.

An array of numpy's own strings gives every entry as much room as the longest, and drops zero bytes at the end: one long
name among many takes all the memory there is, and "a" and "a\\0" are the same. Here memory follows the text.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, require

BLOCK = 1 << 20
"""Bytes of text, or strings, that are handled at once: what is made on the way stays small."""


class Strings(Sequence[str]):
    """Strings that are indexed and compared like an array of them; they cannot be changed.

    Parameters
    ----------
    utf8, bounds
        All text, and where each string begins; the last entry is where the last one ends. They are trusted: use
        :meth:`of` for strings of any kind, and :meth:`of_buffers` for what comes out of a file.

    Examples
    --------
    >>> names = Strings.of(["ann", "bob", "zoë"])
    >>> names[1], len(names), names[1:].tolist(), names[names == "bob"].tolist()
    ('bob', 3, ['bob', 'zoë'], ['bob'])
    >>> names.bytes.tobytes(), names.offsets.tolist()
    (b'annbobzo\\xc3\\xab', [0, 3, 6, 10])
    """

    __slots__ = ("_bounds", "_utf8")

    def __init__(self, utf8: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self._utf8, self._bounds = utf8.view(), bounds.view()
        for array in (self._utf8, self._bounds):
            array.setflags(write=False)

    @classmethod
    def of(cls, strings: "Iterable[str] | Strings") -> "Strings":
        """From any iterable of strings: a list, an array, or strings of this kind."""
        if isinstance(strings, Strings):
            return strings
        require(
            isinstance(strings, Iterable) and not isinstance(strings, str | bytes),
            f"names must be a list or an array of text, got {type(strings).__name__}",
        )
        every = strings.tolist() if isinstance(strings, np.ndarray) else list(strings)
        if isinstance(strings, np.ndarray):
            require(strings.ndim == 1, f"names must have one dimension, got {strings.ndim}")
        parts: list[bytes] = []
        bounds = np.zeros(len(every) + 1, dtype=np.int64)
        for first in range(0, len(every), BLOCK):
            some = every[first : first + BLOCK]
            try:
                joined = "".join(some).encode()
                letters = map(len, some) if len(joined) == sum(map(len, some)) else (len(one.encode()) for one in some)
            except TypeError:
                wrong = next(one for one in some if not isinstance(one, str))
                raise InputError(f"every name must be text, got {type(wrong).__name__}") from None
            except UnicodeEncodeError:
                raise InputError("a name holds half a character (a lone surrogate), which is no text") from None
            parts.append(joined)
            bounds[first + 1 : first + 1 + len(some)] = np.fromiter(letters, dtype=np.int64, count=len(some))
        np.cumsum(bounds, out=bounds)
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), bounds)

    @classmethod
    def of_buffers(cls, content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> "Strings":
        """From text in UTF-8 and the place where each string begins, both checked; nothing is copied.

        >>> Strings.of_buffers(np.frombuffer(b"annbob", np.uint8), np.array([0, 3, 6])).tolist()
        ['ann', 'bob']
        >>> Strings.of_buffers(np.frombuffer(b"annbob", np.uint8), np.array([0, 9]))
        Traceback (most recent call last):
        discreet.errors.InputError: the places where strings begin do not fit their text
        """
        content, offsets = np.asarray(content), np.asarray(offsets)
        require(
            content.dtype == np.uint8 and content.ndim == 1 and offsets.ndim == 1 and offsets.dtype.kind in "iu",
            "strings need bytes, and whole numbers that say where each begins",
        )
        offsets = offsets.astype(np.int64, copy=False)
        require(
            len(offsets) > 0
            and offsets[0] == 0
            and offsets[-1] == len(content)
            and bool(np.all(offsets[1:] >= offsets[:-1])),
            "the places where strings begin do not fit their text",
        )
        inner = offsets[offsets < len(content)]
        require(
            _is_utf8(content) and bool(np.all(content[inner] & 0xC0 != 0x80)), "the text of these strings is not UTF-8"
        )
        return cls(content, offsets)

    # ── What they are made of ──

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """All text in UTF-8, one string after the other."""
        return self._utf8[self._bounds[0] : self._bounds[-1]]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each string begins in :attr:`bytes`; one more entry says where the last one ends."""
        first = self._bounds[0]
        return self._bounds if first == 0 else self._bounds - first

    def code_points(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The characters of all strings as numbers, one string after the other, and where each begins."""
        content, offsets = self.bytes, self.offsets
        if content.size == 0 or content.max() < 0x80:
            return content.astype(np.uint32), offsets
        letters = np.frombuffer(content.tobytes().decode().encode("utf-32-le"), dtype="<u4")
        before = np.concatenate([[0], np.cumsum(content & 0xC0 != 0x80)])
        return letters, before[offsets]

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self.bytes.nbytes + self._bounds.nbytes

    @property
    def shape(self) -> tuple[int]:
        """As of an array."""
        return (len(self),)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self)

    # ── As a sequence and as an array ──

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, places: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, places: slice | NDArray[Any] | Sequence[int]) -> "Strings": ...
    def __getitem__(self, places: Any) -> "str | Strings":
        """One string for a position; for a slice, a mask or many positions these strings."""
        if isinstance(places, int | np.integer):
            place = int(places) + (len(self) if places < 0 else 0)
            if not 0 <= place < len(self):
                raise IndexError(f"there is no string at {places}: there are {len(self)}")
            return self._utf8[self._bounds[place] : self._bounds[place + 1]].tobytes().decode()
        if isinstance(places, slice):
            first, end, step = places.indices(len(self))
            if step == 1:
                return Strings(self._utf8, self._bounds[first : max(first, end) + 1])
            places = np.arange(first, end, step)
        chosen = np.asarray(places)
        if chosen.dtype == np.bool_:
            require(chosen.shape == self.shape, f"a mask needs one entry for each of {len(self)} strings")
            chosen = np.flatnonzero(chosen)
        if chosen.ndim == 0:
            return self[int(chosen)]
        return self._at(np.arange(len(self))[chosen] if chosen.size else chosen.astype(np.int64))

    def _at(self, places: NDArray[Any]) -> "Strings":
        starts, sizes = self._bounds[places], self._bounds[places + 1] - self._bounds[places]
        bounds = np.zeros(len(places) + 1, dtype=np.int64)
        np.cumsum(sizes, out=bounds[1:])
        taken = np.empty(int(bounds[-1]), dtype=np.uint8)
        first = 0
        while first < len(places):
            end = max(first + 1, int(np.searchsorted(bounds, bounds[first] + BLOCK, side="right")) - 1)
            if end == first + 1:  # perhaps a long one: no place for each of its bytes
                taken[bounds[first] : bounds[end]] = self._utf8[starts[first] : starts[first] + sizes[first]]
            else:
                moved = np.repeat(starts[first:end] - bounds[first:end], sizes[first:end])
                moved += np.arange(bounds[first], bounds[end])
                taken[bounds[first] : bounds[end]] = self._utf8[moved]
            first = end
        return Strings(taken, bounds)

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), BLOCK):
            yield from self[first : first + BLOCK]._list()

    def tolist(self) -> list[str]:
        """All of them as a list."""
        return self._list() if len(self) <= BLOCK else list(self)

    def _list(self) -> list[str]:
        content, bounds = self.bytes.tobytes(), self.offsets.tolist()
        if content.isascii():
            text = content.decode()
            return [text[start:end] for start, end in pairwise(bounds)]
        return [content[start:end].decode() for start, end in pairwise(bounds)]

    def __eq__(self, other: object) -> Any:
        """For each string whether it is the other one, or the one at its place in the others."""
        if isinstance(other, str):
            same = np.diff(self._bounds) == len(other.encode(errors="surrogatepass"))
            for place in np.flatnonzero(same):
                same[place] = self[int(place)] == other
            return same
        if not isinstance(other, Strings | Sequence | np.ndarray):
            return NotImplemented
        if len(other) != len(self):
            return False
        return np.fromiter((one == two for one, two in zip(self, other, strict=True)), dtype=np.bool_, count=len(self))

    def __ne__(self, other: object) -> Any:
        same = self == other
        return ~same if isinstance(same, np.ndarray) else not same

    __hash__ = None  # type: ignore[assignment]

    def equals(self, other: "Strings") -> bool:
        """Whether both hold the same strings in the same order."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.bytes, other.bytes)

    def joined(self, *others: "Strings") -> "Strings":
        """These strings, and then others."""
        every = (self, *others)
        bounds, end = [np.zeros(1, dtype=np.int64)], 0
        for strings in every:
            bounds.append(strings.offsets[1:] + end)
            end += len(strings.bytes)
        return Strings(np.concatenate([strings.bytes for strings in every]), np.concatenate(bounds))

    def astype(self, kind: Any) -> NDArray[Any]:
        """As an array of another kind, for example of numbers."""
        return np.asarray(self).astype(kind)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """As numpy's strings of any length."""
        return np.array(self.tolist(), dtype=np.dtypes.StringDType() if dtype is None else dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings, (np.array(self.bytes), np.array(self.offsets))

    def __repr__(self) -> str:
        return f"Strings({len(self):,})"


def _is_utf8(content: NDArray[np.uint8]) -> bool:
    try:
        content.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True
