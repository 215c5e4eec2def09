"""What an almanac asks for: the shares of the budget with which held-out ratings are expected to be predicted best.

A held-out rating of item i costs, in nats, what the release does not tell of it:

    J  =  r · ½ (B − F) / σ²  +  i · (C − G)          r, i: the weights of ratings and of rankings, by the purpose

    B  =  Σ p_i t² e_i / (t² + e_i)                   item biases: t² their variance, e_i the error of item i's mean,
                                                      from sampling, σ²/n_i, and from noise
    C  =  ¼ Σ p_i / (1 + n_i²/s_i²)                   popularity: s_i the noise on count n_i
    F  =  q Σ_k v_k L_k c_k,       v_k = f/k          what patterns of ratings explain, in squared widths of the scale
    G  =  ½ q Σ_k g_k L_k c_k,     g_k = g/k          what patterns of who rates what explain

p_i is item i's share of all ratings, and q that of the items that take part. L_k is how much of their place in pattern
k a user with n ratings can learn, on average over users: n q v_k / (σ² + n q v_k), and n q g_k / (1 + n q g_k). c_k is
how clearly a pattern is seen:

    pairs of the K most rated items    max(0, 1 − s² K / θ_k²): the squared cosine between an eigenvector under noise
                                       and the pattern, whose eigenvalue is θ_k (Baik, Ben Arous & Péché 2005). s² is
                                       the variance of a cell by noise and by sampling. θ_k = g_k λ for counts, λ =
                                       Σ_u w_u n_u (n_u − 1) Σ p_i²/q²; and v_k λ/clip² for products of residuals
    sweeps                             Σ p_i v_k / (v_k + e_ik), e_ik the error of item i's place in pattern k

Counts of pairs tell of popularity too: it is their first eigenvector.

All noise is known beforehand as a function of the share, so J is computed for every division of what is left into
eighths, for every weight of sums beside counts and number of factors. K is the best for the share. Where a rating is
protected, item sums alone have Laplace noise; beside pairs all noise is Gaussian. Without a delta all noise is
Laplace's, and a whole user is protected in item sums alone. Without noise everything is asked.

p_i, n_i and what users rate come from noisy answers that were paid for, so planning costs nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from discreet.errors import InputError
from discreet.models.denoise.private_als import CONSTANTS as SWEEPS
from discreet.models.sums.activity import Activity, Known
from discreet.models.sums.item_statistics import ItemStatistics, Scaling
from discreet.models.sums.pair_sums import PairSums, Weighting
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.unit import Bound
from discreet.types import AnyArray, Doubles, Floats, Indices

Purpose = Literal["both", "ratings", "ranking"]
PURPOSES: tuple[Purpose, ...] = ("both", "ratings", "ranking")
Noise = Literal["gaussian"] | None
"""Of item sums; None for Laplace noise."""


@dataclass(frozen=True)
class _Constants:
    """Lengths are in widths of the scale."""

    bias_spread: float = 0.12
    """How far item biases spread, t above."""
    residual: float = 0.2
    """How far ratings lie from what is expected of them, sigma above."""
    rating_patterns: float = 0.004
    """What the first pattern of ratings explains: f."""
    taste_patterns: float = 0.25
    """The same of who rates what, in squared popularity: g."""
    patterns: int = 12
    """How many patterns are counted: what the others explain is not learned from a few hundred ratings."""
    popularity: float = 0.25
    """What popularity costs where noise hides it, of p_i: half of ½, as counts are denoised together."""
    popularity_spread: float = 0.15
    """How far the first eigenvector of pairs lies from popularity, relative to it."""
    memory: float = 0.25
    """What sweeps with factors are worth, of one with their whole share: earlier ones point factors, and are
    discounted."""
    biases_at_last: float = 0.12
    """What item biases alone get of the share of sweeps with factors, after these."""
    start: float = 0.25
    """What products of pairs get of the share of sweeps, to start from, where items have no features."""
    clip: float = 0.25
    """Where residuals are clipped in products."""
    clip_without_noise: float = 1.125
    """Where residuals in item sums are clipped without noise, in half widths of the scale: with 1 items that many rate
    at the bottom lose where most ratings are at the top; more clips none, and a single low rating weighs too much."""
    counts_beside_products: float = 0.05
    """κ² of :mod:`~discreet.models.sums.pair_sums`: products have a sum of their own, and counts another."""


CONSTANTS = _Constants()
WEIGHTS: dict[Purpose, tuple[float, float]] = {"ratings": (1.0, 0.03), "both": (1.0, 0.6), "ranking": (0.1, 1.0)}
"""r and i."""
EIGHTHS = 8
RELATIVE_WEIGHTS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Of sums beside counts."""
MOST_WEIGHT = 2.0
"""The largest of them with the unit rating, where it decides how many users can be summed exactly."""
FACTORS = (0, 1, 2, 4, 8)
"""Of ratings, in sweeps."""
ITEMS = (20, 4096)
"""Among how many items pairs are asked for: two square matrices of 64 MB at most."""
ROUNDING = 1e-6
"""What of a share is not spent where it was split: each noise is rounded."""


