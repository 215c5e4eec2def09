"""Some of the users of a population: a secret sample, or those of one privacy level."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.privacy.personal import draw_sample
from discreet.privacy.randomness import Randomness
from discreet.types import Booleans


@dataclass(frozen=True, eq=False)
class SomeInParts:
    """The users of ratings in files for whom a mask is true, part by part."""

    ratings: RatingsInParts
    chosen: Booleans

    @property
    def n_users(self) -> int:
        """How many were chosen."""
        return int(np.count_nonzero(self.chosen))

    def parts(self) -> Iterator[Ratings]:
        """What was chosen of each part; nothing where nobody was."""
        first = 0
        for part in self.ratings.parts():
            positions = np.flatnonzero(self.chosen[first : first + part.n_users])
            first += part.n_users
            if len(positions):
                yield part.select_users(positions)


def some_users(ratings: Ratings | RatingsInParts, chosen: Booleans) -> Ratings | SomeInParts | None:
    """The users for whom a mask is true; None where it is nobody."""
    if not chosen.any():
        return None
    if isinstance(ratings, RatingsInParts):
        return SomeInParts(ratings, chosen)
    return ratings.select_users(np.flatnonzero(chosen))


def sampled_users(ratings: Ratings | RatingsInParts, rate: float, randomness: Randomness) -> Booleans:
    """Who is in a fresh sample: each user on their own, with this probability (rounded down to 64 bits)."""
    if rate == 1:
        return np.ones(ratings.n_users, dtype=np.bool_)
    return draw_sample(np.full(ratings.n_users, rate), randomness)
