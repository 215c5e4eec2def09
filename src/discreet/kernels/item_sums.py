"""Counts of items and sums of their ratings in whole numbers, users weighted so that each has a bounded length.

    x_ui  =  c clip((r_ui − base_i) / half, ±1)          half the width of the scale, times the clip
    w_u   =  1, 1/√Σ_i (1 + x²) or 1/Σ_i (1 + |x|)       whichever way users are scaled
    counts_i += ⌊w_u 2³⁰⌋,  sums_i += ⌊w_u x_ui 2³⁰⌋     towards 0

The terms of a user's own sum are rounded up to multiples of 2⁻²⁸, so nobody counts for more than without rounding. All
sums are then exact in 64 bits, the same in any order, on a GPU too.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.kernels.compiling import njit, prange
from discreet.kernels.device import root
from discreet.kernels.gpu_pairs import Columns, best_device, on_device
from discreet.types import AnyArray, Floats, Indices, Offsets

UNIT = 2.0**30
LENGTH_UNIT = 2.0**-28
"""Of a user's own sum: of up to 2²³ ratings it is exact in doubles and in 64 bits."""
HANDS = 32
"""Users are dealt to so many hands, which have sums of their own."""
PLAIN, SQUARES, SIZES = 0, 1, 2


def weighted_item_sums(
    users: Indices, items: Indices, values: Floats, base: Floats, half: float, c: float, scaling: int
) -> AnyArray:
    """Counts and sums of all items, in units of 2⁻³⁰. Ratings come by user: ``users`` never falls."""
    cuts = np.linspace(0, len(users), HANDS + 1).astype(np.int64)
    starts = np.concatenate([[0], np.searchsorted(users, users[cuts[1:-1]]) if len(users) else cuts[1:-1], cuts[-1:]])
    return _item_sums(starts, users, items, values, base, half, c, scaling)


@njit(cache=True, parallel=True)
def _item_sums(
    starts: Offsets, users: Indices, items: Indices, values: Floats, base: Floats, half: float, c: float, scaling: int
) -> AnyArray:
    sums = np.zeros((HANDS, 2, len(base)), dtype=np.int64)
    for hand in prange(HANDS):
        own, first = sums[hand], starts[hand]
        while first < starts[hand + 1]:
            whole, last = np.int64(0), first
            while last < starts[hand + 1] and users[last] == users[first]:
                away = (np.float64(values[last]) - np.float64(base[items[last]])) / half
                x = c * min(max(away, -1.0), 1.0)
                whole += int(np.ceil((1.0 + (x * x if scaling == SQUARES else abs(x))) / LENGTH_UNIT))
                last += 1
            length = whole * LENGTH_UNIT
            weight = 1.0
            if scaling == SQUARES:
                weight = 1.0 / max(np.sqrt(length), 1.0)
            elif scaling == SIZES:
                weight = 1.0 / max(length, 1.0)
            counted = np.int64(weight * UNIT)
            for place in range(first, last):
                item = items[place]
                away = (np.float64(values[place]) - np.float64(base[item])) / half
                x = c * min(max(away, -1.0), 1.0)
                own[0, item] += counted
                own[1, item] += np.int64(weight * x * UNIT)
            first = last
    total: AnyArray = sums.sum(axis=0)
    return total


def item_sums_by_torch(
    parts: Iterable[Columns], base: Floats, half: float, c: float, scaling: int, device: str | None = None
) -> AnyArray:
    """The same over several parts, each with where the ratings of every user start, their items and values."""
    torch = load_extra("torch", "torch", "an engine of torch")
    device = best_device() if device is None else device
    sums = torch.zeros((2, len(base)), dtype=torch.int64, device=device)
    there = torch.tensor(base, device=device).double()
    for indptr, items, values in on_device(parts, device):
        if len(items) == 0:
            continue
        where = items.long()
        x = c * ((values.double() - there[where]) / half).clamp_(-1, 1)
        weight: Any = torch.ones((), dtype=torch.float64, device=device)
        if scaling != PLAIN:
            lengths, users = indptr[1:] - indptr[:-1], len(indptr) - 1
            user = torch.repeat_interleave(torch.arange(users, device=device), lengths, output_size=len(where))
            terms = torch.ceil((1.0 + (x * x if scaling == SQUARES else x.abs())) / LENGTH_UNIT).long()
            length = torch.zeros(users, dtype=torch.int64, device=device).index_add_(0, user, terms).double()
            length = length * LENGTH_UNIT
            length = root(length) if scaling == SQUARES else length
            weight = (1.0 / length.clamp_(min=1.0))[user]
        sums[0].index_add_(0, where, (weight * UNIT).long().expand(len(where)))
        sums[1].index_add_(0, where, (weight * x * UNIT).long())
    found: AnyArray = sums.cpu().numpy()
    return found
