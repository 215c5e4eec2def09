"""Reading takes little more memory than the file: in a process of its own, not timed, with a generous limit."""

import random
import subprocess
import sys

import polars as pl
import pytest

USERS = 600_000
LIMIT = 3.0
"""Times the size of the file. Here it is 1.9 to 2.3; of larger files it is less, of small ones more, for what is read
at once counts more. With tables of polars for the names it was 11; with row groups read at once, of which this Parquet
has one, 4."""

READING = """
import sys
from pathlib import Path
import discreet as dc

def memory(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024

dc.load(sys.argv[1], scale=(1, 5))  # libraries, their threads and compiled kernels are there before
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
before = memory("VmRSS")
made = dc.load(sys.argv[2], scale=(1, 5))
peak = memory("VmHWM")
held = made.users.names.nbytes + made.user_index.nbytes + made.item_index.nbytes + made.values.nbytes
print(peak - min(before, memory("VmRSS") - held), made.n_users)  # what was left over before may have been used again
"""


def write(path, users, times, long):
    rng = random.Random(1)
    names = [f"{number:06d}{rng.getrandbits(96):024x}" for number in range(users)]
    rows = [(name, str(item), 3) for item in range(times) for name in names] + [("x" * long, "1", 5)]
    rng.shuffle(rows)
    frame = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, compression="uncompressed", row_group_size=len(frame))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is counted in other units, and pages are copied")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_peak_of_memory_follows_the_file(tmp_path, ending):
    small, large = tmp_path / f"small.{ending}", tmp_path / f"large.{ending}"
    write(small, 10_000, 15, 30)
    write(large, USERS, 1, 10**6)
    answer = subprocess.run(
        [sys.executable, "-c", READING, str(small), str(large)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    above, users = map(int, answer)
    assert users == USERS + 1
    assert above <= LIMIT * large.stat().st_size
