"""What leaves the ratings, look by look, with the noise that the paper says: for an audit.

Every noisy sum is a line with the published sensitivity. The dampings are a look too, and have no line: they are means
of counts, released as they are.
"""

from collections.abc import Callable

import numpy as np

from discreet.audit.recording import NO_NOISE, Look
from discreet.data.ratings import Ratings
from discreet.papers.hybrid_knn.algorithm import HybridKNN, PerturbedStatistics, weighted_sums
from discreet.papers.hybrid_knn.privacy import SHARES
from discreet.populations.contribution import Contribution
from discreet.privacy.spend import Spend
from discreet.types import AnyArray

Total = Callable[[Ratings], AnyArray]


def looks_of(model: HybridKNN, measured: PerturbedStatistics, collected: Ratings) -> tuple[Look, ...]:
    """The six noisy sums of one publication, and the dampings where they were read off the ratings."""
    assert model.epsilon is not None
    size, published = collected.n_items, model.sensitivities(collected.catalogue.scale.width)
    first, second, third = (share * model.epsilon for share in SHARES)

    def residuals(ratings: Ratings) -> AnyArray:
        clamped = model.clamped(ratings, measured.mean, measured.item_averages, measured.dampings[1])
        return weighted_sums(ratings, clamped)[0]

    def item_totals(ratings: Ratings) -> AnyArray:
        return np.bincount(ratings.item_index, ratings.values, minlength=size)

    def item_counts(ratings: Ratings) -> AnyArray:
        return np.bincount(ratings.item_index, minlength=size)

    def weights(ratings: Ratings) -> AnyArray:
        return weighted_sums(ratings, np.ones(len(ratings)))[1]

    sums: list[tuple[str, Total, AnyArray, float, float]] = [
        ("the sum of all ratings", _sum, np.array([measured.total]), published.ratings, first),
        ("the number of all ratings", _count, np.array([measured.count]), published.counts, first),
        ("the sum of each item's ratings", item_totals, measured.item_totals, published.ratings, second),
        ("how often each item was rated", item_counts, measured.item_counts, published.counts, second),
        ("products of pairs of items", residuals, measured.products, published.products, third),
        ("weights of pairs of items", weights, measured.weights, published.weights, third),
    ]
    looks = [
        _look(name, total, answer, sensitivity, sensitivity / epsilon)
        for name, total, answer, sensitivity, epsilon in sums
    ]
    if model.item_damping is None or model.user_damping is None:
        exact = Contribution("the mean numbers of ratings, for the dampings", (1,), _count)
        looks.append(Look(exact, np.array([float(len(collected))]), "gaussian", NO_NOISE, ()))
    return tuple(looks)


def _look(name: str, total: Total, answer: AnyArray, sensitivity: float, scale: float) -> Look:
    spend = Spend(what=name, mechanism="laplace", norm="l1", sensitivity=sensitivity, scale=scale)
    return Look(Contribution(name, answer.shape, total), np.array(answer, dtype=np.float64), "laplace", scale, (spend,))


def _sum(ratings: Ratings) -> AnyArray:
    return np.array([ratings.values.sum(dtype=np.float64)])


def _count(ratings: Ratings) -> AnyArray:
    return np.array([float(len(ratings))])
