"""Discreet beside the libraries that one would otherwise pick: the same split, the same job, one run.

    python benchmarks/peers.py                                  # MovieLens 100K and 1M: about 15 minutes
    python benchmarks/peers.py --data ml-100k --only neighbours

The peers are not dependencies of Discreet. They go into an environment of their own, together with Discreet:

    python -m venv peers && . peers/bin/activate
    pip install -e . scikit-surprise==1.1.5 implicit==0.7.3 lenskit==2025.8.1 cornac==3.0.1

A peer that is not installed is reported as missing, and so is its bar. Every configuration runs in a process of its
own, first on a few users to warm up (and to compile), then several times; the least time counts. All use all cores
where they can. Seconds of all cores together (cpu) are told beside those on the wall, which decide. On a machine that
others use too, `--threads 1 --clock cpu` is the fair comparison: threads that wait for each other in vain would
count as busy. Preparation (a library's own form of the data) is shown and not counted; fit + predict is what speed
means for models, and fit / epochs for stochastic gradients.

The exit code is 1 if a bar is missed.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peer_models import Contender, Data, Stopwatch, contenders, memory_mb, prepare

DISTRIBUTIONS = {
    "discreet": "discreet",
    "surprise": "scikit-surprise",
    "lenskit": "lenskit",
    "cornac": "cornac",
    "implicit": "implicit",
}
GROUPS = {
    "neighbours": "Item neighbours: fit on four fifths of the ratings, predict the rest",
    "mf": "Matrix factorisation by stochastic gradients: 20 factors, 20 epochs, rate 0.01, penalty 0.02",
    "als": "Half-steps of implicit-feedback ALS: 64 factors, all users and all items once, from the same factors",
    "als model": "Implicit-feedback ALS as a model: 64 factors, 5 sweeps, each library's defaults otherwise",
}
SAME_RMSE = 0.001  # stochastic gradients in another order differ by that much


# ── One configuration, in this process ──


def run_one(contender: Contender, data: Data, repeats: int, patience: float) -> dict[str, Any]:
    """Warm up, repeat, and keep the least time of each stage."""
    warnings.simplefilter("ignore")
    contender.run(data.small(), Stopwatch())
    with contextlib.suppress(OSError):  # forget the peak of the warm-up, where the system allows it
        Path("/proc/self/clear_refs").write_text("5")
    before = memory_mb("VmRSS")
    began = time.perf_counter()
    watches: list[Stopwatch] = []
    while len(watches) < repeats and (not watches or time.perf_counter() - began < patience):
        watch = Stopwatch()
        outcome = contender.run(data, watch)
        watches.append(watch)
    peak = watches[0].peak_mb
    return {
        **outcome,
        "repeats": len(watches),
        "wall": {stage: min(watch.stages[stage][0] for watch in watches) for stage in watches[0].stages},
        "cpu": {stage: min(watch.stages[stage][1] for watch in watches) for stage in watches[0].stages},
        "memory_mb": peak,
        "grew_mb": None if peak is None or before is None else peak - before,
    }


# ── All of them, each in a process of its own ──


def environment(threads: int, library: str) -> dict[str, str]:
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "LK_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS")
    # implicit threads by itself and asks that BLAS does not.
    blas = 1 if library == "implicit" else threads
    return {**os.environ, **dict.fromkeys(names, str(threads)), "OPENBLAS_NUM_THREADS": str(blas)}


def call(options: argparse.Namespace, split: Path, contender: Contender) -> dict[str, Any]:
    row: dict[str, Any] = {"group": contender.group, "library": contender.library, "name": contender.name}
    if importlib.util.find_spec(contender.library) is None:
        return {**row, "missing": f"{DISTRIBUTIONS[contender.library]} is not installed"}
    command = [
        sys.executable, __file__, "--one", contender.library, contender.name, contender.group, "--split", str(split),
        "--repeats", str(options.repeats), "--threads", str(options.threads), "--patience", str(options.patience),
    ]  # fmt: skip
    done = subprocess.run(
        command, env=environment(options.threads, contender.library), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return {**row, "missing": f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"}
    return {**row, **json.loads(done.stdout.splitlines()[-1])}


def seconds(row: dict[str, Any], clock: str = "wall") -> float:
    """What is compared: a half-step, an epoch, a sweep's half, or fit + predict."""
    times = row[clock]
    if "fit" not in times:
        return float(times["half-step of users"] + times["half-step of items"]) / 2
    if row.get("epochs"):
        return float(times["fit"] / row["epochs"])
    if row.get("sweeps"):
        return float(times["fit"] / row["sweeps"] / 2)
    return float(times["fit"] + times["predict"])


