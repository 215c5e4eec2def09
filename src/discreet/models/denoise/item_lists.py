"""Lists of similar items from noisy sums over users: what the private neighbour models start from.

    1. counts n_i and sums of ratings of each item    →   base_i and what is unknown of it
       (:mod:`~discreet.models.denoise.item_biases`)
    2. products and co-counts of pairs of the most rated items, unless noise would hide them
       (:mod:`~discreet.models.sums.pair_sums`)       →   factors L with covariance L Lᵀ, cleaned of noise
       (:mod:`~discreet.models.denoise.spectral`)

Pairs get half of the budget where a pattern of ratings is expected to stand out of the noise; elsewhere all of it buys
item means. Among K items, U users who rate n of them each with weight w show a pattern that explains the variance v of
ratings as an eigenvalue, and noise of deviation s hides it unless that is above (Baik, Ben Arous & Péché 2005)

    U w n² v / K  >  s √K

with public U (``audience``) and s, and with v and n as they usually are. What follows is post-processing:

    L⊥ = L − Z (ZᵀPZ)⁻¹ ZᵀP L      what users' own regressions at home explain already (their covariates Z), weighted by
                                   how much items are rated (P), is taken out of the covariance
    ρ_ij = L⊥_i·L⊥_j / √((‖L⊥_i‖² + σ²)(‖L⊥_j‖² + σ²))        σ² the variance of what own regressions leave

Each item lists its ``width`` largest positive ρ. An item that takes part in no pairs lists the most rated items, with a
faint similarity: its predictions stay the user's own expectation, and its rank its popularity.
"""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.errors import InputError, require_settings
from discreet.kernels.neighbours import nearest
from discreet.models.denoise.item_biases import denoised
from discreet.models.denoise.spectral import rating_factors
from discreet.models.home.lists import check_width, home_of
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import ItemStatistics, Scaling
from discreet.models.sums.pair_sums import PairSums, Weighting
from discreet.models.sums.similarity_gradient import gradient_steps
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats, Indices


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
        neighbours[alone], kept[alone] = most_rated[alone], 1e-3
        return {**self.arrays, "neighbours": neighbours, "similarities": kept}


def check_lists(model: object) -> None:
    """Check the settings that the models with lists have in common."""
    require_settings(model, "neighbours", "factors", "audience", least=1)
    require_settings(model, "items", least=2)
    require_settings(model, "floor", above=0)
    require_settings(model, "pair_share", least=0, below=1)


def list_width(neighbours: int | None, size: int) -> int:
    """How many neighbours each item lists in a catalogue of ``size`` items: 200 if nothing else is said."""
    if neighbours is None:
        return max(1, min(200, size - 1))
    check_width(neighbours, size)
    return neighbours


