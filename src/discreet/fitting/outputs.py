"""Whether a result can be written where it was asked for, found out before the work starts."""

import tempfile
from pathlib import Path

from discreet.errors import InputError


def check_release_folder(folder: Path, *, replace: bool = False) -> None:
    """Raise unless a release can be saved at ``folder``: nothing there yet, an empty folder, or one to ``replace``.

    A release that privacy was paid for can be made again only by paying again, so none is replaced without a word.
    """
    from discreet.releases.places import claimed

    with claimed(folder, replace=replace, outcome="nothing was written"):
        pass


def check_file(path: Path) -> None:
    """Raise unless a file can be written at ``path``."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write to")
    check_writable(path.absolute().parent)


def check_writable(folder: Path) -> None:
    """Raise unless a folder can be made here, or in the nearest parent that exists; leaves nothing behind."""
    from discreet.files import TEMPORARY

    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise InputError(f"cannot write to {folder}: {existing} is not a folder; nothing was written")
    try:
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=existing):
            pass
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; nothing was written") from None
