"""One person's own ratings as a small file: a table with the columns ``item`` and ``rating``."""

import csv
import io
import math
from pathlib import Path

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.errors import DataError, UnknownNameError


def read_history(path: Path, catalogue: Catalogue) -> History:
    """Read a CSV or TSV file with a head line; items are titles or identifiers of the catalogue."""
    head, rows = _read_table(path)
    for column in ("item", "rating"):
        if column not in head:
            raise DataError(f"{path} has no column {column!r}: a history has the columns item and rating")
    if not rows:
        raise DataError(f"{path} holds no ratings")
    ratings: dict[int, float] = {}
    for number, row in enumerate(rows, start=2):
        where = f"{path}, row {number}"
        if len(row) != len(head):
            raise DataError(f"{where}: {len(row)} cells under {len(head)} column names")
        cells = dict(zip(head, row, strict=True))
        try:
            item = catalogue.find(cells["item"])
        except UnknownNameError as error:
            raise UnknownNameError(f"{where}: {error}") from None
        if item in ratings:
            raise DataError(f"{where}: the item was already rated in an earlier row")
        ratings[item] = _rating(cells["rating"], catalogue, where)
    items = np.array(sorted(ratings), dtype=np.int32)
    return History(catalogue, items, np.array([ratings[item] for item in items.tolist()], dtype=np.float32))


def _rating(text: str, catalogue: Catalogue, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DataError(f"{where}: the rating is not a number")
    if not catalogue.scale.low <= value <= catalogue.scale.high:
        raise DataError(f"{where}: the rating is outside the scale {catalogue.scale}")
    return value


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The head and the other rows; blank lines at the end are dropped."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
        rows = [
            [cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        ]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as a table: {error}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise DataError(f"{path} is empty: a history has the columns item and rating")
    return rows[0], rows[1:]
