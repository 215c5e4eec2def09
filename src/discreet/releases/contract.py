"""What a model is: settings, ``fit``, and pure functions of a release and of users' own histories.

A model is a frozen dataclass of settings. Its methods are all there is to write:

    fit(population) → Release             what it learns; a model that cannot be private takes ``Ratings`` instead, and
                                          says ``raw_ratings = True``; one that needs libraries of
                                          extras names these in ``extras`` (:func:`discreet.extras.missing_extras`)
    score(prepared, histories)            users by items, float32; higher is better. The only other one that is needed.
    predict(prepared, histories, users, items)      the expected rating of each pair of positions
    explain(prepared, history, item)      what each rating of the history adds to the score of the item
    explain_many(prepared, history, items)    the same for several items at once, items by ratings; for speed alone
    prepare(release)                      what does not depend on a user, made once; whatever it returns is what the
                                          three above get. Without this method they get the release itself.
    declared(names)                       which arrays its releases hold, of what type and shape: checked whenever one
                                          is built or read (:mod:`discreet.releases.declared`)

``score``, ``predict`` and ``explain`` depend on their arguments alone and store nothing: so they can run on a user's
own device, and a new user is no special case. They are called by :class:`~discreet.releases.scorer.Scorer`, which
checks the arguments and prepares once.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.types import Booleans, Floats, Indices, Offsets

if TYPE_CHECKING:
    from discreet.releases.release import Release


@runtime_checkable
class Model(Protocol):
    """Settings that can score; ``fit`` comes beside them (its argument differs)."""

    def score(self, prepared: Any, histories: Ratings, /) -> Floats:
        """Ranking scores, users by items, for a batch of histories. Higher is better."""
        ...


@runtime_checkable
class RatingModel(Model, Protocol):
    """A model that also says what rating a user would give."""

    def predict(self, prepared: Any, histories: Ratings, users: Indices, items: Indices, /) -> Floats:
        """The expected rating of each pair, not yet clipped to the scale."""
        ...


@runtime_checkable
class ExplainingModel(Model, Protocol):
    """A model that can say which of a user's own ratings carried a suggestion."""

    def explain(self, prepared: Any, history: History, item: int, /) -> Floats:
        """What each rating of the history added to the score of ``item``."""
        ...


@runtime_checkable
class ExplainingManyModel(ExplainingModel, Protocol):
    """A model that explains a whole list in one go, where most of the work is the same for every item."""

    def explain_many(self, prepared: Any, history: History, items: Indices, /) -> Floats:
        """What each rating of the history added to the score of each of ``items``: items by ratings."""
        ...


class Ranks(Protocol):
    """The best items of very many users, by another engine."""

    def best(
        self, indptr: Offsets, items: Indices, k: int, allowed: Booleans | None = None
    ) -> Iterator[tuple[int, Indices, Floats]]:
        """The ``k`` best allowed items of each user that they did not rate, and scores: −1 where there are fewer.

        A block of users at a time, with the position of its first; ``indptr`` says where each user's items start.
        """
        ...


@runtime_checkable
class TorchRankingModel(Model, Protocol):
    """A model that ranks by torch too, on a GPU where there is one."""

    def ranks_by_torch(self, prepared: Any, /) -> Ranks:
        """Scores of :meth:`score` up to rounding."""
        ...


@runtime_checkable
class ChoosingModel(Protocol):
    """A model that may choose what it asks for next by the answers so far.

    A budget then books the whole limit, if all looks have Gaussian noise, and otherwise one look after another.
    """

    def chooses_on_the_way(self, population: Any, /) -> bool:
        """Whether it does, asked by this population; if so its looks have Gaussian noise, or Laplace noise first."""
        ...


@runtime_checkable
class PreparingModel(Model, Protocol):
    """A model with something to make of a release before any user comes."""

    def prepare(self, release: "Release", /) -> Any:
        """What ``score``, ``predict`` and ``explain`` get in place of the release. It holds no user."""
        ...


def needs_raw_ratings(model: Any) -> bool:
    """Whether ``model.fit`` takes ``Ratings`` itself rather than a population."""
    return bool(getattr(model, "raw_ratings", False))


def check_settings(model: Any) -> None:
    """Raise unless a card can hold the settings of a model: numbers, text, true, false, none, and lists of these."""
    kind = type(model).__name__
    if not dataclasses.is_dataclass(model):
        raise InputError(f"{kind} cannot be saved: its settings must be fields of a dataclass; nothing was written")
    for field in dataclasses.fields(model):
        value = getattr(model, field.name)
        value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value  # numpy's numbers
        try:
            same = json.loads(json.dumps(value)) == value
        except (TypeError, ValueError, RecursionError):
            same = False
        if not same:
            raise InputError(
                f"{kind} cannot be saved: its setting {field.name} is a {type(value).__name__}, and a card holds "
                "numbers, text, true, false, none and lists of these; nothing was written"
            )
