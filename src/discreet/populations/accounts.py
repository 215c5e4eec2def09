"""Which account some ratings belong to: by name, or by what they look like."""

from dataclasses import dataclass

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.privacy.budget import Budget
from discreet.privacy.fingerprint import ALIKE, Sketch, Sketcher


def sketch_of(ratings: Ratings | RatingsInParts, key: bytes) -> Sketch:
    """What ratings look like, by their users and items; part by part where they are in files."""
    sketcher = Sketcher(key, ratings.catalogue.items.names)
    for part in ratings.parts():
        sketcher.add(part.users.names, part.indptr, part.item_index)
    return sketcher.finish()


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
        Another account whose users these look like, if it is new.
    same_items
        Another account with such items, and other users.
    """

    name: str
    is_new: bool
    same_users: str | None = None
    same_items: str | None = None


def find_account(budget: Budget, name: str, ratings: Ratings | RatingsInParts) -> Found:
    """The account that is known by this name; else which one the ratings look like."""
    if budget.knows(name):
        return Found(name=name, is_new=False)
    known = budget.sketches()
    if not known:
        return Found(name=name, is_new=True)
    sketch = sketch_of(ratings, budget.key())
    users = {other: max(sketch.users_like(each) for each in kept) for other, kept in known.items()}
    items = {other: max(sketch.items_like(each) for each in kept) for other, kept in known.items()}
    nearest = max(users, key=lambda other: users[other])
    if users[nearest] >= ALIKE:
        return Found(name=name, is_new=True, same_users=nearest)
    nearest = max(items, key=lambda other: items[other])
    return Found(name=name, is_new=True, same_items=nearest if items[nearest] >= ALIKE else None)