UNIT = {"neighbours": "fit + predict", "mf": "an epoch", "als": "a half-step", "als model": "half a sweep"}
ACCURACY = {"neighbours": "rmse", "mf": "rmse", "als": "off by", "als model": "ndcg@100"}


def table(group: str, rows: list[dict[str, Any]]) -> str:
    accuracy, unit = ACCURACY[group], UNIT[group]
    titles = [accuracy, "prepare", "fit", "predict", unit, "cpu", "peak MB", "grew MB"]
    lines = [GROUPS[group], f"  {'':36}" + "".join(f"{title:>14}" for title in titles) + "   threads, runs"]
    for row in rows:
        name = f"{row['library']} {row['name']}"
        if "missing" in row:
            lines.append(f"  {name:36}  {row['missing']}")
            continue
        wall = row["wall"]
        numbers = [
            f"{row[accuracy]:.2g}" if group == "als" else f"{row[accuracy]:.4f}",
            *(f"{wall[stage]:.3f}" if stage in wall else "" for stage in ("prepare", "fit", "predict")),
            f"{seconds(row):.4f}",
            f"{seconds(row, 'cpu'):.4f}",
            *("" if row[memory] is None else f"{row[memory]:.0f}" for memory in ("memory_mb", "grew_mb")),
        ]
        line = f"  {name:36}" + "".join(f"{number:>14}" for number in numbers)
        lines.append(f"{line}   {row['threads']}, {row['repeats']}")
        if "predict as documented" in wall:
            lines.append(f"  {'':36}{'':42}{wall['predict as documented']:14.3f}   as documented, not counted")
    return "\n".join(lines)


# ── Bars ──


