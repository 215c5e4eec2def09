"""Worst-case units: neighbouring data sets that differ as much as any can.

A canary is a made-up unit that is added to the real data. The adversary of an audit knows all the rest, and asks only
whether the canary is there. Many kinds are offered, because which one moves a release most depends on the model, and
which one a bug gives away depends on the bug: every value of the scale and not the ends alone; items that few, some and
many rated; short and long profiles; users who stand first, in the middle and last, by position and by name; on exact
totals each under a name of its own.

All of them are tried on exact totals (:func:`units_for`), which takes no noise and no runs. Some are tried in runs as
well (:func:`pairs_for`): what a population or a model does behind the totals shows only there.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.privacy.unit import UnitName
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans

OTHERS, BESIDE = 20, (0, 1, 2, 3, 20)
"""Ratings beside the canary's, where it has some: a bound may break at a user's second rating alone."""
RANDOM = 100
"""Users with ratings at random, few and many: a bound may break wherever nobody thought of."""
MOST_LEVELS = 10
"""Values of the scale that are tried, where the data have more."""

SHAPES = "", "7", "é", "A@", 40 * "x"
"""How made-up names begin: a bug may hang on what a name looks like, or on a hash of it."""

Rows = Sequence[tuple[int, float]]
"""(item, value) for each rating of one user."""


Place = Literal["first", "middle", "last"]
PLACES: dict[Place, tuple[str, str]] = {
    "first": ("!", ", first of all users"),
    "middle": ("", ", in the middle of the users"),
    "last": ("~", ""),
}
"""How a name begins that sorts there, and the place in words. Where names sort in the middle is up to the data."""


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
    """Pairs to try in runs, those with the fewest cells first.

    With ``device`` the data are those of one device, since whoever receives its message sees no others mixed in; and a
    device that is there always sends something, so a user's history is exchanged for another.

    >>> import discreet as dc
    >>> pairs = pairs_for(dc.synthetic(users=50, items=30, ratings=600, seed=1), "rating")
    >>> {len(pair.present) - len(pair.absent) for pair in pairs}
    {1}
    """
    require(len(ratings.catalogue) >= 2, "an audit needs a catalogue of at least 2 items")
    items, scale = _Items.of(ratings), ratings.catalogue.scale
    kinds = rating_kinds(ratings, items) if unit == "rating" else user_kinds(ratings, items)
    if device and unit == "user":
        rare, low, high = items.rare, scale.low, scale.high
        first, second = rare[0], rare[1]
        all_low, all_high = ([(item, end) for item in rare] for end in (low, high))
        kinds = [
            ("a user with one rating, the lowest or the highest", [(first, low)], [(first, high)], "last"),
            ("a user with one rating, of one item or of another", [(second, high)], [(first, high)], "last"),
            ("a user who rated every item the lowest or the highest", all_low, all_high, "last"),
            *kinds,
        ]
    host_stays = device or unit == "rating"
    return [_pair(ratings, what, absent, present, place, device, host_stays) for what, absent, present, place in kinds]


@dataclass(frozen=True)
class _Items:
    """Positions of items, the ones rated least first."""

    rare: list[int]

    @classmethod
    def of(cls, ratings: Ratings) -> "_Items":
        counts = np.bincount(ratings.item_index, minlength=len(ratings.catalogue))
        return cls(np.argsort(counts, kind="stable").tolist())

    @property
    def middle(self) -> int:
        return self.rare[len(self.rare) // 2]

    @property
    def some(self) -> list[int]:
        """Rated least, some and most; first and last in the catalogue."""
        return list(dict.fromkeys([self.rare[0], self.middle, self.rare[-1], 0, len(self.rare) - 1]))

    def others(self, item: int, count: int, *, liked: bool = False) -> list[int]:
        """Some items beside one, of those rated least or most."""
        rest = [other for other in self.rare if other != item]
        return rest[: -1 - count : -1] if liked else rest[:count]


def rating_kinds(ratings: Ratings, items: _Items) -> list[tuple[str, Rows, Rows, Place]]:
    """One rating more. Items that few rated come first: there it changes what is made of the sums the most."""
    low, high = ratings.catalogue.scale.low, ratings.catalogue.scale.high
    rare, popular, last = items.rare[0], items.rare[-1], len(items.rare) - 1
    others = [(item, low) for item in items.others(rare, OTHERS)]
    liked = [(item, low) for item in items.others(popular, OTHERS, liked=True)]
    all_others = [(item, high) for item in items.rare if item != items.middle]
    kinds: list[tuple[str, Rows, Rows, Place]] = [
        ("one rating, the highest, by a user without others", [], [(rare, high)], "last"),
        ("one rating, the lowest, by a user without others", [], [(rare, low)], "first"),
        *(
            (
                f"one rating, the highest, by a user with {count} other{'s' if count > 1 else ''}",
                others[:count],
                [*others[:count], (rare, high)],
                "middle",
            )
            for count in sorted({min(count, len(others)) for count in BESIDE if count})
        ),
        # Some models ask only about items that are rated much.
        ("one rating, the lowest, by a user without others, of the item rated most", [], [(popular, low)], "last"),
        (
            f"one rating, the lowest, by a user with {len(liked)} others, of the items rated most",
            liked,
            [*liked, (popular, low)],
            "last",
        ),
        (
            "one rating, the highest, by a user who rated everything else",
            all_others,
            [*all_others, (items.middle, high)],
            "first",
        ),
        ("one rating, the highest, of the first item, by a user without others", [], [(0, high)], "first"),
        ("one rating, the lowest, of the last item, by a user without others", [], [(last, low)], "last"),
    ]
    kinds += [
        (f"one rating of {value:g}, by a user without others", [], [(items.middle, value)], "middle")
        for value in levels_of(ratings)
        if low < value < high
    ]
    return kinds


def user_kinds(ratings: Ratings, items: _Items) -> list[tuple[str, Rows, Rows, Place]]:
    """One user more."""
    low, high = ratings.catalogue.scale.low, ratings.catalogue.scale.high
    rare = items.rare
    mixed = [(item, high if place % 2 else low) for place, item in enumerate(rare)]
    liked = [(item, low) for item in rare[-OTHERS:]]
    kinds: list[tuple[str, Rows, Rows, Place]] = [
        ("a user with one rating, the highest", [], [(rare[0], high)], "last"),
        ("a user with one rating, the lowest", [], [(rare[0], low)], "first"),
        *((f"a user with {n} ratings, the highest", [], [(item, high) for item in rare[:n]], "last") for n in (2, 3)),
        ("a user who rated every item the highest", [], [(item, high) for item in rare], "last"),
        ("a user who rated every item, high and low in turn", [], mixed, "middle"),
        ("a user with a few ratings, the lowest, of the items rated most", [], liked, "last"),
        ("a user with one rating, the highest, of the item rated most", [], [(rare[-1], high)], "last"),
        (
            "a user who rated every other item the lowest",
            [],
            [(item, low) for item in range(0, len(rare), 2)],
            "first",
        ),
    ]
    kinds += [
        (f"a user who rated every item {value:g}", [], [(item, value) for item in rare], "middle")
        for value in levels_of(ratings)
        if low < value < high
    ]
    return kinds


def units_for(ratings: Ratings, unit: UnitName) -> Iterator[tuple[Ratings, Ratings]]:
    """Ratings of one user without and with a canary, of every kind: what is tried on exact totals.

    >>> import discreet as dc
    >>> len(list(units_for(dc.synthetic(users=50, items=30, ratings=600, seed=1), "rating"))) > 50
    True
    """
    items, catalogue = _Items.of(ratings), ratings.catalogue
    low, high, size = catalogue.scale.low, catalogue.scale.high, len(catalogue)
    profiles: list[Rows] = []
    for item, value in itertools.product(items.some, sorted(levels_of(ratings), reverse=True)):
        # The last one comes and goes.
        rest = [(other, low if place % 2 else high) for place, other in enumerate(items.others(item, size))]
        beside = [rest[:count] for count in BESIDE] + [rest[-OTHERS:], rest]
        profiles += [[*others, (item, value)] for others in beside]
        if unit == "user":
            profiles += [[(other, value) for other in [*items.others(item, count), item]] for count in (OTHERS, size)]
    rng = np.random.default_rng(0)
    for many in np.exp(rng.uniform(0, np.log(size + 1), RANDOM)).astype(np.int64):
        chosen = rng.choice(size, min(many, size), replace=False).tolist()
        profiles.append(list(zip(chosen, rng.choice(levels_of(ratings), len(chosen)).tolist(), strict=True)))
    for number, present in enumerate(profiles):
        begins = f"{SHAPES[number % len(SHAPES)]}{number} "
        absent = [present[:-1]] if unit == "rating" else []
        yield users_of(catalogue, absent, begins), users_of(catalogue, [present], begins)


def levels_of(ratings: Ratings) -> list[float]:
    """The values that occur, and the ends of the scale; some of them where there are many.

    >>> import discreet as dc
    >>> levels_of(dc.synthetic(users=50, items=30, ratings=600, seed=1))
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    scale = ratings.catalogue.scale
    found = np.union1d(np.unique(ratings.values).astype(np.float64), [scale.low, scale.middle, scale.high])
    if len(found) > MOST_LEVELS:
        found = found[np.linspace(0, len(found) - 1, MOST_LEVELS).round().astype(np.int64)]
    return [float(value) for value in found]


