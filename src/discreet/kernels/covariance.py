"""Weighted sums of products over users, for all pairs of items at once.

    A_ij = Σ_u w_u x_ui x_uj        over the users who rated both items
    W_ij = Σ_u w_u

Both are symmetric, so only the upper triangle is held, packed row by row: row ``i`` holds the columns ``i, i + 1, …``.

A row is owned by one thread. It walks the users who rated the row's item and, for each, what they rated from that item
on, and adds into a buffer of doubles that stays in the processor's cache; only a finished row goes to memory. No two
threads write to one cell, and the order of every sum is fixed by the data, so the result does not depend on the number
of threads. Users are taken in blocks, so that a block's ratings stay near too; blocks may also come from a file, one
after the other, into the same sums.

Where values and weights are whole numbers all sums are whole too: exact, and the same in whatever order users come, as
long as no sum leaves the 64 bits.

The work is Σ_u n_u (n_u + 1) / 2 pairs, whatever the number of items.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from discreet.kernels.compiling import njit, prange
from discreet.types import AnyArray, Floats, Indices, Offsets

BLOCK = 1 << 15
"""Users taken at once. How many ratings they have does not matter: so one rating more or less leaves the order of all
other sums as it was, and moves no cell that is not its own, not even by rounding."""
HANDS = 64  # rows are dealt to this many hands in turn, for equal work


def packed_length(size: int) -> int:
    """How many cells the upper triangle has, the diagonal included.

    >>> packed_length(3)
    6
    """
    return size * (size + 1) // 2


def diagonal_places(size: int) -> Offsets:
    """Where the diagonal stands in a packed triangle.

    >>> diagonal_places(3).tolist()
    [0, 3, 5]
    """
    rows = np.arange(size, dtype=np.int64)
    return rows * size - rows * (rows - 1) // 2


def weighted_moments(
    indptr: Offsets,
    items: Indices,
    values: AnyArray,
    weights: AnyArray,
    size: int,
    *,
    out: AnyArray | None = None,
    dtype: DTypeLike | None = None,
) -> AnyArray:
    """The sums A and W over a block of users, as two packed rows.

    Parameters
    ----------
    indptr, items, values
        What each user rated, items in increasing order and below ``size``.
    weights
        One for each user. Doubles; or int64, and then the values whole numbers of 16 bits too.
    size
        How many items there are.
    out
        Sums so far, to add to: call it block by block where the ratings do not fit in memory.
    dtype
        Of the result, where ``out`` is not given: by default that of the weights, in which sums are made whatever it
        is.

    Examples
    --------
    Two users; the first rated both items, with 2 and 3, the second only the last, with 5 and half the weight.

    >>> rated = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32), np.array([2, 3, 5], dtype=np.float32)
    >>> weighted_moments(*rated, np.array([1.0, 0.5]), 2).tolist()
    [[4.0, 6.0, 21.5], [1.0, 1.0, 1.5]]
    """
    if out is None:
        out = np.zeros((2, packed_length(size)), dtype=weights.dtype if dtype is None else dtype)
    starts = diagonal_places(size)
    for first in range(0, len(indptr) - 1, BLOCK):
        own = indptr[first : first + BLOCK + 1]
        rows, own = slice(int(own[0]), int(own[-1])), own - own[0]
        users, some = weights[first : first + BLOCK], items[rows]
        item_indptr, item_users, places = _by_item(own, some, size)
        # Unsigned positions spare the kernel a test for negative ones in its innermost line.
        _add_rows(item_indptr, item_users, places, own, some.view(np.uint32), values[rows], users, starts, out)
    return out


@njit(cache=True)
def _by_item(indptr: Offsets, items: Indices, size: int) -> Any:
    """Who rated each item, and where that rating stands among the users'."""
    item_indptr = np.zeros(size + 1, dtype=np.int64)
    for item in items:
        item_indptr[item + 1] += 1
    for item in range(size):
        item_indptr[item + 1] += item_indptr[item]
    free = item_indptr[:-1].copy()
    users, places = np.empty(len(items), dtype=np.int32), np.empty(len(items), dtype=np.int32)
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            at = free[items[place]]
            users[at], places[at] = user, place
            free[items[place]] = at + 1
    return item_indptr, users, places


@njit(cache=True, parallel=True)
def _add_rows(
    item_indptr: Offsets,
    item_users: Indices,
    places: Indices,
    indptr: Offsets,
    items: AnyArray,
    values: AnyArray,
    weights: AnyArray,
    starts: Offsets,
    out: AnyArray,
) -> None:
    size = len(starts)
    for hand in prange(HANDS):
        sums = np.zeros((size, 2), dtype=weights.dtype)  # the two of a pair side by side: one cache line for both
        for row in range(hand, size, HANDS):
            if item_indptr[row] == item_indptr[row + 1]:
                continue
            for at in range(item_indptr[row], item_indptr[row + 1]):
                user = item_users[at]
                weight = weights[user]
                own = weight * values[places[at]]
                for other in range(places[at], indptr[user + 1]):
                    column = items[other]
                    product = sums[column, 0] + own * values[other]
                    count = sums[column, 1] + weight
                    sums[column, 0] = product
                    sums[column, 1] = count
            start = starts[row] - row
            for column in range(row, size):
                out[0, start + column] += sums[column, 0]
                out[1, start + column] += sums[column, 1]
                sums[column, 0] = 0
                sums[column, 1] = 0


@njit(cache=True, parallel=True)
def unpacked(packed: AnyArray, size: int) -> Floats:
    """The symmetric matrix of a packed upper triangle.

    >>> unpacked(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    matrix = np.empty((size, size), dtype=np.float32)
    for row in prange(size):
        start = row * size - row * (row - 1) // 2 - row
        for column in range(row, size):
            matrix[row, column] = packed[start + column]
            matrix[column, row] = packed[start + column]
    return matrix
