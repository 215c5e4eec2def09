"""What became of a hostile case: a result, a clear sentence, or something that must not happen."""

import math
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import DiscreetError

RESULT, SENTENCE, TRACEBACK, HANG, CRASH, LOST = "result", "sentence", "traceback", "hang", "crash", "lost"
FINE = (RESULT, SENTENCE)
LONGEST_SENTENCE = 700


class Case(NamedTuple):
    """One thing to try: its kind in the table, its name, and what to call."""

    kind: str
    name: str
    run: Callable[[], Any]


class Outcome(NamedTuple):
    """What happened, and in which words."""

    what: str
    said: str


class _TooSlow(BaseException):
    pass


def outcome(run: Callable[[], Any], seconds: int = 20) -> Outcome:
    """Run a case here. Only errors of ours count as a sentence, and only short ones of one line.

    Seconds in which a thread could run and got no processor do not count: on a busy machine nothing hangs for that.
    """
    began, waited = time.monotonic(), _without_processor()

    def stop(_signal: int, _frame: Any) -> None:
        left = seconds - (time.monotonic() - began) + _without_processor() - waited
        if left < 1:
            raise _TooSlow
        signal.alarm(math.ceil(min(left, seconds)))

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
        return Outcome(RESULT, "")
    except DiscreetError as error:
        return judged(str(error))
    except _TooSlow:
        return Outcome(HANG, f"more than {seconds} s")
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a panic of polars is no Exception
        return Outcome(TRACEBACK, f"{type(error).__module__}.{type(error).__name__}: {str(error)[:200]}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _without_processor() -> float:
    """Seconds in which threads of this process waited for a processor; 0 where the system does not say."""
    try:
        return sum(int(path.read_text().split()[1]) for path in Path("/proc/self/task").glob("*/schedstat")) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def judged(sentence: str) -> Outcome:
    """A sentence is one line of bounded length without control characters; anything else is no clear sentence."""
    control = any(ord(letter) < 32 or ord(letter) == 127 for letter in sentence)
    if not sentence.strip() or control or len(sentence) > LONGEST_SENTENCE:
        return Outcome(TRACEBACK, f"no clear sentence: {sentence[:200]!r}")
    return Outcome(SENTENCE, sentence)


def wrong(cases: Iterable[Case], seconds: int = 20) -> tuple[list[str], Counter[tuple[str, str]]]:
    """All cases that ended badly, and how many of each kind ended how."""
    bad, counts = [], Counter[tuple[str, str]]()
    for case in cases:
        found = outcome(case.run, seconds)
        counts[case.kind, found.what] += 1
        if found.what not in FINE:
            bad.append(f"{case.kind}: {case.name}: {found.what}: {found.said}")
    return bad, counts
