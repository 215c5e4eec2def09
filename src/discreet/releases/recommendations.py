"""What is recommended: the best new items of each user, for a person to read or as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet import markup
from discreet.data.ratings import Ratings
from discreet.errors import library_for, require_whole
from discreet.kernels import few_users, ranking
from discreet.kernels.compiling import chosen
from discreet.printable import printable
from discreet.types import Booleans, Floats, Indices

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Reason:
    """One of the user's own ratings that carried a suggestion, and its share of the whole."""

    item: str
    title: str
    share: float


@dataclass(frozen=True)
class Suggestion:
    """One recommended item.

    >>> Suggestion("50", "Star Wars (1977)", 4.5).title
    'Star Wars (1977)'
    """

    item: str
    title: str
    score: float
    because: tuple[Reason, ...] = ()


class Recommendations(Sequence[Suggestion]):
    """Suggestions, best first; prints as a short list.

    Examples
    --------
    >>> found = Recommendations([Suggestion("50", "Star Wars (1977)", 4.5), Suggestion("1", "Toy Story (1995)", 4.25)])
    >>> found
      1. Star Wars (1977)
      2. Toy Story (1995)
    >>> found.to_frame().rows()
    [(1, '50', 'Star Wars (1977)', 4.5), (2, '1', 'Toy Story (1995)', 4.25)]
    """

    def __init__(self, suggestions: Sequence[Suggestion]) -> None:
        self._suggestions = tuple(suggestions)

    @overload
    def __getitem__(self, position: int) -> Suggestion: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Suggestion]: ...
    def __getitem__(self, position: int | slice) -> Suggestion | Sequence[Suggestion]:
        return self._suggestions[position]

    def __len__(self) -> int:
        return len(self._suggestions)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self._suggestions)

    def to_frame(self) -> "pl.DataFrame":
        """A polars frame with the columns rank, item, title and score.

        Where suggestions were explained, a column ``because`` lists the titles that carried each.
        """
        with library_for("tables"):
            import polars as pl

        rows = self._suggestions
        columns = [
            pl.Series("rank", range(1, len(rows) + 1), dtype=pl.Int32),
            pl.Series("item", [row.item for row in rows], dtype=pl.String),
            pl.Series("title", [row.title for row in rows], dtype=pl.String),
            pl.Series("score", [row.score for row in rows], dtype=pl.Float32),
        ]
        if any(row.because for row in rows):
            because = [[reason.title for reason in row.because] for row in rows]
            columns.append(pl.Series("because", because, dtype=pl.List(pl.String)))
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        lines = []
        for place, suggestion in enumerate(self._suggestions, start=1):
            why = ", ".join(f"{printable(reason.title)} ({reason.share:.0%})" for reason in suggestion.because)
            lines.append(f"{place:3}. {printable(suggestion.title)}" + (f"  because of {why}" if why else ""))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The list for a notebook, with its reasons where it has some."""
        explained = any(suggestion.because for suggestion in self._suggestions)
        rows = []
        for place, one in enumerate(self._suggestions, start=1):
            why = ", ".join(f"{reason.title} ({reason.share:.0%})" for reason in one.because)
            rows.append((str(place), one.title, f"{one.score:.3g}", *((why,) if explained else ())))
        columns = ("", "title", "score", *(("because of",) if explained else ()))
        return markup.box(markup.table(columns, rows, right=("", "score")))


def best_items(scores: Floats, masked: Sequence[Ratings], k: int, allowed: Booleans | None = None) -> Indices:
    """The ``k`` best ``allowed`` items of each user, best first, that none of ``masked`` holds; −1 where too few are.

    Equal scores: the lower position first, so that the same release always says the same.

    >>> best_items(np.array([[1, 3, 3, 2]], dtype=np.float32), [], 3).tolist()
    [[1, 2, 3]]
    """
    require_whole("k", k, least=1)
    changed = masked or allowed is not None or scores.dtype != np.float32
    own = np.array(scores, dtype=np.float32) if changed else np.ascontiguousarray(scores)
    if allowed is not None:
        own[:, ~allowed] = -np.inf
    for seen in masked:
        own[seen.user_index, seen.item_index] = -np.inf
    top_items = chosen(len(own), few_users.top_items, ranking.top_items)
    return top_items(own, min(int(k), own.shape[1]))
