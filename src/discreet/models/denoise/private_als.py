"""Alternating least squares from noisy sums: the private form of :class:`~discreet.ALS`.

    1. One sum of counts and ratings of items        →  base_i = mean + b_i, counts n_i, and the items rated most
    2. Each sweep, at home: a user's own regression on a bias, public features f_i and the item factors q_i
       (:mod:`~discreet.models.home.user_regression`) gives the user's factors p_u
    3. Each sweep, one sum: the normal equations of each of these items for z_u = (B, p_u), left and right sides
       together (:mod:`~discreet.models.sums.factor_sums` has the weights and the bound: 1 for a user)
    4. The item side x_i = (b_i − b_i of step 1, q_i) = W f_i + ξ_i, by empirical Bayes from these sums;
       items that are rated less have W f_i alone

Every sum is booked: the first with one share of the budget, the sweeps with equal shares of the rest. The rest is
post-processing. Where a public rule says how many factors there are, a small look at how much users rate follows the
first (:mod:`~discreet.models.sums.activity`): users have two ratings for each factor, on average, or there are fewer.

**Discounted sums.** Once factors have converged, the sums of two sweeps differ in little but their noise. So sweep t
of T counts with weight discount^(T−t): the equations stay those of a least-squares problem, in which every user
appears once for each of their p_u, and noise averages out.

**Growing shares.** Early sweeps only have to point factors in the right direction: later ones correct what their noise
did. So the share of a sweep may grow from one to the next; an earlier sum, with more noise, counts less by as much.

**Biases at last.** Factors take up most of what a user may say in a sweep, so biases come out noisier than they need
be. A last sum may ask for biases alone: what the whole fit at home leaves of them, factors included.

**Initial factors.** Given, or the leading principal components of the public features, so that the first sweep is about
genres and years; without features, and for the remaining factors, random. Where more are given than were planned,
sweeps have as many as are given: they stood out of the noise and were paid for, and none is thrown away.

**Normal equations.** Known of item i, with c_i its weight and m_i about how much it was rated (weighted likewise):

    G_i + noise of deviation s'      the left side of its normal equations; off the diagonal s'/√2
    h_i = G_i x_i + error + noise    the right side: noise of deviation s, errors of variance σ² w c_i G_i

Three steps of empirical Bayes, from these noisy values and public constants alone:

**Left sides.** All items share a mean Ḡ: G_i = m_i Ḡ + m_i D_i. Ḡ is the ratio of sums over items, in which noise
averages out, projected to positive semidefinite matrices. The variance τ² of D is what ‖G_i − m_i Ḡ‖² has beyond
noise, and

    G_i  ←  m_i Ḡ + (G_i − m_i Ḡ) m_i² τ² / (m_i² τ² + noise)         projected likewise

With much noise all items have the common matrix and differ in their right sides only; with little each has its own.

**The map of public features.** x_i = W f_i + ξ_i, where ξ_i has variances t². W is a generalised ridge estimate about
its previous value: h_i has mean G_i W f_i and variance V_i = G_i diag(t²) G_i + σ² w c_i G_i + s² + g_i E‖x_i‖², where
g_i is the variance left on a cell of G_i. All items share W, so it can be estimated when single items cannot.

**Items.** The posterior mean x_i = W f_i + diag(t²) G_i V_i⁻¹ (h_i − G_i W f_i), and the variance of each coordinate.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.kernels.row_solves import beside, in_memory, library_of, positive, where_solved
from discreet.models.denoise.item_biases import Averages, NoisyCounts, covariates, denoised, posterior_counts
from discreet.models.sums.activity import Activity, activity_of_users
from discreet.models.sums.factor_sums import FactorSums, Weighting
from discreet.models.sums.item_statistics import ItemStatistics, scaling_for
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats, Progress


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits of MovieLens 1M with seeds 101 and 102 and on synthetic ratings of 20,000 users.

    The first four are in widths of the scale.
    """

    clip: float = 0.35
    """Where residuals are clipped."""
    residual_deviation: float = 0.2
    """The standard deviation of residuals."""
    factor_spread: float = 0.04
    """The prior standard deviation of ξ, and of initial factors."""
    map_spread: float = 0.02
    """The prior standard deviation of W about its previous value."""
    bias_constant: float = 0.7
    """The B of :mod:`~discreet.models.sums.factor_sums`."""
    relative_weight: float = 0.1
    """Its κ: right sides need more of the budget than left sides."""
    discount: float = 0.8
    """The weight of a sweep relative to the next."""
    growth: float = 1.25
    """The share of an almanac's sweep relative to the one before. This and the next were chosen on splits with the
    seeds 501 to 503 of MovieLens 1M, FilmTrust and made-up ratings."""
    settled: float = 2 / 3
    """After which part of its sweeps the whole covariance weight counts: with less of it, factors fit themselves."""
    covariance_weight: float = 1.0
    """The a of :mod:`~discreet.models.sums.factor_sums` in the last sweeps. It grows linearly until then: with all of
    it factors converge slowly."""
    exponent: float = 0.25
    """In the weighting ``adaptive``, items count in proportion to count to the power of minus this."""
    most_items: int = 20_000
    """How many items have normal equations at most: they must fit into memory."""
    ratings_of_a_factor: float = 2.0
    """A user must have so many ratings for each factor, on average, where a public rule says how many there are."""
    factors_of_a_user: float = 2.0
    """The variance of users' factors, by which what is left unknown of an item's factors adds to the variance of its
    ratings. It is 1 in the model; but factors are known less well than the equations say, as users' own are uncertain.
    Chosen on splits with the seeds 501 to 503 of all data of ``benchmarks/robust.py``."""
    tiny: float = 1e-9
    """Keeps divisions possible where nothing was counted."""


