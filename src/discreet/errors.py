"""Everything that Discreet raises on purpose.

::

    DiscreetError
    ├── InputError          an argument or a file says something that cannot be used (also a ValueError)
    │   ├── DataError       a file of ratings: the message names file and row
    │   └── UnknownNameError     a name that is not there: the message offers the nearest ones (also a LookupError)
    ├── FetchError          a data set could not be had from anywhere
    ├── OverspentError      it would cost more privacy than the limit allows; nothing was computed
    ├── BudgetError         the database of a budget cannot be used; nothing was computed
    └── ReleaseError        a folder does not hold a release that this version can read

A message is one sentence or two: what is wrong, where, and what would be right. It never carries a
rating or the name of a user: messages end up in logs.
"""

import difflib
from collections.abc import Iterable


class DiscreetError(Exception):
    """The root of all errors of this library."""


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

    def __str__(self) -> str:
        return str(self.args[0])


class FetchError(DiscreetError):
    """A data set could not be had from anywhere."""


class OverspentError(DiscreetError):
    """It would cost more privacy than the limit allows; nothing was computed or spent."""


class BudgetError(DiscreetError):
    """The database that keeps a budget cannot be used; nothing was computed."""


class ReleaseError(DiscreetError):
    """A folder does not hold a release that this version can read."""


def require(condition: bool, message: str) -> None:
    """Raise :class:`InputError` with ``message`` unless ``condition`` holds.

    >>> require(True, "never shown")
    """
    if not condition:
        raise InputError(message)
