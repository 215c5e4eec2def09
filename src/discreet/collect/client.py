"""The user's side: from a file of one's own ratings to a history, with numpy and nothing heavier.

The client needs no catalogue. It takes the items as its file names them; whether the recommender knows them is found
out on the other side.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from discreet.collect.sent import SentReports, count_report
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.columns import require_once
from discreet.data.history import History
from discreet.data.report import UserReport
from discreet.data.sources import open_bytes
from discreet.doors import checked_before
from discreet.errors import DataError, InputError, require
from discreet.privacy.randomness import Randomness


class AtHome(Protocol):
    """Every mechanism of :mod:`discreet.collect`."""

    def perturb(self, history: History, randomness: Randomness) -> UserReport:
        """One user's report."""
        ...


@dataclass(frozen=True, kw_only=True)
class MadeReport:
    """A report that was written: of how many ratings, and all that were made of them so far."""

    report: UserReport
    ratings: int
    sent: SentReports


@checked_before
def make_report(
    path: str | Path,
    mechanism: AtHome,
    output: str | Path,
    *,
    scale: Scale,
    items: str | Path | None = None,
    items_public: bool = False,
    again: bool = False,
) -> MadeReport:
    """Perturb one's own ratings, count the report beside them, and write it.

    Parameters
    ----------
    path, scale, items, items_public
        As for :func:`read_own_ratings`.
    mechanism
        How to perturb them.
    output
        Where to write the report.
    again
        Make a second report of the same ratings, or a later one. It costs epsilon once more. One that takes the place
        of another in the same file has the same identifier.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.collect.mechanisms import RandomisedResponse
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "history.csv").write_text("title,rating\\nToy Story (1995),5\\n")
    >>> how = RandomisedResponse(epsilon=2.0)
    >>> print(make_report(folder / "history.csv", how, folder / "report.json", scale=Scale(1, 5)).sent)
    1 report, which costs epsilon 2 for one rating
    """
    require(hasattr(mechanism, "perturb"), f"mechanism must be one of discreet.collect, got {type(mechanism).__name__}")
    output = Path(output)
    if output.exists() and not again:
        raise InputError(
            f"{output} exists: send it rather than a second report, which would give away more; again=True replaces it"
        )
    own = read_own_ratings(path, scale, items, items_public=items_public)
    report = mechanism.perturb(own, Randomness())
    if output.exists():
        report = replace(report, id=UserReport.load(output).id)
    sent = count_report(path, report, again=again)
    report.save(output)
    return MadeReport(report=report, ratings=len(own), sent=sent)


def read_own_ratings(
    path: str | Path, scale: Scale, items: str | Path | None = None, *, items_public: bool = False
) -> History:
    """Read one's own ratings: a CSV or TSV file with the columns ``item`` or ``title``, and ``rating``.

    Parameters
    ----------
    path
        The file.
    scale
        The rating scale.
    items
        Another file with a column ``item`` or ``title``: the list of items. Without it, the rated ones.
    items_public
        Say that this list is public: that it is the recommender's, and not made of one's own ratings.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "history.csv"
    >>> _ = file.write_text("title,rating\\nToy Story (1995),5\\n")
    >>> read_own_ratings(file, Scale(1, 5))
    History(1 rating)
    """
    path = Path(path)
    public = None if items is None else dict.fromkeys(name for _, name, _ in _rows(Path(items)))
    ratings: dict[str, float] = {}
    for row, name, text in _rows(path, "rating"):
        try:
            value = float(text)
        except ValueError:
            raise DataError.at(f"{path}, row {row}", "the rating is missing or not a number") from None
        if not scale.low <= value <= scale.high:
            raise DataError.at(f"{path}, row {row}", f"the rating is outside the scale {scale}")
        if name in ratings:
            raise DataError.at(f"{path}, row {row}", "this item was rated before in the same file")
        if public is not None and name not in public:
            raise DataError.at(f"{path}, row {row}", f"the item is not in {items}")
        ratings[name] = value
    if not ratings:
        raise DataError(f"{path} holds no rating")
    listed = ratings if public is None else public
    return History.of(Catalogue.of(listed, scale, declared=public is not None and items_public), ratings)


def _rows(path: Path, column: str | None = None) -> Iterator[tuple[int, str, str]]:
    """Row number, name of the item and the text of one more column, for every row that is not blank."""
    with open_bytes(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8") from None
    separator = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        yield from _named_rows(records, path, column)
    except csv.Error:
        raise DataError.at(
            f"{path}, row {records.line_num}", "this is no row of a table: a quote is never closed"
        ) from None


def _named_rows(records: Any, path: Path, column: str | None) -> Iterator[tuple[int, str, str]]:
    header = [name.strip().lower() for name in next(records, [])]
    named = next((name for name in ("item", "title") if name in header), None)
    if named is None or (column is not None and column not in header):
        wanted = "item or title" + ("" if column is None else f", and {column}")
        raise DataError.at(f"{path}, row 1", f"it needs the columns {wanted}; it has {', '.join(header) or 'none'}")
    for name in filter(None, (named, column)):
        require_once(header, name, f"{path}, row 1")
    for record in records:
        row = records.line_num
        if not any(field.strip() for field in record):
            continue
        if len(record) != len(header):
            raise DataError.at(
                f"{path}, row {row}", f"expected {len(header)} fields, got {len(record)}; quote titles with commas"
            )
        name = record[header.index(named)].strip()
        if not name or "\0" in name:
            raise DataError.at(f"{path}, row {row}", "the item has no name")
        yield row, name, "" if column is None else record[header.index(column)]
