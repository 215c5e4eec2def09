"""Which items may be recommended: all but some, or only some, for example those in stock."""

from collections.abc import Iterable

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import require_text
from discreet.errors import InputError
from discreet.types import Booleans


def allowed_items(
    catalogue: Catalogue, exclude: Iterable[str] | None = None, only: Iterable[str] | None = None
) -> Booleans | None:
    """For each item of a catalogue whether it may be recommended; None where all may.

    Items go by identifier or title; a title stands for every item that has it. A name that the catalogue does not know
    changes nothing: a shop sells what no release has heard of.

    >>> from discreet.data.catalogue import Scale
    >>> catalogue = Catalogue.of(["1", "2", "3"], Scale(1, 5))
    >>> allowed_items(catalogue, exclude=["2"]).tolist(), allowed_items(catalogue, only=["3", "new"]).tolist()
    ([True, False, True], [False, False, True])
    """
    if exclude is None and only is None:
        return None
    allowed = np.ones(len(catalogue), dtype=np.bool_)
    if only is not None:
        allowed = _named(catalogue, only, "only")
        if not allowed.any():
            raise InputError("only names no item that the release knows, so there is nothing to recommend")
    if exclude is not None:
        allowed &= ~_named(catalogue, exclude, "exclude")
        if not allowed.any():
            raise InputError("exclude leaves no item of the release, so there is nothing to recommend")
    return allowed


def _named(catalogue: Catalogue, names: Iterable[str], argument: str) -> Booleans:
    if isinstance(names, str):
        raise InputError(f"{argument} must be a list of titles or identifiers, got a single text")
    try:
        wanted = set(names)
    except TypeError:
        raise InputError(f"{argument} must be a list of titles or identifiers, got {type(names).__name__}") from None
    for name in wanted:
        require_text(name, "item")
    found = np.zeros(len(catalogue), dtype=np.bool_)
    for name in wanted:
        if name in catalogue.items:
            found[catalogue.items.index(name)] = True
    others = {name for name in wanted if name not in catalogue.items}
    if others:
        found |= np.array([title in others for title in catalogue.titles.tolist()], dtype=np.bool_)
    return found
