"""Stochastic gradient steps of a factor model, in parallel and yet the same for any number of threads.

Users and items are dealt into ``grid`` groups each, which cuts the ratings into ``grid × grid`` blocks.
Blocks on one diagonal, ``(0, s), (1, s + 1), …``, share no user and no item, so they can be worked through
at the same time without touching each other's numbers. The grid depends on the data, never on the
threads: who works on which block does not change the outcome.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import AnyArray, Floats, Indices, Offsets

RATINGS_OF_A_BLOCK = 100_000  # enough work between two barriers to be worth several threads
LARGEST_GRID = 64

Triples = tuple[Indices, Indices, Floats]
"""Users, items and values of ratings."""
Sides = tuple[Floats, Floats, Floats, Floats]
"""The factors of users and of items, and the biases of both."""
Rates = tuple[float, float, float, float]
"""How far a step goes in factors and in biases, and how strongly it pulls each of them to 0."""


def grid_for(ratings: int, users: int, items: int) -> int:
    """How many groups to deal users and items into.

    >>> grid_for(100_000, 943, 1682), grid_for(10, 3, 2), grid_for(10**8, 10**6, 10**5)
    (1, 1, 31)
    """
    return max(1, min(LARGEST_GRID, users, items, int((ratings / RATINGS_OF_A_BLOCK) ** 0.5)))


def deal(counts: AnyArray, grid: int) -> Indices:
    """The group of each user (or item), so that all groups hold about as many ratings.

    The busiest go first, back and forth over the groups.

    >>> deal(np.array([5, 4, 3, 2, 1]), 2).tolist()
    [0, 1, 1, 0, 0]
    """
    turn = np.arange(len(counts), dtype=np.int32) % (2 * grid)
    groups = np.empty(len(counts), dtype=np.int32)
    groups[np.argsort(-counts, kind="stable")] = np.where(turn < grid, turn, 2 * grid - 1 - turn)
    return groups


@njit(cache=True, fastmath=True)
def _work_through(first: int, last: int, ratings: Triples, sides: Sides, rates: Rates) -> float:
    """The steps of one block."""
    users, items, values = ratings
    user_factors, item_factors, user_bias, item_bias = sides
    rate, bias_rate, penalty, bias_penalty = rates
    d = user_factors.shape[1]
    shrink, bias_shrink = np.float32(1.0 - rate * penalty), np.float32(1.0 - bias_rate * bias_penalty)
    rate32, bias_rate32 = np.float32(rate), np.float32(bias_rate)
    total = 0.0
    for row in range(first, last):
        u, i = users[row], items[row]
        dot = np.float32(0.0)
        for k in range(d):
            dot += user_factors[u, k] * item_factors[i, k]
        e = values[row] - user_bias[u] - item_bias[i] - dot
        total += e * e
        user_bias[u] = bias_shrink * user_bias[u] + bias_rate32 * e
        item_bias[i] = bias_shrink * item_bias[i] + bias_rate32 * e
        step = rate32 * e
        for k in range(d):
            p, q = user_factors[u, k], item_factors[i, k]
            user_factors[u, k] = shrink * p + step * q
            item_factors[i, k] = shrink * q + step * p
    return total


@njit(cache=True, parallel=True, fastmath=True)
def sgd_epoch(starts: Offsets, diagonals: Offsets, ratings: Triples, sides: Sides, rates: Rates) -> float:
    """One pass over all ratings; factors and biases change in place.

    For each rating, with ``e = value − user_bias − item_bias − p·q`` before the step::

        p ← p + rate (e q − penalty p)        user_bias ← user_bias + bias_rate (e − bias_penalty user_bias)
        q ← q + rate (e p − penalty q)        item_bias ← item_bias + bias_rate (e − bias_penalty item_bias)

    Parameters
    ----------
    starts
        Block ``(a, b)`` owns the ratings from ``starts[a * grid + b]`` to the next entry.
    diagonals
        The order in which the ``grid`` diagonals are worked through.
    ratings
        Sorted by block, values about the mean.

    Returns
    -------
    Sum of squared errors, each taken before its own step.
    """
    grid = len(diagonals)
    if grid == 1:  # waking threads costs more than such a pass
        return _work_through(starts[0], starts[1], ratings, sides, rates)
    squares = np.zeros(grid)
    for diagonal in diagonals:
        for block in prange(grid):
            place = block * grid + (block + diagonal) % grid
            squares[block] += _work_through(starts[place], starts[place + 1], ratings, sides, rates)
    return float(squares.sum())
