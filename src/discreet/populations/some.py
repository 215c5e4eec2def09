"""Some of the users of a population: a secret sample, or those of one privacy level."""

import numpy as np

from discreet.data.parts import RatingsInParts, SomeInParts
from discreet.data.ratings import Ratings
from discreet.privacy.personal import draw_sample
from discreet.privacy.randomness import Randomness
from discreet.types import Booleans


def some_users(ratings: Ratings | RatingsInParts, chosen: Booleans) -> Ratings | RatingsInParts | SomeInParts | None:
    """The users for whom a mask is true; None where it is nobody."""
    if not chosen.any():
        return None
    if isinstance(ratings, RatingsInParts):
        return ratings.some_users(chosen)
    return ratings.select_users(np.flatnonzero(chosen))


def sampled_users(ratings: Ratings | RatingsInParts, rate: float, randomness: Randomness) -> Booleans:
    """Who is in a fresh sample: each user on their own, with this probability (rounded down to 64 bits)."""
    if rate == 1:
        return np.ones(ratings.n_users, dtype=np.bool_)
    return draw_sample(np.full(ratings.n_users, rate), randomness)
