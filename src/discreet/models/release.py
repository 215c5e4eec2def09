"""What a fit returns: everything that leaves the ratings, and nothing about any user."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, overload, runtime_checkable

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Floats, Indices

BATCH_CELLS = 16_000_000  # scores held at once: 64 MB


@runtime_checkable
class Model(Protocol):
    """Settings, and two pure functions; ``fit`` comes beside them (its argument differs)."""

    def score(self, release: "Release", histories: Ratings) -> Floats:
        """Ranking scores, users by items, for a batch of histories. Higher is better."""
        ...


@runtime_checkable
class RatingModel(Model, Protocol):
    """A model that also says what rating a user would give."""

    def predict(self, release: "Release", histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair, not yet clipped to the scale."""
        ...


@runtime_checkable
class ExplainingModel(Model, Protocol):
    """A model that can say which of a user's own ratings carried a suggestion."""

    def explain(self, release: "Release", history: History, item: int) -> Floats:
        """What each rating of the history added to the score of ``item``."""
        ...


@dataclass(frozen=True)
class Reason:
    """One of the user's own ratings that carried a suggestion, and its share of the whole."""

    item: str
    title: str
    share: float


@dataclass(frozen=True)
class Suggestion:
    """One recommended item."""

    item: str
    title: str
    score: float
    because: tuple[Reason, ...] = ()


class Recommendations(Sequence[Suggestion]):
    """Suggestions, best first; prints as a short list."""

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

    def __repr__(self) -> str:
        lines = []
        for place, suggestion in enumerate(self._suggestions, start=1):
            why = ", ".join(f"{reason.title} ({reason.share:.0%})" for reason in suggestion.because)
            lines.append(f"{place:3}. {suggestion.title}" + (f"  because of {why}" if why else ""))
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Release:
    """The outcome of a fit: item-side arrays, the public catalogue and the guarantee. It holds no user.

    Parameters
    ----------
    model
        The settings it was fitted with; they know how to score.
    arrays
        What was learned, by name. Every axis is items or factors, never users.
    catalogue
        The public items.
    guarantee
        What is promised to the users whose ratings were used.
    spends
        Every look at the ratings that went into it: the lines of the ledger.
    sources
        For each array, which of these looks it was made from. A proven guarantee needs them for every array: a
        release whose ledger does not cover something it contains cannot be built as proven.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    >>> release.score(ratings.history_at(0)).shape
    (30,)
    >>> len(release.recommend(ratings.history_at(0), k=3))
    3
    """

    model: Model
    arrays: Mapping[str, AnyArray]
    catalogue: Catalogue
    guarantee: Guarantee
    spends: tuple[Spend, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in self.arrays.values():
            array.setflags(write=False)
        if self.guarantee.proven is None:
            return
        booked = {spend.what for spend in self.spends}
        for name in self.arrays:
            sources = self.sources.get(name, ())
            if not sources or not booked.issuperset(sources):
                raise InputError(
                    f"the array {name!r} is not covered by the ledger, so this release cannot promise anything; "
                    "make it from the sums of a population, or release it without a guarantee"
                )

    @classmethod
    def of(cls, model: Model, population: Population, arrays: Mapping[str, AnyArray]) -> "Release":
        """What a model made of a population's answers, and of nothing else: so every look covers every array."""
        spends = population.spends
        looks = tuple(dict.fromkeys(spend.what for spend in spends))
        sources = dict.fromkeys(arrays, looks)
        return cls(model, arrays, population.catalogue, population.guarantee, spends, sources)

    @property
    def predicts_ratings(self) -> bool:
        """Whether :meth:`predict` works, or the model only ranks."""
        return isinstance(self.model, RatingModel)

    def score(self, history: History) -> Floats:
        """Ranking score of every item for one user, from that user's own ratings. Higher is better."""
        scores: Floats = self.scores(Ratings.of_history(history))[0]
        return scores

    def scores(self, histories: Ratings) -> Floats:
        """Ranking scores for many users at once, users by items.

        The result is dense: pass a batch of users (see :meth:`batches`) when there are many.
        """
        self.catalogue.require_same(histories.catalogue)
        return self.model.score(self, histories)

    def batches(self, histories: Ratings) -> Iterator[tuple[int, Floats]]:
        """Scores of all users, a bounded block at a time: ``(position of the first user, scores)``."""
        size = max(1, BATCH_CELLS // max(1, len(self.catalogue)))
        for first in range(0, histories.n_users, size):
            block = np.arange(first, min(first + size, histories.n_users))
            yield first, self.scores(histories.select_users(block))

    def predict(self, histories: Ratings, users: AnyArray, items: AnyArray) -> Floats:
        """The expected rating of each pair (position of a user in ``histories``, position of an item)."""
        if not isinstance(self.model, RatingModel):
            raise InputError(f"{type(self.model).__name__} ranks items and does not predict ratings")
        self.catalogue.require_same(histories.catalogue)
        users, items = np.asarray(users, dtype=np.int32), np.asarray(items, dtype=np.int32)
        require(users.shape == items.shape, "predict needs as many users as items")
        scale = self.catalogue.scale
        predicted = self.model.predict(self, histories, users, items)
        return np.clip(predicted, scale.low, scale.high).astype(np.float32)

    def recommend(self, history: History, k: int = 10, *, explain: bool = False) -> Recommendations:
        """The ``k`` best items that the history does not hold, best first.

        With ``explain=True`` each names the user's own ratings that carried it (neighbour models only).
        """
        require(k >= 1, f"k must be at least 1, got {k}")
        if explain and not isinstance(self.model, ExplainingModel):
            raise InputError(
                f"{type(self.model).__name__} cannot explain its suggestions; neighbour models can, for example Cosine"
            )
        scores = self.score(history).astype(np.float64)
        scores[history.items] = -np.inf
        # Ties fall to the lower position, so that the same release always says the same.
        best = np.lexsort((np.arange(len(scores)), -scores))[: min(k, len(scores) - len(history))]
        return Recommendations(
            [
                Suggestion(
                    item=self.catalogue.items[int(item)],
                    title=str(self.catalogue.titles[item]),
                    score=float(scores[item]),
                    because=self._reasons(history, int(item)) if explain else (),
                )
                for item in best
            ]
        )

    def _reasons(self, history: History, item: int, most: int = 3) -> tuple[Reason, ...]:
        assert isinstance(self.model, ExplainingModel)
        added = np.asarray(self.model.explain(self, history, item), dtype=np.float64)
        carried = np.maximum(added, 0)
        if not carried.any():
            return ()
        order = np.argsort(-carried, kind="stable")[:most]
        return tuple(
            Reason(
                item=self.catalogue.items[int(history.items[row])],
                title=str(self.catalogue.titles[history.items[row]]),
                share=float(carried[row] / carried.sum()),
            )
            for row in order
            if carried[row] > 0
        )

    def save(self, folder: str | Path) -> None:
        """Write the release into a folder, whole or not at all; an existing release there is replaced."""
        from discreet.models.storage import save

        save(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> "Release":
        """Read a release that :meth:`save` wrote; checks version, names, shapes, types and checksum."""
        from discreet.models.storage import load

        return load(Path(folder))
