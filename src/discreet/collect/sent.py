"""How many reports were made of a file of ratings, and what they cost together: a count that stays at home.

Every report of the same ratings spends epsilon again. So each one is written down beside the ratings before it is
written itself: when, by which mechanism, at what epsilon and under which identifier; no rating and no item. Whoever is
stopped in between has counted a report that nobody saw, and never the other way round.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.collect.promise import promise_of
from discreet.data.report import UserReport
from discreet.doors import checked
from discreet.errors import DataError, InputError
from discreet.files import write_whole

SUFFIX = ".sent"
"""What the record is called after the file of ratings. Not ``.json``, which readers of reports look for."""

FORMAT, VERSION = "discreet sent reports", 1


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One report that was made; ``epsilon`` is that of one rating, or None where nothing is promised."""

    time: str
    mechanism: str
    epsilon: float | None
    id: str


@dataclass(frozen=True)
class SentReports:
    """All reports that were made of one file of ratings, in order.

    Examples
    --------
    >>> once = Sent(time="2026-01-01T00:00:00+00:00", mechanism="response", epsilon=2.0, id="0" * 32)
    >>> print(SentReports((once, once)))
    2 reports, which together cost epsilon 4 for one rating
    """

    reports: tuple[Sent, ...] = ()

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def epsilon(self) -> float | None:
        """What they cost together for one rating, by composition; None where one of them promises nothing."""
        each = [report.epsilon for report in self.reports]
        return None if None in each else math.fsum(epsilon for epsilon in each if epsilon is not None)

    def __str__(self) -> str:
        many = f"{len(self)} report" + ("" if len(self) == 1 else "s")
        if self.epsilon is None:
            return f"{many}, for which no epsilon is finite"
        return f"{many}, which {'costs' if len(self) == 1 else 'together cost'} epsilon {self.epsilon:g} for one rating"


def record_of(history: str | Path) -> Path:
    """Where the reports of a file of ratings are written down: beside it, also if it is reached by a link.

    >>> record_of("history.csv").name
    'history.csv.sent'
    """
    path = Path(history).resolve()
    return path.with_name(path.name + SUFFIX)


@checked
def sent_reports(history: str | Path) -> SentReports:
    """The reports that were made of a file of ratings so far."""
    path = record_of(history)
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return SentReports()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; nothing was written") from None
    except (ValueError, RecursionError):
        data = None
    try:
        return SentReports(tuple(_checked(data)))
    except (KeyError, TypeError):
        raise DataError(
            f"{path} is damaged, so it is not known how many reports were made of these ratings: restore it; "
            "nothing was written"
        ) from None


def count_report(history: str | Path, report: UserReport, *, again: bool = False) -> SentReports:
    """Write down that a report was made; raises for a second one, unless it was asked for with ``again``.

    Call it before the report is written. Processes wait for each other, so no two of them are both the first.
    """
    with _alone(Path(history)):
        before = sent_reports(history)
        proven = promise_of(report.form).proven
        sent = Sent(
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            mechanism=report.form.mechanism,
            epsilon=None if proven is None else proven.epsilon,
            id=report.id,
        )
        after = SentReports((*before.reports, sent))
        if before.reports and not again:
            raise InputError(
                f"of {history} there is a report already, and another one would make {after}: send that one, "
                "or ask for another with again=True; nothing was written"
            )
        lines = ",\n    ".join(json.dumps(asdict(line)) for line in after.reports)
        head = f'"format": "{FORMAT}",\n  "version": {VERSION}'
        write_whole(record_of(history), f'{{\n  {head},\n  "reports": [\n    {lines}\n  ]\n}}\n'.encode(), private=True)
    return after


def _checked(data: Any) -> Iterator[Sent]:
    """The lines of a record; a KeyError or TypeError for whatever :func:`count_report` does not write."""
    if data["format"] != FORMAT or data["version"] != VERSION or not isinstance(data["reports"], list):
        raise TypeError
    for line in data["reports"]:
        sent, epsilon = Sent(**line), line["epsilon"]
        number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool) and 0 < epsilon < math.inf
        if not (epsilon is None or number) or not all(
            isinstance(text, str) for text in (sent.time, sent.mechanism, sent.id)
        ):
            raise TypeError
        yield sent


@contextmanager
def _alone(history: Path) -> Iterator[None]:
    """One process at a time. The lock is the system's and on the ratings: whoever is killed leaves none behind."""
    try:
        import fcntl
    except ImportError:  # Windows: the record is written whole there too, but two processes may both be the first
        yield
        return
    with history.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise InputError(f"{history} cannot be locked: {error.strerror}; nothing was written") from None
        yield
