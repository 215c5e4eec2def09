"""From a data frame of Spark to blocks of users: dealt by a hash of the user, once, and checked like a file.

    deal      every task splits its rows by user into as many hands as there will be parts, and sends each hand as one
              array of bytes: the shuffle moves few large rows and not one for every rating
    gather    the task of a part reads its hands, checks and sorts them as files are, and cuts them into blocks

All rows of a user go to one part, whatever files or partitions they came from: so a pair that is rated in two files is
found, and a bound on what one user adds holds. What a task finds wrong it returns as a sentence; it does not fail, as
Spark would try again and write the error into logs.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError
from discreet.spark import running
from discreet.spark.blocks import SCHEMA, cut, problem_row, to_batch, to_row

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discreet.data.gather import Repeats

DEALT_TOGETHER = 1 << 20
"""Rows that a task splits at once."""
HANDS = "hand int, content binary"
FRAME = "the data frame"
NAMED = ("string", "tinyint", "smallint", "int", "bigint")
NUMBERED = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
TIMED = (*NUMBERED, "date", "timestamp", "timestamp_ntz", "string")
SPELLING = r"^([0-9]+)\.0+$"
FAILED = "the ratings could not be read on the cluster; nothing was spent"


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a data frame; ``held_out`` says which rows are for testing."""

    user: str
    item: str
    rating: str
    time: str | None = None
    held_out: str | None = None

    def check(self, frame: "DataFrame") -> None:
        """Raise where a column is missing or of another type."""
        kinds = dict(frame.dtypes)
        wanted = {
            self.user: (NAMED, "users are named by text or whole numbers"),
            self.item: (NAMED, "items are named by text or whole numbers"),
            self.rating: (NUMBERED, "ratings are numbers"),
        } | ({} if self.time is None else {self.time: (TIMED, "times are seconds since 1970 or dates")})
        for name, (known, words) in wanted.items():
            if name not in kinds:
                raise DataError(f"{FRAME} has no column {name!r}; it has {', '.join(kinds)}")
            kind = kinds[name].partition("(")[0]
            if kind not in known:
                raise DataError(f"the column {name!r} of {FRAME} is of the type {kind}, and {words}: cast it first")

    def taken(self, frame: "DataFrame", hands: int) -> "DataFrame":
        """The columns under our own names, and for every row the hand that its user is in."""
        functions = running.functions()
        user = functions.col(_quoted(self.user))
        spelled = user
        if dict(frame.dtypes)[self.user] == "string":  # 1 and 1.0 go to the same part, where both are refused
            plain = functions.regexp_replace(user, SPELLING, "$1")
            spelled = functions.when(user.contains("."), plain).otherwise(user)
        hand = functions.pmod(functions.xxhash64(spelled), functions.lit(hands)).cast("int").alias("hand")
        given = functions.col(_quoted(self.rating)).cast("float").alias("rating")
        columns = [hand, user.alias("user"), functions.col(_quoted(self.item)).alias("item"), given]
        if self.time is not None:
            columns.append(functions.col(_quoted(self.time)).alias("time"))
        if self.held_out is not None:
            columns.append(functions.col(_quoted(self.held_out)).alias("held_out"))
        return frame.select(*columns)


