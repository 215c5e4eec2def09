"""Errors that were measured already, in a file: an experiment that was stopped goes on where it was.

They are taken again only for the same ratings and the same code: the file says which, by a hash of the ratings and of
the source of whatever the numbers come from.
"""

import hashlib
import inspect
import json
import time
from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.models import bias, covariance_knn, pair_sums, spectral
from discreet.papers.hybrid_knn import algorithm, sound
from discreet.papers.hybrid_knn.privacy import SHARES
from discreet.reports.files import write_whole

SECONDS_BETWEEN = 5.0
"""The file is written at most this often, and at the end."""


class Kept:
    """Errors by repetition and case.

    Parameters
    ----------
    path
        The file; None to keep nothing.
    ratings
        What the errors are about.

    Examples
    --------
    >>> import discreet as dc, tempfile
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> path = Path(tempfile.mkdtemp()) / "kept.json"
    >>> kept = Kept(path, ratings)
    >>> kept.put(1, "RP, gamma 0.5", {"plain": 0.9})
    >>> kept.write()
    >>> Kept(path, ratings).get(1, "RP, gamma 0.5")
    {'plain': 0.9}
    >>> Kept(path, dc.synthetic(users=50, items=30, ratings=600, seed=2)).get(1, "RP, gamma 0.5") is None
    True
    """

    def __init__(self, path: Path | None, ratings: Ratings) -> None:
        self._path, self._written = path, time.monotonic()
        self._about = "" if path is None else _hash_of(ratings)
        self._errors: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._errors = _read(path, self._about)

    def __len__(self) -> int:
        """How many errors there are."""
        return sum(map(len, self._errors.values()))

    def get(self, seed: int, case: str) -> dict[Any, float] | None:
        """What was measured, if it was."""
        return self._errors.get(str(seed), {}).get(case)

    def put(self, seed: int, case: str, errors: dict[Any, float]) -> None:
        """Remember it."""
        self._errors.setdefault(str(seed), {})[case] = errors
        if time.monotonic() - self._written > SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Write the file now."""
        if self._path is None:
            return
        text = json.dumps({"about": self._about, "errors": self._errors}, indent=1)
        write_whole(self._path, (text + "\n").encode())
        self._written = time.monotonic()


def _read(path: Path, about: str) -> dict[str, dict[str, Any]]:
    """Nothing where the file is about something else, or no file of ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return dict(found["errors"]) if found["about"] == about else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _hash_of(ratings: Ratings) -> str:
    from discreet.papers.hybrid_knn import experiment

    hashed = hashlib.sha256(f"{ratings.catalogue.scale} {SHARES}".encode())
    for array in (ratings.indptr, ratings.item_index, ratings.values):
        hashed.update(array.tobytes())
    for module in (algorithm, sound, experiment, bias, covariance_knn, pair_sums, spectral):
        hashed.update(inspect.getsource(module).encode())
    return hashed.hexdigest()
