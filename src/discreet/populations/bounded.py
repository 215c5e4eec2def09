"""Ratings as a population holds them, and how far one unit of them can move a statistic."""

import hashlib
import math
from dataclasses import replace

from discreet.data.handling import Handling
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import keep_at_most, user_tags
from discreet.privacy.randomness import Randomness, secret_key
from discreet.privacy.unit import Bound, Norm, Unit, User
from discreet.types import AnyArray

PUBLIC_KEY = hashlib.sha256(b"discreet: tags of users where nothing is hidden").digest()
"""For sums without privacy, which come out the same each time."""


def prepared(
    ratings: Ratings | RatingsInParts, unit: Unit, randomness: Randomness, key: bytes | None
) -> Ratings | RatingsInParts:
    """The ratings with a secret tag for each user, and at most ``unit.max_ratings`` of each, chosen by the secret key.

    Without a key one is drawn. Whatever is chosen at random among a user's ratings later on is chosen by these tags, so
    nobody outside knows what it is. The cap costs nothing at user level: see
    :func:`~discreet.privacy.bounding.keep_at_most`. With seeded noise, which hides nothing, a cap's key comes from the
    seed and any other is public: experiments can be repeated, and their noise does not depend on what needs a key.
    """
    most = unit.max_ratings if isinstance(unit, User) else None
    if key is None:
        key = PUBLIC_KEY if randomness.is_seeded and most is None else secret_key(randomness)
    secret = key

    def prepare(part: Ratings) -> Ratings:
        part = replace(part, tags=user_tags(part.users.names, secret))
        if most is None:
            return part
        capped = part.select(keep_at_most(*_rows(part), most, secret))
        return replace(capped, handling=part.handling)  # nobody chose these but a secret key

    # A tag depends on the user's name alone, and which ratings a user keeps on nobody else's: parts can go one by one.
    return prepare(ratings) if isinstance(ratings, Ratings) else ratings._changed_by(prepare)


def tags_of(ratings: Ratings) -> AnyArray:
    """The users' tags that a population set, or, where nothing is hidden, tags from a public key."""
    return user_tags(ratings.users.names, PUBLIC_KEY) if ratings.tags is None else ratings.tags


def _rows(ratings: Ratings) -> tuple[AnyArray, AnyArray, AnyArray]:
    return ratings.indptr, ratings.item_index, tags_of(ratings)


def needs_rating_bound(contribution: Contribution, unit: Unit) -> bool:
    """Whether only the cap on a user's ratings makes anything known about a user as a whole."""
    return (
        isinstance(unit, User)
        and unit.max_ratings is not None
        and not any(b.unit == "user" for b in contribution.bounds)
    )


def bound_for(contribution: Contribution, unit: Unit, norm: Norm) -> Bound:
    """What is proven of a contribution for a unit, if need be from one rating to a user with a capped number of them.

    A user is removed by removing at most ``max_ratings`` ratings one after the other, and each moves the statistic
    by at most the bound for a rating: by the triangle inequality all together by ``max_ratings`` times that. What is
    left is a user without ratings, who must count nothing (the population checks that).
    """
    if isinstance(unit, User) and unit.max_ratings is not None and needs_rating_bound(contribution, unit):
        one = contribution.bound("rating", norm)
        return Bound("user", norm, unit.max_ratings * one.value, cells=unit.max_ratings * one.cells)
    return contribution.bound(unit.name, norm)


def moved_by_unit(contribution: Contribution, unit: Unit, norm: Norm, handling: Handling) -> tuple[float, int]:
    """How far one unit moves a contribution at most, and in how many cells.

    Where several ratings of one pair were merged, what somebody gives is an *event*, and a merged rating is a function
    of all events of its pair. One event more adds a rating, if it is the first of its pair; else it replaces the value
    of one, or leaves it. So it moves a statistic by no more than the larger of what is proven for adding a rating and
    for replacing one, in at most twice as many cells (those of the old and of the new value). One event less is the
    same the other way, and an event of another value replaces one merged value. ∎ With the unit user nothing changes:
    all events of a user come and go together. Nor without ratings (``once``): one event more adds a pair, or nothing.
    """
    bound = bound_for(contribution, unit, norm)
    cells = bound.cells or math.prod(contribution.shape)
    if unit.name == "rating" and handling.merged not in (None, "once"):
        return max(bound.value, bound.moved("replace")), 2 * cells
    return bound.moved(unit.neighbours), cells * (2 if unit.neighbours == "replace" else 1)
