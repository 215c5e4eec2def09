"""A real cluster on loopback, started once: two executors of one core each, in processes of their own."""

import os
from pathlib import Path

import pytest

import discreet as dc

REASON = "Spark needs pyspark (the extra spark) and Java 17"
IGNORED = "ignore:PySpark does not yet fully support pandas"
RATINGS = dc.synthetic(users=400, items=80, ratings=9000, seed=5)


def missing() -> bool:
    import importlib.util
    import shutil

    return importlib.util.find_spec("pyspark") is None or shutil.which("java") is None


def pytest_collection_modifyitems(items):
    """Where there is no Java every test here is skipped, with the reason."""
    here = Path(__file__).parent
    for item in items:
        if here in Path(str(item.fspath)).parents:
            item.add_marker(pytest.mark.filterwarnings(IGNORED))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.xdist_group("spark"))
            if missing():
                item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    import warnings

    from discreet.spark.session import session_on

    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("work"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(dc.__file__).parents[1]), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        with session_on("local-cluster[2,1,1024]", spark_sql_shuffle_partitions="4") as session:
            yield session


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """Parquet files through which users are scattered."""
    folder = tmp_path_factory.mktemp("table")
    frame = RATINGS.to_frame().sample(fraction=1.0, shuffle=True, seed=3)
    for number in range(3):
        frame[number::3].write_parquet(folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="session")
def on_cluster(spark, table):
    return dc.from_spark(spark.read.parquet(str(table)), scale=(1, 5), items=RATINGS.catalogue, partitions=4)
