"""Counts of items and sums of their ratings in whole numbers, users weighted so that each has a bounded length.

    x_ui  =  c clip((r_ui − base_i) / half, ±1)          half the width of the scale
    w_u   =  1, 1/√Σ_i (1 + x²) or 1/Σ_i (1 + |x|)       whichever way users are scaled
    counts_i += ⌊w_u 2³⁰⌋,  sums_i += ⌊w_u x_ui 2³⁰⌋     towards 0

Each user's own sum is made in the order of the ratings, the others are exact in 64 bits in any order.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import AnyArray, Floats, Indices, Offsets

UNIT = 2.0**30
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
            length, last = 0.0, first
            while last < starts[hand + 1] and users[last] == users[first]:
                away = (np.float64(values[last]) - np.float64(base[items[last]])) / half
                x = c * min(max(away, -1.0), 1.0)
                length += 1.0 + (x * x if scaling == SQUARES else abs(x))
                last += 1
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
