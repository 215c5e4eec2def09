"""Where a release goes: a place that is claimed before anything is paid, filled in one step, and tidied after a kill.

Beside the folder DIR of a release lies, while one is written, a hidden folder with a name that follows from DIR. It can
be made once, so it marks the place as taken; whoever writes holds a lock on it, which ends with their process. In it:

    writing            what is being written, and nobody pays for it
    paying-new-BUDGET, paying-replace-BUDGET    the same, where a budget pays and is told before it appears
    new-CHECKSUM       what is complete, on the disk, and booked: from here on it belongs in DIR
    replace-CHECKSUM   the same, where a release in DIR may be replaced
    previous           what was in DIR
    probing            DIR did not exist, and is made and removed once to see whether it can be

CHECKSUM is that of card and signature. Right after an exchange the folder of this name holds the old release, which has
another; if it has the same, then both are the same, and it does not matter which is where.
A process may be killed between any two of these steps: :func:`settle` finds out which was the last, and goes on.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from discreet.errors import InputError
from discreet.files import exchange, hold, let_go, sync_files, sync_folder

CARD, SIGNATURE = "card.json", "card.sig"
WRITING, PAYING, PREVIOUS, PROBING, PROBE = "writing", "paying-", "previous", "probing", "probe"
NEW, REPLACE = "new", "replace"
PROBE_BYTES = 1 << 20
NOTHING_SPENT = "nothing was written or spent"
MOUNTS = Path("/proc/self/mountinfo")


class Booked(NamedTuple):
    """What a budget says about releases that were about to appear: where it is kept, and checksums of their arrays."""

    budget: str
    arrays: Collection[str]


@dataclass(kw_only=True)
class Place:
    """A place for a release that is claimed by this process.

    Parameters
    ----------
    asked, folder
        The folder that was asked for, and the one that is meant: where links lead to.
    replace
        Whether a release there may be replaced.
    booked
        Whether a budget may have been told that a release appears here: then it is not thrown away any more.
    """

    asked: Path
    folder: Path
    replace: bool
    booked: bool = False

    @property
    def scratch(self) -> Path:
        """The hidden folder beside it."""
        return scratch_of(self.folder)

    @property
    def _how(self) -> str:
        return REPLACE if self.replace else NEW

    def start(self, budget: str | None = None) -> Path:
        """An empty folder to write a release into; ``budget`` is where one is kept that is told before it appears."""
        writing = self.scratch / (WRITING if budget is None else _paying(self._how, budget))
        writing.mkdir()  # the umask decides who may read it
        return writing

    def publish(self, writing: Path, tell: Callable[[], None] | None = None) -> None:
        """Let what was written appear. ``tell`` is called just before, and may refuse: then it does not.

        Where the move fails, what was paid for stays beside its place, and the next who looks there moves it.
        """
        sync_files(writing)
        sync_folder(self.scratch)
        if tell is not None:
            tell()
        ready = writing.rename(self.scratch / f"{self._how}-{_checksum(writing)}")
        sync_folder(self.scratch)
        _move(ready, self.folder)

    def waiting(self) -> Path | None:
        """Where a release is that is complete and booked, and not yet in its place; None where there is none."""
        found = _waits(self.scratch)
        if found is None and self.booked:
            found = next((path for path in self.scratch.glob(f"{PAYING}*") if (path / CARD).exists()), None)
        return found


def scratch_of(folder: Path) -> Path:
    """The hidden folder beside a place; its name has the same length whatever the place is called."""
    return folder.with_name(f".discreet-{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:20]}")


@contextmanager
def claimed(asked: str | Path, *, replace: bool = False, outcome: str = NOTHING_SPENT) -> Iterator[Place]:
    """Claim a place for a release, before anything is paid: nobody else can while this lasts.

    Folders are made and renamed for real, so that what cannot be written is found now.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with claimed(Path(folder) / "release"), claimed(Path(folder) / "release"):
    ...         pass
    Traceback (most recent call last):
    discreet.errors.InputError: another run is writing to ...: wait for it, or name another folder; nothing was \
