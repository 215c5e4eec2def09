"""What one GPU does: sums over pairs of items, an almanac's fit, and rankings of very many users.

    python benchmarks/gpu.py                 # all three, at full size on a GPU
    python benchmarks/gpu.py --pairs         # covariances of all pairs of 17,770 items over 100 million ratings
    python benchmarks/gpu.py --fit           # a whole private almanac from 100 million ratings in memory
    python benchmarks/gpu.py --rank          # the 20 best of 20,000 items for a million users
    python benchmarks/gpu.py --ratings 1000000 --users 2000    # smaller, for instance without a GPU

Needs numpy, numba, scipy and torch alone, with `src` on the path. All ratings are made up: 480,189 users and 17,770
items, as in the Netflix Prize (`dc.synthetic(like="movielens")`). Everything starts from memory: copies to the GPU
count. Kernels are compiled before. Peaks are measured in the same run: a large product of bytes, a large copy.

Integers: sums over pairs must be those of the processor's kernel to the last digit, for the first users and all items.
Ends with 1 where a bar is missed; bars are judged at full size on a GPU.
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
import discreet as dc
from discreet.models.sums.pair_sums import PairSums

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_000_000
PAIRS_BAR, FIT_BAR, RANK_BAR = 1.5, 6.0, 20.0
CHECKED_USERS, RANKED_ITEMS, RANKED_USERS, K = 3_000, 20_000, 1_000_000, 20
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least seconds, and what came out last."""
    least, found = float("inf"), None
    for _ in range(repeats):
        found = None  # its memory is free for the next
        wait()
        start = time.perf_counter()
        found = work()
        wait()
        least = min(least, time.perf_counter() - start)
    return least, found


def verdict(seconds: float, bar: float, judged: bool) -> tuple[int, str]:
    if not judged:
        return 0, ""
    holds = seconds <= bar
    return int(not holds), f"; at most {bar:g} s: {'holds' if holds else 'MISSED'}"


def peaks() -> tuple[float, float]:
    """Operations a second of a large product of bytes, and bytes a second of a large copy."""
    side, size = (16_384, 1 << 32) if DEVICE == "cuda" else (1024, 1 << 24)
    one, other = (torch.randint(-100, 100, (side, side), dtype=torch.int8, device=DEVICE) for _ in range(2))
    seconds, _ = timed(lambda: [torch._int_mm(one, other.t()) for _ in range(3)])
    there, here = (torch.empty(size, dtype=torch.int8, device=DEVICE) for _ in range(2))
    copying, _ = timed(lambda: there.copy_(here))
    return 3 * 2 * side**3 / seconds, 2 * size / copying


def pairs(ratings: dc.Ratings, judged: bool) -> int:
    """All pairs, as an almanac for users asks for them."""
    base = np.full(ITEMS, 3.4, dtype=np.float32)
    asked = PairSums(np.arange(ITEMS, dtype=np.int32), base, 1.0, 1.0, None, "user, l2")
    some = ratings.select_users(np.arange(min(CHECKED_USERS, ratings.n_users)))
    same = np.array_equal(asked.contribution.total(some), asked.on_device([some]).packed())
    print(f"sums over pairs of {some.n_users:,} users: {'the same integers' if same else 'NOT THE SAME'} as numba's")
    seconds, totals = timed(lambda: asked.on_device([ratings]))
    operations, copied = peaks()
    reached = totals.operations / seconds
    moved = (8 * len(ratings) + totals.bytes_moved) / seconds
    missed, words = verdict(seconds, PAIRS_BAR, judged)
    print(
        f"all pairs of {ITEMS:,} items, {len(ratings):,} ratings: {seconds:.2f} s from memory to sums there{words}\n"
        f"  {reached / 1e12:.0f} TOPS, {reached / operations:.0%} of {operations / 1e12:.0f} measured; "
        f"{moved / 1e9:.0f} GB/s, {moved / copied:.0%} of {copied / 1e9:.0f} measured",
        flush=True,
    )
    back, _ = timed(totals.packed, 1)
    print(
        f"  {back:.2f} s more to have them in memory, packed ({16 * ITEMS * (ITEMS + 1) / 2 / 1e9:.1f} GB)", flush=True
    )
    return missed + (not same)


