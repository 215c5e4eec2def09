"""Nothing fails after a look was charged in a way that tells of the ratings.

An error is an answer too. Whatever can be found wrong without the ratings is found before the charge, on a user who
rated nothing; what is left is said in one sentence that is the same for all ratings, and the charge stays.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.populations.contribution import Contribution
from discreet.populations.population import InParts, exact_total
from discreet.types import AnyArray, Doubles

T = TypeVar("T")


def nobody(catalogue: Catalogue) -> Ratings:
    """One user without ratings."""
    return Ratings.of_history(History(catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))


def check_users(contribution: Contribution, ratings: Ratings | RatingsInParts) -> None:
    """Raise where there are more users than the contribution is summed exactly over."""
    most = contribution.most_users
    if most is not None:
        require(ratings.n_users <= most, f"{contribution.name!r} is for at most {most:,} users")


def check_before_charging(
    contribution: Contribution, ratings: Ratings | RatingsInParts, *, users_may_leave: bool
) -> None:
    """Raise for what would fail on any ratings: a shape, what is no number, files that were written to since.

    And where a bound for one rating does not hold because ``users_may_leave``: the users of a table are those who have
    a rating, so whoever takes back an only rating leaves it. Then a user without ratings must add nothing.
    """
    total = exact_total(contribution, nobody(ratings.catalogue))
    finite = bool(np.isfinite(total).all())
    require(finite, f"{contribution.name!r} of a user without ratings is no finite number, so it has no bound")
    require(
        not users_may_leave or ratings.handling.users_listed or not total.any(),
        f"{contribution.name!r} counts users without ratings, and only those with a rating are known: list all users "
        "(ratings.with_users), or hide users and not ratings",
    )
    if isinstance(ratings, RatingsInParts):
        ratings.check_unchanged()


def finite_total(contribution: Contribution, ratings: InParts | None) -> Doubles:
    """The total, where cells that are no finite number count 0 in the answer of the user who sent them.

    A contribution with a true bound never comes to one: over nobody it is finite, and every unit moves it by the bound
    at most. If it does all the same, an error would tell who is there; and so would a total with a 0 in such a cell,
    where everybody else's answers vanish too. So it is added up again user by user. A user's answer is then the
    one that was bounded with some cells set to 0, which makes no norm larger: the bound for a user holds.
    """
    asked = _guarded(contribution)
    total = exact_total(asked, ratings)
    if ratings is None or np.isfinite(total).all():
        return total
    total = np.zeros(contribution.shape)
    for part in ratings.parts():
        for position in range(part.n_users):
            own = exact_total(asked, part.select_users(np.array([position])))
            total += np.where(np.isfinite(own), own, 0.0)
    return total


def _guarded(contribution: Contribution) -> Contribution:
    """The same, with one sentence for whatever goes wrong in it."""
    whole, finish, over_parts = contribution.finish is not None, contribution.finish, contribution.over_parts
    said = f"{contribution.name!r} could not be computed, and what was booked for it stays spent"

    def checked(compute: Callable[[T], AnyArray]) -> Callable[[T], AnyArray]:
        def total(ratings: T) -> AnyArray:
            own = np.asarray(compute(ratings), dtype=np.int64 if whole else np.float64)
            require(own.shape == contribution.shape, "another shape")
            return own

        return or_say(said, total)

    return replace(
        contribution,
        total=checked(contribution.total),
        finish=None if finish is None else or_say(said, finish),
        over_parts=None if over_parts is None else checked(over_parts),
    )


def or_say(sentence: str, compute: Callable[[T], AnyArray]) -> Callable[[T], AnyArray]:
    """Without the error itself: its words, its traceback and its place may all tell of the ratings."""

    def computed(argument: T) -> AnyArray:
        try:
            with np.errstate(all="ignore"):
                return compute(argument)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever it is, its words may tell of the ratings
            pass
        raise InputError(sentence)  # outside of the handler, so that it carries no other error along

    return computed
