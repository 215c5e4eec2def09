"""How long a night takes: the best 20 items for a million users from one release, with peak memory.

    python benchmarks/night.py              10^6 made-up users with 40 ratings each, 3,706 items, as in ML-1M
    python benchmarks/night.py --quick      20,000 of them

Ratings are drawn, written as a Parquet file in no order, and a release is fitted to a sample of them: none of this is
timed. Then ``discreet recommend RELEASE --all FILE -o recs.parquet`` runs in a process of its own, from start to end:
reading, grouping by user, scoring, writing. Ends with 1 if that takes more than 10 minutes or 3 GB.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc

MINUTES, GIGABYTES = 10.0, 3.0
ITEMS, SAMPLE, BLOCK = 3706, 6000, 100_000


def write_ratings(path: Path, users: int, each: int, seed: int = 1) -> None:
    """Users with tastes: items are drawn by popularity, from one of ten kinds twice as often; rows come shuffled."""
    rng = np.random.default_rng(seed)
    popularity = 1 / (np.arange(ITEMS) + 30.0)
    kinds = rng.integers(0, 10, ITEMS)
    parts = []
    for first in range(0, users, BLOCK):
        count = min(BLOCK, users - first)
        for kind in range(10):
            own = np.arange(first + kind, first + count, 10)
            weights = popularity * np.where(kinds == kind, 3.0, 1.0)
            drawn = rng.choice(ITEMS, size=(len(own), each + each // 2), p=weights / weights.sum())
            user = np.repeat(own, drawn.shape[1]).astype(np.int32)
            pairs = np.unique(user.astype(np.int64) * ITEMS + drawn.ravel())
            kept = pairs[rng.permutation(len(pairs))[: len(own) * each]]
            liked = kinds[kept % ITEMS] == kind
            rating = np.clip(rng.normal(3.4 + 0.6 * liked, 1.0).round(), 1, 5).astype(np.int8)
            parts.append(pl.DataFrame({"user": kept // ITEMS, "item": kept % ITEMS, "rating": rating}))
    whole = pl.concat(parts)
    whole[rng.permutation(whole.height)].write_parquet(path)


def write_release(folder: Path, ratings: Path, name: str) -> None:
    """Fit to a sample of the users, with a budget: what is served is a private release as people have it."""
    sample = pl.scan_parquet(ratings).filter(pl.col("user") < SAMPLE).collect()
    items = pl.DataFrame({"item": range(ITEMS)})
    loaded = dc.from_frame(sample, scale=(1, 5), items=items, items_public=True)
    if name == "almanac":
        ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
        dc.Almanac().fit(dc.TrustedServer(loaded, ledger)).save(folder)
    else:
        dc.names.find_kind(name)().fit(dc.NoPrivacy(loaded)).save(folder)


def processors() -> float:
    """Seconds that the processors have spent on processes that were started from here, however busy the machine is."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=40, help="ratings of a user")
    parser.add_argument("--models", nargs="*", default=["almanac"])
    parser.add_argument("--quick", action="store_true", help="20,000 users")
    parser.add_argument("--folder", type=Path, default=None, help="where to keep the files")
    given = parser.parse_args()
    users = 20_000 if given.quick else given.users
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        ratings = folder / f"ratings-{users}-{given.each}.parquet"
        if not ratings.exists():
            write_ratings(ratings, users, given.each)
        rows = pl.scan_parquet(ratings).select(pl.len()).collect().item()
        print(f"{users:,} users, {rows:,} ratings, {ITEMS:,} items, {os.cpu_count()} cores\n")
        print("| model | minutes | of at most | processor minutes | peak memory, GB | of at most | output, MB |")
        print("|---" * 7 + "|")
        for name in given.models:
            release, output = folder / f"release-{name}", folder / f"recs-{name}.parquet"
            if not release.exists():
                write_release(release, ratings, name)
            for left in (output, output.with_name(f"{output.name}.json")):
                left.unlink(missing_ok=True)
            command = [sys.executable, "-m", "discreet", "recommend", release, "--all", ratings, "-o", output]
            start, used = time.perf_counter(), processors()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds, used = time.perf_counter() - start, processors() - used
            memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            found = pl.scan_parquet(output).select(pl.len(), pl.col("user").n_unique()).collect().row(0)
            assert found == (users * 20, users), f"expected 20 rows for each of {users:,} users, got {found}"
            missed += seconds > MINUTES * 60 or memory > GIGABYTES
            print(
                f"| {name} | {seconds / 60:.2f} | {MINUTES:g} | {used / 60:.2f} | {memory:.2f} | {GIGABYTES:g} "
                f"| {output.stat().st_size / 1e6:,.0f} |",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