@dataclass(frozen=True, kw_only=True)
class ListQueries:
    """What is asked for: how users are weighted in both sums, among how many items pairs, with which share.

    ``relative_weight`` is the κ² of pairs, ``clip`` where their residuals are clipped, in widths of the scale.
    """

    scaling: Scaling
    weighting: Weighting
    items: int
    share: float
    relative_weight: float = 0.1
    clip: float = 0.25

    @classmethod
    def of(
        cls,
        population: Population,
        audience: int,
        items: int | None,
        share: float | None,
        *,
        pattern: float = 0.0025,
        ratings: int = 100,
    ) -> "ListQueries":
        """Public: no rating is looked at.

        ``pattern`` is what a pattern explains of ratings beside users' own regressions, in squared widths of the scale;
        ``ratings`` how many a user has.
        """
        unit = population.unit
        items = min(items or 800, len(population.catalogue))
        by_user = unit is not None and unit.name == "user"
        queries = cls(
            scaling="user, l2" if by_user else "rating",
            weighting="user, l2" if by_user else "rating, l2",
            items=items,
            share=0.5 if share is None else share,
        )
        if unit is None:
            return queries
        noise = queries._noise(population)
        if noise is None and by_user:  # pairs of all that a user rated are too many for Laplace noise
            return replace(queries, scaling="user, l1", share=0.0)
        if noise is None:
            queries = replace(queries, weighting="rating, l1")
            noise = queries._noise(population)
        if share is None:
            assert noise is not None
            rated = min(ratings, items)
            of_a_user = rated**1.5 if queries.weighting == "rating, l2" else rated  # w n²
            eigenvalue = audience * of_a_user * pattern / queries.clip**2 / items
            queries = replace(queries, share=0.5 if eigenvalue > noise * items**0.5 else 0.0)
        return queries

    def item_sums(self, population: Population) -> tuple[ItemStatistics, Contribution]:
        """Counts and sums of the items: beside pairs with Gaussian noise, as it composes best; alone with less."""
        sums = ItemStatistics.of(population.catalogue, self.scaling)
        wanted = [replace(sums.contribution, noise="gaussian")]
        if self.share == 0 or self.weighting == "rating, l1":
            wanted.append(sums.contribution)
        return sums, min(wanted, key=population.deviation)

    def pair_sums(self, catalogue: Catalogue, rows: Indices, base: Floats) -> PairSums:
        """Products and co-occurrence counts of the listed items."""
        return PairSums(rows, base, self.clip * catalogue.scale.width, self.relative_weight, None, self.weighting)

    def _noise(self, population: Population) -> float | None:
        """The deviation of the noise on a product with the share of pairs; None without a delta, which it needs."""
        base = np.zeros(len(population.catalogue), dtype=np.float32)
        pairs = self.pair_sums(population.catalogue, np.arange(self.items, dtype=np.int32), base)
        asked = replace(pairs.contribution, noise="gaussian")
        try:
            return pairs.deviations(population.deviation(asked, self.share or 0.5))[0]
        except InputError:
            return None


def ask_for_lists(
    queries: ListQueries, population: Population, width: int, factors: int, features: bool, share: float = 1.0
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
        pairs = queries.pair_sums(catalogue, rows, base)
        asked, share = replace(pairs.contribution, noise="gaussian"), share * queries.share
        answer, deviation = population.sum(asked, share), population.deviation(asked, share)
        found = rating_factors(pairs, answer, deviation, counts[rows], factors)
        loadings = _unexplained(found, home.rows[rows], counts[rows])
        listed = min(width, len(rows) - 1)
        chosen, kept = nearest(_correlations(loadings, home.residual_variance), listed)
        neighbours[rows, :listed], similarities[rows, :listed] = rows[chosen], kept
    return Lists(arrays, home, neighbours, similarities)


class LearnedLists(Protocol):
    """The settings that models which learn from a start have in common."""

    @property
    def start(self) -> Literal["pairs", "constant"]:
        """Where lists and similarities come from before they are learned."""
        ...

    @property
    def even(self) -> float:
        """The similarity of all neighbours in a constant start."""
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
    width = list_width(model.neighbours, size)
    # Who cannot answer the steps says so here, before any budget is spent on the start.
    steps = gradient_steps((size, width), model.clip, model.steps, model.sampling_rate)
    population.deviation(steps, model.steps_share)
    pair_share = 0.0 if model.start == "constant" else model.pair_share
    queries = ListQueries.of(population, model.audience, model.items, pair_share)
    found = ask_for_lists(queries, population, width, model.factors, model.features, 1 - model.steps_share)
    if found.similarities.any():
        return found
    neighbours = constant_lists(found.arrays["counts"], width)
    even = np.full(neighbours.shape, model.even, dtype=np.float32)
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


def _unexplained(loadings: Floats, covariates: Floats, counts: Doubles) -> Doubles:
    """L⊥ above."""
    wide = covariates.astype(np.float64)
    weighted = wide * (counts / max(float(counts.sum()), 1e-9))[:, None]
    explained = np.linalg.solve(weighted.T @ wide + 1e-3 * np.eye(wide.shape[1]), weighted.T @ loadings)
    return np.asarray(loadings - wide @ explained)


def _correlations(loadings: Doubles, residual_variance: float) -> Floats:
    covariance = loadings @ loadings.T
    roots = np.sqrt(np.diag(covariance) + residual_variance)
    correlations = (covariance / (roots[:, None] * roots[None, :])).astype(np.float32)
    np.fill_diagonal(correlations, 0)
    return np.asarray(correlations)
