"""One user's own ratings, from a small file that the user wrote."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.columns import SEPARATORS, ending, require_once, what_is_there
from discreet.data.history import History
from discreet.data.sources import check_text, open_bytes
from discreet.doors import checked
from discreet.errors import DataError, UnknownNameError


@checked
def read_history(path: str | Path, catalogue: Catalogue) -> History:
    """Read one user's own ratings: a CSV or TSV file with the columns ``item`` or ``title``, and ``rating``.

    Where the catalogue is of data without ratings, no column of them is needed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from discreet.data.catalogue import Scale
    >>> catalogue = Catalogue.of(["1", "2"], Scale(1, 5), titles=["Toy Story (1995)", "GoldenEye (1995)"])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "history.csv"
    >>> _ = file.write_text("title,rating\\nToy Story (1995),5\\n")
    >>> read_history(file, catalogue)
    History(1 rating)
    """
    path = Path(path)
    with open_bytes(path) as file:
        content = file.read().removeprefix(b"\xef\xbb\xbf")
    check_text(content, str(path), 1)
    separator = SEPARATORS.get(ending(path), ",")
    rows = _records(content.decode("utf-8"), separator, str(path))
    header = [name.strip().lower() for name in next(rows, [])]
    if not header:
        raise DataError(f"{path} is empty: it needs the columns item or title, and rating")
    named, implicit = next((name for name in ("item", "title") if name in header), None), catalogue.scale.implicit
    if named is None or ("rating" not in header and not implicit):
        found, rating = what_is_there(header, separator), "" if implicit else ", and rating"
        raise DataError.at(f"{path}, row 1", f"it needs the columns item or title{rating}; {found}")
    for name in (named, *(() if implicit else ("rating",))):
        require_once(header, name, f"{path}, row 1")
    ratings: dict[int, float] = {}
    for row, record in enumerate(rows, start=2):
        if not any(record):
            continue
        if len(record) != len(header):
            raise DataError.at(
                f"{path}, row {row}", f"expected {len(header)} fields, got {len(record)}; quote titles with commas"
            )
        try:
            position = catalogue.find(record[header.index(named)].strip())
            value = 1.0 if implicit else float(record[header.index("rating")])
        except UnknownNameError as error:
            raise DataError.at(f"{path}, row {row}", f"{error}") from None
        except ValueError:
            raise DataError.at(f"{path}, row {row}", "the rating is missing or not a number") from None
        if not catalogue.scale.low <= value <= catalogue.scale.high:
            raise DataError.at(f"{path}, row {row}", f"the rating is outside the scale {catalogue.scale}")
        if position in ratings:
            raise DataError.at(f"{path}, row {row}", "this item was rated before in the same file")
        ratings[position] = value
    if not ratings:
        raise DataError(f"{path} holds no rating")
    items = np.array(sorted(ratings), dtype=np.int32)
    return History(catalogue, items, np.array([ratings[int(item)] for item in items], dtype=np.float32))


def _records(text: str, separator: str, label: str) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        yield from rows
    except csv.Error:
        raise DataError.at(
            f"{label}, row {rows.line_num}", "this is no row of a table: a quote is never closed"
        ) from None
