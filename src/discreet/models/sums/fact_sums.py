"""The mean of what users say of themselves, field by field: one bounded sum over users.

A user's facts are vectors m_w in [0, 1]^K, one for each of o fields (:mod:`discreet.data.word_vectors`). The user adds

    a (1, 2m_1 − 1, …, 2m_o − 1),        a = 1/√(1 + oK)

**One user** adds a vector of length at most a √(1 + oK) = 1, as each of the oK entries lies within ±a. **One user for
another** moves no count, and each other entry by at most 2a: by 2a √(oK) < 2 in all. ∎ Entries are rounded to multiples
of 2⁻³⁰. With the unit rating nothing is proven: facts are no ratings, and do not come and go with one.

The released means are public. A user's own prior is made of them and of the user's own facts, stays with that user, and
needs no noise (:mod:`discreet.models.home.user_prior`).
"""

import math

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.word_vectors import FIELDS, embed_facts
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import on_lattice
from discreet.privacy.unit import Bound
from discreet.types import Doubles, Floats


def fact_sums(table: Floats) -> Contribution:
    """How many users there are, and the sum of their facts, both in units of a; ``table`` has the vectors of words."""
    dimensions = table.shape[1]
    size = len(FIELDS) * dimensions
    weight = 1 / math.sqrt(1 + size)

    def total(ratings: Ratings) -> Doubles:
        own = embed_facts(ratings.user_facts, ratings.n_users, table).reshape(ratings.n_users, size)
        entries = on_lattice(weight * (2 * np.clip(own.astype(np.float64), 0, 1) - 1))
        count = on_lattice(np.full((ratings.n_users, 1), weight))
        return np.asarray(np.concatenate([count, entries], axis=1).sum(axis=0), dtype=np.float64)

    return Contribution(
        "what users say of themselves, on average",
        (1 + size,),
        total,
        (Bound("user", "l2", 1.0, replace=2 * weight * math.sqrt(size)),),
        largest=1.0,
    )


def population_means(population: Population, table: Floats, share: float = 1.0) -> Floats:
    """μ_w for every field, from one sum, exact or noisy: fields by dimensions, each within [0, 1]."""
    asked = fact_sums(table)
    count, *sums = population.sum(asked, share)
    noise = population.deviation(asked, share)
    # A count below its own noise says nothing, and would blow the means up.
    mean = np.asarray(sums) / max(float(count), noise, 1e-12)
    return np.asarray(np.clip((1 + mean) / 2, 0, 1), dtype=np.float32).reshape(len(FIELDS), -1)
