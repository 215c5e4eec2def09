"""What an almanac asks for after its first look with the unit rating, decided by what it saw.

One rating touches two cells of the item sums, so Laplace noise is two to three times smaller there than Gaussian noise.
Pairs of items touch many cells and need Gaussian noise. So looks come in this order, each with a share of epsilon: a
first look with Laplace noise, at how many pairs users rate (:mod:`~discreet.models.sums.census`) and at the item sums;
item sums again, the level of all ratings (:mod:`~discreet.models.denoise.level`), and how wide priors at home should be
(:mod:`~discreet.models.sums.prior_scales`), with Laplace noise; and then, where they pay, pairs with Gaussian noise,
which get all of delta. The first look is small: Laplace noise does not split without loss. Where the number of pairs
says that none could be seen, item sums get all that is left at once; where users are too few to be heard through the
noise, they are not asked about priors.

What item sums are depends on x = Σ_u √(n_u − 1) / items, in deviations of the noise on a count: about how clearly an
average item is seen. Where x is small, noise hides most items and what counts tell of them is worth more, so sums weigh
less beside counts; and residuals are clipped more tightly than they spread, which makes noise on sums as much smaller
and loses little. Where x is large residuals are clipped at half the width of the scale, and sums weigh most. Where a
prior has sums with nearly the same weight and clip, those are taken, so that the sums of several nights average.

With n_i the denoised counts of items:

    S     =  Σ n_i² / Σ n_i, in deviations of the noise on a count if the whole budget went there
    q(K)  =  the share of ratings that the K most rated items have
    R(K)  =  √q(K) Σ_u √(n_u − 1), over the spectral threshold 2 s √K of noise on pairs of these items: about the trace
             of their co-occurrence against its noise

    C(a)  =  what is left of the variance of an item's bias, for the item of a rating, if item sums get the share a of
             epsilon and not all that is left: by the known noise, as in :mod:`~discreet.models.denoise.item_biases`,
             of sums with the usual weight and clip

    for ratings   item sums get the least share for which C is small, and pairs the rest: products and counts, with
                  little weight on counts, of the most items up to q = 95% for which R ≥ 45, if q ≥ 60%, S ≥ 120 and
                  users have enough ratings for factors
    for ranking   counts alone: the items for which q (R − 15)^0.6 is largest, of those with R ≥ 24 and q ≥ 40%, if
                  S ≥ 25
    for both      likewise, with twice the C: products and counts with equal weights where the rule for ratings asks for
                  them, among as many items as the geometric mean of both rules; else counts, where R ≥ 45
    otherwise     item sums with all that is left; so too where pairs would get less than 28% of epsilon

**Guarantee.** All Laplace looks come before the only one with Gaussian noise, and each is charged when it is asked: the
two phases of the ledger's filter (:mod:`~discreet.privacy.composition`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.prior import ItemPrior
from discreet.models.sums.almanac_plan import CONSTANTS as PLAN
from discreet.models.sums.almanac_plan import Purpose, items_for_counts
from discreet.models.sums.census import trace_of_users
from discreet.models.sums.item_statistics import SCALINGS, ItemStatistics
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 to 508 of the data of ``benchmarks/robust.py``; with the power of the ratio
    MovieLens 1M had a say too.

    ``ratings_of_a_user`` rests on FilmTrust and MovieTweetings alone, between which it lies.

    Shares are of epsilon.
    """

    trace_share: float = 0.01
    """For how many pairs users rate."""
    first_share: float = 0.03
    """For the first look at item sums."""
    level_share: float = 0.02
    """For the level of all ratings, where the clip of item sums may have moved it."""
    scales_share: float = 0.02
    """For how wide priors at home should be, unless the release is for rankings alone, if there are enough users."""
    users_for_scales: float = 10.0
    """How many are enough, in deviations of the noise there: with fewer, what they say was noise."""
    clip_of_sums: float = 0.4
    """Where residuals are clipped in item sums at least, in half widths of the scale, a little less than they spread,
    unless the release is for rankings alone."""
    density_of_clip: float = 4.0
    """The x from which on the clip grows with √x: the less noise, the less there is to gain."""
    rating_deviation: float = 0.235
    """Of ratings about the expectation of their item, in widths of the scale: what a clip leaves."""
    sums_for_ratings: tuple[float, float] = (0.8, 1.5)
    """The relative weight of sums beside counts, at least and at most, if the release is for ratings."""
    sums_for_both: float = 1.0
    """At most if it is for both."""
    sums_if_dense: float = 2.0
    """The same for x = 1."""
    power_of_density: float = 0.4
    """How it grows with x."""
    nearly: float = 1.25
    """By what factor weight and clip may differ from those of a prior, to be taken from there."""
    again_beside_pairs: float = 0.25
    """For item sums again, at least, where pairs are asked for."""
    cost: float = 4e-4
    """What pairs may cost item sums at most: the variance that is left of an item's bias, in squared widths."""
    cost_for_both: float = 8e-4
    """The same if the release is for both."""
    ratings_of_a_user: float = 22.0
    """The least number of ratings that the user of a rating has, about, for products: the square of Σ n_i over the
    trace. With fewer, ratings are foreseen no better by factors."""
    least_pair_share: float = 0.28
    """With less, pairs are not worth asking for."""
    bias_deviation: float = 0.12
    """Of items, in widths of the scale."""
    residual_deviation: float = 0.2
    """Of ratings about what is expected, in widths of the scale."""
    clear_for_products: float = 120.0
    """The least S for products."""
    clear_for_counts: float = 25.0
    """The least S for co-occurrence counts."""
    ratio_for_products: float = 45.0
    """The least R for products."""
    ratio_for_counts: float = 24.0
    """The least R for counts, if the release is for rankings."""
    ratio_for_counts_beside: float = 45.0
    """The same if it is for both."""
    covered_by_products: float = 0.95
    """The share of ratings beyond which more items are not worth their noise."""
    least_covered_by_products: float = 0.6
    """The least share of ratings that products must be about."""
    clip: float = 0.2
    """Where residuals are clipped in products, in widths of the scale."""
    relative_weight_for_ratings: float = 0.05
    """κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of counts relative to products."""
    relative_weight_for_both: float = 1.0
    """The same if the release is for both."""

    @property
    def laplace_beside_pairs(self) -> float:
        """What looks with Laplace noise take where pairs are asked for."""
        return self.trace_share + self.first_share + self.level_share + self.scales_share + self.again_beside_pairs


