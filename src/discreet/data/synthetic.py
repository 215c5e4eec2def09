"""Ratings that nobody gave: latent factors, genres, power laws, a rating scale."""

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings


def synthetic(*, users: int, items: int, ratings: int, seed: int) -> Ratings:
    """A first generator, to be replaced by the documented one."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(users * items, size=ratings, replace=False)
    catalogue = Catalogue.of([str(i) for i in range(items)], Scale(1, 5))
    values = np.clip(np.rint(rng.normal(3.5, 1, ratings)), 1, 5)
    return Ratings.of_columns(
        catalogue, Labels.of([str(u) for u in range(users)], what="user"), pairs // items, pairs % items, values
    )
