"""What parties keep on disk: one owner, files that are there whole or not at all, a journal, and a table of users."""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from discreet.errors import InputError, library_for, require
from discreet.files import write_whole


class StateFolder:
    """A folder that one program at a time may use; the operating system frees it when that program ends, however.

    Examples
    --------
    >>> import tempfile
    >>> with StateFolder(tempfile.mkdtemp(), "recommender") as folder:
    ...     folder.write("machine", b"state")
    ...     folder.read("machine"), folder.read("other")
    (b'state', None)
    """

    def __init__(self, path: str | Path, whose: str) -> None:
        self.path, self._whose, self._lock = Path(path), whose, -1

    def __enter__(self) -> Self:
        with library_for("a state folder, which needs a POSIX system"):
            import fcntl
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"{self.path} cannot keep the state of a {self._whose}: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise InputError(
                f"another {self._whose} runs with the state in {self.path}: two of them cannot run one round"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def write(self, name: str, content: bytes) -> None:
        """Write a file that only its owner can read; it is on the disk when this returns."""
        write_whole(self.path / name, content, private=True)

    def read(self, name: str) -> bytes | None:
        """A file, or None where there is none."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None


SECONDS_TO_GATHER = 0.02
"""A record waits so long for others that are put on the disk with it."""


class Journal:
    """Records of one size that are added to a file, each on the disk before it is confirmed.

    Many that come at the same time are put on the disk together, by one call.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        # Where a program was killed, or the disk full, in the middle of a record, that was confirmed to nobody.
        os.ftruncate(self._file, os.fstat(self._file).st_size // size * size)
        os.lseek(self._file, 0, os.SEEK_END)
        self._flushing: asyncio.Task[None] | None = None
        self._closed = False

    def records(self) -> list[bytes]:
        """All that are there."""
        content = self._path.read_bytes()
        return [content[at : at + self._size] for at in range(0, len(content), self._size)]

    def add(self, record: bytes) -> None:
        """Add a record; :meth:`kept` waits until it is on the disk."""
        assert len(record) == self._size
        if os.write(self._file, record) != self._size:
            raise OSError("no space is left for a journal")

    async def kept(self) -> None:
        """Wait until all that was added before is on the disk."""
        running = self._flushing
        if running is not None and not running.done():
            await asyncio.shield(running)  # it may have begun before this record was written
        if self._closed:
            return  # its round is over, and what came last is worth nothing any more
        if self._flushing is running:
            self._flushing = asyncio.create_task(self._flush())
        assert self._flushing is not None
        await asyncio.shield(self._flushing)

    async def _flush(self) -> None:
        await asyncio.sleep(SECONDS_TO_GATHER)
        await asyncio.to_thread(os.fsync, self._file)

    def close(self) -> None:
        """Close the file, when nothing is being written any more, and keep it."""
        self._closed = True
        if self._flushing is not None and not self._flushing.done():
            self._flushing.add_done_callback(lambda _: os.close(self._file))
        else:
            os.close(self._file)


USERS = "users.sqlite"


class Kept:
    """What the programs of users keep, all in one file: a key for each, and what each agreed to and sent in a run.

    A row is on the disk when it is written, and rows that are written :meth:`together` are when that ends.

    Examples
    --------
    >>> import tempfile
    >>> kept = Kept(Path(tempfile.mkdtemp()))
    >>> with kept.together():
    ...     kept.write("ann", "first run", 0.5, 1e-6, b"state")
    >>> kept.agreed("ann"), kept.machine("ann", "first run"), kept.machine("ann", "second run")
    ({'first run': (0.5, 1e-06)}, b'state', None)
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / USERS
        older = any(folder.glob("*/agreed.json"))
        require(not older, f"{folder} holds budgets as an earlier version wrote them: name another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise InputError(f"{folder} cannot keep the state of users: {error.strerror}") from None
        self._rows = sqlite3.connect(self._path, isolation_level=None)
        # A commit counts once its journal is gone, and after a power cut that is so only if the folder was synced too.
        self._do("PRAGMA synchronous = EXTRA")
        self._do("CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, key BLOB NOT NULL)")
        self._do(
            "CREATE TABLE IF NOT EXISTS runs (user TEXT, run TEXT, epsilon REAL NOT NULL, delta REAL NOT NULL, "
            "machine BLOB NOT NULL, PRIMARY KEY (user, run))"
        )

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is written within is on the disk when this ends, or nothing of it."""
        self._do("BEGIN IMMEDIATE")
        try:
            yield
            # A full disk undoes all of it, whatever becomes of the error.
            require(self._rows.in_transaction, f"{self._path} cannot be written: make room for it; nothing was sent")
            self._do("COMMIT")
        except BaseException:
            if self._rows.in_transaction:
                self._do("ROLLBACK")
            raise

    def key(self, user: str) -> bytes:
        """The user's own secret, drawn when it is asked for first."""
        self._do("INSERT OR IGNORE INTO users VALUES (?, ?)", user, os.urandom(32))
        return bytes(self._do("SELECT key FROM users WHERE name = ?", user)[0][0])

    def agreed(self, user: str) -> dict[str, tuple[float, float]]:
        """Epsilon and delta of every run that the user has agreed to."""
        rows = self._do("SELECT run, epsilon, delta FROM runs WHERE user = ?", user)
        return {run: (epsilon, delta) for run, epsilon, delta in rows}

    def machine(self, user: str, run: str) -> bytes | None:
        """The user's state in a run; None where they have not agreed to it."""
        rows = self._do("SELECT machine FROM runs WHERE user = ? AND run = ?", user, run)
        return bytes(rows[0][0]) if rows else None

    def write(self, user: str, run: str, epsilon: float, delta: float, machine: bytes) -> None:
        """Keep a user's state in a run, and what the run costs."""
        self._do("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", user, run, epsilon, delta, machine)

    def close(self) -> None:
        """Close the file."""
        self._rows.close()

    def _do(self, statement: str, *values: object) -> list[Any]:
        try:
            return self._rows.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{self._path} cannot be used: {error}; nothing was sent") from None
