"""At home: a user's own expectation from released item means, and what listed neighbours add to it.

    expected_ui = base_i + z_iᵀ a_u       the user's own regression on generosity, public features, agreement with what
                                          everyone likes, and popularity (:mod:`~discreet.models.home.user_regression`)
    x_uj        = r_uj − expected_uj
    prediction  = expected_ui + Σ_j s_ij x_uj / max(Σ_j s_ij, floor)        j over the listed neighbours that u rated

Ranking and explanations are those of :mod:`~discreet.models.home.neighbourhood`: every rating adds its own term.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.pnbm import list_means
from discreet.models.home import neighbourhood
from discreet.models.home.fold_in import fixed, predict_pairs
from discreet.models.home.item_arrays import COUNTS, ITEM_BIAS, LISTS, MEAN, UNKNOWN
from discreet.models.home.user_regression import UserRegression
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices

USER_DAMPING = 5.0
"""Ratings at the mean that every user is imagined to have had, in rankings."""


def check_width(neighbours: int, size: int) -> None:
    """Raise where the items of a catalogue of ``size`` cannot have so many neighbours."""
    require(
        neighbours < max(size, 2),
        f"neighbours must be less than the {size:,} items of the catalogue, got {neighbours:,}",
    )


def home_of(arrays: Mapping[str, AnyArray], catalogue: Catalogue, features: bool) -> UserRegression:
    """What every user's own expectation is computed from."""
    known = item_features(catalogue)[:, : None if features else 0]
    none = np.zeros((len(catalogue), 0), dtype=np.float32)
    base = np.asarray(arrays["mean"][0] + arrays["item_bias"], dtype=np.float32)
    return UserRegression.of(base, arrays["unknown"], arrays["counts"], known, none, catalogue.scale.width)


@dataclass(frozen=True, eq=False)
class ListedNeighbours:
    """What predictions and rankings by released lists start from; nothing here depends on a user."""

    home: UserRegression
    lists: neighbourhood.Neighbourhood
    floor: float

    @classmethod
    def of(cls, release: Release, floor: float, features: bool) -> "ListedNeighbours":
        """From the released arrays and the public features."""
        home = home_of(release.arrays, release.catalogue, features)
        return cls(home, neighbourhood.Neighbourhood.of(release, USER_DAMPING), floor)

    def predict(self, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The user's own expectation, plus the mean residual over the item's neighbours that the user rated."""
        home, own = self.home, self.home.coefficients(histories)
        expected = predict_pairs(own, home.rows, home.base, users, items)
        rated = predict_pairs(own, home.rows, home.base, histories.user_index, histories.item_index)
        residuals = np.asarray(histories.values - rated, dtype=np.float32)
        lists = self.lists.neighbours, self.lists.similarities
        none = np.zeros(histories.n_users, dtype=np.float32)
        return expected + means_over_lists(histories, residuals, users, items, *lists, self.floor, none)


class ListModel(Protocol):
    """A model whose release is such lists."""

    @property
    def floor(self) -> float:
        """Least sum of similarities to divide by."""
        ...

    @property
    def features(self) -> bool:
        """Whether genres and years are used."""
        ...


def declared(model: ListModel, names: Collection[str]) -> tuple[Array, ...]:
    """The arrays of a release."""
    return (MEAN, ITEM_BIAS, UNKNOWN, COUNTS, *LISTS)


def prepare(model: ListModel, release: Release) -> ListedNeighbours:
    """What does not depend on a user."""
    return ListedNeighbours.of(release, model.floor, model.features)


def predict(model: ListModel, prepared: ListedNeighbours, histories: Ratings, users: Indices, items: Indices) -> Floats:
    """The user's own expectation, plus the mean residual over the item's neighbours that the user rated."""
    return prepared.predict(histories, users, items)


def score(model: ListModel, prepared: ListedNeighbours, histories: Ratings) -> Floats:
    """How much each user has rated, and liked, near each item."""
    return prepared.lists.scores(histories)


def explain(model: ListModel, prepared: ListedNeighbours, history: History, item: int) -> Floats:
    """What each rating of the history adds to the score of ``item``."""
    return prepared.lists.shares(history, item)


def means_over_lists(
    histories: Ratings,
    residuals: Floats,
    users: Indices,
    items: Indices,
    neighbours: Indices,
    similarities: Floats,
    floor: float,
    otherwise: Floats,
) -> Floats:
    """For each pair the mean residual over the item's neighbours that the user rated (see ``list_means``)."""
    order = np.argsort(users, kind="stable")
    means = np.empty(len(users), dtype=np.float32)
    asked = users[order], items[order], histories.indptr, histories.item_index, residuals
    mean = chosen(histories.n_users, few_pairs.list_means, list_means)
    means[order] = mean(asked, fixed(neighbours), fixed(similarities), float(floor), otherwise)
    return means
