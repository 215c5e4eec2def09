"""Names of columns and endings of files, and what to say where a column is missing."""

import re
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import DataError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""What fields are separated by, as the ending of a file says; its first row may say otherwise."""
TEXT_ENDINGS = {*SEPARATORS, ".txt", ".dat", ".data", ".psv", ".inter"}
"""Of files that may be tables of text."""
_SPOKEN = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_DATA = re.compile(r"\s*[-+.]?\d")
SHOWN, LONGEST_NAME = 12, 30  # columns that a message names, and letters of each


def ending(path: Path) -> str:
    """The ending that says what a file is, without that of the compression.

    >>> ending(Path("ratings.CSV.gz"))
    '.csv'
    """
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def columns_there(names: Sequence[str]) -> str:
    """The end of a message about a column that is missing: those that are there, unless they look like data.

    Without a header the first row is somebody's rating, and that belongs in no message.

    >>> columns_there(["who", "what"]), columns_there(["ann", "tea", "5"])
    ('the columns are who, what', 'the first row must name the columns')
    """
    if any(_DATA.match(name) for name in names):
        return "the first row must name the columns"
    if not names:
        return "it has no columns"
    shown = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…" for name in names[:SHOWN]]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"the columns are {', '.join(shown)}{more}"


def require_once(names: Sequence[str], wanted: str, place: str) -> None:
    """Raise where a column is there twice: nobody could say which is meant.

    >>> require_once(["user", "rating", "rating"], "rating", "mine.csv, row 1")
    Traceback (most recent call last):
    discreet.errors.DataError: mine.csv, row 1: 2 columns are named 'rating': keep one of them
    """
    if names.count(wanted) > 1:
        raise DataError.at(place, f"{names.count(wanted)} columns are named {wanted!r}: keep one of them")


def what_is_there(fields: Sequence[str], separator: str) -> str:
    """As :func:`columns_there`, for a file of text that may be separated by something else.

    >>> what_is_there(["user;item;rating"], ",")
    'it looks separated by semicolons, where commas are expected'
    """
    other = next((mark for mark in _SPOKEN if mark != separator and any(mark in field for field in fields)), None)
    if other is None:
        return columns_there(fields)
    return f"it looks separated by {_SPOKEN[other]}, where {_SPOKEN.get(separator, repr(separator))} are expected"
