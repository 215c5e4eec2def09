"""Sound personalised privacy over Almanac: what wishes are worth, beside everybody at the strictest level.

    python benchmarks/wishes.py [--seeds 5] [--data ml-100k]

Splits hold out 10 %, with seeds from 301 on; no setting was chosen on them. Noise is seeded here, so that the numbers
come out again: these releases promise nothing, and a fit without a seed promises what the table says.
"""

import argparse

import numpy as np

import discreet as dc

PAPER = dc.populations.Groups(
    spread=9
)  # conservative and moderate wishes drawn evenly, as in Zhang, Liu, Chen and Zhong (2018)
GROUPS = dc.populations.Groups()
BY_USER = dc.populations.Groups(of="user")
ROWS: dict[str, tuple[float, dc.Wishes | None]] = {
    "everybody at .1": (0.1, None),
    "groups .1/.2/1 for each user, by weights": (1.0, BY_USER.wishes()),
    "groups .1/.2/1 for each rating, threshold 1": (1.0, GROUPS.wishes()),
    "groups .1/.2/1 for each rating, threshold .2": (0.2, GROUPS.wishes()),
    "the paper's specification, threshold 1": (1.0, PAPER.wishes()),
    "the paper's specification, threshold .4": (0.4, PAPER.wishes()),
    "everybody at 1": (1.0, None),
}


def rmse(train: dc.Ratings, test: dc.Ratings, epsilon: float, wishes: dc.Wishes | None, seed: int) -> float:
    server = dc.TrustedServer(train, dc.Ledger(epsilon), randomness=dc.Randomness(seed=seed), wishes=wishes)
    release = dc.Almanac().fit(server)
    predicted = release.predict(train, test.user_index, test.item_index)
    return float(np.sqrt(np.mean((predicted - test.values) ** 2)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--data", default="ml-100k")
    given = options.parse_args()
    ratings = dc.load(given.data)
    found: dict[str, list[float]] = {name: [] for name in ROWS}
    for seed in range(301, 301 + given.seeds):
        train, test = ratings.split(test=0.1, seed=seed)
        for name, (epsilon, wishes) in ROWS.items():
            found[name].append(rmse(train, test, epsilon, wishes, seed))
    uniform = np.array(found["everybody at .1"])
    print(f"Almanac on {given.data}, unit rating, RMSE over {given.seeds} seeds")
    print(f"{'':48}{'mean':>8}{'min':>8}{'max':>8}  better than everybody at .1")
    for name, values in found.items():
        better = int((np.array(values) < uniform).sum())
        print(f"{name:48}{np.mean(values):8.4f}{min(values):8.4f}{max(values):8.4f}  {better} of {given.seeds}")


if __name__ == "__main__":
    main()
