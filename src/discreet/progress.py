"""Progress for notebooks and scripts: pass ``progress=show_progress()`` to whatever takes a progress callback."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

Show = Callable[[int, int, str], None]

SECONDS_BETWEEN_LINES = 5.0


def show_progress(stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic) -> Show:
    """A callback ``(done, total, what)`` that shows how far something is: a bar in a notebook, plain lines elsewhere.

    Parameters
    ----------
    stream
        Where lines go; standard error where none is named.
    clock
        By which lines are kept apart.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Almanac().fit(dc.NoPrivacy(ratings), progress=show_progress(sys.stdout))
    item sums: 1 of 3
    pairs of items: 3 of 3
    """
    handle = _notebook_display() if stream is None else None
    if handle is not None:
        return _Bar(handle)
    return _Lines(stream or sys.stderr, clock)


class _Lines:
    """A line when something begins, ends, or has gone on for a while."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream, self._clock, self._last = stream, clock, float("-inf")

    def __call__(self, done: int, total: int, what: str) -> None:
        now = self._clock()
        if now - self._last >= SECONDS_BETWEEN_LINES or done == total:
            self._last = now
            self._stream.write(f"{what}: {done:,} of {total:,}\n" if total else f"{what}: {done:,}\n")
            self._stream.flush()


class _Bar:
    """One bar of HTML that is drawn anew, ten times a second at most."""

    def __init__(self, handle: Any) -> None:
        self._handle, self._last = handle, float("-inf")

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self._last >= 0.1 or done == total:
            self._last = now
            self._handle.update(_Html(bar_html(done, total, what)))


class _Html:
    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html


def bar_html(done: int, total: int, what: str) -> str:
    """The bar of a notebook.

    >>> bar_html(1, 4, "<sums>")
    '<div class="discreet"><progress value="1" max="4"></progress> &lt;sums&gt;: 1 of 4</div>'
    """
    from discreet import markup

    bar = f'<progress value="{done}" max="{total}"></progress>' if total else "<progress></progress>"
    words = f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}"
    return markup.box(f"{bar} {markup.text(words)}")


def _notebook_display() -> Any:
    """A place in the notebook that can be drawn again; None outside one."""
    ipython = sys.modules.get("IPython")  # where it is not loaded, this is no notebook
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display(_Html(""), display_id=True)
