"""What a paid search costs and finds: the table of docs/choosing.md.

    python benchmarks/search.py [--data ml-1m] [--seeds 3]

20% of all ratings are held out, with seeds 101, 102, …; the search sees the rest, and what it finds is measured on what
it never saw. Beside it each candidate alone, with the whole budget and all ratings of the training part: the best of
them is what one would have by luck, or by a search that nobody pays for. Trusted server, users hidden, delta 1e-6.
"""

import argparse
import sys
from collections import Counter

import numpy as np

import discreet as dc

SEARCHES = {
    "after the noise": {f"bias, damping {damping}": dc.Bias(item_damping=damping) for damping in (1, 5, 10, 25, 100)},
    "different questions": {"bias": dc.Bias(), "als": dc.ALS(), "almanac": dc.Almanac()},
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default="ml-1m")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--epsilons", default="1,5,10")
    chosen = options.parse_args()
    ratings = dc.load(chosen.data)
    splits = [ratings.split(0.2, seed) for seed in range(101, 101 + chosen.seeds)]
    print(f"{chosen.data}, RMSE, {chosen.seeds} splits, users hidden, delta 1e-6\n")
    print(
        f"{'candidates':<22}{'epsilon':>8}  {'default':>8}{'best alone':>11}{'worst alone':>12}{'searched':>9}  found"
    )
    for name, models in SEARCHES.items():
        told = {label: with_audience(model, ratings.n_users) for label, model in models.items()}
        for epsilon in map(float, chosen.epsilons.split(",")):
            alone = {
                label: np.mean([error(model, train, test, epsilon) for train, test in splits])
                for label, model in told.items()
            }
            default = np.mean([error(dc.Almanac(), train, test, epsilon) for train, test in splits])
            found, reached = Counter(), []
            for train, test in splits:
                release = dc.evaluation.Search(candidates=list(told.values())).fit(server(train, epsilon))
                found[next(label for label, model in told.items() if model == release.model)] += 1
                reached.append(dc.evaluate(release, train, test, metrics=["rmse"])["rmse"])
            words = ", ".join(f"{label} ({times})" for label, times in found.most_common())
            print(
                f"{name:<22}{epsilon:>8g}  {default:>8.4f}{min(alone.values()):>11.4f}{max(alone.values()):>12.4f}"
                f"{np.mean(reached):>9.4f}  {words}",
                flush=True,
            )
    return 0


def with_audience(model, users):  # type: ignore[no-untyped-def]
    from dataclasses import fields, replace

    return replace(model, audience=users) if any(field.name == "audience" for field in fields(model)) else model


def server(train: dc.Ratings, epsilon: float) -> dc.TrustedServer:
    return dc.TrustedServer(train, dc.Ledger(epsilon, 1e-6, dc.User()))


def error(model, train: dc.Ratings, test: dc.Ratings, epsilon: float) -> float:  # type: ignore[no-untyped-def]
    return float(dc.evaluate(model.fit(server(train, epsilon)), train, test, metrics=["rmse"])["rmse"])


if __name__ == "__main__":
    sys.exit(main())
