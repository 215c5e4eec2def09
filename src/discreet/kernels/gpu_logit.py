"""Rankings of many users at once by torch: expected interactions, conditional logits and the best items.

The same formulas as :mod:`discreet.models.almanac.ranking` and :mod:`discreet.kernels.conditional_logit`, for a
block of users as dense rows over all items. The Hessian of a user, n Cov_p f + diag(precision), is a row of the product
of all p with the products of features f fᵀ, so a Newton step of a block is three products of matrices and as many small
systems as there are users. Scores are those of the processor up to the rounding of single precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.conditional_logit import mixed
from discreet.types import AnyArray, Booleans, Floats, Indices, Offsets

CELLS = 1 << 27
"""Scores of a block: 512 MB, of which a few are held."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LogitArrays:
    """What does not depend on a user, as :class:`discreet.models.almanac.ranking.ConditionalLogit` has it.

    Parameters
    ----------
    share, rows, inward, outward, strength
        Popularity; positions of the items with factors; from interactions to factors, for every item, and back, for
        these; and the strength of each factor.
    features, precision
        Of the items, one row each; and of the prior of their coefficients.
    neighbour_weights
        Where each rated item's list starts, of which items it is a neighbour, and its weights; None for no such lists.
    interaction_variance, popularity_floor, part_of_weights, steps
        Constants of the model, and how many Newton steps.
    """

    share: Floats
    rows: AnyArray
    inward: Floats
    outward: Floats
    strength: Floats
    features: Floats
    precision: Floats
    interaction_variance: float
    popularity_floor: float
    part_of_weights: float
    steps: int
    neighbour_weights: tuple[Offsets, Indices, Floats] | None = None


