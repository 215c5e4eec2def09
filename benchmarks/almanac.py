"""What an almanac is worth, on MovieLens and at the size of the Netflix Prize, and how fast it is made and used.

    python benchmarks/almanac.py                       # MovieLens 100K and speed at home, against their bars
    python benchmarks/almanac.py --movielens           # errors and rankings alone; with --data ml-1m, --seeds 5
    python benchmarks/almanac.py --check-synthetic     # made-up ratings beside real ones
    python benchmarks/almanac.py --scale               # 480,000 users, 90 million made-up ratings: what privacy costs
    python benchmarks/almanac.py --speed               # a user's own fit and ranking, and how the fit grows
    python benchmarks/almanac.py --netflix             # time and memory of a fit on 100 million made-up ratings
    python benchmarks/almanac.py --parts               # the same ratings from files, one part in memory at a time

MovieLens: RMSE on 20% of all ratings held out, NDCG@100 on a tenth of each user's (8:1:1), the mean over splits with
seeds 1, 2, … and fresh secret noise, so the last digit differs from run to run. Delta is 1e-6 for a rating and for a
user. The settings of the model were chosen on MovieLens 1M, on other splits and on other made-up ratings.

Scale: 10,000 users take no part in the fit; the model sees 80% of their ratings and is asked for the rest. The ratings
are made up, like MovieLens (`dc.synthetic(like="movielens")`), with a seed on which nothing was chosen.

Ends with 1 if a bar is missed. On two cores --scale takes about fifteen minutes, --netflix three to four.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.data.features import item_features
from discreet.evaluation.memory import peak_memory_mb, restart_peak_memory
from discreet.kernels.covariance import unpacked, weighted_moments
from discreet.models.home.fold_in import fold_in, predict_pairs

NETFLIX = {"users": 480_189, "items": 17_770, "ratings": 100_000_000}
SCALE = {"users": 480_000, "items": 17_770, "ratings": 90_000_000}
TUNED_ON, REPORTED = 11, 12  # seeds of the made-up ratings
NONE = dc.Terms()


def rating(epsilon: float) -> dc.Terms:
    return dc.Terms(epsilon=epsilon, delta=1e-6)


def user(epsilon: float) -> dc.Terms:
    return dc.Terms(epsilon=epsilon, unit="user", delta=1e-6)


def verdict(value: float, bar: float | None, *, least: bool) -> tuple[int, str]:
    """Whether a bar is missed, and in words."""
    if bar is None:
        return 0, ""
    holds = value >= bar if least else value <= bar
    return int(not holds), f"  at {'least' if least else 'most'} {bar:g} {'holds' if holds else 'MISSED'}"


# ── MovieLens ──

Row = tuple[str, dc.Terms, bool, float | None]  # its name, on what terms, with features, the bar
RATINGS: list[Row] = [
    ("no privacy", NONE, True, 0.908),
    ("rating, epsilon 0.1", rating(0.1), True, None),
    ("rating, epsilon 1", rating(1), True, 0.936),
    ("rating, epsilon 5", rating(5), True, 0.920),
    ("rating, epsilon 10", rating(10), True, 0.916),
    ("user, epsilon 0.1", user(0.1), True, None),
    ("user, epsilon 1", user(1), True, 0.972),
    ("user, epsilon 5", user(5), True, 0.945),
    ("user, epsilon 10", user(10), True, 0.938),
    ("no privacy, without features", NONE, False, None),
    ("rating, epsilon 1, without features", rating(1), False, 0.957),
    ("rating, epsilon 10, without features", rating(10), False, None),
    ("user, epsilon 1, without features", user(1), False, 1.008),
    ("user, epsilon 10, without features", user(10), False, None),
]
RANKS: list[Row] = [
    ("no privacy", NONE, True, None),
    ("rating, epsilon 0.1", rating(0.1), True, None),
    ("rating, epsilon 1", rating(1), True, 0.360),
    ("rating, epsilon 5", rating(5), True, 0.415),
    ("rating, epsilon 10", rating(10), True, None),
    ("user, epsilon 0.1", user(0.1), True, None),
    ("user, epsilon 1", user(1), True, 0.298),
    ("user, epsilon 5", user(5), True, 0.360),
    ("user, epsilon 10", user(10), True, 0.380),
    ("no privacy, without features", NONE, False, None),
    ("rating, epsilon 1, without features", rating(1), False, None),
    ("user, epsilon 1, without features", user(1), False, None),
]


def movielens(data: str, seeds: int) -> int:
    ratings = dc.load(data)
    missed = 0
    tables = (
        ("rmse", RATINGS, dc.evaluation.HoldOut(test=0.2, seed=1, repeats=seeds)),
        ("ndcg@100", RANKS, dc.evaluation.EachUser(seed=1, repeats=seeds)),
    )
    for metric, rows, protocol in tables:
        print(f"\n{data}, {protocol.describe()}\n{'':<44}{metric.upper():>9}{'± 95%':>8}{'fit (s)':>9}")
        for name, terms, features, bar in rows:
            model = dc.Almanac(features=features)
            row = dc.compare({"almanac": model}, ratings, protocol, terms=terms, metrics=[metric]).rows[0]
            found = row.metrics[metric]
            failed, words = verdict(found.mean, bar if data == "ml-100k" else None, least=metric != "rmse")
            missed += failed
            spread = (found.high - found.low) / 2
            print(f"{name:<44}{found.mean:>9.4f}{spread:>8.4f}{row.fit_seconds:>9.2f}{words}", flush=True)
    return missed


def about(users: int) -> int:
    """The announced audience: an order of magnitude, to one digit."""
    unit = 10 ** int(math.log10(users))
    return round(users / unit) * unit


# ── Made-up ratings beside real ones ──

SHAPES = {"ml-100k": (943, 1_682, 100_000), "ml-1m": (6_040, 3_706, 1_000_209)}
ALIKE: dict[str, tuple[float, float]] = {  # how far made-up figures may lie from those of MovieLens 1M: ratios
    "RMSE, averages": (0.97, 1.03),
    "RMSE, with features": (0.97, 1.03),
    "RMSE, with factors": (0.97, 1.03),
    "gain of factors, %": (0.8, 1.25),
    "NDCG@100, popularity": (0.85, 1.15),
    "NDCG@100, EASE": (0.9, 1.1),
}


def check_synthetic() -> int:
    """The same measurements on real ratings and on made-up ones of their size, and on a piece of the large set."""
    columns = {}
    for data, (users, items, count) in SHAPES.items():
        columns[data] = portrait(dc.load(data))
        made = dc.synthetic(users=users, items=items, ratings=count, seed=REPORTED, like="movielens")
        columns[f"like {data}"] = portrait(made)
    users, items, count = SHAPES["ml-1m"]
    large = dc.synthetic(users=16_000, items=SCALE["items"], ratings=3_000_000, seed=REPORTED, like="movielens")
    columns["a piece"] = portrait(piece_of(large, users, items, count))
    print(f"{'':<28}" + "".join(f"{name:>14}" for name in columns))
    missed = 0
    for row, value in columns["ml-1m"].items():
        low, high = ALIKE.get(row, (0.0, math.inf))
        holds = low <= columns["like ml-1m"][row] / value <= high
        missed += not holds
        words = "" if row not in ALIKE else f"  {low:g} to {high:g} times ml-1m {'holds' if holds else 'MISSED'}"
        print(f"{row:<28}" + "".join(f"{column[row]:>14.4g}" for column in columns.values()) + words)
    print(
        f"\na piece: {users:,} users of a set with {large.n_items:,} items, on its {items:,} most rated. Gain: what"
        "\nfactors of the residual Gram take off the RMSE of averages and features. Eigenvalues: of the correlation of"
        "\nresiduals (the diagonal left out) and of who rates what, among the 500 most rated items."
    )
    return missed


def piece_of(ratings: dc.Ratings, users: int, items: int, count: int) -> dc.Ratings:
    """Some users and the most rated items, thinned to so many ratings."""
    some = ratings.select_users(np.arange(users))
    counts = np.bincount(some.item_index, minlength=some.n_items)
    kept = np.isin(some.item_index, np.argsort(-counts, kind="stable")[:items])
    keep = np.random.default_rng(1).random(len(some)) < count / max(kept.sum(), count)
    chosen, own = some.select(kept & keep), np.sort(np.argsort(-counts, kind="stable")[:items])
    position = np.full(some.n_items, -1, dtype=np.int32)
    position[own] = np.arange(items)
    whole = some.catalogue
    catalogue = dc.Catalogue(
        dc.data.Labels(whole.items.names[own], what="item"),
        whole.scale,
        whole.titles[own],
        whole.genres,
        whole.item_genres[own],
        whole.years[own],
    )
    return dc.Ratings(catalogue, chosen.users, chosen.user_index, position[chosen.item_index], chosen.values)


def portrait(ratings: dc.Ratings) -> dict[str, float]:
    """What averages, features, factors, popularity and co-counts achieve, and the spectra behind it."""
    train, test = ratings.split(test=0.2, seed=100)
    release = dc.CovarianceKNN(factors=20).fit(dc.NoPrivacy(train))
    base = release.arrays["mean"][0] + release.arrays["item_bias"]
    columns = [np.full((ratings.n_items, 1), 0.4), 0.3 * item_features(ratings.catalogue)]
    designs = {
        "RMSE, averages": columns[:1],
        "RMSE, with features": columns,
        "RMSE, with factors": [*columns, release.arrays["item_factors"]],
    }
    found = {}
    for name, parts in designs.items():
        design = np.concatenate(parts, axis=1).astype(np.float32)
        penalty = np.full(design.shape[1], 0.75, dtype=np.float32)
        own = fold_in(train, design, base, np.zeros_like(penalty), penalty)
        predicted = predict_pairs(own, design, base, test.user_index, test.item_index)
        found[name] = float(np.sqrt(np.mean((predicted - test.values) ** 2)))
    found["gain of features, %"] = 100 * (1 - found["RMSE, with features"] / found["RMSE, averages"])
    found["gain of factors, %"] = 100 * (1 - found["RMSE, with factors"] / found["RMSE, with features"])
    found |= ranks(ratings)
    of_residuals, of_marks = spectra(train, base)
    places = (1, 2, 3, 5, 9, 17)
    found |= {f"residuals, eigenvalue {place}": float(of_residuals[place - 1]) for place in places}
    found |= {f"who rates what, {place}": float(of_marks[place - 1]) for place in places}
    lengths = np.diff(ratings.indptr)
    counts = np.sort(np.bincount(ratings.item_index))[::-1]
    found["ratings of the median user"] = float(np.median(lengths))
    found["ratings of a user, mean"] = float(lengths.mean())
    found["most rated item, % of users"] = 100 * float(counts[0] / ratings.n_users)
    found["top tenth of items, %"] = 100 * float(counts[: len(counts) // 10].sum() / counts.sum())
    return found


def ranks(ratings: dc.Ratings) -> dict[str, float]:
    train, validation, test = ratings.split_each_user((0.8, 0.1, 0.1), 100)
    some = np.sort(np.random.default_rng(1).permutation(ratings.n_users)[:1000])
    histories, mask, wanted = (part.select_users(some) for part in (train, validation, test))
    found = {}
    for name, model in {"popularity": dc.Popularity(), "EASE": dc.EASE()}.items():
        release = model.fit(dc.NoPrivacy(train))
        found[f"NDCG@100, {name}"] = dc.evaluate(release, histories, wanted, mask=mask, metrics=["ndcg@100"])[
            "ndcg@100"
        ]
    return found


def spectra(ratings: dc.Ratings, base: Any, top: int = 500) -> tuple[Any, Any]:
    counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
    position = np.full(ratings.n_items, -1, dtype=np.int32)
    position[np.sort(np.argsort(-counts, kind="stable")[:top])] = np.arange(top)
    kept = position[ratings.item_index] >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[ratings.indptr].astype(np.int64)
    lengths = np.diff(indptr)
    users = np.repeat(np.arange(len(lengths)), lengths)
    values = (ratings.values - base[ratings.item_index])[kept]
    values -= (np.bincount(users, weights=values, minlength=len(lengths)) / (lengths + 5))[users]
    sums = weighted_moments(
        indptr, position[ratings.item_index][kept], values.astype(np.float32), 1 / np.maximum(lengths, 1), top
    )
    products, weights = (unpacked(row, top).astype(np.float64) for row in sums)
    np.fill_diagonal(products, 0)
    roots = np.sqrt(np.outer(np.diag(weights), np.diag(weights)))
    eigenvalues = [np.linalg.eigvalsh(matrix / roots)[::-1] for matrix in (products, weights)]
    return eigenvalues[0], eigenvalues[1]


# ── What privacy costs at scale ──

KEPT = {1: (66, 88), 5: (88, 96)}  # of the gain in RMSE over averages, and of NDCG@100, in %


def scale(count: int, seed: int) -> int:
    users = round(SCALE["users"] * count / SCALE["ratings"])
    ratings = made(users, SCALE["items"], count, seed)
    train, others = ratings.split_users(min(10_000, users // 10), seed=1)
    del ratings
    histories, test = others.split_each_user((0.8, 0.2), seed=1)
    found: dict[str, tuple[float, float]] = {}

    def row(name: str, model: Any, terms: dc.Terms) -> None:
        start = time.perf_counter()
        release = model.fit(terms.population(train))
        seconds = time.perf_counter() - start
        names = ["rmse", "ndcg@100"] if release.predicts_ratings else ["ndcg@100"]
        results = dc.evaluate(release, histories, test, metrics=names)
        found[name] = results["rmse"] if len(names) == 2 else math.nan, results["ndcg@100"]
        print(f"{name:<40}{found[name][0]:>9.4f}{found[name][1]:>10.4f}{seconds:>9.0f}", flush=True)

    print(f"\n{'user unit, delta 1e-6':<40}{'RMSE':>9}{'NDCG@100':>10}{'fit (s)':>9}")
    row("popularity, no privacy", dc.Popularity(), NONE)
    row("averages, no privacy", dc.Bias(), NONE)
    row("almanac, no privacy", dc.Almanac(), NONE)
    for epsilon in (0.1, *KEPT):
        row(f"almanac, epsilon {epsilon}", dc.Almanac(), user(epsilon))
    missed = 0
    (floor, _), (ceiling, best) = found["averages, no privacy"], found["almanac, no privacy"]
    print()
    for epsilon, bars in KEPT.items():
        error, ndcg = found[f"almanac, epsilon {epsilon}"]
        kept = 100 * (floor - error) / (floor - ceiling), 100 * ndcg / best
        for value, bar, what in zip(kept, bars, ("of the gain in RMSE", "of NDCG@100"), strict=True):
            failed, words = verdict(value, bar, least=True)
            missed += failed
            print(f"epsilon {epsilon} keeps {value:.1f}% {what}{words}")
    return missed


def made(users: int, items: int, count: int, seed: int) -> dc.Ratings:
    start = time.perf_counter()
    ratings = dc.synthetic(users=users, items=items, ratings=count, seed=seed, like="movielens")
    print(f"{ratings}, like MovieLens, seed {seed}, made in {time.perf_counter() - start:.0f} s", flush=True)
    return ratings


# ── Speed ──


def speed(repeats: int) -> int:
    return at_home(200 * repeats) + growth(repeats)


def at_home(repeats: int) -> int:
    """A user's own fit and the ranking of all of 20,000 items, from the released arrays."""
    ratings = dc.synthetic(users=4_000, items=20_000, ratings=600_000, seed=1, like="movielens")
    release = dc.Almanac().fit(dc.NoPrivacy(ratings))
    histories = [ratings.history_at(position) for position in range(min(repeats, ratings.n_users))]
    scorer = release.scorer()
    scorer.recommend(histories[0], k=100)
    times, spent = [], []
    for history in histories:
        start, before = time.perf_counter(), time.process_time()
        scorer.recommend(history, k=100)
        times.append(1000 * (time.perf_counter() - start))
        spent.append(1000 * (time.process_time() - before))
    middle = float(np.median(spent))
    missed, words = verdict(middle, 5.0, least=False)
    print(
        f"a user's own fit and ranking of {ratings.n_items:,} items, median of {len(times)} users: "
        f"{np.median(times):.2f} ms, {middle:.2f} ms of processors' time{words}"
    )
    return missed


