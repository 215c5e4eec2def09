"""Worst-case units: neighbouring data sets that differ as much as any can.

A canary is a made-up unit that is added to the real data. The adversary of an audit knows all the rest, and asks only
whether the canary is there. Several kinds are offered, because which one moves a release most depends on the model: one
extreme rating alone, one rating beside many others, a user who rated everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.privacy.unit import UnitName
from discreet.types import AnyArray, Booleans

OTHERS = 20
"""Ratings beside the canary's, where it has some."""

Rows = Sequence[tuple[int, float]]
"""(item, value) for each rating of one user."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets, and what the user by whom they differ holds in each.

    Parameters
    ----------
    what
        The canary in words.
    absent, present
        All ratings without and with it.
    own_absent, own_present
        The ratings of that one user alone, who may have none.
    """

    what: str
    absent: Ratings
    present: Ratings
    own_absent: Ratings
    own_present: Ratings


def pairs_for(ratings: Ratings, unit: UnitName, *, device: bool = False) -> list[Pair]:
    """Pairs to try, those with the fewest cells first.

    With ``device`` the data are those of one device, since whoever receives its message sees no others mixed in; and a
    device that is there always sends something, so a user's history is exchanged for another.

    >>> import discreet as dc
    >>> pairs = pairs_for(dc.synthetic(users=50, items=30, ratings=600, seed=1), "rating")
    >>> [len(pair.present) - len(pair.absent) for pair in pairs]
    [1, 1, 1, 1, 1]
    """
    require(len(ratings.catalogue) >= 2, "an audit needs a catalogue of at least 2 items")
    scale, size = ratings.catalogue.scale, len(ratings.catalogue)
    # Items that few rated come first: there one more rating changes what is made of the sums the most.
    rare = np.argsort(np.bincount(ratings.item_index, minlength=size), kind="stable").tolist()
    first, low, high = rare[0], scale.low, scale.high
    everything = [(item, high) for item in rare]
    mixed = [(item, high if place % 2 else low) for place, item in enumerate(rare)]
    kinds: list[tuple[str, Rows, Rows]]
    if unit == "rating":
        others = [(item, low) for item in rare[1 : 1 + OTHERS]]
        liked = [(item, low) for item in rare[-2 : -2 - OTHERS : -1]]
        kinds = [
            ("one rating, the highest, by a user without others", [], [(first, high)]),
            ("one rating, the lowest, by a user without others", [], [(first, low)]),
            (f"one rating, the highest, by a user with {len(others)} others", others, [*others, (first, high)]),
            # Some models ask only about items that are rated much.
            ("one rating, the lowest, by a user without others, of the item rated most", [], [(rare[-1], low)]),
            (
                f"one rating, the lowest, by a user with {len(liked)} others, of the items rated most",
                liked,
                [*liked, (rare[-1], low)],
            ),
        ]
    else:
        kinds = [
            ("a user with one rating, the highest", [], [(first, high)]),
            ("a user with one rating, the lowest", [], [(first, low)]),
            ("a user who rated every item the highest", [], everything),
            ("a user who rated every item, high and low in turn", [], mixed),
            ("a user with a few ratings, the lowest, of the items rated most", [], [(i, low) for i in rare[-OTHERS:]]),
        ]
        if device:
            kinds = [
                ("a user with one rating, the lowest or the highest", [(first, low)], [(first, high)]),
                ("a user with one rating, of one item or of another", [(rare[1], high)], [(first, high)]),
                ("a user who rated every item the lowest or the highest", [(item, low) for item in rare], everything),
                *kinds,
            ]
    host_stays = device or unit == "rating"
    return [_pair(ratings, what, absent, present, device, host_stays) for what, absent, present in kinds]


def _pair(ratings: Ratings, what: str, absent: Rows, present: Rows, device: bool, host_stays: bool) -> Pair:
    own_absent = users_of(ratings.catalogue, [absent] if host_stays else [])
    own_present = users_of(ratings.catalogue, [present])
    if device:
        return Pair(what, own_absent, own_present, own_absent, own_present)
    return Pair(what, joined(ratings, own_absent), joined(ratings, own_present), own_absent, own_present)


def canaries_for(ratings: Ratings, count: int) -> Ratings:
    """So many users, who among them rated every item: each the items of a block of their own.

    As long as there are no more canaries than items no two touch the same cell, so that none hides another. Values go
    to the two ends of the scale in turn.

    >>> import discreet as dc
    >>> canaries = canaries_for(dc.synthetic(users=50, items=30, ratings=600, seed=1), 10)
    >>> canaries.n_users, len(canaries)
    (10, 30)
    """
    size, scale = len(ratings.catalogue), ratings.catalogue.scale
    if count <= size:
        blocks = np.array_split(np.arange(size), count)
    else:
        blocks = [np.array([place % size]) for place in range(count)]
    return users_of(
        ratings.catalogue,
        [
            [(int(item), scale.high if place % 2 == 0 else scale.low) for item in block]
            for place, block in enumerate(blocks)
        ],
    )


def single_ratings_for(ratings: Ratings, count: int) -> Ratings:
    """So many users with one rating each: canaries for the unit rating. They go round the items in turn."""
    size, scale = len(ratings.catalogue), ratings.catalogue.scale
    return users_of(
        ratings.catalogue,
        [[(place % size, scale.high if place % 2 == 0 else scale.low)] for place in range(count)],
    )


def with_chosen(ratings: Ratings, canaries: Ratings, chosen: Booleans, unit: UnitName) -> Ratings:
    """The data with the canaries that were chosen; with the unit rating the others stay as users without ratings."""
    if unit == "user":
        return joined(ratings, canaries.select_users(np.flatnonzero(chosen)))
    return joined(ratings, canaries.select(chosen[canaries.user_index]))


def users_of(catalogue: Catalogue, rows: Sequence[Rows]) -> Ratings:
    """Made-up users, one for each list of (item, value)."""
    user = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    item = np.array([item for own in rows for item, _ in own], dtype=np.int32)
    values = np.array([value for own in rows for _, value in own], dtype=np.float32)
    names = Labels(np.array([f"canary {place}" for place in range(len(rows))], dtype=np.str_), what="user")
    return Ratings.of_columns(catalogue, names, user, item, values)


def joined(ratings: Ratings, added: Ratings) -> Ratings:
    """The users of both, those added last; their times and facts, which nobody made up, are borrowed from others."""
    if len(added.users) == 0:
        return ratings
    ratings.catalogue.require_same(added.catalogue)
    if any(name.startswith("canary ") for name in ratings.users.names[-1:].tolist()):
        raise InputError("these ratings have canaries already")
    return replace(
        ratings,
        users=Labels(np.concatenate([ratings.users.names, added.users.names]), what=ratings.users.what),
        user_index=np.concatenate([ratings.user_index, added.user_index + np.int32(ratings.n_users)]),
        item_index=np.concatenate([ratings.item_index, added.item_index]),
        values=np.concatenate([ratings.values, added.values]),
        times=None if ratings.times is None else _lengthened(ratings.times, len(added)),
        user_facts={name: _lengthened(column, added.n_users) for name, column in ratings.user_facts.items()},
    )


def _lengthened(column: AnyArray, by: int) -> AnyArray:
    filling = column[-1:] if len(column) else np.zeros(1, dtype=column.dtype)
    return np.concatenate([column, np.repeat(filling, by)])
