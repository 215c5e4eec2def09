"""Rows of different lengths as blocks that a GPU likes: rows of about the same length, filled up to the same.

    length 1, 2, 3, 4, 6, 8, 12, 16, 24, …        what a row is filled up to: at most half of it is filling

The ratings of users, or of items, come one row after the other. A block names some rows and, for each, which ratings it
has; where it has none stands a place beyond all ratings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.extras import load_extra
from discreet.types import AnyArray


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, and the places of their ratings, rows by the longest."""

    rows: Any
    places: Any


def blocks(starts: Any, cells: int, most_rows: int, past: int) -> Iterator[Block]:
    """All rows, those without ratings too.

    Parameters
    ----------
    starts
        Where each row starts, with the end of the last: a tensor.
    cells, most_rows
        About how many places, and at most how many rows, a block has.
    past
        Stands where a row has no more ratings.

    Examples
    --------
    >>> import torch
    >>> for block in blocks(torch.tensor([0, 3, 3, 4]), 8, 8, past=4):
    ...     print(block.rows.tolist(), block.places.tolist())
    [1] [[]]
    [2] [[3]]
    [0] [[0, 1, 2]]
    """
    torch, device = load_extra("torch", "torch", "a GPU"), starts.device
    lengths, order = torch.sort(starts[1:] - starts[:-1], stable=True)
    filled = filled_lengths(lengths.cpu().numpy())
    ends = np.flatnonzero(np.diff(filled, append=-1)) + 1
    first = 0
    for end in ends.tolist():
        length = int(filled[end - 1])
        step = max(1, min(most_rows, cells // max(length, 1)))
        along = torch.arange(length, device=device)
        for begin in range(first, end, step):
            rows = order[begin : min(begin + step, end)]
            places = starts[rows, None] + along
            yield Block(rows, torch.where(places < starts[rows + 1, None], places, past))
        first = end


def filled_lengths(lengths: AnyArray) -> AnyArray:
    """What each length is filled up to.

    >>> filled_lengths(np.array([0, 1, 3, 5, 7, 9, 100])).tolist()
    [0, 1, 3, 6, 8, 12, 128]
    """
    power = 1 << np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    power = np.where(power < lengths, 2 * power, power)
    between = power * 3 // 4
    return np.where(lengths == 0, 0, np.where((lengths <= between) & (power > 2), between, power))
