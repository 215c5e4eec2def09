"""An almanac on a Spark cluster on this machine, beside one machine and beside the ALS of Spark's own MLlib.

    python benchmarks/spark.py                        # 10^7 and 10^8 ratings: time, memory, growth; an hour on 2 cores
    python benchmarks/spark.py --ratings 1e6          # one size
    python benchmarks/spark.py --cost                 # the constants of docs/cost.md, at three sizes, against a fourth

Every run is a process of its own. Times are of the clock, and of the processors (CPU) where a machine is shared with
others. Memory is the most that an executor, its Python workers included, ever had.
"""

import argparse
import hashlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
from spark_data import ITEMS, write_ratings
from spark_processes import Watch, cpu_seconds

ROOT = Path(__file__).parents[1]
TERMS = {"epsilon": 1.0, "delta": 1e-6}
PAIRS = 2000
"""Pairs are asked for among so many items, with this share of the budget, at every size: the public rule would leave
them out where there are few users, and growth would be of two different fits."""
PARTS = 12
"""Of the ratings, where the costs of steps are measured."""
SEED = 7
"""Of the noise: the sums are the same integers everywhere, so all fits denoise the same numbers."""
MOST_OVERHEAD, MOST_EXPONENT = 2.5, 1.1
"""What is promised beside one machine, and of growth."""
RUNS = ("single", "cluster", "mllib")
LARGE = 10**8
"""From so many ratings on; fewer are not what a cluster is for."""


# ── The runs, each in a process ──


def digest(release: Any) -> str:
    """Of all arrays: equal for equal releases."""
    found = hashlib.sha256()
    for name, array in sorted(release.arrays.items()):
        found.update(name.encode() + array.tobytes())
    return found.hexdigest()[:12]


