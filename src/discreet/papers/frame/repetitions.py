"""Every case once a seed, kept on disk: an experiment that was stopped goes on where it was.

What is kept is taken again only for the same ratings, the same grid and the same code: its file is named by a
fingerprint of the three, and says it inside once more. Numbers of another fingerprint lie in another file, so stale
ones are never mixed in, and a quick run does not throw away a long one.
"""

import hashlib
import inspect
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.files import write_whole
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.outcome import Data, Outcome
from discreet.papers.frame.paper import Paper
from discreet.papers.frame.sets import Sets
from discreet.types import Progress, no_progress

SECONDS_BETWEEN = 5.0
"""A file is written at most this often, and at the end."""
NO_NUMBERS = ("cli", "pages", "evaluation", "audit", "papers")
"""Folders of the package that no measured number comes from; a paper's own is added."""
ONLY_READ = ("claims.py", "figures.py", "printed.py", "paper.py", "looks.py")
"""Files of a paper's folder that read the numbers and do not make them."""


def run(
    paper: Paper,
    sets: Sets | Ratings,
    *,
    data: str = "ratings",
    seeds: int | None = None,
    figures: Sequence[int] = (),
    grid: Grid | None = None,
    folder: Path | None = None,
    progress: Progress = no_progress,
) -> Outcome:
    """Run what the figures need, but for what is kept in ``folder`` already; it is added to."""
    sets = Sets(sets) if isinstance(sets, Ratings) else sets
    seeds = paper.seeds if seeds is None else seeds
    require(seeds >= 1, f"seeds must be at least 1, got {seeds}")
    grid, chosen = paper.grid if grid is None else grid, paper.numbers_to_run(figures)
    cases = paper.cases(grid, chosen)
    kept = Kept(folder, fingerprint(paper, sets, grid) if folder is not None else "")
    numbers: dict[Case, dict[str, list[float]]] = {case: {} for case in cases}
    try:
        for seed in range(1, seeds + 1):
            repetition = None
            for place, case in enumerate(cases):
                progress((seed - 1) * len(cases) + place, seeds * len(cases), f"{case.method}, repetition {seed}")
                found = kept.get(seed, case)
                if found is None:
                    repetition = paper.repetition(sets, seed) if repetition is None else repetition
                    found = repetition.measure(case)
                    kept.put(seed, case, found)
                for reading, number in found.items():
                    numbers[case].setdefault(reading, []).append(number)
    finally:
        kept.write()
    progress(1, 1, "done")
    return Outcome(data=Data.of(data, sets), seeds=seeds, grid=grid, figures=chosen, numbers=numbers)


class Kept:
    """Numbers by repetition and case, in one file of a folder; with no folder nothing is kept.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> kept = Kept(folder, "a1b2")
    >>> kept.put(1, Case("RP", gamma=0.5), {"plain": 0.9})
    >>> kept.write()
    >>> Kept(folder, "a1b2").get(1, Case("RP", gamma=0.5))
    {'plain': 0.9}
    >>> Kept(folder, "c3d4").get(1, Case("RP", gamma=0.5)) is None
    True
    """

    def __init__(self, folder: Path | None, about: str) -> None:
        self._path = None if folder is None else folder / f"{about[:16]}.json"
        self._about, self._written = about, time.monotonic()
        self._numbers: dict[str, dict[str, dict[str, float]]] = {}
        if self._path is not None and self._path.exists():
            self._numbers = _read(self._path, about)

    def get(self, seed: int, case: Case) -> Mapping[str, float] | None:
        """What was measured, if it was."""
        return self._numbers.get(str(seed), {}).get(repr(case))

    def put(self, seed: int, case: Case, numbers: Mapping[str, float]) -> None:
        """Remember it."""
        self._numbers.setdefault(str(seed), {})[repr(case)] = dict(numbers)
        if time.monotonic() - self._written > SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Write the file now, whole or not at all."""
        if self._path is None or not self._numbers:
            return
        text = json.dumps({"about": self._about, "numbers": self._numbers}, indent=1)
        write_whole(self._path, (text + "\n").encode())
        self._written = time.monotonic()


def _read(path: Path, about: str) -> dict[str, Any]:
    """Nothing where the file is about something else, or no file of ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return dict(found["numbers"]) if found["about"] == about else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def fingerprint(paper: Paper, sets: Sets, grid: Grid) -> str:
    """Of the ratings, the grid, and every line of code and version that numbers may come from."""
    scale = sets.ratings.catalogue.scale
    hashed = hashlib.sha256(f"{paper.name} {scale} {grid.axes} numpy {np.__version__}".encode())
    for part in filter(None, (sets.ratings, sets.given)):
        for array in (part.indptr, part.item_index, part.values):
            hashed.update(np.ascontiguousarray(array).tobytes())
    for path in _sources(paper):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _sources(paper: Paper) -> Iterator[Path]:
    package, own = Path(discreet.__file__).parent, Path(inspect.getfile(paper.repetition))
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in NO_NUMBERS:
            yield path
    yield from (path for path in sorted(own.parent.glob("*.py")) if path.name not in ONLY_READ)
