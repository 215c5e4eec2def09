"""What an almanac asks for after its first look with the unit rating, decided by what it saw.

One rating touches two cells of the item sums, so Laplace noise is two to three times smaller there than Gaussian noise.
Pairs of items touch many cells and need Gaussian noise. So looks come in this order, each with a share of epsilon: a
first look with Laplace noise, at how many pairs users rate (:mod:`~discreet.models.sums.census`) and at the item sums;
item sums again, and how wide priors at home should be (:mod:`~discreet.models.sums.prior_scales`), with Laplace noise;
and then, where they pay, pairs with Gaussian noise, which get all of delta. The first look is small: Laplace noise does
not split without loss. Where the number of pairs says that none could be seen, item sums get all that is left at once.

With n_i the denoised counts of items:

    S     =  Σ n_i² / Σ n_i, in deviations of the noise on a count if the whole budget went there
    q(K)  =  the share of ratings that the K most rated items have
    R(K)  =  √q(K) Σ_u √(n_u − 1), over the spectral threshold 2 s √K of noise on pairs of these items: about the trace
             of their co-occurrence against its noise

    C(a)  =  what is left of the variance of an item's bias, for the item of a rating, if item sums get the share a of
             epsilon and not all that is left: by the known noise, as in :mod:`~discreet.models.denoise.item_biases`

    for ratings   item sums get the least share for which C is small, and pairs the rest: products and counts, with
                  little weight on counts, of the most items up to q = 95% for which R ≥ 45, if q ≥ 60% and S ≥ 120
    for ranking   counts alone: the items for which q √R is largest, of those with R ≥ 24 and q ≥ 40%, if S ≥ 25
    for both      likewise, with twice the C: products and counts with equal weights where the rule for ratings asks for
                  them, among as many items as the geometric mean of both rules; else counts, where R ≥ 45
    otherwise     item sums with all that is left; so too where pairs would get less than 28% of epsilon, or users have
                  few ratings

**Guarantee.** All Laplace looks come before the only one with Gaussian noise, and each is charged when it is asked: the
two phases of the ledger's filter (:mod:`~discreet.privacy.composition`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.models.sums.almanac_plan import CONSTANTS as PLAN
from discreet.models.sums.almanac_plan import Purpose
from discreet.models.sums.census import trace_of_users
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 to 503 of the data of ``benchmarks/robust.py``; none was set on MovieLens 1M.

    ``ratings_of_a_user`` rests on FilmTrust and MovieTweetings alone, between which it lies.

    Shares are of epsilon.
    """

    trace_share: float = 0.01
    """For how many pairs users rate."""
    first_share: float = 0.03
    """For the first look at item sums."""
    scales_share: float = 0.02
    """For how wide priors at home should be, unless the release is for rankings alone."""
    sums_for_ratings: float = 1.2
    """The relative weight of sums beside counts, if the release is for ratings."""
    sums_for_both: float = 1.0
    """The same if it is for both."""
    again_beside_pairs: float = 0.25
    """For item sums again, at least, where pairs are asked for."""
    cost: float = 4e-4
    """What pairs may cost item sums at most: the variance that is left of an item's bias, in squared widths."""
    cost_for_both: float = 8e-4
    """The same if the release is for both."""
    ratings_of_a_user: float = 22.0
    """The least number of ratings that the user of a rating has, about: the square of Σ n_i over the trace. With fewer,
    nobody gets much out of pairs."""
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
    power_of_ratio: float = 0.5
    """How much R counts beside q."""
    clip: float = 0.25
    """Where residuals are clipped in products, in widths of the scale."""
    relative_weight_for_ratings: float = 0.1
    """κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of counts relative to products."""
    relative_weight_for_both: float = 1.0
    """The same if the release is for both."""

    @property
    def laplace_beside_pairs(self) -> float:
        """What looks with Laplace noise take where pairs are asked for."""
        return self.trace_share + self.first_share + self.scales_share + self.again_beside_pairs


CONSTANTS = _Constants()


@dataclass(frozen=True)
class FirstLooks:
    """Shares of epsilon: for the first look at item sums, and for how wide priors at home should be."""

    items: float
    scales: float

    @property
    def left(self) -> float:
        """What remains for item sums again, and for pairs."""
        return 1 - CONSTANTS.trace_share - self.items - self.scales


