"""Files and folders that are there whole or not at all: written beside their place first, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import InputError


@contextmanager
def beside(target: Path, advice: str = "nothing was written") -> Iterator[Path]:
    """A temporary folder beside a target that may not exist yet; gone afterwards, whatever happens."""
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=parent))
    except OSError as error:
        raise InputError(f"cannot write to {target.parent}: {error.strerror}; {advice}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    with beside(path) as folder:
        try:
            # The umask of whoever runs this decides who else may read it.
            descriptor = os.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            (folder / "file").replace(path)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}; nothing was written") from None


def replace_folder(new: Path, target: Path) -> None:
    """Move a folder to where another may be; where that fails, the old one is put back."""
    old = new.with_name("previous")
    if target.exists():
        target.replace(old)
    try:
        new.replace(target)
    except BaseException:
        if old.exists():
            old.replace(target)
        raise
