"""Gradients of item factors as users send them: one vector for each rating, rounded to integers, and summed as
integers.

Integers are added mod 2**64, which does not depend on the order; and what is done for one rating is the same sequence
of operations whether one user is served or all of them. So a user's device and a simulation of everyone agree in every
bit.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import njit
from discreet.kernels.ridge import REORDER
from discreet.types import Doubles, Floats, Indices, Offsets

Words = NDArray[np.uint64]
Sums = NDArray[np.int64]
TOO_LARGE = 9.2e18


@njit(cache=True, fastmath=REORDER)
def serve_users(
    users: Indices,
    indptr: Offsets,
    columns: Indices,
    values: Floats,
    own: Doubles,
    factors: Doubles,
    noise: Doubles,
    divisors: Doubles,
    unit: float,
    rate: float,
    penalty: float,
    in_ball: bool,
    user_first: bool,
    sums: Sums,
) -> float:
    """A round at these users' homes: their gradients are added to ``sums``, and their own vectors make a step.

    Of every rating ``round(unit · (−2 u (r − u·v) + noise))`` is added to the row of its item, and
    ``u ← u + rate (2/M Σ v (r − u·v) − 2 penalty u)``, then into the unit ball if wanted; gradients are those of the
    vector before the step, or after it (``user_first``). ``noise`` has a row for each rating in the order of ``users``,
    or no rows for none. Returns the largest number before rounding, in units; sums are right if all are below 2**63.

    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([5], dtype=np.float32)
    >>> u, v, sums = np.ones((1, 1)), np.full((1, 1), 2.0), np.zeros((1, 1), dtype=np.int64)
    >>> how = np.zeros((0, 1)), np.ones(1), 16.0, 0.5, 0.0, False, False
    >>> serve_users(np.zeros(1, dtype=np.int32), *data, u, v, *how, sums), sums.tolist(), u.tolist()
    (96.0, [[-96]], [[7.0]])
    """
    d, row, largest = own.shape[1], 0, 0.0
    pull, sent = np.empty(d), np.empty(d)
    for place in range(len(users)):
        user = users[place]
        u = own[user]
        if user_first:
            pull[:] = 0
            for rating in range(indptr[user], indptr[user + 1]):
                v = factors[columns[rating]]
                dot = 0.0
                for k in range(d):
                    dot += u[k] * v[k]
                error = np.float64(values[rating]) - dot
                for k in range(d):
                    pull[k] += error * v[k]
            _step(u, pull, 2.0 / divisors[user], rate, penalty, in_ball)
        pull[:] = 0
        for rating in range(indptr[user], indptr[user + 1]):
            item = columns[rating]
            v, total = factors[item], sums[item]
            dot = 0.0
            for k in range(d):
                dot += u[k] * v[k]
            error = np.float64(values[rating]) - dot
            if not np.abs(error) < TOO_LARGE:
                return np.inf
            twice = -2.0 * error
            for k in range(d):
                pull[k] += error * v[k]
                sent[k] = twice * u[k]
            if len(noise) > 0:
                for k in range(d):
                    sent[k] += noise[row, k]
            for k in range(d):
                sent[k] = np.rint(sent[k] * unit)
                largest = max(largest, np.abs(sent[k]))
            if not largest < TOO_LARGE:
                return np.inf
            for k in range(d):
                total[k] += np.int64(sent[k])
            row += 1
        if not user_first:
            _step(u, pull, 2.0 / divisors[user], rate, penalty, in_ball)
    return largest


@njit(cache=True, fastmath=REORDER)
def _step(u: Doubles, pull: Doubles, twice: float, rate: float, penalty: float, in_ball: bool) -> None:
    square = 0.0
    for k in range(len(u)):
        u[k] += rate * (twice * pull[k] - 2.0 * penalty * u[k])
        square += u[k] * u[k]
    if in_ball and square > 1.0:
        length = np.sqrt(square)
        for k in range(len(u)):
            u[k] /= length


@njit(cache=True)
def normals_of(words: Words) -> Doubles:
    """Standard normal numbers, two of every two words (Box and Muller); of an odd word at the end one."""
    count = len(words)
    out = np.empty(count)
    for place in range(0, count, 2):
        other = words[place + 1] if place + 1 < count else words[place] * np.uint64(6364136223846793005)
        radius = np.sqrt(-2.0 * np.log((np.float64(words[place] >> np.uint64(11)) + 0.5) * 2.0**-53))
        angle = 2.0 * np.pi * np.float64(other >> np.uint64(11)) * 2.0**-53
        out[place] = radius * np.cos(angle)
        if place + 1 < count:
            out[place + 1] = radius * np.sin(angle)
    return out


@njit(cache=True)
def exponentials_of(words: Words) -> Doubles:
    """Exponential numbers of mean 1, one of each word."""
    out = np.empty(len(words))
    for place in range(len(words)):
        out[place] = -np.log((np.float64(words[place] >> np.uint64(11)) + 0.5) * 2.0**-53)
    return out


@njit(cache=True)
def add_laplace_rows(words: Words, rows: Indices, scale: float, unit: float, sums: Sums) -> float:
    """Add Laplace noise of this scale, rounded, to these rows; the largest number before rounding, in units."""
    d, largest, place = sums.shape[1], 0.0, 0
    for at in range(len(rows)):
        total = sums[rows[at]]
        for k in range(d):
            word = words[place]
            place += 1
            size = -scale * np.log((np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53)
            x = np.rint(size * unit)
            if x > largest:
                largest = x
            if largest < TOO_LARGE:
                total[k] += np.int64(x) if word & np.uint64(1) else -np.int64(x)
    return largest
