"""Time and memory of a piece of work."""

import gc
import sys
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def restart_peak_memory() -> None:
    """Forget how much memory the process once held, where the system allows that (Linux)."""
    gc.collect()
    try:
        _CLEAR.write_text("5")
    except OSError:
        return  # the peak since the start of the process is then what peak_memory_mb can tell


def peak_memory_mb() -> float | None:
    """The most memory the process held since :func:`restart_peak_memory`, in 10⁶ bytes; None if nobody knows.

    >>> restart_peak_memory()
    >>> peak_memory_mb() is None or peak_memory_mb() > 1
    True
    """
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6
