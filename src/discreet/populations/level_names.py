"""Privacy levels on offer by name, and which of them a wish comes to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import is_number, require
from discreet.privacy.levels import Offer
from discreet.types import AnyArray

Levels = Mapping[str, float] | Sequence[float]
"""Levels on offer: epsilons by name, or epsilons alone."""


def named(levels: Levels) -> tuple[list[str], AnyArray]:
    """Names and epsilons of the levels, smallest first."""
    right = "levels are epsilons, (0.1, 1.0), or epsilons by name, {'strict': 0.1}"
    require(
        isinstance(levels, Mapping | Sequence | np.ndarray) and not isinstance(levels, str), f"{right}, got {levels!r}"
    )
    if not isinstance(levels, Mapping):
        require(all(is_number(own) for own in levels), f"{right}, got {levels!r}")
    pairs: list[tuple[str, Any]] = (
        [*levels.items()] if isinstance(levels, Mapping) else [(_short(own), own) for own in levels]
    )
    require(len(pairs) > 0, "at least one privacy level must be on offer")
    Offer(epsilons=dict(pairs))  # checks each
    for name, own in pairs:
        require(
            number_of(name) in (None, float(own)),
            f"the level {name!r} has the epsilon {own:g}, and whoever wishes for {name} means that number: name it so",
        )
    pairs.sort(key=lambda pair: float(pair[1]))
    epsilons = np.array([own for _, own in pairs], dtype=np.float64)
    require(len({name for name, _ in pairs}) == len(pairs), "two privacy levels have the same name")
    return [name for name, _ in pairs], epsilons


def _short(epsilon: float) -> str:
    """In few digits if that is the same number."""
    return f"{epsilon:g}" if float(f"{epsilon:g}") == epsilon else repr(float(epsilon))


def number_of(text: str) -> float | None:
    """The number that a text is; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def lowered(wished: AnyArray, epsilons: AnyArray, where: str) -> AnyArray:
    """The position of the highest level that is not above each wish.

    >>> lowered(np.array([0.1, 0.39, 7.0]), np.array([0.1, 0.2, 1.0]), "the wishes").tolist()
    [0, 1, 2]
    """
    wished = np.asarray(wished, dtype=np.float64)
    require(bool((np.isfinite(wished) & (wished > 0)).all()), f"{where}: every epsilon must be positive and finite")
    positions = np.searchsorted(epsilons, wished * (1 + 1e-12), side="right") - 1
    require(
        bool((positions >= 0).all()),
        f"{where}: some wish is below the lowest level on offer, {epsilons[0]:g}: offer a lower level",
    )
    return np.asarray(positions, dtype=np.int64)
