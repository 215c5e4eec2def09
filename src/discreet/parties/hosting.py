"""One user in a program, or many: whose files there are, and where each keeps what it keeps."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.history_file import read_history
from discreet.errors import InputError, library_for, require
from discreet.parties.credentials import read_tokens


def history_files(place: Path) -> list[Path]:
    """The file of one user, or those of many in a folder."""
    if place.is_file():
        return [place]
    require(place.is_dir(), f"{place} does not exist: name a file with your ratings, or a folder of such files")
    files = sorted(path for path in place.iterdir() if path.suffix.lower() in (".csv", ".tsv") and path.is_file())
    require(len(files) > 0, f"{place} holds no .csv or .tsv file")
    return files


def default_state(place: Path) -> Path:
    """Where the program of these users keeps what it keeps.

    One folder for all files that lie together, by whatever name they are reached: a user who takes part once alone and
    once with others, or by way of a link, has one budget and not two.
    """
    with library_for("your own state folder"):
        import platformdirs
    real = place.resolve()
    folder = real if real.is_dir() else real.parent
    return Path(platformdirs.user_state_path("discreet")) / "party" / _hashed(str(folder))


def hosted_users(
    files: Sequence[Path], token: Path | None
) -> list[tuple[str, Callable[[Catalogue], History], bytes | None]]:
    """For each user the name under which their state is kept, how to read their ratings, and their token."""
    tokens: list[bytes | None] = [None] * len(files) if token is None else [*read_tokens(token, len(files))]
    names = [_hashed(path.resolve().name) for path in files]
    require(len(set(names)) == len(names), "one file of ratings is there twice, by way of a link: remove the link")
    return [(name, partial(_read, path), own) for name, path, own in zip(names, files, tokens, strict=True)]


def _read(path: Path, catalogue: Catalogue) -> History:
    try:
        return read_history(path, catalogue)
    except InputError as error:
        # Whose file it is may be somebody's name, and messages end up in logs.
        raise InputError(str(error).replace(str(path), "a file of ratings")) from None


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]
