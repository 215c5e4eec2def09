"""Sums over users on a cluster: every task adds up its blocks, and tasks after it add up what these found.

A task is a pure function of its partition and of the question, so one that is run again, or twice at once, gives the
same rows, of which Spark takes one. Whole numbers, and doubles on a lattice, add up exactly in any order. What is not
exact (sums without privacy may be any doubles) is added in the order of the parts, so it comes out the same each time.

Large totals travel in pieces. With every piece go the number of blocks in it and the sum of their marks; if these are
not those of the blocks that were checked, every one once, the sum is refused.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError, DiscreetError, InputError
from discreet.populations.adding import kind_of_total, part_total
from discreet.populations.contribution import Contribution
from discreet.spark import running
from discreet.spark.blocks import MARKS, Block, Reader, to_batch
from discreet.types import AnyArray

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMA = "piece int, source int, blocks long, mark long, problem string, cells binary"
PIECE = 1 << 19
"""Cells of a piece: 4 MB."""
FAN_IN = 16
"""Sums that one task adds up."""
FOR_DRIVER = 1 << 26
"""Bytes of partial sums that the driver adds up itself."""
CHANGED = "the ratings on the cluster are no longer those that were checked: make them again with from_spark"


@dataclass(frozen=True)
class Adding:
    """One sum: what is asked, and how blocks are read."""

    contribution: Contribution
    reader: Reader

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """The task: the pieces of the total over one partition, or what went wrong."""
        running.prepare_task()
        problem = f"{self.contribution.name!r} could not be computed on the cluster"
        total: AnyArray | None = None
        source = blocks = marks = 0
        try:
            for part, mark, ratings in self.reader.blocks(batches):
                source, blocks, marks = part, blocks + 1, (marks + mark) & MARKS
                if ratings.n_users == 0:
                    continue
                own = part_total(self.contribution, ratings)
                if total is None:
                    total = np.array(own)  # it may belong to the contribution
                else:
                    total += own
            problem = ""
        except DiscreetError as error:
            problem = str(error)
        except Exception:  # its words, and its place, may tell of the ratings
            pass
        if problem:
            yield to_batch([{"piece": 0, "source": source, "blocks": 0, "mark": 0, "problem": problem}], SCHEMA)
        elif blocks:
            if total is None:
                total = np.zeros(self.contribution.shape, dtype=kind_of_total(self.contribution))
            yield from _pieces(total.reshape(-1), source, blocks, marks)


def add_up(frame: "DataFrame", contribution: Contribution, reader: Reader, expected: "Expected") -> AnyArray:
    """The total over all blocks of a data frame."""
    kind, size = kind_of_total(contribution), math.prod(contribution.shape)
    sums, sources = running.mapped(frame, Adding(contribution, reader), SCHEMA), expected.parts
    pieces = max(1, -(-size // PIECE))
    while sources > 1 and sources * size * kind.itemsize > FOR_DRIVER:
        sources = -(-sources // FAN_IN)
        sums = _merged(sums, kind, tasks=min(pieces * sources, 4 * frame.sparkSession.sparkContext.defaultParallelism))
    return _whole(running.collected(sums), contribution, kind, expected)


@dataclass(frozen=True)
class Expected:
    """What a sum over all blocks must have seen."""

    parts: int
    blocks: int
    mark: int

    @classmethod
    def of(cls, parts: int, blocks: tuple[Block, ...]) -> "Expected":
        """Every block once."""
        return cls(parts, len(blocks), sum(block.mark for block in blocks) & MARKS)


def _merged(sums: "DataFrame", kind: "np.dtype[np.int64] | np.dtype[np.float64]", tasks: int) -> "DataFrame":
    """One level of the tree: up to ``FAN_IN`` sums become one, piece by piece."""
    functions = running.functions()
    group = (functions.col("source") / functions.lit(FAN_IN)).cast("int")
    sent = sums.withColumn("group", group).repartition(max(1, tasks), "piece", "group")
    return running.mapped(sent.sortWithinPartitions("piece", "group", "source"), _merger(kind), SCHEMA)


def _merger(kind: "np.dtype[np.int64] | np.dtype[np.float64]") -> Callable[..., "Iterator[pa.RecordBatch]"]:
    def merge(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for (piece, group), found in _runs(batches, kind):
            yield to_batch([found.row(piece, group)], SCHEMA)

    return merge


class _Sum:
    """Partial sums of one piece, added up."""

    def __init__(self) -> None:
        self.blocks, self.mark, self.problem = 0, 0, ""
        self.cells: AnyArray | None = None

    def add(self, blocks: int, mark: int, problem: str | None, cells: AnyArray | None) -> None:
        self.blocks, self.mark = self.blocks + blocks, (self.mark + mark) & MARKS
        self.problem = self.problem or problem or ""
        if cells is not None and not self.problem:
            self.cells = cells.copy() if self.cells is None else np.add(self.cells, cells, out=self.cells)

    def row(self, piece: int, source: int) -> dict[str, object]:
        cells = None if self.cells is None else self.cells.tobytes()
        own = {"blocks": self.blocks, "mark": self.mark, "problem": self.problem or None, "cells": cells}
        return {"piece": piece, "source": source, **own}


def _runs(
    batches: "Iterator[pa.RecordBatch]", kind: "np.dtype[np.int64] | np.dtype[np.float64]"
) -> Iterator[tuple[tuple[int, int], _Sum]]:
    """Rows that come sorted, those of one piece and group added up."""
    key, found = None, _Sum()
    for batch in batches:
        for place in range(batch.num_rows):
            own = int(batch.column("piece")[place].as_py()), int(batch.column("group")[place].as_py())
            if key is not None and own != key:
                yield key, found
                found = _Sum()
            key = own
            found.add(*_entries(batch, place, kind))
    if key is not None:
        yield key, found


def _entries(
    batch: "pa.RecordBatch | pa.Table", place: int, kind: "np.dtype[np.int64] | np.dtype[np.float64]"
) -> tuple[int, int, str | None, AnyArray | None]:
    cells = batch.column("cells")[place]
    return (
        batch.column("blocks")[place].as_py(),
        batch.column("mark")[place].as_py(),
        batch.column("problem")[place].as_py(),
        np.frombuffer(cells.as_buffer(), dtype=kind) if cells.is_valid else None,
    )


def _pieces(cells: AnyArray, source: int, blocks: int, mark: int) -> "Iterator[pa.RecordBatch]":
    for piece, first in enumerate(range(0, max(1, len(cells)), PIECE)):
        own = {"piece": piece, "source": source, "blocks": blocks, "mark": mark}
        yield to_batch([{**own, "problem": None, "cells": cells[first : first + PIECE].tobytes()}], SCHEMA)


def _whole(
    table: "pa.Table",
    contribution: Contribution,
    kind: "np.dtype[np.int64] | np.dtype[np.float64]",
    expected: Expected,
) -> AnyArray:
    """The total, of pieces that saw every block once."""
    size = math.prod(contribution.shape)
    found: dict[int, _Sum] = {}
    order = sorted(
        range(table.num_rows), key=lambda row: (table.column("piece")[row].as_py(), table.column("source")[row].as_py())
    )
    for row in order:
        piece = table.column("piece")[row].as_py()
        found.setdefault(piece, _Sum()).add(*_entries(table, row, kind))
    for own in found.values():
        if own.problem:
            raise InputError(own.problem)
    total = np.empty(size, dtype=kind)
    for piece, first in enumerate(range(0, max(1, size), PIECE)):
        one = found.get(piece)
        if one is None or one.cells is None or (one.blocks, one.mark) != (expected.blocks, expected.mark):
            raise DataError(CHANGED)
        total[first : first + PIECE] = one.cells
    return total.reshape(contribution.shape)
