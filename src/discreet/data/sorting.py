"""Putting columns of ratings in order, in linear time."""

from dataclasses import dataclass

import numpy as np

from discreet.errors import library_for, require, require_seed
from discreet.kernels.compiling import may_compile
from discreet.kernels.counting_sort import counting_sort
from discreet.types import AnyArray, Booleans, Floats, Indices, Offsets


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
    with library_for("sorting ratings"):
        import scipy.sparse as sp

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
    if not may_compile(len(user)):
        order = stable_order(item, items)
        return np.asarray(order[stable_order(user[order], users)])
    kind = np.int32 if len(user) < 2**31 else np.int64
    by_item, by_user = np.empty(len(user), dtype=kind), np.empty(len(user), dtype=kind)
    counting_sort(item, by_item[:0], np.zeros(items + 1, dtype=kind), by_item)
    counting_sort(user, by_item, np.zeros(users + 1, dtype=kind), by_user)
    return by_user


def indices(name: str, values: AnyArray, size: int) -> Indices:
    """Positions below ``size`` as a column; anything else is refused, for kernels read where they point.

    >>> indices("users", [0, 2], 3).tolist()
    [0, 2]
    >>> indices("users", [3], 3)
    Traceback (most recent call last):
    discreet.errors.InputError: users must be a column of positions from 0 to 2
    """
    column = np.asarray(values)
    whole = column.ndim == 1 and (column.dtype.kind in "iu" or column.size == 0)
    inside = whole and (column.size == 0 or (int(column.min()) >= 0 and int(column.max()) < size))
    require(inside, f"{name} must be a column of positions from 0 to {size - 1}")
    return column.astype(np.int32, copy=False)


def numbers(name: str, values: AnyArray, size: int) -> AnyArray:
    """A column of ``size`` finite numbers."""
    column = np.asarray(values)
    fits = column.shape == (size,) and column.dtype.kind in "biuf" and bool(np.isfinite(column).all())
    require(fits, f"{name} must be a column of finite numbers, one for each rating")
    return column


def pair_starts(user: Indices, item: Indices) -> Booleans:
    """Where the ratings of another pair begin."""
    starts = np.ones(len(user), dtype=np.bool_)
    starts[1:] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return starts


def placed(column: AnyArray, places: Indices, size: int) -> AnyArray:
    """A column with one entry a user, moved to their new places; empty where nothing is known."""
    moved = np.zeros(size, dtype=column.dtype)
    moved[places] = column
    return moved


def narrow(times: AnyArray) -> AnyArray:
    """Whole seconds in 4 bytes where they fit."""
    fits = len(times) == 0 or (times.min() >= -(2**31) and times.max() < 2**31)
    return times.astype(np.int32 if fits else np.int64)


def shuffled(count: int, seed: int) -> AnyArray:
    """The numbers below ``count`` in random order."""
    require_seed(seed)
    positions = np.arange(count, dtype=np.uint32)
    np.random.default_rng(seed).shuffle(positions)
    return positions