def fit(ratings: dc.Ratings, judged: bool) -> int:
    terms = dc.Terms(epsilon=1.0, unit="user", delta=1e-6, engine="torch")
    missed = 0
    for purpose, bar in ((None, FIT_BAR), ("ranking", None)):
        model = dc.Almanac(audience=500_000, purpose=purpose)

        def work(model: dc.Almanac = model) -> dc.Release:
            return model.fit(terms.population(ratings))

        seconds, release = timed(work, 2)
        failed, words = verdict(seconds, bar or 0.0, judged and bar is not None)
        missed += failed
        listed = int(release.arrays["taste_factors"].any(axis=1).sum())
        ranks = [int(release.arrays[name].any(axis=0).sum()) for name in ("item_factors", "taste_factors")]
        how = "by public facts" if purpose is None else f"for {purpose}"
        print(
            f"almanac {how}, epsilon 1 for a user, {len(ratings):,} ratings, pairs of {listed:,} items, "
            f"{ranks[0]} and {ranks[1]} factors: {seconds:.2f} s{words}",
            flush=True,
        )
    return missed


def rank(users: int, judged: bool) -> int:
    few = min(20_000, users)
    ratings = dc.synthetic(users=few, items=RANKED_ITEMS, ratings=100 * few, seed=2, like="movielens")
    release = dc.Almanac(audience=few, items=4_000).fit(dc.NoPrivacy(ratings))
    ranking = release.scorer().prepared.ranking
    here = ranking.on_device(DEVICE)
    times = -(-users // few)
    lengths = np.tile(np.diff(ratings.indptr), times)[:users]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    items = np.tile(ratings.item_index, times)[: indptr[-1]]

    def work() -> int:
        return sum(len(places) for _, places, _ in here.best(indptr, items, K))

    seconds, _ = timed(work, 2)
    some = ratings.select_users(np.arange(min(200, few)))
    from discreet.releases.recommendations import best_items

    own = best_items(ranking.scores(some), [some], K)
    found = next(iter(here.best(some.indptr, some.item_index, K)))[1]
    missed, words = verdict(seconds, RANK_BAR, judged)
    print(
        f"the {K} best of {RANKED_ITEMS:,} items for {users:,} users, {len(items):,} ratings: {seconds:.2f} s{words}; "
        f"{(own == found).mean():.2%} of places as on the processor",
        flush=True,
    )
    return missed


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("pairs", "fit", "rank"):
        options.add_argument(f"--{name}", action="store_true")
    options.add_argument("--ratings", type=int, default=RATINGS)
    options.add_argument("--users", type=int, default=RANKED_USERS)
    chosen = options.parse_args()
    every = not (chosen.pairs or chosen.fit or chosen.rank)
    on_gpu = DEVICE == "cuda"
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if on_gpu else 'the processor'}")
    missed = 0
    if every or chosen.pairs or chosen.fit:
        few = dc.synthetic(users=12_000, items=3_000, ratings=900_000, seed=3, like="movielens")
        dc.Almanac(audience=10**8).fit(dc.Terms(epsilon=20, unit="user", delta=1e-6, engine="torch").population(few))
        start = time.perf_counter()
        users = max(100, round(USERS * chosen.ratings / RATINGS))
        ratings = dc.synthetic(users=users, items=ITEMS, ratings=chosen.ratings, seed=1, like="movielens")
        print(f"{ratings}, made in {time.perf_counter() - start:.0f} s", flush=True)
        judged = on_gpu and chosen.ratings == RATINGS
        if every or chosen.pairs:
            missed += pairs(ratings, judged)
        if every or chosen.fit:
            missed += fit(ratings, judged)
        del ratings
    if every or chosen.rank:
        missed += rank(chosen.users, on_gpu and chosen.users == RANKED_USERS)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
