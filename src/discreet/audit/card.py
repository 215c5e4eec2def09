"""All of a release but its arrays of numbers, as text: what a card would say, and arrays that are no numbers.

Names, notes, settings, the guarantee, the lines of the ledger, sources, the catalogue, names, shapes and types of all
arrays. Most of it should be the same in every run. What is not is compared part by part: which texts occur on which
side, and the numbers that stand in them.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.audit.learning import Sides, discriminate, telling_cells
from discreet.data.catalogue import Catalogue
from discreet.releases.release import Release
from discreet.strings import Strings

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
RARE = 5
"""A text that was seen less often says nothing."""
CERTAIN = 20
"""Runs on each side from which on "always this here, and always that there" is no accident: odds of 2⁻⁴⁰."""
MOST_TEXTS = 50_000
"""Texts whose numbers are remembered."""

Card = dict[str, str]


class Worded(NamedTuple):
    """A text without its numbers, and these."""

    words: str
    numbers: tuple[float, ...]


class Cards:
    """The cards of all runs on both sides."""

    def __init__(self) -> None:
        self._rows: tuple[list[Card], list[Card]] = ([], [])
        self._catalogue: tuple[Catalogue, Card] | None = None
        self._worded: dict[str, Worded] = {}

    def see(self, side: int, release: Release) -> None:
        """The card of one run."""
        if self._catalogue is None or self._catalogue[0] is not release.catalogue:
            self._catalogue = release.catalogue, catalogue_card(release.catalogue)
        card = release_card(release) | self._catalogue[1]
        known = self._rows[side][-1] if self._rows[side] else None
        self._rows[side].append(known if known == card else card)  # nearly always the same: it is kept once

    def varying(self) -> list[str]:
        """The parts that are not the same in all runs of both sides."""
        distinct = {id(card): card for side in self._rows for card in side}.values()
        names = dict.fromkeys(name for card in distinct for name in card)
        return [name for name in names if len({card.get(name) for card in distinct}) > 1]

    def faults(self) -> list[str]:
        """Parts that are the same in all runs of each side, and differ between the sides."""
        if min(map(len, self._rows)) < CERTAIN:
            return []
        found = []
        for name in self.varying():
            absent, present = ({card.get(name) for card in side} for side in self._rows)
            if len(absent) == len(present) == 1 and absent != present:
                found.append(f"{name} tells whether the canary is there, in every run: it is exact, and depends on it")
        return found

    def scores(self, learned: int) -> dict[str, Sides]:
        """What is learned from the first cards, and how the others score; nothing where all cards are the same."""
        names = self.varying()
        if not names:
            return {}
        scores = self._by_words(names, learned)
        numbers = self._numbers(names)
        if numbers is not None:
            cells = telling_cells(numbers[0][:learned], numbers[1][:learned], np.zeros(0, dtype=np.int64))
            if len(cells):
                rows = list(numbers[0][:, cells]), list(numbers[1][:, cells])
                scores |= discriminate("learned from the numbers on the card", rows, learned)
        return scores

    def _by_words(self, names: Sequence[str], learned: int) -> dict[str, Sides]:
        """The log-odds of every text, as often as it was seen on either side, added up."""
        total = [np.zeros(len(side) - learned) for side in self._rows]
        for name in names:
            texts = [[card.get(name, "") for card in side] for side in self._rows]
            seen = [Counter(side[:learned]) for side in texts]
            odds = {
                text: np.log((seen[1][text] + 0.5) / (seen[0][text] + 0.5))
                for text in seen[0] | seen[1]
                if seen[0][text] + seen[1][text] >= RARE
            }
            for side in range(2):
                total[side] += np.array([odds.get(text, 0.0) for text in texts[side][learned:]])
        return {"learned from the text of the card": (total[0], total[1])}

    def _numbers(self, names: Sequence[str]) -> Sides | None:
        """The numbers in all texts, run by run, where there are as many in each run."""
        columns = []
        for name in names:
            sides = [[self._read(card.get(name, "")).numbers for card in side] for side in self._rows]
            if len({len(row) for side in sides for row in side}) == 1:
                columns.append([np.array(side, dtype=np.float64) for side in sides])
        if not columns:
            return None
        absent, present = (np.concatenate([column[side] for column in columns], axis=1) for side in range(2))
        varies = np.concatenate([absent, present]).std(axis=0) > 0
        return (absent[:, varies], present[:, varies]) if varies.any() else None

    def _read(self, text: str) -> Worded:
        if text not in self._worded:
            if len(self._worded) > MOST_TEXTS:
                self._worded.clear()
            self._worded[text] = worded(text)
        return self._worded[text]


def worded(text: str) -> Worded:
    """A text and the numbers in it.

    >>> worded("100,000 ratings, 3.5 on average")
    Worded(words='#,# ratings, # on average', numbers=(100.0, 0.0, 3.5))
    """
    numbers = tuple(min(float(number), 1e300) for number in NUMBER.findall(text))
    return Worded(NUMBER.sub("#", text), numbers)


def release_card(release: Release) -> Card:
    """Every part of a release but the catalogue and the arrays of numbers."""
    card = {
        "the note": release.note,
        "the model with its settings": repr(release.model),
        "the guarantee": repr(release.guarantee),
        "the number of lines in the ledger": str(len(release.spends)),
        "the list of sources": repr(sorted(release.sources.items())),
        "the list of arrays": repr([(name, *_form(release.arrays[name])) for name in sorted(release.arrays)]),
    }
    for place, spend in enumerate(release.spends, start=1):
        card[f"line {place} of the ledger"] = repr(spend)
    for name, array in release.arrays.items():
        if array.dtype.kind not in "biuf":
            card[f"the array {name!r}"] = _text_of(array)
    return card


def catalogue_card(catalogue: Catalogue) -> Card:
    """Every part of a catalogue."""
    card = {"the description of the catalogue": repr((catalogue.scale, catalogue.genres, catalogue.declared))}
    for name, column in catalogue.columns().items():
        card[f"the column {name!r} of the catalogue"] = _text_of(column)
    return card


def _form(array: np.ndarray) -> tuple[str, tuple[int, ...]]:
    return array.dtype.str, array.shape


SHORT = 200
"""Entries of an array that are written out, so that the numbers in them can be read."""


def _text_of(array: np.ndarray | Strings) -> str:
    """The whole array: its own words where it is short, else a digest of its bytes."""
    if isinstance(array, Strings):
        content = array.bytes.tobytes() + array.offsets.tobytes()
        return repr(array.tolist()) if array.size <= SHORT else f"{array.size} {hashlib.sha256(content).hexdigest()}"
    if array.size <= SHORT or array.dtype.kind == "O":
        return repr((*_form(array), array.tolist()))
    return f"{_form(array)} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"
