"""Blocks of users as rows of a table: how ratings lie on a cluster, and what a task makes of them.

A row holds all ratings of some users as a few arrays of bytes, sorted by user and item: no row for a rating, no sorting
again for each sum. Rows are cut where a block has enough ratings, so none is huge. A mark, which depends on every byte,
tells whether a block that was computed again, after an executor was lost, is the one that was checked.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.handling import Handling
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RATINGS = 1 << 21
"""Of one block, unless a single user has more: 16 MB."""
MARKS = (1 << 62) - 1
"""Marks are added modulo this plus one, so that they fit into a column of Spark."""

NUMBERS = "part int, number int, users int, ratings long, mark long, problem string"
"""What the driver keeps of a block; no name and no rating."""
SCHEMA = f"{NUMBERS}, names binary, bounds binary, indptr binary, items binary, given binary, times binary"


@dataclass(frozen=True)
class Block:
    """What the driver knows of a block: where it lies, its sizes, and its mark."""

    part: int
    number: int
    users: int
    ratings: int
    mark: int


def cut(ratings: Ratings, most: int = MOST_RATINGS) -> Iterator[Ratings]:
    """Neighbouring users with about ``most`` ratings together, one block after the other."""
    first = 0
    while first < ratings.n_users:
        end = int(np.searchsorted(ratings.indptr, ratings.indptr[first] + most, side="right")) - 1
        end = min(max(end, first + 1), ratings.n_users)
        yield ratings._user_block(first, end)
        first = end


def to_row(part: int, number: int, ratings: Ratings) -> dict[str, object]:
    """A block as the entries of its row."""
    names = ratings.users.names
    held = {
        "names": names.bytes.tobytes(),
        "bounds": (names.offsets - names.offsets[0]).astype(np.int64).tobytes(),
        "indptr": ratings.indptr.tobytes(),
        "items": np.ascontiguousarray(ratings.item_index, dtype=np.int32).tobytes(),
        "given": np.ascontiguousarray(ratings.values, dtype=np.float32).tobytes(),
        "times": None if ratings.times is None else ratings.times.astype(np.int64).tobytes(),
    }
    sizes = {"part": part, "number": number, "users": ratings.n_users, "ratings": len(ratings)}
    return {**sizes, "mark": mark_of(held), "problem": None, **held}


def problem_row(part: int, sentence: str) -> dict[str, object]:
    """What a task found wrong: a sentence that names nobody."""
    return {"part": part, "number": 0, "users": 0, "ratings": 0, "mark": 0, "problem": sentence}


def mark_of(held: dict[str, bytes | None]) -> int:
    """A number that another block does not share, but for bad luck of 1 in 2**62."""
    low = high = 0
    for name in ("names", "bounds", "indptr", "items", "given", "times"):
        content = held[name] or b""
        low = zlib.crc32(content, low)
        high = zlib.adler32(content, high)
    return (low << 32 | high) & MARKS


def to_batch(rows: list[dict[str, object]], schema: str = SCHEMA) -> "pa.RecordBatch":
    """Rows as Arrow, with the columns of a schema of Spark; what a row does not name is missing."""
    import pyarrow as pa

    kinds = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
    fields = [pa.field(name, kinds[kind]) for name, kind in (entry.split() for entry in schema.split(", "))]
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in fields]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


@dataclass(frozen=True)
class Reader:
    """From rows back to ratings, in a task.

    Parameters
    ----------
    catalogue, handling
        Of all of them.
    change
        What a population does to every part: tags, a bound on each user's ratings.
    chosen, offsets
        Whom a sample holds, by position among all users, and at which position each block begins; None for everybody.
    """

    catalogue: Callable[[], Catalogue]
    handling: Handling
    change: Callable[[Ratings], Ratings] | None = None
    chosen: Callable[[], Booleans] | None = None
    offsets: Callable[[], dict[tuple[int, int], int]] | None = None

    def blocks(self, batches: "Iterator[pa.RecordBatch]") -> Iterator[tuple[int, int, Ratings]]:
        """Part, mark and ratings of every row; without the users that a sample leaves out."""
        for batch in batches:
            for place in range(batch.num_rows):
                row = {name: batch.column(name)[place] for name in batch.schema.names}
                part, number = row["part"].as_py(), row["number"].as_py()
                held = {name: row[name].as_buffer() if row[name].is_valid else None for name in _ARRAYS}
                ratings = self._ratings(held)
                if self.chosen is not None and self.offsets is not None:
                    first = self.offsets()[part, number]
                    own = np.flatnonzero(self.chosen()[first : first + ratings.n_users])
                    ratings = replace(ratings.select_users(own), handling=self.handling)
                if self.change is not None and ratings.n_users:
                    ratings = self.change(ratings)
                yield part, mark_of(held), ratings

    def _ratings(self, held: "dict[str, bytes | None]") -> Ratings:
        names = Strings(_array(held["names"], np.uint8), _array(held["bounds"], np.int64))
        indptr = _array(held["indptr"], np.int64)
        ratings = Ratings(
            catalogue=self.catalogue(),
            users=Labels(names, what="user"),
            user_index=np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr)),
            item_index=_array(held["items"], np.int32),
            values=_array(held["given"], np.float32),
            times=None if held["times"] is None else _array(held["times"], np.int64),
            handling=self.handling,
        )
        ratings.__dict__["indptr"] = indptr  # which is known already
        return ratings


_ARRAYS = ("names", "bounds", "indptr", "items", "given", "times")


def _array(content: bytes | None, kind: type) -> AnyArray:
    return np.frombuffer(content or b"", dtype=kind)
