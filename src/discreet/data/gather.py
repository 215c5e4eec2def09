"""Collect ratings batch by batch into columns: checked, numbered, sorted, and no Python object for any of them.

Readers hand over batches of four columns (user, item, rating, time), each with a way to say where a row came
from. What is kept of a rating is 16 bytes.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.cells import Where as Where
from discreet.data.cells import first_of, left_out, numbers_of
from discreet.data.cells import identifiers as identifiers
from discreet.data.cells import kind_of as kind_of
from discreet.data.cells import one_spelling as one_spelling
from discreet.data.cells import refuse_two_spellings as refuse_two_spellings
from discreet.data.cells import rows_of as rows_of
from discreet.data.cells import seconds as seconds
from discreet.data.growing import Growing
from discreet.data.handling import HANDLING, OURS, OWN_FORMAT, Handling, MergeRule
from discreet.data.labels import Labels
from discreet.data.numbering import Numbering as Numbering
from discreet.data.numbering import to_strings as to_strings
from discreet.data.ratings import Ratings
from discreet.data.sorting import sorting_order
from discreet.errors import DataError, require
from discreet.strings import Strings
from discreet.types import AnyArray, Indices

Repeats = Literal["keep"] | MergeRule
"""What becomes of several ratings of one item by one user: all are kept, or they are merged by a rule."""

_log = logging.getLogger("discreet")
RENUMBERED = 2**16  # rows at a time
TEXT = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class ItemFacts:
    """What a file of items says, one entry an item; whether and why the list is public; how it was read."""

    items: Sequence[str]
    titles: Sequence[str]
    genres: Sequence[Sequence[str]]
    years: Sequence[int]
    declared: bool
    tags_from: tuple[str, ...] = ()
    published: str = ""

    def catalogue(self, scale: Scale) -> Catalogue:
        """The catalogue that the list makes."""
        return Catalogue.of(
            self.items,
            scale,
            titles=self.titles,
            genres=self.genres,
            years=self.years,
            declared=self.declared,
            published=self.published,
            tags_from=self.tags_from,
        )


class Gatherer:
    """Take batches of ratings in, give :class:`Ratings` out.

    Parameters
    ----------
    scale
        The declared scale; a rating outside is an error.
    items
        The list of all items, in order; a rating of another one is an error. None: the list is read off the ratings,
        and the catalogue says so.
    users
        Users known beforehand, in order; others may follow.
    drop_unlisted
        Leave out ratings of items that are not listed. The list is public, so which ratings are left out depends on
        nothing else: it changes no bound. How many these are is private, so nobody counts them.
    """

    def __init__(
        self,
        scale: Scale,
        *,
        items: Iterable[str] | None = None,
        users: Iterable[str] = (),
        drop_unlisted: bool = False,
    ) -> None:
        require(items is not None or not drop_unlisted, "to drop ratings of unlisted items takes a list of items")
        self._scale, self._drop_unlisted = scale, drop_unlisted
        self._listed = items is not None
        self._users, self._items = Numbering(users), Numbering(items or ())
        kinds = {"user": np.uint8, "item": np.uint8, "rating": np.float32, "time": np.int32}
        self._columns = {name: Growing(kind) for name, kind in kinds.items()}
        self._wheres: list[tuple[int, Where]] = []
        self.size = 0
        self.options, self.marks = OWN_FORMAT, set[str]()

    def add(self, batch: pl.DataFrame, where: Where) -> None:
        """Check and keep a batch with the columns user, item, rating and perhaps time and handling."""
        if batch.height == 0:
            return
        if HANDLING in batch.columns and batch[HANDLING].dtype in TEXT:  # else it is somebody's own
            words = batch[HANDLING].cast(pl.String)
            ours = words.str.starts_with(OURS).fill_null(value=False)
            self.marks.update(words.filter(ours).unique() if ours.all() else ["", *words.filter(ours).unique()])
        user, item = (identifiers(batch[name], name, where) for name in ("user", "item"))
        if self._drop_unlisted:
            kept = self._items.knows(item)
            batch, user, item = batch.filter(kept), user.filter(kept), item.filter(kept)
            where = left_out(where, np.flatnonzero(~kept))
            if batch.height == 0:
                return
        implicit = self._scale.implicit
        values = np.ones(batch.height, dtype=np.float32) if implicit else self._values(batch["rating"], where)
        self._columns["rating"].append(values)
        if "time" in batch.columns:
            self._columns["time"].append(seconds(batch["time"], where))
        self._columns["user"].append(_short(self._users.encode(user), self._users.size))
        self._columns["item"].append(_short(self._numbered_items(item, where), self._items.size))
        self._wheres.append((self.size, where))
        self.size += batch.height

    def _numbered_items(self, items: pl.Series, where: Where) -> Indices:
        """The number of each item. Were unlisted ones to join the list, it would tell that somebody rated them."""
        listed = self._items.size
        numbers = self._items.encode(items)
        if self._listed and self._items.size > listed:
            first = int((numbers >= listed).argmax())
            raise DataError.at(
                where(first),
                "the item is not in the list of items; add it there, or leave out its ratings (drop_unlisted=True)",
            )
        return numbers

    def _values(self, ratings: pl.Series, where: Where) -> AnyArray:
        values = numbers_of(ratings, pl.Float32)
        wrong = values.is_null() | ~values.is_finite()
        if bool(wrong.any()):
            raise DataError.at(where(first_of(wrong)), "the rating is missing or not a number")
        outside = (values < self._scale.low) | (values > self._scale.high)
        if bool(outside.any()):
            raise DataError.at(where(first_of(outside)), f"the rating is outside the declared scale {self._scale}")
        return values.to_numpy()

    def finish(
        self,
        label: str,
        *,
        facts: ItemFacts | None = None,
        user_facts: Mapping[str, AnyArray] | None = None,
        repeats: Repeats = "keep",
    ) -> Ratings:
        """Sort everything, and refuse or merge pairs that were given twice.

        ``facts`` describes the items known beforehand; ``user_facts`` holds, for users known beforehand,
        a column of each fact (users beyond them get an empty one).
        """
        ratings, order = self._sorted(label, facts, user_facts or {})
        if self._drop_unlisted:
            _log.warning("%s: ratings of items that are not listed are left out", label)
        if self._scale.implicit:
            require(repeats == "keep", "without ratings there is nothing to merge: what happened twice counts once")
            return ratings.merge("once")
        if repeats != "keep":
            return ratings.merge(repeats)
        self._refuse_duplicates(ratings, order)
        return ratings

    def finish_with_places(
        self, label: str, *, facts: ItemFacts | None = None, user_facts: Mapping[str, AnyArray] | None = None
    ) -> tuple[Ratings, AnyArray]:
        """As :meth:`finish`, and which rating in the order of reading each one is."""
        ratings, order = self._sorted(label, facts, user_facts or {})
        self._refuse_duplicates(ratings, order)
        return ratings, np.arange(len(ratings)) if order is None else order

    def _sorted(
        self, label: str, facts: ItemFacts | None, user_facts: Mapping[str, AnyArray]
    ) -> tuple[Ratings, AnyArray | None]:
        if self.size == 0:
            raise DataError(f"{label} is empty: it holds no rating")
        self._users.refuse_two_spellings("user", label)
        self._items.refuse_two_spellings("item", label)
        users, renumber_users = self._users.finish()
        items, renumber_items = self._items.finish()
        user_index = self._column("user", renumber_users)
        item_index = self._column("item", renumber_items)
        values = self._column("rating")
        times = self._column("time") if self._columns["time"].size else None
        order = sorting_order(user_index, item_index, len(users), len(items))
        if order is not None:
            # One column at a time, so that only one is in memory twice.
            user_index = user_index[order]
            item_index = item_index[order]
            values = values[order]
            times = None if times is None else times[order]
        ratings = Ratings(
            catalogue=_catalogue(items, self._scale, facts),
            users=Labels(users, what="user"),
            user_index=user_index,
            item_index=item_index,
            values=values,
            times=times,
            user_facts={name: _padded(column, len(users)) for name, column in user_facts.items()},
            handling=Handling(options=self.options).marked_as(sorted(self.marks)),
        )
        return ratings, order

    def _column(self, name: str, renumber: Indices | None = None) -> AnyArray:
        """A column, with the final numbers in it."""
        column = self._columns.pop(name)
        if renumber is not None:
            column.widen(np.int32)
        column.shrink(column.size)
        for first in range(0, column.size if renumber is not None else 0, RENUMBERED):
            some = column.array[first : first + RENUMBERED]
            np.take(renumber, some, out=some)  # type: ignore[arg-type]
        return column.array

    def _refuse_duplicates(self, ratings: Ratings, order: AnyArray | None) -> None:
        """A pair may come again at another time; at the same time, or without times, it is a mistake."""
        user_index, item_index, times = ratings.user_index, ratings.item_index, ratings.times
        again = np.flatnonzero((user_index[1:] == user_index[:-1]) & (item_index[1:] == item_index[:-1])) + 1
        if len(again) == 0:
            return
        rows = np.union1d(again, again - 1)
        if times is not None:
            rows = rows[np.lexsort((rows, times[rows], item_index[rows], user_index[rows]))]
        first, second = rows[:-1], rows[1:]
        same = (user_index[first] == user_index[second]) & (item_index[first] == item_index[second])
        if times is not None:
            same &= times[first] == times[second]
        if not same.any():
            return
        places = np.column_stack([first[same], second[same]])
        if order is not None:
            places = order[places]
        earlier, later = np.sort(places[places.max(axis=1).argmin()]).tolist()
        when = "" if times is None else " at the same time"
        raise DataError.at(
            f"{self._where(later)}",
            f"this user rated this item{when} before, at {self._where(earlier)}; "
            "remove one, or choose a rule to merge them, for example repeats='last'",
        )

    def _where(self, position: int) -> str:
        starts = [start for start, _ in self._wheres]
        batch = int(np.searchsorted(starts, position, side="right")) - 1
        start, where = self._wheres[batch]
        return where(position - start)


def _short(numbers: Indices, size: int) -> AnyArray:
    """Numbers below ``size`` in as few bytes as hold them: so they wait for the others."""
    return numbers.astype(np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.int32, copy=False)


def _padded(column: AnyArray, size: int) -> AnyArray:
    return np.concatenate([column, np.zeros(size - len(column), dtype=column.dtype)])


def _catalogue(names: Strings, scale: Scale, facts: ItemFacts | None) -> Catalogue:
    """The catalogue of the list of items, or, without one, of the items that the ratings name."""
    if facts is None:
        return Catalogue(Labels(names, what="item"), scale, names, declared=False)
    return replace(facts, items=names.tolist()).catalogue(scale)
