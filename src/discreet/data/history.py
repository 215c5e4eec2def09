"""One user's own ratings: all that a prediction needs besides the release."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.doors import checked, checked_methods
from discreet.errors import require
from discreet.types import Floats, Indices


@checked
@checked_methods
@dataclass(frozen=True, eq=False)
class History:
    """The ratings of one user, who needs no name.

    Parameters
    ----------
    catalogue
        The catalogue that ``items`` points into.
    items
        Positions of the rated items, increasing.
    values
        The rating of each.

    Examples
    --------
    >>> from discreet.data.catalogue import Catalogue, Scale
    >>> catalogue = Catalogue.of(["1", "2"], Scale(1, 5), titles=["Toy Story (1995)", "GoldenEye (1995)"])
    >>> History.of(catalogue, {"Toy Story (1995)": 5})
    History(1 rating)
    """

    catalogue: Catalogue
    items: Indices
    values: Floats

    def __post_init__(self) -> None:
        size, scale = len(self.catalogue), self.catalogue.scale
        for name in ("items", "values"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        require(self.items.shape == self.values.shape, "a history needs one value for each item")
        require(
            len(self.items) == 0
            or (bool(np.all(np.diff(self.items) > 0)) and self.items[0] >= 0 and self.items[-1] < size),
            "a history names each item once, in increasing order of position",
        )
        inside = (self.values >= scale.low) & (self.values <= scale.high)
        require(bool(inside.all()), f"a rating in the history is outside the scale {scale}")
        self.items.setflags(write=False)
        self.values.setflags(write=False)

    @classmethod
    def of(cls, catalogue: Catalogue, ratings: Mapping[str, float]) -> "History":
        """Build a history from titles or identifiers and their ratings."""
        require(
            isinstance(ratings, Mapping),
            f"ratings must map names of items to numbers, for example {{'Toy Story (1995)': 5}}, "
            f"got {type(ratings).__name__}",
        )
        require(
            all(isinstance(value, Real) and not isinstance(value, bool) for value in ratings.values()),
            "a rating in the history is not a number",
        )
        items = np.array([catalogue.find(name) for name in ratings], dtype=np.int32)
        require(len(np.unique(items)) == len(items), "the history names one item twice")
        values = np.array(list(ratings.values()), dtype=np.float32)
        order = np.argsort(items)
        return cls(catalogue, items[order], values[order])

    @classmethod
    def of_likes(cls, catalogue: Catalogue, names: Iterable[str]) -> "History":
        """Build a history in which every named item has the highest rating."""
        require(not isinstance(names, str), "names must be a list of titles or identifiers, got a single text")
        names = list(names)
        require(all(isinstance(name, str) for name in names), "names must be a list of titles or identifiers")
        return cls.of(catalogue, dict.fromkeys(names, catalogue.scale.high))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"History({len(self)} rating{'' if len(self) == 1 else 's'})"
