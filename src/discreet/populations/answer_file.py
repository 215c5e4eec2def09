"""The answers of a fit on disk, so that a run that was killed goes on from them.

A fit is a function of its answers, of its settings and of the catalogue. So a run that is started again and gets the
answers that it had, in the same order, comes to where it was, and draws only those that are missing. Every answer that
a release is made of was drawn once, as the ledger lists it.

**Guarantee.** What is on disk are noisy sums that were paid for, and nothing else. If a process is killed between
drawing an answer and writing it down, that answer was seen by nobody, and is drawn again. A sum that is asked again
because the ledger has to be charged is thrown away: the one on disk counts. The file belongs to one line of a budget,
whose claim is in its name, and is made before that line is booked. Each retry gives both a new claim, and so does each
stop with an error: of several copies one goes on, and none that was made before all of them was written. Whoever does
not find it pays anew, since another draw would be a second answer, which may show in an error. So an answer that cannot
be written down is not used before the file is gone. When a run stops with an error, the name of the file says how many
bytes of it there were: where some of them are missing or changed, the file is lost. After those it may end within a
record, as where a process was killed, and nowhere else be wrong. It is for its owner alone, since it may be ahead of
what is released. If the ratings have changed in between, some answers are of the old ones and some of the new: every
user of either is in each answer as the plan says, or not at all, and so pays at most what was planned. ∎
"""

import contextlib
import hashlib
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import BudgetError, InputError
from discreet.types import Doubles

MOST_BYTES = 4 << 30
"""Answers beyond this are not written down: a run that is killed then pays again."""
_CHECK = 32
_HEAD = 32 + 8 + _CHECK


class AnswerFile:
    """Answers in the order of their questions.

    Parameters
    ----------
    name
        Its path, without the number of bytes that its file name ends in.
    begun
        The file of an earlier try, as :func:`at_hand` found it; that name stays.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> file = AnswerFile(folder / "first")
    >>> file.add(("sum", "counts"), np.array([1.0, 2.0]))
    >>> file.close()
    >>> again = AnswerFile(folder / "second", begun=at_hand(folder / "first"))
    >>> again.next(("sum", "counts")), again.next(("sum", "pairs"))
    (array([1., 2.]), None)
    """

    def __init__(self, name: Path, most_bytes: int = MOST_BYTES, *, begun: Path | None = None) -> None:
        self._most, self._place = most_bytes, 0
        self._sealed = 0 if begun is None else _sealed(begun)
        self.path = _named(name, self._sealed)
        self.kept = True
        """Whether a run that is tried again finds its answers."""
        self.renamed: Callable[[], Path] = lambda: name
        """What its path is when the run stops, without the number of bytes."""
        try:
            if begun is not None:
                os.link(begun, self.path)
        except OSError as error:
            raise InputError(f"{self.path} cannot keep the answers of a run: {error.strerror}") from None
        self._file = _opened(self.path, os.O_RDWR | os.O_CREAT)

    def next(self, question: tuple[Any, ...]) -> Doubles | None:
        """The next answer, if it is there; one in the middle of which a process was killed is drawn again."""
        record = _record(self._file, self._place)
        if record is None:
            return None
        if record[:32] != _digest(repr(question).encode()):
            raise InputError(
                f"{self.path} holds the answers to other questions, perhaps of another version: remove it, and the "
                "run begins anew, and pays again"
            )
        self._place += len(record)
        return np.frombuffer(record[_HEAD:-_CHECK], dtype=np.float64).copy()

    def add(self, question: tuple[Any, ...], answer: Doubles) -> None:
        """Write an answer down, after all that were read or written before, or remove the file where that fails."""
        if not self.kept:
            return
        data = np.ascontiguousarray(answer, dtype=np.float64).tobytes()
        head = _digest(repr(question).encode()) + struct.pack("<Q", len(data))
        head += _digest(head)
        record = head + data + _digest(head + data)
        written = 0
        if self._place + len(record) <= self._most:
            with contextlib.suppress(OSError):  # no room on the disk
                os.ftruncate(self._file, self._place)
                written = os.pwrite(self._file, record, self._place)
        if written == len(record):
            self._place += written
        elif not self.remove():
            raise InputError(f"{self.path} can neither be written nor removed: nothing more is drawn; make room for it")

    def close(self, *, keep: bool = True) -> None:
        """Close the file; what is kept is on the disk then, as its name says, before anybody sees what came of it."""
        if not keep:
            self.remove()
        try:
            if self.kept:
                os.fsync(self._file)
                self.path = self.path.rename(_named(self.renamed(), max(self._place, self._sealed)))
        except (OSError, BudgetError):
            self.remove()
        os.close(self._file)

    def remove(self) -> bool:
        """Remove the file, and say whether it is gone."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            self.kept = False
        return not self.kept


def at_hand(name: Path) -> Path | None:
    """The file of this name, if all of it is there that somebody may have seen."""
    found = [path for path in name.parent.glob(f"{name.name}-*") if path.name[len(name.name) + 1 :].isdecimal()]
    if not found:
        return None
    path = max(found, key=_sealed)
    file = _opened(path, os.O_RDONLY)
    try:
        end = _end_of_records(file)
    finally:
        os.close(file)
    return path if end is not None and end >= _sealed(path) else None


def _named(name: Path, sealed: int) -> Path:
    return name.with_name(f"{name.name}-{sealed}")


def _sealed(path: Path) -> int:
    """How many bytes of it were there when a run stopped with an error."""
    return int(path.name.rpartition("-")[2])


def _opened(path: Path, flags: int) -> int:
    """A file that belongs to us alone. Whoever else may write to its folder could have put a link there."""
    try:
        file = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise InputError(f"{path} cannot keep the answers of a run: {error.strerror}") from None
    found = os.fstat(file)
    if not (stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077):
        os.close(file)
        raise InputError(f"{path} is not yours alone, and cannot keep the answers of a run: remove it")
    return file


def _record(file: int, place: int) -> bytes | None:
    """The record at a place; None where the file ends before it does, and no bytes where it was damaged."""
    head = os.pread(file, _HEAD, place)
    if len(head) < _HEAD:
        return None
    size = int(struct.unpack("<Q", head[32:40])[0])
    if _digest(head[:-_CHECK]) != head[-_CHECK:] or size > MOST_BYTES:
        return b""
    rest = os.pread(file, size + _CHECK, place + _HEAD)
    if len(rest) < size + _CHECK:
        return None
    return head + rest if _digest(head + rest[:size]) == rest[size:] else b""


def _end_of_records(file: int) -> int | None:
    """Where the last whole record ends; None where one was damaged."""
    place = 0
    while (record := _record(file, place)) is not None:
        if not record:
            return None
        place += len(record)
    return place


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
