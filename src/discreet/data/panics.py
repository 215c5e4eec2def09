"""What polars reports on stderr when it panics at a damaged file, kept off it: our sentence says that it is damaged.

The report is written by threads of polars to descriptor 2, which belongs to the whole process. So while polars reads,
that descriptor is a pipe, and a thread passes on at once what comes through it, except for such reports. What others
write meanwhile arrives, also from processes that they start. The pipe keeps what was written at once together, so that
a report is told from what others write between its parts.

Only Linux has such pipes; elsewhere reports are seen. So they are where RUST_BACKTRACE asks for more of them, in a
program as on the command line: some machines set it for everybody, and then a damaged file is reported twice. A report
with a backtrace is written in hundreds of pieces without a mark of their own, which cannot be told from what others
write meanwhile, and whoever asked for it may be looking for just that. RUST_BACKTRACE=0 keeps all of them off.
"""

import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

STDERR = 2
LONGEST = 2**16
REPORT = re.compile(rb"\n?thread '.*' (\(\d+\) )?panicked at .*:\n.*\n", re.DOTALL)
BEGINS = (b"\nthread '", b"thread '")  # of a long report, which Rust writes piece by piece, up to the end of a line
NOTE = re.compile(rb"note: run with `RUST_BACKTRACE=\w+` environment variable .*\n")


class Sieve:
    """Tells which of the things that are written belong to a report.

    >>> sieve = Sieve()
    >>> written = (b"\\nthread '", b"x", b"' panicked at ", b"a.rs", b":\\n", b"mine\\n", b"why", b"\\n", b"too\\n")
    >>> [text for text in written if not sieve.holds_back(text)]
    [b'mine\\n', b'too\\n']
    """

    def __init__(self) -> None:
        self._inside = False

    def holds_back(self, text: bytes) -> bool:
        """Whether this is a report, or the next piece of one."""
        if self._inside:
            self._inside = text != b"\n"
            return not text.endswith(b"\n") or text in (b":\n", b"\n")
        self._inside = text in BEGINS
        return self._inside or REPORT.fullmatch(text) is not None or NOTE.fullmatch(text) is not None


class _Passing:
    """The pipe, and the thread that passes on what comes through it."""

    def __init__(self) -> None:
        self.process, self._reading, self._lock = os.getpid(), 0, threading.Lock()
        self._out, self._end, self._seen = -1, secrets.token_bytes(32), threading.Event()
        self._from, self._into = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
        threading.Thread(target=self._pass_on, name="discreet-stderr", daemon=True).start()

    def begin(self) -> None:
        with self._lock:
            if self._reading == 0:
                real, before = os.dup(STDERR), self._out
                self._out = real
                os.dup2(self._into, STDERR)
                if before >= 0:
                    os.close(before)
            self._reading += 1

    def end(self) -> None:
        with self._lock:
            self._reading -= 1
            if self._reading == 0:
                os.dup2(self._out, STDERR)
                self._seen.clear()
                os.write(self._into, self._end)
                self._seen.wait()  # so that what was written before is there before what comes now

    def _pass_on(self) -> None:
        sieve = Sieve()
        while text := os.read(self._from, LONGEST):
            if text == self._end:
                sieve = Sieve()
                self._seen.set()
            elif not sieve.holds_back(text):
                with suppress(OSError):  # nobody listens any more
                    while text:
                        text = text[os.write(self._out, text) :]


_passing: _Passing | None = None
_making = threading.Lock()


@contextmanager
def without_panics() -> Iterator[None]:
    """Within, reports of panics do not reach stderr; everything else does.

    >>> with without_panics():
    ...     pass
    """
    global _passing
    if not hasattr(os, "O_DIRECT") or os.environ.get("RUST_BACKTRACE", "0") != "0":
        yield
        return
    passing = None
    with _making, suppress(OSError):  # where there is no stderr, or no descriptor is left
        if _passing is None or _passing.process != os.getpid():  # its thread does not survive a fork
            _passing = _Passing()
        _passing.begin()
        passing = _passing
    try:
        yield
    finally:
        if passing is not None:
            passing.end()
