"""Ratings as columns: who, what, how much, when."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data import sorting
from discreet.data.catalogue import Catalogue
from discreet.data.dealing import merged_pairs, parts_of_each_user, rows_of_users
from discreet.data.handling import HANDLING, UNMARKED, Handling, MergeRule
from discreet.data.history import History, facts_of
from discreet.data.labels import Labels
from discreet.data.report import ReportForm
from discreet.data.sizes import notebook_view, plain_view
from discreet.doors import checked_methods
from discreet.errors import library_for, require
from discreet.looks import Looks
from discreet.processes import require_threads
from discreet.types import AnyArray, Floats, Indices, Offsets, Progress, no_progress

if TYPE_CHECKING:
    import polars as pl
    import scipy.sparse as sp

BLOCK = 1 << 15
"""Users who are summed over at once: what is made of their ratings on the way stays small beside the ratings."""


@checked_methods
@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of many users, immutable, sorted by user and then by item.

    Build one with :meth:`of_columns`, :func:`discreet.from_frame` or :func:`discreet.load`; the constructor trusts.

    Parameters
    ----------
    catalogue
        The public items.
    users
        Names of the users. Private, like everything below.
    user_index, item_index, values
        One entry a rating.
    times
        Seconds since 1970 of each rating, or None.
    user_facts
        Metadata of the users (age, occupation, …), one entry a user in each column.
    perturbed
        How every one of them was perturbed at home before anyone else saw it; None for ratings as they were given.
    report_digest
        Which collection of reports they are part of, where they are perturbed: a fresh collection from the same users
        is a new spend, and has another digest.
    handling
        What was done to them before: merged, split, … Guarantees depend on it.
    tags
        A secret word for each user, set by a population, by which ratings are chosen at random; None before.
    looks
        What was evaluated, compared or audited on them without paying; shared by all that is derived from them.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> train, test = ratings.split(test=0.2, seed=7)
    >>> len(train), len(test)
    (480, 120)
    >>> train.csr.shape
    (50, 30)
    """

    catalogue: Catalogue
    users: Labels
    user_index: Indices
    item_index: Indices
    values: Floats
    times: AnyArray | None = None
    user_facts: Mapping[str, AnyArray] = field(default_factory=dict)
    perturbed: ReportForm | None = None
    report_digest: str | None = None
    handling: Handling = field(default=Handling(), kw_only=True)
    tags: AnyArray | None = field(default=None, kw_only=True)
    looks: Looks = field(default_factory=Looks, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for column in (self.user_index, self.item_index, self.values, self.times, self.tags, *self.user_facts.values()):
            if column is not None:
                column.setflags(write=False)

    @classmethod
    def of_columns(
        cls,
        catalogue: Catalogue,
        users: Labels,
        user_index: AnyArray,
        item_index: AnyArray,
        values: AnyArray,
        times: AnyArray | None = None,
        user_facts: Mapping[str, AnyArray] | None = None,
        *,
        handling: Handling = UNMARKED,
    ) -> "Ratings":
        """Sort columns in any order into ratings. Two linear passes, no more than a second copy in memory.

        ``handling`` is that of the ratings that they were taken from; without it, a guarantee says that it is unknown.
        """
        user_index = sorting.indices("user_index", user_index, len(users))
        item_index = sorting.indices("item_index", item_index, len(catalogue))
        require(len(user_index) == len(item_index), "user_index and item_index must have one entry for each rating")
        values = sorting.numbers("values", values, len(user_index)).astype(np.float32, copy=False)
        times = None if times is None else sorting.narrow(sorting.numbers("times", times, len(user_index)))
        order = sorting.sorting_order(user_index, item_index, len(users), len(catalogue))
        if order is not None:
            user_index, item_index, values = user_index[order], item_index[order], values[order]
            times = None if times is None else times[order]
        return cls(catalogue, users, user_index, item_index, values, times, dict(user_facts or {}), handling=handling)

    @classmethod
    def of_history(cls, history: History) -> "Ratings":
        """One nameless user: a device is a ``Ratings`` with one user."""
        return cls.of_histories([history])

    @classmethod
    def of_histories(cls, histories: Sequence[History]) -> "Ratings":
        """Several nameless users, in the order given.

        They get random names. Were they numbered, one history more would rename all that follow, and so change whatever
        is chosen by name.
        """
        require(len(histories) > 0, "at least one history is needed")
        catalogue = histories[0].catalogue
        for history in histories:
            catalogue.require_same(history.catalogue)
        lengths = [len(history) for history in histories]
        return cls(
            catalogue=catalogue,
            users=Labels.of((secrets.token_hex(12) for _ in histories), what="user"),
            user_index=np.repeat(np.arange(len(histories), dtype=np.int32), lengths),
            item_index=np.concatenate([history.items for history in histories]),
            values=np.concatenate([history.values for history in histories]),
            user_facts=facts_of(histories),
            handling=replace(UNMARKED, users_listed=True, nameless=True),
        )

    @classmethod
    def from_reports(
        cls, folder: str | Path, catalogue: Catalogue | None = None, progress: Progress = no_progress
    ) -> "Ratings":
        """Perturbed ratings from a folder of reports, on their wider scale; how many were rejected is logged.

        :func:`discreet.data.read_reports` says which, and why.
        """
        from discreet.data.reports import ratings_of_reports

        return ratings_of_reports(folder, catalogue, progress=progress)

    def __len__(self) -> int:
        return len(self.values)

    __repr__ = plain_view
    _repr_html_ = notebook_view

    @property
    def n_users(self) -> int:
        """How many users there are, those without a rating included."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """How many items the catalogue lists."""
        return len(self.catalogue)

    @cached_property
    def indptr(self) -> Offsets:
        """Where each user's ratings begin: user ``u`` owns rows ``indptr[u]`` to ``indptr[u + 1]``."""
        users = np.arange(self.n_users + 1, dtype=self.user_index.dtype)  # of another type the column would be copied
        return np.searchsorted(self.user_index, users).astype(np.int64)

    @cached_property
    def csr(self) -> "sp.csr_array[Any, tuple[int, int]]":
        """Users by items, sharing memory with the columns."""
        with library_for("sparse matrices"):
            import scipy.sparse as sp
        return sp.csr_array((self.values, self.item_index, self.indptr), shape=(self.n_users, self.n_items), copy=False)

    @cached_property
    def by_item(self) -> sorting.Columns:
        """The same ratings item by item; within an item by user."""
        order = sorting.stable_order(self.item_index, self.n_items)
        counts = np.bincount(self.item_index, minlength=self.n_items)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return sorting.Columns(indptr, self.user_index[order], self.values[order])

    @cached_property
    def has_repeats(self) -> bool:
        """Whether some user rated some item more than once."""
        return not sorting.pair_starts(self.user_index, self.item_index).all()

    def history(self, user: str) -> History:
        """The own ratings of one user, named by label."""
        return self.history_at(self.users.index(user))

    def history_at(self, position: int) -> History:
        """The own ratings of the user at a position."""
        there = isinstance(position, int | np.integer) and 0 <= position < self.n_users
        require(there, "there is no user at that position")
        require(not self.has_repeats, "some pairs are rated more than once: call ratings.merge('last') first")
        rows = slice(self.indptr[position], self.indptr[position + 1])
        own = {name: column[position].item() for name, column in self.user_facts.items()}
        return History(self.catalogue, self.item_index[rows], self.values[rows], own)

    def to_frame(self) -> "pl.DataFrame":
        """The ratings as a table of polars: ``user``, ``item``, ``rating`` and, where it is known, ``time``.

        Users and items go by their names. Times are seconds since 1970, as :func:`discreet.from_frame` takes them. What
        was done to the ratings (a split, a merge) is in one more column, ``handling``, which is read again from a frame
        or a file: guarantees depend on it.

        >>> import discreet as dc
        >>> frame = dc.synthetic(users=5, items=8, ratings=20, seed=1).to_frame()
        >>> frame.columns, frame.height
        (['user', 'item', 'rating', 'time'], 20)
        """
        require_threads("polars")
        with library_for("tables"):
            import polars as pl
        users = pl.Series(self.users.names.tolist(), dtype=pl.String).gather(pl.Series(self.user_index))
        items = pl.Series(self.catalogue.items.names.tolist(), dtype=pl.String).gather(pl.Series(self.item_index))
        columns = {"user": users, "item": items, "rating": pl.Series(self.values)}
        frame = pl.DataFrame(columns if self.times is None else columns | {"time": pl.Series(self.times)})
        words = replace(self.handling, perturbed=self.handling.perturbed or self.perturbed is not None).words
        return frame.with_columns(pl.lit(words, dtype=pl.Enum([words])).alias(HANDLING)) if words else frame

    def select(self, rows: AnyArray) -> "Ratings":
        """The ratings where ``rows`` is true (a mask over ratings); users and catalogue stay.

        A guarantee for what is left says that somebody chose it.
        """
        mask = np.asarray(rows, dtype=np.bool_)
        return self._kept(mask, self.handling.after_selection(np.packbits(mask)))

    def _kept(self, rows: AnyArray, handling: Handling) -> "Ratings":
        mask = np.asarray(rows, dtype=np.bool_)
        require(mask.shape == self.values.shape, "rows must be a mask with one entry for each rating")
        return replace(
            self,
            user_index=self.user_index[mask],
            item_index=self.item_index[mask],
            values=self.values[mask],
            times=None if self.times is None else self.times[mask],
            handling=handling,
        )

    def select_users(self, positions: AnyArray) -> "Ratings":
        """The users at these increasing positions, renumbered from 0, with all their ratings.

        A guarantee for what is left says that somebody chose it.
        """
        there = sorting.indices("positions", positions, self.n_users)
        require(bool(np.all(there[1:] > there[:-1])), "positions must be increasing, each user once")
        return self._with_users_at(there, self.handling.after_selection(there, of_users=True))

    def _with_users_at(self, positions: AnyArray, handling: Handling) -> "Ratings":
        positions = np.asarray(positions, dtype=np.int64)
        if len(positions) > 0 and positions[-1] - positions[0] + 1 == len(positions):
            return replace(self._user_block(int(positions[0]), int(positions[-1]) + 1), handling=handling)
        rows, sizes = rows_of_users(self.indptr, positions)
        return replace(
            self,
            users=Labels(self.users.names[positions], what=self.users.what),
            tags=None if self.tags is None else self.tags[positions],
            user_index=np.repeat(np.arange(len(positions), dtype=np.int32), sizes),
            item_index=self.item_index[rows],
            values=self.values[rows],
            times=None if self.times is None else self.times[rows],
            user_facts={name: column[positions] for name, column in self.user_facts.items()},
            handling=handling,
        )

    def _user_block(self, first: int, end: int) -> "Ratings":
        """Neighbouring users, without a copy: batches of users cost nothing but their own ratings."""
        rows = slice(self.indptr[first], self.indptr[end])
        block = replace(
            self,
            users=Labels(self.users.names[first:end], what=self.users.what),
            tags=None if self.tags is None else self.tags[first:end],
            user_index=self.user_index[rows] - np.int32(first),
            item_index=self.item_index[rows],
            values=self.values[rows],
            times=None if self.times is None else self.times[rows],
            user_facts={name: column[first:end] for name, column in self.user_facts.items()},
        )
        block.__dict__["indptr"] = self.indptr[first : end + 1] - self.indptr[first]  # known already
        return block

    def with_users(self, names: Iterable[str]) -> "Ratings":
        """The same ratings with everybody who takes part listed, whether they rated anything or not.

        A table names only those who have a rating, so taking back one's only rating would take one off the list. Where
        that must not show (:class:`~discreet.LocalDevices` with the unit rating), list the users. They come in the
        order of ``names``; a rating of somebody who is not listed is an error.

        >>> import discreet as dc
        >>> some = dc.synthetic(users=2, items=8, ratings=4, seed=1).with_users(["1", "2", "3"])
        >>> some.n_users, some.handling.users_listed
        (3, True)
        """
        listed = Labels.of(names, what="user")
        places = np.array([listed.positions.get(name, -1) for name in self.users], dtype=np.int32)
        require(bool((places >= 0).all()), "a user with ratings is not in the list of users: list everybody")
        order = sorting.stable_order(places[self.user_index], len(listed))  # within a user the order by item stays
        return replace(
            self,
            users=listed,
            user_index=places[self.user_index[order]],
            item_index=self.item_index[order],
            values=self.values[order],
            times=None if self.times is None else self.times[order],
            user_facts={name: sorting.placed(column, places, len(listed)) for name, column in self.user_facts.items()},
            handling=self.handling.with_listed_users(),
            tags=None,
        )

    def parts(self) -> Iterator["Ratings"]:
        """The ratings of some users after those of others, without a copy; at least one part."""
        if self.n_users <= BLOCK:
            yield self
            return
        for first in range(0, self.n_users, BLOCK):
            yield self._user_block(first, min(first + BLOCK, self.n_users))

    # ── Splitting. Seeds are fine here: nothing private depends on them. But one rating more deals all others anew, so
    # what is learned from a part can promise something about that part alone: it is marked. ──

    def of_split(self, *, by_time: bool = False) -> "Ratings":
        """The same, marked as one part of a split, at random unless it went by time."""
        return replace(self, handling=self.handling.after_split(by_time=by_time))

    def split(self, test: float, seed: int) -> tuple["Ratings", "Ratings"]:
        """Hold out a share of all ratings at random: ``(train, test)`` over the same users."""
        require(0 < test < 1, f"test must be a share between 0 and 1, got {test}")
        held_out = np.zeros(len(self), dtype=np.bool_)
        held_out[sorting.shuffled(len(self), seed)[: round(test * len(self))]] = True
        both = self.of_split()
        return both._kept(~held_out, both.handling), both._kept(held_out, both.handling)

    def folds(self, count: int, seed: int) -> Iterator[tuple["Ratings", "Ratings"]]:
        """``count`` pairs ``(train, test)``; every rating is in exactly one test set."""
        require(2 <= count < 2**31, f"folds must be at least 2, got {count}")
        fold = np.empty(len(self), dtype=np.uint8 if count <= 256 else np.int32)
        fold[sorting.shuffled(len(self), seed)] = np.resize(np.arange(count, dtype=fold.dtype), len(self))
        both = self.of_split()
        for number in range(count):
            yield both._kept(fold != number, both.handling), both._kept(fold == number, both.handling)

    def split_each_user(self, shares: Sequence[float], seed: int) -> tuple["Ratings", ...]:
        """Split the ratings of every user by the same shares, for example ``(0.8, 0.1, 0.1)``.

        A user with ``n`` ratings gives ``round(n * share)`` to each part after the first, at random.
        """
        part = parts_of_each_user(self.indptr, self.user_index, shares, seed)
        return tuple(self._kept(part == number, self.handling.after_split()) for number in range(len(shares)))

    def split_users(self, test: int | float, seed: int) -> tuple["Ratings", "Ratings"]:
        """Hold out whole users: a share of them, or a number. Users are renumbered in both parts."""
        share = not isinstance(test, int | np.integer)
        require(not share or 0 < test < 1, f"test must be a share between 0 and 1, got {test}")
        count = round(test * self.n_users) if share else int(test)
        require(0 < count < self.n_users, f"test must hold out at least one user, and not all of them, got {test}")
        held_out = np.zeros(self.n_users, dtype=np.bool_)
        held_out[sorting.shuffled(self.n_users, seed)[:count]] = True
        both = self.of_split()
        sides = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        return both._with_users_at(sides[0], both.handling), both._with_users_at(sides[1], both.handling)

    # ── Several ratings of one item by one user ──

    def merge(self, rule: MergeRule) -> "Ratings":
        """Make one rating of all that a user gave an item.

        ``last`` keeps the latest, ``mean`` averages, and ``recency`` weights the t-th of m ratings in
        order of time by 2t / (m(m+1)); data without ratings take ``once``. Ratings of equal time, or without times,
        keep the order in which they were read. The merged rating carries the latest time. The result is marked as
        merged even if no pair came twice, so that the mark says nothing about the ratings.

        >>> from discreet.data.catalogue import Catalogue, Scale
        >>> catalogue = Catalogue.of(["a"], Scale(1, 5))
        >>> twice = Ratings.of_columns(catalogue, Labels.of(["u"]), [0, 0], [0, 0], [2, 5], [100, 200])
        >>> [twice.merge(rule).values.tolist() for rule in ("last", "mean", "recency")]
        [[5.0], [3.5], [4.0]]
        """
        known = ("once",) if self.catalogue.scale.implicit else ("last", "mean", "recency")
        require(rule in known, f"merge takes 'last', 'mean' or 'recency', got {rule!r}")
        handling = self.handling.merged_by(rule)
        if not self.has_repeats:
            return replace(self, handling=handling)
        user, item, values, times = merged_pairs(self.user_index, self.item_index, self.values, self.times, rule)
        return replace(self, user_index=user, item_index=item, values=values, times=times, handling=handling)
