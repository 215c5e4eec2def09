"""The nightly job of docs/production.md, run as it is printed: by bash, by Prefect and by Airflow.

Where Prefect or Airflow is not installed, stand-ins for the few names that the examples use take their place, so that
the commands are run all the same. ``DISCREET_TEST_PREFECT`` and ``DISCREET_TEST_AIRFLOW`` may each name a Python that
has the real one: both want environments of their own.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import discreet as dc

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/production.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


AIRFLOW, PREFECT = blocks("py")


@pytest.fixture
def shop(tmp_path) -> Path:
    """A folder as the page describes it, and ``discreet`` on the path of its commands."""
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    ratings.to_frame().rename({"user": "customer"}).write_csv(tmp_path / "ratings.csv")
    items = ratings.catalogue.items.names.tolist()
    (tmp_path / "items.csv").write_text("\n".join(["item", *items, ""]))
    (tmp_path / "stock.csv").write_text("\n".join(["item", *items[:30], ""]))
    (tmp_path / "discreet.toml").write_text(blocks("toml")[0])
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "discreet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n')
    command.chmod(0o755)
    return tmp_path


def environment(shop: Path) -> dict[str, str]:
    source = str(Path(dc.__file__).parents[1])
    own = {"PATH": f"{shop / 'bin'}:{os.environ['PATH']}", "DISCREET_BUDGET": str(shop / "budget.sqlite")}
    prefect = {"PREFECT_HOME": str(shop / "prefect-home"), "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300"}
    return os.environ | own | prefect | {"PYTHONPATH": source}


def run(shop: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=shop, env=environment(shop), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_night(shop: Path) -> dict:
    """What must be there after a night, and that it was paid once."""
    found = pl.read_parquet(shop / "recs.parquet")
    assert found["user"].n_unique() > 50  # who has rated all that is in stock gets nothing
    assert set(found["item"]) <= set((shop / "stock.csv").read_text().split())
    assert "Proven: epsilon 0.5" in (shop / "certificate.html").read_text(encoding="utf-8")
    account = json.loads(run(shop, "discreet", "budget", "--json"))
    assert account["limit"] == {"epsilon": 10.0, "delta": 1e-6} and len(account["spendings"]) == 1
    return account


def test_the_script_runs_as_printed_and_again(shop):
    (shop / "night.sh").write_text(blocks("bash")[0])
    run(shop, "bash", "night.sh")
    check_night(shop)
    before = {path.name: path.read_bytes() for path in (shop / "release").iterdir()}
    again = run(shop, "bash", "night.sh")
    assert "nothing spent" in again and "nothing to do" in again
    assert before == {path.name: path.read_bytes() for path in (shop / "release").iterdir()}
    check_night(shop)


def test_the_budget_is_backed_up_as_printed(shop):
    run(shop, "discreet", "budget")
    backup = blocks("bash")[1].splitlines()[0]
    done = subprocess.run(["bash", "-c", backup], cwd=shop, env=environment(shop), capture_output=True, text=True)
    if done.returncode == 127:
        pytest.skip("sqlite3 is not installed")
    assert done.returncode == 0, done.stderr
    copy = next(shop.glob("budget-*.sqlite"))
    assert dc.Budget(copy).account("films").epsilon == 10.0


PREFECT_STAND_IN = """
def task(**_):
    return lambda function: function


def flow(function):
    return function
"""


def test_prefect(shop):
    (shop / "discreet_night.py").write_text(PREFECT)
    python = os.environ.get("DISCREET_TEST_PREFECT")
    if python is None:
        (shop / "prefect.py").write_text(PREFECT_STAND_IN)
    call = f"import discreet_night; discreet_night.night(folder={str(shop)!r}, day='2026-03-01')"
    (shop / "call.py").write_text(call)
    for _ in range(2):  # the second time nothing is paid
        run(shop, python or sys.executable, "call.py")
    assert check_night(shop)["spendings"][0]["run_id"] == "night-2026-03-01"


AIRFLOW_STAND_IN = """
import subprocess

COMMANDS = []


class Task:
    def __rshift__(self, other):
        return other


class task:
    @staticmethod
    def bash(cwd):
        def taken(function):
            def called():
                COMMANDS.append((cwd, function().replace("{{ ds }}", "2026-03-01")))
                return Task()

            return called

        return taken


def dag(**settings):
    assert settings["catchup"] is False and settings["max_active_runs"] == 1 and settings["start_date"].tzinfo

    def taken(function):
        def called():
            function()
            for cwd, command in COMMANDS:
                subprocess.run(["bash", "-c", command], cwd=cwd, check=True)

        return called

    return taken
"""


def test_airflow(shop):
    code = AIRFLOW.replace("/srv/films", str(shop))
    python = os.environ.get("DISCREET_TEST_AIRFLOW")
    (shop / "dags").mkdir()
    (shop / "dags" / "discreet_night.py").write_text(code)
    if python is None:
        (shop / "dags" / "airflow").mkdir()
        (shop / "dags" / "airflow" / "__init__.py").write_text("")
        (shop / "dags" / "airflow" / "sdk.py").write_text(AIRFLOW_STAND_IN)
        run(shop, sys.executable, "dags/discreet_night.py")
    else:
        _with_airflow(shop, python)
    assert check_night(shop)["spendings"][0]["run_id"].startswith("night-20")


def _with_airflow(shop: Path, python: str) -> None:
    """Run the DAG in one process, with a database of its own."""
    (shop / "call.py").write_text(
        "import sys, pendulum\nsys.path.insert(0, 'dags')\n"
        "source = open('dags/discreet_night.py').read().rpartition('discreet_night()')[0] + 'MADE = discreet_night()'\n"
        "names = {'__name__': 'discreet_night', '__file__': 'dags/discreet_night.py'}\n"
        "exec(compile(source, 'dags/discreet_night.py', 'exec'), names)\n"
        "done = names['MADE'].test(logical_date=pendulum.datetime(2026, 3, 1, tz='UTC'))\n"
        "assert str(done.state) == 'success', done.state\n"
    )
    own = environment(shop) | {
        "AIRFLOW_HOME": str(shop / "airflow-home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(shop / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    own.pop("PYTHONPATH")  # commands find discreet by their own path
    command = shop / "bin" / "discreet"
    source = Path(dc.__file__).parents[1]
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m discreet "$@"\n')
    for words in (["-m", "airflow", "db", "migrate"], ["call.py"]):
        done = subprocess.run([python, *words], cwd=shop, env=own, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
