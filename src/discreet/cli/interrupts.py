"""Ctrl-C ends the command, also where a library swallows the exception it becomes.

While numba compiles, Python code is called back by machine code, and an exception raised there is lost. So an interrupt
is remembered as well as raised, and looked for at every step of progress and when the work is done.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def remembered_interrupts() -> Iterator[Callable[[], None]]:
    """A function that raises ``KeyboardInterrupt`` if there was one; it is also called at the end.

    >>> with remembered_interrupts() as check:
    ...     check()
    """
    asked = False

    def note(_signal: int, _frame: Any) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals go to the main thread
        yield check
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
    check()