CONSTANTS = _Constants()


# ── Normal equations ──

TINY = 1e-9
"""Keeps divisions possible where nothing was counted and there is no noise."""


@dataclass(frozen=True, eq=False)
class NoisyEquations:
    """Noisy normal equations of many items.

    Parameters
    ----------
    grams, moments
        Left and right sides, items × d × d and items × d.
    masses
        About how much each item was rated: the m above.
    gram_deviation, deviation
        The s' and s above.
    residual_variance
        σ² w c_i, for each item.
    """

    grams: Doubles
    moments: Doubles
    masses: Doubles
    gram_deviation: float
    deviation: float
    residual_variance: Doubles

    def denoised(self) -> "NormalEquations":
        """With the left sides denoised."""
        grams, moments, masses, residual_variance = where_solved(
            len(self.grams), self.grams, self.moments, self.masses, self.residual_variance
        )
        total = max(float(masses.sum()), TINY)
        common = positive(grams.sum(0) / total)
        pooled = masses[:, None, None] * common
        difference = grams - pooled
        d = len(common)
        noise = self.gram_deviation**2 * (d + d * (d - 1) / 2)
        beyond = float(((difference**2).sum((1, 2)) - noise).sum()) / max(float((masses**2).sum()), TINY)
        own = masses**2 * max(beyond, 0.0)
        kept = own / (own + noise + TINY)
        grams = positive(pooled + kept[:, None, None] * difference)
        return NormalEquations(grams, moments, self.deviation, residual_variance, kept * noise / d**2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Normal equations of many items, their left sides denoised; arrays, or tensors where a GPU is used.

    Parameters
    ----------
    grams, moments, deviation, residual_variance
        As above.
    gram_variance
        The g above.
    """

    grams: Any
    moments: Any
    deviation: float
    residual_variance: Any
    gram_variance: Any

    def _precisions(self, expected: Any, variances: Any) -> Any:
        """V⁻¹ of every item."""
        of_items_own = (self.grams * variances[:, None, :]) @ self.grams
        length = (expected**2 + variances).sum(1)
        (diagonal,) = beside(self.grams, np.eye(self.grams.shape[1]))
        noise = (self.deviation**2 + self.gram_variance * length + TINY)[:, None, None] * diagonal
        return library_of(noise).linalg.inv(of_items_own + self.residual_variance[:, None, None] * self.grams + noise)

    def map_of(self, features: Doubles, start: Doubles, variances: Doubles, spreads: Doubles) -> Doubles:
        """W above, d × features, about ``start`` with ``spreads`` (of the same shape)."""
        (d, p), size = start.shape, len(features)
        f, w, variance = beside(self.grams, features, start, variances)
        from_precision = self.grams @ self._precisions(f @ w.T, variance)
        of_items = (from_precision @ self.grams).reshape(size, d * d)
        pairs = (f[:, :, None] * f[:, None, :]).reshape(size, p * p)
        gram = (of_items.T @ pairs).reshape(d, d, p, p).swapaxes(1, 2).reshape(d * p, d * p)
        left = (from_precision @ (self.moments - self._expected(f @ w.T))[:, :, None])[:, :, 0]
        moment = (left.T @ f).reshape(-1)
        step = np.linalg.solve(in_memory(gram) + np.diag(1 / spreads.ravel() ** 2), in_memory(moment))
        return np.asarray(start + step.reshape(d, p))

    def items(self, expected: Doubles, variances: Doubles) -> tuple[Doubles, Doubles]:
        """Posterior means and variances of x about ``expected``."""
        x, variance = beside(self.grams, expected, variances)
        towards = variance[:, :, None] * (self.grams @ self._precisions(x, variance))
        found = x + (towards @ (self.moments - self._expected(x))[:, :, None])[:, :, 0]
        removed = library_of(towards).einsum("iab,iba->ia", towards, self.grams * variance[:, None, :])
        return in_memory(found), in_memory((variance - removed).clip(0))

    def _expected(self, items: Any) -> Any:
        return (self.grams @ items[:, :, None])[:, :, 0]


# ── Sweeps ──


@dataclass(frozen=True)
class ALSQueries:
    """What will be asked for. With no factors, each sweep asks for the item biases that users' own fits leave over.

    ``relative_weight`` is the κ of :mod:`~discreet.models.sums.factor_sums`. With an ``activity_share``, factors are at
    most as many as users have ratings for; ``planned`` is then how many there were going to be. The share of a sweep is
    ``growth`` times that of the one before, and the covariance weight grows until ``settled`` of the sweeps are over.
    ``last_share`` is for biases at last.
    """

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
    relative_weight: float = CONSTANTS.relative_weight
    activity_share: float = 0.0
    planned: int = 0
    growth: float = 1.0
    settled: float = 1.0
    last_share: float = 0.0

    @classmethod
    def of(cls, *, factors: int, sweeps: int, items: int, share: float, last: float, features: bool) -> "ALSQueries":
        """Sweeps with this share of the budget, after item sums that were asked for otherwise."""
        return cls(
            factors=factors,
            sweeps=sweeps,
            items=items,
            item_sums_share=1 - share,
            weighting="adaptive",
            kept=1,
            exponent=CONSTANTS.exponent,
            features=features,
            free=True,
            seed=0,
            growth=CONSTANTS.growth if factors else 1.0,
            settled=CONSTANTS.settled,
            last_share=last,
        )

    @property
    def sweep_shares(self) -> Doubles:
        """Of the budget, for each sweep."""
        relative = self.growth ** np.arange(self.sweeps)
        left = 1 - self.item_sums_share - self.activity_share - self.last_share
        return np.asarray(left * relative / relative.sum())

    def capped(self, population: Population) -> "ALSQueries":
        """With no more factors than users have ratings for, by a noisy look at how much they rate."""
        if self.activity_share == 0:
            return self
        asked = activity_of_users()
        answer, deviation = population.sum(asked, self.activity_share), population.deviation(asked, self.activity_share)
        rated = Activity.by_histogram(answer, deviation).mean_ratings
        most = max(1, int(rated / CONSTANTS.ratings_of_a_factor))
        return replace(self, factors=min(self.factors, most), planned=self.factors)


@dataclass(frozen=True, eq=False)
class ItemSide:
    """What is known of the items after a sweep."""

    base: Floats
    unknown: Doubles
    of_bias: Doubles  # the part of what is unknown that is about the base alone
    factors: Doubles
    mapped: Doubles  # W above, one row for the bias and one for each factor


def fit_private(queries: ALSQueries, population: Population, progress: Progress) -> dict[str, AnyArray]:
    """The released arrays."""
    check_answers(queries, population)
    averages = ask_for_averages(queries, population)
    queries = queries.capped(population)
    progress(1, queries.sweeps + 1, "item sums")
    side, _ = refined(queries, population, averages, progress)
    mean = float(averages.share @ side.base)
    return {
        "mean": np.array([mean], dtype=np.float32),
        "item_bias": side.base - np.float32(mean),
        "unknown": side.unknown.astype(np.float32),
        "counts": averages.counts.astype(np.float32),
        "item_factors": side.factors.astype(np.float32),
    }


def refined(
    queries: ALSQueries, population: Population, averages: Averages, progress: Progress, start: Floats | None = None
) -> tuple[ItemSide, NoisyCounts]:
    """Steps 2 to 4, as often as there are sweeps, from factors ``start``; and how often items are rated, by them.

    Where ``start`` has more factors than the queries, so have all sweeps.
    """
    catalogue, known = population.catalogue, 0 if start is None else start.shape[1]
    queries = replace(queries, factors=max(queries.factors, known))
    features = _features(catalogue, queries)
    centred = features - averages.share @ features
    side = start_of_items(queries, averages, centred, catalogue.scale.width)
    side.factors[:, :known] = 0.0 if start is None else start
    grams, moments = np.zeros((1, 1, 1)), np.zeros((1, 1))
    times, noise, counts = 0.0, 0.0, NoisyCounts(averages.counts[averages.listed], np.inf)
    discount = CONSTANTS.discount / queries.growth
    for sweep, share in enumerate(queries.sweep_shares.tolist()):
        asked = step(queries, sweep, averages, side, features, catalogue)
        left, right = asked.normal_equations(population.sum(asked.contribution, share))
        deviation = population.deviation(asked.contribution, share)
        grams, moments = discount * grams + left, discount * moments + right
        times, noise = discount * times + 1, float(np.hypot(discount * noise, deviation))
        equations = _equations(queries, averages, asked, grams / times, moments / times, noise / times, catalogue)
        side = next_items(queries, averages, side, equations, centred, catalogue.scale.width)
        counts = _said_of_counts(queries, averages, asked, grams / times, noise / times)
        progress(sweep + 2, queries.sweeps + 1, "sweeps")
    if queries.last_share > 0:
        side = with_biases_at_last(queries, population, averages, side)
    return side, counts


def with_biases_at_last(queries: ALSQueries, population: Population, averages: Averages, side: ItemSide) -> ItemSide:
    """One more sum, of a sweep without factors of its own: users' fits have those of the side."""
    catalogue, alone = population.catalogue, replace(queries, factors=0, planned=0)
    features = _features(catalogue, queries)
    known = replace(averages, base=side.base, unknown=side.of_bias)
    asked = step(alone, 0, known, side, features, catalogue)
    left, right = asked.normal_equations(population.sum(asked.contribution, queries.last_share))
    noise = population.deviation(asked.contribution, queries.last_share)
    equations = _equations(alone, known, asked, left, right, noise, catalogue)
    start = replace(side, mapped=np.zeros((1, features.shape[1])))
    found = next_items(alone, known, start, equations, features - known.share @ features, catalogue.scale.width)
    return replace(side, base=found.base, unknown=side.unknown - side.of_bias + found.of_bias, of_bias=found.of_bias)


def item_sums(population: Population) -> ItemStatistics:
    """The first sum."""
    return ItemStatistics.of(population.catalogue, scaling_for(population.unit))


def ask_for_averages(queries: ALSQueries, population: Population) -> Averages:
    """Step 1; the items that take part are those with the largest noisy counts."""
    sums = item_sums(population)
    asked = _gaussian(sums.contribution)
    noise = population.deviation(asked, queries.item_sums_share)
    noisy_counts, noisy_sums = population.sum(asked, queries.item_sums_share)
    features = _features(population.catalogue, queries).astype(np.float32)
    counts, bias, unknown = denoised(sums, noisy_counts, noisy_sums, noise, features)
    listed = np.sort(np.argsort(-noisy_counts, kind="stable")[: queries.items]).astype(np.int32)
    return Averages((sums.base + bias).astype(np.float32), unknown, counts / sums.typical_weight, listed)


def start_of_items(queries: ALSQueries, averages: Averages, centred: Doubles, width: float) -> ItemSide:
    """Factors along the leading principal components of the public features, equally spread; the others random."""
    mapped = np.zeros((queries.factors + 1, centred.shape[1]))
    values, vectors = np.linalg.eigh((centred * averages.share[:, None]).T @ centred)
    components = min(queries.factors, int((values > 1e-6).sum()))
    for component in range(1, components + 1):
        mapped[component] = vectors[:, -component] * CONSTANTS.factor_spread * width / values[-component] ** 0.5
    factors = centred @ mapped[1:].T
    random = np.random.default_rng(queries.seed).normal(0, CONSTANTS.factor_spread * width, factors.shape)
    factors[:, components:] = random[:, components:]
    return ItemSide(averages.base, averages.unknown, averages.unknown, factors, mapped)


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
        clip=CONSTANTS.clip * width,
        constant=CONSTANTS.bias_constant,
        relative_weight=queries.relative_weight,
        covariance_weight=CONSTANTS.covariance_weight * min(1.0, (sweep + 1) / (queries.settled * queries.sweeps)),
        draw=(queries.seed, sweep),
        planned=queries.planned,
    )


