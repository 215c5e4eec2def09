"""Factors of one side with those of the other held fixed, and noise in the objective: solved, or stepped towards.

Row ``j`` has ratings ``r_i`` by others with factors ``u_i``, and a vector of noise ``n_j``::

    objective of the row    ½ Σ_i (r_i − u_iᵀx)² + ½ ridge_j ‖x‖² + n_jᵀx
    its minimiser           (Σ_i u_i u_iᵀ + ridge_j I) x  =  Σ_i r_i u_i − n_j

All in doubles: noise makes these systems large and badly conditioned. Rows are worked through in parallel.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER, cholesky, substitute
from discreet.types import Doubles, Floats, Indices, Offsets

HANDS = 64  # popular rows often stand together: rows are dealt to this many hands in turn, for equal work
REGISTER = 8  # doubles in the widest vector register
EIGHT = 8  # rows that are gathered at once


@njit(cache=True, fastmath=REORDER)
def _gather(
    first: int, last: int, columns: Indices, values: Floats, factors: Doubles, gram: Doubles, moment: Doubles
) -> None:
    """Add ``Σ u uᵀ`` (lower triangle, in rows of whole registers) and ``Σ r u``, eight at a time."""
    d, width = factors.shape[1], gram.shape[1]
    own = np.zeros((EIGHT, width))
    v0, v1, v2, v3, v4, v5, v6, v7 = own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7]
    for start in range(first, last, EIGHT):
        rows = min(EIGHT, last - start)
        for row in range(rows):
            i, value = columns[start + row], np.float64(values[start + row])
            for k in range(d):
                own[row, k] = factors[i, k]
                moment[k] += value * factors[i, k]
        for row in range(rows, EIGHT):
            own[row, :] = 0
        for a in range(d):
            c0, c1, c2, c3, c4, c5, c6, c7 = v0[a], v1[a], v2[a], v3[a], v4[a], v5[a], v6[a], v7[a]
            cells = gram[a]
            for b in range((a // REGISTER + 1) * REGISTER):
                cells[b] += (
                    (c0 * v0[b] + c1 * v1[b] + c2 * v2[b] + c3 * v3[b])
                    + (c4 * v4[b] + c5 * v5[b] + c6 * v6[b] + c7 * v7[b])
                )  # fmt: skip


@njit(cache=True, parallel=True, fastmath=REORDER)
def minimise_rows(
    indptr: Offsets, columns: Indices, values: Floats, factors: Doubles, ridge: Doubles, noise: Doubles
) -> Doubles:
    """The minimiser of every row; a row without ratings has ``−noise / ridge``.

    >>> one = np.ones((1, 1))
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([8], dtype=np.float32)
    >>> minimise_rows(*data, one, 3 * one[0], 4 * one).tolist()
    [[1.0]]
    """
    rows, d = noise.shape
    width = (d + REGISTER - 1) // REGISTER * REGISTER
    solved = np.empty((rows, d))
    for hand in prange(HANDS):
        gram, triangle = np.empty((d, width)), np.empty((d, d))
        for row in range(hand, rows, HANDS):
            x = solved[row]
            for k in range(d):
                x[k] = -noise[row, k]
            gram[:] = 0
            _gather(indptr[row], indptr[row + 1], columns, values, factors, gram, x)
            for a in range(d):
                for b in range(a + 1):
                    triangle[a, b] = gram[a, b]
                triangle[a, a] += ridge[row]
            cholesky(triangle)
            substitute(triangle, x)
    return solved


@njit(cache=True, parallel=True, fastmath=REORDER)
def residual_pulls(indptr: Offsets, columns: Indices, values: Floats, own: Doubles, factors: Doubles) -> Doubles:
    """``Σ_i (r_i − x·u_i) u_i`` for every row ``x`` of ``own``: minus the gradient of its squared errors, halved.

    >>> one = np.ones((1, 1))
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([5], dtype=np.float32)
    >>> residual_pulls(*data, one, 2 * one).tolist()
    [[6.0]]
    """
    rows, d = own.shape
    pulls = np.zeros((rows, d))
    for hand in prange(HANDS):
        for row in range(hand, rows, HANDS):
            x, pull = own[row], pulls[row]
            for place in range(indptr[row], indptr[row + 1]):
                other = factors[columns[place]]
                dot = 0.0
                for k in range(d):
                    dot += x[k] * other[k]
                error = np.float64(values[place]) - dot
                for k in range(d):
                    pull[k] += error * other[k]
    return pulls


@njit(cache=True, fastmath=REORDER)
def step_through(
    users: Indices,
    items: Indices,
    values: Floats,
    user_factors: Doubles,
    item_factors: Doubles,
    noise: Doubles,
    rate: float,
    user_penalty: float,
    item_penalty: float,
    moves_users: bool,
) -> None:
    """One step for each rating in turn, in place; ``noise`` is what each step adds to the gradient of its item.

    ``e = r − u·v``, then ``u ← u + rate (2 e v − 2 user_penalty u)`` if users move, and
    ``v ← v + rate (2 e u − 2 item_penalty v − noise)``, both from the factors before the step.
    """
    d = user_factors.shape[1]
    twice, u_shrink, v_shrink = 2 * rate, 1 - 2 * rate * user_penalty, 1 - 2 * rate * item_penalty
    for row in range(len(values)):
        u, v, own = user_factors[users[row]], item_factors[items[row]], noise[items[row]]
        dot = 0.0
        for k in range(d):
            dot += u[k] * v[k]
        pull = twice * (np.float64(values[row]) - dot)
        for k in range(d):
            before = v[k]
            v[k] = v_shrink * before + pull * u[k] - rate * own[k]
            if moves_users:
                u[k] = u_shrink * u[k] + pull * before
