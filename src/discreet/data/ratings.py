"""Ratings as columns: who, what, how much, when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.labels import Labels, counted
from discreet.data.report import ReportForm
from discreet.errors import InputError, require
from discreet.looks import Looks
from discreet.types import AnyArray, Booleans, Floats, Indices, Offsets, Progress, no_progress

if TYPE_CHECKING:
    import polars as pl

MergeRule = Literal["last", "mean", "recency"]

BLOCK = 1 << 15
"""Users who are summed over at once: what is made of their ratings on the way stays small beside the ratings."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of many users, immutable, sorted by user and then by item.

    Build one with :meth:`of_columns`, :func:`discreet.from_frame` or :func:`discreet.load`; the plain
    constructor trusts its arguments.

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
    looks: Looks = field(default_factory=Looks, repr=False)

    def __post_init__(self) -> None:
        columns = [self.user_index, self.item_index, self.values, *self.user_facts.values()]
        for column in columns if self.times is None else [*columns, self.times]:
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
    ) -> "Ratings":
        """Sort columns in any order into ratings. Two linear passes, no more than a second copy in memory."""
        user_index = np.asarray(user_index, dtype=np.int32)
        item_index = np.asarray(item_index, dtype=np.int32)
        values = np.asarray(values, dtype=np.float32)
        times = None if times is None else _narrow(np.asarray(times))
        order = sorting_order(user_index, item_index, len(users), len(catalogue))
        if order is not None:
            user_index, item_index, values = user_index[order], item_index[order], values[order]
            times = None if times is None else times[order]
        return cls(catalogue, users, user_index, item_index, values, times, dict(user_facts or {}))

    @classmethod
    def of_history(cls, history: History) -> "Ratings":
        """One nameless user: a device is a ``Ratings`` with one user."""
        return cls.of_histories([history])

    @classmethod
    def of_histories(cls, histories: Sequence[History]) -> "Ratings":
        """Several nameless users, in the order given."""
        require(len(histories) > 0, "at least one history is needed")
        catalogue = histories[0].catalogue
        for history in histories:
            catalogue.require_same(history.catalogue)
        lengths = [len(history) for history in histories]
        return cls(
            catalogue=catalogue,
            users=Labels(np.arange(len(histories)).astype(np.str_), what="user"),
            user_index=np.repeat(np.arange(len(histories), dtype=np.int32), lengths),
            item_index=np.concatenate([history.items for history in histories]),
            values=np.concatenate([history.values for history in histories]),
        )

    @classmethod
    def from_reports(
        cls, folder: str | Path, catalogue: Catalogue | None = None, progress: Progress = no_progress
    ) -> "Ratings":
        """Perturbed ratings from a folder of reports, on their wider scale; how many were rejected is logged.

        :func:`discreet.read_reports` says which, and why.
        """
        from discreet.data.reports import ratings_of_reports

        return ratings_of_reports(folder, catalogue, progress=progress)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'rating')}, {counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}"
        return f"Ratings({sizes}, scale {self.catalogue.scale})"

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
        return np.searchsorted(self.user_index, np.arange(self.n_users + 1)).astype(np.int64)

    @cached_property
    def csr(self) -> "sp.csr_array[Any, tuple[int, int]]":
        """Users by items, sharing memory with the columns."""
        shape = (self.n_users, self.n_items)
        return sp.csr_array((self.values, self.item_index, self.indptr), shape=shape, copy=False)

    @cached_property
    def by_item(self) -> "Columns":
        """The same ratings item by item; within an item by user."""
        order = stable_order(self.item_index, self.n_items)
        counts = np.bincount(self.item_index, minlength=self.n_items)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Columns(indptr, self.user_index[order], self.values[order])

    @cached_property
    def has_repeats(self) -> bool:
        """Whether some user rated some item more than once."""
        return not bool(_starts(self.user_index, self.item_index).all())

    def history(self, user: str) -> History:
        """The own ratings of one user, named by label."""
        return self.history_at(self.users.index(user))

    def history_at(self, position: int) -> History:
        """The own ratings of the user at a position."""
        require(
            isinstance(position, int | np.integer) and 0 <= position < self.n_users, "there is no user at that position"
        )
        if self.has_repeats:
            raise InputError("some pairs are rated more than once: call ratings.merge('last') first")
        rows = slice(self.indptr[position], self.indptr[position + 1])
        return History(self.catalogue, self.item_index[rows], self.values[rows])

    def to_frame(self) -> "pl.DataFrame":
        """The ratings as a table of polars: ``user``, ``item``, ``rating`` and, where it is known, ``time``.

        Users and items go by their names. Times are seconds since 1970, as :func:`discreet.from_frame` takes them.

        >>> import discreet as dc
        >>> frame = dc.synthetic(users=5, items=8, ratings=20, seed=1).to_frame()
        >>> frame.columns, frame.height
        (['user', 'item', 'rating', 'time'], 20)
        """
        import polars as pl

        columns = {
            "user": pl.Series(self.users.names.tolist(), dtype=pl.String).gather(pl.Series(self.user_index)),
            "item": pl.Series(self.catalogue.items.names.tolist(), dtype=pl.String).gather(pl.Series(self.item_index)),
            "rating": pl.Series(self.values),
        }
        return pl.DataFrame(columns if self.times is None else columns | {"time": pl.Series(self.times)})

    def select(self, rows: AnyArray) -> "Ratings":
        """The ratings where ``rows`` is true (a mask over ratings); users and catalogue stay."""
        mask = np.asarray(rows, dtype=np.bool_)
        return replace(
            self,
            user_index=self.user_index[mask],
            item_index=self.item_index[mask],
            values=self.values[mask],
            times=None if self.times is None else self.times[mask],
        )

    def select_users(self, positions: AnyArray) -> "Ratings":
        """The users at these increasing positions, renumbered from 0, with all their ratings."""
        positions = np.asarray(positions)
        if len(positions) > 0 and positions[-1] - positions[0] + 1 == len(positions):
            return self._user_block(int(positions[0]), int(positions[-1]) + 1)
        chosen = np.zeros(self.n_users, dtype=np.bool_)
        chosen[positions] = True
        renumber = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        kept = self.select(chosen[self.user_index])
        return replace(
            kept,
            users=Labels(self.users.names[chosen], what=self.users.what),
            user_index=renumber[kept.user_index],
            user_facts={name: column[chosen] for name, column in self.user_facts.items()},
        )

    def _user_block(self, first: int, end: int) -> "Ratings":
        """Neighbouring users, without a copy: batches of users cost nothing but their own ratings."""
        rows = slice(self.indptr[first], self.indptr[end])
        return replace(
            self,
            users=Labels(self.users.names[first:end], what=self.users.what),
            user_index=self.user_index[rows] - np.int32(first),
            item_index=self.item_index[rows],
            values=self.values[rows],
            times=None if self.times is None else self.times[rows],
            user_facts={name: column[first:end] for name, column in self.user_facts.items()},
        )

    def parts(self) -> Iterator["Ratings"]:
        """The ratings of some users after those of others, without a copy; at least one part."""
        if self.n_users <= BLOCK:
            yield self
            return
        for first in range(0, self.n_users, BLOCK):
            yield self._user_block(first, min(first + BLOCK, self.n_users))

    # ── Splitting. Seeds are fine here: nothing private depends on them. ──

    def split(self, test: float, seed: int) -> tuple["Ratings", "Ratings"]:
        """Hold out a share of all ratings at random: ``(train, test)`` over the same users."""
        require(0 < test < 1, f"test must be a share between 0 and 1, got {test}")
        held_out = np.zeros(len(self), dtype=np.bool_)
        held_out[_shuffled(len(self), seed)[: round(test * len(self))]] = True
        return self.select(~held_out), self.select(held_out)

    def folds(self, count: int, seed: int) -> Iterator[tuple["Ratings", "Ratings"]]:
        """``count`` pairs ``(train, test)``; every rating is in exactly one test set."""
        require(count >= 2, f"folds must be at least 2, got {count}")
        fold = np.empty(len(self), dtype=np.uint8 if count <= 256 else np.int32)
        fold[_shuffled(len(self), seed)] = np.resize(np.arange(count, dtype=fold.dtype), len(self))
        for number in range(count):
            yield self.select(fold != number), self.select(fold == number)

    def split_each_user(self, shares: Sequence[float], seed: int) -> tuple["Ratings", ...]:
        """Split the ratings of every user by the same shares, for example ``(0.8, 0.1, 0.1)``.

        A user with ``n`` ratings gives ``round(n * share)`` to each part after the first, at random.
        """
        require(
            len(shares) >= 2 and min(shares) > 0 and abs(sum(shares) - 1) < 1e-9,
            f"shares must be at least two positive numbers that sum to 1, got {tuple(shares)}",
        )
        # Shuffle within users: sort by a random permutation, then stably by user.
        shuffled = _shuffled(len(self), seed)
        order = shuffled[stable_order(self.user_index[shuffled], self.n_users)]
        del shuffled
        # Which of the user's ratings each one is, in the shuffled order; then the first few go to the last part.
        sizes = np.diff(self.indptr)
        part = np.zeros(len(self), dtype=np.uint8)
        begins = self.indptr[:-1].copy()
        for number in range(len(shares) - 1, 0, -1):
            ends = np.minimum(begins + np.rint(sizes * shares[number]).astype(np.int64), self.indptr[1:])
            chosen = np.zeros(len(self) + 1, dtype=np.int8)
            np.add.at(chosen, begins, 1)
            np.add.at(chosen, ends, -1)
            part[order[np.cumsum(chosen[:-1], dtype=np.int8).view(np.bool_)]] = number
            begins = ends
        return tuple(self.select(part == number) for number in range(len(shares)))

    def split_users(self, test: int | float, seed: int) -> tuple["Ratings", "Ratings"]:
        """Hold out whole users: a share of them, or a number. Users are renumbered in both parts."""
        count = round(test * self.n_users) if isinstance(test, float) else test
        require(0 < count < self.n_users, f"test must hold out at least one user, and not all of them, got {test}")
        held_out = np.zeros(self.n_users, dtype=np.bool_)
        held_out[_shuffled(self.n_users, seed)[:count]] = True
        return self.select_users(np.flatnonzero(~held_out)), self.select_users(np.flatnonzero(held_out))

    # ── Several ratings of one item by one user ──

    def merge(self, rule: MergeRule) -> "Ratings":
        """Make one rating of all that a user gave an item.

        ``last`` keeps the latest, ``mean`` averages, and ``recency`` weights the t-th of m ratings in
        order of time by 2t / (m(m+1)). Ratings of equal time, or without times, keep the order in which
        they were read. The merged rating carries the latest time.

        >>> from discreet.data.catalogue import Catalogue, Scale
        >>> catalogue = Catalogue.of(["a"], Scale(1, 5))
        >>> twice = Ratings.of_columns(catalogue, Labels.of(["u"]), [0, 0], [0, 0], [2, 5], [100, 200])
        >>> [twice.merge(rule).values.tolist() for rule in ("last", "mean", "recency")]
        [[5.0], [3.5], [4.0]]
        """
        require(rule in ("last", "mean", "recency"), f"merge takes 'last', 'mean' or 'recency', got {rule!r}")
        if not self.has_repeats:
            return self
        values, times = self.values, self.times
        if times is not None:
            order = np.lexsort((times, self.item_index, self.user_index))
            values, times = values[order], times[order]
        starts = np.flatnonzero(_starts(self.user_index, self.item_index))
        sizes = np.diff(np.append(starts, len(self)))
        lasts = starts + sizes - 1
        if rule == "last":
            merged = values[lasts]
        else:
            many = np.repeat(sizes, sizes).astype(np.float64)
            turn = np.arange(len(self)) - np.repeat(starts, sizes) + 1
            weights = 1 / many if rule == "mean" else 2 * turn / (many * (many + 1))
            merged = np.add.reduceat(weights * values, starts).astype(np.float32)
        return replace(
            self,
            user_index=self.user_index[starts],
            item_index=self.item_index[starts],
            values=merged,
            times=None if times is None else times[lasts],
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """Ratings item by item: item ``i`` was rated by ``users[indptr[i]:indptr[i + 1]]``."""

    indptr: Offsets
    users: Indices
    values: Floats

    def __post_init__(self) -> None:
        for column in (self.users, self.values):
            column.setflags(write=False)


def stable_order(keys: AnyArray, size: int) -> AnyArray:
    """Positions that sort ``keys`` (each below ``size``), equal keys in their old order, in linear time.

    A matrix with one entry in each row, at column ``keys[row]``, is transposed: that is a counting sort.

    >>> stable_order(np.array([1, 0, 1, 0]), 2).tolist()
    [1, 3, 0, 2]
    """
    count = len(keys)
    rows = sp.csr_array(
        (np.zeros(count, dtype=np.int8), keys, np.arange(count + 1, dtype=np.int32 if count < 2**31 else np.int64)),
        shape=(count, size),
        copy=False,
    )
    return rows.tocsc().indices


def sorting_order(user: AnyArray, item: AnyArray, users: int, items: int) -> AnyArray | None:
    """Positions that sort ratings by user and then by item, stably; None when they are sorted already.

    >>> sorting_order(np.array([1, 0, 0]), np.array([0, 1, 0]), 2, 2).tolist()
    [2, 1, 0]
    """
    if bool(np.all((user[1:] > user[:-1]) | ((user[1:] == user[:-1]) & (item[1:] >= item[:-1])))):
        return None
    order = stable_order(item, items)
    return np.asarray(order[stable_order(user[order], users)])


def _starts(user: Indices, item: Indices) -> Booleans:
    """Where the ratings of another pair begin."""
    starts = np.ones(len(user), dtype=np.bool_)
    starts[1:] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return starts


def _narrow(times: AnyArray) -> AnyArray:
    """Whole seconds in 4 bytes where they fit."""
    fits = len(times) == 0 or (times.min() >= -(2**31) and times.max() < 2**31)
    return times.astype(np.int32 if fits else np.int64)


def _shuffled(count: int, seed: int) -> AnyArray:
    positions = np.arange(count, dtype=np.uint32)
    np.random.default_rng(seed).shuffle(positions)
    return positions
