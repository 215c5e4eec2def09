"""Bounding what one unit contributes, so that noise can hide it. Everything here works on arrays.

Ratings come in rows: user ``u`` owns the entries ``indptr[u]`` to ``indptr[u + 1]``. A bound helps only if what is
done to one user's row depends on nobody else's: then two data sets that differ in one user differ, once bounded, in
that user's bounded row alone. It is proven below for every function, in the paragraph **Stability**.
"""

import numpy as np

from discreet.errors import require
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import Norm
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans, Doubles, Offsets

_ROUNDING = 2.0**-30
"""Rows are scaled to this share below their bound: sums of up to 2**20 doubles err by less."""

TAGGED_TOGETHER = 1 << 16
"""Users who get their tags at once, so that what is made on the way stays small."""
SHORT_NAME = 64
"""Up to so many letters names are read letter by letter, all at once."""


def centre(values: AnyArray, low: float, high: float) -> Doubles:
    """Values about the middle of a public range, in half widths of it: each lies within ±1.

    **Stability.** ``low`` and ``high`` are public constants, so each value is changed by itself. (Centring by a mean
    of the data would be a release: one rating moves all of them.)

    >>> centre(np.array([1, 3, 5, 9]), 1, 5).tolist()
    [-1.0, 0.0, 1.0, 1.0]
    """
    require(low < high, f"a range needs low below high, got {low} and {high}")
    half = (high - low) / 2
    return np.asarray(np.clip((np.asarray(values, dtype=np.float64) - (low + half)) / half, -1.0, 1.0))


def clip_rows(indptr: Offsets, values: AnyArray, bound: float, norm: Norm) -> Doubles:
    """Scale down the rows that are longer than ``bound`` in L1 or L2; shorter ones stay.

    **Stability.** A row is scaled by its own length only. Adding or removing a user moves a sum over users by at most
    ``bound`` in ``norm``. At rating level it moves up to twice that: one more rating can shrink all others of the row.

    >>> clip_rows(np.array([0, 2, 3]), np.array([3.0, 4.0, 0.5]), 1.0, "l2").round(6).tolist()
    [0.6, 0.8, 0.5]
    """
    require(np.isfinite(bound) and bound > 0, f"the bound of a row must be positive and finite, got {bound}")
    values = np.asarray(values, dtype=np.float64)
    require(bool(np.isfinite(values).all()), "values must be finite to be bounded")
    owner = _owners(indptr)
    users = len(indptr) - 1
    # In units of the row's largest entry, so that no square overflows or vanishes.
    largest = np.zeros(users)
    np.maximum.at(largest, owner, np.abs(values))
    unit = np.where(largest > 0, largest, 1.0)
    relative = np.abs(values) / unit[owner]
    powers = relative if norm == "l1" else relative**2
    lengths = np.bincount(owner, weights=powers, minlength=users)
    with np.errstate(over="ignore"):  # a length that overflows becomes infinite, and its row 0
        lengths = unit * (lengths if norm == "l1" else np.sqrt(lengths))
    target = bound * (1 - _ROUNDING)
    shrink = np.where(lengths > target, target / np.maximum(lengths, target), 1.0)
    return np.asarray(values * shrink[owner])


def user_tags(names: Strings | AnyArray, key: bytes) -> AnyArray:
    """A 64-bit word for each user, from the secret key and that user's name alone.

    Each name is read as 32-bit characters c and hashed to k₀ + Σ kⱼ·cⱼ modulo 2**64 with secret random words k: two
    names share their upper half with odds 2**-32. That is enough: users with equal tags would merely lose the
    same items.

    >>> key = bytes(32)
    >>> tags = user_tags(np.array(["ann", "bob"]), key)
    >>> bool(tags[1] == user_tags(np.array(["bob", "eve", "somebody else"]), key)[0])
    True
    """
    names = Strings.of(names)
    # A character takes at least a byte, so there are words enough for the longest name.
    words = Randomness.of_key(key, "the tags of users").words(int(np.diff(names.offsets).max(initial=0)) + 1)
    tags = np.full(len(names), words[0])
    for first in range(0, len(names), TAGGED_TOGETHER):
        some = names[first : first + TAGGED_TOGETHER]
        _add_letters(tags[first : first + len(some)], some, words[1:])
    return tags


def _add_letters(tags: AnyArray, names: Strings, words: AnyArray) -> None:
    """Add Σ kⱼ·cⱼ of each name to its tag: letter by letter over all short names, name by name for long ones."""
    letters, starts = names.code_points()
    sizes = np.diff(starts)
    short = np.flatnonzero(sizes <= SHORT_NAME)
    for column in range(int(sizes[short].max(initial=0))):
        short = short[sizes[short] > column]
        tags[short] += words[column] * letters[starts[short] + column].astype(np.uint64)
    for name in np.flatnonzero(sizes > SHORT_NAME):
        own = letters[starts[name] : starts[name + 1]].astype(np.uint64)
        tags[name : name + 1] += (words[: len(own)] * own).sum(dtype=np.uint64, keepdims=True)


