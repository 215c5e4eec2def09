"""A session of Spark for a command, and the ratings that a path names.

Nothing private is written down: no event log, no UI, jobs that all go by one word. Settings of the cluster (credentials
of a store, memory of executors) are Spark's own, in ``spark-defaults.conf`` or ``SPARK_CONF_DIR``.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.handling import HANDLING
from discreet.errors import DataError, InputError, MissingLibraryError, require
from discreet.extras import load_extra
from discreet.spark import running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SILENT = {
    "spark.eventLog.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
STARTING = ("local", "local-cluster")
SCHEMES = ("s3", "s3a", "hdfs", "gs", "abfs", "abfss", "wasbs", "file")
SCALA = "2.13"


def has_java() -> bool:
    """Whether Spark can start here."""
    return "JAVA_HOME" in os.environ or shutil.which("java") is not None


@contextmanager
def session_on(master: str, **settings: str) -> Iterator["SparkSession"]:
    """A session on a cluster, stopped at the end.

    Parameters
    ----------
    master
        ``local[2]``, ``local-cluster[2,1,1024]``, ``spark://…``, ``yarn``, ``k8s://…``.
    settings
        More of Spark's settings, with ``_`` for ``.``; for tests.
    """
    sql = load_extra("pyspark.sql", "spark", running.WHAT)
    if not has_java():
        raise MissingLibraryError(
            "Spark needs Java 17, and there is none: install openjdk-17-jre-headless, or the like"
        )
    builder = sql.SparkSession.builder.master(master).appName(running.DESCRIPTION)
    given = SILENT | {name.replace("_", "."): value for name, value in settings.items()}
    if master.partition("[")[0] in STARTING:  # on this machine, and reachable from it alone
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        given |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        found = importlib.util.find_spec("pyspark")
        assert found is not None and found.origin is not None
        os.environ.setdefault("SPARK_HOME", str(Path(found.origin).parent))
        os.environ.setdefault("SPARK_SCALA_VERSION", SCALA)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in given.items():
        builder = builder.config(name, value)
    session = None
    with suppress(Exception):  # its words are a page of Java
        session = builder.getOrCreate()
    if session is None:
        raise InputError(f"no session of Spark could be started on {master!r}: nothing was read or spent")
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def read_frame(session: "SparkSession", place: str, columns: tuple[str, ...]) -> "DataFrame":
    """The table at a path or address: Parquet, or CSV with names of columns in the first row."""
    scheme = place.partition("://")[0] if "://" in place else ""
    require(scheme in ("", *SCHEMES), f"{place!r} is no address that Spark reads: {', '.join(SCHEMES)}, or a path")
    if not scheme:
        require(Path(place).expanduser().exists(), f"there is no file or folder {place}")
        place = str(Path(place).expanduser().resolve())
    reader = session.read
    frame: Any = None
    with suppress(Exception):  # its words are a page of Java
        if place.endswith((".csv", ".csv.gz")):
            frame = reader.csv(place, header=True, inferSchema=False)
            functions = running.functions()
            user, item, rating, *others = columns
            numbers = [
                functions.col(name).cast("double").alias(name) for name in (rating, *others) if name in frame.columns
            ]
            frame = frame.select(*(name for name in (user, item, HANDLING) if name in frame.columns), *numbers)
        else:
            frame = reader.parquet(place)
    if frame is None:
        raise DataError(f"Spark could not read {place}: a table in Parquet is needed, or a .csv with names of columns")
    return frame  # type: ignore[no-any-return]