def next_items(
    queries: ALSQueries, averages: Averages, side: ItemSide, equations: NormalEquations, centred: Doubles, width: float
) -> ItemSide:
    """Step 4."""
    listed = averages.listed
    variances = np.full((len(listed), queries.factors + 1), (CONSTANTS.factor_spread * width) ** 2)
    variances[:, 0] = averages.unknown[listed] / CONSTANTS.bias_constant**2
    spreads = np.full(side.mapped.shape, CONSTANTS.map_spread * width)
    spreads[0] /= CONSTANTS.bias_constant
    mapped = equations.map_of(centred[listed], side.mapped, variances, spreads) if centred.shape[1] else side.mapped
    items = centred @ mapped.T
    found, left = equations.items(items[listed], variances)
    if queries.free:
        items[listed] = found
    else:
        items[listed, 0] = found[:, 0]
    of_bias = averages.unknown.copy()
    of_bias[listed] = left[:, 0] * CONSTANTS.bias_constant**2
    unknown = of_bias.copy()
    unknown[listed] += CONSTANTS.factors_of_a_user * left[:, 1:].sum(axis=1)
    base = (averages.base + CONSTANTS.bias_constant * items[:, 0]).astype(np.float32)
    return ItemSide(base, unknown, of_bias, items[:, 1:], mapped)


