"""Names of columns and endings of files, and what to say where a column is missing."""

import re
from collections.abc import Sequence
from pathlib import Path

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SPOKEN = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_DATA = re.compile(r"\s*[-+.]?\d")


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
    return f"the columns are {', '.join(names)}"


def what_is_there(fields: Sequence[str], separator: str) -> str:
    """As :func:`columns_there`, for a file of text that may be separated by something else.

    >>> what_is_there(["user;item;rating"], ",")
    'it looks separated by semicolons, where commas are expected'
    """
    other = next((mark for mark in _SPOKEN if mark != separator and any(mark in field for field in fields)), None)
    if other is None:
        return columns_there(fields)
    return f"it looks separated by {_SPOKEN[other]}, where {_SPOKEN.get(separator, repr(separator))} are expected"
