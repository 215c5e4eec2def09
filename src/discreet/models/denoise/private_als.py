"""Alternating least squares through noise: how :class:`~discreet.ALS` learns where users are to be hidden.

    1. One sum of counts and ratings of items        →  base_i = mean + b_i, counts n_i, and the items rated most
    2. Each sweep, at home: a user's own regression on generosity, public features f_i and the item factors q_i
       (:mod:`~discreet.models.home.user_regression`) gives the user's factors p_u
    3. Each sweep, one sum: what z_u = (B, p_u) says about each of these items, left and right sides of their normal
       equations together (:mod:`~discreet.models.sums.factor_sums` has the weights and the bound: 1 for a user)
    4. The item side x_i = (b_i − b_i of step 1, q_i) = W f_i + free part, by empirical Bayes from these sums
       (:mod:`~discreet.models.denoise.normal_equations`); items that are rated less have W f_i alone

Every sum is booked: the first with one share of the budget, the sweeps with equal shares of the rest. What is made of
them costs nothing more: the mean and the head items come from step 1, and W from the sums of step 3.

**What earlier sweeps said is not thrown away.** Once factors have settled, the sums of two sweeps differ little but in
their noise. Sweep t counts with weight MEMORY^(T−t): the equations stay those of a least-squares problem, in which
every user appears once for each of their p_u, and noise averages out.

**Where q starts.** At the leading patterns of the public features, so that the first sweep is about tastes for genres
and ages; without features, and for what is left of the factors, at random.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.models.denoise.normal_equations import NoisyEquations, NormalEquations
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.factor_sums import FactorSums, Weighting
from discreet.models.sums.item_sums import ItemSums, posterior_biases, posterior_counts
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress

# Public constants, chosen on splits of MovieLens 1M with seeds 101 and 102 and on made-up ratings of 20,000 users.
CLIP, RESIDUAL_DEVIATION, SPREAD, MAP_SPREAD = 0.35, 0.2, 0.04, 0.02
"""In widths of the scale: the furthest a residual counts, how far it strays, how far items' free parts spread, and how
far W may move from where it starts."""
CONSTANT, BESIDE = 0.7, 0.1
"""B and κ in :mod:`~discreet.models.sums.factor_sums`."""
MEMORY, CAUTION = 0.8, 1.0
"""How much an earlier sweep still counts, and the share of what users do not know of their factors that is added to the
left sides in the last sweep; before it grows evenly, for with all of it factors are found slowly."""
FAINT = 1e-9


@dataclass(frozen=True)
class ALSQueries:
    """What will be asked for, settled from public facts alone."""

    factors: int
    sweeps: int
    items: int
    item_sums_share: float
    weighting: Weighting
    kept: int
    exponent: float
    features: bool
    free: bool
    seed: int

    @property
    def sweep_share(self) -> float:
        """Of the budget, for each sweep."""
        return (1 - self.item_sums_share) / self.sweeps


@dataclass(frozen=True, eq=False)
class Averages:
    """What the first sum says of every item: expected rating, what is unknown of it, how often it was rated."""

    base: Floats
    unknown: Doubles
    counts: Doubles
    listed: Indices

    @property
    def share(self) -> Doubles:
        """Of all ratings."""
        return np.asarray(self.counts / max(float(self.counts.sum()), FAINT))


@dataclass(frozen=True, eq=False)
class ItemSide:
    """What is known of the items after a sweep."""

    base: Floats
    unknown: Doubles
    factors: Doubles
    mapped: Doubles  # W above, one row for the bias and one for each factor


def fit_private(queries: ALSQueries, population: Population, progress: Progress) -> dict[str, AnyArray]:
    """The released arrays."""
    catalogue = population.catalogue
    check_answers(queries, population)
    averages = ask_for_averages(queries, population)
    progress(1, queries.sweeps + 1, "item sums")
    features = _features(catalogue, queries)
    centred = features - averages.share @ features
    side = start_of_items(queries, averages, centred, catalogue.scale.width)
    grams, moments = np.zeros((1, 1, 1)), np.zeros((1, 1))
    times, noise = 0.0, 0.0
    for sweep in range(queries.sweeps):
        asked = step(queries, sweep, averages, side, features, catalogue)
        left, right = asked.normal_equations(population.sum(asked.contribution, queries.sweep_share))
        deviation = population.deviation(asked.contribution, queries.sweep_share)
        grams, moments = MEMORY * grams + left, MEMORY * moments + right
        times, noise = MEMORY * times + 1, float(np.hypot(MEMORY * noise, deviation))
        equations = _equations(queries, averages, asked, grams / times, moments / times, noise / times, catalogue)
        side = next_items(queries, averages, side, equations, centred, catalogue.scale.width)
        progress(sweep + 2, queries.sweeps + 1, "sweeps")
    mean = float(averages.share @ side.base)
    return {
        "mean": np.array([mean], dtype=np.float32),
        "item_bias": side.base - np.float32(mean),
        "unknown": side.unknown.astype(np.float32),
        "counts": averages.counts.astype(np.float32),
        "item_factors": side.factors.astype(np.float32),
    }


def item_sums(population: Population) -> ItemSums:
    """The first sum."""
    by_user = population.unit is not None and population.unit.name == "user"
    return ItemSums.of(population.catalogue, "user, l2" if by_user else "rating")


def ask_for_averages(queries: ALSQueries, population: Population) -> Averages:
    """Step 1; the items that take part are those with the largest noisy counts."""
    sums = item_sums(population)
    asked = _gaussian(sums.contribution)
    noise = population.deviation(asked, queries.item_sums_share)
    noisy_counts, noisy_sums = population.sum(asked, queries.item_sums_share)
    weight = sums.typical_weight
    features = _features(population.catalogue, queries).astype(np.float32)
    counts = posterior_counts(noisy_counts, noise)
    bias, unknown = posterior_biases(
        counts, noisy_sums * sums.points, noise * sums.points, weight, features, population.catalogue.scale.width
    )
    listed = np.sort(np.argsort(-noisy_counts, kind="stable")[: queries.items]).astype(np.int32)
    return Averages((sums.base + bias).astype(np.float32), unknown, counts / weight, listed)


def start_of_items(queries: ALSQueries, averages: Averages, centred: Doubles, width: float) -> ItemSide:
    """Factors along the leading patterns of the public features, each spread alike; the others at random."""
    mapped = np.zeros((queries.factors + 1, centred.shape[1]))
    values, vectors = np.linalg.eigh((centred * averages.share[:, None]).T @ centred)
    patterns = min(queries.factors, int((values > 1e-6).sum()))
    for pattern in range(1, patterns + 1):
        mapped[pattern] = vectors[:, -pattern] * SPREAD * width / values[-pattern] ** 0.5
    factors = centred @ mapped[1:].T
    random = np.random.default_rng(queries.seed).normal(0, SPREAD * width, factors.shape)
    factors[:, patterns:] = random[:, patterns:]
    return ItemSide(averages.base, averages.unknown, factors, mapped)


def step(
    queries: ALSQueries, sweep: int, averages: Averages, side: ItemSide, features: Doubles, catalogue: Catalogue
) -> FactorSums:
    """What is asked for in one sweep."""
    width = catalogue.scale.width
    return FactorSums(
        known=covariates(side.base, side.unknown, averages.counts, features, side.factors, width),
        base=averages.base,
        factors=queries.factors,
        listed=averages.listed,
        counts=averages.counts,
        weighting=queries.weighting,
        kept=queries.kept,
        exponent=queries.exponent,
        clip=CLIP * width,
        constant=CONSTANT,
        relative_weight=BESIDE,
        caution=CAUTION * (sweep + 1) / queries.sweeps,
        draw=(queries.seed, sweep),
    )


def covariates(
    base: AnyArray, unknown: AnyArray, counts: AnyArray, features: AnyArray, factors: AnyArray, width: float
) -> UserRegression:
    """What users' own regressions need, the item factors last."""
    return UserRegression.of(
        np.asarray(base, dtype=np.float32),
        np.asarray(unknown, dtype=np.float32),
        np.asarray(counts, dtype=np.float32),
        np.asarray(features, dtype=np.float32),
        np.asarray(factors, dtype=np.float32),
        width,
    )


