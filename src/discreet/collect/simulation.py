"""A collection without the files: what a recommender would read if every user of a data set had sent a report."""

import secrets
from dataclasses import replace

import numpy as np

from discreet.collect.channel import LocalRandomiser
from discreet.data.ratings import Ratings
from discreet.data.reports import in_32_bits
from discreet.doors import checked
from discreet.errors import require
from discreet.privacy.randomness import Randomness
from discreet.types import Floats

BLOCK = 1 << 18  # ratings at a time, so that a hundred million need little more memory than they occupy


@checked
def perturb_ratings(mechanism: LocalRandomiser, ratings: Ratings, randomness: Randomness) -> Ratings:
    """Perturb every rating on its own, and declare the scale of what comes out. For experiments.

    What comes out says how it was perturbed, as reports do, and if the noise was seeded it says that too: then it
    promises nothing. Whoever calls this holds everybody's ratings, and is named in the guarantee. Every call is a
    collection of its own, which costs its users epsilon again.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> perturb_ratings(dc.collect.UniformNoise(gamma=1.5), ratings, dc.Randomness(seed=1))
    Ratings(600 ratings, 50 users, 30 items, scale -0.5 to 6.5)
    """
    require(hasattr(mechanism, "channel"), f"{type(mechanism).__name__} answers about every item, not about ratings")
    channel = mechanism.channel(ratings.catalogue.scale)
    values: Floats = np.empty(len(ratings), dtype=np.float32)
    for start in range(0, len(ratings), BLOCK):
        values[start : start + BLOCK] = channel.perturb(ratings.values[start : start + BLOCK], randomness)
    return replace(
        ratings,
        catalogue=replace(ratings.catalogue, scale=in_32_bits(channel.reported)),
        values=values,
        perturbed=replace(mechanism.form(ratings.catalogue.scale, seeded=randomness.is_seeded), in_process=True),
        report_digest=secrets.token_hex(32),  # fresh noise is another collection, whatever came out
    )
