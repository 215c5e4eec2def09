"""What is publicly known of items, as numbers: their genres and how old they are.

    genre g      1/√(how many genres the item has), so that an item of several is no louder than one of a single genre;
                 other tags (:mod:`discreet.data.tags`) likewise, each column of the table of items by itself
    year         tents over the catalogue's own years, so that a taste for old films can be told from one for new

An item without a year stands at the middle of every tent's average; a catalogue without genres and years has no
columns. Nothing here comes from a rating.
"""

from weakref import WeakKeyDictionary

import numpy as np

from discreet.data.catalogue import UNKNOWN_YEAR, Catalogue
from discreet.types import Doubles, Floats

AGES = 4
"""How many ages of items are told apart, if nothing else is said."""
_FOUND: WeakKeyDictionary[Catalogue, dict[int, Floats]] = WeakKeyDictionary()


def item_features(catalogue: Catalogue, ages: int = AGES) -> Floats:
    """The public features, one row an item; no columns where nothing is known. Computed once for each catalogue.

    >>> from discreet.data.catalogue import Scale
    >>> items = Catalogue.of(["a", "b", "c"], Scale(1, 5), genres=[["Drama"], ["Drama", "War"], []])
    >>> (item_features(items) ** 2).round(2).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    """
    found = _FOUND.setdefault(catalogue, {})
    if ages not in found:
        found[ages] = _features(catalogue, ages)
        found[ages].setflags(write=False)
    return found[ages]


def _features(catalogue: Catalogue, ages: int) -> Floats:
    genres = catalogue.item_genres.astype(np.float64)
    columns_of = np.array([name.partition(": ")[0] if ": " in name else "" for name in catalogue.genres], dtype=np.str_)
    for column in np.unique(columns_of):
        own = columns_of == column
        genres[:, own] /= np.sqrt(np.maximum(genres[:, own].sum(axis=1, keepdims=True), 1))
    columns = np.concatenate([genres, _tents(catalogue, ages)], axis=1)
    return np.asarray(columns[:, columns.any(axis=0)], dtype=np.float32)


def _tents(catalogue: Catalogue, ages: int) -> Doubles:
    """Piecewise linear in the year: 1 at one of the catalogue's quantiles, falling to 0 at the next on either side."""
    known = catalogue.years != UNKNOWN_YEAR
    if not known.any():
        return np.zeros((len(catalogue), 0))
    years = catalogue.years.astype(np.float64)
    knots = np.unique(np.quantile(years[known], np.linspace(0, 1, ages)))
    if len(knots) < 2:
        return np.zeros((len(catalogue), 0))
    tents = np.stack([np.interp(years, knots, row) for row in np.eye(len(knots))], axis=1)
    tents[~known] = tents[known].mean(axis=0)
    return tents
