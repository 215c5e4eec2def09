"""The driver pays before a task runs; what it paid stays paid, and the next run says so."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import polars as pl
import pytest

import discreet as dc

from .conftest import RATINGS

KILLED = """
    import os, signal, sys
    import discreet as dc
    from discreet.spark.session import session_on

    table, items, budget, folder = sys.argv[1:]

    def killed(done, whole, what):
        if what == "item sums":  # the first sum is drawn, the others are not
            os.kill(os.getpid(), signal.SIGKILL)

    with session_on("local[1]") as session:
        ratings = dc.from_spark(session.read.parquet(table), scale=(1, 5), items=items, items_public=True, partitions=2)
        server = dc.TrustedServer(
            ratings, dc.Ledger(1.0, 1e-6, dc.User()), account="films", budget=dc.Budget(budget)
        )
        dc.spend_and_release(dc.Almanac(), server, folder, run_id="tonight", progress=killed)
"""


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    place = tmp_path_factory.mktemp("items") / "items.csv"
    pl.DataFrame({"item": list(RATINGS.catalogue.items)}).write_csv(place)
    return place


def test_a_driver_killed_after_charging(spark, table, items, tmp_path, caplog):
    budget = f"{tmp_path}/budget.sqlite"
    arguments = [str(table), str(items), budget, str(tmp_path / "release")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(KILLED), *arguments], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    account = dc.Budget(budget).account("films")
    assert 0 < account.spent <= 1.0 + 1e-9
    assert account.run("tonight").arrays is None  # nothing was released
    assert not (tmp_path / "release").exists()
    ratings = dc.from_spark(
        spark.read.parquet(str(table)), scale=(1, 5), items=str(items), items_public=True, partitions=2
    )
    server = dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User()), account="films", budget=dc.Budget(budget))
    dc.spend_and_release(dc.Almanac(), server, tmp_path / "release", run_id="tonight")
    assert "the run tonight was booked before and released nothing: it goes on, and pays no second time" in caplog.text
    after = dc.Budget(budget).account("films")
    assert after.spent == account.spent  # the same run is paid for once
    assert after.run("tonight").arrays is not None


def test_the_command(table, items, tmp_path):
    """It books the release like any other, and refuses options that say nothing."""

    def discreet(*words):
        environment = os.environ | {"DISCREET_BUDGET": f"{tmp_path}/budget.sqlite"}
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "discreet", *words],
            capture_output=True,
            text=True,
            env=environment,
        )

    fit = ["fit", "bias", str(table), "--engine", "spark", "--items", str(items), "--items-public"]
    terms = ["--epsilon", "1", "--budget", f"{tmp_path}/budget.sqlite"]
    missing = discreet(*fit, *terms, "-o", str(tmp_path / "one"))
    assert missing.returncode == 2
    assert "does not say its rating scale" in missing.stderr + missing.stdout
    done = discreet(*fit, *terms, "--scale", "1:5", "--master", "local[1]", "-o", str(tmp_path / "one"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["booked"] == "now"
    assert dc.Release.load(tmp_path / "one").guarantee.proven.epsilon <= 1.0
    stray = discreet("fit", "bias", str(table), "--master", "local[1]", "--scale", "1:5", "-o", str(tmp_path / "two"))
    assert stray.returncode == 2
    assert "--master goes with --engine spark" in stray.stderr + stray.stdout
