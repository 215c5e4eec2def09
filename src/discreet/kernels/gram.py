"""Sums over users for pairs of items, a block of item rows at a time.

Every row of the result is owned by one thread, which walks the users who rated the row's item and, for each,
that user's ratings: no two threads write to one cell, and the order of every sum is fixed by the data. So the
result depends neither on the number of threads nor on how the rows are cut into blocks.
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets

HANDS = 64  # popular items often stand together: rows are dealt to this many hands in turn, for equal work

PRODUCTS, PRODUCTS_AND_COUNTS, MOMENTS = 1, 2, 6  # how many statistics are summed for every pair


def gram_rows(
    first: int,
    rows: int,
    by_item: tuple[Offsets, Indices, Floats],
    by_user: tuple[Offsets, Indices, Floats],
    statistics: int = PRODUCTS,
) -> Doubles:
    """Sums over the users who rated both items, for ``rows`` items from ``first`` against all items.

    Parameters
    ----------
    first, rows
        The block of items that the rows of the result stand for.
    by_item
        ``(indptr, users, values)``: who rated each item.
    by_user
        ``(indptr, items, values)``: what each user rated; the same values in the other order.
    statistics
        ``PRODUCTS``; or ``PRODUCTS_AND_COUNTS``; or ``MOMENTS``: products, counts, values of the row's item,
        values of the column's item, and the squares of both.

    Returns
    -------
    numpy.ndarray
        Rows by items by statistics.

    Examples
    --------
    Two users; the first rated both items, with 2 and 3, the second only the last, with 5.

    >>> by_item = np.array([0, 1, 3]), np.array([0, 0, 1], dtype=np.int32), np.array([2, 3, 5], dtype=np.float32)
    >>> by_user = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32), np.array([2, 3, 5], dtype=np.float32)
    >>> gram_rows(0, 2, by_item, by_user)[:, :, 0].tolist()
    [[4.0, 6.0], [6.0, 34.0]]
    """
    sums = np.zeros((rows, len(by_item[0]) - 1, statistics))
    indptr, items, values = by_user
    # Unsigned positions spare the kernel a test for negative ones in its innermost line.
    _gram_rows(first, sums, *by_item, indptr, items.view(np.uint32), values)
    return sums


@njit(cache=True, parallel=True)
def _gram_rows(
    first: int,
    sums: Doubles,
    item_indptr: Offsets,
    item_users: Indices,
    item_values: Floats,
    indptr: Offsets,
    items: AnyArray,
    values: Floats,
) -> None:
    rows, _, statistics = sums.shape
    for hand in prange(HANDS):
        for row in range(hand, rows, HANDS):
            cells = sums[row]
            for place in range(item_indptr[first + row], item_indptr[first + row + 1]):
                user, own = item_users[place], np.float64(item_values[place])
                if statistics == PRODUCTS:
                    for other in range(indptr[user], indptr[user + 1]):
                        cells[items[other], 0] += own * values[other]
                elif statistics == PRODUCTS_AND_COUNTS:
                    for other in range(indptr[user], indptr[user + 1]):
                        cell = cells[items[other]]
                        cell[0] += own * values[other]
                        cell[1] += 1.0
                else:
                    for other in range(indptr[user], indptr[user + 1]):
                        cell, value = cells[items[other]], np.float64(values[other])
                        cell[0] += own * value
                        cell[1] += 1.0
                        cell[2] += own
                        cell[3] += value
                        cell[4] += own * own
                        cell[5] += value * value
