"""Fit any model on ratings, whichever kind of thing it learns from: a population, or raw ratings."""

from typing import Any

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.populations.terms import Terms
from discreet.releases.contract import needs_raw_ratings
from discreet.releases.published import Published
from discreet.releases.release import Release
from discreet.types import Progress, no_progress

NO_PRIVACY = Terms()


def fit_on(
    model: Any, ratings: Ratings | RatingsInParts, terms: Terms = NO_PRIVACY, progress: Progress = no_progress
) -> Release:
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
