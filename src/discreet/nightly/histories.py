"""The histories of all users, some thousands at a time, whatever the ratings lie in.

A table is read once, a bounded number of rows at a time, and its ratings are laid down in files, one for each chunk of
users: 20 bytes a rating on the disk, and in memory no more than the names of the users and one chunk. Data sets with a
format of their own are loaded as always.

Items go by the catalogue of the release. Ratings of items that it does not know are left out: nothing could be made of
them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from discreet.data.catalogue import Catalogue
from discreet.data.gather import Numbering, Repeats, Where, identifiers, seconds
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import DataError, InputError, require
from discreet.strings import Strings
from discreet.types import AnyArray, Indices, Progress, no_progress

ROW = np.dtype([("user", "<i4"), ("item", "<i4"), ("value", "<f4"), ("time", "<i8")])
"""A rating on the disk."""
BLOCK = 2_000_000
"""Rows that are dealt to the chunks at once: 40 MB."""
ROWS, USERS = "rows", "users.parquet"
REPEATED = (
    "some user rated an item more than once: merge them with --repeats last, mean or recency (repeats='last' in Python)"
)


class Histories(Protocol):
    """All users, in chunks of neighbouring ones."""

    @property
    def n_users(self) -> int:
        """How many users there are."""
        ...

    @property
    def incomplete(self) -> bool:
        """Whether ratings of items that the release does not know were left out."""
        ...

    def chunk(self, number: int) -> Ratings:
        """The users of one chunk, with all their ratings."""
        ...


@dataclass(frozen=True, eq=False)
class Loaded:
    """Ratings that are in memory."""

    ratings: Ratings
    size: int
    incomplete: bool

    @classmethod
    def of(cls, ratings: Ratings, catalogue: Catalogue, size: int) -> "Loaded":
        """By the catalogue of a release."""
        require(not ratings.has_repeats, REPEATED)
        if ratings.catalogue.fingerprint == catalogue.fingerprint:
            return cls(ratings, size, False)
        require(
            ratings.catalogue.scale == catalogue.scale,
            f"the release has the rating scale {catalogue.scale}, and these ratings {ratings.catalogue.scale}",
        )
        known = catalogue.items.positions
        places = np.array([known.get(name, -1) for name in ratings.catalogue.items], dtype=np.int32)
        item_index = places[ratings.item_index]
        kept = item_index >= 0
        moved = Ratings.of_columns(
            catalogue,
            ratings.users,
            ratings.user_index[kept],
            item_index[kept],
            ratings.values[kept],
            user_facts=ratings.user_facts,
            handling=ratings.handling,
        )
        return cls(moved, size, not bool(kept.all()))

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return self.ratings.n_users

    def chunk(self, number: int) -> Ratings:
        """The users of one chunk, with all their ratings."""
        first = number * self.size
        return self.ratings.select_users(np.arange(first, min(first + self.size, self.n_users)))


@dataclass(frozen=True, eq=False)
class Spilled:
    """Ratings on the disk, in one file for each chunk of users.

    Parameters
    ----------
    folder
        Where the files are.
    catalogue
        Of the release.
    users
        All names, in order.
    size
        Users in a chunk.
    repeats
        What becomes of several ratings of one item by one user.
    incomplete
        Whether ratings of items that the release does not know were left out.
    """

    folder: Path
    catalogue: Catalogue
    users: Strings
    size: int
    repeats: Repeats
    incomplete: bool

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.users)

    def chunk(self, number: int) -> Ratings:
        """The users of one chunk, with all their ratings."""
        first = number * self.size
        path = _place(self.folder, number)
        rows = np.fromfile(path, dtype=ROW) if path.exists() else np.zeros(0, dtype=ROW)
        ratings = Ratings.of_columns(
            self.catalogue,
            Labels(self.users[first : first + self.size], what="user"),
            rows["user"] - np.int32(first),
            rows["item"],
            rows["value"],
            rows["time"],
        )
        if self.catalogue.scale.implicit:
            return ratings.merge("once")
        if self.repeats != "keep":
            return ratings.merge(self.repeats)
        require(not ratings.has_repeats, REPEATED)
        return ratings

    @classmethod
    def read(cls, folder: Path, catalogue: Catalogue, size: int, repeats: Repeats, *, incomplete: bool) -> "Spilled":
        """What an earlier run laid down there."""
        from discreet.data.gather import to_strings

        users = to_strings(pl.read_parquet(folder / USERS)["user"])
        return cls(folder, catalogue, users, size, repeats, incomplete)

    @classmethod
    def of(
        cls,
        batches: Iterable[tuple[pl.DataFrame, Where]],
        folder: Path,
        catalogue: Catalogue,
        size: int,
        repeats: Repeats,
        label: str,
        progress: Progress = no_progress,
    ) -> "Spilled":
        """Lay down the rows of a table, which come in batches with the columns user, item, rating and perhaps time."""
        users = Numbering()
        known = _positions(catalogue)
        complete, rows = True, folder / ROWS
        with rows.open("wb") as file:
            for batch, where in batches:
                found = _encoded(batch, where, users, known, catalogue)
                complete &= len(found) == batch.height
                file.write(found.data)
        if users.size == 0:
            raise DataError(f"{label} is empty: it holds no rating")
        users.refuse_two_spellings("user", label)
        names, renumber = users.finish()
        _deal(rows, renumber, folder, size, progress)
        rows.unlink()
        pl.DataFrame({"user": pl.Series(names.tolist(), dtype=pl.String)}).write_parquet(folder / USERS)
        return cls(folder, catalogue, names, size, repeats, not complete)


def _positions(catalogue: Catalogue) -> pl.DataFrame:
    names = pl.Series("item", catalogue.items.names.tolist(), dtype=pl.String)
    return pl.DataFrame([names, pl.int_range(len(names), dtype=pl.Int32, eager=True).alias("place")])


def _encoded(
    batch: pl.DataFrame, where: Where, users: Numbering, known: pl.DataFrame, catalogue: Catalogue
) -> AnyArray:
    """The rows of a batch as numbers, without those of unknown items; users are numbered as they come."""
    if batch.height == 0:
        return np.zeros(0, dtype=ROW)
    user, item = (identifiers(batch[name], name, where) for name in ("user", "item"))
    rows = np.zeros(batch.height, dtype=ROW)
    rows["value"] = 1 if catalogue.scale.implicit else _values(batch["rating"], where, catalogue)
    if "time" in batch.columns:
        rows["time"] = seconds(batch["time"], where)
    rows["user"] = users.encode(user)
    named = item.cast(pl.String).alias("item").to_frame()
    places = named.join(known, on="item", how="left", maintain_order="left")["place"].fill_null(-1)
    rows["item"] = places.to_numpy()
    return rows[rows["item"] >= 0]


def _values(ratings: pl.Series, where: Where, catalogue: Catalogue) -> AnyArray:
    if ratings.dtype == pl.String:
        ratings = ratings.str.strip_chars()
    values = ratings.cast(pl.Float32, strict=False)
    wrong = values.is_null() | ~values.is_finite()
    if bool(wrong.any()):
        place = int(wrong.fill_null(True).arg_max() or 0)
        raise DataError.at(where(place), "the rating is missing or not a number")
    outside = (values < catalogue.scale.low) | (values > catalogue.scale.high)
    if bool(outside.any()):
        place = int(outside.arg_max() or 0)
        raise DataError.at(where(place), f"the rating is outside the scale {catalogue.scale} of the release")
    return values.to_numpy()


def _deal(rows: Path, renumber: Indices, folder: Path, size: int, progress: Progress) -> None:
    """Put each rating into the file of its user's chunk; the order in which a user's ratings were read stays."""
    total = rows.stat().st_size // ROW.itemsize
    for path in folder.glob("chunk-*"):
        path.unlink()
    for done, block in _blocks(rows):
        block["user"] = renumber[block["user"]]
        chunks = block["user"] // size
        order = np.argsort(chunks, kind="stable")
        block, chunks = block[order], chunks[order]
        starts = np.flatnonzero(np.diff(chunks, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(block)], strict=True):
            with _place(folder, int(chunks[start])).open("ab") as file:
                file.write(block[start:end].data)
        progress(done, total, "grouping ratings by user")


def _blocks(rows: Path) -> Iterator[tuple[int, AnyArray]]:
    done = 0
    with rows.open("rb") as file:
        while len(block := np.fromfile(file, dtype=ROW, count=BLOCK)):
            done += len(block)
            yield done, block


def _place(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:06}"


def require_chunk(size: int) -> None:
    """Raise unless chunks of so many users can be held."""
    if not 1 <= size <= 10_000_000:
        raise InputError(f"chunk must be a number of users from 1 to 10,000,000, got {size}")
