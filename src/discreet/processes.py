"""What libraries with threads ask of the process: a number of threads that can be started, and no fork behind them.

Threads do not survive a fork. In a child that was forked after polars has started its own, the next table is waited for
forever; after numba has started OpenMP's, the next kernel ends the child. So a child says what to do instead.
"""

import os
import re
import sys
from pathlib import Path
from typing import Literal

from discreet.errors import ForkedProcessError, InputError

Library = Literal["polars", "numba"]

_VARIABLES: dict[Library, str] = {"polars": "POLARS_MAX_THREADS", "numba": "NUMBA_NUM_THREADS"}
_MOST_THREADS = 1024
_started: set[Library] = set()
"""Libraries whose threads ran when this process was forked; seen by the parent, of use in the child."""
_lost: set[Library] = set()


def require_threads(library: Library) -> None:
    """Raise where a library cannot start its threads, or lost them in a fork.

    >>> require_threads("polars")
    """
    if library in _lost:
        raise ForkedProcessError(
            f"this process was forked after {library} had started its threads, which do not survive a fork: start "
            'processes with multiprocessing.get_context("spawn"), or fork before ratings are read and models fitted'
        )
    asked = os.environ.get(_VARIABLES[library], "").strip()
    try:
        threads = int(asked)
    except ValueError:
        return  # nothing is asked for, or what is no number, which both libraries ignore
    if not 1 <= threads <= _MOST_THREADS:
        raise InputError(
            f"the variable {_VARIABLES[library]} must be a number of threads from 1 to {_MOST_THREADS:,}, got {threads}"
        )


def _note_threads() -> None:
    """Before a fork: whose threads run."""
    _started.clear()
    if _polars_runs():
        _started.add("polars")
    if _numba_runs():
        _started.add("numba")


def _polars_runs() -> bool:
    if "polars" not in sys.modules:
        return False
    try:
        names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return True  # it cannot be seen here, so it is taken for granted
    return any(re.match(r"polars-\d|tokio", name) for name in names)


def _numba_runs() -> bool:
    numba = sys.modules.get("numba")
    if numba is None or not hasattr(numba, "threading_layer"):
        return False
    try:
        numba.threading_layer()
    except ValueError:  # none was started
        return False
    return True


def _lose_threads() -> None:
    _lost.update(_started)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_threads, after_in_child=_lose_threads)
