"""Which kind of thing a model learns from: a population, or raw ratings."""

from typing import Any

from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.published import Published
from discreet.models.release import Model, Release
from discreet.populations.population import Population
from discreet.populations.terms import Terms
from discreet.types import Progress, no_progress

NO_PRIVACY = Terms()


def check_population(model: Model, population: Population | Ratings) -> None:
    """Raise unless a model that asks for sums was given someone to ask."""
    name = type(model).__name__
    asked = not isinstance(population, type) and hasattr(population, "sum") and hasattr(population, "spends")
    if not asked:
        raise InputError(
            f"{name} asks a population for sums: write {name}(...).fit(NoPrivacy(ratings)), got {_kind(population)}"
        )


def check_ratings(model: Model, ratings: Ratings | Population) -> None:
    """Raise unless a model that needs raw ratings was given them, one for each pair."""
    name = type(model).__name__
    if not isinstance(ratings, Ratings):
        raise InputError(
            f"{name} needs the raw ratings, no population can hide them: write {name}(...).fit(ratings), "
            f"got {_kind(ratings)}"
        )
    if ratings.has_repeats:
        raise InputError("some pairs are rated more than once: call ratings.merge('last') first")


def needs_raw_ratings(model: Any) -> bool:
    """Whether ``model.fit`` takes ``Ratings`` itself rather than a population."""
    return bool(getattr(model, "raw_ratings", False))


def fit_on(model: Any, ratings: Ratings, terms: Terms = NO_PRIVACY, progress: Progress = no_progress) -> Release:
    """Fit any model on ratings, on the terms that were agreed; by default nothing is hidden.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> print(fit_on(dc.Bias(), ratings).guarantee)
    No privacy: exact sums over the users were released.
    """
    check_terms(model, terms)
    release: Release = model.fit(ratings if needs_raw_ratings(model) else terms.population(ratings), progress)
    return release


def check_terms(model: Any, terms: Terms) -> None:
    """Raise if a model that needs the raw ratings is asked for privacy."""
    if terms.epsilon is not None and needs_raw_ratings(model):
        if isinstance(model, Published):
            raise InputError(
                f"{type(model).__name__} needs the raw ratings, and its epsilon is a claim of a paper and not a limit: "
                "give it as a setting, epsilon=…"
            )
        raise InputError(
            f"{type(model).__name__} needs the raw ratings, so it cannot be private: "
            "leave out epsilon, or choose a model that asks a population, for example Bias"
        )


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
