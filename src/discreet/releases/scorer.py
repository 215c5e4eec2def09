"""A release made ready to serve: what does not depend on a user is prepared once, then any number of users may ask."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError, library_for, require, require_type, require_whole
from discreet.printable import printable
from discreet.releases.contract import ExplainingManyModel, ExplainingModel, Model, PreparingModel, RatingModel
from discreet.releases.recommendations import Reason, Recommendations, Suggestion, best_items
from discreet.releases.stock import allowed_items
from discreet.types import AnyArray, Floats, Indices

if TYPE_CHECKING:
    import polars as pl

    from discreet.releases.release import Release

BATCH_CELLS = 16_000_000  # scores held at once: 64 MB
MOST_REASONS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """Scores, predicts, recommends and explains for any number of users. It holds no user, and needs numpy alone.

    :meth:`discreet.Release.scorer` makes one, once for a release. Threads may share it.

    Parameters
    ----------
    model
        The settings of the release.
    catalogue
        Its items.
    prepared
        What the model made of the release (:mod:`discreet.releases.contract`).

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> scorer = dc.Cosine().fit(dc.NoPrivacy(ratings)).scorer()
    >>> [len(scorer.recommend(ratings.history_at(user), k=3)) for user in range(3)]
    [3, 3, 3]
    """

    model: Model
    catalogue: Catalogue
    prepared: Any

    @classmethod
    def of(cls, release: "Release") -> "Scorer":
        """Prepare a release."""
        model = release.model
        with _computing(model):
            prepared = model.prepare(release) if isinstance(model, PreparingModel) else release
        return cls(model, release.catalogue, prepared)

    def __repr__(self) -> str:
        return f"Scorer({type(self.model).__name__}, {len(self.catalogue):,} items)"

    @property
    def predicts_ratings(self) -> bool:
        """Whether :meth:`predict` works, or the model only ranks, or there were no ratings to learn from."""
        return isinstance(self.model, RatingModel) and not self.catalogue.scale.implicit

    # ── One user ──

    def score(self, history: History) -> Floats:
        """Ranking score of every item for one user, from that user's own ratings. Higher is better."""
        require_type(history, History, "score takes the History of one user, for example ratings.history('42')")
        scores: Floats = self.scores(Ratings.of_history(history))[0]
        return scores

    def recommend(
        self,
        history: History,
        k: int = 10,
        *,
        explain: bool = False,
        exclude: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
    ) -> Recommendations:
        """The ``k`` best items that the history does not hold, best first.

        With ``explain=True`` each names the user's own ratings that carried it (not every model can). ``exclude`` and
        ``only`` name items, by identifier or title, that must not be recommended, or that alone may be.
        """
        require_type(
            history,
            History,
            "recommend takes the History of one user, for example ratings.history('42') "
            "(recommend_many takes the Ratings of many)",
        )
        if explain:
            self._require_explaining()
        require_whole("k", k, least=1)
        allowed = allowed_items(self.catalogue, exclude, only)
        alone = Ratings.of_history(history)
        scores = self.scores(alone)
        best = best_items(scores, [alone], k, allowed)[0]
        best = best[best >= 0]
        reasons = self.reasons(history, best) if explain else [()] * len(best)
        return Recommendations(
            [
                Suggestion(
                    item=self.catalogue.items[int(item)],
                    title=str(self.catalogue.titles[item]),
                    score=float(scores[0, item]),
                    because=because,
                )
                for item, because in zip(best, reasons, strict=True)
            ]
        )

    def similar(self, item: str, k: int = 10, *, only: Iterable[str] | None = None) -> Recommendations:
        """The ``k`` items that liking an item speaks for most: see :meth:`discreet.Release.similar`."""
        from discreet.releases.similar import similar_items

        return similar_items(self, item, k, allowed_items(self.catalogue, None, only))

    def explain(self, history: History, item: str) -> tuple[Reason, ...]:
        """The own ratings that carry the score of an item, named by title or identifier; the strongest first."""
        self._check_history(history, "explain")
        return self.reasons(history, np.array([self.catalogue.find(item)], dtype=np.int32))[0]

    def reasons(self, history: History, items: AnyArray) -> list[tuple[Reason, ...]]:
        """For each of some items, by position, the own ratings that carry its score; the strongest first."""
        self._check_history(history, "reasons")
        self._require_explaining()
        items = _positions("items", items, len(self.catalogue), "the catalogue")
        if isinstance(self.model, ExplainingManyModel) and len(items) > 0:
            with _computing(self.model):
                shares = list(self.model.explain_many(self.prepared, history, items))
        else:
            shares = [self.shares(history, int(item)) for item in items]
        strongest = [_strongest(row) for row in shares]
        used = {row: int(history.items[row]) for carried in strongest for row, _ in carried}
        names = {row: (self.catalogue.items[item], str(self.catalogue.titles[item])) for row, item in used.items()}
        return [tuple(Reason(*names[row], share) for row, share in carried) for carried in strongest]

    def shares(self, history: History, item: int) -> Floats:
        """What each rating of a history adds to the score of the item at a position."""
        self._check_history(history, "shares")
        self._require_explaining()
        require(0 <= item < len(self.catalogue), "there is no item at that position")
        assert isinstance(self.model, ExplainingModel)
        with _computing(self.model):
            return self.model.explain(self.prepared, history, item)

    # ── Many users ──

    def scores(self, histories: Ratings, *, finite: bool = True) -> Floats:
        """Ranking scores for many users at once, users by items; ``finite`` as in :meth:`predict`.

        The result is dense: pass a batch of users (see :meth:`batches`) when there are many.
        """
        self.check_histories(histories)
        with _computing(self.model):
            scores = self.model.score(self.prepared, histories)
        if finite:
            self._require_scores(scores)
        return scores

    def batches(self, histories: Ratings, *, finite: bool = True) -> Iterator[tuple[int, Floats]]:
        """Scores of all users, a bounded block at a time: ``(position of the first user, scores)``."""
        self.check_histories(histories)
        size = max(1, BATCH_CELLS // max(1, len(self.catalogue)))
        for first in range(0, histories.n_users, size):
            block = np.arange(first, min(first + size, histories.n_users))
            yield first, self.scores(histories.select_users(block), finite=finite)

    def predict(self, histories: Ratings, users: AnyArray, items: AnyArray, *, finite: bool = True) -> Floats:
        """The expected rating of each pair (position of a user in ``histories``, position of an item).

        Without ``finite`` what is no number is given back as it is: for sums that must not fail for one user's ratings.
        """
        if not isinstance(self.model, RatingModel):
            raise InputError(f"{type(self.model).__name__} ranks items and does not predict ratings")
        require(not self.catalogue.scale.implicit, "this release was made without ratings: it ranks, and predicts none")
        self.check_histories(histories)
        users = _positions("users", users, histories.n_users, "the histories")
        items = _positions("items", items, len(self.catalogue), "the catalogue")
        require(users.shape == items.shape, "predict needs as many users as items")
        scale = self.catalogue.scale
        with _computing(self.model):
            predicted = self.model.predict(self.prepared, histories, users, items)
        if finite:
            self._require_scores(predicted)
        return np.clip(predicted, scale.low, scale.high).astype(np.float32)

    def recommend_many(
        self,
        histories: Ratings,
        k: int = 10,
        *,
        exclude: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        engine: str = "numba",
    ) -> "pl.DataFrame":
        """The ``k`` best new items of every user, as a table: see :meth:`discreet.Release.recommend_many`."""
        with library_for("tables"):
            from discreet.releases.frames import recommend_many

        return recommend_many(self, histories, k, allowed_items(self.catalogue, exclude, only), engine)

    def predict_frame(
        self, histories: Ratings, pairs: Any, *, user: str = "user", item: str = "item"
    ) -> "pl.DataFrame":
        """The expected rating of each row of a table: see :meth:`discreet.Release.predict_frame`."""
        with library_for("tables"):
            from discreet.releases.frames import predict_frame

        return predict_frame(self, histories, pairs, user, item)

    # ── Checks ──

    def check_histories(self, histories: Ratings) -> None:
        """Raise unless these are ratings of the items that the release knows."""
        require_type(
            histories, Ratings, "histories must be Ratings, with Ratings.of_history(history) for a single user"
        )
        self.catalogue.require_same(histories.catalogue)

    def _check_history(self, history: History, method: str) -> None:
        require_type(history, History, f"{method} takes the History of one user, for example ratings.history('42')")
        self.catalogue.require_same(history.catalogue)

    def _require_scores(self, scores: Floats) -> None:
        """Raise where a score is not a number or infinitely high: numbers in a release may be finite and too large."""
        highest = scores.max() if scores.size else 0.0
        if not highest < np.inf:
            raise InputError(
                f"{type(self.model).__name__} computes what is no finite number from this release: its arrays or "
                "settings are too large, or damaged"
            )

    def _require_explaining(self) -> None:
        if not isinstance(self.model, ExplainingModel):
            raise InputError(
                f"{type(self.model).__name__} cannot explain its suggestions; Almanac and neighbour models can"
            )


def _strongest(shares: Floats) -> list[tuple[int, float]]:
    """The ratings that carry most of a score, by their place in the history, each with its share of the whole."""
    carried = np.maximum(np.asarray(shares, dtype=np.float64), 0)
    whole = float(carried.sum())
    if whole == 0:
        return []
    order = np.argsort(-carried, kind="stable")[:MOST_REASONS].tolist()
    return [(row, float(carried[row]) / whole) for row in order if carried[row] > 0]


@contextmanager
def _computing(model: Model) -> Iterator[None]:
    """Within, what goes wrong because of a release's numbers is one sentence; the cause stays with it."""
    try:
        with np.errstate(all="ignore"):  # what comes out is checked
            yield
    except DiscreetError:
        raise
    except Exception as error:  # also of numba, where an array is of a type that a kernel does not take
        why = printable(str(error).partition("\n")[0]) or type(error).__name__
        raise InputError(
            f"{type(model).__name__} cannot compute with the settings and arrays of this release: {why:.300}"
        ) from error


def _positions(what: str, values: Any, size: int, where: str) -> Indices:
    """Checked positions: what lies outside would be read from foreign memory by the kernels."""
    try:
        positions = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} must be one list of positions in {where}") from None
    require(positions.ndim == 1, f"{what} must be one list of positions in {where}")
    if len(positions) == 0:
        return np.zeros(0, dtype=np.int32)
    require(
        positions.dtype.kind in "iu",
        f"{what} must be positions in {where}, whole numbers from 0 on; predict_frame takes names",
    )
    inside = positions.min() >= 0 and positions.max() < size
    require(bool(inside), f"some of the {what} are positions outside {where}; predict_frame takes names")
    return positions.astype(np.int32)