def growth(repeats: int) -> int:
    """Time of a private fit as users are added, all else alike: the slope of log time over log ratings."""
    sizes, seconds = [], []
    for users in (20_000, 40_000, 80_000):
        ratings = dc.synthetic(users=users, items=5_000, ratings=100 * users, seed=1, like="movielens")
        model, terms = dc.Almanac(), user(5)
        if not sizes:
            model.fit(terms.population(ratings))  # compiles
        seconds.append(min(timed(lambda: model.fit(terms.population(ratings))) for _ in range(repeats)))  # noqa: B023
        sizes.append(len(ratings))
        print(f"{len(ratings):>12,} ratings, fit {seconds[-1]:.2f} s of processors' time", flush=True)
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    missed, words = verdict(slope, 1.1, least=False)
    print(f"the time grows as ratings to the power {slope:.2f}{words}")
    return missed


def timed(work: Callable[[], object]) -> float:
    """Seconds of all processors together: what else the machine does then hardly counts."""
    start = time.process_time()
    work()
    return time.process_time() - start


def netflix(count: int) -> int:
    users = round(NETFLIX["users"] * count / NETFLIX["ratings"])
    warm_up()
    ratings = made(users, NETFLIX["items"], count, 1)
    return judge_fit(ratings, users, 120.0, 4.0)


