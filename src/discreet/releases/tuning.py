"""Whether settings were chosen by looking at the ratings without paying, and what a guarantee then says.

Settings that are chosen by what came out on these ratings say something about the ratings. So they void the promise of
a release, unless the choice was paid for. What is known is this: which settings a model has, and which unpaid looks at
the ratings are on record (:mod:`discreet.looks`). From these follows what the guarantee says, in order:

    it was said on what they were chosen     stated, with that word; "these ratings" is unpaid
    the ledger paid for a choice             paid
    they are the defaults                    defaults
    other settings, and looks on record      unpaid: nothing is proven
    other settings, and no look on record    unrecorded

How the ratings are read is a setting too: features, the rule by which repeats are merged, the scale, filters, the list
of items. There are no defaults for it, but to select nothing. So if the looks on record and the fit did not all read
them alike, that needs a word, whatever the model; a search pays for the choice of a model alone. A look without a list
of items is compared by all else: a private fit cannot do without one. Lists are compared by a sample of what they say.

Which model it is, is a choice like any other, once models of another kind were looked at. Almanac is what is fitted
when nobody chooses, so it needs no word. The defaults of a model that is not ours are known to nobody: once it was
looked at, they need a word too. What is announced to a model (its audience) is no setting, unless several such
numbers were tried.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.data.own_choices import chosen_on
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.looks import KEPT_LIST, LISTED, SELECTION, Look, Looks, Reading
from discreet.names import is_listed
from discreet.populations.held import reading_of
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.privacy.budget import Budget

PUBLIC_FACTS = frozenset({"audience", "purpose"})
"""Fields of models that nobody tunes: about how many users take part, and what a release is for."""
DEFAULT_KIND = "Almanac"
CHOSEN_BY_RULE = "public facts alone (auto)"
"""On what ``discreet fit`` chooses a model where nobody names one. It says nothing of how the ratings are read."""

GROWN = 0.75
"""So much of the samples of two lists of items is the same where one is the other, some days later."""

Looked = TypeVar("Looked", Ratings, RatingsInParts)


def other_settings(model: Any) -> tuple[str, ...]:
    """The settings that differ from the defaults of their class.

    >>> import discreet as dc
    >>> other_settings(dc.Bias(item_damping=3)), other_settings(dc.Almanac())
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


def look_of(what: str, models: Iterable[Any], reading: Reading) -> Look:
    """What is written down about a look at these models, on ratings that were read in this way, if that is known."""
    here = tuple(pair for pair in reading if pair[0] != KEPT_LIST)  # each budget has its own key
    return Look.now(what, ((type(model).__name__, settings_hash(model)) for model in models), here)


def looked(
    ratings: Looked,
    what: str,
    models: Sequence[Any],
    *,
    fitted: Reading = (),
    account: str | None = None,
    budget: "Budget | None" = None,
) -> Looked:
    """The same ratings, to be looked at without paying: that is written down, and on an account too if there is one.

    What an evaluation or an audit fits is thrown away, and it asks what would be promised if settings had been chosen
    beforehand. So the copy that it gets has a log of its own. ``fitted`` is how those of a release were read that is
    measured here: one more look, where that differs.
    """
    readings = [reading_of(ratings)]
    readings += [fitted] if _read_otherwise(readings[0], fitted) else []
    looks = [look_of(what, models, reading) for reading in readings]
    require(budget is None or account is not None, "a budget has many accounts: say with account= on which it is noted")
    from discreet.populations.accounts import known_again, sketch_of

    if account is not None:
        from discreet.privacy.budget import Budget

        kept = Budget() if budget is None else budget
        for look in looks:
            kept.write_look(account, look)
        kept.remember(account, sketch_of(ratings, kept.key()))
    known_again(ratings, looking=True)
    for look in looks:
        ratings.looks.add(look)
    if isinstance(ratings, Ratings):
        return dataclasses.replace(ratings, looks=Looks(apart=True))
    copy = ratings._changed_by(lambda part: part)
    copy.looks = Looks(apart=True)
    return copy


def tuned(model: Any, population: Population, *, paid: bool = False) -> Guarantee:
    """What a population promises for the fit of this model, with how its settings were chosen.

    ``paid`` says that the fit will pay for a choice of settings.
    """
    guarantee, looks = population.guarantee, tuple(population.unpaid_looks)
    if paid and guarantee.tuning == "unrecorded":
        guarantee = dataclasses.replace(guarantee, tuning="paid")
    name = chosen_on(population.catalogue)
    said = guarantee.tuned_on.strip().casefold()
    if guarantee.tuning == "stated" and said in ("these ratings", "the ratings"):
        return _unpaid(guarantee, "the settings were chosen on these ratings, and that was not paid for")
    if guarantee.tuning == "stated" and name is not None and said == name:
        return _unpaid(guarantee, f"the settings were chosen on {name}, which these ratings are, and that was not paid")
    if reason := unpaid_choice(guarantee, model, looks, population.reading):
        return _unpaid(guarantee, reason)
    if guarantee.tuning == "paid" and looks:
        return dataclasses.replace(guarantee, notes=(*guarantee.notes, _candidates(looks)))
    if guarantee.tuning != "unrecorded":
        return guarantee
    other = other_settings(model) and not looks
    return dataclasses.replace(guarantee, tuning="unrecorded" if other else "defaults")


def unpaid_choice(guarantee: Guarantee, model: Any, looks: Iterable[Look], reading: Reading) -> str:
    """Why the settings, or how the ratings were read, may have been chosen on them; empty if that is settled."""
    looks, by_rule = tuple(looks), guarantee.tuned_on == CHOSEN_BY_RULE
    if guarantee.tuning not in ("paid", "defaults", "unrecorded") and not by_rule:
        return ""  # there is a word on it
    parts = [part for look in looks for part in _read_otherwise(look.reading, reading)]
    if parts := parts or _lists_among(looks):
        what = " and ".join(dict.fromkeys(look.what for look in looks))
        return (
            f"how these ratings are read may have been chosen on them ({', '.join(dict.fromkeys(parts))}): they were "
            f"looked at without paying ({what}), and not always read as here; read them as they were looked at, or "
            "say on what that was chosen (tuning='ml-1m', on the command line --tuned-on ml-1m)"
        )
    return "" if guarantee.tuning == "paid" or by_rule else unpaid_reason(model, looks)


def _read_otherwise(before: Reading, reading: Reading) -> list[str]:
    """Which parts of how ratings were read differ, as far as both are known. To select nothing needs no word.

    >>> _read_otherwise((("scale", "1 to 5"), ("list", "a b c d")), (("scale", "0 to 5"), ("list", "b c d")))
    ['scale']
    """
    looked, own = dict(before), dict(reading)
    both = [part for part in looked if part in own and looked[part] != own[part] and (own[part] or part != SELECTION)]
    if parts := [part for part in both if part not in (LISTED, KEPT_LIST)]:
        return parts  # of which another list may follow: features are part of it
    lists = [(set(looked[part].split()), set(own[part].split())) for part in both]
    return ["items" for one, other in lists if len(one & other) < GROWN * max(len(one), len(other))]


def _lists_among(looks: Iterable[Look]) -> list[str]:
    """What differs between looks at several lists of items: between two of them one can choose, however alike."""
    readings = [dict(look.reading) for look in looks]
    lists = ({frozenset(said[part].split()) for said in readings if part in said} for part in (LISTED, KEPT_LIST))
    return ["items"] if any(len(found) > 1 for found in lists) else []


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
