"""How much a published V tells of one rating: the log-likelihood ratio of V between two data sets, worked out.

For given ratings and U both minimisers are affine, v_j = A_j v_j(0) + B_j (2 b_j − η_j), with H_j = G_j + μM I:

    exact      A = 0,   B = (2 H)⁻¹
    T steps    S = I − 2γ H/M,   A = S^T,   B = γ/M (I + S + … + S^(T−1))

So every V belongs to one η, η_j = 2 b_j − B_j⁻¹ (v_j − A_j v_j(0)), and ln p(V) = Σ_j −‖η_j‖/s − ln |det B_j| + const.
"""

from typing import TYPE_CHECKING

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF, Trained, unit_rows
from discreet.papers.objective_perturbation.privacy import noise_scale
from discreet.types import Doubles

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 256
"""Items whose matrices are held at once."""


def log_likelihood_ratio(
    model: ObjectivePerturbedMF, items: Doubles, first: tuple[Ratings, Trained], second: tuple[Ratings, Trained]
) -> float:
    """ln p(V | first) − ln p(V | second): differential privacy keeps it within ±ε for every V."""
    return log_likelihood(model, items, *first) - log_likelihood(model, items, *second)


def log_likelihood(model: ObjectivePerturbedMF, items: Doubles, ratings: Ratings, trained: Trained) -> float:
    """ln p(V) but for a constant that is the same for all ratings of the same items."""
    epsilon, width = model.epsilon, ratings.catalogue.scale.width
    usual = model.noise == "radial" and model.start == "fresh" and not model.shrunk_noise
    require(
        epsilon is not None and usual and model.training != "rating",
        "the likelihood is worked out for full radial noise, steps over all ratings, and a start that is no data",
    )
    assert epsilon is not None
    scale = noise_scale(epsilon, width, "radial", model.factors)
    divisors = model._divisors(ratings, "items")
    start = unit_rows(np.random.default_rng((model.seed, 1)), ratings.n_items, model.factors)
    total = 0.0
    for block, grams, moments in _normal_equations(ratings, trained.users):
        of_item = divisors[block][:, None]
        spectrum, basis = np.linalg.eigh(grams)
        curvature = np.maximum(spectrum, 0) + model.item_penalty * of_item

        def turned(rows: Doubles, basis: Doubles = basis) -> Doubles:
            return np.asarray(np.einsum("jka,jk->ja", basis, rows))

        if model.minimiser == "exact":
            gain, left = 1 / (2 * curvature), np.zeros_like(curvature)
        else:
            shrink = 1 - 2 * model.learning_rate * curvature / of_item
            left = shrink**model.iterations
            gain = (1 - left) / (2 * curvature)
        noise = 2 * turned(moments) - (turned(items[block]) - left * turned(start[block])) / gain
        total -= float(np.sqrt((noise**2).sum(axis=1)).sum()) / scale + float(np.log(np.abs(gain)).sum())
    return total


def _normal_equations(ratings: Ratings, users: Doubles) -> "Iterator[tuple[slice, Doubles, Doubles]]":
    """G_j and b_j of some items at a time."""
    by_item, d = ratings.by_item, users.shape[1]
    for first in range(0, ratings.n_items, BLOCK):
        block = slice(first, min(first + BLOCK, ratings.n_items))
        grams, moments = np.zeros((block.stop - first, d, d)), np.zeros((block.stop - first, d))
        for item in range(first, block.stop):
            raters = slice(by_item.indptr[item], by_item.indptr[item + 1])
            own = users[by_item.users[raters]]
            grams[item - first], moments[item - first] = own.T @ own, own.T @ by_item.values[raters]
        yield block, grams, moments
