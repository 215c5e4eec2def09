"""Learned similarities: how fast one step is, and what shorter lists cost.

    python benchmarks/pnbm.py [--data ml-1m] [--threads 2] [--clock wall]
    python benchmarks/pnbm.py --sizes [--data ml-100k]

Without options: one full-batch step, the gradient of eq. (2) over every (user, item, other rated item) with each user's
gradient clipped in L2, with every item listed as a neighbour; on all users, on a half and on a quarter of them; and the
same in plain numpy, user by user. Ends with 1 if a step takes more than 2 s, if numpy is less than 10 times as slow, or
if the time grows faster than the number of triples to the power of 1.2. On a machine that others use too,
``--clock cpu`` takes the processor time of the process instead, shared out among the threads.

``--sizes``: RMSE and bytes on disk of releases whose lists are truncated to N neighbours (``dc.truncated``), mean over
the first two of five folds with seed 1. Private rows: epsilon 10 and delta 1e-6 for one rating.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BARS = {"seconds": 2.0, "times numpy": 10.0, "exponent": 1.2}
FLOOR, CLIP = 10.0, 3.0
SIZES = (5, 10, 20, 50, 100, 200, 500)


def main() -> int:
    """Print the tables; 1 if a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options.add_argument("--sizes", action="store_true")
    chosen = options.parse_args()
    if chosen.sizes:
        return sizes(chosen.data or "ml-100k")
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(chosen.threads)
    return speed(chosen.data or "ml-1m", chosen.threads, chosen.clock)


def speed(data: str, threads: int, clock: str) -> int:
    """One step, ours and numpy's."""
    import discreet as dc
    from discreet.kernels.pnbm import clipped_gradient

    ratings = dc.load(data)
    size = ratings.n_items
    everyone = np.random.default_rng(1).permutation(ratings.n_users)
    others = np.arange(size - 1, dtype=np.int32)
    lists = others + (others >= np.arange(size, dtype=np.int32)[:, None])
    similarities = np.random.default_rng(2).uniform(0.1, 1, lists.shape).astype(np.float32)
    print(f"{data}, {threads} threads, {clock} time\n")
    print(f"{'users':>8}{'million triples':>18}{'seconds':>10}{'ns a triple':>13}")
    rows = []
    for share in (4, 2, 1):
        some = ratings.select_users(np.sort(everyone[: ratings.n_users // share]))
        residuals = (some.values - np.float32(3.6)).astype(np.float32)
        places = np.argsort(some.item_index, kind="stable").astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(some.item_index, minlength=size))])
        by_item = starts, some.user_index[places].astype(np.int32), places
        by_user = some.indptr, some.item_index, residuals

        def step(by_item=by_item, by_user=by_user):  # type: ignore[no-untyped-def]
            return clipped_gradient(lists, similarities, by_item, by_user, FLOOR, CLIP)

        triples = float((np.diff(some.indptr).astype(float) ** 2).sum())
        seconds = timed(step, clock, threads, repeats=5)
        rows.append((triples, seconds))
        print(f"{some.n_users:>8,}{triples / 1e6:>18,.0f}{seconds:>10.2f}{1e9 * seconds / triples:>13.2f}")
    dense = np.zeros((size, size), dtype=np.float32)
    np.put_along_axis(dense, lists, similarities, axis=1)
    plain: list[np.ndarray] = []
    slow = timed(lambda: plain.append(in_numpy(dense, by_user)), clock, 1, repeats=1)
    away = np.abs(np.take_along_axis(plain[-1], lists, axis=1) - step()).max()
    exponent = np.log(rows[-1][1] / rows[0][1]) / np.log(rows[-1][0] / rows[0][0])
    print(f"\nplain numpy: {slow:.1f} s (largest difference {away:.1e})\n")
    measured = {"seconds": rows[-1][1], "times numpy": slow / rows[-1][1], "exponent": exponent}
    missed = 0
    for name, bar in BARS.items():
        holds = measured[name] >= bar if name == "times numpy" else measured[name] <= bar
        missed += not holds
        least = "at least" if name == "times numpy" else "at most"
        print(f"{name:<12}{measured[name]:>8.2f}  {least} {bar:g}: {'holds' if holds else 'MISSED'}")
    return 1 if missed else 0


def in_numpy(similarities: np.ndarray, by_user: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """The same gradient, a user at a time."""
    indptr, items, residuals = by_user
    gradient = np.zeros(similarities.shape)
    for first, last in itertools.pairwise(indptr):
        rated, own = items[first:last], residuals[first:last].astype(np.float64)
        block = np.ix_(rated, rated)
        near = similarities[block].astype(np.float64)
        below = np.abs(near).sum(axis=1)
        divisor = np.maximum(below, FLOOR)
        mean = near @ own / divisor
        slope = own[None, :] - np.sign(near) * (mean * (below >= FLOOR))[:, None]
        np.fill_diagonal(slope, 0)
        slope *= ((mean - own) / divisor)[:, None]
        slope *= min(1.0, CLIP / max(float(np.sqrt((slope**2).sum())), 1e-12))
        gradient[block] += slope
    return gradient


def timed(work: Callable[[], object], clock: str, threads: int, repeats: int) -> float:
    """The least time of several runs, after one to warm up where there are several."""
    if repeats > 1:
        work()
    read = time.perf_counter if clock == "wall" else time.process_time
    found = []
    for _ in range(repeats):
        before = read()
        work()
        found.append((read() - before) / (1 if clock == "wall" else threads))
    return min(found)


def sizes(data: str) -> int:
    """Accuracy and bytes against the length of lists."""
    import discreet as dc

    models = {
        "cosine": (dc.Cosine(neighbours=800), None),
        "pearson": (dc.Pearson(neighbours=800), None),
        "pnbm": (dc.PNBM(), None),
        "covariance-knn, neighbours": (dc.CovarianceKNN(form="neighbours", listed=800), None),
        "neighbour-list": (dc.NeighbourList(neighbours=800), None),
        "neighbour-list, epsilon 10": (dc.NeighbourList(neighbours=800), 10.0),
        "noisy-pnbm, epsilon 10": (dc.NoisyPNBM(neighbours=800), 10.0),
        "langevin-pnbm, epsilon 10": (dc.LangevinPNBM(neighbours=800), 10.0),
    }
    folds = list(dc.load(data).folds(5, seed=1))[:2]
    print(f"{data}: RMSE, and kilobytes of the arrays on disk, with N neighbours for each item\n")
    print(f"{'':<28}" + "".join(f"{f'N = {size}':>14}" for size in SIZES) + f"{'as fitted':>14}")
    for name, (model, epsilon) in models.items():
        cells = []
        releases = [
            model.fit(dc.NoPrivacy(train) if epsilon is None else dc.TrustedServer(train, dc.Ledger(epsilon, 1e-6)))
            for train, _ in folds
        ]
        for size in (*SIZES, None):
            errors, weights = [], []
            for release, (train, test) in zip(releases, folds, strict=True):
                short = release if size is None else dc.truncated(release, size)
                predicted = short.predict(train, test.user_index, test.item_index).astype(float)
                errors.append(np.sqrt(np.mean((predicted - test.values) ** 2)))
                weights.append(bytes_on_disk(short))
            cells.append(f"{np.mean(errors):.4f} {np.mean(weights) / 1000:>6,.0f}")
        print(f"{name:<28}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
    return 0


def bytes_on_disk(release: object) -> int:
    """Of the arrays of a saved release."""
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "release")  # type: ignore[attr-defined]
        return (Path(folder) / "release" / "arrays.safetensors").stat().st_size


if __name__ == "__main__":
    sys.exit(main())