def _equations(
    queries: ALSQueries,
    averages: Averages,
    asked: FactorSums,
    grams: Doubles,
    moments: Doubles,
    noise: float,
    catalogue: Catalogue,
) -> NormalEquations:
    """The normal equations, denoised."""
    weights = asked.item_weights
    masses = averages.counts[averages.listed] * weights
    said = grams[:, 0, 0] / CONSTANTS.bias_constant**2  # Σ_u w_u c_i, with noise
    of_a_rating = max(float(said.sum()) / max(float(masses.sum()), CONSTANTS.tiny), 1e-6)
    if queries.weighting == "tail":  # kept ratings of an item are fewer than its count
        masses = posterior_counts(said, noise / queries.relative_weight / CONSTANTS.bias_constant**2)
    residual_variance = (CONSTANTS.residual_deviation * catalogue.scale.width) ** 2 * of_a_rating * weights
    return NoisyEquations(grams, moments, masses, noise / queries.relative_weight, noise, residual_variance).denoised()


def _said_of_counts(
    queries: ALSQueries, averages: Averages, asked: FactorSums, grams: Doubles, noise: float
) -> NoisyCounts:
    """The first cells of the left sides are Σ_u w_u c_i B² over who rated item i: counts, up to one common factor."""
    squared, weights = CONSTANTS.bias_constant**2, asked.item_weights
    said, deviations = grams[:, 0, 0] / squared / weights, noise / queries.relative_weight / squared / weights
    known = averages.counts[averages.listed]
    trust = weights**2  # as the variances differ
    of_a_rating = float((said * known * trust).sum() / max(float((known**2 * trust).sum()), CONSTANTS.tiny))
    of_a_rating = max(of_a_rating, CONSTANTS.tiny)
    return NoisyCounts(said / of_a_rating, deviations / of_a_rating)


def check_answers(queries: ALSQueries, population: Population) -> None:
    """Raise before anything is spent where a sum of the queries cannot be had."""
    population.deviation(_gaussian(item_sums(population).contribution), queries.item_sums_share)
    population.deviation(sample_factor_sums(queries, population.catalogue).contribution, queries.sweep_shares[0])


def sample_factor_sums(queries: ALSQueries, catalogue: Catalogue) -> FactorSums:
    """A sweep's sum on placeholder averages: to know its noise before anything is asked."""
    size = len(catalogue)
    zeros, features = np.zeros(size), _features(catalogue, queries)
    averages = Averages(zeros.astype(np.float32), zeros, zeros, np.arange(queries.items, dtype=np.int32))
    side = ItemSide(averages.base, zeros, zeros, np.zeros((size, queries.factors)), np.zeros((queries.factors + 1, 0)))
    return step(queries, 0, averages, side, features, catalogue)


def _features(catalogue: Catalogue, queries: ALSQueries) -> Doubles:
    return item_features(catalogue).astype(np.float64)[:, : None if queries.features else 0]


def _gaussian(contribution: Contribution) -> Contribution:
    return replace(contribution, noise="gaussian")
