"""What one GPU does: sums over pairs of items, sweeps of ALS, an almanac's fit, and rankings of very many users.

    python benchmarks/gpu.py                 # all of them, at full size on a GPU
    python benchmarks/gpu.py --pairs         # covariances of all pairs of 17,770 items over 100 million ratings
    python benchmarks/gpu.py --sweep         # item sums, a private sweep with 8 factors, and one of ALS without privacy
    python benchmarks/gpu.py --fit           # a whole private almanac from 100 million ratings in memory
    python benchmarks/gpu.py --rank          # the 20 best of 20,000 items for a million users
    python benchmarks/gpu.py --pairs --sweep --checked 480189  # sums compared with the processor's over all users
    python benchmarks/gpu.py --ratings 1000000 --users 2000    # smaller, for instance without a GPU

Needs numpy, numba, scipy and torch alone, with `src` on the path. All ratings are made up: 480,189 users and 17,770
items, as in the Netflix Prize (`dc.synthetic(like="movielens")`). Everything starts from memory: copies to the GPU
count. Kernels are compiled before. Peaks are measured in the same run: large products of bytes, of single and of double
precision, and a large copy. Bytes and operations are counted, not measured: the fewest that the method needs.

Sums must be those of the processor's kernels to the last digit, for the first users and all items, and lists must be
the same. Ends with 1 where a bar is missed; bars are judged at full size on a GPU.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
import discreet as dc
from discreet.kernels.gpu_pairs import on_device
from discreet.kernels.gpu_sweeps import Sweep
from discreet.models.almanac.questions import PriorLosses
from discreet.models.denoise import private_als
from discreet.models.sums.factor_sums import FactorSums
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.models.sums.pair_sums import PairSums
from discreet.releases.many import best_by_torch, best_of_many

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_000_000
PAIRS_BAR, FIT_BAR, RANK_BAR = 1.5, 6.0, 20.0
CHECKED_USERS, RANKED_ITEMS, RANKED_USERS, RANKED_CHECKED, K = 3_000, 20_000, 1_000_000, 2_000, 20
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


@lru_cache
def peak(kind: torch.dtype) -> float:
    """Operations a second of a large product."""
    side = (16_384 if kind == torch.int8 else 8_192) if DEVICE == "cuda" else 1024
    if kind == torch.int8:
        one, other = (torch.randint(-100, 100, (side, side), dtype=kind, device=DEVICE) for _ in range(2))
        seconds, _ = timed(lambda: [torch._int_mm(one, other.t()) for _ in range(3)])
    else:
        one, other = (torch.randn((side, side), dtype=kind, device=DEVICE) for _ in range(2))
        seconds, _ = timed(lambda: [one @ other for _ in range(3)])
    return 3 * 2 * side**3 / seconds


@lru_cache
def bandwidth() -> float:
    """Bytes a second of a large copy."""
    size = 1 << 32 if DEVICE == "cuda" else 1 << 24
    there, here = (torch.empty(size, dtype=torch.int8, device=DEVICE) for _ in range(2))
    seconds, _ = timed(lambda: there.copy_(here))
    return 2 * size / seconds


def of_peak(operations: float, moved: float, seconds: float, kind: torch.dtype) -> str:
    """What part of the arithmetic and of the bandwidth was used."""
    reached, rate = operations / seconds, moved / seconds
    return (
        f"  {reached / 1e12:.3g} TOPS, {reached / peak(kind):.1%} of {peak(kind) / 1e12:.0f} measured; "
        f"{rate / 1e9:.0f} GB/s, {rate / bandwidth():.0%} of {bandwidth() / 1e9:.0f} measured"
    )


def pairs(ratings: dc.Ratings, judged: bool, checked: int) -> int:
    """All pairs, as an almanac for users asks for them."""
    base = np.full(ITEMS, 3.4, dtype=np.float32)
    asked = PairSums(np.arange(ITEMS, dtype=np.int32), base, 1.0, 1.0, None, "user, l2")
    some = ratings.select_users(np.arange(min(checked, ratings.n_users)))
    same = np.array_equal(asked.contribution.total(some), asked.on_device([some]).packed())
    print(f"sums over pairs of {some.n_users:,} users: {'the same integers' if same else 'NOT THE SAME'} as numba's")
    seconds, totals = timed(lambda: asked.on_device([ratings]))
    missed, words = verdict(seconds, PAIRS_BAR, judged)
    print(f"all pairs of {ITEMS:,} items, {len(ratings):,} ratings: {seconds:.2f} s from memory to sums there{words}")
    print(of_peak(totals.operations, 8 * len(ratings) + totals.bytes_moved, seconds, torch.int8), flush=True)
    back, _ = timed(totals.packed, 1)
    print(
        f"  {back:.2f} s more to have them in memory, packed ({16 * ITEMS * (ITEMS + 1) / 2 / 1e9:.1f} GB)", flush=True
    )
    return missed + (not same)


def asked_in_a_sweep(ratings: dc.Ratings) -> FactorSums:
    """What an almanac asks for in its first sweep, with exact averages."""
    catalogue = ratings.catalogue
    about = ItemStatistics.of(catalogue, "rating")
    counts, sums = about.contribution.total(ratings)
    base = (about.base + sums * about.points / np.maximum(counts, 1)).astype(np.float32)
    averages = private_als.Averages(base, np.full(ITEMS, 0.01), counts, np.arange(ITEMS, dtype=np.int32))
    queries = private_als.ALSQueries.of(factors=8, sweeps=4, items=ITEMS, share=0.38, last=0.0, features=True)
    features = private_als._features(catalogue, queries)
    side = private_als.start_of_items(queries, averages, features - averages.share @ features, catalogue.scale.width)
    return private_als.step(queries, 0, averages, side, features, catalogue)


def sweep(ratings: dc.Ratings, checked: int) -> int:
    """Item sums, a sweep of private ALS, and one of ALS without privacy."""
    some = ratings.select_users(np.arange(min(checked, ratings.n_users)))
    about, asked = ItemStatistics.of(ratings.catalogue, "user, l2").contribution, asked_in_a_sweep(ratings)
    scales = PriorLosses.of(asked.known, ratings.n_users, len(ratings), laplace=False).contribution
    missed = 0
    for name, contribution in (("item sums", about), ("a sweep", asked.contribution), ("priors at home", scales)):
        assert contribution.on_torch is not None
        same = np.array_equal(contribution.total(some), contribution.on_torch([some]))
        print(f"{name} of {some.n_users:,} users: {'the same numbers' if same else 'NOT THE SAME'} as numba's")
        missed += not same
    seconds, _ = timed(lambda: about.on_torch([ratings]))
    print(f"item sums, {len(ratings):,} ratings: {seconds:.2f} s")
    print(of_peak(10 * len(ratings), 150 * len(ratings), seconds, torch.float64), flush=True)
    seconds, _ = timed(lambda: scales.on_torch([ratings]))
    print(f"how wide priors at home should be, {len(ratings):,} ratings: {seconds:.2f} s", flush=True)

    def work() -> Sweep:
        found = Sweep(asked.question, DEVICE)
        for columns in on_device([(ratings.indptr, ratings.item_index, ratings.values)], DEVICE):
            found.add(*columns)
        found.total()
        return found

    seconds, found = timed(work)
    print(f"a private sweep, 8 factors and {found.d - 8} other coefficients, {len(ratings):,} ratings: {seconds:.2f} s")
    print(of_peak(found.operations, found.bytes_moved, seconds, torch.float64), flush=True)
    factors = np.random.default_rng(1).normal(0, 0.1, (ITEMS, 20)).astype(np.float32)
    plain = dc.ALS()._contribution(factors, np.float32(3.5), np.zeros(ITEMS, dtype=np.float32))
    assert plain.on_torch is not None
    seconds, _ = timed(lambda: plain.on_torch([ratings]))
    print(f"a sweep of ALS without privacy, 20 factors, {len(ratings):,} ratings: {seconds:.2f} s")
    operations = 2 * 2 * 21 * 22 * len(ratings)
    print(of_peak(operations, 2 * 2 * 4 * 21 * len(ratings), seconds, torch.float32), flush=True)
    return missed


def fit(ratings: dc.Ratings, judged: bool) -> int:
    terms = dc.Terms(epsilon=1.0, unit="user", delta=1e-6, engine="torch")
    missed = 0
    ways: tuple[tuple[Any, float | None], ...] = (("both", FIT_BAR), ("ranking", None))
    for purpose, bar in ways:
        model = dc.Almanac(purpose=purpose)

        def work(model: dc.Almanac = model) -> dc.Release:
            return model.fit(terms.population(ratings))

        seconds, release = timed(work)
        failed, words = verdict(seconds, bar or 0.0, judged and bar is not None)
        missed += failed
        listed = int(release.arrays["taste_factors"].any(axis=1).sum())
        ranks = [int(release.arrays[name].any(axis=0).sum()) for name in ("item_factors", "taste_factors")]
        how = "for both, the default" if purpose == "both" else f"for {purpose}"
        print(
            f"almanac {how}, epsilon 1 for a user, {len(ratings):,} ratings, pairs of {listed:,} items, "
            f"{ranks[0]} and {ranks[1]} factors: {seconds:.2f} s{words}",
            flush=True,
        )
    return missed


def rank(users: int, judged: bool) -> int:
    """Lists as `release.recommend_many(engine="torch")` makes them, without the table."""
    ratings = dc.synthetic(users=users, items=RANKED_ITEMS, ratings=100 * users, seed=2, like="movielens")
    few = min(20_000, users)
    release = dc.Almanac().fit(dc.NoPrivacy(ratings.select_users(np.arange(few))))
    scorer = release.scorer()
    some = ratings.select_users(np.arange(min(RANKED_CHECKED, users)))
    wanted, known = (
        np.concatenate(found) for found in zip(*(b[1:] for b in best_of_many(scorer, some, K)), strict=True)
    )
    found = np.concatenate([best for _, best, _ in best_by_torch(scorer, some, K)])
    same = np.array_equal(wanted, found)
    alike = list(scorer.prepared.ranking_by_torch.best(some.indptr, some.item_index, K))
    before, scores = np.concatenate([b[1] for b in alike]), np.concatenate([b[2] for b in alike])
    equal = (wanted == before).all(axis=1) & np.isfinite(scores).all(axis=1)
    moved_gaps = float(
        np.abs(np.diff(known[equal].astype(np.float64)) - np.diff(scores[equal].astype(np.float64))).max()
    )
    seconds, _ = timed(lambda: sum(len(best) for _, best, _ in best_by_torch(scorer, ratings, K)), 2)
    alone, _ = timed(
        lambda: sum(len(b) for _, b, _ in scorer.prepared.ranking_by_torch.best(ratings.indptr, ratings.item_index, K)),
        2,
    )
    missed, words = verdict(seconds, RANK_BAR, judged)
    print(
        f"the {K} best of {RANKED_ITEMS:,} items for {users:,} users, {len(ratings):,} ratings: "
        f"{seconds:.2f} s{words}\n"
        f"  of {some.n_users:,} users all lists {'are' if same else 'are NOT'} those of the processor; without scoring "
        f"users in doubt again {(wanted == before).all(axis=1).mean():.2%} are, in {alone:.2f} s;\n"
        f"  rounding moves the difference of two scores that follow each other by {moved_gaps:.1g} at most"
    )
    model = scorer.prepared.ranking.on_device(DEVICE)
    width, steps = model.features.shape[1], model.arrays.steps
    products = steps * (2 * width + width * (width + 1) // 2) + width
    operations = 2 * users * (RANKED_ITEMS * products + model.outward.numel())
    moved = 4 * users * RANKED_ITEMS * (6 * steps + 8)
    print(of_peak(operations, moved, alone, torch.float32), flush=True)
    return missed + (not same)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("pairs", "sweep", "fit", "rank"):
        options.add_argument(f"--{name}", action="store_true")
    options.add_argument("--ratings", type=int, default=RATINGS)
    options.add_argument("--users", type=int, default=RANKED_USERS)
    options.add_argument("--checked", type=int, default=CHECKED_USERS, help="over how many users sums are compared")
    chosen = options.parse_args()
    every = not (chosen.pairs or chosen.sweep or chosen.fit or chosen.rank)
    on_gpu = DEVICE == "cuda"
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if on_gpu else 'the processor'}")
    missed = 0
    if every or chosen.pairs or chosen.sweep or chosen.fit:
        few = dc.synthetic(users=12_000, items=3_000, ratings=900_000, seed=3, like="movielens")
        dc.Almanac().fit(dc.Terms(epsilon=20, unit="user", delta=1e-6, engine="torch").population(few))
        start = time.perf_counter()
        users = max(100, round(USERS * chosen.ratings / RATINGS))
        ratings = dc.synthetic(users=users, items=ITEMS, ratings=chosen.ratings, seed=1, like="movielens")
        print(f"{ratings}, made in {time.perf_counter() - start:.0f} s", flush=True)
        judged = on_gpu and chosen.ratings == RATINGS
        if every or chosen.pairs:
            missed += pairs(ratings, judged, chosen.checked)
        if every or chosen.sweep:
            missed += sweep(ratings, chosen.checked)
        if every or chosen.fit:
            missed += fit(ratings, judged)
        del ratings
    if every or chosen.rank:
        missed += rank(chosen.users, on_gpu and chosen.users == RANKED_USERS)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
