"""The answers of a fit on disk, so that a run that was killed goes on from them.

A fit is a function of its answers, of its settings and of the catalogue. So a run that is started again and gets the
answers that it had, in the same order, comes to where it was, and draws only those that are missing. Every answer that
a release is made of was drawn once, as the ledger lists it.

**Guarantee.** What is on disk are noisy sums that were paid for, and nothing else. If a process is killed between
drawing an answer and writing it down, that answer was seen by nobody, and is drawn again. A sum that is asked again
because the ledger has to be charged is thrown away: the one on disk counts. The file is for its owner alone, since it
may be ahead of what is released; and it belongs to one line of a budget, under which one release may appear. If the
ratings have changed in between, some answers are of the old ones and some of the new: every user of either is in each
answer as the plan says, or not at all, and so pays at most what was planned. ∎
"""

import contextlib
import hashlib
import os
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.types import Doubles

MOST_BYTES = 4 << 30
"""Answers beyond this are not written down: a run that is killed then draws them again."""
_HEAD, _CHECK = 32 + 8, 32


class AnswerFile:
    """Answers in the order of their questions.

    Parameters
    ----------
    path
        The file.
    about
        What the run is: a file of another one is begun anew.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answers"
    >>> AnswerFile(path, "a run").add(("sum", "counts"), np.array([1.0, 2.0]))
    >>> again = AnswerFile(path, "a run")
    >>> again.next(("sum", "counts")), again.next(("sum", "pairs"))
    (array([1., 2.]), None)
    """

    def __init__(self, path: Path, about: str, most_bytes: int = MOST_BYTES) -> None:
        self._path, self._most, self._place, self._is_full = path, most_bytes, 32, False
        about_digest = _digest(about.encode())
        try:
            # Whoever else may write to this folder could have put a link there.
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            found = os.fstat(self._file)
            own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if own and (found.st_size < 32 or os.pread(self._file, 32, 0) != about_digest):
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, about_digest, 0)
        except OSError as error:
            raise InputError(f"{path} cannot keep the answers of a run: {error.strerror}") from None
        if not own:
            os.close(self._file)
            raise InputError(f"{path} is not yours alone, and cannot keep the answers of a run: remove it")
        self._used = found.st_size > 32

    @property
    def is_used(self) -> bool:
        """Whether an answer is there."""
        return self._used or self._place > 32

    def next(self, question: tuple[Any, ...]) -> Doubles | None:
        """The next answer, if it is there; a torn one is not."""
        head = os.pread(self._file, _HEAD, self._place)
        if len(head) < _HEAD:
            return None
        size = int(struct.unpack("<Q", head[32:])[0]) * 8
        whole = os.pread(self._file, size + _CHECK, self._place + _HEAD) if size <= self._most else b""
        if len(whole) < size + _CHECK or _digest(head + whole[:size]) != whole[size:]:
            return None  # killed in the middle of it: it is drawn again, and written over
        if head[:32] != _digest(repr(question).encode()):
            raise InputError(
                f"{self._path} holds the answers to other questions, perhaps of another version: remove it, and the "
                "run begins anew, paid for as it is"
            )
        self._place += _HEAD + size + _CHECK
        return np.frombuffer(whole[:size], dtype=np.float64).copy()

    def add(self, question: tuple[Any, ...], answer: Doubles) -> None:
        """Write an answer down, after all that were read or written before."""
        data = np.ascontiguousarray(answer, dtype=np.float64).tobytes()
        head = _digest(repr(question).encode()) + struct.pack("<Q", len(data) // 8)
        record = head + data + _digest(head + data)
        self._is_full = self._is_full or self._place + len(record) > self._most
        if self._is_full:  # from here on nothing is kept: what follows would be in the wrong place
            return
        try:
            os.ftruncate(self._file, self._place)
            self._is_full = os.pwrite(self._file, record, self._place) < len(record)
        except OSError:  # no room on the disk: go on without
            self._is_full = True
        if not self._is_full:
            self._place += len(record)

    def close(self) -> None:
        """Close the file, and keep it."""
        os.close(self._file)

    def remove(self) -> None:
        """Remove the file: what was made of it is out. Where it stays, the next run of that name removes it."""
        forget_answers(self._path)


def forget_answers(path: Path) -> None:
    """Remove a file of answers that is no longer needed, if it is there and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
