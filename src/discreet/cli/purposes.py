"""What a release is for (``--for``): refused where it cannot be, and a sentence where a plan does not go by it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.cli.tables import note
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.data.catalogue import Catalogue
    from discreet.models.almanac.planner import Purpose
    from discreet.populations.terms import Terms

Read = TypeVar("Read", bound=Any)


def check_purpose(purpose: str | None, models: Iterable[Any], *, implicit: bool) -> None:
    """Raise for a release for ratings of data that have none; before the data are read, so nothing is spent on it."""
    asked = {purpose, *(getattr(model, "purpose", None) for model in models)}
    require(
        not implicit or "ratings" not in asked,
        "--for ratings is about ratings, and --implicit says there are none: leave it out, or write --for ranking",
    )


def noting(
    load: Callable[[], Read], model: Any, terms: "Terms", *, users: int, purpose: "Purpose | None"
) -> Callable[[], Read]:
    """A function that reads ratings and says what is to be said of the purpose, before anything is spent on them."""

    def read() -> Read:
        ratings = load()
        note_purpose([model], ratings.catalogue, [terms], users=users, purpose=purpose)
        return ratings

    return read


def note_purpose(
    models: Iterable[Any], catalogue: "Catalogue", terms: "Iterable[Terms]", *, users: int, purpose: "Purpose | None"
) -> None:
    """Say once where a model, None for what the rule will choose, does not go by the purpose that was asked for."""
    from discreet.fitting.choosing import choose_for

    models = list(models)
    for sentence in dict.fromkeys(
        unfollowed(choose_for(catalogue, users, one, purpose or "both")[0] if model is None else model, catalogue, one)
        for one in terms
        for model in models
    ):
        if sentence:
            note(sentence)


def unfollowed(model: Any, catalogue: "Catalogue", terms: "Terms") -> str:
    """A sentence where a model was told what its release is for and plans without it; empty where it goes by it.

    >>> import discreet as dc
    >>> catalogue = dc.synthetic(users=50, items=30, ratings=600, seed=1).catalogue
    >>> unfollowed(dc.Almanac(purpose="ranking"), catalogue, dc.Terms(epsilon=1.0))
    ''
    """
    from discreet.releases.contract import ChoosingModel

    purpose = getattr(model, "purpose", None)
    if purpose in (None, "both") or catalogue.scale.implicit or not isinstance(model, ChoosingModel):
        return ""  # data without ratings are for ranking alone
    if terms.epsilon is None:
        return f"--for {purpose} is followed only with --epsilon: exact sums serve all purposes."
    return ""
