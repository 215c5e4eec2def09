"""Everything that Discreet raises on purpose.

::

    DiscreetError
    ├── InputError          an argument or a file says something that cannot be used (also a ValueError)
    │   ├── DataError       a file of ratings: the message names file and row
    │   ├── UnknownNameError     a name that is not there: the message offers the nearest ones (also a LookupError)
    │   └── DishonestDeviceError     a secure sum that no honest devices can have sent; nothing of it was released
    ├── FetchError          a data set could not be had from anywhere
    ├── OverspentError      it would cost more privacy than the limit allows; nothing was computed
    ├── BudgetError         the database of a budget cannot be used; nothing was computed
    ├── ReleaseError        a folder does not hold a release that this version can read
    ├── ForkedProcessError  a forked process needs threads that stayed behind; the message says what to do instead
    └── MissingLibraryError      a library that is needed here is not installed (also an ImportError)

A message is one sentence or two: what is wrong, where, and what would be right. It never carries a
rating or the name of a user: messages end up in logs.
"""

import difflib
import math
import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Literal, Self, get_args, get_origin

from discreet.printable import printable

LONGEST = 600
"""Letters of a message: a name of a column or a path may be as long as whoever wrote the file liked."""


def one_line(text: str) -> str:
    """Text as one bounded line in which nothing can move a cursor: control characters are written out.

    >>> one_line("two\\nlines, and \\x1b[2J")
    'two lines, and \\\\x1b[2J'
    """
    plain = printable(" ".join(text.split("\n"))).replace("\t", "\\t")
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST // 2]} … {plain[-LONGEST // 2 :]}"


class DiscreetError(Exception):
    """The root of all errors of this library.

    ``place`` says where it is wrong, a file and a row for example, where that is known; the message says it too.
    """

    def __init__(self, message: object = "", *, place: str | None = None) -> None:
        super().__init__(one_line(str(message)))
        self.place = None if place is None else one_line(place)

    @classmethod
    def at(cls, place: str, sentence: str) -> Self:
        """The error for a place, which its message begins with.

        >>> error = DataError.at("mine.csv, row 3", "the rating is missing")
        >>> print(error, "|", error.place)
        mine.csv, row 3: the rating is missing | mine.csv, row 3
        """
        return cls(f"{place}: {sentence}", place=place)


class InputError(DiscreetError, ValueError):
    """An argument or a file says something that cannot be used."""


class DataError(InputError):
    """A file of ratings cannot be read; the message names the file and the row."""


class UnknownNameError(InputError, LookupError):
    """A name that is not there."""

    @classmethod
    def among(cls, what: str, name: str, known: Iterable[str]) -> "UnknownNameError":
        """Build the error for ``name``, with the nearest known names in the message.

        >>> print(UnknownNameError.among("model", "cosin", ["bias", "cosine"]))
        there is no model 'cosin'; did you mean 'cosine'?
        """
        near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        return cls(f"there is no {what} {name!r}{hint}")

    def with_hint(self, hint: str) -> "UnknownNameError":
        """The same error; where it has no near names to offer, it says where the names are listed."""
        return self if "did you mean" in str(self) else UnknownNameError(f"{self}; {hint}")

    def __str__(self) -> str:
        return str(self.args[0])


class DishonestDeviceError(InputError):
    """A secure sum that no honest devices can have sent: nothing of it was released, and it stays paid for."""


class FetchError(DiscreetError):
    """A data set could not be had from anywhere."""


class OverspentError(DiscreetError):
    """It would cost more privacy than the limit allows; nothing was computed or spent."""


class BudgetError(DiscreetError):
    """The database that keeps a budget cannot be used; nothing was computed."""


class ReleaseError(DiscreetError):
    """A folder does not hold a release that this version can read."""


class ForkedProcessError(DiscreetError):
    """A process that was forked needs threads which stayed behind in its parent."""


class MissingLibraryError(DiscreetError, ImportError):
    """A library that is needed here is not installed; the message says how to install it."""


