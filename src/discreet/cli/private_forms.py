"""Which models can be fitted with privacy: found out by trying, on a made-up catalogue and without any rating.

A rehearsal asks for the sums that a fit would ask for. Where one of them has no proven bound, the model has no private
form; no table of names has to be kept up to date.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, OverspentError

if TYPE_CHECKING:
    from discreet.populations.terms import Terms

UNITS = ("rating", "user")
ITEMS = 64  # of the made-up catalogue: enough for any model to have neighbours and factors


@cache
def private_units(kind: Any) -> tuple[str, ...]:
    """The units that a model can keep secret with its default settings; empty where it has no private form.

    >>> import discreet as dc
    >>> private_units(dc.Popularity), private_units(dc.MF)
    (('rating', 'user'), ())
    """
    from discreet.models.fitting import needs_raw_ratings
    from discreet.populations.terms import Terms

    if needs_raw_ratings(kind):
        return ()
    return tuple(unit for unit in UNITS if _works(kind(), Terms(epsilon=1.0, unit=unit)))  # type: ignore[arg-type]


def names_of_private_models(unit: str | None = None) -> list[str]:
    """Every model that has a private form: for this unit, or for any.

    >>> {"bias", "popularity"} <= set(names_of_private_models("user"))
    True
    """
    from discreet.models.names import MODELS

    return [
        name for name, kind in MODELS.items() if unit in private_units(kind) or (unit is None and private_units(kind))
    ]


def check_private(model: Any, terms: "Terms") -> None:
    """Raise if privacy is asked for that this model cannot give; no rating is needed to tell."""
    if terms.epsilon is None:
        return
    from discreet.models.fitting import check_terms

    kind: Any = type(model)
    if hasattr(model, "epsilon"):
        check_terms(model, terms)  # a paper's own epsilon is a setting: that needs another sentence
    if not private_units(kind):
        *names, last = names_of_private_models()
        raise InputError(
            f"{kind.__name__} has no private form yet; {', '.join(names)} and {last} have: "
            "choose one of them, or leave out --epsilon"
        )
    _rehearse(model, terms)


def _works(model: Any, terms: "Terms") -> bool:
    try:
        _rehearse(model, terms)
    except (InputError, OverspentError):
        return False
    return True


def _rehearse(model: Any, terms: "Terms") -> None:
    import numpy as np

    from discreet.data.catalogue import Catalogue, Scale
    from discreet.data.labels import Labels
    from discreet.data.ratings import Ratings
    from discreet.populations.rehearsal import rehearse

    catalogue = Catalogue.of([str(item) for item in range(ITEMS)], Scale(1, 5))
    nobody = Ratings.of_columns(catalogue, Labels.of(["0"], what="user"), *np.zeros((3, 0)))
    rehearse(model, terms.population(nobody))