@dataclass(frozen=True)
class Plan:
    """What is asked for: shares of the budget, which sum to what was left.

    Parameters
    ----------
    noise, relative_weight, items
        Of item sums: their noise, the weight of sums beside counts, and their share (of epsilon with Laplace noise, of
        μ² otherwise, as all that follow).
    sweeps, factors
        The share of sweeps, and how many factors they have.
    counts, counted
        The share of co-occurrence counts, and of how many items.
    products, rated
        The same of products of residuals.
    start
        Of how many items products are asked for, for sweeps to start from.
    terms
        What is expected of each of :data:`~discreet.releases.choices.TERMS`, in nats; their sum is J.
    before
        The same if nothing more were asked.
    """

    noise: Noise
    relative_weight: float
    items: float
    sweeps: float = 0.0
    factors: int = 0
    counts: float = 0.0
    counted: int = 0
    products: float = 0.0
    rated: int = 0
    start: int = 0
    terms: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    before: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)

    @property
    def expected(self) -> float:
        """J."""
        return sum(self.terms)

    @property
    def array(self) -> Floats:
        """What a release says of its plan: for each term what was expected before it, and of it."""
        return np.array([self.before, self.terms], dtype=np.float32).T


class Planner:
    """The noise of every question as a function of its share, and the plan with the least J.

    ``noise`` is that of all questions but the first ones of ratings: Gaussian, or None for Laplace noise where there
    is no delta, and for no noise at all.
    """

    def __init__(self, population: Population) -> None:
        catalogue, unit = population.catalogue, population.unit
        self._population, self._size, self.width = population, len(catalogue), catalogue.scale.width
        self.exact, self.by_user = unit is None, unit is not None and unit.name == "user"
        self.noise: Noise = "gaussian" if unit is not None and _has_delta(population) else None
        pure = self.noise is None and not self.exact
        of_users: Scaling = "user, l1" if pure else "user, l2"
        self.sums = ItemStatistics.of(catalogue, of_users if self.by_user else "rating")
        self.weighting: Weighting = "user, l2" if self.by_user else "rating, l1" if pure else "rating, l2"
        if self.exact:
            self.sums = replace(self.sums, clip=CONSTANTS.clip_without_noise)
            return
        if not self.by_user:
            self.sums = replace(self.sums.clipped_tightly(), heaviest=MOST_WEIGHT)
        # All of these are asked now, so that who cannot answer one says so before anything is spent.
        self._asks_more = not (pure and self.by_user)  # pairs of all that a user rated are too many for Laplace noise
        if self._asks_more:
            none, two = np.zeros(self._size, dtype=np.float32), np.arange(min(2, self._size), dtype=np.int32)
            counted, products = self.pairs(two, none, rated=False), self.pairs(two, none, rated=True)
            self._asked = counted.contribution
            self._counted = counted.deviations(self._deviation(self._asked, self.noise))[1]
            self._products = products.deviations(self._deviation(products.contribution, self.noise))[0]
        if self.sweeps:
            one = Contribution("an answer of length 1", (1,), lambda _: np.zeros(1), (Bound("user", "l2", 1.0),))
            self._of_users = self._deviation(one, "gaussian")
        most = RELATIVE_WEIGHTS[-1] if self.by_user else MOST_WEIGHT
        weights = [0.0] if self.sums.counts_alone else [weight for weight in RELATIVE_WEIGHTS if weight <= most]
        noises: set[Noise] = {self.noise} if self.by_user else {None, self.noise}
        self._items = {(noise, weight): self._of_items(weight, noise) for noise in noises for weight in weights}

    @property
    def sweeps(self) -> bool:
        """Whether users' own fits can be asked for what they leave, and what they have in common."""
        return self.by_user and self.noise == "gaussian"

    def pairs(self, rows: Indices, base: Floats, *, rated: bool) -> PairSums:
        """Products of residuals about ``base`` and, with little weight, counts; or co-occurrence counts alone."""
        if rated:
            clip, weight = CONSTANTS.clip * self.width, CONSTANTS.counts_beside_products
            return PairSums(rows, base, clip, weight, None, self.weighting)
        return PairSums(rows, base, math.inf, 1.0, None, self.weighting)  # all residuals are clipped to 0

    def answer(self, pairs: PairSums, population: Population, share: float) -> tuple[AnyArray, float]:
        """The noisy answer, and the deviation of its noise."""
        asked, share = replace(pairs.contribution, noise=self.noise), share * (1 - ROUNDING)
        return population.sum(asked, share), population.deviation(asked, share)

    def gaussian(self, left: float) -> float:
        """The share of μ² that is left with this share of epsilon; without a delta, that share."""
        if self.by_user or self.noise is None:
            return left
        return (self._deviation(self._asked, "gaussian") / self._population.deviation(self._asked, left)) ** 2

    def _deviation(self, asked: Contribution, noise: Noise) -> float:
        return self._population.deviation(replace(asked, noise=noise))

    def _variance(self, deviation: float, shares: Doubles) -> Doubles:
        """Of the noise, for each share, where the whole budget has this deviation."""
        return deviation**2 / np.maximum(shares if self.noise else shares**2, 1e-12)

    def _of_items(self, weight: float, noise: Noise) -> tuple[float, float]:
        """The deviation of the noise on counts and, in widths of the scale, on sums, for the whole budget."""
        sums = replace(self.sums, relative_weight=weight)
        deviation = self._deviation(sums.contribution, noise) * sums.typical_length(weight)
        return deviation, deviation * sums.points / self.width if weight else math.inf

    # ── The objective ──

    def plan(self, purpose: Purpose, known: Known, left: float) -> Plan:
        """The plan with the least J for what is left: of μ² with the unit user, of epsilon with the unit rating.

        Of plans that tell equally much, the first: item sums before all else.
        """
        if self.exact:
            most, products = min(self._size, ITEMS[1]), float(not self.sums.counts_alone)
            return Plan(None, self.sums.relative_weight, 0.0, counts=1.0, counted=most, products=products, rated=most)
        return min(self.plans(purpose, known, left), key=lambda plan: plan.expected)

    def plans(self, purpose: Purpose, known: Known, left: float) -> Iterator[Plan]:
        """Every plan, with what is expected of it."""
        of_ratings, of_rankings = WEIGHTS[purpose]
        if self.sums.counts_alone:
            of_ratings = 0.0
        in_nats = of_ratings / (2 * CONSTANTS.residual**2)
        shares = self.gaussian(left) * np.arange(EIGHTHS + 1) / EIGHTHS
        items = _Items.of(known, self.sums.scaling)
        listed = np.unique(np.geomspace(min(ITEMS[0], self._size), min(ITEMS[1], self._size), 16).round().astype(int))
        if self._asks_more:
            tastes, popular = self._counts(items, known.activity, listed, shares)
            factored = self._factors(items, known.activity, listed, shares)
        else:
            tastes = factored = np.zeros((len(listed), len(shares)))
            popular = tastes[:, :, None]
        most_factored, explained = listed[factored.argmax(axis=0)], factored.max(axis=0)
        swept = {
            (part, factors): self._sweeps(items, known.activity, float(shares[part]), factors)
            for part in range(1, EIGHTHS + 1)
            for factors in FACTORS
            if self.sweeps and of_ratings > 0
        }
        swept[0, 0] = np.zeros(len(items.share)), 0.0
        of_noise = 1 / (1 + known.count_precision * items.weighted**2)
        before = (
            in_nats * items.unknown_biases(known.sum_precision * items.weighted**2),
            0.0,
            of_rankings * CONSTANTS.popularity * float(items.share @ of_noise),
            0.0,
        )
        for (noise, weight), part in product(self._items, range(EIGHTHS, -1, -1)):
            if part < EIGHTHS and not (noise == self.noise and self._asks_more):
                continue  # beside other questions all noise is of one kind
            share = left * part / EIGHTHS if noise is None else float(shares[part])
            on_counts, on_sums = self._items[noise, weight]
            precision = share**2 if noise is None else share
            told = (known.count_precision + precision / on_counts**2) * items.weighted**2
            popularity = (CONSTANTS.popularity * items.share / (1 + told + popular)).sum(axis=-1)
            best = (popularity - tastes).argmin(axis=0), np.arange(len(shares))
            most_counted, popularity, patterns = listed[best[0]], popularity[best], tastes[best]
            sums = (known.sum_precision + precision / on_sums**2) * items.weighted**2
            for (by_sweeps, factors), (more, of_sweeps) in swept.items():
                biases = items.unknown_biases(sums + more)
                for by_counts in range(EIGHTHS - part - by_sweeps + 1):
                    rest = EIGHTHS - part - by_sweeps - by_counts
                    if rest and (factors or explained[rest] <= 0):
                        continue  # factors come from sweeps or from products
                    yield Plan(
                        noise,
                        weight,
                        share,
                        sweeps=float(shares[by_sweeps]),
                        factors=factors,
                        counts=float(shares[by_counts]),
                        counted=int(most_counted[by_counts]) if by_counts else 0,
                        products=float(shares[rest]),
                        rated=int(most_factored[rest]) if rest else 0,
                        start=int(most_factored[1]),
                        terms=(
                            in_nats * biases,
                            -in_nats * float(of_sweeps or explained[rest]),
                            of_rankings * float(popularity[by_counts]),
                            -of_rankings * float(patterns[by_counts]),
                        ),
                        before=before,
                    )

    def _counts(self, items: "_Items", activity: Activity, listed: Indices, shares: Doubles) -> tuple[Doubles, Doubles]:
        """½ q Σ g L c for each K and share; and, for each group of items too, the precision of relative popularity."""
        strengths = CONSTANTS.taste_patterns / np.arange(1, CONSTANTS.patterns + 1)
        gains, precisions = [], []
        for size in listed:
            strength, chance = self._moments(items, activity, int(size), 1.0)
            q = items.covered(int(size))
            cell = self._variance(self._counted, shares) + chance
            told = activity.learned(strengths, 1.0, q)
            gains.append(0.5 * q * _seen(cell * size, strength * strengths) @ (strengths * told))
            clear = np.maximum(1 - cell * size / max(strength**2, 1e-30), 1e-30)[:, None]
            error = cell[:, None] / np.maximum(strength * items.first_eigenvector(int(size)), 1e-12) ** 2 / clear
            precisions.append(np.where(items.place < size, 1 / (CONSTANTS.popularity_spread**2 + error), 0.0))
        found = np.array(precisions)
        found[:, 0] = 0.0
        told = np.array(gains)
        told[:, 0] = 0.0
        return told, found

    def _factors(self, items: "_Items", activity: Activity, listed: Indices, shares: Doubles) -> Doubles:
        """F for each K and share of products."""
        variances, noise = CONSTANTS.rating_patterns / np.arange(1, CONSTANTS.patterns + 1), CONSTANTS.residual**2
        square, beside = noise / CONSTANTS.clip**2, CONSTANTS.counts_beside_products
        lighter = math.hypot(square, beside) if self.by_user else math.sqrt(square + beside)
        gains = []
        for size in listed:
            strength, chance = self._moments(items, activity, int(size), lighter)
            q = items.covered(int(size))
            cell = self._variance(self._products, shares) + chance * square**2
            told = activity.learned(variances, noise, q)
            seen = _seen(cell * size, strength * variances / CONSTANTS.clip**2)
            gains.append(q * seen @ (variances * told))
        found = np.array(gains)
        found[:, 0] = 0.0
        return found

    def _moments(self, items: "_Items", activity: Activity, size: int, lighter: float) -> tuple[float, float]:
        """λ, and the sampling variance of a cell, where users weigh so many times less."""
        there = activity.ratings * items.covered(size)
        lighter = 1.0 if self.weighting == "rating, l1" else lighter
        weights = 1 / (lighter * np.maximum(np.sqrt(there) if self.weighting == "rating, l2" else there, 1))
        pairs = activity.users * np.maximum(there - 1, 0) * there
        return float(weights @ pairs) * items.concentration(size), float(weights**2 @ pairs) / size**2

    def _sweeps(self, items: "_Items", activity: Activity, share: float, factors: int) -> tuple[Doubles, float]:
        """The precision of item means by sweeps, and F."""
        last = CONSTANTS.biases_at_last if factors else 0.0
        error, noise = self._of_a_sweep(items, activity, (1 - last) * share, factors), CONSTANTS.residual**2
        variances = CONSTANTS.rating_patterns / np.arange(1, min(factors, CONSTANTS.patterns) + 1)
        known = items.share @ (variances / (variances + (error**2 + noise / items.counts)[:, None]))
        precision = (error / SWEEPS.bias_constant) ** -2
        if last:
            precision = precision + (self._of_a_sweep(items, activity, last * share, 0) / SWEEPS.bias_constant) ** -2
        return precision, float(known @ (variances * activity.learned(variances, noise)))

    def _of_a_sweep(self, items: "_Items", activity: Activity, share: float, factors: int) -> Doubles:
        """The deviation of the noise on an item's place along one factor of users, in widths."""
        length = SWEEPS.bias_constant**2 + factors  # of (B, p), squared; and of what a user says of an item, below
        said = math.sqrt(SWEEPS.relative_weight**2 * length**2 + (CONSTANTS.residual * self.width) ** 2 * length)
        weighted = math.sqrt(activity.mean_ratings) * said / items.counts / self.width
        worth = CONSTANTS.memory if factors else 1.0
        return self._of_users / math.sqrt(share * worth) * weighted


