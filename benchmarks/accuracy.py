"""How well the models predict and rank, beside what is expected of them.

    python benchmarks/accuracy.py                             # MovieLens 100K, 5 folds, seed 1
    python benchmarks/accuracy.py --data ml-1m --folds 1      # any other data: one split, the table without bars

Rating error is RMSE over seeded folds of all ratings. Ranking is NDCG@100 with each user's ratings divided 8:1:1, every
held-out rating a hit whatever its value, and what the user rated before left out. The bars are for MovieLens 100K
in 5 folds with seed 1; the exit code is 1 if one of them does not hold. The papers' own neighbour models are the rows
called plain; the others run with their defaults, which were tuned elsewhere than on these folds.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import discreet as dc
from discreet.names import every_model
from discreet.releases.release import RatingModel

FACTOR_MODELS = ("mf", "pmf", "als", "bayesian-mf")

# As the papers have them, beside every model with its defaults.
PAPERS = {
    "constant similarity": dc.PNBM(start="constant", centre="item", epochs=0, floor=0, item_damping=0, user_damping=0),
    "cosine plain, 900": dc.Cosine.plain(neighbours=900),
    "cosine plain, 100": dc.Cosine.plain(neighbours=100),
    "pearson plain, 900": dc.Pearson.plain(neighbours=900),
    "pnbm from constant": dc.PNBM(start="constant"),
}


@dataclass(frozen=True)
class Bar:
    """What is expected of one row, or of the best of several."""

    what: str
    rows: Callable[[str], bool]
    metric: str
    low: float = 0.0
    high: float = 1.0

    def check(self, results: dc.evaluation.Results) -> dict[str, Any]:
        measured = {row.model: row[self.metric] for row in results.rows if self.rows(row.model)}
        choose = min if self.metric == "rmse" else max
        best = choose(measured, key=lambda name: measured[name])
        holds = self.low <= measured[best] <= self.high
        return {"bar": self.what, "model": best, "value": measured[best], "wanted": str(self), "holds": holds}

    def __str__(self) -> str:
        if self.low > 0 and self.high < 1:
            return f"{(self.low + self.high) / 2:.3f} ± {(self.high - self.low) / 2:.3f}"
        return f"at most {self.high:.3f}" if self.high < 1 else f"at least {self.low:.3f}"


def only(name: str) -> Callable[[str], bool]:
    return lambda row: row == name


RATING_BARS = (
    Bar("constant similarity", only("constant similarity"), "rmse", low=0.940, high=0.956),
    Bar("cosine, 900 neighbours", only("cosine plain, 900"), "rmse", high=0.943),
    Bar("cosine, 100 neighbours", only("cosine plain, 100"), "rmse", high=0.928),
    Bar("Pearson, 900 neighbours", only("pearson plain, 900"), "rmse", high=0.965),
    Bar("PNBM from a constant start", only("pnbm from constant"), "rmse", high=0.937),
    Bar("best matrix factorisation", lambda row: row in FACTOR_MODELS, "rmse", high=0.930),
    Bar("best of all models", lambda row: True, "rmse", high=0.910),
)
RANKING_BARS = (
    Bar("EASE", only("ease"), "ndcg@100", low=0.435),
    Bar("popularity", only("popularity"), "ndcg@100", low=0.22, high=0.26),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml-100k", help="a data set that discreet knows by name, or a path")
    parser.add_argument("--folds", type=int, default=5, help="1 for a single split with a fifth held out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()
    ratings = dc.load(options.data)
    if ratings.has_repeats:
        ratings = ratings.merge("last")
    everyone = {name: model() for name, model in every_model().items()}
    predictors = {**PAPERS, **{name: model for name, model in everyone.items() if isinstance(model, RatingModel)}}
    folds = (
        dc.evaluation.Folds(count=options.folds, seed=options.seed)
        if options.folds > 1
        else dc.evaluation.HoldOut(seed=options.seed)
    )
    both = (
        dc.compare(predictors, ratings, folds, data=options.data, metrics=["rmse", "mae"], progress=say),
        dc.compare(everyone, ratings, dc.evaluation.EachUser(seed=options.seed), data=options.data, progress=say),
    )
    checks: list[dict[str, Any]] = []
    if (options.data, options.folds, options.seed) == ("ml-100k", 5, 1):
        checks = [
            bar.check(results) for results, bars in zip(both, (RATING_BARS, RANKING_BARS), strict=True) for bar in bars
        ]
    if options.json:
        print(json.dumps({"ratings": both[0].to_json(), "ranking": both[1].to_json(), "bars": checks}, indent=2))
    else:
        print(both[0], both[1], sep="\n\n", end="\n\n")
        for check in checks:
            verdict = "holds" if check["holds"] else "DOES NOT HOLD"
            print(f"{check['bar']:28}{check['value']:.4f}  {check['wanted']:16}{verdict:16}{check['model']}")
        if not checks:
            print("no bars: they are for MovieLens 100K in 5 folds with seed 1")
    sys.exit(not all(check["holds"] for check in checks))


def say(done: int, total: int, what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{100 * done // total:3d} %  {what:70.70}", end="\n" if done == total else "", file=sys.stderr)


if __name__ == "__main__":
    main()
