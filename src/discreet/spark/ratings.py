"""Ratings that lie on a Spark cluster, for every population to take.

A population asks them for totals; the cluster computes these where the ratings are, and the driver adds noise once,
after the ledger was charged. What is made of the sums is the same as on one machine, to the last bit.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeVar

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.handling import HANDLING, OURS, Handling, options_of_table
from discreet.data.labels import counted
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.doors import checked_before
from discreet.errors import DataError, InputError, require, require_whole
from discreet.looks import Looks
from discreet.populations.contribution import Contribution
from discreet.privacy.bounding import user_tags
from discreet.spark import running
from discreet.spark.adding import CHANGED, Expected, add_up
from discreet.spark.blocks import MARKS, NUMBERS, Block, Reader, to_batch
from discreet.spark.gathering import FRAME, Columns, Gathering, dealt, items_in
from discreet.spark.shared import Shared
from discreet.types import AnyArray, Booleans

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discreet.data.gather import Repeats

T = TypeVar("T")

WORDS = bytes(32)
"""The key of the words by which users in two parts are found: these words leave no task but to be compared."""
SPLIT = (
    "some user has ratings in two partitions of the data frame, and would count as two users: partition it by the "
    "column of the users, or leave out shuffle=False"
)


@checked_before
def from_spark(
    dataframe: Any,
    *,
    scale: Scale | tuple[float, float],
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    time: str | None = None,
    items: Any = None,
    items_public: bool = False,
    repeats: "Repeats" = "keep",
    partitions: int | None = None,
    shuffle: bool = True,
) -> "SparkRatings":
    """Take ratings from a data frame of Apache Spark, and leave them on its cluster.

    They are partitioned by user, checked, sorted and kept on the executors: one pass over the data frame, before
    anything is spent. Needs ``pip install 'discreet[spark]'`` here and on the executors.

    Parameters
    ----------
    dataframe
        One row for each rating.
    scale
        The rating scale. It is declared, never read off the data.
    user, item, rating, time
        Names of the columns: text or whole numbers, numbers, and seconds or dates. Times matter only for merging.
    items
        All items: a :class:`Catalogue`, a table by its path, or the name of a data set. A rating of another item is an
        error. Without it the list is read off the ratings, and nothing can be proven.
    items_public
        Say that the list in ``items`` is public: that it was made without looking at the ratings.
    repeats
        How several ratings of one item by one user are merged; ``"keep"`` refuses them. Of ratings at the same time
        the higher counts as the later one.
    partitions
        Into how many parts the users are dealt. A task holds one part. By default two for each core, or more where the
        table is large.
    shuffle
        False for a data frame that is partitioned by user already: it is checked, and not moved.

    Examples
    --------
    ::

        ratings = dc.from_spark(spark.read.parquet("s3a://lake/ratings"), scale=(1, 5), items="items.parquet",
                                items_public=True)
        server = dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User()))
        release = dc.Almanac().fit(server)
    """
    frame = running.check_frame(dataframe)
    columns = Columns(user, item, rating, time)
    columns.check(frame)
    scale = Scale(*scale) if isinstance(scale, tuple) else scale
    require(repeats in ("keep", "last", "mean", "recency"), "repeats must be 'keep', 'last', 'mean' or 'recency'")
    require(
        repeats not in ("last", "recency") or time is not None,
        f"repeats={repeats!r} goes by time, and rows of a data frame have no order: name the column, time=…",
    )
    if partitions is not None:
        require_whole("partitions", partitions, least=1)
    catalogue = _catalogue(frame, item, items, scale, items_public)
    parts = partitions or running.parts_for(frame)
    options = options_of_table("", rating, None, time, items, ())
    handling = Handling(merged=None if repeats == "keep" else repeats, options=options)
    if dict(frame.dtypes).get(HANDLING) == "string":  # else it is somebody's own
        marks = frame.filter(frame[HANDLING].startswith(OURS)).select(HANDLING).distinct()
        handling = handling.marked_as(running.collected(marks).column(HANDLING).to_pylist())
    shared = Shared.of(frame, catalogue)
    blocks = dealt(frame, columns, Gathering(shared, repeats), parts, shuffle=shuffle).persist()
    try:
        kept = _checked(blocks)
        found = SparkRatings(blocks, catalogue, handling, shared, kept)
        require(shuffle or not found.has_split_users(), SPLIT)
    except BaseException:
        blocks.unpersist()
        raise
    return found


class SparkRatings(RatingsInParts):
    """Ratings in the partitions of a Spark cluster; :func:`discreet.from_spark` makes them.

    Every population takes them. Sums are computed on the cluster; whatever else asks for the ratings themselves, a
    simulation of devices for example, gets them part by part.
    """

    def __init__(
        self, frame: "DataFrame", catalogue: Catalogue, handling: Handling, shared: Shared, blocks: tuple[Block, ...]
    ) -> None:
        self.looks = Looks()
        self.catalogue, self.handling = catalogue, handling
        self._frame, self._shared, self._sent, self._blocks = frame, shared, catalogue, blocks
        self._change: Callable[[Ratings], Ratings] | None = None
        self._chosen: Booleans | None = None

    def __len__(self) -> int:
        return sum(block.ratings for block in self._blocks)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'rating')}, {counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}"
        return f"SparkRatings({sizes}, scale {self.catalogue.scale})"

    @property
    def n_users(self) -> int:
        """How many users there are."""
        if self._chosen is not None:
            return int(np.count_nonzero(self._chosen))
        return sum(block.users for block in self._blocks)

    def parts(self) -> Iterator[Ratings]:
        """The ratings of some users after those of others, fetched one partition at a time."""
        reader, marks = self._reader, {(block.part, block.number): block.mark for block in self._blocks}
        with running.described(self._frame.sparkSession):
            for row in self._frame.toLocalIterator():
                batch = to_batch([row.asDict()])
                for part, mark, ratings in reader.blocks(iter([batch])):
                    if marks.get((part, row["number"])) != mark:
                        raise DataError(CHANGED)
                    if ratings.n_users:
                        yield ratings

    def added_up(self, contribution: Contribution) -> AnyArray:
        """The total over all users, computed on the cluster; the population adds noise to it."""
        parts = self._frame.rdd.getNumPartitions() if not self._blocks else max(b.part for b in self._blocks) + 1
        return add_up(self._frame, contribution, self._reader, Expected.of(parts, self._blocks))

    def folded(self, start: Callable[[], T], add: Callable[[T, Ratings], None]) -> Iterator[T]:
        """What ``add`` makes of the users of each partition, made where they are; for what is no sum."""
        reader = self._reader

        def fold(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            running.prepare_task()
            kept, marks = start(), 0
            for _, mark, ratings in reader.blocks(batches):
                marks = (marks + mark) & MARKS
                add(kept, ratings)
            yield to_batch([{"mark": marks, "content": pickle.dumps(kept)}], "mark long, content binary")

        table = running.collected(running.mapped(self._frame, fold, "mark long, content binary"))
        marks = sum(table.column("mark").to_pylist()) & MARKS
        if marks != sum(block.mark for block in self._blocks) & MARKS:
            raise DataError(CHANGED)
        for content in table.column("content"):
            yield pickle.loads(content.as_py())

    def some_users(self, chosen: Booleans) -> "SparkRatings":
        """The users for whom a mask is true, by position."""
        return self._with(_chosen=np.asarray(chosen, dtype=np.bool_))  # type: ignore[return-value]

    def check_unchanged(self) -> None:
        """Nothing shows before a task reads them again; then marks do."""

    def with_users(self, names: Iterable[str]) -> Never:
        """Refused: who takes part without a rating is not known to the cluster."""
        raise InputError("users without ratings cannot be listed on a Spark cluster: hide users and not ratings")

    def unpersist(self) -> None:
        """Let the executors forget the ratings."""
        self._frame.unpersist()

    def has_split_users(self) -> bool:
        """Whether some user is in two partitions."""
        reader = self._reader

        def words(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            import polars as pl
            import pyarrow as pa

            from discreet.data.gather import one_spelling, to_strings

            running.prepare_task()
            for _, _, ratings in reader.blocks(batches):
                names = to_strings(one_spelling(pl.Series(ratings.users.names.tolist(), dtype=pl.String)))
                yield pa.RecordBatch.from_arrays([pa.array(user_tags(names, WORDS).view(np.int64))], names=["word"])

        found = running.mapped(self._frame, words, "word long")
        twice = found.groupBy("word").count().where("count > 1").select("count").limit(1)
        return int(running.collected(twice).num_rows) > 0

    @property
    def _reader(self) -> Reader:
        if self._sent is not self.catalogue:  # which was given a prior since
            self._shared, self._sent = Shared.of(self._frame, self.catalogue), self.catalogue
        if self._chosen is None:
            return Reader(self._shared, self.handling, self._change)
        users = [block.users for block in self._blocks]
        starts = np.concatenate([[0], np.cumsum(users)]).tolist()
        offsets = {(block.part, block.number): start for block, start in zip(self._blocks, starts, strict=False)}
        chosen, places = Shared.of(self._frame, self._chosen), Shared.of(self._frame, offsets)
        return Reader(self._shared, self.handling, self._change, chosen, places)


def _checked(frame: "DataFrame") -> tuple[Block, ...]:
    """Compute all blocks, once, and say what is wrong with them."""
    names = [entry.split()[0] for entry in NUMBERS.split(", ")]
    table = running.collected(frame.select(*names)).to_pylist()
    for row in sorted(table, key=lambda row: row["part"]):
        if row["problem"]:
            raise DataError(row["problem"])
    if not table:
        raise DataError(f"{FRAME} is empty: it holds no rating")
    found = [Block(*(row[name] for name in names[:-1])) for row in table]
    return tuple(sorted(found, key=lambda block: (block.part, block.number)))


def _catalogue(frame: "DataFrame", item: str, items: Any, scale: Scale, items_public: bool) -> Catalogue:
    if items is None:
        require(not items_public, "items_public goes with items: list them")
        return items_in(frame, item, scale)
    if isinstance(items, Catalogue):
        require(items.scale == scale, f"the catalogue has the rating scale {items.scale}, but {scale} was declared")
        return items
    if isinstance(items, str | Path):
        from discreet.data.loading import public_items

        return public_items(items, scale, item, items_public=items_public)
    raise InputError(f"items must be a Catalogue, or a table by its path, got {type(items).__name__}")
