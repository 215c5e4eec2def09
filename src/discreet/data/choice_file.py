"""What users chose for themselves or for each rating, in a column of the ratings or in a small table of its own."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.data.columns import SEPARATORS, ending
from discreet.data.sources import decode, open_bytes
from discreet.errors import DataError, require
from discreet.strings import Strings
from discreet.types import Progress, no_progress

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Choices:
    """Rows of a table: who, about which item (None where it is about all of theirs), and what. Private.

    ``texts`` is empty where nothing was chosen.
    """

    users: Strings
    items: Strings | None
    texts: Strings


def read_choices(
    path: str | Path, column: str, *, user: str = "user", item: str | None = None, progress: Progress = no_progress
) -> Choices:
    """Read a column of choices; without ``item`` they are the users', for all of their ratings.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "wishes.csv"
    >>> _ = file.write_text("user,epsilon\\nann,0.1\\nbob,\\n")
    >>> read_choices(file, "epsilon").texts.tolist()
    ['0.1', '']
    """
    import polars as pl  # here, so that a server without it can load the models

    from discreet.data.gather import identifiers, one_spelling, to_strings
    from discreet.data.tables import table_batches

    columns = {"user": user, "choice": column} | ({} if item is None else {"item": item})
    parts: list[pl.DataFrame] = []
    for batch, where in table_batches(Path(path), columns, progress):
        named = [
            identifiers(batch[name], name, where).cast(pl.String).alias(name) for name in columns if name != "choice"
        ]
        choice = _texts(batch["choice"], where).fill_null("").str.strip_chars().alias("choice")
        parts.append(pl.DataFrame([*named, choice]))
    if not parts:
        raise DataError(f"{path} is empty: it holds no row")
    rows = pl.concat(parts)
    texts = rows["choice"] if ending(Path(path)) in SEPARATORS else one_spelling(rows["choice"])
    return Choices(
        to_strings(rows["user"]),
        None if item is None else to_strings(rows["item"]),
        to_strings(texts),
    )


def _texts(column: "pl.Series", where: Callable[[int], str]) -> "pl.Series":
    import polars as pl

    from discreet.data.gather import kind_of

    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        raise DataError.at(where(0), f"the choice is of the type {kind_of(column)}: write a number, or text")
    return column.cast(pl.String)


def has_column(path: str | Path, column: str) -> bool:
    """Whether a table has a column of this name."""
    from discreet.data.tables import table_batches

    try:
        next(iter(table_batches(Path(path), {"column": column})), None)
    except DataError as error:
        if "there is no column" in str(error) or "must name the columns" in str(error):
            return False
        raise
    return True


def read_own_choices(path: Path, column: str) -> dict[str, str]:
    """From a person's own file of ratings: what was chosen for each item, by its name; empty choices are left out."""
    with open_bytes(path) as file:
        content = file.read()
    text = decode(content, str(path))
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=SEPARATORS.get(ending(path), ","))
        names = {name.strip().lower(): name for name in rows.fieldnames or ()}
        named = next((name for name in ("item", "title") if name in names), None)
        require(
            column.strip().lower() in names and named is not None,
            f"{path} needs the columns item or title, and {column} for the level that was wished for",
        )
        assert named is not None
        return {
            (row[names[named]] or "").strip(): wish
            for row in rows
            if (wish := (row[names[column.strip().lower()]] or "").strip())
        }
    except csv.Error:
        raise DataError(f"{path} cannot be read as a table: a quote is never closed") from None
