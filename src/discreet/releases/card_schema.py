"""What a card must look like, field by field: it may come from anyone, so nothing is used before it was checked.

A kind is a type (``float`` takes any finite number), a list of one kind, a table of fields by name, ``dict`` with the
kind of all its values, or a tuple of several kinds of which one must fit.
"""

import math
from dataclasses import dataclass
from typing import Any

from discreet.errors import ReleaseError

LARGEST = 2**63
"""Whole numbers from here on fit into no array and no counter."""


@dataclass(frozen=True)
class Fields:
    """A table with these fields; ``optional`` ones may be missing, and ``closed`` means that it has no others."""

    fields: dict[str, Any]
    optional: frozenset[str] = frozenset()
    closed: bool = True


@dataclass(frozen=True)
class Values:
    """A table with any names, and one kind of value."""

    kind: Any


SETTING = object
"""Whatever JSON has, nested a few levels deep: the model checks it."""
DEEPEST = 8
_WORDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    dict: "a table",
    SETTING: "less deep",
}
LOSS = Fields({"epsilon": float, "delta": float})
UNIT = Fields({"name": str, "neighbours": str, "max_ratings": (int, type(None))}, frozenset({"max_ratings"}))
LEVEL = Fields(
    {"name": str, "weight": float, "loss": LOSS, "rate": float, "each_rating": bool, "offered": float},
    frozenset({"rate", "each_rating", "offered"}),
)
GUARANTEE = Fields(
    {
        "reason": str,
        "proven": (type(None), LOSS),
        "claimed": (type(None), LOSS),
        "unit": (type(None), UNIT),
        "levels": [LEVEL],
        "protects_from": [str],
        "exposed_to": [str],
        "public": [str],
        "tuning": (type(None), str),
        "tuned_on": str,
        "seeded": bool,
        "notes": [str],
        "sentence": str,
    },
    frozenset({"levels", "tuned_on"}),
)
SPEND = Fields(
    {
        "what": str,
        "mechanism": str,
        "norm": str,
        "sensitivity": float,
        "scale": float,
        "sampling_rate": float,
        "times": int,
        "slack": float,
        "rounding": float,
        "seeded": bool,
        "chooses": bool,
        "weighted": bool,
    },
    frozenset({"sampling_rate", "times", "slack", "rounding", "seeded", "chooses", "weighted"}),
)
CARD = Fields(
    {
        "format": int,
        "discreet": str,
        "model": str,
        "settings": Values(SETTING),
        "note": str,
        "guarantee": GUARANTEE,
        "ledger": [SPEND],
        "sources": Values([str]),
        "scale": [float],
        "genres": [str],
        "catalogue_declared": bool,
        "catalogue_fingerprint": str,
        "arrays": Values(Fields({"type": str, "shape": [int]})),
        "arrays_sha256": str,
    },
    closed=False,
)


def check_kind(value: Any, kind: Any, where: str) -> None:
    """Raise :class:`ReleaseError` unless a value is of a kind; ``where`` says which value it is.

    >>> check_kind({"epsilon": 1, "delta": "small"}, LOSS, "proven")
    Traceback (most recent call last):
    discreet.errors.ReleaseError: proven.delta should be a finite number
    """
    if isinstance(kind, tuple):
        kind = next((one for one in kind if _looks_like(value, one)), kind)
    if isinstance(kind, tuple) or not _looks_like(value, kind):
        raise ReleaseError(f"{where} should be {_said(kind)}")
    if isinstance(kind, list):
        for place, entry in enumerate(value):
            check_kind(entry, kind[0], f"{where}[{place}]")
    elif isinstance(kind, Values):
        for name, entry in value.items():
            check_kind(entry, kind.kind, f"{where}.{name:.100}")
    elif isinstance(kind, Fields):
        if missing := sorted(kind.fields.keys() - kind.optional - value.keys()):
            raise ReleaseError(f"{where} has no {missing[0]!r}")
        if kind.closed and (others := sorted(value.keys() - kind.fields.keys())):
            raise ReleaseError(f"{where} has a field {others[0]!r:.100} that is not known")
        for name, entry in value.items():
            if name in kind.fields:
                check_kind(entry, kind.fields[name], f"{where}.{name}")


def _looks_like(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, whatever is inside of it."""
    if kind is SETTING:
        return _is_shallow(value, DEEPEST)
    if kind is int:
        return type(value) is int and abs(value) < LARGEST
    if kind is float:
        return (type(value) is int and abs(value) < LARGEST) or (type(value) is float and math.isfinite(value))
    if isinstance(kind, type):
        return type(value) is kind
    return type(value) is (list if isinstance(kind, list) else dict)


def _is_shallow(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(entry, levels - 1) for entry in inside)


def _said(kind: Any) -> str:
    if isinstance(kind, tuple):
        return " or ".join(dict.fromkeys(map(_said, kind)))
    if isinstance(kind, list):
        return "a list"
    return "none" if kind is type(None) else _WORDS[kind if isinstance(kind, type) else dict]