def _pair(
    ratings: Ratings, what: str, absent: Rows, present: Rows, place: Place, device: bool, host_stays: bool
) -> Pair:
    begins, where = PLACES[place]
    own_absent = users_of(ratings.catalogue, [absent] if host_stays else [], begins)
    own_present = users_of(ratings.catalogue, [present], begins)
    if device:
        return Pair(what, own_absent, own_present, own_absent, own_present)
    absent_data, present_data = (joined(ratings, own, place) for own in (own_absent, own_present))
    return Pair(what + where, absent_data, present_data, own_absent, own_present)


def canaries_for(ratings: Ratings, count: int) -> Ratings:
    """So many users, who among them rated every item: each the items of a block of their own.

    As long as there are no more canaries than items no two touch the same cell, so that none hides another. Values go
    to the two ends of the scale in turn.

    >>> import discreet as dc
    >>> canaries = canaries_for(dc.synthetic(users=50, items=30, ratings=600, seed=1), 10)
    >>> canaries.n_users, len(canaries)
    (10, 30)
    """
    size = len(ratings.catalogue)
    if count > size:
        return single_ratings_for(ratings, count)
    return _high_and_low(ratings.catalogue, np.array_split(np.arange(size), count))


def single_ratings_for(ratings: Ratings, count: int) -> Ratings:
    """So many users with one rating each: canaries for the unit rating. They go round the items in turn."""
    size = len(ratings.catalogue)
    return _high_and_low(ratings.catalogue, [np.array([place % size]) for place in range(count)])


