"""Which models can keep which promises: found out by trying, on a made-up catalogue and without any rating.

A rehearsal asks for the sums that a fit would ask for. Where one of them has no proven bound, the model has no private
form; no table of names has to be kept up to date.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, OverspentError
from discreet.extras import missing_extras
from discreet.names import every_model
from discreet.populations.asking import takes_implicit
from discreet.populations.rehearsal import rehearse
from discreet.populations.terms import Terms
from discreet.privacy.ledger import Ledger
from discreet.privacy.unit import UnitName
from discreet.releases.contract import needs_raw_ratings
from discreet.releases.published import Published

CEILINGS = ("bayesian-mf", "implicit-als")
"""What is compared beside private models, without privacy: the best at foreseeing ratings and at ranking."""
UNITS: tuple[UnitName, ...] = ("rating", "user")
ITEMS = 64  # of the made-up catalogue: enough for any model to have neighbours and factors


def has_private_form(model: Any, terms: Terms) -> bool:
    """Whether a model, with these settings, can be fitted on these terms; no rating is needed to tell.

    >>> import discreet as dc
    >>> terms = dc.Terms(epsilon=1.0, unit="user")
    >>> has_private_form(dc.Popularity(), terms), has_private_form(dc.MF(), terms)
    (True, False)
    """
    if needs_raw_ratings(model):
        return False
    try:
        try_out(model, terms)
    except (InputError, OverspentError):
        return False
    return True


def asks_for_nothing(model: Any, terms: Terms) -> bool:
    """Whether a fit on these terms, which the model can keep, looks at no rating: then it costs no privacy.

    >>> import discreet as dc
    >>> asks_for_nothing(dc.OwnTaste(), dc.Terms(epsilon=1.0))
    True
    """
    return len(try_out(model, terms).spends) == 0


def try_out(model: Any, terms: Terms) -> Ledger:
    """Rehearse a fit on these terms: what it would spend. Raises what the fit itself would raise."""
    catalogue = Catalogue.of([str(item) for item in range(ITEMS)], Scale(1, 5), declared=True)
    nobody = Ratings.of_columns(catalogue, Labels.of(["0"], what="user"), *np.zeros((3, 0)))
    return rehearse(model, terms.population(nobody))


def private_units(model: Any) -> tuple[str, ...]:
    """The units that a model can keep secret with its settings; empty where it has no private form.

    >>> import discreet as dc
    >>> private_units(dc.Popularity()), private_units(dc.MF())
    (('rating', 'user'), ())
    """
    return tuple(unit for unit in UNITS if has_private_form(model, Terms(epsilon=1.0, unit=unit)))


def names_of_private_models(unit: str | None = None) -> list[str]:
    """Every model that has a private form and can be fitted here: for this unit, or for any.

    >>> {"bias", "popularity"} <= set(names_of_private_models("user"))
    True
    """
    units = {name: private_units(kind()) for name, kind in every_model().items() if not missing_extras(kind)}
    return [name for name, private in units.items() if unit in private or (unit is None and private)]


def names_to_compare(terms: Sequence[Terms], implicit: bool = False) -> list[str]:
    """Which models are compared when nobody says which: all; with privacy those that give it, and the best others.

    Of data without ratings only those that can learn from them; never those whose libraries are not installed
    (:func:`names_without_libraries`).
    """
    kinds = {
        name: kind
        for name, kind in every_model().items()
        if not missing_extras(kind) and (not implicit or takes_implicit(kind()))
    }
    if not terms:
        return list(kinds)
    private = [name for name, kind in kinds.items() if any(has_private_form(kind(), asked) for asked in terms)]
    return [*private, *(name for name in CEILINGS if name in kinds and name not in private)]


def names_without_libraries() -> dict[str, list[str]]:
    """The models that cannot be fitted here, each with the extras that are not installed."""
    return {name: missing for name, kind in every_model().items() if (missing := missing_extras(kind))}


def without_private_form(models: Mapping[str, Any], terms: Sequence[Terms]) -> list[str]:
    """Which of the models can be compared without privacy only, other than those that are there for that."""
    return [
        name
        for name, model in models.items()
        if name not in CEILINGS
        and not isinstance(model, Published)
        and not any(has_private_form(model, asked) for asked in terms)
    ]


def check_private(model: Any, terms: Terms) -> None:
    """Raise if privacy is asked for that this model cannot give; no rating is needed to tell."""
    if terms.epsilon is None or (not isinstance(model, Published) and has_private_form(model, terms)):
        return
    kind = type(model).__name__
    if isinstance(model, Published):
        raise InputError(
            f"{kind} claims its epsilon and keeps no limit: write --set epsilon={terms.epsilon:g} for the claim, and "
            "leave out --epsilon"
        )
    try:
        usual = type(model)()
    except TypeError:  # it has settings without a default
        usual = model
    if not private_units(usual):  # else its settings are to blame, and trying says which
        *names, last = names_of_private_models()
        raise InputError(
            f"{kind} has no private form yet; {', '.join(names)} and {last} have: "
            "choose one of them, or leave out --epsilon"
        )
    try_out(model, terms)
