"""Files that a stranger may have made: opened only where they are ordinary files, and read only as far as agreed."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from discreet.errors import ReleaseError


@contextmanager
def regular_file(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """An open file and its size. A pipe, a device or a folder is refused at once: opening one may wait for ever.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    ReleaseError
        Where it is no ordinary file, or cannot be read.
    """
    try:
        _require_regular(path, path.stat())  # before it is opened, which alone may do something to a device
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            _require_regular(path, found)  # it may have been exchanged
            yield file, found.st_size
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(str(path)) from error
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        if type(error) is ValueError:
            raise ReleaseError(f"{path!s:.200} cannot be read: {error}") from None
        raise


def read_regular(path: Path, most: int) -> bytes:
    """The content of an ordinary file of at most so many bytes."""
    with regular_file(path) as (file, _):
        content = file.read(most + 1)
    if len(content) > most:
        raise ReleaseError(f"{path} has more than {most:,} bytes, and should have fewer")
    return content


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
        raise ReleaseError(f"{path} is {kind}, and should be a file")