@dataclass(frozen=True)
class Gathering:
    """How the rows of a part become ratings.

    Parameters
    ----------
    catalogue
        The items.
    repeats
        How several ratings of one item by one user are merged.
    most
        Only so many of a user's ratings are kept, the latest; None for all. Not for sums: those have bounds of their
        own.
    """

    catalogue: Any
    repeats: "Repeats" = "keep"
    most: int | None = None

    def deal(self, batches: "Iterator[pa.RecordBatch]", labels: list[int]) -> "Iterator[pa.RecordBatch]":
        """Split rows by hand; a hand goes by the label that Spark sends to its part."""
        import polars as pl

        for rows in _chunks(batches):
            frame = capped(rows, self.most)
            hands = frame.partition_by("hand", as_dict=True, include_key=False)
            for (hand,), own in hands.items():
                content = io.BytesIO()
                own.write_ipc(content, compat_level=pl.CompatLevel.oldest())
                yield to_batch([{"hand": labels[int(hand)], "content": content.getvalue()}], HANDS)

    def gathered(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pl.DataFrame]":
        """The rows of a part's hands."""
        import polars as pl

        for batch in batches:
            for content in batch.column("content"):
                yield pl.read_ipc(io.BytesIO(content.as_buffer()))

    def ratings(self, frames: "Iterator[pl.DataFrame]") -> Ratings | None:
        """The ratings of a part, checked; None where there are none."""
        import polars as pl

        from discreet.data.gather import Gatherer

        catalogue: Catalogue = self.catalogue()
        gatherer = Gatherer(catalogue.scale, items=catalogue.items.names.tolist())
        if self.repeats != "keep" or self.most is not None:
            # Hands come in any order: whatever is kept or merged must not depend on it.
            every = list(frames)
            if not every:
                return None
            frame = capped(pl.concat(every, how="vertical_relaxed"), self.most)
            frames = iter([frame.sort([name for name in ("time", "rating") if name in frame.columns])])
        for frame in frames:
            gatherer.add(frame, lambda _: FRAME)
        if gatherer.size == 0:
            return None
        ratings = gatherer.finish(FRAME, repeats=self.repeats)
        if ratings.has_repeats:
            raise DataError.at(FRAME, "some pairs are rated more than once; merge them, for example repeats='last'")
        return replace(ratings, catalogue=catalogue)

    def blocks(self, frames: "Iterator[pl.DataFrame]") -> "Iterator[pa.RecordBatch]":
        """The blocks of a part, or what is wrong with it."""
        part = running.part_of_task()
        problem = FAILED
        try:
            ratings = self.ratings(frames)
            if ratings is not None:
                for number, block in enumerate(cut(ratings)):
                    yield to_batch([to_row(part, number, block)])
            return
        except DiscreetError as error:
            problem = str(error)
        except Exception:  # its words, and its place, may tell of the ratings
            pass
        yield to_batch([problem_row(part, problem)])


def capped(frame: "pl.DataFrame", most: int | None) -> "pl.DataFrame":
    """At most so many rows of each user, the latest; without times, those of the items that come first by name."""
    import polars as pl

    if most is None or not bool((frame.group_by("user").len()["len"] > most).any()):
        return frame
    item = pl.col("item").cast(pl.String)
    by = [pl.col("time"), item] if "time" in frame.columns else [item]
    falling = [True, False] if "time" in frame.columns else [False]
    return frame.sort(by, descending=falling, maintain_order=True).group_by("user", maintain_order=True).head(most)


def dealt(
    frame: "DataFrame", columns: Columns, gathering: Gathering, parts: int, *, shuffle: bool = True
) -> "DataFrame":
    """The blocks of a data frame's users, as a data frame that was not computed yet."""
    if shuffle:
        return dealt_to(frame, columns, gathering, parts, gathering.blocks, SCHEMA)

    def gather(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        running.prepare_task()
        return gathering.blocks(rows.drop("hand") for rows in _chunks(batches))

    return running.mapped(columns.taken(frame, parts), gather, SCHEMA)


def dealt_to(
    frame: "DataFrame",
    columns: Columns,
    gathering: Gathering,
    parts: int,
    task: "Callable[[Iterator[pl.DataFrame]], Iterator[pa.RecordBatch]]",
    schema: str,
) -> "DataFrame":
    """What a task makes of the rows of each part, where a part has all rows of its users."""
    labels = running.labels_of(frame.sparkSession, parts)

    def deal(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        running.prepare_task()
        return gathering.deal(batches, labels)

    def gather(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        running.prepare_task()
        return task(gathering.gathered(batches))

    hands = running.mapped(columns.taken(frame, parts), deal, HANDS)
    return running.mapped(hands.repartition(parts, "hand"), gather, schema)


def items_in(frame: "DataFrame", item: str, scale: Scale) -> Catalogue:
    """The items that the ratings name, as nobody listed them: nothing can be proven with such a list."""
    import polars as pl

    from discreet.data.gather import Numbering, identifiers

    named = frame.select(running.functions().col(_quoted(item)).alias("item")).distinct()
    column = pl.Series("item", running.collected(named).column("item"))
    numbering = Numbering()
    if len(column):
        numbering.encode(identifiers(column, "item", lambda _: FRAME))
    numbering.refuse_two_spellings("item", FRAME)
    names, _ = numbering.finish()
    return Catalogue(Labels(names, what="item"), scale, names, declared=False)


def _chunks(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pl.DataFrame]":
    """Batches of Arrow, which are small, joined to larger ones."""
    import polars as pl
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= DEALT_TOGETHER:
            yield pl.DataFrame(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield pl.DataFrame(pa.Table.from_batches(waiting))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