def parts(count: int) -> int:
    """The same fit, with the ratings in ten files of which one is in memory."""
    import polars as pl

    warm_up()
    users = round(NETFLIX["users"] * count / NETFLIX["ratings"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ratings = made(users, NETFLIX["items"], count, 1)
        frame = pl.DataFrame({"item": ratings.catalogue.items.names.tolist()})
        frame.write_csv(folder / "items.csv")
        for number, block in enumerate(np.array_split(np.arange(users), 10)):
            part = ratings.select_users(block)
            columns = {"user": part.user_index + block[0], "item": part.item_index + 1, "rating": part.values}
            (folder / "parts").mkdir(exist_ok=True)
            pl.DataFrame(columns).write_parquet(folder / "parts" / f"{number}.parquet")
        del ratings, part, columns
        restart_peak_memory()
        start = time.perf_counter()
        read = dc.data.RatingsInParts(folder / "parts", scale=(1, 5), items=folder / "items.csv", items_public=True)
        print(f"{read}, checked in {time.perf_counter() - start:.0f} s", flush=True)
        return judge_fit(read, users, None, 1.5)


def warm_up() -> None:
    """Compile what a private fit needs: with so little noise it asks for everything."""
    few = dc.synthetic(users=3_000, items=300, ratings=90_000, seed=1, like="movielens")
    dc.Almanac().fit(user(20).population(few))


def judge_fit(ratings: Any, users: int, most_seconds: float | None, most_memory: float) -> int:
    restart_peak_memory()
    start, before = time.perf_counter(), time.process_time()
    terms = user(1)
    release = dc.Almanac().fit(dc.TrustedServer(ratings, terms.ledger()))
    seconds, spent = time.perf_counter() - start, time.process_time() - before
    memory = (peak_memory_mb() or math.nan) / 1000
    ranks = {name: int(array.any(axis=0).sum()) for name, array in release.arrays.items() if name.endswith("factors")}
    print(f"fit with epsilon 1 for both: {', '.join(f'{many} of {name}' for name, many in ranks.items())}")
    missed, words = verdict(seconds, most_seconds, least=False)
    print(f"{seconds:.0f} s, {spent:.0f} s of processors' time{words}")
    failed, words = verdict(memory, most_memory, least=False)
    print(f"most memory, {'a part' if isinstance(ratings, dc.data.RatingsInParts) else 'all'} of the ratings included: "
          f"{memory:.2f} GB{words}")  # fmt: skip
    return missed + failed


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("movielens", "check-synthetic", "scale", "speed", "netflix", "parts"):
        options.add_argument(f"--{name}", action="store_true")
    options.add_argument("--data", default="ml-100k", help="for --movielens; the bars are those of ml-100k")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--ratings", type=int, help="for --scale, --netflix, --parts: with users in proportion")
    options.add_argument("--seed", type=int, default=REPORTED, help=f"for --scale; {TUNED_ON} is for choosing settings")
    chosen = options.parse_args()
    anything = any((chosen.check_synthetic, chosen.scale, chosen.speed, chosen.netflix, chosen.parts, chosen.movielens))
    missed = 0
    if chosen.check_synthetic:
        missed += check_synthetic()
    if chosen.scale:
        missed += scale(chosen.ratings or SCALE["ratings"], chosen.seed)
    if chosen.netflix:
        missed += netflix(chosen.ratings or NETFLIX["ratings"])
    if chosen.parts:
        missed += parts(chosen.ratings or NETFLIX["ratings"])
    if chosen.movielens or not anything:
        missed += movielens(chosen.data, chosen.seeds)
    if chosen.speed or not anything:
        missed += speed(chosen.repeats)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
