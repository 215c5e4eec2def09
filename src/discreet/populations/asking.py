"""What a fit is given: a population for a model that asks for sums, raw ratings for one that needs them."""

from typing import Any

from discreet.data.catalogue import Catalogue
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
    check_takes(model, population.catalogue)


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
    check_takes(model, ratings.catalogue)


def takes_implicit(model: object) -> bool:
    """Whether a model learns from data without ratings: one that only ranks does, others say so.

    >>> import discreet as dc
    >>> takes_implicit(dc.EASE()), takes_implicit(dc.Almanac()), takes_implicit(dc.Bias())
    (True, True, False)
    """
    return not hasattr(model, "predict") or bool(getattr(model, "implicit", False))


def check_takes(model: object, catalogue: Catalogue) -> None:
    """Raise if a model that is about ratings is given data without any."""
    if catalogue.scale.implicit and not takes_implicit(model):
        raise InputError(
            f"{type(model).__name__} predicts ratings, and these data have none: choose a model that ranks, for "
            "example Almanac, Popularity or EASE"
        )


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
