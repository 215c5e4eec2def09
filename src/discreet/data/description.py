"""Facts about ratings, for people who want to know what they have. They are private, like the ratings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.types import AnyArray


@dataclass(frozen=True)
class Spread:
    """How a number of ratings is spread over users or items."""

    least: int
    median: float
    mean: float
    most: int

    @classmethod
    def of(cls, counts: AnyArray) -> "Spread":
        """The spread of these counts."""
        if len(counts) == 0:
            return cls(0, 0.0, 0.0, 0)
        return cls(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max()))


@dataclass(frozen=True, kw_only=True)
class Description:
    """What :func:`describe` finds.

    Parameters
    ----------
    users, items, ratings
        How many there are; users and items without a rating count.
    rated_items
        Items with at least one rating.
    density
        Share of all pairs of user and item that have a rating.
    scale
        Lowest and highest rating, as declared; None for data without ratings.
    mean, deviation
        Of the ratings.
    values
        How many ratings have each value.
    per_user, per_item
        How many ratings users give, and items with a rating get.
    repeats
        Ratings beyond the first of the same item by the same user.
    first, last
        Days of the earliest and latest rating, None without times.
    genres
        How many items have each genre.
    user_facts
        Names of what is known about users.
    """

    users: int
    items: int
    rated_items: int
    ratings: int
    density: float
    scale: tuple[float, float] | None
    mean: float
    deviation: float
    values: Mapping[float, int]
    per_user: Spread
    per_item: Spread
    repeats: int
    first: str | None
    last: str | None
    genres: Mapping[str, int]
    user_facts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = asdict(self)
        plain["values"] = {f"{value:g}": count for value, count in self.values.items()}
        return plain


@checked
def describe(ratings: Ratings) -> Description:
    """Count users, items and ratings, and say how they are spread.

    Examples
    --------
    >>> import discreet as dc
    >>> facts = dc.data.describe(dc.synthetic(users=50, items=30, ratings=600, seed=1))
    >>> facts.users, facts.ratings, facts.density, facts.per_user.mean
    (50, 600, 0.4, 12.0)
    """
    catalogue = ratings.catalogue
    per_item = np.bincount(ratings.item_index, minlength=ratings.n_items)
    values, counts = np.unique(ratings.values, return_counts=True)
    again = np.zeros(0, dtype=np.bool_)
    if ratings.has_repeats:
        user, item = ratings.user_index, ratings.item_index
        again = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    pairs, repeated = ratings.n_users * ratings.n_items, int(again.sum())
    timed = ratings.times is not None and len(ratings) > 0
    mean = float((values.astype(np.float64) @ counts) / max(len(ratings), 1))
    variance = float(((values.astype(np.float64) - mean) ** 2 @ counts) / max(len(ratings), 1))
    return Description(
        users=ratings.n_users,
        items=ratings.n_items,
        rated_items=int(np.count_nonzero(per_item)),
        ratings=len(ratings),
        density=(len(ratings) - repeated) / max(pairs, 1),
        scale=None if catalogue.scale.implicit else (catalogue.scale.low, catalogue.scale.high),
        mean=mean,
        deviation=variance**0.5,
        values=dict(zip(values.astype(np.float64).tolist(), counts.tolist(), strict=True)),
        per_user=Spread.of(np.diff(ratings.indptr)),
        per_item=Spread.of(per_item[per_item > 0]),
        repeats=repeated,
        first=_day(int(ratings.times.min())) if timed and ratings.times is not None else None,
        last=_day(int(ratings.times.max())) if timed and ratings.times is not None else None,
        genres=dict(zip(catalogue.genres, catalogue.item_genres.sum(axis=0).tolist(), strict=True)),
        user_facts=tuple(ratings.user_facts),
    )


def _day(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # not seconds since 1970, whatever the column claims
        return str(seconds)
