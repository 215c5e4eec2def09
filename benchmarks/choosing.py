"""Which model at which number of users, epsilon and unit: the table and the figure of docs/choosing.md.

    python benchmarks/choosing.py                      # everything: about an hour on one core, 6 GB for the largest
    python benchmarks/choosing.py --only ml-100k       # one data set; the others keep their numbers
    python benchmarks/choosing.py --draw               # nothing is run: table and figure from the numbers so far

Every model is fitted on 80% of each user's ratings, a tenth is left alone, and a tenth is foreseen: RMSE of ratings,
NDCG@100 of rankings with what was known left out, of at most 10,000 and 1,000 users. On MovieLens the mean of several
splits, on made-up ratings (`dc.synthetic(like="movielens")`) one split. Trusted server, delta 1e-6, fresh secret noise.
The number of users is announced to the models that plan by it. `own-taste` asks for nothing, so it is measured once.

The rule of `discreet fit --model auto` was chosen on these numbers, so these splits are used for nothing else: the
seeds are 101, 102, …, and those of the reported tables are 1 to 5. The numbers go to docs/pictures/choosing.json, the
figure to docs/pictures/choosing.png.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.evaluation.measuring import measure
from discreet.fitting.fit_on import fit_on
from discreet.fitting.private_forms import has_private_form

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
EPSILONS, UNITS, DELTA = (0.1, 1.0, 10.0), ("user", "rating"), 1e-6
MADE_UP = {  # users: items, ratings of a user on average
    "made up, 10,000": (10_000, 4_000, 50),
    "made up, 100,000": (100_000, 8_000, 40),
    "made up, 1,000,000": (1_000_000, 10_000, 25),
}
SPLITS = {"ml-100k": 5, "ml-1m": 2}
FORESEEN = {"rmse": 10_000, "ndcg@100": 1_000}
FIRST_SEED, DATA_SEED = 101, 21
FREE = {"own-taste": dc.OwnTaste()}
PRIVATE = {
    "popularity": dc.Popularity(),
    "bias": dc.Bias(),
    "covariance-knn": dc.CovarianceKNN(),
    "als": dc.ALS(),
    "almanac": dc.Almanac(),
    "almanac for ratings": dc.Almanac(purpose="ratings"),
    "almanac for ranking": dc.Almanac(purpose="ranking"),
}
EXACT = {"bayesian-mf": dc.BayesianMF(), "implicit-als": dc.ImplicitALS(), "almanac": dc.Almanac()}
LARGEST = {"covariance-knn": 2_000_000, "bayesian-mf": 2_000_000, "implicit-als": 2_000_000, "als": 5_000_000}
"""Beyond so many ratings a model is left out: it would take the memory or the time of all others together."""
TIE = {"rmse": 0.002, "ndcg@100": 0.003}
"""Differences below this are not told apart: about what another draw of the noise changes."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", metavar="DATA", help=f"one of {', '.join([*SPLITS, *MADE_UP])}")
    options.add_argument("--models", help="names between commas; the others keep their numbers")
    options.add_argument("--missing", action="store_true", help="keep the numbers that are there")
    options.add_argument("--draw", action="store_true")
    chosen = options.parse_args()
    place = PICTURES / "choosing.json"
    found: list[dict[str, Any]] = json.loads(place.read_text()) if place.exists() else []
    if not chosen.draw:
        for data in [chosen.only] if chosen.only else [*SPLITS, *MADE_UP]:
            there = {key(row) for row in found} if chosen.missing else set()
            for new in run(data, chosen.models.split(",") if chosen.models else None, there):
                found = [row for row in found if key(row) != key(new)] + [new]
                found.sort(key=lambda row: (row["users"], row["unit"], row["epsilon"] or 0, row["model"]))
                place.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n")
    print_table(found)
    draw(found)
    return 0


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["unit"], row["epsilon"], row["model"]


# ── Measuring ──


