"""Lists of similar items from noisy sums over users: what the private neighbour models start from.

    1. counts n_i and sums of ratings of each item    →   base_i and what is unknown of it
       (:mod:`~discreet.models.denoise.item_biases`)
    2. products and co-counts of pairs of the most rated items, unless noise would hide them
       (:mod:`~discreet.models.sums.pair_sums`)       →   factors L with covariance L Lᵀ, cleaned of noise
       (:mod:`~discreet.models.denoise.spectral`)

Whether pairs are asked for, among how many items and with which share of the budget follows from public facts
(:mod:`~discreet.models.sums.almanac_queries`). What follows is post-processing and costs nothing:

    L⊥ = L − Z (ZᵀPZ)⁻¹ ZᵀP L      what users' own regressions at home explain already (their covariates Z), weighted by
                                   how much items are rated (P), is taken out of the covariance
    ρ_ij = L⊥_i·L⊥_j / √((‖L⊥_i‖² + σ²)(‖L⊥_j‖² + σ²))

Each item lists its ``width`` largest positive ρ. An item that takes part in no pairs lists the most rated items, with a
faint similarity: its predictions stay the user's own expectation, and its rank its popularity.
"""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from discreet.data.features import item_features
from discreet.errors import require_settings
from discreet.kernels.neighbours import nearest
from discreet.models.denoise.item_biases import denoised
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.home.lists import check_width, home_of
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.almanac_queries import CONSTANTS as QUERIES
from discreet.models.sums.almanac_queries import AlmanacQueries, queries_for
from discreet.models.sums.pair_sums import weight_of_a_rating
from discreet.models.sums.similarity_gradient import gradient_steps
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class Constants:
    """Public constants, chosen on splits of MovieLens 100K with other seeds than those reported."""

    neighbours: int = 200
    """How many neighbours each item lists, if nothing else is said."""
    neighbours_of_few: int = 64
    """How many where hardly anyone takes part."""
    faint: float = 1e-3
    """Similarity of an item's neighbours of which nothing is known."""
    even: float = 3e-3
    """Similarity of all neighbours in a constant start: so small that what is learned soon outweighs it."""
    fewest: int = 500
    """Half as many items take part in pairs as in an almanac, but no fewer than this, if it has them: what is known of
    rarely rated items makes poor neighbours."""
    most_of_pairs: float = 0.7
    """The largest share of the budget that pairs get by the public rule."""
    patterns: int = 6
    """How many patterns of who rates what together are looked for in the co-counts."""
    relative_weight: float = 0.1
    """Of co-counts, where products have 1: κ² of the pair sums."""
    sampling_variance: float = 1.0
    """The v of the spectral module, in weights of a rating, where there is no noise."""
    sampling_variance_with_noise: float = 3.0
    """The same with noise: the weights are known less well, so more shrinkage pays."""
    sampling_variance_of_users: float = 12.0
    """The same with the unit user: users' weights differ far more."""
    factor_spread: float = 0.1
    """How far factors spread, in units of the clip: its t."""
    residual_deviation: float = 0.2
    """Standard deviation of a rating about its expectation, in widths of the scale, as in the formula above."""
    ridge: float = 1e-3
    """Keeps the projection solvable where two covariates are alike."""


CONSTANTS = Constants()


@dataclass(frozen=True, eq=False)
class Lists:
    """What is known after both looks: the arrays of a release, the users' own side, and the lists."""

    arrays: dict[str, AnyArray]
    home: UserRegression
    neighbours: Indices
    similarities: Floats

    def released(self, similarities: Floats) -> dict[str, AnyArray]:
        """The arrays with these similarities; items without any get faint ones to the most rated items."""
        neighbours, kept = self.neighbours.copy(), np.maximum(similarities, 0).astype(np.float32)
        alone = ~kept.any(axis=1)
        most_rated = constant_lists(self.arrays["counts"], kept.shape[1])
        neighbours[alone], kept[alone] = most_rated[alone], CONSTANTS.faint
        return {**self.arrays, "neighbours": neighbours, "similarities": kept}


