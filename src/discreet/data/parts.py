"""Ratings that do not fit in memory: files, each with all ratings of its users, read one at a time.

A sum over users is the sum over the parts of the sums over each part's users, so whoever is asked for sums alone needs
no more than one part in memory. A user whose ratings lay in two parts would count as two users, and no bound on what
one user adds would hold; so this is checked first, in one pass over all parts.

Readers are imported where files are read: whoever has all ratings in memory need not wait for them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.handling import Handling, options_of_table
from discreet.data.labels import Labels, counted
from discreet.data.ratings import Ratings
from discreet.data.sources import is_folder
from discreet.doors import checked, checked_methods
from discreet.errors import DataError, InputError, require
from discreet.looks import Looks
from discreet.processes import require_threads
from discreet.types import AnyArray, Booleans, Progress, no_progress

if TYPE_CHECKING:
    from discreet.data.gather import Repeats


@dataclass(frozen=True, eq=False)
class SomeInParts:
    """The users of ratings in files for whom a mask is true, part by part."""

    ratings: "RatingsInParts"
    chosen: Booleans

    @property
    def n_users(self) -> int:
        """How many were chosen."""
        return int(np.count_nonzero(self.chosen))

    def parts(self) -> Iterator[Ratings]:
        """What was chosen of each part; nothing where nobody was."""
        first = 0
        for part in self.ratings.parts():
            positions = np.flatnonzero(self.chosen[first : first + part.n_users])
            first += part.n_users
            if len(positions):
                yield part.select_users(positions)


@checked
@checked_methods
class RatingsInParts:
    """Ratings in several files, of which one at a time is in memory. Every user's ratings must be in one file.

    Parameters
    ----------
    data
        A folder, whose tables are the parts, or a list of files: Parquet, Arrow, CSV or TSV.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating, time
        Names of the columns; times matter only for merging. ``rating=None`` for data without ratings.
    items, items_public
        Another table that lists all items, outside the folder, and whether that list is public: see
        :func:`discreet.data.tables.read_table`. Without it the list is read off the ratings.
    repeats
        How several ratings of one item by one user are merged; ``"keep"`` refuses them.
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
    >>> parts = dc.data.RatingsInParts(folder, scale=(1, 5))
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
        scale: Scale | tuple[float, float] | None = None,
        user: str = "user",
        item: str = "item",
        rating: str | None = "rating",
        time: str | None = None,
        items: str | Path | None = None,
        items_public: bool = False,
        repeats: "Repeats" = "keep",
        progress: Progress = no_progress,
    ) -> None:
        from discreet.data.tables import read_catalogue, roles, scale_for

        known = isinstance(repeats, str) and repeats in ("keep", "last", "mean", "recency")
        require(known, "repeats must be 'keep', 'last', 'mean' or 'recency'")
        self.looks = Looks()
        self._files = _files(data)
        self._columns = roles(user, item, rating, time)
        self._repeats: Repeats = repeats
        self._change: Callable[[Ratings], Ratings] | None = None
        self._silent = Labels.of((), what="user")
        self._stamps = tuple(_stamp(file) for file in self._files)  # before they are read: no change falls between
        scale = scale_for(rating, Scale(*scale) if isinstance(scale, tuple) else scale)
        merged = "once" if scale.implicit else None if repeats == "keep" else repeats
        options = options_of_table("", rating, None, time, items, ())
        self.handling = Handling(merged=merged, options=options)
        listed = None if items is None else read_catalogue(items, scale, item, items_public=items_public)
        self.catalogue, self._seen, self._marks = self._checked(scale, listed, progress)

    def __len__(self) -> int:
        return sum(size for size, _ in self._marks)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'rating')}, {counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}"
        return f"RatingsInParts({counted(len(self._files), 'part')}, {sizes}, scale {self.catalogue.scale})"

    @property
    def n_users(self) -> int:
        """How many users there are, those without a rating included."""
        return len(self._seen) + len(self._silent)

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
            yield from self._changed(part).parts()
        if len(self._silent):
            none, times = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32) if "time" in self._columns else None
            nothing = none, none, np.zeros(0, dtype=np.float32), times
            yield from self._changed(Ratings(self.catalogue, self._silent, *nothing, handling=self.handling)).parts()

    def with_users(self, names: Iterable[str]) -> "RatingsInParts":
        """The same with everybody who takes part listed: see :meth:`discreet.Ratings.with_users`."""
        listed = Labels.of(names, what="user")
        words = _words(listed)
        rated = np.isin(words, self._seen)
        require(
            len(np.unique(words)) == len(words) and int(rated.sum()) == len(self._seen),
            "a user with ratings is not in the list of users: list everybody, each once",
        )
        silent = Labels(listed.names[~rated], what="user")
        return self._with(_silent=silent, handling=self.handling.with_listed_users())

    def some_users(self, chosen: Booleans) -> "SomeInParts | RatingsInParts":
        """The users for whom a mask is true."""
        return SomeInParts(self, chosen)

    def _changed(self, part: Ratings) -> Ratings:
        return part if self._change is None else self._change(part)

    def _with(self, **changes: object) -> "RatingsInParts":
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | changes
        return other

    def check_unchanged(self) -> None:
        """Raise if a file was written to since it was checked, as far as this shows without reading it."""
        for file, stamp in zip(self._files, self._stamps, strict=True):
            if _stamp(file) != stamp:
                raise DataError(f"{file} has changed since it was checked: nothing was computed from it")

    def changed(self, change: Callable[[Ratings], Ratings]) -> "RatingsInParts":
        """The same with every part changed as it is read, user by user; what comes out is checked like a file."""

        def checked(part: Ratings) -> Ratings:
            other = change(part)
            inside = (other.values >= other.catalogue.scale.low) & (other.values <= other.catalogue.scale.high)
            require(
                not other.has_repeats, "a changed part rates some pairs more than once: nothing was computed from it"
            )
            require(bool(inside.all()), "a changed part has ratings outside the scale: nothing was computed from it")
            require(other.n_users <= part.n_users, "a changed part has more users than before: a user is never two")
            return other

        return self._changed_by(checked)._with(handling=self.handling.after_selection())

    def _changed_by(self, change: Callable[[Ratings], Ratings]) -> "RatingsInParts":
        """For populations, whose changes keep what was checked."""
        before = self._change
        return self._with(_change=change if before is None else lambda part: change(before(part)))

    def _checked(
        self, scale: Scale, listed: Catalogue | None, progress: Progress
    ) -> tuple[Catalogue, AnyArray, tuple[tuple[int, int], ...]]:
        """Read everything once: the items (where no list is given), a word for each user, and a mark of each part."""
        import polars as pl

        from discreet.data.gather import Numbering

        seen, marks, numbering = np.zeros(0, dtype=np.uint64), [], Numbering()
        for number, file in enumerate(self._files):
            part = self._read(file, scale, listed)
            if part.has_repeats:  # a pair that comes twice in one part is refused when it is read
                raise DataError.at(
                    f"{file}", "some pairs are rated more than once; merge them, for example repeats='last'"
                )
            both = np.concatenate([seen, _words(part.users)])
            seen = np.unique(both)
            if len(seen) < len(both):
                raise DataError(f"{file} has ratings of a user who is in another part too: keep each user's in one")
            if listed is None:
                numbering.encode(pl.Series(part.catalogue.items.names.tolist(), dtype=pl.String))
            marks.append(_mark(part))
            progress(number + 1, len(self._files), "checking the parts")
        if listed is None:
            numbering.refuse_two_spellings("item", "these parts")
            names, _ = numbering.finish()
            listed = Catalogue(Labels(names, what="item"), scale, names, declared=False)
        return listed, seen, tuple(marks)

    def _read(self, file: Path, scale: Scale, catalogue: Catalogue | None) -> Ratings:
        from discreet.data.gather import Gatherer
        from discreet.data.tables import table_batches

        gatherer = Gatherer(scale, items=None if catalogue is None else catalogue.items.names.tolist())
        for batch, where in table_batches(file, self._columns):
            gatherer.add(batch, where)
        ratings = gatherer.finish(str(file), repeats=self._repeats)
        self.handling = self.handling.marked_as([ratings.handling.words])  # of all parts, when they are first checked
        ratings = replace(ratings, handling=self.handling)
        return ratings if catalogue is None else replace(ratings, catalogue=catalogue)


