"""Ratings that do not fit in memory: files, each with all ratings of its users, read one at a time.

A sum over users is the sum over the parts of the sums over each part's users, so whoever is asked for sums alone needs
no more than one part in memory. A user whose ratings lay in two parts would count as two users, and no bound on what
one user adds would hold; so this is checked first, in one pass over all parts.

Readers are imported where files are read: whoever has all ratings in memory need not wait for them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels, counted
from discreet.data.ratings import Ratings
from discreet.errors import DataError, InputError
from discreet.looks import Looks
from discreet.types import AnyArray, Progress, no_progress


class RatingsInParts:
    """Ratings in several files, of which one at a time is in memory. Every user's ratings must be in one file.

    Parameters
    ----------
    data
        A folder, whose tables are the parts, or a list of files: Parquet, Arrow, CSV or TSV.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating
        Names of the columns.
    items
        Another table that lists all items, outside the folder: see :func:`discreet.data.tables.read_table`. Without it
        the list is read off the ratings, and the catalogue is not ``declared``.
    progress
        Called while all parts are read for the first time, to be checked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import discreet as dc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> ratings.select_users(range(20)).to_frame().write_parquet(folder / "1.parquet")
    >>> ratings.select_users(range(20, 50)).to_frame().write_parquet(folder / "2.parquet")
    >>> parts = dc.RatingsInParts(folder, scale=(1, 5))
    >>> parts
    RatingsInParts(2 parts, 600 ratings, 50 users, 30 items, scale 1 to 5)
    >>> one, other = (dc.Bias().fit(dc.NoPrivacy(data)).arrays["mean"] for data in (parts, ratings))
    >>> bool(one == other)
    True
    """

    def __init__(
        self,
        data: str | Path | Sequence[str | Path],
        *,
        scale: Scale | tuple[float, float],
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        items: str | Path | None = None,
        progress: Progress = no_progress,
    ) -> None:
        from discreet.data.tables import read_catalogue

        self.looks = Looks()
        self._files = _files(data)
        self._columns = {"user": user, "item": item, "rating": rating}
        self._change: Callable[[Ratings], Ratings] | None = None
        scale = Scale(*scale) if isinstance(scale, tuple) else scale
        listed = None if items is None else read_catalogue(items, scale, item)
        self.catalogue, self.n_users, self._marks = self._checked(scale, listed, progress)

    def __len__(self) -> int:
        return sum(size for size, _ in self._marks)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'rating')}, {counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}"
        return f"RatingsInParts({counted(len(self._files), 'part')}, {sizes}, scale {self.catalogue.scale})"

    @property
    def n_items(self) -> int:
        """How many items the catalogue lists."""
        return len(self.catalogue)

    def parts(self) -> Iterator[Ratings]:
        """The ratings of some users after those of others, read as they are asked for."""
        for file, mark in zip(self._files, self._marks, strict=True):
            part = self._read(file, self.catalogue.scale, self.catalogue)
            if _mark(part) != mark:
                raise DataError(f"{file} has changed since it was checked: nothing was computed from it")
            yield from (part if self._change is None else self._change(part)).parts()

    def changed(self, change: Callable[[Ratings], Ratings]) -> "RatingsInParts":
        """The same with every part changed as it is read, for example capped, user by user."""
        other = object.__new__(type(self))
        before = self._change
        both = change if before is None else lambda part: change(before(part))
        other.__dict__ = self.__dict__ | {"_change": both}
        return other

    def _checked(
        self, scale: Scale, listed: Catalogue | None, progress: Progress
    ) -> tuple[Catalogue, int, tuple[tuple[int, int], ...]]:
        """Read everything once: the items (where no list is given), how many users, and what is known of each part."""
        import polars as pl

        from discreet.data.gather import Numbering

        seen, marks, numbering = np.zeros(0, dtype=np.uint64), [], Numbering()
        for number, file in enumerate(self._files):
            part = self._read(file, scale, listed)
            if part.has_repeats:  # a pair that comes twice in one part is refused when it is read
                raise DataError(f"{file}: some pairs are rated more than once")
            both = np.concatenate([seen, _words(part.users)])
            seen = np.unique(both)
            if len(seen) < len(both):
                raise DataError(f"{file} has ratings of a user who is in another part too: keep each user's in one")
            if listed is None:
                numbering.encode(pl.Series(part.catalogue.items.names.tolist(), dtype=pl.String))
            marks.append(_mark(part))
            progress(number + 1, len(self._files), "checking the parts")
        if listed is None:
            names, _ = numbering.finish()
            listed = Catalogue(Labels(names, what="item"), scale, names, declared=False)
        return listed, len(seen), tuple(marks)

    def _read(self, file: Path, scale: Scale, catalogue: Catalogue | None) -> Ratings:
        from discreet.data.gather import Gatherer
        from discreet.data.tables import table_batches

        gatherer = Gatherer(scale, items=None if catalogue is None else catalogue.items.names.tolist())
        for batch, where in table_batches(file, self._columns):
            gatherer.add(batch, where)
        ratings = gatherer.finish(str(file))
        return ratings if catalogue is None else replace(ratings, catalogue=catalogue)


def _files(data: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    from discreet.data.tables import is_table

    if isinstance(data, str | Path):
        folder = Path(data)
        if not folder.is_dir():
            raise DataError(f"there is no folder {folder}")
        files = sorted(path for path in folder.iterdir() if is_table(path))
    else:
        files = [Path(path) for path in data]
    if not files:
        raise InputError("there are no parts: name the files, or a folder with tables in it")
    return tuple(files)


def _mark(part: Ratings) -> tuple[int, int]:
    """How many ratings a part has, and whose: with other users it might have some of another part's."""
    return len(part), int(_words(part.users).sum(dtype=np.uint64))


def _words(users: Labels) -> AnyArray:
    """A word of 64 bits for every user, to find those who come again without keeping all names."""
    import polars as pl

    return pl.Series(users.names.tolist(), dtype=pl.String).hash().to_numpy()
