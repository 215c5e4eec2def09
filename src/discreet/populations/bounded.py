"""How many ratings of a user take part, and what that says about the user as a whole."""

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import keep_at_most, user_tags
from discreet.privacy.randomness import Randomness, secret_key
from discreet.privacy.unit import Bound, Norm, Unit, User


def capped(
    ratings: Ratings | RatingsInParts, unit: Unit, randomness: Randomness, key: bytes | None
) -> Ratings | RatingsInParts:
    """The ratings with at most ``unit.max_ratings`` of each user, chosen at random with a secret key.

    Without a key one is drawn. It costs nothing at user level: see :func:`~discreet.privacy.bounding.keep_at_most`.
    """
    if not isinstance(unit, User) or unit.max_ratings is None:
        return ratings
    secret, most = secret_key(randomness) if key is None else key, unit.max_ratings

    def cap(part: Ratings) -> Ratings:
        tags = user_tags(part.users.names, secret)
        return part.select(keep_at_most(part.indptr, part.item_index, tags, most, secret))

    # Which ratings a user keeps depends on nobody else's, so parts can be capped one by one.
    return cap(ratings) if isinstance(ratings, Ratings) else ratings.changed(cap)


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
