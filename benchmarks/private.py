"""What the first private models are worth: bias and popularity on a trusted server, against their bars.

    python benchmarks/private.py [--data ml-100k] [--seeds 5]

Errors are on 20% of all ratings held out, rankings on 10% of each user's (8:1:1), each the mean over seeded
splits with fresh secret noise, so the last digit differs from run to run. The unit user has delta 1e-5. The settings
of the models were chosen on a sample of MovieLens 1M. Ends with 1 if a bar is missed.
"""

import argparse
import sys

import discreet as dc

BARS = [  # model, unit, epsilon, metric, bar (at most for errors, at least for rankings)
    ("bias", "rating", 1.0, "rmse", 0.960),
    ("bias", "user", 1.0, "rmse", 1.010),
    ("bias", "user", 5.0, "rmse", 0.978),
    ("popularity", "user", 1.0, "ndcg@100", 0.220),
]
OTHERS = [
    ("bias", unit, epsilon, "rmse", None) for unit in ("rating", "user") for epsilon in (0.1, 0.5, 1.0, 5.0, 10.0)
] + [("popularity", unit, epsilon, "ndcg@100", None) for unit in ("rating", "user") for epsilon in (0.1, 1.0, 5.0)]
MODELS = {"bias": dc.Bias(), "popularity": dc.Popularity()}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default="ml-100k")
    options.add_argument("--seeds", type=int, default=5)
    chosen = options.parse_args()
    ratings = dc.load(chosen.data)
    held_out = dc.evaluation.HoldOut(test=0.2, seed=1, repeats=chosen.seeds)
    each_user = dc.evaluation.EachUser(seed=1, repeats=chosen.seeds)

    print(f"{chosen.data}, {chosen.seeds} splits, trusted server, delta 1e-5 for the unit user\n")
    print(f"{'model':<12}{'unit':<8}{'epsilon':>8}  {'metric':<10}{'mean':>8}{'± 95%':>8}{'bar':>10}")
    missed = 0
    done = {row[:4] for row in BARS}
    rows = BARS + [row for row in OTHERS if row[:4] not in done]
    for model, unit, epsilon, metric, bar in [*rows, ("bias", "none", None, "rmse", None)]:
        terms = dc.Terms()
        if epsilon is not None:
            terms = dc.Terms(epsilon=epsilon, unit=unit, delta=1e-5 if unit == "user" else None)
        protocol = held_out if metric == "rmse" else each_user
        results = dc.compare({model: MODELS[model]}, ratings, protocol, terms=terms, metrics=[metric])
        estimate = results.rows[0].metrics[metric]
        verdict = ""
        if bar is not None:
            holds = estimate.mean <= bar if metric == "rmse" else estimate.mean >= bar
            missed += not holds
            verdict = f"{'≤' if metric == 'rmse' else '≥'} {bar:.3f} {'holds' if holds else 'MISSED'}"
        spread = (estimate.high - estimate.low) / 2
        shown = "-" if epsilon is None else f"{epsilon:g}"
        print(f"{model:<12}{unit:<8}{shown:>8}  {metric:<10}{estimate.mean:>8.4f}{spread:>8.4f}  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
