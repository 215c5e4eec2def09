"""Which ratings go where: to a part of a split, to a chosen user, into one with their repeats. Over plain columns."""

from collections.abc import Sequence

import numpy as np

from discreet.data.handling import MergeRule
from discreet.data.sorting import pair_starts, shuffled, stable_order
from discreet.errors import require
from discreet.types import AnyArray, Floats, Indices, Offsets


def parts_of_each_user(indptr: Offsets, users: Indices, shares: Sequence[float], seed: int) -> AnyArray:
    """The part of every rating, where each user's are dealt by the same shares."""
    require(
        len(shares) >= 2 and min(shares) > 0 and abs(sum(shares) - 1) < 1e-9,
        "shares must be at least two positive numbers that sum to 1, for example (0.8, 0.1, 0.1)",
    )
    count = len(users)
    # Shuffle within users: sort by a random permutation, then stably by user.
    mixed = shuffled(count, seed)
    order = mixed[stable_order(users[mixed], len(indptr) - 1)]
    del mixed
    # Of each user's ratings, in the shuffled order, the first few go to the last part, the next to the one before it.
    sizes = np.diff(indptr)
    part = np.zeros(count, dtype=np.uint8)
    begins = indptr[:-1].copy()
    for number in range(len(shares) - 1, 0, -1):
        ends = np.minimum(begins + np.rint(sizes * shares[number]).astype(np.int64), indptr[1:])
        chosen = np.zeros(count + 1, dtype=np.int8)
        np.add.at(chosen, begins, 1)
        np.add.at(chosen, ends, -1)
        part[order[np.cumsum(chosen[:-1], dtype=np.int8).view(np.bool_)]] = number
        begins = ends
    return part


def rows_of_users(indptr: Offsets, positions: Offsets) -> tuple[Offsets, Offsets]:
    """The rows of these users, and how many each has.

    The rows of a user follow one another, so few users cost nothing but their own ratings.
    """
    starts = indptr[positions]
    sizes = indptr[positions + 1] - starts
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes), sizes


def merged_runs(values: Floats, starts: Offsets, rule: MergeRule) -> tuple[Floats, Offsets]:
    """One value for each run of repeated ratings, which begin at ``starts``, and where each run ends."""
    sizes = np.diff(np.append(starts, len(values)))
    lasts = starts + sizes - 1
    if rule in ("last", "once"):
        return values[lasts], lasts
    many = np.repeat(sizes, sizes).astype(np.float64)
    turn = np.arange(len(values)) - np.repeat(starts, sizes) + 1
    weights = 1 / many if rule == "mean" else 2 * turn / (many * (many + 1))
    return np.add.reduceat(weights * values, starts).astype(np.float32), lasts


def merged_pairs(
    users: Indices, items: Indices, values: Floats, times: AnyArray | None, rule: MergeRule
) -> tuple[Indices, Indices, Floats, AnyArray | None]:
    """Each pair once, its one rating, and the time of its latest; ratings come sorted by user and item."""
    if times is not None:
        order = np.lexsort((times, items, users))
        values, times = values[order], times[order]
    starts = np.flatnonzero(pair_starts(users, items))
    merged, lasts = merged_runs(values, starts, rule)
    return users[starts], items[starts], merged, None if times is None else times[lasts]