written or spent
    """
    asked = Path(asked)
    made: list[Path] = []
    lock: int | None = None
    place = None
    try:
        try:
            folder = real_folder(asked, outcome)
            place = Place(asked=asked, folder=folder, replace=replace)
            check_occupant(asked, folder, replace=replace, outcome=outcome)
            made = _make_parents(folder)
            lock = _take(place.scratch)
            if lock is None:
                raise InputError(f"another run is writing to {asked}: wait for it, or name another folder; {outcome}")
            _settle(folder, place.scratch, None)
            if any(place.scratch.iterdir()):
                raise InputError(
                    f"a release that was paid for waits in {place.scratch} for its place, {asked}: `discreet budget` "
                    f"with its data moves it there, unless something else is there; {outcome}"
                )
            check_occupant(asked, folder, replace=replace, outcome=outcome)
            _probe(folder, place.scratch)
        except (OSError, RuntimeError) as error:  # a circle of links is no OSError everywhere
            words = getattr(error, "strerror", None) or "its links lead in a circle"
            raise InputError(f"cannot write to {asked}: {words}; {outcome}") from None
        yield place
    finally:
        if place is not None and lock is not None:
            if place.waiting() is None:
                shutil.rmtree(place.scratch, ignore_errors=True)
            let_go(lock)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()  # only where it is empty


def settle(asked: str | Path, booked: Booked | None = None) -> None:
    """Put in order what a killed process left at a place: finish it, or remove it. Whoever is alive is left alone.

    ``booked`` is what a budget says; what only another budget can decide is left as it is.
    """
    with suppress(OSError, InputError, RuntimeError):
        folder = Path(asked).resolve()
        if not folder.name or not _is_ours(scratch := scratch_of(folder)):
            return
        lock = hold(scratch)
        if lock is None:
            return
        try:
            _settle(folder, scratch, booked)
            scratch.rmdir()  # only where it is empty
        finally:
            let_go(lock)


def real_folder(asked: Path, outcome: str = NOTHING_SPENT) -> Path:
    """The folder that is meant: where links lead to. One that can never be the folder of a release is refused."""
    if asked.name in ("", "..") or "\0" in str(asked):
        raise InputError(f"{str(asked)!r} cannot be the folder of a release: name a new folder; {outcome}")
    if asked.is_symlink() and not asked.exists():
        raise InputError(f"{asked} is a link to {asked.readlink()}, which is not there: name another folder; {outcome}")
    folder = asked.resolve()
    if not folder.name or _is_mount(folder):
        raise InputError(f"{asked} is a mount point, and cannot be renamed: name a folder inside it; {outcome}")
    if _is_around_us(folder):
        raise InputError(
            f"{asked} is the folder you are in, and cannot be renamed: name a new one inside it; {outcome}"
        )
    return folder


def check_occupant(asked: Path, folder: Path, *, replace: bool, outcome: str = NOTHING_SPENT) -> None:
    """Raise unless nothing is there, an empty folder, or a release that may be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir() or (not (folder / CARD).exists() and any(folder.iterdir())):
        raise InputError(f"{asked} exists and is not a release; {outcome}")
    if not (folder / CARD).exists():
        return
    if not replace:
        raise InputError(f"{asked} holds {_kept(folder)}: name another folder, or replace it with --replace; {outcome}")
    parent, own = folder.parent.stat(), folder.stat()
    if parent.st_mode & stat.S_ISVTX and _me() not in (0, parent.st_uid, own.st_uid):
        raise InputError(f"{asked} belongs to somebody else, and cannot be replaced in this folder; {outcome}")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to {asked}: Permission denied; {outcome}")


