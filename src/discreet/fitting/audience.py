"""About how many users take part, as far as that is publicly known.

The number of users is a secret of the ratings where users are to be hidden, so it is never counted: whoever runs the
command announces it, or the publisher of a data set did, or an order of magnitude is assumed.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from discreet.data.datasets import DATA_SETS
from discreet.errors import require

ASSUMED = 1000


@dataclass(frozen=True)
class Audience:
    """About how many users there are, and how that is known."""

    users: int
    known: Literal["announced", "published", "assumed"]

    def __str__(self) -> str:
        return f"{self.users:,} users ({self.known})"


def audience_of(data: str, announced: int | None) -> Audience:
    """What ``--audience`` says; else what the publisher of a named data set states; else an order of magnitude.

    >>> print(audience_of("ml-100k", None)), print(audience_of("my.csv", None)), print(audience_of("my.csv", 50_000))
    943 users (published)
    1,000 users (assumed)
    50,000 users (announced)
    (None, None, None)
    """
    if announced is not None:
        require(announced >= 1, f"--audience must be at least 1, got {announced}")
        return Audience(announced, "announced")
    published = DATA_SETS.get(data)
    if published is not None and not published.grows:
        return Audience(published.users, "published")
    return Audience(ASSUMED, "assumed")


def takes_audience(model: Any) -> bool:
    """Whether a model, or its class, plans by the number of users."""
    return any(field.name == "audience" for field in dataclasses.fields(model))
