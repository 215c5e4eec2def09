"""What this package needs of Spark: tasks over Arrow batches, what a task knows of itself, results for the driver."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, require
from discreet.extras import load_extra

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

WHAT = "working on a Spark cluster"
PART = 1 << 24
"""Bytes in files of one part: some millions of ratings, which take ten times as many in memory."""
UNKNOWN = 1 << 50
"""Spark takes a table of which it knows nothing for larger than this."""
DESCRIPTION = "discreet"
"""What the UI of Spark shows of every job: neither what is summed nor of whom."""


def functions() -> Any:
    """Spark's functions of columns."""
    return load_extra("pyspark.sql.functions", "spark", WHAT)


def check_frame(frame: Any) -> "DataFrame":
    """Raise unless this is a data frame of a session in this process."""
    sql = load_extra("pyspark.sql", "spark", WHAT)
    require(isinstance(frame, sql.DataFrame), f"dataframe must be a DataFrame of Spark, got {type(frame).__name__}")
    if not hasattr(frame, "_jdf"):
        raise InputError(
            "this DataFrame belongs to Spark Connect, where no value can be sent to all executors: use a classic one"
        )
    return frame  # type: ignore[no-any-return]


def mapped(frame: "DataFrame", task: Task, schema: str) -> "DataFrame":
    """A task over every partition, as Arrow batches."""
    with warnings.catch_warnings():  # of pandas, which Spark asks for and this does not use
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return frame.mapInArrow(task, schema)


def collected(frame: "DataFrame") -> "pa.Table":
    """What a job gives, as a table in the driver."""
    with described(frame.sparkSession), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return frame.toArrow()


@contextmanager
def described(session: "SparkSession") -> Iterator[None]:
    """Within it all jobs go by one word."""
    context = session.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setLocalProperty("spark.job.description", DESCRIPTION)
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


def parts_for(frame: "DataFrame") -> int:
    """Two parts for each core, or more where there are so many bytes that a task could not hold its part."""
    cores = int(frame.sparkSession.sparkContext.defaultParallelism)
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return max(2 * cores, -(-size // PART) if size < UNKNOWN else 0)


def labels_of(session: "SparkSession", parts: int) -> list[int]:
    """For every part a number that Spark's own hash sends there, so that each part is one task's."""
    found: dict[int, int] = {}
    step, first = 32 * parts, 0
    functions_of = functions()
    while len(found) < parts:
        numbers = session.range(first, first + step).select(functions_of.col("id").cast("int").alias("label"))
        place = functions_of.pmod(functions_of.hash("label"), functions_of.lit(parts)).alias("part")
        table = collected(numbers.select("label", place))
        for label, part in zip(table.column("label").to_pylist(), table.column("part").to_pylist(), strict=True):
            found.setdefault(part, label)
        first += step
    return [found[part] for part in range(parts)]


def part_of_task() -> int:
    """Which partition a task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def prepare_task() -> None:
    """Let a task take as many threads as Spark gave it cores, before libraries start theirs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    cores = 1 if context is None else max(1, int(context.cpus()))
    for variable in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, str(cores))
