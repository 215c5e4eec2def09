"""How quickly a release answers its first user, how quickly the next, and how little it needs installed.

For every model that can be saved, on MovieLens 100K or made-up ratings:

- **first**: a fresh process that finds no compiled kernels imports Discreet, reads the release and recommends; with
  numpy alone, with what is installed here, and by ``discreet recommend``;
- **warm**: one more user of a prepared scorer, the median of many;
- **environment**: the size of a virtual environment with numpy alone, and Discreet from this checkout.

Ends with 1 if a first answer takes more than 3 s or the environment more than 150 MB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.fitting.fit_on import fit_on
from discreet.names import every_kind

SECONDS, MEGABYTES = 3.0, 150.0
SOURCE = Path(dc.__file__).parents[1]
SHORT: dict[str, dict[str, Any]] = {"mf": {"epochs": 10}, "pnbm": {"epochs": 1}}  # serving does not depend on it
ASK = """
import sys
import discreet as dc
release = dc.Release.load(sys.argv[1])
history = dc.History.of_likes(release.catalogue, list(release.catalogue.items)[:20])
assert len(release.recommend(history, k=10)) == 10
"""


def numpy_alone(folder: Path) -> tuple[Path, float]:
    """A virtual environment with numpy: its Python, and its size in MB, pip not counted."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", "lazy-loader"], check=True)
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"], check=True)
    parts = [*folder.rglob("*"), *SOURCE.joinpath("discreet").rglob("*.py")]
    return python, sum(part.stat().st_size for part in parts if part.is_file() and not part.is_symlink()) / 1e6


def seconds(command: list[str | Path], clock: Callable[[], float]) -> float:
    """Of a fresh process that finds no compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"NUMBA_CACHE_DIR": empty, "PYTHONPATH": str(SOURCE)}
        start = clock()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return clock() - start


def processors() -> float:
    """Seconds that the processors have spent on processes that were started from here."""
    used = os.times()
    return used.children_user + used.children_system


def warm(release: dc.Release, histories: list[dc.History]) -> float:
    """Milliseconds for one more user."""
    scorer, times = release.scorer(), []
    for history in histories:
        start = time.perf_counter()
        scorer.recommend(history, k=10)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times[1:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="ml-100k", help="a data set, or 'synthetic'")
    parser.add_argument("--only", nargs="*", default=None, help="names of models")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu on a machine that others use too")
    given = parser.parse_args()
    clock = time.perf_counter if given.clock == "wall" else processors
    synthetic = given.data == "synthetic"
    ratings = dc.synthetic(users=943, items=1682, ratings=100_000, seed=1) if synthetic else dc.load(given.data)
    histories = [ratings.history_at(user) for user in range(min(200, ratings.n_users))]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python, megabytes = numpy_alone(folder / "numpy")
        missed += megabytes > MEGABYTES
        print(f"environment with numpy alone: {megabytes:.0f} MB (at most {MEGABYTES:.0f})\n")
        print("| model | first, numpy alone | first, here | first, command line | warm |\n" + "|---" * 5 + "|")
        for model in given.only or every_kind():
            release = fit_on(every_kind()[model](**SHORT.get(model, {})), ratings)
            place = folder / model.replace(":", "-")
            release.save(place)
            liked = [word for item in list(ratings.catalogue.items)[:3] for word in ("--likes", item)]
            first = [
                seconds([python, "-c", ASK, place], clock),
                seconds([sys.executable, "-c", ASK, place], clock),
                seconds([sys.executable, "-m", "discreet", "recommend", place, *liked], clock),
            ]
            missed += max(first) > SECONDS
            found = " | ".join(f"{value:.2f} s" + (" MISSED" if value > SECONDS else "") for value in first)
            print(f"| {model} | {found} | {warm(release, histories):.2f} ms |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