def single(folder: Path) -> dict[str, Any]:
    import discreet as dc

    started = time.perf_counter()
    ratings = dc.load(folder / "train.parquet", scale=dc.Scale(1, 5), items=folder / "items.csv", items_public=True)
    loaded = time.perf_counter()
    server = dc.TrustedServer(ratings, dc.Ledger(**TERMS, unit=dc.User()), randomness=dc.Randomness(seed=SEED))
    release = dc.Almanac().fit(server)
    done, cpu, most = time.perf_counter(), cpu_seconds(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    test = dc.load(folder / "test.parquet", scale=dc.Scale(1, 5), items=folder / "items.csv", items_public=True)
    test = test.select_users(range(min(test.n_users, 20_000)))
    from discreet.evaluation.metrics import error_sizes

    known = ratings.select_users([ratings.users.index(name) for name in test.users if name in ratings.users])
    test = test.select_users([place for place, name in enumerate(test.users) if name in ratings.users])
    sizes = error_sizes(release.predict(known, test.user_index, test.item_index), test.values)
    return {
        "read": loaded - started,
        "fit": done - loaded,
        "cpu": cpu,
        "gib": most,
        "rmse": math.sqrt(float((sizes**2).mean())),
        "digest": digest(release),
    }


def session(executors: int):
    from discreet.spark.session import session_on

    os.environ["PYTHONPATH"] = str(ROOT / "src")
    cores, memory = 2 // executors, 6144 // executors
    master = f"local-cluster[{executors},{cores},{memory}]"
    return session_on(master, spark_executor_memory=f"{memory}m", spark_driver_maxResultSize="4g")


def cluster(folder: Path, executors: int) -> dict[str, Any]:
    import discreet as dc
    from discreet.spark import evaluate_frames

    begun = time.perf_counter()
    with session(executors) as spark:
        spark.range(10).count()  # executors are there
        watch, before, started = Watch(), cpu_seconds(), time.perf_counter()
        frame = spark.read.parquet(str(folder / "train.parquet"))
        ratings = dc.from_spark(
            frame,
            scale=(1, 5),
            items=str(folder / "items.csv"),
            items_public=True,
        )
        loaded = time.perf_counter()
        server = dc.TrustedServer(ratings, dc.Ledger(**TERMS, unit=dc.User()), randomness=dc.Randomness(seed=SEED))
        release = dc.Almanac().fit(server)
        done, cpu, most = time.perf_counter(), cpu_seconds() - before, watch.stop()
        test = spark.read.parquet(str(folder / "test.parquet")).where("user < 20000")
        found = evaluate_frames(release, frame.where("user < 20000"), test, ["rmse"])
        measured = time.perf_counter()
    return {
        "read": loaded - started,
        "fit": done - loaded,
        "cpu": cpu,
        "gib": most,
        "rmse": found["rmse"].mean,
        "evaluate": measured - done,
        "digest": digest(release),
        "start": started - begun,
        "start, cpu": before,
    }


def mllib(folder: Path, executors: int) -> dict[str, float]:
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import functions

    with session(executors) as spark:
        spark.range(10).count()
        watch, before, started = Watch(), cpu_seconds(), time.perf_counter()
        frame = spark.read.parquet(str(folder / "train.parquet")).withColumn("user", functions.col("user").cast("int"))
        als = ALS(rank=20, maxIter=10, userCol="user", itemCol="item", ratingCol="rating", coldStartStrategy="drop")
        model = als.fit(frame)
        done, cpu, most = time.perf_counter(), cpu_seconds() - before, watch.stop()
        test = spark.read.parquet(str(folder / "test.parquet")).where("user < 20000")
        error = model.transform(test.withColumn("user", functions.col("user").cast("int")))
        mean = error.select(functions.avg((functions.col("prediction") - functions.col("rating")) ** 2)).first()[0]
    return {"read": 0.0, "fit": done - started, "cpu": cpu, "gib": most, "rmse": math.sqrt(mean)}


def cost(*folders: Path) -> list[dict[str, float]]:
    """CPU seconds and bytes of each step of a fit on two executors, at several sizes in one session."""
    import numpy as np

    import discreet as dc
    from discreet.models.sums.item_statistics import item_statistics
    from discreet.models.sums.pair_sums import PairSums
    from discreet.populations.adding import added_up

    rows = []
    base, listed = np.full(ITEMS, 3.5, dtype=np.float32), np.arange(PAIRS, dtype=np.int32)
    items = item_statistics(ITEMS, dc.Scale(1, 5), dc.User())
    pairs = PairSums(listed, base, 1.0, 0.6, None, "user, l2").contribution
    with session(2) as spark:
        for number, folder in enumerate((folders[-2], *folders)):  # one more first: it pays for compiling
            found: dict[str, float] = {}

            def step(name: str, work, *words, found=found, **settings):
                before, started = cpu_seconds(), time.perf_counter()
                result = work(*words, **settings)
                found[name], found[f"{name}, clock"] = cpu_seconds() - before, time.perf_counter() - started
                return result

            frame = spark.read.parquet(str(folder / "train.parquet"))
            settings = {"scale": (1, 5), "items": str(folder / "items.csv"), "items_public": True, "partitions": PARTS}
            ratings = step("deal and gather", dc.from_spark, frame, **settings)
            found["ratings"], found["users"] = len(ratings), ratings.n_users
            step("item sums", added_up, items, ratings)
            step("pair sums", added_up, pairs, ratings)
            shared = spark.sparkContext._jsc.sc().getRDDStorageInfo()
            found["bytes kept"] = max(entry.memSize() + entry.diskSize() for entry in shared)
            ratings.unpersist()
            rated = pl.scan_parquet(folder / "train.parquet").filter(pl.col("item") < PAIRS).group_by("user").len()
            own = rated.collect()["len"].to_numpy().astype(np.int64)
            found["pairs"] = int((own * (own + 1) // 2).sum())
            if number:
                rows.append(found)
    return rows


# ── The report ──


def run(kind: str, *words: object, bound: float | None = None) -> Any:
    """What a run of its own found; None if it took longer than ``bound`` seconds."""
    threads = {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"} if kind == "single" else {}
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | threads
    command = [sys.executable, "-W", "ignore", __file__, "--run", kind, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=bound)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{kind} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


ONE, PEER = "one machine, 2 threads", "MLlib ALS, 2 executors of 1 core"
OURS = ("Spark, 1 executor of 2 cores", "Spark, 2 executors of 1 core")


def report(sizes: list[int], scratch: Path, runs: list[str], shared: bool, bound: float) -> bool:
    """Print everything; whether it is as promised, by the clock or, on a shared machine, by the processors."""
    clock: dict[tuple[str, int], float] = {}
    cpu: dict[tuple[str, int], float] = {}
    right = True
    for size in sizes:
        folder = scratch / str(size)
        started = time.perf_counter()
        users = write_ratings(folder, size)
        print(f"\n{size:,} ratings, {users:,} users, written in {time.perf_counter() - started:.0f} s", flush=True)
        print(f"{'':34}{'read s':>8}{'fit s':>8}{'both s':>8}{'CPU s':>8}{'GiB':>6}{'RMSE':>8}", flush=True)
        kinds = [(ONE, ("single",)), (OURS[0], ("cluster", 1)), (OURS[1], ("cluster", 2)), (PEER, ("mllib", 2))]
        digests = set()
        for label, (kind, *words) in kinds:
            if kind not in runs:
                continue
            found = run(kind, folder, *words, bound=bound if label == PEER else None)
            if found is None:
                print(f"{label:34}not done after {bound:.0f} s", flush=True)
                continue
            clock[label, size], cpu[label, size] = found["read"] + found["fit"], found["cpu"]
            numbers = f"{found['read']:8.1f}{found['fit']:8.1f}{clock[label, size]:8.1f}{found['cpu']:8.1f}"
            print(f"{label:34}{numbers}{found['gib']:6.2f}{found['rmse']:8.4f}", flush=True)
            if "start" in found:
                started, cpu_of_start = found["start"], found["start, cpu"]
                print(f"    started before that: {started:.1f} s, {cpu_of_start:.1f} s of CPU", flush=True)
            digests |= {found["digest"]} if "digest" in found else set()
        if digests:
            print(f"releases of all: {'equal, bit by bit' if len(digests) == 1 else 'DIFFERENT'}", flush=True)
            right &= len(digests) == 1
        right &= _compared(clock, cpu, size, shared)
    if len(sizes) > 1:
        right &= _grown(clock, cpu, sizes, shared)
    print(f"{'as promised' if right else 'NOT as promised'}, by {'CPU' if shared else 'the clock'}")
    return right


Taken = dict[tuple[str, int], float]


def _compared(clock: Taken, cpu: Taken, size: int, shared: bool) -> bool:
    """Print how the cluster compares with one machine and with MLlib; whether as promised, for large sizes."""
    right = True
    for label in OURS:
        for other, most in ((ONE, MOST_OVERHEAD), (PEER, 1.0)):
            if (label, size) in clock and (other, size) in clock:
                ratios = [taken[label, size] / taken[other, size] for taken in (clock, cpu)]
                print(f"{label}: {ratios[0]:.2f} times {other} by the clock, {ratios[1]:.2f} by CPU", flush=True)
                right &= size < LARGE or ratios[shared] <= most
    return right


def _grown(clock: Taken, cpu: Taken, sizes: list[int], shared: bool) -> bool:
    """Print how time grows from the smallest to the largest size; whether as promised."""
    right = True
    low, high = sizes[0], sizes[-1]
    for label in (ONE, *OURS, PEER):
        if (label, low) in clock and (label, high) in clock:
            powers = [_exponent(taken[label, low], taken[label, high], high / low) for taken in (clock, cpu)]
            print(f"{label}: grows as ratings to the power {powers[0]:.2f} by the clock, {powers[1]:.2f} by CPU")
            right &= label not in OURS or powers[shared] <= MOST_EXPONENT
    return right


def _exponent(small: float, large: float, ratio: float) -> float:
    return math.log(large / small) / math.log(ratio)


def cost_report(sizes: list[int], scratch: Path) -> None:
    """Constants from all sizes but the last, by least squares of relative errors, none below 0; against the last."""
    import numpy as np
    from scipy.optimize import nnls

    for size in sizes:
        write_ratings(scratch / str(size), size)
    rows = run("cost", *(scratch / str(size) for size in sizes))
    for row in rows:
        print(json.dumps({name: round(value, 2) for name, value in row.items()}), flush=True)
    drivers = {
        "deal and gather": "ratings",
        "item sums": "ratings",
        "pair sums": "pairs",
        "bytes kept": "ratings",
    }
    constants: dict[str, tuple[float, float]] = {}
    print(f"\n{'':18}{'for a part':>12}{'for each':>12}  of{'predicted':>17}{'measured':>11}{'error':>8}")
    for name, of in drivers.items():
        seen = np.array([[PARTS, row[of]] for row in rows[:-1]])
        got = np.array([row[name] for row in rows[:-1]])
        scale = seen.max(axis=0)
        part, each = nnls(seen / scale / got[:, None], np.ones(len(got)))[0] / scale
        constants[name] = part, each
        predicted, measured = part * PARTS + each * rows[-1][of], rows[-1][name]
        error = predicted / measured - 1
        print(f"{name:18}{part:12.3g}{each:12.3g}  {of:8}{predicted:11.4g}{measured:11.4g}{error:8.0%}")
    _extrapolate(constants)


def _extrapolate(constants: dict[str, tuple[float, float]], users: float = 1e9, items: float = 1e7) -> None:
    ratings, listed, each, parts = 100 * users, 60.0, 16.0, 20_000
    pairs = users * listed * (listed + 1) / 2
    print(f"\n{users:.0e} users with 100 ratings each of {items:.0e} items, {listed:.0f} of them among the listed")
    print(f"{'bytes moved by dealing':34}{ratings * each / 2**40:10.1f} TiB")
    print(f"{'bytes kept on executors':34}{ratings * constants['bytes kept'][1] / 2**40:10.1f} TiB")
    whole = 0.0
    for name, of in (("deal and gather", ratings), ("item sums", ratings), ("pair sums", pairs)):
        part, single = constants[name]
        if name == "item sums":  # a part sends a total of all items, and a byte costs what it costs with pairs
            part += constants["pair sums"][0] * 16 * items / (8 * PAIRS * (PAIRS + 1))
        hours = (part * parts + single * of) / 3600
        whole += hours
        print(f"{f'{name}, {parts:,} parts':34}{hours:10.0f} core hours")
    for cores in (100, 1000, 10_000):
        print(f"{f'all of it on {cores:,} cores':34}{whole / cores:10.2f} hours")
    for count in (2000, 20_000):
        for size in (2000, 4096, 20_000):
            total = 8 * size * (size + 1)
            print(
                f"pairs among {size:,} items, {count:,} parts: {total / 2**30:.2f} GiB a task, "
                f"{count * total / 2**40:.2f} TiB moved"
            )
        total = 16 * items
        print(f"item sums, {count:,} parts: {total / 2**30:.2f} GiB a task, {count * total / 2**40:.2f} TiB moved")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=float, nargs="+", default=[1e7, 1e8])
    parser.add_argument("--scratch", type=Path, help="folder for the made-up ratings")
    parser.add_argument("--runs", nargs="+", default=RUNS, choices=RUNS, help="leave out the others")
    parser.add_argument("--shared", action="store_true", help="judge by processor time: others use this machine")
    parser.add_argument("--bound", type=float, default=3600, help="seconds that MLlib may take")
    parser.add_argument("--cost", type=float, nargs="*", metavar="N", help="three sizes and a fourth")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        kind, *words = given.run
        work = {"single": single, "cluster": cluster, "mllib": mllib, "cost": cost}[kind]
        print(json.dumps(work(*(int(word) if word.isdecimal() else Path(word) for word in words))))
        return
    with tempfile.TemporaryDirectory() as place:
        scratch = given.scratch or Path(place)
        if given.cost is not None:
            cost_report([int(size) for size in given.cost or (1e6, 3e6, 1e7, 3e7)], scratch)
        else:
            sizes = [int(size) for size in given.ratings]
            right = report(sizes, scratch, given.runs, given.shared, given.bound)
            sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
