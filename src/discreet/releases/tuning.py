"""Whether settings were chosen by looking at the ratings without paying, and what a guarantee then says.

Settings that are chosen by what came out on these ratings say something about the ratings. So they void the promise of
a release, unless the choice was paid for. What is known is this: which settings a model has, and which unpaid looks at
the ratings are on record (:mod:`discreet.looks`). From these follows what the guarantee says, in order:

    it was said on what they were chosen     stated, with that word; "these ratings" is unpaid
    the ledger paid for a choice             paid
    they are the defaults                    defaults
    other settings, and looks on record      unpaid: nothing is proven
    other settings, and no look on record    unrecorded

Which model it is, is a choice like any other, once models of another kind were looked at. Almanac is what is fitted
when nobody chooses, so it needs no word. The defaults of a model that is not ours are known to nobody: once it was
looked at, they need a word too. What is announced to a model (its audience) is no setting, unless several such
numbers were tried.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.data.own_choices import chosen_on
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.looks import Look, Looks
from discreet.names import is_listed
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.privacy.budget import Budget

PUBLIC_FACTS = frozenset({"audience", "purpose"})
"""Fields of models that nobody tunes: about how many users take part, and what a release is for."""
DEFAULT_KIND = "Almanac"

Looked = TypeVar("Looked", Ratings, RatingsInParts)


def other_settings(model: Any) -> tuple[str, ...]:
    """The settings that differ from the defaults of their class.

    >>> import discreet as dc
    >>> other_settings(dc.Bias(item_damping=3)), other_settings(dc.Almanac(audience=50))
    (('item_damping',), ())
    """
    return tuple(name for name in _changed(model) if name not in PUBLIC_FACTS)


def _changed(model: Any) -> Iterator[str]:
    """The fields that differ from the defaults of their class, public facts that were announced among them."""
    if not dataclasses.is_dataclass(model):
        yield "all of them"
        return
    for field in dataclasses.fields(model):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if not _same(getattr(model, field.name), default):
            yield field.name


def settings_hash(model: Any) -> str:
    """A checksum of a model's kind and settings, which tells whether a fit was repeated or changed.

    >>> import discreet as dc
    >>> settings_hash(dc.Bias()) == settings_hash(dc.Bias(item_damping=5)), len(settings_hash(dc.Bias()))
    (True, 64)
    """
    return hashlib.sha256(json.dumps(_plain(model), sort_keys=True, default=repr).encode()).hexdigest()


def look_of(what: str, models: Iterable[Any]) -> Look:
    """What is written down about a look at these models."""
    return Look.now(what, ((type(model).__name__, settings_hash(model)) for model in models))


def looked(
    ratings: Looked, what: str, models: Iterable[Any], *, account: str | None = None, budget: "Budget | None" = None
) -> Looked:
    """The same ratings, to be looked at without paying: that is written down, and on an account too if there is one.

    What an evaluation or an audit fits is thrown away, and it asks what would be promised if settings had been chosen
    beforehand. So the copy that it gets has a log of its own.
    """
    look = look_of(what, models)
    require(budget is None or account is not None, "a budget has many accounts: say with account= on which it is noted")
    if account is not None:
        from discreet.populations.accounts import sketch_of
        from discreet.privacy.budget import Budget

        kept = Budget() if budget is None else budget
        kept.write_look(account, look)
        kept.remember(account, sketch_of(ratings, kept.key()))
    ratings.looks.add(look)
    if isinstance(ratings, Ratings):
        return dataclasses.replace(ratings, looks=Looks())
    copy = ratings._changed_by(lambda part: part)
    copy.looks = Looks()
    return copy


def tuned(model: Any, population: Population) -> Guarantee:
    """What a population promises for the fit of this model, with how its settings were chosen."""
    guarantee, looks = population.guarantee, tuple(population.unpaid_looks)
    name = chosen_on(population.catalogue)
    said = guarantee.tuned_on.strip().casefold()
    if guarantee.tuning == "stated" and said in ("these ratings", "the ratings"):
        return _unpaid(guarantee, "the settings were chosen on these ratings, and that was not paid for")
    if guarantee.tuning == "stated" and name is not None and said == name:
        return _unpaid(guarantee, f"the settings were chosen on {name}, which these ratings are, and that was not paid")
    if guarantee.tuning == "paid" and looks:
        return dataclasses.replace(guarantee, notes=(*guarantee.notes, _candidates(looks)))
    if guarantee.tuning != "unrecorded":
        return guarantee
    other = other_settings(model)
    if not looks:
        return dataclasses.replace(guarantee, tuning="unrecorded" if other else "defaults")
    if reason := unpaid_reason(model, looks):
        return _unpaid(guarantee, reason)
    return dataclasses.replace(guarantee, tuning="defaults")


def unpaid_reason(model: Any, looks: Iterable[Look]) -> str:
    """Why nobody can be sure that these settings were not chosen on the ratings; empty where they need no word."""
    looks = tuple(looks)
    own = type(model).__name__
    others = {kind for look in looks for kind, _ in look.models} - {own}
    tried = {settings for look in looks for kind, settings in look.models if kind == own}
    what = " and ".join(dict.fromkeys(look.what for look in looks))
    chosen = ", ".join(other_settings(model)) if looks else ""
    if chosen:
        subject = f"the settings of {own} differ from the defaults ({chosen})"
    elif len(tried) > 1 and not PUBLIC_FACTS.isdisjoint(_changed(model)):
        subject = f"{own} was looked at with several settings, and what was announced to it may be one of them"
    elif others and own != DEFAULT_KIND:
        subject = f"{own} may have been chosen among several kinds of models"
    elif tried and not is_listed(type(model)):
        subject = f"{own} is not one of Discreet's models, so its defaults may have been chosen by what came out"
    else:
        return ""
    return (
        f"{subject}, and these ratings were looked at without paying ({what}): say on what that was chosen "
        "(tuning='ml-1m', on the command line --tuned-on ml-1m), or let a search pay for it (discreet search)"
    )


def _unpaid(guarantee: Guarantee, reason: str) -> Guarantee:
    if guarantee.proven is None:  # there was a reason before, and it is the graver one
        return dataclasses.replace(guarantee, tuning="unpaid")
    return dataclasses.replace(guarantee, tuning="unpaid", proven=None, reason=reason)


def _candidates(looks: tuple[Look, ...]) -> str:
    what = " and ".join(dict.fromkeys(look.what for look in looks))
    return (
        f"These ratings were looked at before ({what}), unpaid: the ledger pays for the choice between the candidates, "
        "and not for how these were thought of."
    )


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:  # arrays
        return False


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return [type(value).__name__, fields]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return repr(value)
