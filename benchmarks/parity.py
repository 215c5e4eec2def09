"""Does a device compute what Python computes? Every model on MovieLens 100K, in node and in Chromium, 200 users each.

    python benchmarks/parity.py [--data ml-100k] [--models almanac,als]

Prints the largest difference of scores (relative to the largest score of that user, if above 1), of predicted ratings
and of reasons, and for how many of 200 made-up users the 20 best items are the same in the same order. Ends with 1 if
anything differs by more than 1e-5, or a list by more than ties.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import discreet as dc
from discreet.fitting.fit_on import fit_on
from discreet.names import every_model
from discreet.web.agreement import PROGRAMS, agreements, program_of

SETTINGS = {
    "bayesian-mf": {"factors": 8},
    "mult-vae": {"hidden": 64, "latent": 16, "epochs": 3, "patience": 0},
    "auto-encoder": {"hidden": 64, "latent": 16, "epochs": 3, "patience": 0},
}
"""Smaller than the defaults where these take minutes: what is compared is the same."""


def number(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else "0" if value == 0 else f"{value:.0e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="ml-100k")
    parser.add_argument("--models", default=",".join(every_model()))
    given = parser.parse_args()
    ratings, names, exports = dc.load(given.data), given.models.split(","), []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            release = fit_on(every_model()[name](**SETTINGS.get(name, {})), ratings)
            exports.append((release, dc.web.export_release(release, Path(folder) / name)))
            print(f"fitted {name}", file=sys.stderr)
        wheres = [where for where in PROGRAMS if program_of(where) is not None]
        found = {where: agreements(exports, where) for where in wheres}
        sizes = [(Path(path) / "release.discreet").stat().st_size for _, path in exports]
    head = " | ".join(f"{where}: score | rating | reason | lists" for where in wheres)
    print(f"| model | KB | {head} |\n|---|---:|" + "---:|---:|---:|---:|" * len(wheres))
    holds = True
    for place, name in enumerate(names):
        cells = []
        for where in wheres:
            one = found[where][place]
            holds &= one.holds
            cells += [number(one.score), number(one.rating), number(one.reason), f"{one.equal_lists}/{one.histories}"]
        print(f"| {name} | {sizes[place] / 1000:,.0f} | {' | '.join(cells)} |")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
