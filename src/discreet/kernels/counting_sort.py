"""Rows put in order of whole numbers, in linear time."""

from discreet.kernels.compiling import njit
from discreet.types import AnyArray, Indices


@njit(cache=True)
def counting_sort(keys: Indices, before: AnyArray, ends: AnyArray, order: AnyArray) -> None:
    """Rows in the order ``before`` go to ``order`` by their keys, equal ones as they were.

    An empty ``before`` stands for the rows as they are. ``ends`` has a zero for each key, and one more.

    >>> import numpy as np
    >>> none, order = np.zeros(0, np.int32), np.zeros(4, np.int32)
    >>> counting_sort(np.array([1, 0, 1, 0], np.int32), none, np.zeros(3, np.int32), order)
    >>> order.tolist()
    [1, 3, 0, 2]
    """
    for row in range(len(keys)):
        ends[keys[row] + 1] += 1
    for key in range(1, len(ends)):
        ends[key] += ends[key - 1]
    for place in range(len(keys)):
        row = before[place] if len(before) else place
        order[ends[keys[row]]] = row
        ends[keys[row]] += 1
