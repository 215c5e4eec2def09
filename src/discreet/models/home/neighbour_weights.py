"""Weights of the neighbours of each item, turned around so that a rating finds the items in whose scores it counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels import few_users
from discreet.kernels.compiling import chosen
from discreet.kernels.neighbours import similar_sums
from discreet.types import AnyArray, Floats, Indices, Offsets


@dataclass(frozen=True, eq=False)
class NeighbourWeights:
    """``neighbours`` of each item with their ``weights``, one row for each item; a weight of 0 stands for none."""

    neighbours: Indices
    weights: Floats

    @classmethod
    def of(cls, arrays: Mapping[str, AnyArray]) -> "NeighbourWeights | None":
        """From the released lists; None where there are none, or all weights are 0."""
        if "neighbour_weights" not in arrays or not arrays["neighbour_weights"].any():
            return None
        return cls(arrays["neighbours"], arrays["neighbour_weights"])

    @cached_property
    def turned(self) -> tuple[Offsets, Indices, Floats]:
        """``(starts, items, weights)``: item j is a neighbour of ``items[starts[j]:starts[j + 1]]``."""
        size, listed = len(self.neighbours), self.weights != 0
        items = np.repeat(np.arange(size, dtype=np.int32), np.count_nonzero(listed, axis=1))
        rated = self.neighbours[listed]
        # Numbers of 16 bits are sorted in linear time.
        order = np.argsort(rated.astype(np.uint16) if size <= 1 << 16 else rated, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(rated, minlength=size))])
        return starts, items[order], self.weights[listed][order]

    def sums(self, histories: Ratings, of_ratings: Floats) -> Floats:
        """For each user and item, the weights of the user's ratings, each times its number in ``of_ratings``."""
        total = chosen(histories.n_users, few_users.similar_sums, similar_sums)
        return total(histories.indptr, histories.item_index, of_ratings, *self.turned)

    def to_all(self, item: int) -> Floats:
        """The weight of each item for ``item``."""
        by_weights = np.zeros(len(self.neighbours), dtype=np.float32)
        listed = self.weights[item] != 0
        by_weights[self.neighbours[item, listed]] = self.weights[item, listed]
        return by_weights
