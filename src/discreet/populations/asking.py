"""What a fit is given: a population for a model that asks for sums, raw ratings for one that needs them."""

from typing import Any

from discreet.data.ratings import Ratings
from discreet.errors import InputError


def check_population(model: object, population: Any) -> None:
    """Raise unless a model that asks for sums was given someone to ask."""
    name = type(model).__name__
    asked = not isinstance(population, type) and hasattr(population, "sum") and hasattr(population, "spends")
    if not asked:
        raise InputError(
            f"{name} asks a population for sums: write {name}(...).fit(NoPrivacy(ratings)), got {_kind(population)}"
        )


def check_ratings(model: object, ratings: Any) -> None:
    """Raise unless a model that needs raw ratings was given them, one for each pair."""
    name = type(model).__name__
    if not isinstance(ratings, Ratings):
        raise InputError(
            f"{name} needs the raw ratings, no population can hide them: write {name}(...).fit(ratings), "
            f"got {_kind(ratings)}"
        )
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
