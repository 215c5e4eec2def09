"""One user's own ratings: all that a prediction needs besides the release."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.doors import checked, checked_methods
from discreet.errors import require
from discreet.types import AnyArray, Floats, Indices


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
    facts
        What the user says of themselves, by name: ``age``, ``gender``, ``occupation``. Some models recommend from these
        where there are no ratings yet.

    Examples
    --------
    >>> from discreet.data.catalogue import Catalogue, Scale
    >>> catalogue = Catalogue.of(["1", "2"], Scale(1, 5), titles=["Toy Story (1995)", "GoldenEye (1995)"])
    >>> History.of(catalogue, {"Toy Story (1995)": 5})
    History(1 rating)
    >>> History.of(catalogue, {}, facts={"age": 31, "occupation": "writer"})
    History(0 ratings)
    """

    catalogue: Catalogue
    items: Indices
    values: Floats
    facts: Mapping[str, str | int] = field(default_factory=dict)

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
    def of(
        cls, catalogue: Catalogue, ratings: Mapping[str, float], facts: Mapping[str, str | int] | None = None
    ) -> "History":
        """Build a history from titles or identifiers and their ratings, and perhaps facts about the user."""
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
        return cls(catalogue, items[order], values[order], dict(facts or {}))

    @classmethod
    def of_likes(cls, catalogue: Catalogue, names: Iterable[str]) -> "History":
        """Build a history in which every named item has the highest rating."""
        require(not isinstance(names, str), "names must be a list of titles or identifiers, got a single text")
        names = list(names)
        for name in names:
            catalogue.find(name)  # says it if one is no text
        return cls.of(catalogue, dict.fromkeys(names, catalogue.scale.high))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"History({len(self)} rating{'' if len(self) == 1 else 's'})"


def facts_of(histories: Sequence[History]) -> dict[str, AnyArray]:
    """Every fact that somebody told, one entry a history: empty text, or 0, where nobody did.

    >>> from discreet.data.catalogue import Catalogue, Scale
    >>> catalogue = Catalogue.of(["1"], Scale(1, 5))
    >>> facts_of([History.of(catalogue, {}, {"age": 31}), History.of(catalogue, {})])["age"].tolist()
    [31, 0]
    """
    names = dict.fromkeys(name for history in histories for name in history.facts)
    columns = {}
    for name in names:
        told = [history.facts.get(name) for history in histories]
        whole = all(value is None or isinstance(value, int | np.integer) for value in told)
        none = 0 if whole else ""
        columns[name] = np.array([none if value is None else value for value in told], dtype=None if whole else np.str_)
    return columns
