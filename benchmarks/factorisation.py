"""How fast the item factors of a noisy objective are solved exactly, all items at once.

    python benchmarks/factorisation.py                       # MovieLens 1M, d 50
    python benchmarks/factorisation.py --data ml-100k --factors 20
    python benchmarks/factorisation.py --torch               # the same solves by torch, on a GPU where there is one

Every item has normal equations of its own, (Σ u uᵀ + ridge) v = Σ r u − noise, in doubles; users' factors and noise are
random. The least time of several runs counts, compiling not included; a sample of items is solved by numpy too. Then
one whole release of each published system, with the published settings. Ends with 1 if the solves take longer than 3 s
or differ from numpy's.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import discreet as dc
from discreet.kernels.objective_perturbation import minimise_rows
from discreet.kernels.objective_perturbation_torch import minimise_rows as minimise_rows_by_torch

LIMIT = 3.0
"""Seconds on two cores."""
RUNS, SAMPLED, RIDGE = 5, 50, 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml-1m")
    parser.add_argument("--factors", type=int, default=50)
    parser.add_argument("--threads", type=int, default=min(2, numba.config.NUMBA_NUM_THREADS))
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    numba.set_num_threads(options.threads)
    ratings, rng, d = dc.load(options.data), np.random.default_rng(1), options.factors
    users, noise = rng.normal(size=(ratings.n_users, d)) / d**0.5, 100 * rng.normal(size=(ratings.n_items, d))
    ridge, columns = np.full(ratings.n_items, RIDGE), ratings.by_item
    data = columns.indptr, columns.users, columns.values

    def solve() -> Any:
        return minimise_rows(*data, users, ridge, noise)

    solved = solve()
    seconds = least(solve)
    off = max(distance(ratings, users, noise, solved, item) for item in rng.integers(ratings.n_items, size=SAMPLED))
    print(f"{options.data}: {len(ratings):,} ratings, {ratings.n_items:,} items, d {d}, {options.threads} threads\n")
    print(f"{'exact solves of all items':<40}{seconds:>8.2f} s   (at most {LIMIT:g})")
    print(f"{'furthest from numpy, relative':<40}{off:>8.1e}     (at most 1e-6)")
    if options.torch:
        apart = np.abs(minimise_rows_by_torch(*data, users, ridge, noise) - solved).max() / np.abs(solved).max()
        on_torch = least(lambda: minimise_rows_by_torch(*data, users, ridge, noise))
        print(f"{'the same by torch':<40}{on_torch:>8.2f} s")
        print(f"{'furthest from numba, relative':<40}{apart:>8.1e}     (at most 1e-4)")
        off = max(off, apart / 100)
    for name, model in (
        ("S1, 100 steps, d 50", dc.papers.ObjectivePerturbedMF()),
        ("S1, exact minimiser, d 50", dc.papers.ObjectivePerturbedMF(minimiser="exact")),
        ("DP-PMF, listing, d 20", dc.papers.DPPMF()),
        ("PDP-PMF, listing, d 20", dc.papers.PDPPMF()),
    ):
        print(f"{name:<40}{least(lambda model=model: model.fit(ratings), 1):>8.2f} s", flush=True)
    return int(seconds > LIMIT or off > 1e-6)


def least(work: Callable[[], Any], runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def distance(ratings: dc.Ratings, users: Any, noise: Any, solved: Any, item: int) -> float:
    columns = ratings.by_item
    raters = slice(columns.indptr[item], columns.indptr[item + 1])
    own = users[columns.users[raters]]
    left = own.T @ own + RIDGE * np.eye(users.shape[1])
    expected = np.linalg.solve(left, own.T @ columns.values[raters] - noise[item])
    return float(np.abs(solved[item] - expected).max() / np.abs(expected).max())


if __name__ == "__main__":
    sys.exit(main())
