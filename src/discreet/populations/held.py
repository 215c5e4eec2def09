"""The ratings of each population, kept beside it and not in it: no attribute of a population leads to a rating.

A model is handed a population. What it can reach from there, by attributes, methods and what they close over, holds no
ratings, so a shortcut past the ledger does not happen by mistake. Python has no walls, though: whoever imports
:func:`held_by` gets them. No model does (import-linter sees to it), and what was made of ratings all the same is found
by replay (:mod:`discreet.fitting.replay`).
"""

from weakref import WeakKeyDictionary

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.looks import LISTED, Reading

_HELD: WeakKeyDictionary[object, Ratings | RatingsInParts] = WeakKeyDictionary()
_GIVEN: WeakKeyDictionary[object, Ratings | RatingsInParts] = WeakKeyDictionary()


def hold(population: object, ratings: Ratings | RatingsInParts, given: Ratings | RatingsInParts | None = None) -> None:
    """Keep the ratings of a population for as long as it lives, and those it was given, where it changed them."""
    _HELD[population] = ratings
    _GIVEN[population] = ratings if given is None else given


def given_to(population: object) -> Ratings | RatingsInParts:
    """The ratings as they were before the population chose among them: those by which an account knows them again."""
    return _GIVEN[population]


def reading_of(ratings: Ratings | RatingsInParts) -> Reading:
    """How ratings were read, and what the list of items says, unless it was read off them."""
    catalogue = ratings.catalogue
    reading = dict(ratings.handling.reading(str(catalogue.scale)))
    if LISTED in reading or catalogue.declared or catalogue.genres or catalogue.years.any():
        reading[LISTED] = catalogue.sample
    return tuple(reading.items())


def held_by(population: object) -> Ratings | RatingsInParts:
    """The ratings that a population answers from. For populations, not for models."""
    try:
        return _HELD[population]
    except (KeyError, TypeError):
        raise InputError(f"this {type(population).__name__} holds no ratings: make one from ratings") from None
