"""Names of columns and endings of files, and what to say where a column is missing."""

import re
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import DataError, require

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""What fields are separated by, as the ending of a file says; its first row may say otherwise."""
TEXT_ENDINGS = {*SEPARATORS, ".txt", ".dat", ".data", ".psv", ".inter"}
"""Of files that may be tables of text."""
_SPOKEN = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", "::": "double colons"}
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


def listed(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns as an argument gives them: a list, and no text, of which every letter would be taken for one.

    >>> listed("features", "brand,price")
    Traceback (most recent call last):
    discreet.errors.InputError: features must be a list of columns, as in ['user', 'item'], got text
    """
    require(not isinstance(names, str), f"{what} must be a list of columns, as in ['user', 'item'], got text")
    return tuple(names)


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
    >>> what_is_there(["sku", "name", "Drama|War"], ",")  # several genres, and no other columns
    'the columns are sku, name, Drama|War'
    """
    return other_separator(fields, separator) or columns_there(fields)


def other_separator(fields: Sequence[str], separator: str) -> str | None:
    """A message that a row is separated by something else, if that would make more fields of it."""
    counts = {mark: sum(field.count(mark) for field in fields) for mark in _SPOKEN if mark != separator}
    other = next((mark for mark, count in counts.items() if count >= len(fields)), None)
    if other is None:
        return None
    return f"it looks separated by {_SPOKEN[other]}, where {_SPOKEN.get(separator, repr(separator))} are expected"
