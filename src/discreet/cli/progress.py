"""Progress for people who wait: a bar on stderr, and only where stderr is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ShowProgress = Callable[[int, int, str], None]


@contextmanager
def bar() -> Iterator[ShowProgress]:
    """A progress callback ``(done, total, what)`` that draws one bar, gone when the work is done."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("starting", total=None)

        def show(done: int, total: int, what: str) -> None:
            drawn.update(task, completed=done, total=total or None, description=what)

        yield show