class LogitOnDevice:
    """Scores and best items by torch, on a device."""

    def __init__(self, arrays: LogitArrays, device: str) -> None:
        torch = load_extra("torch", "torch", "rankings on a GPU")
        self.arrays, self.device, self.items = arrays, device, len(arrays.share)

        def there(array: AnyArray, kind: Any = None) -> Any:
            return torch.tensor(np.ascontiguousarray(array), device=device, dtype=kind)

        self.share, self.precision = there(arrays.share), there(arrays.precision)
        self.rows, self.inward, self.outward = there(arrays.rows), there(arrays.inward), there(arrays.outward)
        self.strength, self.features = there(arrays.strength), there(arrays.features)
        width = self.features.shape[1]
        self.upper, self.lower = torch.tril_indices(width, width, device=device)
        self.squares = self.features[:, self.upper] * self.features[:, self.lower]
        self.own = torch.zeros((self.items, len(arrays.strength)), device=device)
        self.own[self.rows] = self.inward[self.rows] * self.outward
        self.by_weights = None
        if arrays.neighbour_weights is not None:
            starts, items, weights = arrays.neighbour_weights
            place = np.full(self.items, -1)
            place[arrays.rows] = np.arange(len(arrays.rows))
            listed = place[items] >= 0
            by_weights = np.zeros((self.items, len(arrays.rows)), dtype=np.float32)
            by_weights[np.repeat(np.arange(self.items), np.diff(starts))[listed], place[items[listed]]] = weights[
                listed
            ]
            self.by_weights = there(by_weights)

    def scores(self, indptr: Offsets, items: Indices) -> tuple[Any, Any]:
        """log P of every item for every user of a block, and the positions of what they rated in it, as if flat."""
        torch, arrays = load_extra("torch", "torch", "rankings on a GPU"), self.arrays
        users = len(indptr) - 1
        lengths = torch.tensor(np.diff(indptr), device=self.device)
        rated = torch.tensor(items, device=self.device, dtype=torch.int64)
        user = torch.repeat_interleave(torch.arange(users, device=self.device), lengths, output_size=len(rated))
        cells, own = user * self.items + rated, lengths.to(torch.float32)[:, None]
        logs = torch.log((1 + arrays.popularity_floor) * own.clamp(min=1) * self.share)
        if len(arrays.strength):
            expected = self._above_0(torch, self._expected(torch, own, user, rated, indptr), own)
            if self.by_weights is not None:
                by_weights = self._above_0(torch, self._sums(torch, self.by_weights, rated, indptr), own)
                others = (
                    (1 + arrays.popularity_floor) * own.clamp(min=1) * (1 - self.share[self.rows].sum()).clamp(min=0)
                )
                ratio = (expected.sum(dim=1, keepdim=True) + others) / (by_weights.sum(dim=1, keepdim=True) + others)
                expected = mixed(expected, ratio * by_weights, arrays.part_of_weights)
                logs += torch.log(mixed(1, ratio, arrays.part_of_weights))
            logs[:, self.rows] = torch.log(expected)
        self._fit(torch, logs, own[:, 0], user, rated, indptr)
        return logs, cells

    def _expected(self, torch: Any, own: Any, user: Any, rated: Any, indptr: Offsets) -> Any:
        """μ of the items with factors, without what an own rating adds."""
        arrays, start = self.arrays, self.share[self.rows]
        pull = own * self.strength
        pull = pull / (pull + arrays.interaction_variance)
        moved = pull * (self._sums(torch, self.inward, rated, indptr) - own * (start @ self.inward[self.rows]))
        expected = torch.zeros((len(own), self.items), device=self.device)
        expected[:, self.rows] = moved @ self.outward.T + own * start
        expected.view(-1).index_put_((user * self.items + rated,), -(pull[user] * self.own[rated]).sum(dim=1), True)
        return expected[:, self.rows]

    def _above_0(self, torch: Any, expected: Any, own: Any) -> Any:
        """max(·, 0) + φ n p of the items with factors, and (1 + φ) p for a user without ratings; φ is the floor."""
        start, floor = self.share[self.rows], self.arrays.popularity_floor
        return torch.where(own > 0, expected.clamp(min=0) + floor * own * start, (1 + floor) * start)

    def _sums(self, torch: Any, rows: Any, rated: Any, indptr: Offsets) -> Any:
        """Σ over a user's items of their rows."""
        from torch.nn.functional import embedding_bag

        offsets = torch.tensor(np.asarray(indptr) - indptr[0], device=self.device, dtype=torch.int64)
        return embedding_bag(rated, rows, offsets, mode="sum", include_last_offset=True)

    def _fit(self, torch: Any, logs: Any, n: Any, user: Any, rated: Any, indptr: Offsets) -> None:
        """Newton steps, and add ηᵀf to the rows of users who rated something."""
        width = self.features.shape[1]
        target = self._sums(torch, self.features, rated, indptr)
        eta = torch.zeros((len(n), width), device=self.device)
        many = n.clamp(min=1)[:, None]
        hessian = torch.empty((len(n), width, width), device=self.device)
        for _ in range(self.arrays.steps):
            odds = torch.softmax(torch.addmm(logs, eta, self.features.T), dim=1)
            mean, square = odds @ self.features, odds @ self.squares
            square -= mean[:, self.upper] * mean[:, self.lower]
            square *= many
            hessian[:, self.upper, self.lower] = square
            hessian[:, self.lower, self.upper] = square
            hessian.diagonal(dim1=1, dim2=2).add_(self.precision)
            gradient = target - many * mean - self.precision * eta
            factor, _ = torch.linalg.cholesky_ex(hessian)
            step = torch.cholesky_solve(gradient[:, :, None], factor)[:, :, 0]
            length = (gradient * step).sum(dim=1, keepdim=True).clamp(min=0)
            eta += step / (length / many).sqrt().clamp(min=1)
        logs.addmm_(eta * (n > 0)[:, None], self.features.T)

    def best(
        self, indptr: Offsets, items: Indices, k: int, allowed: Booleans | None = None
    ) -> Iterator[tuple[int, Indices, Floats]]:
        """The k best allowed items of each user that they did not rate, best first, with scores; −1 for no more.

        A block of users at a time, with the position of its first.
        """
        torch = load_extra("torch", "torch", "rankings on a GPU")
        size = max(1, CELLS // self.items)
        refused = None if allowed is None else torch.tensor(~allowed, device=self.device)
        for first in range(0, len(indptr) - 1, size):
            own = np.asarray(indptr[first : first + size + 1])
            scores, cells = self.scores(own, items[int(own[0]) : int(own[-1])])
            scores.view(-1)[cells] = -float("inf")
            if refused is not None:
                scores.masked_fill_(refused, -float("inf"))
            found = torch.topk(scores, min(k, self.items), dim=1)
            places = torch.where(found.values > -float("inf"), found.indices, -1)
            yield first, places.to(torch.int32).cpu().numpy(), found.values.cpu().numpy()
