"""Nothing private in what Spark shows or writes down."""

import subprocess
import sys

import numpy as np
import pytest

import discreet as dc
from discreet.spark.session import SILENT

from .conftest import RATINGS


def test_plans_and_jobs_name_nobody(spark, on_cluster):
    """The plan of a sum shows columns and functions; jobs go by one word, whatever is summed."""
    asked = dc.Contribution("what ann rated", (1,), lambda part: np.ones(1), (dc.Bound("rating", "l1", 1.0),))
    context = spark.sparkContext
    seen = set(context.statusTracker().getJobIdsForGroup(None))
    dc.NoPrivacy(on_cluster).sum(asked)
    assert set(context.statusTracker().getJobIdsForGroup(None)) - seen
    plan = on_cluster._frame._jdf.queryExecution().toString()
    assert "ann" not in plan
    for user in ("'1'", "user 1", RATINGS.catalogue.titles[0]):
        assert user not in plan
    assert context.getLocalProperty("spark.job.description") is None


def test_a_session_for_a_command_writes_no_event_log(spark):
    for name, value in SILENT.items():
        assert spark.conf.get(name) == value


def test_a_task_that_fails_leaves_no_rating_in_the_logs(spark, on_cluster, tmp_path):
    """An error in a task would be logged by executor and driver, with its words: so tasks do not fail."""

    def total(part):
        raise ValueError("user " + part.users[0] + " rated something")

    with pytest.raises(dc.InputError, match=r"^'failing' could not be computed on the cluster$") as caught:
        on_cluster.added_up(dc.Contribution("failing", (1,), total))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_importing_discreet_needs_no_spark():
    code = "import sys, discreet, discreet.populations.population; assert not any('pyspark' in m for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