@contextmanager
def library_for(purpose: str) -> Iterator[None]:
    """Within, a library that is not installed is named, with what it is needed for and what installs it.

    >>> with library_for("tables"):
    ...     import polars
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").split(".")[0].replace("_", "-")
        if library in ("", "discreet"):
            raise
        raise MissingLibraryError(
            f"{library} is not installed and is needed for {purpose}: pip install {library}"
        ) from None


def require(condition: bool, message: str) -> None:
    """Raise :class:`InputError` with ``message`` unless ``condition`` holds.

    >>> require(True, "never shown")
    """
    if not condition:
        raise InputError(message)


def require_type(value: object, kind: type | tuple[type, ...], message: str) -> None:
    """Raise :class:`InputError` unless ``value`` is of a kind; the message tells what came instead, not its content.

    >>> require_type("42", int, "this takes a number")
    Traceback (most recent call last):
    discreet.errors.InputError: this takes a number, got str
    """
    if not isinstance(value, kind):
        came = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise InputError(f"{message}, got {came}")


MOST_FACTORS = 10_000
"""Columns of a factor model: the Gram matrix of so many has a hundred million entries."""


def require_whole(name: str, value: Any, least: int) -> None:
    """Raise :class:`InputError` unless the argument ``name`` is a whole number and at least ``least``.

    >>> require_whole("k", 3, 1)
    >>> require_whole("k", 2.5, 1)
    Traceback (most recent call last):
    discreet.errors.InputError: k must be a whole number, got 2.5
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    require(whole, f"{name} must be a whole number, got {shown(value)}")
    require(value >= least, f"{name} must {f'be at least {least}' if least != 0 else 'not be negative'}, got {value}")
    if name.endswith("factors"):  # columns of arrays
        require(value <= MOST_FACTORS, f"{name} must be at most {MOST_FACTORS:,}: more fit into no memory, got {value}")


def require_seed(value: Any) -> None:
    """Raise :class:`InputError` unless this can seed a generator.

    >>> require_seed(7)
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    require(whole and value >= 0, f"seed must be a whole number from 0 on, got {shown(value)}")


def require_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> None:
    """Raise :class:`InputError` unless the argument ``name`` is a finite number within the limits that are given.

    >>> require_number("decay", 0.9, above=0, most=1)
    >>> require_number("decay", 0, above=0, most=1)
    Traceback (most recent call last):
    discreet.errors.InputError: decay must be above 0 and at most 1, got 0
    >>> require_number("shrinkage", "100", least=0)
    Traceback (most recent call last):
    discreet.errors.InputError: shrinkage must be a number, got '100'
    """
    require(is_number(value), f"{name} must be a number, got {shown(value)}")
    require(math.isfinite(value), f"{name} must be finite, got {value}")
    inside = (
        (above is None or value > above)
        and (least is None or value >= least)
        and (below is None or value < below)
        and (most is None or value <= most)
    )
    if inside:
        return
    if (above, least, below, most) == (0, None, None, None):
        raise InputError(f"{name} must be positive, got {value}")
    if (above, least, below, most) == (None, 0, None, None):
        raise InputError(f"{name} must not be negative, got {value}")
    limits = {"above": above, "at least": least, "below": below, "at most": most}
    words = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
    raise InputError(f"{name} must be {words}, got {value}")


def require_settings(model: Any, *names: str, **limits: Any) -> None:
    """Check the numbers among the settings of a model by :func:`require_whole` or :func:`require_number`.

    Which of the two, and whether None will do, is what its class declares.
    """
    declared = {field.name: get_args(field.type) or (field.type,) for field in fields(model)}
    for name in names:
        value = getattr(model, name)
        if value is not None or type(None) not in declared[name]:
            (require_whole if int in declared[name] else require_number)(name, value, **limits)


def require_kinds(model: Any) -> None:
    """Check the settings of a model that are true or false, one of several words, or its seed."""
    for field in fields(model):
        name, value = field.name, getattr(model, field.name)
        if field.type is bool:
            require(isinstance(value, bool), f"{name} must be true or false, got {shown(value)}")
        elif get_origin(field.type) is Literal:
            *words, last = map(repr, get_args(field.type))
            known = isinstance(value, str) and value in get_args(field.type)
            require(known, f"{name} must be {', '.join(words)} or {last}, got {shown(value)}")
        elif name == "seed":
            require_seed(value)


def is_number(value: object) -> bool:
    """Whether it is a real number: not text, and not True or False.

    >>> is_number(1), is_number("1"), is_number(True)
    (True, False, False)
    """
    fraction = isinstance(value, numbers.Rational) and not isinstance(value, numbers.Integral)  # it cannot be printed
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not fraction


def shown(value: object) -> str:
    """The value where it is short, and only its kind otherwise: it may be a table of ratings in the wrong place."""
    short = value is None or (isinstance(value, str | numbers.Number) and len(repr(value)) <= 60)
    return repr(value) if short else type(value).__name__
