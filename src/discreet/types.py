"""Names for the few array types that everything is made of, and for the progress callback."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)``; the command line turns it into a bar."""


def no_progress(done: int, total: int, what: str) -> None:
    """Ignore progress: the default everywhere."""
