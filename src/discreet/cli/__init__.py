"""What people type. Nothing heavy is imported before a command needs it, so that ``--help`` is quick."""

import os
import signal
import threading
from typing import Any


def main() -> None:
    """Run the ``discreet`` command; exits with 0, with 2 after a bad input, with 130 when interrupted."""
    leaves = callable(signal.getsignal(signal.SIGINT))  # it may be ignored, in the background for example
    if leaves:
        signal.signal(signal.SIGINT, _leave)  # while modules are imported nothing is begun that must be ended
    from discreet.cli.app import app
    from discreet.cli.completion import VARIABLE, answer_shells

    if VARIABLE in os.environ:
        answer_shells()
    if leaves:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        app(prog_name="discreet")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        if leaves:
            signal.signal(signal.SIGINT, _leave)  # nor when all is done


def _interrupt(number: int, frame: Any) -> None:
    """As Python does, but a moment later where it is importing: what is raised in there may be lost, and printed."""
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        threading.Timer(0.01, os.kill, (os.getpid(), number)).start()
    else:
        raise KeyboardInterrupt


def _leave(_signal: int, _frame: Any) -> None:
    """End at once and quietly: an exception that is raised in the middle of an import may be lost, or printed."""
    os._exit(130)
