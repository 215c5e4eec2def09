"""What is public: the items, what is known about them, and the declared rating scale."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from discreet.data.labels import Labels, counted, require_text
from discreet.data.prior import ItemPrior
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, UnknownNameError, require
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans

UNKNOWN_YEAR = 0
LARGEST_RATING, SMALLEST_WIDTH = 1e9, 1e-9
"""So sums, squares and quotients of ratings stay far from what a number can hold."""
SAMPLED = 64
"""Items of a list by which it is known again."""
_RANGE = re.compile(r"(.*): (up to|above) (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)")


@checked
@checked_methods
@dataclass(frozen=True)
class Scale:
    """The range that ratings are declared to lie in; it is stated, never read off the data.

    Examples
    --------
    >>> Scale(1, 5).middle
    3.0
    >>> print(Scale(0.5, 5))
    0.5 to 5

    Data without ratings (clicks, plays) have a scale of one value, :data:`IMPLICIT`: that something happened.

    >>> IMPLICIT.implicit, IMPLICIT.high, Scale(1, 5).implicit
    (True, 1.0, False)
    """

    low: float
    high: float
    implicit: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.implicit:
            require(self.low == self.high == 1, "data without ratings have the scale Scale(1, 1, implicit=True)")
            return
        require(
            math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high,
            f"a rating scale needs two finite numbers, low below high, got {self.low} and {self.high}",
        )
        largest = max(abs(self.low), abs(self.high))
        require(
            largest <= LARGEST_RATING,
            f"the rating scale {self} goes too far: sums of such ratings overflow; at most {LARGEST_RATING:g}",
        )
        require(
            self.width >= max(SMALLEST_WIDTH, largest * 2.0**-20),
            f"the rating scale {self} is too narrow: seven digits of a rating are kept, too few to tell its ends apart",
        )

    @property
    def middle(self) -> float:
        """The centre of the scale: a public constant to centre ratings with."""
        return (self.low + self.high) / 2

    @property
    def width(self) -> float:
        """High minus low: how far one rating can move. Without ratings 1, so that nothing is divided by 0."""
        return 1.0 if self.implicit else self.high - self.low

    @classmethod
    def of_ends(cls, low: float, high: float) -> "Scale":
        """As it was saved: one value alone says that there are no ratings."""
        return cls(low, high, implicit=low == high == 1)

    @classmethod
    def parse(cls, text: str) -> "Scale":
        """Read ``"1:5"``, as the command line writes it."""
        try:
            low, high = (float(part) for part in text.split(":"))
        except ValueError:
            raise InputError(f"a rating scale is written LOW:HIGH, for example 1:5, got {text!r}") from None
        return cls(low, high)

    def __str__(self) -> str:
        return "none (no ratings)" if self.implicit else f"{self.low:g} to {self.high:g}"


IMPLICIT = Scale(1, 1, implicit=True)
"""The scale of data without ratings."""


@checked
@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Catalogue:
    """The public list of items.

    Parameters
    ----------
    items
        Their identifiers.
    scale
        The declared rating scale.
    titles
        What people call them; the identifiers where nothing better is known.
    genres
        Names of the genres, the columns of ``item_genres``.
    item_genres
        For each item and genre, whether the item belongs to it.
    years
        Year of each item, 0 where it is not known.
    declared
        Whether whoever made the list says that it is public: that it was made without looking at the ratings. A list
        that was read off the ratings tells what was rated, and nothing that carries it is private. This cannot be seen
        from the list, so without a word it is taken for such a one.
    published
        Of which data set this is the published list, known by its checksum (:mod:`discreet.data.known_lists`); empty
        where ``declared`` is somebody's word. It is not saved with a release.
    tags_from
        How each column of the table of items became tags, in words. It is not saved with a release.
    prior
        What another release says of these items (:func:`discreet.releases.with_prior`). It is not saved with a release.

    Examples
    --------
    >>> titles = ["Toy Story (1995)", "GoldenEye (1995)"]
    >>> catalogue = Catalogue.of(["1", "2"], Scale(1, 5), titles=titles, declared=True)
    >>> catalogue.find("Toy Story (1995)")
    0
    >>> catalogue
    Catalogue(2 items, scale 1 to 5)
    >>> Catalogue.of(["1", "2"], Scale(1, 5))
    Catalogue(2 items, scale 1 to 5, not declared)
    """

    items: Labels
    scale: Scale
    titles: Strings
    genres: tuple[str, ...] = ()
    item_genres: Booleans = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    years: NDArray[np.int16] = field(default_factory=lambda: np.zeros(0, dtype=np.int16))
    declared: bool = field(default=False, kw_only=True)
    published: str = field(default="", kw_only=True)
    tags_from: tuple[str, ...] = field(default=(), kw_only=True)
    prior: ItemPrior | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        size = len(self.items)
        object.__setattr__(self, "genres", tuple(self.genres))
        for name in ("item_genres", "years"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        object.__setattr__(self, "titles", Strings.of(self.titles))
        require(self.titles.shape == (size,), f"the catalogue has {size} items but {len(self.titles)} titles")
        if not self.genres:
            object.__setattr__(self, "item_genres", np.zeros((size, 0), dtype=np.bool_))
        if self.years.size == 0:
            object.__setattr__(self, "years", np.full(size, UNKNOWN_YEAR, dtype=np.int16))
        require(
            self.item_genres.shape == (size, len(self.genres)) and self.years.shape == (size,),
            f"genres and years must have one row for each of the {size} items",
        )
        for column in (self.item_genres, self.years):
            column.setflags(write=False)

    @classmethod
    def of(
        cls,
        items: Iterable[str],
        scale: Scale,
        *,
        titles: Sequence[str] | None = None,
        genres: Sequence[Sequence[str]] | None = None,
        years: Sequence[int] | None = None,
        declared: bool = False,
        published: str = "",
        tags_from: tuple[str, ...] = (),
    ) -> "Catalogue":
        """Build a catalogue from plain lists, one entry an item; ``declared`` says that the list is public."""
        labels = Labels.of(items, what="item")
        if genres is not None and len(genres) != len(labels):
            raise InputError(f"genres must have one row for each of the {len(labels)} items, got {len(genres)}")
        genres = () if genres is None else list(genres)
        names = tuple(sorted({genre for row in genres for genre in row}))
        columns = {genre: column for column, genre in enumerate(names)}
        matrix = np.zeros((len(labels), len(names)), dtype=np.bool_)
        for row, own in enumerate(genres):
            matrix[row, [columns[genre] for genre in own]] = True
        return cls(
            items=labels,
            scale=scale,
            titles=labels.names if titles is None else Strings.of(titles),
            genres=names,
            item_genres=matrix,
            years=np.zeros(0, dtype=np.int16) if years is None else np.array(years, dtype=np.int16),
            declared=declared,
            published=published,
            tags_from=tags_from,
        )

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        origin = "" if self.declared else ", not declared"
        scale = "no ratings" if self.scale.implicit else f"scale {self.scale}"
        return f"Catalogue({counted(len(self), 'item')}, {scale}{origin})"

    @cached_property
    def _by_title(self) -> dict[str, int]:
        titles = self.titles.tolist()  # several items may share a title: the first one answers to it
        return {titles[position]: position for position in reversed(range(len(titles)))}

    def find(self, name: str) -> int:
        """Position of an item, by its title or its identifier."""
        require_text(name, "item")
        if name in self._by_title:
            return self._by_title[name]
        if name in self.items:
            return self.items.index(name)
        raise UnknownNameError.among("item", name, self._by_title)

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of what the catalogue says: equal catalogues have equal fingerprints, wherever they came from."""
        digest = hashlib.sha256(f"{self.scale.low}:{self.scale.high}:{self.genres}".encode())
        for column in self.columns().values():
            digest.update("\x1f".join(column).encode() if isinstance(column, Strings) else column.tobytes())
        return digest.hexdigest()

    @cached_property
    def sample(self) -> str:
        """What the list says of a few items, in hashes: a list that grew by a few items says nearly the same.

        It goes by tags and years, as models do. Ranges of a number move with the list: their order counts.
        """
        found = [(match, name) for name in self.genres if (match := _RANGE.fullmatch(name))]
        ranges = sorted(found, key=lambda each: (each[0][1], each[0][2] == "above", float(each[0][3])))
        tags = {name: f"{match[1]} {place}" for place, (match, name) in enumerate(ranges)}

        def digest(text: str) -> str:
            return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()

        chosen = nsmallest(SAMPLED, ((digest(name), name, place) for place, name in enumerate(self.items)))
        said = []
        for _, name, place in chosen:
            own = [self.genres[column] for column in np.flatnonzero(self.item_genres[place])]
            said.append(digest(json.dumps([name, sorted(tags.get(tag, tag) for tag in own), int(self.years[place])])))
        return " ".join(said)

    def columns(self) -> dict[str, Strings | AnyArray]:
        """What makes up the catalogue, for saving."""
        return {
            "items": self.items.names,
            "titles": self.titles,
            "item_genres": self.item_genres,
            "years": self.years,
        }

    def require_same(self, other: "Catalogue") -> None:
        """Raise unless ``other`` is the same catalogue."""
        if self is not other and self.fingerprint != other.fingerprint:
            raise InputError(
                f"these belong to different catalogues ({len(self)} and {len(other)} items): "
                "read the history against the catalogue of the release"
            )
