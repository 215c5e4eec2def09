"""What the item-item neighbour models share at home: how neighbours speak for a user.

What they ask for is in :mod:`~discreet.models.sums.compared_items`.

A user's residual is how far a rating lies from what the biases lead to expect, and is computed at home:

    x_uj = r_uj − base_j − b_u,     base_j = mean + b_j,     b_u = Σ_j (r_uj − base_j) / (n_u + user_damping)

Neighbours predict by the mean of the residuals, weighted by similarity:

    expected rating  =  base_i + b_u + Σ_j s_ij x_uj / (Σ_j s_ij + damping)

with j over the neighbours N(i) of item i that the user rated. With ``damping`` 0 the user's bias cancels out, as
the weights sum to 1, and this is the textbook formula r̄_i + Σ_j s_ij (r_uj − r̄_j) / Σ_j s_ij. Where no
neighbour was rated, the biases stand alone.

Ranking is by how much of the item's neighbourhood the user has rated, more so where they liked it, times the root
of how many users rated the item:

    score of item i  =  √n_i Σ_j s_ij (1 + x_uj / width of the scale) / Σ_{j ∈ N(i)} s_ij

Every rating adds its own term, so the terms are the explanation.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require, require_kinds, require_settings
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.neighbours import neighbour_means
from discreet.models.home.item_arrays import ITEM_BIAS, LISTS, MEAN, NOISY_COUNTS
from discreet.models.home.neighbour_weights import NeighbourWeights
from discreet.models.home.user_bias import user_biases
from discreet.releases.declared import Array, check_inside
from discreet.releases.release import Release
from discreet.types import Floats, Indices

Centre = Literal["none", "item", "user"]


class NeighbourModel(Protocol):
    """The settings that the neighbour models have in common."""

    @property
    def neighbours(self) -> int:
        """How many items each item keeps."""
        ...

    @property
    def centre(self) -> Centre:
        """What is taken from each rating before items are compared."""
        ...

    @property
    def shrinkage(self) -> float:
        """Users without anything in common who are imagined to have rated each pair."""
        ...

    @property
    def power(self) -> float:
        """What similarities are raised to."""
        ...

    @property
    def damping(self) -> float:
        """Similarity of an imagined neighbour whose residual is 0."""
        ...

    @property
    def item_damping(self) -> float:
        """Ratings at the mean that every item is imagined to have had."""
        ...

    @property
    def user_damping(self) -> float:
        """Ratings at the mean that every user is imagined to have had."""
        ...

    def score(self, prepared: Any, histories: Ratings, /) -> Floats:
        """Ranking scores, as of any model."""
        ...


# ── The methods of the neighbour models: each takes them as its own ──


def declared(model: NeighbourModel, names: Collection[str]) -> tuple[Array, ...]:
    """The arrays of a release."""
    return (MEAN, ITEM_BIAS, NOISY_COUNTS, *LISTS)


def prepare(model: NeighbourModel, release: Release) -> "Neighbourhood":
    """The lists of neighbours, ready for any user."""
    return Neighbourhood.of(release, model.user_damping)


def predict(
    model: NeighbourModel, prepared: "Neighbourhood", histories: Ratings, users: Indices, items: Indices
) -> Floats:
    """Biases, plus the mean residual over the item's neighbours that the user rated."""
    own, residuals = prepared.residuals(histories)
    order = np.argsort(users, kind="stable")
    asked = users[order], items[order], histories.indptr, histories.item_index, residuals
    mean = chosen(histories.n_users, few_pairs.neighbour_means, neighbour_means)
    expected = np.asarray(prepared.base[items] + own[users], dtype=np.float32)
    expected[order] += mean(asked, prepared.neighbours, prepared.similarities, float(model.damping))
    return expected


def score(model: NeighbourModel, prepared: "Neighbourhood", histories: Ratings) -> Floats:
    """How much each user has rated, and liked, near each item."""
    return prepared.scores(histories)


def explain(model: NeighbourModel, prepared: "Neighbourhood", history: History, item: int) -> Floats:
    """What each rating of the history adds to the score of ``item``."""
    return prepared.shares(history, item)


def check_settings(model: NeighbourModel) -> None:
    """Check the settings that the neighbour models have in common."""
    require_settings(model, "neighbours", least=1)
    require_kinds(model)
    require_settings(model, "power", above=0)
    require_settings(model, "shrinkage", "damping", "item_damping", "user_damping", least=0)


# ── What they are made of ──


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Lists of neighbours with what ranks by them; nothing here depends on a user.

    Parameters
    ----------
    base
        The expected rating of each item.
    neighbours, similarities
        For each item the items that it lists, and how similar they are.
    item_weights
        √n_i / Σ_j |s_ij| of each item.
    user_damping, width
        Of users' biases, and of the scale.
    """

    base: Floats
    neighbours: Indices
    similarities: Floats
    item_weights: Floats
    user_damping: float
    width: float

    @classmethod
    def of(cls, release: Release, user_damping: float) -> "Neighbourhood":
        """From the released lists."""
        arrays, size = release.arrays, len(release.catalogue)
        require_lists(arrays["neighbours"], arrays["similarities"], size)  # also where the model declares nothing
        return cls(
            base=arrays["mean"] + arrays["item_bias"],
            neighbours=arrays["neighbours"],
            similarities=arrays["similarities"],
            item_weights=ranking_weights(release),
            user_damping=user_damping,
            width=release.catalogue.scale.width,
        )

    @cached_property
    def neighbour_weights(self) -> NeighbourWeights:
        """What the listed items that are similar add to scores."""
        return NeighbourWeights(self.neighbours, np.maximum(self.similarities, 0) * self.item_weights[:, None])

    def scores(self, histories: Ratings) -> Floats:
        """Ranking scores of all items for each user."""
        return self.neighbour_weights.sums(histories, self.rating_weights(histories))

    def shares(self, history: History, item: int) -> Floats:
        """What each rating of the history adds to the score of ``item``."""
        return self.neighbour_weights.to_all(item)[history.items] * self.rating_weights(Ratings.of_history(history))

    def residuals(self, histories: Ratings) -> tuple[Floats, Floats]:
        """The bias of each user, and the residual of each rating."""
        own = user_biases(histories, self.base, self.user_damping)
        return own, histories.values - self.base[histories.item_index] - own[histories.user_index]

    def rating_weights(self, histories: Ratings) -> Floats:
        """1 + x_uj / width of the scale, of each rating."""
        return 1 + self.residuals(histories)[1] / np.float32(self.width)


def require_lists(neighbours: Indices, similarities: Floats, size: int) -> None:
    """Raise unless every item lists items: kernels read memory by these positions."""
    fits = neighbours.ndim == 2 and neighbours.shape == similarities.shape and neighbours.dtype.kind in "iu"
    require(
        fits and len(neighbours) == size,
        f"there must be positions of neighbours and similarities for each of the {size:,} items, equally many",
    )
    check_inside("neighbours", neighbours, size)


def ranking_weights(release: Release) -> Floats:
    """``√n_i / Σ_{j ∈ N(i)} |s_ij|`` of each item."""
    sums = np.abs(release.arrays["similarities"]).sum(axis=1)
    weights: Floats = np.divide(
        np.sqrt(np.maximum(release.arrays["counts"], 0)), sums, out=np.zeros_like(sums), where=sums > 0
    )
    return weights
