"""What a model is: settings, ``fit``, and pure functions of a release and of users' own histories."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.types import Floats, Indices

if TYPE_CHECKING:
    from discreet.releases.release import Release


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