def run(data: str, names: list[str] | None, there: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    if data in MADE_UP:
        users, items, each = MADE_UP[data]
        ratings = dc.synthetic(users=users, items=items, ratings=users * each, seed=DATA_SEED, like="movielens")
    else:
        ratings = dc.load(data)
    splits = [
        split
        for seed in range(FIRST_SEED, FIRST_SEED + SPLITS.get(data, 1))
        for split in dc.evaluation.EachUser(seed=seed).splits(ratings)
    ]
    trials: list[tuple[str, float | None, str, Any]]
    trials = [("none", None, name, model) for name, model in FREE.items()]
    trials += [
        (unit, epsilon, name, model) for unit in UNITS for epsilon in EPSILONS for name, model in PRIVATE.items()
    ]
    trials += [("none", None, name, model) for name, model in EXACT.items()]
    for unit, epsilon, name, model in trials:
        if (names and name not in names) or len(ratings) > LARGEST.get(name, 10**9):
            continue
        if (data, unit, epsilon, name) in there:
            continue
        terms = dc.Terms() if epsilon is None else dc.Terms(epsilon=epsilon, unit=unit, delta=DELTA)
        if any(field.name == "audience" for field in fields(model)):
            model = replace(model, audience=ratings.n_users)
        if epsilon is not None and not has_private_form(model, terms):
            continue
        values: dict[str, list[float]] = {}
        started = time.perf_counter()
        for split in splits:
            release = fit_on(model, split.train, terms)
            for metric, most in FORESEEN.items():
                tested = np.arange(min(most, ratings.n_users))
                parts = [part.select_users(tested) for part in (split.histories, split.test, split.mask)]
                for found, estimate in measure(release, *parts, [metric]).estimates.items():
                    values.setdefault(found, []).append(estimate.mean)
        row = {"data": data, "users": ratings.n_users, "unit": unit, "epsilon": epsilon, "model": name}
        row |= {metric: round(float(np.mean(several)), 4) for metric, several in values.items()}
        row["seconds"] = round((time.perf_counter() - started) / len(splits), 1)
        print(json.dumps(row), flush=True)
        yield row


# ── Showing ──


def cells(found: list[dict[str, Any]], metric: str) -> Iterator[dict[str, Any]]:
    """For each data set, unit and epsilon: the best model, and those that are as good."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in found:
        if row["epsilon"] is not None and metric in row:
            groups.setdefault((row["users"], row["data"], row["unit"], row["epsilon"]), []).append(row)
    free = {row["data"]: row for row in found if row["model"] in FREE}
    for (users, data, unit, epsilon), rows in sorted(groups.items(), key=str):
        if "almanac" not in {row["model"] for row in rows}:
            continue  # not all of it was run yet
        sign = 1 if metric == "rmse" else -1
        rows = sorted([*rows, free[data]], key=lambda row: sign * row[metric])
        best = rows[0]
        near = [row["model"] for row in rows[1:] if abs(row[metric] - best[metric]) < TIE[metric]]
        yield {
            "users": users, "data": data, "unit": unit, "epsilon": epsilon, "model": best["model"],
            "value": best[metric], "near": near,
        }  # fmt: skip


def print_table(found: list[dict[str, Any]]) -> None:
    for metric in FORESEEN:
        print(f"\n{metric}: the best model, and those that are as good (within {TIE[metric]})")
        for cell in sorted(cells(found, metric), key=lambda cell: (cell["unit"], cell["users"], cell["epsilon"])):
            near = f"  also {', '.join(cell['near'])}" if cell["near"] else ""
            where = f"{cell['unit']:<8}{cell['users']:>10,}{cell['epsilon']:>7g}"
            print(f"{where}  {cell['model']:<16}{cell['value']:.4f}{near}")
        exact = [row for row in found if row["epsilon"] is None and metric in row]
        for row in sorted(exact, key=lambda row: (row["users"], row["model"])):
            print(f"{'none':<8}{row['users']:>10,}{'':>7}  {row['model']:<16}{row[metric]:.4f}")


def draw(found: list[dict[str, Any]]) -> None:
    import altair as alt

    from discreet.pages.drawing import Picture, colours, plot, styled
    from discreet.pages.style import INK

    names = [*FREE, *PRIVATE]
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=names, range=colours(len(names))),
        legend=alt.Legend(orient="top", title=None, columns=6),
    )
    sizes = sorted({row["users"] for row in found})
    rows = []
    for metric, title in (("rmse", "rating error (RMSE)"), ("ndcg@100", "ranking (NDCG@100)")):
        panels = []
        for unit in UNITS:
            values = [
                cell | {"size": f"{cell['users']:,}", "shown": f"{cell['value']:.3f}", "name": cell["model"]}
                for cell in cells(found, metric)
                if cell["unit"] == unit
            ]
            base = plot(values).encode(
                x=alt.X("size:O", sort=[f"{size:,}" for size in sizes], title="users", axis=alt.Axis(labelAngle=0)),
                y=alt.Y("epsilon:O", sort="descending", title="epsilon" if unit == UNITS[0] else None),
            )
            tile = base.mark_rect(opacity=0.35, cornerRadius=4, stroke="white", strokeWidth=3).encode(color=colour)
            label = base.mark_text(color=INK, fontSize=11, dy=-7).encode(text="name:N")
            number = base.mark_text(color=INK, fontSize=12, fontWeight="bold", dy=8).encode(text="shown:N")
            words = f"{title}, a {'whole user' if unit == 'user' else 'rating'} hidden"
            panels.append(
                (tile + label + number).properties(width=116 * len(sizes), height=44 * len(EPSILONS), title=words)
            )
        rows.append(alt.hconcat(*panels))
    picture = Picture(
        name="choosing",
        title="Which model is best",
        caption="The best private model and what it reaches, by number of users, epsilon and unit.",
        alt="Tiles by number of users and epsilon, coloured by the best model.",
        chart=styled(alt.vconcat(*rows)),
        wide=True,
    )
    picture.save(PICTURES / "choosing.png")


if __name__ == "__main__":
    sys.exit(main())
