"""How fast the covariances of all pairs of items are summed on a GPU, and how much of the GPU that takes.

    python benchmarks/covariance_gpu.py [--ratings 100000000]

Needs torch and numpy alone (with `src` on the path, nothing has to be installed). The ratings are made up: 480,189
users and 17,770 items, as in the Netflix Prize, activity log-normal and popularity a power law. The peak is measured in
the same run: a large square product of the same kind of numbers. The bar is 6 seconds for the precision that is as
good as single precision, copying to the GPU included; it is judged at full size on a GPU only. Whole numbers, of
which private sums are made, must come out to the last digit.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
from discreet.kernels.covariance_torch import products_of_a_block, torch_moments, whole_moments_by_torch

USERS, ITEMS, RATINGS, BAR = 480_189, 17_770, 100_000_000, 6.0


def netflix_shaped(count: int) -> tuple[Any, Any, Any, Any, int]:
    """CSR columns (where users start, items, values, weights of users) with about ``count`` ratings."""
    rng = np.random.default_rng(1)
    users = max(1, round(USERS * count / RATINGS))
    lengths = rng.lognormal(4.4, 1.2, users)
    lengths = np.clip(lengths * count / lengths.sum(), 1, ITEMS / 4)
    popularity = np.cumsum(1.0 / (np.arange(ITEMS) + 30.0) ** 0.9)
    wanted = rng.poisson(1.18 * lengths)  # some are drawn twice and drop out
    user = np.repeat(np.arange(users, dtype=np.int64), wanted)
    item = np.searchsorted(popularity, rng.random(len(user)) * popularity[-1]).astype(np.int64)
    keys = np.unique(user * ITEMS + item)
    indptr = np.searchsorted(keys, np.arange(users + 1, dtype=np.int64) * ITEMS)
    values = rng.normal(0, 1, len(keys)).astype(np.float32)
    weights = 1 / np.sqrt(np.maximum(np.diff(indptr), 1))
    return indptr, (keys % ITEMS).astype(np.int32), values, weights, ITEMS


def best_of(repeats: int, work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ratings", type=int, default=RATINGS)
    count = options.parse_args().ratings
    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if on_gpu else 'the processor'}")
    columns = netflix_shaped(count)
    indptr, items, values, weights, size = columns
    lengths = np.diff(indptr).astype(np.float64)
    pairs = float((lengths * (lengths + 1) / 2).sum())
    print(f"{len(items):,} ratings of {size:,} items by {len(lengths):,} users, {pairs:.2e} pairs", flush=True)

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    def peak(kind: Any) -> float:
        """Operations a second of a large square product of random numbers."""
        side = 8192 if on_gpu else 1024
        square = torch.randn((side, side), device=device).to(kind)

        def multiply() -> None:
            for _ in range(10):
                torch.mm(square, square)
            wait()

        multiply()
        return 10 * 2 * side**3 / best_of(3, multiply)

    few = min(2_000, len(lengths))
    sample = indptr[: few + 1], items[: indptr[few]], values[: indptr[few]], weights[:few], size
    exact = torch_moments(*sample, device=device, precision="float64").triu()
    missed = 0
    for precision in ("split", "bfloat16", "float32"):
        found = torch_moments(*sample, device=device, precision=precision).triu()
        apart = float((found - exact).abs().max() / exact.abs().max())
        del found

        def run(precision: Any = precision) -> None:
            torch_moments(*columns, device=device, precision=precision)
            wait()

        seconds = best_of(2 if on_gpu else 1, run)
        work = products_of_a_block(precision) * len(lengths) * float(size) ** 2
        share = work / seconds / peak(torch.float32 if precision == "float32" else torch.bfloat16)
        verdict = ""
        if precision == "split" and on_gpu and count == RATINGS:
            missed += seconds > BAR
            verdict = f"; at most {BAR:g} s: {'holds' if seconds <= BAR else 'MISSED'}"
        print(
            f"{precision:<10}{seconds:>8.2f} s, copying included; {work / seconds / 1e12:.1f} TFLOP/s, "
            f"{share:.0%} of the measured peak; {apart:.1e} from doubles{verdict}",
            flush=True,
        )
    return 1 if missed + whole_numbers(columns, device) else 0


def whole_numbers(columns: tuple[Any, Any, Any, Any, int], device: str) -> int:
    """Sums of whole numbers over the 2,000 first items: of some users beside numpy's, and how long all of them take."""
    indptr, items, values, weights, _ = columns
    top = 2_000
    kept = items < top
    indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
    whole = np.clip(16 * values, -16, 16).astype(np.int16)[kept]
    columns = indptr, items[kept], whole, (weights * 2**31).astype(np.int64), top
    few = min(3_000, len(weights))
    mine = [columns[0][: few + 1], columns[1][: indptr[few]], columns[2][: indptr[few]], columns[3][:few]]
    dense = np.zeros((2, few, top), dtype=np.int64)
    users = np.repeat(np.arange(few), np.diff(mine[0]))
    dense[0, users, mine[1]], dense[1, users, mine[1]] = mine[2], 1
    upper = np.triu_indices(top)
    found = whole_moments_by_torch(*mine, top, out=np.zeros((2, len(upper[0])), dtype=np.int64), device=device)
    blocks = [slice(first, first + 100) for first in range(0, few, 100)]  # numpy multiplies whole numbers slowly
    same = True
    for matrix, sums in zip(dense, found, strict=True):
        rows = np.unique(np.linspace(0, top - 1, 40).astype(int))
        oracle = sum((matrix[block][:, rows] * mine[3][block, None]).T @ matrix[block] for block in blocks)
        packed = np.zeros((top, top), dtype=np.int64)
        packed[upper] = sums
        same &= all(bool((packed[row, row:] == oracle[place, row:]).all()) for place, row in enumerate(rows))
    start = time.perf_counter()
    whole_moments_by_torch(*columns, out=np.zeros((2, len(upper[0])), dtype=np.int64), device=device)
    seconds = time.perf_counter() - start
    print(f"whole     {seconds:>8.2f} s for {top:,} items, copying included; {'the same' if same else 'NOT the same'} "
          "as in 64-bit integers")  # fmt: skip
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
