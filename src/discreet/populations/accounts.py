"""Which account some ratings belong to: by name, or by what they look like."""

import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary, WeakSet

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.looks import Looks
from discreet.privacy.budget import Budget
from discreet.privacy.fingerprint import ALIKE, Sketch, Sketcher, alike

_LOOKED: list[tuple[Sketch, Looks]] = []
_FITTED: WeakKeyDictionary[Looks, Sketch] = WeakKeyDictionary()
_LEFT_OUT: WeakSet[Looks] = WeakSet()
"""Logs of ratings of which some were left out: too few may be left for a sketch of users who are numbered."""
_KNOWING, _KEY = threading.Lock(), secrets.token_bytes(32)


def sketch_of(ratings: Ratings | RatingsInParts, key: bytes) -> Sketch:
    """What ratings look like, by their users and items; part by part where they are in files."""
    sketcher = Sketcher(key, ratings.catalogue.items.names)
    if isinstance(ratings, Folds):
        for own in ratings.folded(partial(Sketcher, key, ratings.catalogue.items.names), _add):
            sketcher.merge(own)
    else:
        for part in ratings.parts():
            _add(sketcher, part)
    return sketcher.finish()


@runtime_checkable
class Folds(Protocol):
    """Ratings that lie elsewhere, and are looked at there."""

    def folded(self, start: Callable[[], Sketcher], add: Callable[[Sketcher, Ratings], None]) -> Iterable[Sketcher]:
        """What ``add`` makes of the users of each part."""
        ...


def known_again(ratings: Ratings | RatingsInParts, *, looking: bool = False) -> None:
    """Link the log of ratings with those of the same users that were looked at in this process, however they were read.

    They are known by their sketch, as accounts are, under a key that this process alone has: also those of fits, by
    whoever is ``looking`` later. Ratings in files cost a pass for that, which is left out until somebody has looked.
    """
    own = ratings.looks
    with _KNOWING:
        if own.apart or any(log is own for _, log in _LOOKED) or (own in _FITTED and not looking):
            return
        if not (_LOOKED or looking or isinstance(ratings, Ratings)):
            return
        sketch, handling = _FITTED.pop(own, None) or sketch_of(ratings, _KEY), ratings.handling
        if handling.least or handling.most or handling.popular_items or handling.selected:
            _LEFT_OUT.add(own)
        for other, log in [*_LOOKED, *((each, log) for log, each in _FITTED.items() if looking)]:
            fewer = own in _LEFT_OUT or log in _LEFT_OUT
            if sketch.same_users(other) or (fewer and sketch.same_lists(other)):
                own.link(log)
                if looking:
                    log.link(own)
        if looking:
            _LOOKED.append((sketch, own))
        else:
            _FITTED[own] = sketch  # for as long as there are such ratings, or a release of them


def _add(sketcher: Sketcher, part: Ratings) -> None:
    sketcher.add(part.users.names, part.indptr, part.item_index)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The account of some ratings, as far as it can be found without being named.

    Parameters
    ----------
    name
        What it is called, or would be called if it was opened.
    is_new
        Whether nothing is known under this name.
    same_users
        Another account whose users these look like, where they do not look like those of this one.
    same_items
        Another account with such items, if this one is new.
    """

    name: str
    is_new: bool
    same_users: str | None = None
    same_items: str | None = None


def find_account(budget: Budget, name: str, ratings: Ratings | RatingsInParts) -> Found:
    """The account of this name, and which others the ratings look like.

    They are compared however well the name is known: a limit may be declared for a copy, and a file be overwritten.
    """
    name = budget.resolve(name)
    is_new, known = not budget.knows(name), budget.sketches()
    if not known:
        return Found(name=name, is_new=is_new)
    sketch = sketch_of(ratings, budget.key())
    nearest = alike(sketch, known)
    if nearest and name not in nearest:
        return Found(name=name, is_new=is_new, same_users=nearest[0])
    if nearest or not is_new:
        return Found(name=name, is_new=is_new)
    items = {other: max(sketch.items_like(each) for each in kept) for other, kept in known.items()}
    other = max(items, key=lambda each: items[each])
    return Found(name=name, is_new=is_new, same_items=other if items[other] >= ALIKE else None)