def check_lists(model: object) -> None:
    """Check the settings that the models with lists have in common."""
    require_settings(model, "neighbours", "factors", "audience", least=1)
    require_settings(model, "items", least=2)
    require_settings(model, "floor", above=0)
    require_settings(model, "pair_share", least=0, below=1)


def list_width(neighbours: int | None, audience: int, size: int) -> int:
    """How many neighbours each item lists in a catalogue of ``size`` items."""
    if neighbours is None:
        most = min(CONSTANTS.neighbours, max(CONSTANTS.neighbours_of_few, audience))
        return max(1, min(most, size - 1))
    check_width(neighbours, size)
    return neighbours


def list_queries(
    population: Population, audience: int, items: int | None, pair_share: float | None, features: bool
) -> AlmanacQueries:
    """What is asked for. Public: the shares are of what the lists may spend."""
    known = features and item_features(population.catalogue).shape[1] > 0
    queries = queries_for(population, audience, items, pair_share, known)
    if items is None:
        queries = replace(queries, items=max(min(CONSTANTS.fewest, queries.items), queries.items // 2))
    if population.unit is None:
        return queries
    products = queries.products or bool(pair_share)
    share = queries.share if pair_share is not None else min(queries.share, CONSTANTS.most_of_pairs)
    return replace(
        queries, products=products, share=share if products else 0.0, relative_weight=CONSTANTS.relative_weight
    )


def ask_for_lists(
    queries: AlmanacQueries, population: Population, width: int, factors: int, features: bool, share: float = 1.0
) -> Lists:
    """Both looks at the ratings, with ``share`` of the budget, and the lists that follow from them."""
    catalogue = population.catalogue
    sums, asked = queries.item_sums(population)
    if share < 1:  # beside steps: noise of one kind, as its squares add up
        asked = replace(asked, noise="gaussian")
    own_share = share * (1 - queries.share)
    noise = population.deviation(asked, own_share)
    noisy_counts, noisy_sums = population.sum(asked, own_share)
    known = item_features(catalogue)[:, : None if features else 0]
    scale = catalogue.scale
    counts, bias, unknown = denoised(sums, noisy_counts, noisy_sums, noise, known)
    mean = float(sums.base[0] + bias @ counts / max(counts.sum(), 1e-9))
    base = np.clip(sums.base + bias, scale.low, scale.high).astype(np.float32)
    arrays: dict[str, AnyArray] = {
        "mean": np.array([mean], dtype=np.float32),
        "item_bias": base - np.float32(mean),
        "unknown": unknown.astype(np.float32),
        "counts": (counts / sums.typical_weight).astype(np.float32),
    }
    home = home_of(arrays, catalogue, features)
    size = len(catalogue)
    neighbours, similarities = np.zeros((size, width), dtype=np.int32), np.zeros((size, width), dtype=np.float32)
    if queries.share > 0:
        rows = np.sort(np.argsort(-noisy_counts, kind="stable")[: queries.items]).astype(np.int32)
        found = _loadings(queries, population, share * queries.share, rows, base, counts, factors)
        loadings = _unexplained(found, home.rows[rows], counts[rows])
        listed = min(width, len(rows) - 1)
        chosen, kept = nearest(_correlations(loadings, (CONSTANTS.residual_deviation * scale.width) ** 2), listed)
        neighbours[rows, :listed], similarities[rows, :listed] = rows[chosen], kept
    return Lists(arrays, home, neighbours, similarities)


class LearnedLists(Protocol):
    """The settings that models which learn from a start have in common."""

    @property
    def start(self) -> Literal["pairs", "constant"]:
        """Where lists and similarities come from before they are learned."""
        ...

    @property
    def neighbours(self) -> int | None:
        """How many items each item lists."""
        ...

    @property
    def factors(self) -> int:
        """How many patterns of ratings at most."""
        ...

    @property
    def items(self) -> int | None:
        """Among how many items pairs are asked for."""
        ...

    @property
    def features(self) -> bool:
        """Whether genres and years are used."""
        ...

    @property
    def audience(self) -> int:
        """About how many users take part."""
        ...

    @property
    def pair_share(self) -> float | None:
        """How much of what is not for steps pairs get."""
        ...

    @property
    def steps(self) -> int:
        """How many gradients are asked for."""
        ...

    @property
    def clip(self) -> float:
        """The greatest length of a user's gradient."""
        ...

    @property
    def sampling_rate(self) -> float:
        """The share of the users in each of them."""
        ...

    @property
    def steps_share(self) -> float:
        """How much of the budget steps get."""
        ...


def ask_for_start(model: LearnedLists, population: Population) -> Lists:
    """Means and lists for a model that then learns in steps; where pairs say nothing of any item, a constant start."""
    size = len(population.catalogue)
    width = list_width(model.neighbours, model.audience, size)
    # Who cannot answer the steps says so here, before any budget is spent on the start.
    steps = gradient_steps((size, width), model.clip, model.steps, model.sampling_rate)
    population.deviation(steps, model.steps_share)
    pair_share = 0.0 if model.start == "constant" else model.pair_share
    queries = list_queries(population, model.audience, model.items, pair_share, model.features)
    found = ask_for_lists(queries, population, width, model.factors, model.features, 1 - model.steps_share)
    if found.similarities.any():
        return found
    neighbours = constant_lists(found.arrays["counts"], width)
    even = np.full(neighbours.shape, CONSTANTS.even, dtype=np.float32)
    return replace(found, neighbours=neighbours, similarities=even)


def constant_lists(counts: AnyArray, width: int) -> Indices:
    """For every item the ``width`` most rated other items, in the order of the catalogue.

    >>> constant_lists(np.array([5, 1, 3, 4]), 2).tolist()
    [[2, 3], [0, 3], [0, 3], [0, 2]]
    """
    most = np.argsort(-counts, kind="stable")[: width + 1].astype(np.int32)
    lists = np.empty((len(counts), width), dtype=np.int32)
    lists[:] = np.sort(most[:width])
    for item in most[:width]:
        lists[item] = np.sort(most[most != item])
    return lists


def _loadings(
    queries: AlmanacQueries,
    population: Population,
    share: float,
    rows: Indices,
    base: Floats,
    counts: Doubles,
    factors: int,
) -> Floats:
    """L above, in points of the scale."""
    pairs, asked = queries.pair_sums(population, rows, base)
    products, weights = pairs.matrices(population.sum(asked, share))
    noise, weight_noise = pairs.deviations(population.deviation(asked, share))
    weights = denoised_weights(weights, counts[rows], weight_noise, CONSTANTS.patterns)
    of_a_rating = weight_of_a_rating(weights, counts[rows], queries.weighting)
    variance = CONSTANTS.sampling_variance if noise == 0 else CONSTANTS.sampling_variance_with_noise
    if queries.weighting == "user, l2":
        variance = CONSTANTS.sampling_variance_of_users
    found = denoised_factors(products, weights, noise, variance * of_a_rating, CONSTANTS.factor_spread, factors)
    return np.asarray(found * np.float32(QUERIES.clip * population.catalogue.scale.width))


def _unexplained(loadings: Floats, covariates: Floats, counts: Doubles) -> Doubles:
    """L⊥ above."""
    wide = covariates.astype(np.float64)
    weighted = wide * (counts / max(float(counts.sum()), 1e-9))[:, None]
    explained = np.linalg.solve(weighted.T @ wide + CONSTANTS.ridge * np.eye(wide.shape[1]), weighted.T @ loadings)
    return np.asarray(loadings - wide @ explained)


def _correlations(loadings: Doubles, residual_variance: float) -> Floats:
    covariance = loadings @ loadings.T
    roots = np.sqrt(np.diag(covariance) + residual_variance)
    correlations = (covariance / (roots[:, None] * roots[None, :])).astype(np.float32)
    np.fill_diagonal(correlations, 0)
    return np.asarray(correlations)