def keep_at_most(
    indptr: Offsets,
    items: AnyArray,
    tags: AnyArray,
    max_ratings: int,
    key: bytes,
    *,
    weights: AnyArray | None = None,
) -> Booleans:
    """Which ratings stay when every user keeps at most ``max_ratings``, chosen at random with a secret key.

    Every rating gets a priority from the key, its user's tag (:func:`user_tags`) and its item; each user keeps
    those with the lowest. For any one user the priorities are independent and uniform over the keys, so every subset
    of that size is equally likely. With ``weights`` (one for each rating, from public facts or the user's own
    ratings) a user's ratings are drawn one after the other, with odds in proportion to the weights of those left.

    **Stability.** What a user keeps is a function of the key and of that user's own name, items and weights: not of
    other users, nor of where the rows lie. So data sets that differ in one user differ, once capped, in at most
    ``max_ratings`` ratings of that one user: the cap costs nothing at user level. It is the same function each time, so
    several releases over capped data never see more than these. At rating level it costs a factor 2: an added
    rating may push out another one, which makes two records (and with weights that depend on the user's other
    ratings, many more).

    >>> indptr, items = np.array([0, 4, 5]), np.array([0, 1, 2, 3, 1])
    >>> keep_at_most(indptr, items, user_tags(np.array(["ann", "bob"]), bytes(32)), 2, bytes(32)).sum()
    np.int64(3)
    """
    require(max_ratings >= 1, f"max_ratings must be at least 1, got {max_ratings}")
    sizes = np.diff(indptr)
    keep = np.ones(len(items), dtype=np.bool_)
    owner = _owners(indptr)
    rows = np.flatnonzero((sizes > max_ratings)[owner])
    if len(rows) == 0:
        return keep
    items, owner = np.asarray(items)[rows], owner[rows]
    priorities = _priorities(tags[owner], items, key, "which ratings are kept")
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)[rows]
        require(bool((np.isfinite(weights) & (weights > 0)).all()), "weights must be positive and finite")
        # The first of several exponential clocks to ring is clock i with odds in proportion to its rate.
        priorities = np.abs(np.log((priorities + 0.5) * 2.0**-64)) / weights
    order = _sorted_rows(owner, priorities, items)
    first = np.concatenate([[0], np.cumsum(sizes[sizes > max_ratings])[:-1]])
    rank = np.arange(len(rows)) - np.repeat(first, sizes[sizes > max_ratings])
    keep[rows[order[rank >= max_ratings]]] = False
    return keep


def hold_out(indptr: Offsets, items: AnyArray, tags: AnyArray, share: float, key: bytes) -> Booleans:
    """Which ratings are held out, each with odds ``share``, chosen with a secret key.

    **Stability.** Whether a rating is held out depends on the key, its user's name and its item, and on no other
    rating. So data sets that differ in one rating (or user) differ in that rating (that user's ratings) in either
    part. A random split of all rows has no such property: with one row more, all are dealt anew.

    >>> hold_out(np.array([0, 3]), np.array([0, 1, 2]), user_tags(np.array(["ann"]), bytes(32)), 0.5, bytes(32)).shape
    (3,)
    """
    require(0 < share < 1, f"share must lie between 0 and 1, got {share}")
    return np.asarray(_priorities(tags[_owners(indptr)], items, key, "what is held out") < np.uint64(share * 2.0**64))


def _sorted_rows(owner: Offsets, priorities: AnyArray, items: AnyArray) -> Offsets:
    """Positions by owner, then priority, then item. Priorities are words or positive doubles, whose bits sort alike."""
    bits = np.uint64(max(int(owner[-1]).bit_length(), 1))
    words = (owner.astype(np.uint64) << (np.uint64(64) - bits)) | (priorities.view(np.uint64) >> bits)
    order = np.argsort(words)
    words = words[order]
    if (words[1:] == words[:-1]).any():  # rare: too few bits are left, and how argsort breaks ties is up to all rows
        return np.lexsort((items, priorities, owner))
    return order


def _priorities(tags: AnyArray, items: AnyArray, key: bytes, purpose: str) -> AnyArray:
    """A word for every rating: its item's secret word, changed by its user's tag and stirred, all one to one."""
    words = Randomness.of_key(key, purpose).words(int(items.max(initial=-1)) + 1)
    return mixed(words[items] ^ tags)  # without which two users' orders would be alike


def mixed(words: AnyArray) -> AnyArray:
    """A bijection of 64-bit words in which every bit depends on every bit (the finaliser of SplitMix64)."""
    words = np.asarray(words, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(words ^ (words >> np.uint64(31)))


def _owners(indptr: Offsets) -> Offsets:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
