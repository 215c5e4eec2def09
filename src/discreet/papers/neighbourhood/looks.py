"""What leaves the ratings, look by look, with the noise that the paper says: for an audit.

Steps with noise are lines with the published sensitivity. Item means, and the products of a cosine start, are looks
without a line: they are exact. They are shown as sums over users (of ratings, of counts, of products), which together
say what is published.
"""

from collections.abc import Callable

import numpy as np

from discreet.audit.recording import NO_NOISE, Look
from discreet.data.ratings import Ratings
from discreet.papers.neighbourhood.similarities import products_of_pairs
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Doubles

Total = Callable[[Ratings], AnyArray]


def exact_looks(ratings: Ratings, *, products: bool, means: bool = True) -> list[Look]:
    """Item means as sums of ratings and of counts; the products of pairs where the start has them."""
    size = ratings.n_items
    totals: list[tuple[str, Total]] = []
    if means:
        totals += [("the sum of each item's ratings", _sums), ("how often each item was rated", _counts)]
    if products:
        totals.append(("products of the ratings of pairs of items", products_of_pairs))
    shapes = {products_of_pairs: (size, size)}
    return [
        Look(
            Contribution(name, shapes.get(total, (size,)), total),  # type: ignore[arg-type]
            np.asarray(total(ratings), dtype=np.float64),
            "gaussian",
            NO_NOISE,
            (),
        )
        for name, total in totals
    ]


def noisy_look(name: str, total: Total, answer: Doubles, sensitivity: float, scale: float, rate: float = 1.0) -> Look:
    """A gradient with Laplace noise, over a share of the ratings, and the line that the paper has for it."""
    spend = Spend(what=name, mechanism="laplace", norm="l1", sensitivity=sensitivity, scale=scale)
    return Look(Contribution(name, answer.shape, total), np.array(answer), "laplace", scale, (spend,), rate)


def drift_look(name: str, total: Total, answer: Doubles, deviation: float) -> Look:
    """A gradient with the Gaussian noise of a Langevin step. The paper bounds no step, so it has no line."""
    return Look(Contribution(name, answer.shape, total), np.array(answer), "gaussian", deviation, ())


def _sums(ratings: Ratings) -> AnyArray:
    return np.bincount(ratings.item_index, ratings.values, minlength=ratings.n_items)


def _counts(ratings: Ratings) -> AnyArray:
    return np.bincount(ratings.item_index, minlength=ratings.n_items)
