"""Which models can be fitted with privacy, for lists and for refusals."""

from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.populations.terms import Terms

UNITS = ("rating", "user")


@cache
def private_units(kind: Any) -> tuple[str, ...]:
    """The units that a model can keep secret with its default settings; empty where it has no private form.

    >>> import discreet as dc
    >>> private_units(dc.Popularity), private_units(dc.MF)
    (('rating', 'user'), ())
    """
    from discreet.fitting.private_forms import has_private_form
    from discreet.populations.terms import Terms
    from discreet.releases.contract import needs_raw_ratings

    if needs_raw_ratings(kind):
        return ()
    return tuple(unit for unit in UNITS if has_private_form(kind(), Terms(epsilon=1.0, unit=unit)))  # type: ignore[arg-type]


def names_of_private_models(unit: str | None = None) -> list[str]:
    """Every model that has a private form: for this unit, or for any.

    >>> {"bias", "popularity"} <= set(names_of_private_models("user"))
    True
    """
    from discreet.names import every_model

    return [
        name
        for name, kind in every_model().items()
        if unit in private_units(kind) or (unit is None and private_units(kind))
    ]


def check_private(model: Any, terms: "Terms") -> None:
    """Raise if privacy is asked for that this model cannot give; no rating is needed to tell."""
    if terms.epsilon is None:
        return
    from discreet.fitting.private_forms import try_out
    from discreet.releases.published import Published

    kind: Any = type(model)
    if isinstance(model, Published):
        raise InputError(
            f"{kind.__name__} claims its epsilon and keeps no limit: write --set epsilon={terms.epsilon:g} for the "
            "claim, and leave out --epsilon"
        )
    if not private_units(kind):
        *names, last = names_of_private_models()
        raise InputError(
            f"{kind.__name__} has no private form yet; {', '.join(names)} and {last} have: "
            "choose one of them, or leave out --epsilon"
        )
    try_out(model, terms)
