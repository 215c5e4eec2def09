"""Fitting by replay: was a release made of the population's answers, and of nothing else?

A model's arrays are a function of the answers, of its settings and of the public catalogue. So the answers are written
down during the fit, and a fresh copy of the model is fitted again on a population that holds no ratings and gives the
same answers. Everything must come out the same, bit by bit. What does not was made of something that never went through
the population (ratings that a contribution kept aside, an exact count), and is not released.

**What it shows.** The second release is computed without any ratings at hand, so where the two agree the first says
nothing that the answers do not say. This assumes that the fit left nothing behind: local variables, closures and the
model itself are fresh in the second fit, and totals are taken of nobody in between; but what was put into the settings
from outside, or once and for all into a module, is there in both and is not noticed.

A model that makes something else of the same answers each time cannot be checked so, and the guarantee says it.

A fit that is paid for checks every model that is not Discreet's own. Those are checked by the tests of this repository
and by audits, and in a fit where that is asked for.
"""

import copy
import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.names import is_listed
from discreet.populations.answer_file import AnswerFile
from discreet.populations.population import Population
from discreet.populations.replayed import MOST_BYTES, Recorded, Replayed
from discreet.releases.releasable import (
    CHECKED,
    CHECKED_WITH_PRIOR,
    NOT_REPEATABLE,
    TOO_LARGE,
    UNCHECKED,
    with_note_on_replay,
)
from discreet.releases.release import HERE, Release
from discreet.types import Progress, no_progress

NOT_OF_ANSWERS = (
    "{} does not come to the same release from the same answers without the ratings, so something in it never went "
    "through the population"
)


def fit_and_replay(
    model: Any,
    population: Population,
    progress: Progress = no_progress,
    file: AnswerFile | None = None,
    *,
    check_replay: bool = True,
) -> Release:
    """Fit, and check by replay; the guarantee says whether it was checked. Raises if something else got in.

    ``file`` keeps the answers, so that a fit that was killed goes on from them. Without ``check_replay`` a model of
    Discreet's own is not checked.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = fit_and_replay(dc.Popularity(), dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> release.guarantee.notes[-1]
    'A replay of the noisy answers gave the same release, so nothing else went into it.'
    """
    checked = check_replay or not is_ours(model)
    fresh, recorded = copy.deepcopy(model), Recorded(population, MOST_BYTES if checked else 0, file)
    release: Release = model.fit(recorded, progress)
    note = found_by_replay(fresh, recorded, release) if checked else UNCHECKED
    release.require_unchanged("nothing was released")
    return replace(release, guarantee=with_note_on_replay(release.guarantee, note), made=HERE)


def is_ours(model: Any) -> bool:
    """Whether a model is one of Discreet's own, with nothing hung on it."""
    return is_listed(type(model)) and vars(model).keys() <= {field.name for field in dataclasses.fields(model)}


def found_by_replay(model: Any, recorded: Recorded, release: Release) -> str:
    """The sentence for the guarantee: whether the release was checked. Raises if it was made of something else too."""
    if recorded.answers is None:
        return TOO_LARGE
    first = _fitted_again(model, recorded)
    if first is not None and same_release(first, release):
        return CHECKED if recorded.catalogue.prior is None else CHECKED_WITH_PRIOR
    second = None if first is None else _fitted_again(model, recorded)
    if first is not None and second is not None and not same_release(first, second):
        return NOT_REPEATABLE
    raise InputError(f"{NOT_OF_ANSWERS.format(type(model).__name__)}: nothing was released")


def fault_by_replay(model: Any, recorded: Recorded, release: Release) -> str:
    """The same for an audit: what is wrong in words, empty where nothing is or where it cannot be checked."""
    try:
        found_by_replay(model, recorded, release)
    except InputError:
        return NOT_OF_ANSWERS.format(type(model).__name__)
    return ""


def same_release(one: Release, other: Release) -> bool:
    """Whether they are the same to the last bit."""
    alike = (
        repr(one.model) == repr(other.model)
        and one.note == other.note
        and one.spends == other.spends
        and dict(one.sources) == dict(other.sources)
        and one.guarantee == other.guarantee
        and one.catalogue.fingerprint == other.catalogue.fingerprint
        and list(one.arrays) == list(other.arrays)
    )
    return alike and all(_same_bits(one.arrays[name], other.arrays[name]) for name in one.arrays)


def _same_bits(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())


def _fitted_again(model: Any, recorded: Recorded) -> Release | None:
    """The release of a fresh copy from the recorded answers; None where it fails, for a reason that is not told."""
    fresh: Any = copy.deepcopy(model)
    if dataclasses.is_dataclass(model):
        fresh = replace(fresh)  # without what a fit may have hung on it
    population = Replayed(recorded)
    try:
        release: Release = fresh.fit(population)
    except Exception:  # whatever it is: without the ratings it must not fail
        return None
    return release if population.asked_all else None