CONSTANTS = _Constants()


@dataclass(frozen=True)
class FirstLooks:
    """Shares of epsilon: for the first look at item sums, and for the level of all ratings."""

    items: float
    level: float

    @property
    def left(self) -> float:
        """What remains for item sums again, for how wide priors at home should be, and for pairs."""
        return max(1 - CONSTANTS.trace_share - self.items - self.level, 0.0)


@dataclass(frozen=True)
class NextLooks:
    """Shares of epsilon, which sum to what the first look left; among how many items pairs are asked for, and how."""

    again: float
    scales: float = 0.0
    pairs: float = 0.0
    items: int = 0
    products: bool = False
    relative_weight: float = 1.0

    def pair_sums(self, population: Population, rows: Indices, base: Floats) -> PairSums:
        """Without products the clip is infinite: all residuals become 0 and only co-occurrence counts are left."""
        clip = CONSTANTS.clip * population.catalogue.scale.width if self.products else math.inf
        return PairSums(rows, base, clip, self.relative_weight, None, "rating, l2")


def item_sums(population: Population, purpose: Purpose, trace: float) -> ItemStatistics:
    """What is asked of items."""
    about = ItemStatistics.of(population.catalogue, "rating")
    if purpose == "ranking":
        return about if about.counts_alone else replace(about, relative_weight=PLAN.sums_for_ranking)
    density = max(trace, 0.0) / (len(population.catalogue) * population.deviation(trace_of_users()))
    wanted = CONSTANTS.sums_if_dense * density**CONSTANTS.power_of_density
    least, most = CONSTANTS.sums_for_ratings
    weight = float(np.clip(wanted, least, CONSTANTS.sums_for_both if purpose == "both" else most))
    clip = min(CONSTANTS.clip_of_sums * math.sqrt(max(density / CONSTANTS.density_of_clip, 1.0)), 1.0)
    weight, clip = as_in_prior(weight, clip, population.catalogue.prior)
    return replace(about, relative_weight=weight, clip=clip, kept=kept_by(clip))