def _has_delta(population: Population) -> bool:
    """Whether questions can have Gaussian noise."""
    bounds = Bound("user", "l2", 1.0), Bound("rating", "l2", 1.0)
    one = Contribution("an answer of length 1", (1,), lambda _: np.zeros(1), bounds, "gaussian", largest=1.0)
    try:
        population.deviation(one)
    except InputError:
        return False
    return True


def _seen(noise: Doubles, strengths: Doubles) -> Doubles:
    """The squared cosine of each pattern, for each noise: shares by patterns."""
    return np.maximum(1 - noise[:, None] / np.maximum(strengths**2, 1e-30), 0)


@dataclass(frozen=True, eq=False)
class _Items:
    """Items in groups that are rated alike: their share of all ratings, the count of one, and the place of the first.

    ``weighted`` is the count as item sums weigh it.
    """

    share: Doubles
    counts: Doubles
    weighted: Doubles
    place: Indices
    falling: Doubles

    @classmethod
    def of(cls, known: Known, scaling: Scaling) -> "_Items":
        counts = np.sort(np.maximum(known.counts, 0) + 1e-9)[::-1]
        places = np.unique(np.geomspace(1, len(counts), 150).round().astype(np.int32)) - 1
        many = np.diff(np.append(places, len(counts)))
        own = np.add.reduceat(counts, places) / many
        return cls(own * many / counts.sum(), own, own * known.activity.weight(scaling), places, counts / counts.sum())

    def covered(self, size: int) -> float:
        """q: the share of ratings that the most rated items have."""
        return float(self.falling[:size].sum())

    def concentration(self, size: int) -> float:
        """Σ p_i²/q² over these."""
        return float((self.falling[:size] ** 2).sum()) / max(self.covered(size), 1e-12) ** 2

    def first_eigenvector(self, size: int) -> Doubles:
        """Of pairs of these: popularity, for each group of items."""
        share = self.counts / (self.counts[0] / self.falling[0])
        return np.asarray(share / max(float(np.linalg.norm(self.falling[:size])), 1e-12))

    def unknown_biases(self, precision: Doubles) -> float:
        """B, from the precision of item means by noise."""
        error = CONSTANTS.residual**2 / self.counts + 1 / np.maximum(precision, 1e-30)
        spread = CONSTANTS.bias_spread**2
        return float(self.share @ (spread * error / (spread + error)))
