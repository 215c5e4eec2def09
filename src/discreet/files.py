"""Files and folders that are there whole or not at all: written beside their place first, synced, then renamed."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import InputError

try:
    import fcntl
except ImportError:  # a system without such locks: there nothing that was left behind is taken for dead
    fcntl = None  # type: ignore[assignment]

TEMPORARY = ".discreet-tmp-"
AT_FDCWD, RENAME_EXCHANGE = -100, 2
NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def beside(target: Path, advice: str = "nothing was written") -> Iterator[Path]:
    """A temporary folder beside a target that may not exist yet; gone afterwards, whatever happens.

    What a killed process left beside it is removed first: whoever is alive holds a lock on theirs.
    """
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep(parent)
        lock = None
        while lock is None:  # somebody who swept may have taken a new one for a dead one
            folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
            lock = hold(folder)
    except OSError as error:
        raise InputError(f"cannot write to {target.parent}: {error.strerror}; {advice}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        let_go(lock)


def write_whole(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Write a file that is on the disk when this returns; only its owner can read a private one.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "page.html", b"hello")
    ...     (Path(folder) / "new" / "page.html").read_text()
    'hello'
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write to")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not an ordinary file: name one to write to")
    path = path.resolve() if path.is_symlink() else path  # a link stays one
    with beside(path) as folder:
        try:
            # The umask of whoever runs this decides who else may read it.
            descriptor = os.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            (folder / "file").replace(path)
            with suppress(OSError):  # it is there
                sync_folder(path.parent)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}; nothing was written") from None


# ── What must survive a power cut ──


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def sync_files(folder: Path) -> None:
    """Have all files of a folder on the disk, and their names."""
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(folder)


# ── Who is alive ──


def hold(folder: Path) -> int | None:
    """Lock a folder until :func:`let_go`, or until this process dies; None where somebody else holds it or it is gone.

    The system drops the lock of a process that dies, however it dies. So what nobody holds was left behind.
    """
    if fcntl is None:
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.lstat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def let_go(lock: int | None) -> None:
    """Give a lock back."""
    if lock is None or lock < 0:
        return
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)  # a forked process may have the same descriptor
    os.close(lock)


def sweep(parent: Path) -> None:
    """Remove temporary folders whose processes have died."""
    for left in parent.glob(f"{TEMPORARY}*"):
        with suppress(OSError):
            if fcntl is None or (lock := hold(left)) is None:
                continue
            shutil.rmtree(left, ignore_errors=True)
            let_go(lock)


# ── Moving folders ──


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, if the system can; says whether it did."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2  # Linux's own, where the C library has it
    except (OSError, AttributeError, TypeError):
        return False
    rename.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))
