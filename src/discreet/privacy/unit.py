"""Whose secret is kept: one rating, or all that one user gave; and how far it can move a statistic."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from discreet.doors import checked
from discreet.errors import require

Neighbours = Literal["add-or-remove", "replace"]
Norm = Literal["l1", "l2"]
UnitName = Literal["rating", "user"]


@checked
@dataclass(frozen=True)
class Rating:
    """Neighbouring data sets differ in one rating.

    ``add-or-remove`` hides that a rating is there at all. ``replace`` hides only its value: *which* items a
    user rated stays unprotected.

    >>> print(Rating())
    one rating, present or absent
    """

    neighbours: Neighbours = "add-or-remove"
    name: ClassVar[UnitName] = "rating"

    def __post_init__(self) -> None:
        _check_neighbours(self.neighbours)

    def __str__(self) -> str:
        if self.neighbours == "replace":
            return "the value of one rating (not which items were rated)"
        return "one rating, present or absent"


@checked
@dataclass(frozen=True)
class User:
    """Neighbouring data sets differ in everything that one user gave.

    Parameters
    ----------
    max_ratings
        How many ratings of a user are used at most; a population picks them at random with its secret
        key. None where the statistics bound a user of any length themselves.

    >>> print(User())
    all ratings of one user, present or absent
    """

    max_ratings: int | None = None
    neighbours: Neighbours = "add-or-remove"
    name: ClassVar[UnitName] = "user"

    def __post_init__(self) -> None:
        _check_neighbours(self.neighbours)
        require(
            self.max_ratings is None or self.max_ratings >= 1,
            f"max_ratings must be at least 1, got {self.max_ratings}",
        )

    def __str__(self) -> str:
        return f"all ratings of one user, {'replaced' if self.neighbours == 'replace' else 'present or absent'}"


Unit = Rating | User


def units_changed(kept: Unit, counted: Unit) -> int | None:
    """How many units of the kind ``counted`` change at most where one of the kind ``kept`` does; None if any number.

    So a spend that was made for ``counted`` costs the unit ``kept`` as much as a group of so many (group privacy).

    Adding, removing or changing one rating exchanges one user's history for another: that is one user replaced, or
    two added or removed, since the user leaves and comes back with the other history. (Where it was the user's only
    rating, the user leaves or comes, which moves no statistic further than being replaced does: see :class:`Bound`.)
    Likewise a rating of another value is one rating removed and one added, and a user replaced is one user removed and
    one added. A user may have any number of ratings, and what hides a value or a history does not hide that it exists.

    >>> units_changed(Rating(), User()), units_changed(User(), Rating())
    (2, None)
    """
    if counted.name == "rating" and kept.name == "user":
        return None
    if counted.neighbours == "replace":
        return 1 if kept.neighbours == "replace" or counted.name != kept.name else None
    return 1 if counted.name == kept.name and kept.neighbours == "add-or-remove" else 2


def unit_to_json(unit: Unit) -> dict[str, Any]:
    """As plain data."""
    return {"name": unit.name, **dataclasses.asdict(unit)}


def unit_from_json(data: dict[str, Any]) -> Unit:
    """Back from plain data.

    >>> unit_from_json(unit_to_json(User(max_ratings=200)))
    User(max_ratings=200, neighbours='add-or-remove')
    """
    settings = dict(data)
    kinds: dict[str, type[Rating] | type[User]] = {"rating": Rating, "user": User}
    return kinds[settings.pop("name")](**settings)


@checked
@dataclass(frozen=True)
class Bound:
    """Adding or removing one unit moves a statistic by at most ``value`` in ``norm``, in at most ``cells`` cells.

    ``cells`` matters only for rounding to the lattice; 0 means all of them. ``replace`` is what is proven about
    exchanging one unit for another; None where nothing better is than twice the value, once down and once up again.

    >>> Bound("user", "l2", 1.0).moved("replace")
    2.0
    """

    unit: UnitName
    norm: Norm
    value: float
    cells: int = 0
    replace: float | None = None

    def __post_init__(self) -> None:
        for value in (self.value, self.value if self.replace is None else self.replace):
            require(
                math.isfinite(value) and value > 0,
                f"the bound of a statistic must be positive and finite, got {value}",
            )
        require(
            self.unit == "rating" or self.replace is None or self.replace >= self.value,
            f"replacing a user by one without ratings moves a statistic by up to {self.value}, and not {self.replace}",
        )

    def moved(self, neighbours: Neighbours) -> float:
        """How far neighbours lie apart at most."""
        if neighbours == "add-or-remove":
            return self.value
        return 2 * self.value if self.replace is None else min(self.replace, 2 * self.value)


def _check_neighbours(neighbours: str) -> None:
    require(
        neighbours in ("add-or-remove", "replace"),
        f"neighbours must be 'add-or-remove' or 'replace', got {neighbours!r}",
    )
