"""Whether a result can be written where it was asked for, found out before the work starts."""

import tempfile
from pathlib import Path

from discreet.errors import DiscreetError, InputError


def check_release_folder(folder: Path, *, replace: bool = False) -> None:
    """Raise unless a release can be saved at ``folder``: nothing there yet, an empty folder, or a release.

    A release that privacy was paid for can be made again only by paying again, so it is kept unless ``replace``.
    """
    from discreet.releases.storage import CARD

    if folder.exists() and not (folder / CARD).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not a release; nothing was written")
    if (folder / CARD).exists() and not replace:
        _check_not_paid_for(folder)
    check_writable(folder.absolute().parent)


def check_file(path: Path) -> None:
    """Raise unless a file can be written at ``path``."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write to")
    check_writable(path.absolute().parent)


def check_writable(folder: Path) -> None:
    """Raise unless a folder can be made here, or in the nearest parent that exists; leaves nothing behind."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise InputError(f"cannot write to {folder}: {existing} is not a folder; nothing was written")
    try:
        with tempfile.TemporaryDirectory(prefix=".discreet-", dir=existing):
            pass
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; nothing was written") from None


def _check_not_paid_for(folder: Path) -> None:
    from discreet.privacy.guarantee import Guarantee
    from discreet.releases.storage import read_card

    try:
        guarantee = Guarantee.from_json(read_card(folder)["guarantee"])
    except (DiscreetError, KeyError, TypeError):
        raise InputError(
            f"{folder} holds a release that cannot be read: name another folder, or replace it with --replace; "
            "nothing was written"
        ) from None
    if guarantee.proven is not None:
        raise InputError(
            f"{folder} holds a private release that was paid for (epsilon {guarantee.proven.epsilon:.3g}): "
            "name another folder, or replace it with --replace; nothing was written"
        )
