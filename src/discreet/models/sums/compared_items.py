"""What the item-item neighbour models ask for: sums over the users who rated two items, a block of items at a time.

They have no bound, so no noise can hide them: they are for populations that hide nothing, or whose ratings were
perturbed before anyone saw them.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels.gram import gram_rows
from discreet.kernels.neighbours import nearest
from discreet.models.home.neighbourhood import Centre, NeighbourModel
from discreet.models.home.user_bias import user_biases
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress

BLOCK_CELLS = 1 << 20  # sums asked for at once: 8 MB, small enough for a processor's cache
LEAST_ROWS = 64  # but no fewer rows, so that every thread has some


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
