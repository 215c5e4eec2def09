"""Reading takes little more memory than the file: in a process of its own, not timed, with a generous limit."""

import random
import subprocess
import sys

import polars as pl
import pytest

USERS = 200_000
LIMIT = 4.0
"""Times the size of the file. Files of ten times as many users take less than 2; small ones more, for what is
read at once counts more. With tables of polars for the names it was 11."""

READING = """
import resource, sys
import discreet as dc

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

for small in sys.argv[2:]:  # libraries, their threads and compiled kernels are there before
    dc.load(small, scale=(1, 5))
before = peak()
ratings = dc.load(sys.argv[1], scale=(1, 5))
print(peak() - before, ratings.n_users)
"""


def write(path, users, times, long):
    rng = random.Random(1)
    names = [f"{number:06d}{rng.getrandbits(96):024x}" for number in range(users)]
    rows = [(name, str(item), 3) for item in range(times) for name in names] + [("x" * long, "1", 5)]
    rng.shuffle(rows)
    frame = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path, compression="uncompressed")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is counted in other units, and pages are copied")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_peak_of_memory_follows_the_file(tmp_path, ending):
    small, large = tmp_path / f"small.{ending}", tmp_path / f"large.{ending}"
    write(small, 30_000, 5, 10)
    write(large, USERS, 1, 10**6)
    answer = subprocess.run(
        [sys.executable, "-c", READING, str(large), str(small)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    above, users = map(int, answer)
    assert users == USERS + 1
    assert above <= LIMIT * large.stat().st_size