def _files(data: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    from discreet.data.columnar import ARROW, PARQUET
    from discreet.data.columns import SEPARATORS, ending

    if isinstance(data, str | Path):
        require(str(data) != "", "data must be a folder or a list of files, got an empty text")
        folder = Path(data)
        if not is_folder(folder):
            raise DataError(f"there is no folder {folder}")
        files = sorted(path for path in folder.iterdir() if ending(path) in {*SEPARATORS, *PARQUET, *ARROW})
    else:
        files = [Path(path) for path in data]
    if not files:
        raise InputError("there are no parts: name the files, or a folder with tables in it")
    return tuple(files)


def _stamp(file: Path) -> tuple[int, int] | None:
    """Size of a file, and when it was last written to; None where it is not there."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def _mark(part: Ratings) -> tuple[int, int]:
    """How many ratings a part has, and whose: with other users it might have some of another part's."""
    return len(part), int(_words(part.users).sum(dtype=np.uint64))


def _words(users: Labels) -> AnyArray:
    """A word of 64 bits for every user, to find those who come again without keeping all names.

    Text that names a user as 1.0 in one part and as 1 in another has the same word: that is one user in two parts.
    """
    import polars as pl

    from discreet.data.gather import one_spelling

    require_threads("polars")

    return one_spelling(pl.Series(users.names.tolist(), dtype=pl.String)).hash().to_numpy()
