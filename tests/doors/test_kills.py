"""Whoever is killed, or cannot write any more, loses nothing, leaves nothing and releases nothing that is not booked.

A seeded sample of the points of ``tests/fuzz/kills.py``, which tries all of them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[1] / "fuzz" / "kills.py"
SAMPLE = {"sqlite": 10, "postgresql": 5}
"""Points of each kind; a server takes longer for each."""


def run(*arguments):
    return subprocess.run([sys.executable, str(KILLS), *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed_at_any_event_or_with_any_write_failing(database):
    done = run("--database", database, "--only", str(SAMPLE[database]))
    if done.returncode == 77 and os.environ.get("DISCREET_TEST_POSTGRES") != "1":
        pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
    assert re.search(rf"^{3 * SAMPLE[database]} points, 0 faults$", done.stdout, re.MULTILINE), (
        done.stdout + done.stderr
    )


def test_a_next_command_that_puts_nothing_in_order_is_noticed():
    """The power of the test: without recovery many points of a kill leave something behind."""
    done = run("--database", "sqlite", "--kind", "kill", "--only", str(2 * SAMPLE["sqlite"]), "--without-recovery")
    found = re.search(r"^(\d+) points, (\d+) faults$", done.stdout, re.MULTILINE)
    assert done.returncode == 1 and found and int(found[2]) >= 3, done.stdout + done.stderr
