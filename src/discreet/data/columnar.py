"""Parquet and Arrow files, read lazily; however the reading of a damaged one fails, that is said in a sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.data.panics import without_panics
from discreet.data.sources import require_plain
from discreet.errors import DataError, InputError

PARQUET, ARROW = {".parquet", ".pq"}, {".arrow", ".feather", ".ipc"}


@contextmanager
def whole(path: Path, kind: str) -> Iterator[None]:
    """Say plainly that a file is damaged, however the reading of it fails: polars panics at some broken files."""
    try:
        yield
    except pl.exceptions.DuplicateError:
        raise DataError(f"{path} cannot be read: two of its columns have the same name") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(f"{path} cannot be read as {kind[1:]}: it is cut off or damaged ({one_line(error)})") from None


def scan(path: Path, kind: str) -> pl.LazyFrame:
    """The table in a file, which is not read before it is asked for."""
    require_plain(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it holds no rating")
    if kind in PARQUET:
        return pl.scan_parquet(path)
    if kind in ARROW:
        return pl.scan_ipc(path)
    raise InputError(f"{path} is no table that Discreet reads: .csv, .tsv, .parquet, .arrow or .feather")


def columns_of(lazy: pl.LazyFrame) -> pl.Schema:
    """The names of the columns of a table, and their types."""
    with without_panics():
        return lazy.collect_schema()


def collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    """What was asked for of a table, read now."""
    with without_panics():
        return lazy.collect()


def one_line(error: BaseException) -> str:
    """What an error says, for a sentence of ours."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
