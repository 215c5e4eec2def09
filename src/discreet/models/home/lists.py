"""At home: a user's own expectation from released item means, and what listed neighbours add to it.

    expected_ui = base_i + z_iᵀ a_u       the user's own regression on generosity, public features, agreement with what
                                          everyone likes, and popularity (:mod:`~discreet.models.home.at_home`)
    x_uj        = r_uj − expected_uj
    prediction  = expected_ui + Σ_j s_ij x_uj / max(Σ_j s_ij, floor)        j over the listed neighbours that u rated

Ranking and explanations are those of :mod:`~discreet.models.home.neighbourhood`: every rating adds its own term.
"""

from weakref import WeakKeyDictionary

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.kernels.pnbm import list_means
from discreet.models.home import neighbourhood
from discreet.models.home.at_home import Covariates
from discreet.models.home.fold_in import fixed, predict_pairs
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices

USER_DAMPING = 5.0
"""Ratings at the mean that every user is imagined to have had, in rankings."""

_HOMES: WeakKeyDictionary[Release, dict[bool, Covariates]] = WeakKeyDictionary()
"""Forgotten with their releases."""


def check_width(neighbours: int, size: int) -> None:
    """Raise where the items of a catalogue of ``size`` cannot have so many neighbours."""
    require(
        neighbours < max(size, 2),
        f"neighbours must be less than the {size:,} items of the catalogue, got {neighbours:,}",
    )


def home_of(arrays: dict[str, AnyArray], catalogue: Catalogue, features: bool) -> Covariates:
    """What every user's own expectation is computed from."""
    known = item_features(catalogue)[:, : None if features else 0]
    none = np.zeros((len(catalogue), 0), dtype=np.float32)
    base = np.asarray(arrays["mean"][0] + arrays["item_bias"], dtype=np.float32)
    return Covariates.of(base, arrays["unknown"], arrays["counts"], known, none, catalogue.scale.width)


def residuals_at_home(home: Covariates, ratings: Ratings) -> Floats:
    """How far each rating lies from what its user's own ratings lead to expect."""
    expected = predict_pairs(home.tastes(ratings), home.rows, home.base, ratings.user_index, ratings.item_index)
    return np.asarray(ratings.values - expected, dtype=np.float32)


def predict(
    release: Release, histories: Ratings, users: Indices, items: Indices, floor: float, features: bool
) -> Floats:
    """The expected rating of each pair."""
    kept = _HOMES.setdefault(release, {})
    if features not in kept:
        kept[features] = home_of(dict(release.arrays), release.catalogue, features)
    home = kept[features]
    own = home.tastes(histories)
    expected = predict_pairs(own, home.rows, home.base, users, items)
    own_pairs = histories.user_index, histories.item_index
    residuals = np.asarray(histories.values - predict_pairs(own, home.rows, home.base, *own_pairs), dtype=np.float32)
    order = np.argsort(users, kind="stable")
    lists = fixed(release.arrays["neighbours"]), fixed(release.arrays["similarities"])
    none = np.zeros(histories.n_users, dtype=np.float32)
    expected[order] += list_means(
        users[order], items[order], histories.indptr, histories.item_index, residuals, *lists, float(floor), none
    )
    return expected


def score(release: Release, histories: Ratings) -> Floats:
    """How much each user has rated, and liked, near each item."""
    return neighbourhood.score(release, histories, USER_DAMPING)


def explain(release: Release, history: History, item: int) -> Floats:
    """What each rating of the history adds to the score of ``item``."""
    return neighbourhood.explain(release, history, item, USER_DAMPING)
