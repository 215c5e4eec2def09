"""Names kept aside, so that everything else can count with integers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.doors import checked
from discreet.errors import InputError, UnknownNameError, require
from discreet.strings import Strings
from discreet.types import Indices


def require_text(name: object, what: str) -> None:
    """Raise unless a name is text: 42 and "42" are not the same, and nobody should have to guess which is meant.

    The name itself stays out of the message, since it may be that of a user.

    >>> require_text(42, "user")
    Traceback (most recent call last):
    discreet.errors.InputError: the name of a user is text, got int: write it in quotes, for example "42"
    """
    require(
        isinstance(name, str),
        f"the name of {'an' if what[0] in 'aeio' else 'a'} {what} is text, got {type(name).__name__}: "
        'write it in quotes, for example "42"',
    )


def counted(count: int, what: str) -> str:
    """How many, in words that fit.

    >>> counted(1, "item"), counted(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


@dataclass(frozen=True, eq=False)
class Labels:
    """Distinct names, each standing for its position.

    Parameters
    ----------
    names
        The names, position by position: a list or an array of text becomes :class:`~discreet.strings.Strings`.
    what
        What one of them is called in messages, for example ``"item"``.

    Examples
    --------
    >>> labels = Labels.of(["a", "b"], what="item")
    >>> labels.index("b"), len(labels), labels[0]
    (1, 2, 'a')
    """

    names: Strings
    what: str = "name"

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", Strings.of(self.names))

    @classmethod
    @checked
    def of(cls, names: Iterable[str], what: str = "name") -> "Labels":
        """Labels from any iterable of strings; a repeated one is an error."""
        labels = cls(Strings.of(names), what)
        if len(labels.positions) != len(labels):
            raise InputError(f"every {what} must be named once; the list has repeated names")
        return labels

    @cached_property
    def positions(self) -> dict[str, int]:
        """Position of every name."""
        return {name: position for position, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Position of ``name``; an unknown name is an error that offers the nearest ones, unless they are users'."""
        require_text(name, self.what)
        try:
            return self.positions[name]
        except KeyError:
            if self.what == "user":  # who else is there is nobody's business, and messages end up in logs
                raise UnknownNameError("there is no user of that name") from None
            raise UnknownNameError.among(self.what, name, self.positions) from None

    @checked
    def indices(self, names: Iterable[str]) -> Indices:
        """Positions of many names."""
        return np.array([self.index(name) for name in names], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> str:
        return self.names[position]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.positions
