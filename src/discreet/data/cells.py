"""Columns of a table as what they mean: names, ratings, times. What does not fit is refused by row."""

from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.errors import DataError
from discreet.types import AnyArray

Where = Callable[[int], str]
"""From the position of a row in its batch to ``file, row N``."""

LARGEST_EXACT = 2.0**53
_NAMES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
FLOAT_TEXT = r"^([0-9]+)\.0+$"


def rows_of(label: str, first: int) -> Where:
    """Name rows that follow one another, the first of which is number ``first``.

    >>> rows_of("u.data", 11)(2)
    'u.data, row 13'
    """
    return lambda position: f"{label}, row {first + position}"


def left_out(where: Where, missing: AnyArray) -> Where:
    """Name the rows of a batch from which some were left out: those at the positions ``missing``, in order.

    >>> left_out(rows_of("u.data", 11), np.array([0, 2]))(1)
    'u.data, row 14'
    """
    before = (missing - np.arange(len(missing))).astype(np.int32)  # how many rows that stay come before each
    return lambda position: where(position + int(np.searchsorted(before, position, side="right")))


def identifiers(column: pl.Series, what: str, where: Where) -> pl.Series:
    """A column of names of users or items, in which the same one is always written in the same way.

    Whole numbers in floating point, which tables with missing entries come with, are whole numbers again: else 1.0 here
    and 1 there would be two users. Other numbers in floating point are no names.

    >>> identifiers(pl.Series([1.0, 2.0]), "user", rows_of("it", 1)).to_list()
    [1, 2]
    """
    if column.dtype.is_float() or column.dtype.is_decimal():
        column = column.cast(pl.Float64).fill_nan(None)
        wrong = ~((column == column.round()) & (column.abs() <= LARGEST_EXACT)).fill_null(True)
        if bool(wrong.any()):
            raise DataError.at(
                where(first_of(wrong)),
                f"the {what} is a number in floating point that is not whole, or too large to "
                "be exact: name users and items by text or whole numbers",
            )
        column = column.cast(pl.Int64)
    elif not (column.dtype.is_integer() or column.dtype in _NAMES):
        raise DataError.at(where(0), f"the {what} is of the type {kind_of(column)}: name it by text or a whole number")
    missing = column.is_null()
    if column.dtype == pl.String:
        missing = missing | (column == "")
    if bool(missing.any()):
        raise DataError.at(where(first_of(missing)), f"the {what} is missing")
    return column


def kind_of(column: pl.Series) -> str:
    """The type of a column in a word; what a list or a struct holds stays out.

    >>> kind_of(pl.Series([[1]])), kind_of(pl.Series([b"a"]))
    ('list', 'binary')
    """
    return str(column.dtype.base_type()).lower()


def one_spelling(names: pl.Series) -> pl.Series:
    """Text in which a whole number is written without ``.0`` behind it."""
    return names.str.replace(FLOAT_TEXT, "$1")


def refuse_two_spellings(names: pl.Series, what: str, label: str) -> None:
    """Raise where text names one user or item in two ways, 1 and 1.0: they would count as two."""
    if bool(names.str.contains(FLOAT_TEXT).any()) and one_spelling(names).n_unique() < len(names):
        raise DataError.at(
            f"{label}", f"the same {what} is written as 1 and as 1.0, or the like: write each in one way"
        )


def seconds(times: pl.Series, where: Where) -> AnyArray:
    """Times as whole seconds since 1970: from numbers, dates, or text that holds either."""
    if times.dtype == pl.String:
        numbers = times.cast(pl.Float64, strict=False)
        dates = _dates(times) if numbers.null_count() == len(times) else None
        times = numbers if dates is None else dates
    if times.dtype == pl.Date:
        times = times.to_physical().cast(pl.Int64) * 86_400
    elif isinstance(times.dtype, pl.Datetime):  # as numbers: far from 1970 polars cannot change their unit
        times = times.to_physical() // {"ms": 10**3, "us": 10**6, "ns": 10**9}[times.dtype.time_unit]
    elif times.dtype.is_decimal():
        times = times.cast(pl.Float64)
    if not times.dtype.is_numeric():
        raise DataError.at(where(0), "the time is neither a number of seconds nor a date")
    wrong = times.is_null() if times.dtype.is_integer() else times.is_null() | ~times.is_finite()
    if bool(wrong.any()):
        raise DataError.at(where(first_of(wrong)), "the time is missing or neither a number of seconds nor a date")
    whole = times.cast(pl.Int64, strict=False)
    if whole.null_count():
        raise DataError.at(where(first_of(whole.is_null())), "the time is too far from 1970 to be a number of seconds")
    narrow = int(whole.min()) >= -(2**31) and int(whole.max()) < 2**31  # type: ignore[arg-type]
    return whole.cast(pl.Int32).to_numpy() if narrow else whole.to_numpy()


def _dates(times: pl.Series) -> pl.Series | None:
    try:
        return times.str.to_datetime(strict=False, time_unit="us")
    except pl.exceptions.PolarsError:  # the format could not be guessed from the first of them
        return None


def numbers_of(column: pl.Series, kind: type[pl.DataType]) -> pl.Series:
    """A column as numbers; what is none is missing."""
    if column.dtype == pl.String:
        numbers = column.cast(kind, strict=False)
        return column.str.strip_chars().cast(kind, strict=False) if numbers.null_count() else numbers
    if column.dtype.is_numeric():
        return column.cast(kind, strict=False)
    return pl.Series(column.name, [None] * len(column), dtype=kind)


def first_of(mask: pl.Series) -> int:
    """Position of the first row where a mask is true or missing."""
    return int(mask.fill_null(True).arg_max() or 0)
