"""How long it takes, and how much memory, to make, load and split many ratings.

    python benchmarks/loading.py                      # 100 million ratings, as many as the Netflix Prize has
    python benchmarks/loading.py --ratings 5000000

Every line is measured in a process of its own: seconds, and the peak of its memory beside the limit of 6 GB.
Parquet is written in order of users; CSV and the Netflix format film by film, so that loading them must sort.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_GB = 6.0
NETFLIX_RATINGS, NETFLIX_USERS, NETFLIX_ITEMS = 100_480_507, 480_189, 17_770


def generate(ratings: int):
    import discreet as dc

    users = max(100, NETFLIX_USERS * ratings // NETFLIX_RATINGS)
    return dc.synthetic(users=users, items=NETFLIX_ITEMS, ratings=ratings, seed=1)


def write(folder: Path, ratings: int) -> None:
    """Write the same ratings in three formats, a part at a time."""
    import numpy as np
    import polars as pl

    made = generate(ratings)
    made_users, times = made.users.names, made.times
    assert times is not None

    def frame(rows) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "user": made.user_index[rows] + 1,
                "item": made.item_index[rows] + 1,
                "rating": made.values[rows].astype(np.int8),
                "time": times[rows],
            }
        )

    frame(slice(None)).write_parquet(folder / "ratings.parquet", row_group_size=1_000_000)
    order = np.argsort(made.item_index, kind="stable")
    with (folder / "ratings.csv").open("wb") as text, (folder / "combined_data_1.txt").open("wb") as netflix:
        for first in range(0, len(order), 4_000_000):
            part = frame(order[first : first + 4_000_000])
            part.write_csv(text, include_header=first == 0)
            for (item,), rows in part.group_by("item", maintain_order=True):
                netflix.write(f"{item}:\n".encode())
                days = pl.from_epoch("time").dt.strftime("%Y-%m-%d")
                rows.select("user", "rating", days).write_csv(netflix, include_header=False)
    assert len(made_users) == made.n_users


def stage(name: str, folder: Path, ratings: int) -> None:
    """Do one thing and print seconds, and the peak of memory in MB."""
    import discreet as dc

    begin = time.perf_counter()
    if name == "write":
        write(folder, ratings)
    elif name == "generate":
        made = generate(ratings)
    elif name == "parquet":
        made = dc.load(folder / "ratings.parquet", scale=(1, 5), time="time")
    elif name == "csv":
        made = dc.load(folder / "ratings.csv", scale=(1, 5), time="time")
    elif name == "netflix":
        made = dc.load(folder)
    middle = time.perf_counter()
    loaded = peak()
    if name != "write":
        assert len(made) == ratings
        train, test = made.split(test=0.2, seed=1)
        assert len(train) + len(test) == ratings
    print(middle - begin, loaded, time.perf_counter() - middle, peak())


def peak() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1e9 if sys.platform == "darwin" else 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=int, default=100_000_000)
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        stage(options.stage, options.folder, options.ratings)
        return
    worst = 0.0
    print(f"{options.ratings:,} ratings; limit {LIMIT_GB:g} GB")
    print(f"{'':12}{'get (s)':>10}{'peak (GB)':>11}{'split (s)':>11}{'peak (GB)':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("generate", "write", "parquet", "csv", "netflix"):
            command = [sys.executable, __file__, "--ratings", str(options.ratings), "--stage", name, "--folder", folder]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
            if name == "write":
                continue
            got, loaded, split, both = map(float, answer)
            worst = max(worst, both)
            print(f"{name:12}{got:10.1f}{loaded:11.2f}{split:11.1f}{both:11.2f}", flush=True)
    print(f"worst peak {worst:.2f} GB of {LIMIT_GB:g} GB: {'within' if worst <= LIMIT_GB else 'OVER'} the limit")
    sys.exit(worst > LIMIT_GB)


if __name__ == "__main__":
    main()