def as_in_prior(weight: float, clip: float, prior: ItemPrior | None) -> tuple[float, float]:
    """Weight and clip of the sums of a prior, if these are nearly the same: then last night's sums can be averaged."""
    if prior is None or prior.sums_kind is None or prior.sums_kind.shape != (3,):
        return weight, clip
    scaling, known_weight, known_clip = map(float, prior.sums_kind)
    nearly = CONSTANTS.nearly
    near = 1 / nearly <= known_weight / weight <= nearly and 1 / nearly <= known_clip / clip <= nearly
    same = near and known_clip <= 1 and scaling == SCALINGS.index("rating")
    return (known_weight, known_clip) if same else (weight, clip)


def kept_by(clip: float) -> float:
    """How much of a small difference between items is left in sums: the share of ratings that are not clipped.

    >>> round(kept_by(0.4), 2), kept_by(1.0)
    (0.63, 1.0)
    """
    half_width = 0.5 / (math.sqrt(2) * CONSTANTS.rating_deviation)
    return math.erf(clip * half_width) / math.erf(half_width)


def check(population: Population) -> None:
    """Raise where pairs could not be had: without a delta."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    rows = np.arange(min(2, len(base)), dtype=np.int32)
    population.deviation(NextLooks(0.0).pair_sums(population, rows, base).contribution)


def first_looks(purpose: Purpose, trace: float, population: Population) -> FirstLooks:
    """All for item sums, if R stays below its bounds for any K and whatever the items are, as far as the trace says."""
    level = CONSTANTS.level_share if item_sums(population, purpose, trace).clip < 1 else 0.0
    usual = FirstLooks(CONSTANTS.first_share, level)
    fewest = min(PLAN.fewest_items, len(population.catalogue))
    likely = trace + 2 * population.deviation(trace_of_users(), CONSTANTS.trace_share)
    most = likely / threshold(population, fewest, usual.left - CONSTANTS.again_beside_pairs)[-1]
    least = CONSTANTS.ratio_for_counts if purpose == "ranking" else CONSTANTS.ratio_for_counts_beside
    return usual if most >= least else FirstLooks(1 - CONSTANTS.trace_share - level, level)


def next_looks(purpose: Purpose, trace: float, counts: Doubles, population: Population, first: FirstLooks) -> NextLooks:
    """What to ask for next."""
    if first.items > CONSTANTS.first_share:
        return NextLooks(0.0)
    scales = 0.0 if purpose == "ranking" else share_of_scales(trace, counts, population)
    left = first.left - scales
    clearness = clearness_of(counts, population)
    again = CONSTANTS.again_beside_pairs
    if purpose != "ranking":
        again = least_share(counts, population, left, CONSTANTS.cost_for_both if purpose == "both" else CONSTANTS.cost)
    pairs = left - again
    if clearness < CONSTANTS.clear_for_counts or pairs < CONSTANTS.least_pair_share:
        return NextLooks(left, scales)
    covered, ratios = shares_and_ratios(trace, counts, population, pairs)
    fewer = items_for_counts(covered, ratios, CONSTANTS.ratio_for_counts)
    many = float(counts.sum()) ** 2 >= CONSTANTS.ratings_of_a_user * trace**2
    if purpose != "ranking" and clearness >= CONSTANTS.clear_for_products and many:
        items, weight = items_for_products(covered, ratios), CONSTANTS.relative_weight_for_ratings
        if purpose == "both":
            items, weight = round(math.sqrt(items * fewer)), CONSTANTS.relative_weight_for_both
        if items:
            return NextLooks(again, scales, pairs, items, products=True, relative_weight=weight)
    if purpose == "both":
        fewer = items_for_counts(covered, ratios, CONSTANTS.ratio_for_counts_beside)
    return NextLooks(again, scales, pairs, fewer) if fewer and purpose != "ratings" else NextLooks(left, scales)


def share_of_scales(trace: float, counts: Doubles, population: Population) -> float:
    """For how wide priors at home should be; 0 where too few users would say it."""
    users, _ = size_by(trace, counts)
    noise = 2 * population.deviation(trace_of_users(), CONSTANTS.scales_share)  # one rating moves what is said by 2
    return CONSTANTS.scales_share if users >= CONSTANTS.users_for_scales * noise else 0.0


def size_by(trace: float, counts: Doubles) -> tuple[float, float]:
    """About how many users and ratings there are: n ratings each, where the trace is users times √n."""
    ratings = max(float(counts.sum()), 1.0)
    return min(max(trace, 0.0) ** 2 / ratings, ratings), ratings


def least_share(counts: Doubles, population: Population, left: float, most: float) -> float:
    """The least share of epsilon with which item sums cost at most so much accuracy, against all that is left."""
    shares = np.arange(CONSTANTS.again_beside_pairs, left, 0.05)
    best = uncertainty_of(counts, population, left)
    for share in shares:
        if uncertainty_of(counts, population, float(share)) - best <= most:
            return float(share)
    return left


def uncertainty_of(counts: Doubles, population: Population, share: float) -> float:
    """The variance of an item's bias once its sums are known, of the item of a rating, in squared widths."""
    asked = ItemStatistics.of(population.catalogue, "rating")
    noise = population.deviation(asked.contribution, share) * asked.points / asked.scale.width
    own = CONSTANTS.bias_deviation**2
    error = CONSTANTS.residual_deviation**2 * counts + noise**2
    return float(counts @ (own * error / (own * counts**2 + error))) / max(float(counts.sum()), 1e-9)


