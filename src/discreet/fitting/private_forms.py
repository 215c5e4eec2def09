"""Which models can keep which promises: found out by trying, on a made-up catalogue and without any rating.

A rehearsal asks for the sums that a fit would ask for. Where one of them has no proven bound, the model has no private
form; no table of names has to be kept up to date.
"""

from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, OverspentError
from discreet.populations.rehearsal import rehearse
from discreet.populations.terms import Terms
from discreet.privacy.ledger import Ledger
from discreet.releases.contract import needs_raw_ratings

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
