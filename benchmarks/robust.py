"""Is the default ever beaten by something simpler? Every data set, unit and epsilon, against all that we ship.

    python benchmarks/robust.py                                  # all of it; what was measured before is kept
    python benchmarks/robust.py --only ml-100k,filmtrust --seeds 3
    python benchmarks/robust.py --changed --first-seed 601       # the same on real data that were changed
    python benchmarks/robust.py --show                           # nothing is run: the table of the numbers so far
    python benchmarks/robust.py --show --against earlier.jsonl   # and how they differ from those of another version

Every model is fitted on 80% of each user's ratings, a tenth is left alone, and a tenth is foreseen: RMSE of ratings, in
quarters of the scale's width, and NDCG@100 of rankings with what was known left out, of at most 10,000 and 1,000 users.
Trusted server, delta 1e-6, fresh secret noise for each fit. Models that plan by the number of users are told the truth.

A cell is lost if an almanac for ratings, or for ranking, is worse than the best of its rivals by more than .002 RMSE,
or .005 NDCG@100; one for both, by more than .006 or .012. The best of nine is ahead by chance, too: so it is also
counted how often whoever takes the rival that was best on all other splits would lose, split by split.

MovieLens is found by its name, the others as folders with tables below the one that DISCREET_DATA names.

Changed data stand for those of other kinds: MovieLens with few ratings of each user, with most ratings at the top,
without its most rated items, with these alone, on another scale, with fewer users, without features, with items as
users, and more (`changed`).
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.evaluation.measuring import measure
from discreet.fitting.fit_on import fit_on
from discreet.types import Doubles

EPSILONS, UNITS, DELTA = (0.1, 1.0, 5.0, 10.0), ("user", "rating"), 1e-6
FORESEEN = {"rmse": 10_000, "ndcg@100": 1_000}
RIVALS: dict[str, Any] = {
    "bias": dc.Bias(),
    "popularity": dc.Popularity(),
    "own-taste": dc.OwnTaste(),
    "covariance-knn": dc.CovarianceKNN(),
    "als": dc.ALS(),
}
OURS: dict[str, Any] = {
    "for ratings": dc.Almanac(purpose="ratings"),
    "for ranking": dc.Almanac(purpose="ranking"),
    "for both": dc.Almanac(purpose="both"),
}
LIMITS = {
    "for ratings": {"rmse": 0.002},
    "for ranking": {"ndcg@100": 0.005},
    "for both": {"rmse": 0.006, "ndcg@100": 0.012},
}
"""How far each may be behind the best of the rivals."""
FREE = ("own-taste",)  # asks for nothing, so one fit serves every epsilon


@dataclass(frozen=True)
class Table:
    """Where a data set of tables has what."""

    folder: str
    scale: tuple[float, float]
    items: str = "items.csv"
    user: str = "user"
    item: str = "item"


TABLES = {
    "filmtrust": Table("filmtrust", (0.5, 4.0)),
    "movietweetings": Table("movietweetings", (0.0, 10.0)),
    "ml-latest-small": Table("ml-latest-small", (0.5, 5.0), "movies.csv", "userId", "movieId"),
}
MADE_UP = {
    "made up with features": {"users": 4_000, "items": 2_500, "ratings": 160_000, "seed": 31, "like": "movielens"},
    "made up without": {"users": 4_000, "items": 2_500, "ratings": 160_000, "seed": 32, "like": "movielens"},
}
DATA = ("ml-100k", "filmtrust", "ml-latest-small", *MADE_UP, "movietweetings", "ml-1m")
CHANGED = (
    "20 ratings each",
    "7 ratings each",
    "mostly fives",
    "tail alone",
    "100 items",
    "one to ten",
    "liked or not",
    "few tweeters",
    "many made up",
    "latest without features",
    "tweets without features",
    "third of 100k",
    "top 300",
    "2000 by 50",
    "made up dense",
    "1m turned",
    "100k turned",
    "filmtrust turned",
)


BARE = {"latest without features": "ml-latest-small", "tweets without features": "movietweetings"}
TURNED = {"1m turned": "ml-1m", "100k turned": "ml-100k", "filmtrust turned": "filmtrust"}


def changed(name: str) -> dc.Ratings:
    """Real data, changed into what others may have; most without features."""
    if name == "many made up":
        return without_features(dc.synthetic(users=20_000, items=3_000, ratings=400_000, seed=41, like="movielens"))
    if name == "made up dense":
        return without_features(dc.synthetic(users=2_000, items=200, ratings=60_000, seed=51, like="movielens"))
    if name in BARE:
        ratings = ratings_of(BARE[name])
        return of_items(ratings, np.arange(len(ratings.catalogue)))
    if name in TURNED:
        return turned(ratings_of(TURNED[name]))
    if name == "third of 100k":
        ratings = ratings_of("ml-100k")
        return ratings.select_users(np.arange(0, ratings.n_users, 3))
    if name == "few tweeters":
        ratings = ratings_of("movietweetings")
        return ratings.select_users(np.arange(0, ratings.n_users, 4))
    if name in ("one to ten", "liked or not"):
        ratings = ratings_of("ml-100k")
        ratings = of_items(ratings, np.arange(len(ratings.catalogue)))
        if name == "liked or not":
            return with_values(ratings, ratings.values >= 4, dc.Scale(0, 1))
        half = np.random.default_rng(5).integers(0, 2, len(ratings))
        return with_values(ratings, 2 * ratings.values - half, dc.Scale(1, 10))
    ratings = ratings_of("ml-1m")
    by_count = np.argsort(-np.bincount(ratings.item_index, minlength=len(ratings.catalogue)), kind="stable")
    if name == "100 items":
        return of_items(ratings, by_count[:100])
    if name == "top 300":
        return columns_of(ratings, np.flatnonzero(np.isin(ratings.item_index, by_count[:300])))
    if name == "2000 by 50":
        return without_features(few_of_each(ratings.select_users(np.arange(2_000, 4_000)), 50))
    if name == "tail alone":
        return of_items(ratings.select_users(np.arange(3_000)), by_count[300:])
    few = few_of_each(ratings, {"20 ratings each": 20, "7 ratings each": 7, "mostly fives": 8}[name])
    if name != "mostly fives":
        return few
    few = of_items(few, by_count)
    return with_values(few, np.array([0, 1, 3, 4, 5, 5])[few.values.astype(int)], few.catalogue.scale)


def turned(ratings: dc.Ratings) -> dc.Ratings:
    """Items as users, and users as items: real ratings with another shape."""
    people = dc.Catalogue.of([f"item {row}" for row in range(ratings.n_users)], ratings.catalogue.scale, declared=True)
    films = type(ratings.users).of([f"user {row}" for row in range(len(ratings.catalogue))], "user")
    return dc.Ratings.of_columns(people, films, ratings.item_index, ratings.user_index, ratings.values)


def few_of_each(ratings: dc.Ratings, most: int) -> dc.Ratings:
    """So many ratings of each user, by chance."""
    order = np.random.default_rng(most).permutation(len(ratings))
    order = order[np.argsort(ratings.user_index[order], kind="stable")]
    place = np.arange(len(order)) - ratings.indptr[ratings.user_index[order]]
    return columns_of(ratings, order[place < most])


def of_items(ratings: dc.Ratings, items: np.ndarray[Any, Any]) -> dc.Ratings:
    """Of these items alone, without their features, in an order that says nothing: MovieLens lists the known first."""
    items = np.random.default_rng(len(items)).permutation(items)
    place = np.full(len(ratings.catalogue), -1)
    place[items] = np.arange(len(items))
    kept = np.flatnonzero(place[ratings.item_index] >= 0)
    names = [ratings.catalogue.items[int(item)] for item in items]
    bare = dc.Catalogue.of(names, ratings.catalogue.scale, declared=True)
    columns = ratings.user_index[kept], place[ratings.item_index[kept]], ratings.values[kept]
    return dc.Ratings.of_columns(bare, ratings.users, *columns)


def with_values(ratings: dc.Ratings, values: np.ndarray[Any, Any], scale: dc.Scale) -> dc.Ratings:
    return replace(ratings, catalogue=replace(ratings.catalogue, scale=scale), values=values.astype(np.float32))


def columns_of(ratings: dc.Ratings, kept: np.ndarray[Any, Any]) -> dc.Ratings:
    columns = ratings.user_index[kept], ratings.item_index[kept], ratings.values[kept]
    return dc.Ratings.of_columns(ratings.catalogue, ratings.users, *columns)


def ratings_of(name: str) -> dc.Ratings:
    if name in CHANGED:
        return changed(name)
    if name in MADE_UP:
        ratings = dc.synthetic(**MADE_UP[name])  # type: ignore[arg-type]
        return ratings if "with features" in name else without_features(ratings)
    if name in TABLES:
        about = TABLES[name]
        folder = Path(os.environ.get("DISCREET_DATA", ".")) / about.folder
        return dc.load(
            folder / "ratings.csv",
            scale=about.scale,
            user=about.user,
            item=about.item,
            items=folder / about.items,
            items_public=True,
            repeats="last",
        )
    return dc.load(name)


def without_features(ratings: dc.Ratings) -> dc.Ratings:
    """The same, of items that are known by their numbers alone."""
    bare = dc.Catalogue.of(list(ratings.catalogue.items), ratings.catalogue.scale, declared=True)
    return dc.Ratings.of_columns(bare, ratings.users, ratings.user_index, ratings.item_index, ratings.values)


def measured(model: Any, split: Any, unit: str, epsilon: float, users: int) -> dict[str, float]:
    told = replace(model, audience=users) if any(field.name == "audience" for field in fields(model)) else model
    release = fit_on(told, split.train, dc.Terms(epsilon=epsilon, unit=unit, delta=DELTA))
    found: dict[str, float] = {}
    for metric, most in FORESEEN.items():
        tested = np.arange(min(most, users))
        parts = [part.select_users(tested) for part in (split.histories, split.test, split.mask)]
        for name, estimate in measure(release, *parts, [metric]).estimates.items():
            found[name] = estimate.mean
    return found


def run(data: str, seeds: range, names: list[str] | None, epsilons: list[float], there: set[Any]) -> Iterator[Any]:
    ratings = ratings_of(data)
    width = ratings.catalogue.scale.width
    for seed in seeds:
        split = next(iter(dc.evaluation.EachUser(seed=seed).splits(ratings)))
        for unit in UNITS:
            for epsilon in epsilons:
                for name, model in (RIVALS | OURS).items():
                    key = (data, seed, unit, epsilon, name)
                    if (names and name not in names) or key in there:
                        continue
                    if name in FREE and (unit, epsilon) != (UNITS[0], epsilons[0]):
                        continue
                    started = time.perf_counter()
                    found = measured(model, split, unit, epsilon, ratings.n_users)
                    if "rmse" in found:
                        found["rmse"] *= 4 / width
                    seconds = round(time.perf_counter() - started, 2)
                    about = dict(zip(("data", "seed", "unit", "epsilon", "model"), key, strict=True))
                    yield about | found | {"seconds": seconds}


def data_of(rows: list[dict[str, Any]]) -> list[str]:
    there = {row["data"] for row in rows}
    return [name for name in (*DATA, *CHANGED) if name in there]


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["seed"], row["unit"], row["epsilon"], row["model"]


def numbers_of(rows: list[dict[str, Any]], metric: str) -> dict[tuple[Any, ...], float]:
    """By data, seed, unit, epsilon and model; what asks for nothing has the same number everywhere."""
    numbers: dict[tuple[Any, ...], float] = {}
    for row in rows:
        if row.get(metric) is not None:
            for unit in UNITS if row["model"] in FREE else [row["unit"]]:
                for epsilon in EPSILONS if row["model"] in FREE else [row["epsilon"]]:
                    numbers[row["data"], row["seed"], unit, epsilon, row["model"]] = row[metric]
    return numbers


def cells_of(numbers: dict[tuple[Any, ...], float], ours: str) -> dict[tuple[Any, ...], dict[str, Doubles]]:
    """By data, unit and epsilon: of ours and of each rival that was measured, a number for each split."""
    cells = {}
    for data, unit, epsilon in dict.fromkeys((k[0], k[2], k[3]) for k in numbers if k[4] == ours):
        seeds = sorted({k[1] for k in numbers if k[0] == data and k[2:] == (unit, epsilon, ours)})
        every = {name: [(data, seed, unit, epsilon, name) for seed in seeds] for name in [*RIVALS, ours]}
        there = {name: keys for name, keys in every.items() if all(key in numbers for key in keys)}
        if len(there) > 1:
            found = {name: np.array([numbers[key] for key in keys]) for name, keys in there.items()}
            cells[data, unit, epsilon] = found
    return cells


def show(rows: list[dict[str, Any]], ours: str) -> None:
    """A line for each cell and metric: ours, the best rival, the difference over seeds; and how many are lost."""
    for metric, limit in LIMITS[ours].items():
        sign = 1 if metric == "rmse" else -1
        cells = cells_of(numbers_of(rows, metric), ours)
        lost = 0
        print(f"\n{metric}: {ours}")
        for data in data_of(rows):
            for unit in UNITS:
                line = f"{data:>22} {unit:<6}"
                for epsilon in EPSILONS:
                    if (data, unit, epsilon) not in cells:
                        line += f"{'-':>34}"
                        continue
                    means = {name: float(several.mean()) for name, several in cells[data, unit, epsilon].items()}
                    best = min((name for name in means if name != ours), key=lambda name: sign * means[name])
                    loss = sign * (means[ours] - means[best])
                    lost += loss > limit
                    mark = "LOST" if loss > limit else "    "
                    line += f"  {means[ours]:.4f} {loss:+.4f} {mark} {best[:16]:<16}"
                print(line)
        print(f"{lost} of {len(cells)} lost by more than {limit}")
        if len(LIMITS[ours]) == 1:  # one for both cannot be held against two rivals at once
            of_splits, of_the_best, splits = by_chance(list(cells.values()), ours, sign, limit)
            print(f"split by split {of_splits} of {splits}; the best rival of the other splits, {of_the_best}")


def show_regret(rows: list[dict[str, Any]], earlier: list[dict[str, Any]]) -> None:
    """How much worse ours is than before, on the same splits: the mean of all cells, and the worst, over splits."""
    for metric, sign in (("rmse", 1), ("ndcg@100", -1)):
        now, before = numbers_of(rows, metric), numbers_of(earlier, metric)
        cells: dict[tuple[Any, ...], list[float]] = {}
        for key in now.keys() & before.keys():
            if key[4] in OURS and metric in LIMITS[key[4]]:
                cells.setdefault((key[0], *key[2:]), []).append(sign * (now[key] - before[key]))
        means = {cell: float(np.mean(several)) for cell, several in cells.items()}
        if means:
            worst = max(means, key=lambda cell: means[cell])
            of_data = {data: np.mean([means[cell] for cell in means if cell[0] == data]) for data in data_of(rows)}
            print(f"\n{metric}: worse by {np.mean([*means.values()]):+.4f} in the mean of {len(means)} cells")
            print(f"most by {means[worst]:+.4f} in {', '.join(map(str, worst))}")
            print("  " + ", ".join(f"{data} {mean:+.4f}" for data, mean in of_data.items()))


def by_chance(cells: list[dict[str, Doubles]], ours: str, sign: int, limit: float) -> tuple[int, int, int]:
    """In how many splits ours is lost, and in how many whoever takes the rival that was best on all other splits.

    Nobody who cannot foresee the noise does better than the latter: the best of nine is ahead by chance, too.
    """
    ours_lost = best_lost = splits = 0
    for found in cells:
        rivals = np.array([sign * several for name, several in found.items() if name != ours])
        for split in range(rivals.shape[1] if rivals.shape[1] > 1 else 0):
            chosen = int(np.delete(rivals, split, axis=1).mean(axis=1).argmin())
            best = rivals[:, split].min()
            ours_lost += bool(sign * found[ours][split] - best > limit)
            best_lost += bool(rivals[chosen, split] - best > limit)
            splits += 1
    return ours_lost, best_lost, splits


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", metavar="DATA", help=f"between commas, of {', '.join((*DATA, *CHANGED))}")
    options.add_argument("--changed", action="store_true", help="real data, changed, instead of those above")
    options.add_argument("--models", help="names between semicolons; the others keep their numbers")
    options.add_argument("--seeds", type=int, default=5, help="how many splits, from 401 on")
    options.add_argument("--first-seed", type=int, default=401)
    options.add_argument("--epsilons", default="", help="between commas")
    options.add_argument("--kept", type=Path, default=Path("robust.jsonl"), help="where numbers are kept")
    options.add_argument("--show", action="store_true")
    options.add_argument("--against", type=Path, help="numbers of an earlier version that were kept")
    chosen = options.parse_args()
    rows = [json.loads(line) for line in chosen.kept.read_text().splitlines()] if chosen.kept.exists() else []
    if not chosen.show:
        there = {key_of(row) for row in rows}
        epsilons = [float(part) for part in chosen.epsilons.split(",")] if chosen.epsilons else list(EPSILONS)
        seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        for data in chosen.only.split(",") if chosen.only else CHANGED if chosen.changed else DATA:
            for row in run(data, seeds, chosen.models.split(";") if chosen.models else None, epsilons, there):
                rows.append(row)
                with chosen.kept.open("a") as kept:
                    kept.write(json.dumps(row) + "\n")
    for ours in OURS:
        show(rows, ours)
    if chosen.against is not None:
        show_regret(rows, [json.loads(line) for line in chosen.against.read_text().splitlines()])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
