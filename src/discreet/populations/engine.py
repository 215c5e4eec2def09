"""What computes sums: numba on the processor, or torch, on a GPU where there is one.

The engine is a property of whoever holds the ratings, not of a model: the release is the same, to the last bit.
"""

from dataclasses import replace
from typing import Literal

from discreet.errors import require
from discreet.populations.contribution import Contribution

Engine = Literal["numba", "torch"]


def check_engine(engine: str) -> None:
    """Raise for an engine that there is not."""
    require(engine in ("numba", "torch"), f"engine must be 'numba' or 'torch', got {engine!r}")


def on_engine(contribution: Contribution, engine: Engine) -> Contribution:
    """The contribution, computed by this engine if it can be; its total is the same whole numbers."""
    over_parts = contribution.on_torch
    if engine == "numba" or over_parts is None:
        return contribution
    return replace(contribution, total=lambda ratings: over_parts([ratings]), over_parts=over_parts)
