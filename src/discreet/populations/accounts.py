"""Which account some ratings belong to: by name, or by what they look like."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.privacy.budget import Budget
from discreet.privacy.fingerprint import ALIKE, Sketch, Sketcher, alike


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
