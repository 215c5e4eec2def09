"""What may be in a release that promises something: numbers whose shape is explained by what is public."""

import dataclasses
import hashlib
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee
from discreet.types import AnyArray

SHORT = 64
"""Axes up to this length, and up to a whole-number setting, may be factors or values of a scale: they are let pass."""

CHECKED = "A replay of the noisy answers gave the same release, so nothing else went into it."
CHECKED_WITH_PRIOR = "A replay of the noisy answers gave the same release, so nothing else but its prior went into it."
UNCHECKED = "No replay has checked that it was computed from the noisy answers alone."
TOO_LARGE = f"{UNCHECKED[:-1]}: they take too much memory to repeat."
NOT_REPEATABLE = f"{UNCHECKED[:-1]}: the model computes something else from them each time."
CHANGED = (
    "it was changed after the fit, and whether by its noisy answers alone cannot be known; what was promised is about "
    "what the fit made"
)
_ABOUT_REPLAY = (CHECKED, CHECKED_WITH_PRIOR, UNCHECKED[:-1])
_OLDER = "That it was made of the answers to these looks alone"  # how these began in releases of before


def unreplayed(population: Population, guarantee: Guarantee) -> Guarantee:
    """What is promised, with the sentence that no replay checked it yet.

    What is made of reports needs none: it tells no more than they do, whatever it was made of.
    """
    answers = getattr(population, "answered", None) is not None
    return with_note_on_replay(guarantee, UNCHECKED) if answers else guarantee


def with_note_on_replay(guarantee: Guarantee, note: str) -> Guarantee:
    """The guarantee with this sentence about replay and no other; unchanged where nothing is proven."""
    if guarantee.proven is None:
        return guarantee
    others = tuple(known for known in guarantee.notes if not known.startswith((*_ABOUT_REPLAY, _OLDER)))
    return replace(guarantee, notes=(*others, note))


def checksum(release: Any) -> str:
    """Of what the promise of a release is about, and of the promise."""
    from discreet.releases.tuning import settings_hash

    about = release.arrays.digest, settings_hash(release.model), release.catalogue.fingerprint, release.spends
    return hashlib.sha256(repr((about, dict(release.sources), release.guarantee, release.note)).encode()).hexdigest()


def check_arrays(model: Any, population: Any, arrays: Mapping[str, AnyArray], proven: bool) -> None:
    """Raise unless every array is of numbers; in a release that promises something also finite, with public axes.

    An axis is public if it is as long as the list of items, as an axis of an answer, or at most as long as a
    whole-number setting of the model or :data:`SHORT`. This goes by public facts alone, not by how many users there
    are: whether it raises says nothing of them. It finds an array with a row for every user, not what is in the cells:
    that is for the replay (:mod:`discreet.fitting.replay`).
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype.kind not in "biuf":
            raise InputError(f"the array {name!r} does not hold numbers: a release is made of sums, which are numbers")
    answered = getattr(population, "answered", None)
    if not proven or answered is None:
        return
    explained = {len(population.catalogue)}.union(*answered)
    longest = max([SHORT, *_whole_settings(model)])
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"the array {name!r} holds what is no finite number, so nothing was released")
        for length in np.shape(array):
            if length > longest and length not in explained:
                raise InputError(
                    f"an axis of the array {name!r} is {length} long, which neither the items, nor the sums that were "
                    "answered, nor a setting of the model explain: nothing was released; make it a setting if it is one"
                )


def _whole_settings(model: Any) -> list[int]:
    if not dataclasses.is_dataclass(model):
        return []
    values = [getattr(model, field.name) for field in dataclasses.fields(model)]
    return [int(value) for value in values if isinstance(value, numbers.Integral)]