def next_items(
    queries: ALSQueries, averages: Averages, side: ItemSide, equations: NormalEquations, centred: Doubles, width: float
) -> ItemSide:
    """Step 4."""
    listed = averages.listed
    variances = np.full((len(listed), queries.factors + 1), (SPREAD * width) ** 2)
    variances[:, 0] = averages.unknown[listed] / CONSTANT**2
    spreads = np.full(side.mapped.shape, MAP_SPREAD * width)
    spreads[0] /= CONSTANT
    mapped = equations.map_of(centred[listed], side.mapped, variances, spreads) if centred.shape[1] else side.mapped
    items = centred @ mapped.T
    found, left = equations.items(items[listed], variances)
    if queries.free:
        items[listed] = found
    else:
        items[listed, 0] = found[:, 0]
    unknown = averages.unknown.copy()
    unknown[listed] = left[:, 0] * CONSTANT**2
    return ItemSide((averages.base + CONSTANT * items[:, 0]).astype(np.float32), unknown, items[:, 1:], mapped)


def _equations(
    queries: ALSQueries,
    averages: Averages,
    asked: FactorSums,
    grams: Doubles,
    moments: Doubles,
    noise: float,
    catalogue: Catalogue,
) -> NormalEquations:
    """The normal equations with all that is known of their noise."""
    weights = asked.item_weights
    masses = averages.counts[averages.listed] * weights
    said = grams[:, 0, 0] / CONSTANT**2  # Σ_u w_u c_i, with noise
    of_a_rating = max(float(said.sum()) / max(float(masses.sum()), FAINT), 1e-6)
    if queries.weighting == "tail":  # what is kept of an item is another thing than how often it was rated
        masses = posterior_counts(said, noise / BESIDE / CONSTANT**2)
    residual_variance = (RESIDUAL_DEVIATION * catalogue.scale.width) ** 2 * of_a_rating * weights
    return NoisyEquations(grams, moments, masses, noise / BESIDE, noise, residual_variance).denoised()


def check_answers(queries: ALSQueries, population: Population) -> None:
    """Raise before anything is spent where a sum of the queries cannot be had."""
    population.deviation(_gaussian(item_sums(population).contribution), queries.item_sums_share)
    population.deviation(sample_factor_sums(queries, population.catalogue).contribution, queries.sweep_share)


def sample_factor_sums(queries: ALSQueries, catalogue: Catalogue) -> FactorSums:
    """A sweep's sum on made-up averages: to know its noise before anything is asked."""
    size = len(catalogue)
    zeros, features = np.zeros(size), _features(catalogue, queries)
    averages = Averages(zeros.astype(np.float32), zeros, zeros, np.arange(queries.items, dtype=np.int32))
    side = ItemSide(averages.base, zeros, np.zeros((size, queries.factors)), np.zeros((queries.factors + 1, 0)))
    return step(queries, 0, averages, side, features, catalogue)


def _features(catalogue: Catalogue, queries: ALSQueries) -> Doubles:
    found = item_features(catalogue).astype(np.float64)
    return found if queries.features else found[:, :0]


def _gaussian(contribution: Contribution) -> Contribution:
    return replace(contribution, noise="gaussian")
