"""Whether a cluster gives the same releases as one machine, bit by bit, from 100,000 users.

    python benchmarks/spark_equal.py                  # every private model, with seeded noise
    python benchmarks/spark_equal.py --users 10000

Every model is fitted twice with the same seed, on the made-up ratings in memory and on a Spark cluster of two executors
on this machine. All arrays of both releases must be equal, and so must what was spent. Exits with 1 if any differs.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import discreet as dc

ROOT = Path(__file__).parents[1]
SEED, NOISE_SEED = 3, 7


def user(epsilon: float, cap: int | None = None) -> Callable[[], dc.Ledger]:
    return lambda: dc.Ledger(epsilon, 1e-6, dc.User(max_ratings=cap) if cap else dc.User())


def rating(epsilon: float, delta: float = 1e-6) -> Callable[[], dc.Ledger]:
    return lambda: dc.Ledger(epsilon, delta)


CASES = (
    ("popularity", dc.Popularity(), rating(1.0)),
    ("popularity, user", dc.Popularity(), user(1.0)),
    ("bias", dc.Bias(), rating(1.0)),
    ("bias, user", dc.Bias(), user(1.0)),
    ("almanac, user", dc.Almanac(), user(1.0)),
    ("almanac for ratings, user, epsilon 8", dc.Almanac(purpose="ratings"), user(8.0)),
    ("almanac for ranking, user", dc.Almanac(purpose="ranking"), user(1.0)),
    ("almanac, user, at most 20 ratings", dc.Almanac(), user(1.0, 20)),
    ("almanac", dc.Almanac(), rating(1.0)),
    ("almanac, Laplace noise", dc.Almanac(), rating(1.0, 0.0)),
    ("als, user, epsilon 8, at most 20 ratings", dc.ALS(factors=4), user(8.0, 20)),
    ("covariance", dc.CovarianceKNN(), rating(5.0)),
)


def compare(name: str, model: object, ledger: Callable[[], dc.Ledger], here: object, there: object) -> bool:
    releases, seconds = [], []
    for ratings in (here, there):
        started = time.perf_counter()
        server = dc.TrustedServer(ratings, ledger(), randomness=dc.Randomness(seed=NOISE_SEED))
        releases.append(model.fit(server))
        seconds.append(time.perf_counter() - started)
    one, other = releases
    equal = one.spends == other.spends and list(one.arrays) == list(other.arrays)
    equal &= all(np.array_equal(array, other.arrays[key]) for key, array in one.arrays.items())
    numbers = sum(array.size for array in one.arrays.values())
    words = "equal" if equal else "DIFFERENT"
    print(f"{name:42}{len(one.spends):6}{numbers:10,}{seconds[0]:8.1f}{seconds[1]:8.1f}  {words}", flush=True)
    return equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from discreet.spark.session import session_on

    os.environ["PYTHONPATH"] = str(ROOT / "src")
    here = dc.synthetic(users=given.users, items=1000, ratings=20 * given.users, seed=SEED)
    print(f"{len(here):,} ratings of {here.n_users:,} users, {here.n_items:,} items")
    print(f"{'':42}{'sums':>6}{'numbers':>10}{'here s':>8}{'there s':>8}")
    with (
        tempfile.TemporaryDirectory() as folder,
        session_on("local-cluster[2,1,2048]", spark_executor_memory="2048m") as spark,
    ):
        frame = here.to_frame().sample(fraction=1.0, shuffle=True, seed=SEED)
        for number in range(3):  # users are scattered over files
            frame[number::3].write_parquet(Path(folder) / f"{number}.parquet")
        there = dc.from_spark(spark.read.parquet(folder), scale=(1, 5), items=here.catalogue, partitions=6)
        found = [compare(*case, here, there) for case in CASES]
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