@dataclass(frozen=True)
class NextLooks:
    """Shares of epsilon, which sum to what the first look left; among how many items pairs are asked for, and how."""

    again: float
    pairs: float = 0.0
    items: int = 0
    products: bool = False
    relative_weight: float = 1.0

    def pair_sums(self, population: Population, rows: Indices, base: Floats) -> PairSums:
        """Without products the clip is infinite: all residuals become 0 and only co-occurrence counts are left."""
        clip = CONSTANTS.clip * population.catalogue.scale.width if self.products else math.inf
        return PairSums(rows, base, clip, self.relative_weight, None, "rating, l2")


def item_sums(population: Population, purpose: Purpose) -> ItemStatistics:
    """The first look at items."""
    about = ItemStatistics.of(population.catalogue, "rating")
    weights = {
        "ratings": CONSTANTS.sums_for_ratings,
        "both": CONSTANTS.sums_for_both,
        "ranking": PLAN.sums_for_ranking,
    }
    return replace(about, relative_weight=weights[purpose])


def check(population: Population) -> None:
    """Raise where pairs could not be had: without a delta."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    rows = np.arange(min(2, len(base)), dtype=np.int32)
    population.deviation(NextLooks(0.0).pair_sums(population, rows, base).contribution)


def first_looks(purpose: Purpose, trace: float, population: Population) -> FirstLooks:
    """All for item sums, if R stays below its bounds for any K and whatever the items are, as far as the trace says."""
    usual = FirstLooks(CONSTANTS.first_share, 0.0 if purpose == "ranking" else CONSTANTS.scales_share)
    fewest = min(PLAN.fewest_items, len(population.catalogue))
    likely = trace + 2 * population.deviation(trace_of_users(), CONSTANTS.trace_share)
    most = likely / threshold(population, fewest, usual.left - CONSTANTS.again_beside_pairs)[-1]
    least = CONSTANTS.ratio_for_counts if purpose == "ranking" else CONSTANTS.ratio_for_counts_beside
    return usual if most >= least else FirstLooks(1 - CONSTANTS.trace_share, 0.0)


def next_looks(purpose: Purpose, trace: float, counts: Doubles, population: Population, first: FirstLooks) -> NextLooks:
    """What to ask for next."""
    left = first.left
    if left <= 0:
        return NextLooks(0.0)
    clearness = clearness_of(counts, population)
    again = CONSTANTS.again_beside_pairs
    if purpose != "ranking":
        again = least_share(counts, population, left, CONSTANTS.cost_for_both if purpose == "both" else CONSTANTS.cost)
    pairs = left - again
    many = float(counts.sum()) ** 2 >= CONSTANTS.ratings_of_a_user * trace**2
    if clearness < CONSTANTS.clear_for_counts or pairs < CONSTANTS.least_pair_share or not many:
        return NextLooks(left)
    covered, ratios = shares_and_ratios(trace, counts, population, pairs)
    fewer = items_for_counts(covered, ratios, CONSTANTS.ratio_for_counts)
    if purpose != "ranking" and clearness >= CONSTANTS.clear_for_products:
        items, weight = items_for_products(covered, ratios), CONSTANTS.relative_weight_for_ratings
        if purpose == "both":
            items, weight = round(math.sqrt(items * fewer)), CONSTANTS.relative_weight_for_both
        if items:
            return NextLooks(again, pairs, items, products=True, relative_weight=weight)
    if purpose == "both":
        fewer = items_for_counts(covered, ratios, CONSTANTS.ratio_for_counts_beside)
    return NextLooks(again, pairs, fewer) if fewer and purpose != "ratings" else NextLooks(left)


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
    asked = NextLooks(0.0, share, items).pair_sums(population, np.arange(items, dtype=np.int32), base)
    noise = asked.deviations(population.deviation(asked.contribution, share))[1]
    return 2 * noise * np.sqrt(np.arange(1, items + 1))


def items_for_products(covered: Doubles, ratios: Doubles) -> int:
    """K above; 0 where products are not worth asking for."""
    most = int(np.searchsorted(covered, CONSTANTS.covered_by_products)) + 1
    enough = np.flatnonzero(ratios[:most] >= CONSTANTS.ratio_for_products)
    if not len(enough) or covered[enough[-1]] < CONSTANTS.least_covered_by_products:
        return 0
    return int(enough[-1]) + 1 if enough[-1] > 0 else 0


def items_for_counts(covered: Doubles, ratios: Doubles, least: float) -> int:
    """K above; 0 where counts are not worth asking for."""
    fitting = (ratios >= least) & (covered >= PLAN.least_covered)
    fitting[: min(PLAN.fewest_items, len(fitting)) - 1] = False
    if not fitting.any():
        return 0
    worth = np.where(fitting, covered * np.maximum(ratios, 0) ** CONSTANTS.power_of_ratio, 0.0)
    return int(np.argmax(worth)) + 1