def _high_and_low(catalogue: Catalogue, blocks: Sequence[AnyArray]) -> Ratings:
    """A user for each block of items, who rates them all the highest, or the lowest, in turn."""
    ends = catalogue.scale.high, catalogue.scale.low
    return users_of(catalogue, [[(int(item), ends[place % 2]) for item in own] for place, own in enumerate(blocks)])


def with_chosen(ratings: Ratings, canaries: Ratings, chosen: Booleans, unit: UnitName) -> Ratings:
    """The data with the canaries that were chosen; with the unit rating the others stay as users without ratings."""
    if unit == "user":
        return joined(ratings, canaries.select_users(np.flatnonzero(chosen)))
    return joined(ratings, canaries.select(chosen[canaries.user_index]))


def users_of(catalogue: Catalogue, rows: Sequence[Rows], begins: str = "") -> Ratings:
    """Made-up users, one for each list of (item, value)."""
    user = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    item = np.array([item for own in rows for item, _ in own], dtype=np.int32)
    values = np.array([value for own in rows for _, value in own], dtype=np.float32)
    shaped = (f"{begins}{SHAPES[place % len(SHAPES)]}canary {place}" for place in range(len(rows)))
    names = Labels(Strings.of(shaped), what="user")
    return Ratings.of_columns(catalogue, names, user, item, values)


def joined(ratings: Ratings, added: Ratings, place: Place = "last") -> Ratings:
    """The users of both; times and facts of those added, which nobody made up, are borrowed from others."""
    if len(added.users) == 0:
        return ratings
    ratings.catalogue.require_same(added.catalogue)
    if not set(added.users).isdisjoint(ratings.users):
        raise InputError("these ratings have canaries already")
    at = {"first": 0, "middle": ratings.n_users // 2, "last": ratings.n_users}[place]
    row = int(ratings.indptr[at])
    names = ratings.users.names

    def put(column: AnyArray, new: AnyArray, where: int) -> AnyArray:
        return np.concatenate([column[:where], new, column[where:]])

    def borrowed(column: AnyArray, many: int, where: int) -> AnyArray:
        return put(column, np.repeat(column[-1:] if len(column) else np.zeros(1, dtype=column.dtype), many), where)

    behind = np.where(np.arange(len(ratings)) < row, ratings.user_index, ratings.user_index + np.int32(added.n_users))
    return replace(
        ratings,
        users=Labels(names[:at].joined(added.users.names, names[at:]), what=ratings.users.what),
        user_index=put(behind, added.user_index + np.int32(at), row).astype(np.int32),
        item_index=put(ratings.item_index, added.item_index, row),
        values=put(ratings.values, added.values, row),
        times=None if ratings.times is None else borrowed(ratings.times, len(added), row),
        user_facts={name: borrowed(column, added.n_users, at) for name, column in ratings.user_facts.items()},
    )
