"""Checks of the settings that papers have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import require


def check_readings(model: Any, choices: Mapping[str, Sequence[str]]) -> None:
    """Raise for an epsilon that claims nothing, and for a reading of the text that is not one of the choices."""
    require(
        model.epsilon is None or 0 < model.epsilon < float("inf"),
        f"epsilon must be positive and finite, or None for no noise, got {model.epsilon}",
    )
    for name, known in choices.items():
        value = getattr(model, name)
        require(value in known, f"{name} must be one of {', '.join(known)}, got {value!r}")
