"""What the users tell about each item in one sweep of ALS, and the item factors that follow from it.

The statistic of an item is one row: the lower triangle of ``Σ_u z_u z_uᵀ`` packed row by row, then ``Σ_u t_ui z_u``,
then how many users there were. All three are sums over the users who rated it.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER, cholesky, gather, substitute
from discreet.types import Doubles, Floats, Indices, Offsets


def packed_width(d: int) -> int:
    """Length of one item's statistic for ``d`` factors.

    >>> packed_width(2)
    6
    """
    return d * (d + 1) // 2 + d + 1


@njit(cache=True, parallel=True, fastmath=REORDER)
def normal_equation_sums(indptr: Offsets, users: Indices, targets: Floats, factors: Floats) -> Doubles:
    """The statistic of every item, from the users who rated it, their targets and their factors.

    >>> two = np.full((1, 1), 2, dtype=np.float32)
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([3], dtype=np.float32)
    >>> normal_equation_sums(*data, two).tolist()
    [[4.0, 6.0, 1.0]]
    """
    items, d = len(indptr) - 1, factors.shape[1]
    packed = d * (d + 1) // 2
    statistics = np.zeros((items, packed + d + 1))
    for i in prange(items):
        first, last = indptr[i], indptr[i + 1]
        if first < last:
            gram, moment = np.zeros((d, d), dtype=np.float32), np.zeros(d, dtype=np.float32)
            gather(first, last, users, targets, factors, 1.0, gram, moment)
            place = 0
            for a in range(d):
                for b in range(a + 1):
                    statistics[i, place] = gram[a, b]
                    place += 1
            for a in range(d):
                statistics[i, packed + a] = moment[a]
            statistics[i, packed + d] = last - first
    return statistics


@njit(cache=True, parallel=True, fastmath=REORDER)
def solve_items(statistics: Doubles, base: Floats, weight: float, penalty_of_a_rating: Floats) -> Floats:
    """``(base + weight gram + count diag(penalty_of_a_rating))⁻¹ moment`` for every item.

    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> solve_items(np.array([[4.0, 10.0, 1.0]]), 0 * one, 1.0, one[0]).tolist()
    [[2.0]]
    """
    items, d = len(statistics), len(base)
    packed = d * (d + 1) // 2
    w = np.float32(weight)
    solved = np.zeros((items, d), dtype=np.float32)
    for i in prange(items):
        count = np.float32(statistics[i, packed + d])
        if count > 0:
            gram = base.copy()
            place = 0
            for a in range(d):
                for b in range(a + 1):
                    gram[a, b] += w * np.float32(statistics[i, place])
                    place += 1
                gram[a, a] += penalty_of_a_rating[a] * count
                solved[i, a] = statistics[i, packed + a]
            cholesky(gram)
            substitute(gram, solved[i])
    return solved


LATTICE = 2.0**30
STRIPES = 64
"""Items are dealt out to threads in so many stripes: neighbours in a catalogue are often rated about as much."""


@njit(cache=True)
def by_place(indptr: Offsets, places: Indices, targets: Doubles, size: int) -> tuple[Offsets, Indices, Doubles]:
    """Ratings of users, from place to place instead: where each begins, who rated it, and their targets.

    Ratings with a negative place are left out.

    >>> indptr, places = np.array([0, 2, 3], dtype=np.int64), np.array([1, -1, 0], dtype=np.int32)
    >>> [part.tolist() for part in by_place(indptr, places, np.array([5.0, 6.0, 7.0]), 2)]
    [[0, 1, 2], [1, 0], [7.0, 5.0]]
    """
    starts = np.zeros(size + 1, dtype=np.int64)
    for at in range(len(places)):
        if places[at] >= 0:
            starts[places[at] + 1] += 1
    for place in range(size):
        starts[place + 1] += starts[place]
    behind = starts[:-1].copy()
    users, own = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
    for u in range(len(indptr) - 1):
        for at in range(indptr[u], indptr[u + 1]):
            if places[at] >= 0:
                there = behind[places[at]]
                behind[places[at]] += 1
                users[there], own[there] = u, targets[at]
    return starts, users, own


@njit(cache=True, parallel=True)
def add_bounded_statistics(
    statistics: Doubles,
    indptr: Offsets,
    users: Indices,
    targets: Doubles,
    factors: Doubles,
    squares: Doubles,
    scales: Doubles,
) -> None:
    """Add every item's left and right side in whole steps of 2**-30, so that no order of summing matters.

    Row ``i`` of ``statistics``, which counts steps, grows by ``scales[i]`` times ``Σ_u squares_u``, then ``scales[i]``
    times ``Σ_u t_ui z_u``, over the users who rated it. What each user adds to a cell is rounded towards 0, so nobody
    adds more than without rounding, and up to 2**23 users who add at most 1 each are summed exactly. It is quick where
    ``squares`` fit into the cache of a processor: ask with a few thousand users at a time.

    >>> two, five, found = np.full((1, 1), 2.0), np.full((1, 1), 5.0), np.zeros((1, 2))
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.array([3.0])
    >>> add_bounded_statistics(found, *data, two, five, np.array([0.5]))
    >>> (found / LATTICE).tolist()
    [[2.5, 3.0]]
    """
    items, d, packed = len(indptr) - 1, factors.shape[1], squares.shape[1]
    for stripe in prange(STRIPES):
        for i in range(stripe, items, STRIPES):
            own, scale = statistics[i], scales[i] * LATTICE
            for at in range(indptr[i], indptr[i + 1]):
                square, z, t = squares[users[at]], factors[users[at]], targets[at] * scale
                for place in range(packed):
                    own[place] += np.trunc(square[place] * scale)
                for a in range(d):
                    own[packed + a] += np.trunc(t * z[a])


def unpack(packed: Doubles) -> Doubles:
    """The symmetric matrix of a packed lower triangle.

    >>> unpack(np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    d = int((2 * len(packed)) ** 0.5)
    matrix = np.zeros((d, d))
    rows, columns = np.tril_indices(d)
    matrix[rows, columns] = matrix[columns, rows] = packed
    return matrix


def pack(matrix: Doubles) -> Doubles:
    """The lower triangle of a symmetric matrix, row by row.

    >>> pack(np.array([[1.0, 2.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    return np.asarray(matrix[np.tril_indices(len(matrix))])