def _kept(folder: Path) -> str:
    """What kind of release there is, in words."""
    try:
        proven = json.loads((folder / CARD).read_bytes())["guarantee"]["proven"]
        return (
            "a release" if proven is None else f"a private release that was paid for (epsilon {proven['epsilon']:.3g})"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "a release that cannot be read"


def _is_around_us(folder: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(folder)
    except FileNotFoundError:  # the folder we are in was removed
        return False


def _is_mount(folder: Path) -> bool:
    if os.path.ismount(folder):
        return True
    try:  # a folder of the same disk that is mounted here
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    name = str(folder).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
    return any(line.split(" ")[4:5] == [name] for line in lines)


def _make_parents(folder: Path) -> list[Path]:
    """The folders above it that had to be made, the deepest first."""
    missing = []
    for parent in folder.parents:
        if parent.exists():
            if not parent.is_dir():
                raise OSError(errno.ENOTDIR, f"{parent} is not a folder")
            break
        missing.append(parent)
    made: list[Path] = []
    try:
        for parent in reversed(missing):
            with suppress(FileExistsError):
                parent.mkdir()
                made.insert(0, parent)
                sync_folder(parent.parent)
    except OSError:
        for parent in made:
            parent.rmdir()
        raise
    return made


def _take(scratch: Path) -> int | None:
    """Make the mark and lock it; None where somebody who is alive has it."""
    for _ in range(100):
        with suppress(FileExistsError):
            scratch.mkdir(mode=0o700)
        if (lock := hold(scratch)) is not None:
            return lock
        if scratch.exists():
            return None
    return None


def _probe(folder: Path, scratch: Path) -> None:
    """Write and rename for real: raises where that fails, and leaves nothing."""
    probe = scratch / PROBE
    probe.mkdir()
    with (probe / "file").open("wb") as file:
        file.write(bytes(PROBE_BYTES))
        file.flush()
        os.fsync(file.fileno())
    (probe / "file").unlink()
    if not folder.exists():
        (scratch / PROBING).mkdir()
        probe.rename(folder)
        folder.rename(probe)
        (scratch / PROBING).rmdir()
    elif not (folder / CARD).exists():
        folder.rename(scratch / PREVIOUS)
        (scratch / PREVIOUS).rename(folder)
    probe.rmdir()


def _move(ready: Path, folder: Path) -> None:
    """Move a release to its place, in one step where the system can; where it fails the old one comes back."""
    previous = ready.with_name(PREVIOUS)
    if not (folder / CARD).exists():
        ready.rename(folder)  # onto nothing or an empty folder: any other is refused by the system
    elif ready.name.startswith(f"{NEW}-"):
        raise OSError(0, "another release is there")
    elif exchange(ready, folder):
        ready.rename(previous)
    else:
        folder.rename(previous)
        try:
            ready.rename(folder)
        except BaseException:
            previous.rename(folder)
            raise
    sync_folder(folder.parent)


def _settle(folder: Path, scratch: Path, booked: Booked | None) -> None:
    """Go on from the last step of whoever held this place; we hold it now."""
    if (scratch / PROBING).exists():
        with suppress(OSError):
            folder.rmdir()  # made by them, and empty
    for paying in scratch.glob(f"{PAYING}*"):
        how, arrays = paying.name.split("-")[1], _arrays(paying)
        if arrays is None:
            continue
        if booked is None or paying.name != _paying(how, booked.budget):
            return
        if arrays in booked.arrays:
            paying.rename(scratch / f"{how}-{_checksum(paying)}")
    if (waiting := _waits(scratch)) is not None:
        _move(waiting, folder)
    elif (scratch / PREVIOUS).exists() and not folder.exists():
        (scratch / PREVIOUS).rename(folder)
    for left in list(scratch.iterdir()):
        shutil.rmtree(left)


def _paying(how: str, budget: str) -> str:
    return f"{PAYING}{how}-{hashlib.sha256(os.fsencode(budget)).hexdigest()[:16]}"


def _waits(scratch: Path) -> Path | None:
    """A release that is complete and booked, and not yet in its place."""
    with suppress(OSError):
        for path in scratch.iterdir():
            how, _, checksum = path.name.partition("-")
            if how in (NEW, REPLACE) and (path / CARD).exists() and checksum == _checksum(path):
                return path
    return None


def _checksum(release: Path) -> str:
    """Of its card, which holds that of the arrays, and of its signature."""
    found = hashlib.sha256((release / CARD).read_bytes())
    with suppress(FileNotFoundError):
        found.update((release / SIGNATURE).read_bytes())
    return found.hexdigest()


def _arrays(release: Path) -> str | None:
    """The checksum of its arrays that a card names; None where it was not written to its end."""
    try:
        return str(json.loads((release / CARD).read_bytes())["arrays_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_ours(scratch: Path) -> bool:
    """Whether it was made by the same account, for itself alone: another could have put anything there."""
    try:
        found = scratch.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == _me() and not found.st_mode & 0o077


def _me() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0
