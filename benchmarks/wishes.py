"""Personal privacy: what wishes are worth over Almanac, the sound factor models, and an audit at two levels.

    python benchmarks/wishes.py [--seeds 5] [--data ml-100k] [--only specification|models|audit]

Splits hold out 10 %, with seeds from 301 on; no setting was chosen on them. Noise is seeded for the tables of RMSE, so
that they come out again: those releases promise nothing, and a fit without a seed promises what the table says.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
import polars as pl

import discreet as dc
from discreet.audit.bounds import clopper_pearson
from discreet.models.sums.item_statistics import item_counts

# Wishes of the first two groups drawn evenly, as in Zhang, Liu, Chen and Zhong (2018).
PAPER = dc.populations.Groups(spread=9).wishes()
GROUPS = dc.populations.Groups().wishes()
BY_USER = dc.populations.Groups(of="user").wishes()
UNIFORM = "everybody at .1"
SPECIFICATIONS: dict[str, tuple[float, dc.Wishes | None]] = {
    UNIFORM: (0.1, None),
    "groups .1/.2/1 for each user, by weights": (1.0, BY_USER),
    "groups .1/.2/1 for each rating, threshold 1": (1.0, GROUPS),
    "groups .1/.2/1 for each rating, threshold .2": (0.2, GROUPS),
    "the paper's specification, threshold 1": (1.0, PAPER),
    "the paper's specification, threshold .4": (0.4, PAPER),
    "everybody at 1": (1.0, None),
}
VALUE, RATING, USER = dc.Rating("replace"), dc.Rating(), dc.User()
MODELS = {
    "pattern-mf, unit value": (dc.PatternMF(), VALUE, 0.0),
    "pattern-mf, 4 factors, unit value": (dc.PatternMF(factors=4), VALUE, 0.0),
    "huber-mf, unit rating": (dc.HuberMF(), RATING, 0.0),
    "almanac, unit rating": (dc.Almanac(), RATING, 0.0),
    "filtered-mf, unit user, delta 1e-6": (dc.FilteredMF(), USER, 1e-6),
    "bias, unit user, delta 1e-6": (dc.Bias(), USER, 1e-6),
}
EPSILONS = (0.1, 1.0, 10.0)


def rmse(
    train: dc.Ratings, test: dc.Ratings, model: object, ledger: dc.Ledger, seed: int, wishes: object = None
) -> float:
    server = dc.TrustedServer(train, ledger, randomness=dc.Randomness(seed=seed), wishes=wishes)
    predicted = model.fit(server).predict(train, test.user_index, test.item_index)
    return float(np.sqrt(np.mean((predicted - test.values) ** 2)))


def over_splits(ratings: dc.Ratings, seeds: int, one: Callable[[dc.Ratings, dc.Ratings, int], float]) -> list[float]:
    found = []
    for seed in range(301, 301 + seeds):
        train, test = ratings.split(test=0.1, seed=seed)
        found.append(one(train, test, seed))
    return found


def specifications(ratings: dc.Ratings, seeds: int) -> None:
    print(f"Almanac, unit rating, RMSE over {seeds} splits")
    print(f"{'':48}{'mean':>8}{'min':>8}{'max':>8}  better than {UNIFORM}")
    uniform: list[float] = []
    for name, (epsilon, wishes) in SPECIFICATIONS.items():
        found = over_splits(
            ratings,
            seeds,
            lambda train, test, seed, at=epsilon, by=wishes: rmse(train, test, dc.Almanac(), dc.Ledger(at), seed, by),
        )
        uniform = uniform or found
        better = sum(one < other for one, other in zip(found, uniform, strict=True))
        print(f"{name:48}{np.mean(found):8.4f}{min(found):8.4f}{max(found):8.4f}  {better} of {seeds}", flush=True)


def models(ratings: dc.Ratings, seeds: int) -> None:
    print(f"RMSE, mean over {seeds} splits")
    print(f"{'':40}" + "".join(f"{f'epsilon {epsilon:g}':>14}" for epsilon in EPSILONS))
    for name, (model, unit, delta) in MODELS.items():
        means = [
            np.mean(
                over_splits(
                    ratings,
                    seeds,
                    lambda train, test, seed, at=epsilon, what=model, of=unit, odds=delta: rmse(
                        train, test, what, dc.Ledger(at, odds, of), seed
                    ),
                )
            )
            for epsilon in EPSILONS
        ]
        print(f"{name:40}" + "".join(f"{mean:14.4f}" for mean in means), flush=True)


def audit(runs: int) -> None:
    """A canary rates an item that nobody else rated; beyond a cut every outcome is e^epsilon times as likely."""
    levels, rest = {"strict": 0.5, "lax": 2.0}, dc.synthetic(users=10, items=6, ratings=30, seed=1)
    names = rest.catalogue.items.names.tolist()
    frame = rest.to_frame().select("user", "item", "rating").filter(pl.col("item") != names[0])
    print(f"What a canary shows at its level, of {runs} runs with and without it (99.9 % intervals)")
    print(f"{'':24}{'promised':>10}{'at least':>10}{'at most':>10}")
    for by in ("weights", "sampling"):
        for level, epsilon in levels.items():
            wishes = dc.Wishes.of_users({"~": level}, levels=levels)
            if by == "sampling":
                wishes = dc.Wishes.of_ratings({("~", item): level for item in names}, levels=levels)
            hits, cut = [], epsilon / 2 if by == "weights" else 1.0
            for item in (names[1], names[0]):
                own = pl.DataFrame({"user": ["~"], "item": [item], "rating": [5.0]}, schema=frame.schema)
                ratings = dc.from_frame(
                    pl.concat([frame, own]), scale=(1, 5), items=pl.DataFrame({"item": names}), items_public=True
                )
                asked = item_counts(len(names), RATING)
                servers = (dc.TrustedServer(ratings, dc.Ledger(2.0), wishes=wishes) for _ in range(runs))
                hits.append(sum(server.sum(asked)[0] > cut for server in servers))
            (least, most), (low, high) = (clopper_pearson(count, runs, 2.5e-4) for count in hits)
            shown = math.log(low / most), math.log(high / least)
            print(f"{by + ', level ' + level:24}{epsilon:10g}{shown[0]:10.2f}{shown[1]:10.2f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--data", default="ml-100k")
    options.add_argument("--runs", type=int, default=4000)
    options.add_argument("--only", choices=["specification", "models", "audit"])
    given = options.parse_args()
    if given.only != "audit":
        ratings = dc.load(given.data)
    if given.only in (None, "specification"):
        specifications(ratings, given.seeds)
    if given.only in (None, "models"):
        models(ratings, given.seeds)
    if given.only in (None, "audit"):
        audit(given.runs)


if __name__ == "__main__":
    main()