def ratios(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    found = {
        "discreet": mine["name"],
        "peer": f"{theirs['library']} {theirs['name']}",
        "wall": seconds(theirs) / seconds(mine),
        "cpu": seconds(theirs, "cpu") / seconds(mine, "cpu"),
    }
    if mine["memory_mb"] and theirs["memory_mb"]:
        found["memory"] = mine["memory_mb"] / theirs["memory_mb"]
    return found


def verdicts(data: str, rows: list[dict[str, Any]], clock: str) -> list[dict[str, Any]]:
    """Each bar with the ratio that decides it: against the quickest of a peer's rows, and the most accurate."""
    bars = []
    for name in ("cosine", "pearson"):
        for library, least in (("surprise", 10.0), ("lenskit", 3.0)):
            bars.append(judge(rows, clock, "neighbours", [name], library, least, "fit + predict"))
    if data == "ml-1m":
        bars.append(judge(rows, clock, "mf", ["mf, users kept"], "surprise", 10.0, "an SGD epoch"))
        bars.append(judge(rows, clock, "mf", ["mf, users kept"], "cornac", 0.5, "an SGD epoch"))
        bars.append(judge(rows, clock, "als", ["exact"], "implicit", 3.0, "an exact half-step", "exact"))
        conjugate = [f"CG, {steps} steps" for steps in (2, 3, 8)]
        bars.append(judge(rows, clock, "als", conjugate, "implicit", 3.0, "a half-step by CG", "CG, 3 steps"))
    return [{"data": data, **bar} for bar in bars if bar]


def judge(
    rows: list[dict[str, Any]],
    clock: str,
    group: str,
    names: list[str],
    library: str,
    least: float,
    what: str,
    theirs: str | None = None,
) -> dict[str, Any] | None:
    """Whether the quickest of our rows that are at least as accurate as every row of the peer's is quick enough."""
    of_group = [row for row in rows if row["group"] == group]
    mine = [row for row in of_group if row["library"] == "discreet" and row["name"] in names]
    peers = [row for row in of_group if row["library"] == library and theirs in (None, row["name"])]
    if not mine or not peers:
        return None
    title = "" if len(names) > 1 or group != "neighbours" else f" of {names[0]}"
    bar: dict[str, Any] = {"what": f"{what}{title} against {library}", "least": least, "holds": None}
    if any("missing" in row for row in [*mine, *peers]):
        return {**bar, "why": "not measured"}
    accuracy = ACCURACY[group]
    best = min(row[accuracy] for row in peers)
    # Exact solutions differ by rounding only; orders of stochastic gradients by little.
    slack = {"mf": SAME_RMSE, "als": 1e-4}.get(group, 0.0)
    accurate = [row for row in mine if row[accuracy] <= best + slack]
    if not accurate:
        return {**bar, "holds": False, "why": f"{accuracy} {min(row[accuracy] for row in mine):.4f}, theirs {best:.4f}"}
    chosen, quickest = (min(some, key=lambda row: seconds(row, clock)) for some in (accurate, peers))
    found = ratios(chosen, quickest)
    return {**bar, **found, "holds": found[clock] >= least, accuracy: chosen[accuracy], f"their {accuracy}": best}


def sentence(bar: dict[str, Any]) -> str:
    verdict = {True: "HOLDS", False: "MISSED", None: "UNKNOWN"}[bar["holds"]]
    if "wall" not in bar:
        return f"  {verdict:8}{bar['data']:9}{bar['what']}: {bar['why']}"
    accuracy = next(name for name in ACCURACY.values() if name in bar)
    memory = f", {bar['memory']:.2f}x the memory" if "memory" in bar else ""
    return (
        f"  {verdict:8}{bar['data']:9}{bar['what']}: {bar['wall']:.1f}x as fast (bar {bar['least']:g}x), "
        f"{bar['cpu']:.1f}x by cpu{memory}; {accuracy} {bar[accuracy]:.4g} beside {bar[f'their {accuracy}']:.4g}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml-100k", "ml-1m"], help="data sets that discreet knows")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is run; the least time counts")
    parser.add_argument("--patience", type=float, default=30, help="seconds after which none is repeated again")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="for all who can use several")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="whose ratio decides about the bars")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="groups or libraries (Discreet is always run)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything there")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--split", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    everyone = contenders(options.threads)
    if options.one:
        library, name, group = options.one
        chosen = next(c for c in everyone if (c.library, c.name, c.group) == (library, name, group))
        print(json.dumps(run_one(chosen, Data.read(options.split, options.threads), options.repeats, options.patience)))
        return
    words = set(options.only or [])
    unknown = words - set(GROUPS) - set(DISTRIBUTIONS)
    if unknown:
        parser.error(f"--only takes groups ({', '.join(GROUPS)}) and libraries ({', '.join(DISTRIBUTIONS)})")
    groups, libraries = words & set(GROUPS) or set(GROUPS), words & set(DISTRIBUTIONS) or set(DISTRIBUTIONS)
    everyone = [c for c in everyone if c.group in groups and (c.library in libraries or c.library == "discreet")]
    machine = describe_machine(options)
    print("\n".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.data:
            split = Path(folder) / "split.npz"
            prepare(name, split)
            found: list[dict[str, Any]] = []
            for group in [group for group in GROUPS if group in groups]:
                of_group = [call(options, split, contender) for contender in everyone if contender.group == group]
                print(f"\n{name}. {table(group, of_group)}", flush=True)
                found += of_group
            rows += [{"data": name, **row} for row in found]
            bars += verdicts(name, found, options.clock)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"\nBars, at equal or better accuracy (load of the machine at the end: {load:.1f})")
    for bar in bars:
        print(sentence(bar))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows, "bars": bars}, indent=2))
    sys.exit(any(bar["holds"] is False for bar in bars))


def describe_machine(options: argparse.Namespace) -> dict[str, Any]:
    versions = [
        f"{distribution} {version(distribution)}"
        for library, distribution in DISTRIBUTIONS.items()
        if importlib.util.find_spec(library) is not None
    ]
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {options.threads} threads used by all who can",
        "versions": ", ".join([f"Python {platform.python_version()}", f"numpy {version('numpy')}", *versions]),
        "times": f"seconds, the least of up to {options.repeats} runs ({options.patience:g} s of patience)",
    }


if __name__ == "__main__":
    main()
