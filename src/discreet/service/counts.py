"""What Prometheus reads: how many requests of which kind, how long they took, which release. No user, no item.

Every worker writes to its own row of numbers in memory that all share, so any of them can answer for all.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.types import Doubles

ROUTES = (
    "/recommend",
    "/predict",
    "/items",
    "/items/{item}/similar",
    "/certificate",
    "/release",
    "/openapi.json",
    "/health",
    "/ready",
    "/metrics",
    "page",
    "other",
)
CLASSES = ("2xx", "3xx", "4xx", "5xx")
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
GAUGES = ("in_flight", "limited", "swaps", "swaps_failed", "loaded", "memory")
_TIMES = len(ROUTES) * len(CLASSES)
_SUMS = _TIMES + len(ROUTES) * (len(BUCKETS) + 1)
_GAUGES = _SUMS + len(ROUTES)
WIDTH = _GAUGES + len(GAUGES)
"""Numbers of one worker."""


class Counts:
    """The numbers of all workers, and which row is one's own.

    Parameters
    ----------
    memory
        Room for ``workers * WIDTH`` doubles.
    worker
        Which row is written to.

    Examples
    --------
    >>> counts = Counts(bytearray(8 * WIDTH), 0)
    >>> counts.answered("/recommend", 200, 0.003)
    >>> 'discreet_requests_total{route="/recommend",status="2xx"} 1' in counts.text("Almanac", "abc")
    True
    """

    def __init__(self, memory: Any, worker: int) -> None:
        self._all: Doubles = np.frombuffer(memory, dtype=np.float64).reshape(-1, WIDTH)
        self._own = self._all[worker]
        self._own[_GAUGES] = 0  # what a worker before this one left in flight

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one request that was answered."""
        place = ROUTES.index(route) if route in ROUTES else len(ROUTES) - 1
        kind = min(max(status // 100, 2), 5) - 2
        self._own[place * len(CLASSES) + kind] += 1
        bucket = next((at for at, most in enumerate(BUCKETS) if seconds <= most), len(BUCKETS))
        self._own[_TIMES + place * (len(BUCKETS) + 1) + bucket] += 1
        self._own[_SUMS + place] += seconds

    def add(self, gauge: str, value: float) -> None:
        """Count something that is no request."""
        self._own[_GAUGES + GAUGES.index(gauge)] += value

    def set(self, gauge: str, value: float) -> None:
        """Note how something stands."""
        self._own[_GAUGES + GAUGES.index(gauge)] = value

    def text(self, model: str, release: str) -> str:
        """Everything, in the text format of Prometheus."""
        self.set("memory", resident())
        return "\n".join([*self._lines(self._all.sum(axis=0), model, release), ""])

    def _lines(self, total: Doubles, model: str, release: str) -> Iterator[str]:
        yield from _head("discreet_requests_total", "counter", "Requests that were answered.")
        for place, route in enumerate(ROUTES):
            for kind, status in enumerate(CLASSES):
                value = total[place * len(CLASSES) + kind]
                if value > 0:
                    yield f'discreet_requests_total{{route="{route}",status="{status}"}} {value:.0f}'
        yield from _head(
            "discreet_request_seconds", "histogram", "Seconds from a request's head to the end of its answer."
        )
        for place, route in enumerate(ROUTES):
            first = _TIMES + place * (len(BUCKETS) + 1)
            reached = total[first : first + len(BUCKETS) + 1].cumsum()
            if reached[-1] == 0:
                continue
            for most, count in zip((*BUCKETS, "+Inf"), reached, strict=True):
                yield f'discreet_request_seconds_bucket{{route="{route}",le="{most}"}} {count:.0f}'
            yield f'discreet_request_seconds_sum{{route="{route}"}} {total[_SUMS + place]:.6f}'
            yield f'discreet_request_seconds_count{{route="{route}"}} {reached[-1]:.0f}'
        gauges = dict(zip(GAUGES, total[_GAUGES:], strict=True))
        for name, form, gauge, words in (
            ("requests_in_flight", "gauge", "in_flight", "Requests at hand."),
            ("requests_limited_total", "counter", "limited", "Requests beyond the rate of their client."),
            ("release_swaps_total", "counter", "swaps", "Releases taken up since the start, by all workers."),
            ("release_swaps_failed_total", "counter", "swaps_failed", "Releases that could not be taken up."),
            ("resident_memory_bytes", "gauge", "memory", "Memory of all workers."),
        ):
            yield from _head(f"discreet_{name}", form, words)
            yield f"discreet_{name} {gauges[gauge]:.0f}"
        loaded = self._all[:, _GAUGES + GAUGES.index("loaded")]
        yield from _head(
            "discreet_release_loaded_seconds", "gauge", "When the last worker took up its release, since 1970."
        )
        yield f"discreet_release_loaded_seconds {loaded.max():.0f}"
        yield from _head("discreet_release_info", "gauge", "The release of the worker that answers.")
        yield f'discreet_release_info{{model="{_escaped(model)}",release="{_escaped(release)}"}} 1'


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident() -> float:
    """Bytes of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
