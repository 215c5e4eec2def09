"""Finding items by what people type."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

MOST_LOOKED_AT = 5000
"""Titles that hold the rarest word of a search: past so many nobody would read on."""
END = "\n"


def folded(text: str) -> str:
    """Text without case, accents and punctuation, as it is searched.

    >>> folded("Amélie, Le Fabuleux…  (2001)")
    'amelie le fabuleux 2001'
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(letter if letter.isalnum() else " " for letter in plain if not unicodedata.combining(letter))
    return " ".join(kept.split())


class Search:
    """All titles as one text, in which a word is found without looking at each.

    Examples
    --------
    >>> search = Search(["Toy Story (1995)", "Toys (1992)", "The Story of Us (1999)", "Léon (1994)"])
    >>> search.find("story", 10), search.find("toy", 10), search.find("LEON", 10), search.find("us story", 10)
    ([0, 2], [0, 1], [3], [2])
    """

    def __init__(self, titles: Sequence[str]) -> None:
        lines = [f" {folded(title)} " for title in titles]
        self._text = END.join(lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)][: len(lines)]

    def find(self, words: str, limit: int) -> list[int]:
        """Positions of the best titles: with every word, those that begin with them first, then the shorter ones."""
        wanted = folded(words)
        parts = [f" {part}" for part in wanted.split()]
        if not parts:
            return list(range(min(limit, len(self._starts))))
        found = []
        for place in self._with(max(parts, key=len)):
            line = self._line(place)
            if all(part in line for part in parts):
                begins, whole = line.startswith(f" {wanted}"), f" {wanted} " in line
                found.append((not (begins and whole), not begins, not whole, len(line), place))
        return [place for *_, place in sorted(found)[:limit]]

    def _line(self, place: int) -> str:
        end = self._starts[place + 1] - 1 if place + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[place] : end]

    def _with(self, part: str) -> list[int]:
        """Positions of the titles that hold a part, in order."""
        places: list[int] = []
        at = self._text.find(part)
        while at >= 0 and len(places) < MOST_LOOKED_AT:
            place = bisect_right(self._starts, at) - 1
            places.append(place)
            if place + 1 == len(self._starts):
                break
            at = self._text.find(part, self._starts[place + 1] - 1)
        return places
