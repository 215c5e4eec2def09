"""Cases run in a process of their own, so that a crash or a hang of one is an outcome and not the end.

``report`` runs cases here and prints a line before and after each. ``counted`` starts such processes, restarts after
the case that ended one, and returns what became of every case.
"""

import os
import subprocess
import sys
import threading
import warnings
from ast import literal_eval
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """What became of a case, and in which words."""

    kind: str
    name: str
    what: str
    said: str


def report(cases: Iterable[Any], first: int = 0, last: int = sys.maxsize) -> None:
    """Run the cases from ``first`` to below ``last``; each line is a number, a kind, a name, an outcome and words."""
    from discreet.errors import DiscreetError

    warnings.simplefilter("ignore")
    out = sys.stdout
    for number, case in enumerate(cases):
        if not first <= number < last:
            continue
        print("begin", number, repr(case.kind), repr(case.name), sep="\t", file=out, flush=True)
        try:
            case.run()
            what, said = "result", ""
        except DiscreetError as error:
            what, said = ("sentence" if _is_sentence(str(error)) else "traceback"), str(error)
        except BaseException as error:
            what, said = "traceback", f"{type(error).__name__}: {error} {_place(error)}"
        print("end", number, what, repr(said[:400]), sep="\t", file=out, flush=True)
    print("done", file=out, flush=True)


def _is_sentence(text: str) -> bool:
    return (
        bool(text.strip()) and len(text) <= 700 and not any(ord(letter) < 32 or ord(letter) == 127 for letter in text)
    )


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"


def counted(program: str, arguments: Sequence[object], *, seconds: float = 60) -> list[Outcome]:
    """What became of every case of a module that calls :func:`report`; ``seconds`` is for one case."""
    found: list[Outcome] = []
    first = 0
    while True:
        lines: Queue[str | None] = Queue()
        process = subprocess.Popen(
            [sys.executable, "-m", program, *map(str, arguments), str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "DISCREET_BUDGET": "/nowhere/budget.sqlite"},
        )
        assert process.stdout is not None
        reader = threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True)
        reader.start()
        running: tuple[int, str, str] | None = None
        ended = "crash"
        while True:
            try:
                line = lines.get(timeout=seconds)
            except Empty:
                ended = "hang"
                process.kill()
                break
            if line is None or line.startswith("done"):
                ended = "done" if line else ended
                break
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "begin":
                running = int(fields[1]), literal_eval(fields[2]), literal_eval(fields[3])
            elif fields[0] == "end" and running is not None:
                found.append(Outcome(running[1], running[2], fields[2], literal_eval(fields[3])))
                running = None
        process.wait()
        reader.join()
        process.stdout.close()
        if ended == "done":
            return found
        if running is None:
            raise RuntimeError(f"the program ended with {process.returncode} before its first case")
        found.append(Outcome(running[1], running[2], ended, f"exit {process.returncode}"))
        first = running[0] + 1


def _forward(stream: Any, lines: "Queue[str | None]") -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