def clearness_of(counts: Doubles, population: Population) -> float:
    """S above."""
    typical = float((counts**2).sum()) / max(float(counts.sum()), 1e-9)
    return typical / population.deviation(ItemStatistics.of(population.catalogue, "rating").contribution)


def shares_and_ratios(trace: float, counts: Doubles, population: Population, share: float) -> tuple[Doubles, Doubles]:
    """q and R for K from 1 on, as many as pairs may be asked for."""
    falling = np.sort(counts)[::-1]
    covered = (np.cumsum(falling) / max(float(falling.sum()), 1e-9))[: PLAN.most_items]
    return covered, np.sqrt(covered) * max(trace, 0.0) / threshold(population, len(covered), share)


def threshold(population: Population, items: int, share: float) -> Doubles:
    """The spectral threshold 2 s √K above, for K from 1 on."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    asked = NextLooks(0.0, pairs=share, items=items).pair_sums(population, np.arange(items, dtype=np.int32), base)
    noise = asked.deviations(population.deviation(asked.contribution, share))[1]
    return 2 * noise * np.sqrt(np.arange(1, items + 1))


def items_for_products(covered: Doubles, ratios: Doubles) -> int:
    """K above; 0 where products are not worth asking for."""
    most = int(np.searchsorted(covered, CONSTANTS.covered_by_products)) + 1
    enough = np.flatnonzero(ratios[:most] >= CONSTANTS.ratio_for_products)
    if not len(enough) or covered[enough[-1]] < CONSTANTS.least_covered_by_products:
        return 0
    return int(enough[-1]) + 1 if enough[-1] > 0 else 0
