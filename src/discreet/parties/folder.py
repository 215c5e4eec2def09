"""What a server keeps on disk: one owner, files that are there whole or not at all, and a journal."""

import asyncio
import os
from pathlib import Path
from typing import Self

from discreet.errors import InputError, library_for
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
