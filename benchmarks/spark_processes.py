"""What this process and all that it started take: processor time, and the memory of executors of Spark."""

import os
import resource
import threading
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def process_table() -> dict[int, tuple[int, float, int, str]]:
    """Parent, CPU seconds, resident bytes and command of every process."""
    found = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            pages = int((place / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        seconds = sum(map(int, fields[11:15])) / TICKS
        found[int(place.name)] = int(fields[1]), seconds, pages * resource.getpagesize(), command
    return found


def below(table: dict[int, tuple[int, float, int, str]], root: int) -> list[int]:
    kept, grown = {root}, True
    while grown:
        more = {process for process, entry in table.items() if entry[0] in kept} - kept
        kept, grown = kept | more, bool(more)
    return sorted(kept)


class Watch:
    """The largest executor so far, looked at twice a second."""

    def __init__(self) -> None:
        self.most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            table = process_table()
            for process in below(table, os.getpid()):
                if process in table and "CoarseGrainedExecutorBackend" in table[process][3]:
                    own = sum(table[one][2] for one in below(table, process) if one in table)
                    self.most = max(self.most, own)

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self.most / 2**30


def cpu_seconds() -> float:
    table = process_table()
    return sum(table[process][1] for process in below(table, os.getpid()) if process in table)
