"""What the item-item neighbour models share: whom they ask for what, and how neighbours speak for a user.

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

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require, require_kinds, require_settings
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.gram import gram_rows
from discreet.kernels.neighbours import nearest, neighbour_means
from discreet.models.home.item_arrays import ITEM_BIAS, LISTS, MEAN, NOISY_COUNTS
from discreet.models.home.neighbour_weights import NeighbourWeights
from discreet.models.home.user_bias import user_biases
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array, check_inside
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress

Centre = Literal["none", "item", "user"]

BLOCK_CELLS = 1 << 20  # sums asked for at once: 8 MB, small enough for a processor's cache
LEAST_ROWS = 64  # but no fewer rows, so that every thread has some


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


class Compared:
    """What is compared between two items: each rating less what was expected, plus ``presence``.

    Called on ratings it computes their values, at home. It remembers the last ratings it saw, because a fit asks
    for many blocks of sums.
    """

    def __init__(self, base: AnyArray, centre: Centre, user_damping: float, presence: float = 0.0) -> None:
        def centred(values: Floats, items: Indices, users: Indices, own: Floats) -> Floats:
            lifted = values + np.float32(presence)
            if centre != "none":
                lifted -= base.astype(np.float32)[items]
            if centre == "user":
                lifted -= own[users]
            return lifted

        @lru_cache(maxsize=1)
        def both_orders(ratings: Ratings) -> tuple[Floats, Floats]:
            own = user_biases(ratings, base, user_damping)
            columns = ratings.by_item
            items = np.repeat(np.arange(ratings.n_items, dtype=np.int32), np.diff(columns.indptr))
            return (
                centred(ratings.values, ratings.item_index, ratings.user_index, own),
                centred(columns.values, items, columns.users, own),
            )

        self._both_orders: Callable[[Ratings], tuple[Floats, Floats]] = both_orders

    def __call__(self, ratings: Ratings) -> Floats:
        """The values in the order of the ratings."""
        return self._both_orders(ratings)[0]

    def by_item(self, ratings: Ratings) -> Floats:
        """The values in the order of ``ratings.by_item``."""
        return self._both_orders(ratings)[1]


def squares(size: int, compared: Compared) -> Contribution:
    """Sum of the squares of each item's compared values."""
    return Contribution(
        name="sum of squares of each item",
        shape=(size,),
        total=lambda ratings: np.bincount(
            ratings.item_index, weights=compared(ratings).astype(np.float64) ** 2, minlength=size
        ),
    )


def pair_sums(size: int, first: int, rows: int, compared: Compared, statistics: int) -> Contribution:
    """Sums over the users who rated two items, for a block of items against all (see ``gram_rows``)."""

    def total(ratings: Ratings) -> Doubles:
        columns = ratings.by_item
        return gram_rows(
            first,
            rows,
            (columns.indptr, columns.users, compared.by_item(ratings)),
            (ratings.indptr, ratings.item_index, compared(ratings)),
            statistics,
        )

    return Contribution(
        name=f"products of pairs of items, rows {first} to {first + rows - 1}",
        shape=(rows, size, statistics),
        total=total,
    )


def blocks_of_sums(
    population: Population, compared: Compared, statistics: int, progress: Progress
) -> Iterator[tuple[int, Doubles]]:
    """Ask for the sums of all pairs, a block of items at a time: ``(first item, sums)``."""
    size = len(population.catalogue)
    rows = max(LEAST_ROWS, BLOCK_CELLS // (size * statistics))
    for first in range(0, size, rows):
        block = min(rows, size - first)
        yield first, population.sum(pair_sums(size, first, block, compared, statistics))
        progress(first + block, size, "comparing items")


def release_of(
    model: NeighbourModel,
    population: Population,
    mean: float,
    item_bias: Floats,
    blocks: Iterator[tuple[int, Doubles]],
    similarity: Callable[[Doubles, int], Floats],
) -> Release:
    """Biases, counts, and each item's nearest items: found block by block, so that no items × items matrix is held.

    ``similarity(sums, first)`` turns a block of sums, whose first row is item ``first``, into similarities.
    """
    size = len(population.catalogue)
    width = max(1, min(model.neighbours, size - 1))
    near, kept = np.empty((size, width), dtype=np.int32), np.empty((size, width), dtype=np.float32)
    for first, sums in blocks:
        rows = slice(first, first + len(sums))
        near[rows], kept[rows] = nearest(similarity(sums, first), width)
    arrays: dict[str, AnyArray] = {
        "mean": np.array([mean], dtype=np.float32),
        "item_bias": item_bias,
        "counts": population.sum(item_counts(size, population.unit)).astype(np.float32),
        "neighbours": near,
        "similarities": kept if model.power == 1 else kept ** np.float32(model.power),
    }
    return Release.of(model, population, arrays)


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
