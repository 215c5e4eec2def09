"""Progress for people who wait: a bar on stderr, and only where stderr is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.cli.interrupts import remembered_interrupts

ShowProgress = Callable[[int, int, str], None]


@contextmanager
def bar() -> Iterator[ShowProgress]:
    """A progress callback ``(done, total, what)`` that draws one bar, gone when the work is done.

    Every step is also where an interrupt takes effect that was lost on the way (see ``interrupts.py``).
    """
    with remembered_interrupts() as check, _drawn() as show:

        def step(done: int, total: int, what: str) -> None:
            check()
            show(done, total, what)

        yield step


@contextmanager
def _drawn() -> Iterator[ShowProgress]:
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    # stdout is left alone: what is printed there is the result, and may be piped elsewhere.
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as drawn:
        task = drawn.add_task("starting", total=None)

        def show(done: int, total: int, what: str) -> None:
            drawn.update(task, completed=done, total=total or None, description=what)

        yield show
