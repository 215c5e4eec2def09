"""What an almanac asks for after its first look with the unit rating, decided by what it saw.

One rating touches two cells of the item sums, so Laplace noise is two to three times smaller there than Gaussian noise.
Pairs of items touch many cells and need Gaussian noise. So looks come in this order, each with a share of epsilon: a
first look with Laplace noise, at how many pairs users rate (:mod:`~discreet.models.sums.census`), at the level of all
ratings (:mod:`~discreet.models.sums.rating_level`) and at the item sums; item sums again, the level that they leave,
and how wide priors at home should be (:mod:`~discreet.models.sums.prior_scales`), with Laplace noise; and then, where
they pay, pairs with Gaussian noise, which get all of delta. Beside pairs, what is asked for again and about priors has
Gaussian noise of the same size, where that costs pairs less (:meth:`NextLooks.settled`). The first look is small:
Laplace noise does not split without loss. Where the number of pairs says that none could be seen, item sums get all
that is left at once; where users are too few to be heard through the noise, they are not asked about priors.

How item sums are asked for is decided by :mod:`~discreet.models.sums.item_sums_plan`.

With n_i the denoised counts of items, scaled to the sum of the noisy ones, which has no bias:

    S     =  Σ n_i² / Σ n_i, in deviations of the noise on a count if the whole budget went there
    q(K)  =  the share of ratings that the K most rated items have
    n     =  (Σ n_i / Σ_u √(n_u − 1))²: about how many ratings the user of a rating has
    R(K)  =  √q(K) Σ_u √(n_u − 1), over the spectral threshold 2 s √K of noise on pairs of these items: about the trace
             of their co-occurrence against its noise
    T(K)  =  R(K) n Σ_{i ≤ K} (n_i / Σ n_j)² / q(K): about the same for popularity, the first eigenvector, of which
             other patterns have a part
    C(a)  =  what is left of the variance of an item's bias, for the item of a rating, if item sums get the share a of
             epsilon and not all that is left: by the known noise, as in :mod:`~discreet.models.denoise.item_biases`,
             of sums with the usual weight and clip

    for ratings   item sums get the least share from 25% for which C is small, or from 10% for which it is next to
                  nothing, and pairs the rest: products, and counts with little weight, of the most items up to q = 95%
                  for which T ≥ 13, or of more for which T ≥ 60, if q ≥ 75%; they get 60% of μ² of pairs, and counts
                  the rest, as who rates what tells of ratings too. Without products, counts alone if T ≥ 12 for some
                  items with q ≥ 50%, and items have no features
    for ranking   item sums get 15%, and pairs the rest, counts alone, of the items that
                  :mod:`~discreet.models.sums.almanac_plan` would choose by this T, or if there are none with T ≥
                  4.5; with features from T ≥ 6.5 and q ≥ 45% on, below T = 12 with a larger floor of popularity
    for both      where the rule for ratings asks for products with half of μ² of pairs (40% without features), of
                  items with q ≥ 85%: item sums get less than for ratings, as C may be larger, and counts what products
                  leave, as for ranking, but from T ≥ 3.5 on. Otherwise counts alone, with item sums as for ratings, at
                  most 50%, or 40% where S ≥ 50; none where C is large with these
    otherwise     item sums with all that is left; so too where pairs would get less than 28% of epsilon, or S < 14,
                  for rankings 12

**Guarantee.** All Laplace looks come before those with Gaussian noise, and each is charged when it is asked: the two
phases of the ledger's filter (:mod:`~discreet.privacy.composition`), in the second of which squares of μ add up.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.models.home.conditional_logit import USUAL_FLOOR
from discreet.models.sums.almanac_plan import CONSTANTS as PLAN
from discreet.models.sums.almanac_plan import Purpose
from discreet.models.sums.census import trace_of_users
from discreet.models.sums.counted_pairs import CONSTANTS as LISTED
from discreet.models.sums.counted_pairs import CountedPairs
from discreet.models.sums.item_sums_plan import clearness_of, item_sums
from discreet.models.sums.item_uncertainty import cost_of, least_share
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 to 508 of the data of ``benchmarks/robust.py``, and with the seeds 611 to 614
    of those that it changes.

    Shares are of epsilon.
    """

    trace_share: float = 0.01
    """For how many pairs users rate."""
    first_share: float = 0.03
    """For the first look at item sums."""
    level_share: float = 0.02
    """For the level of all ratings, half before item sums and half after, where these are clipped tightly."""
    scales_share: float = 0.05
    """For how wide priors at home should be, unless the release is for rankings alone, if there are enough users. This
    and the next were chosen on splits with the seeds 991 to 993."""
    users_for_scales: float = 25.0
    """How many are enough, in deviations of the noise there: with fewer, what they say was noise."""
    again_beside_pairs: float = 0.25
    """For item sums again, at least, where pairs are asked for, unless less costs next to nothing."""
    again_if_negligible: float = 0.1
    """The same where less costs next to nothing."""
    again_for_ranking: float = 0.15
    """The same if the release is for rankings. Chosen on splits with the seeds 1111 to 1113: .1 and .2 do the same."""
    cost: float = 6e-4
    """What products may cost item sums at most: the variance that is left of an item's bias, in squared widths. Chosen
    on splits with the seeds 911 and 912."""
    cost_for_both: float = 8e-4
    """The same if the release is for both, when products get half of what pairs do."""
    cost_of_counts: float = 6e-4
    """What counts of pairs alone may cost."""
    cost_without_features: float = 1e-3
    """The same two without features, when pairs are worth more: to ratings as well."""
    at_most_for_ratings: tuple[float, float] = (0.55, 1.2e-3)
    """What item sums get at most beside counts of pairs alone, and what this may cost: where it would be more, there
    are no pairs."""
    at_most: tuple[float, float] = (0.5, 1.6e-3)
    """The same if the release is for both. This and the next two were chosen on splits with the seeds 1101 to 1105."""
    at_most_if_clear: tuple[float, float] = (0.4, 2e-3)
    """The same from an S of ``clear_for_less`` on, as pairs tell more of ratings there."""
    clear_for_less: float = 50.0
    negligible: float = 5e-5
    """What is next to nothing."""
    negligible_for_both: float = 4e-4
    """The same if the release is for both, when rankings gain as well. Chosen on splits with the seeds 971 and 972."""
    least_pair_share: float = 0.28
    """With less, pairs are not worth asking for."""
    clear: float = 14.0
    """The least S for pairs. This and what follows, where nothing else is said, were chosen by what pairs of all kinds
    gained on splits with the seeds 701, 702 and 711 of all small data of ``benchmarks/robust.py``."""
    clear_for_ranking: float = 12.0
    """The same if the release is for rankings. This, the next and ``unclear_without_features`` were chosen by what
    pairs gained on splits with the seeds 1101, 1102 and 1109 to 1113, with epsilons from .1 to 1.5."""
    least_ratio: float = 22.0
    """The least R for pairs, if these had all of epsilon: with less, what is seen of T may be noise of the first look,
    and this is not worth it where R is below for any K whatever the items are."""
    unclear_without_features: tuple[float, float] = (4.5, 0.2)
    """The least T and q for counts without features, if the release is for rankings and no K has those of
    :mod:`~discreet.models.sums.almanac_plan`."""
    with_features: tuple[float, float] = (6.5, 0.45)
    """The least T and q for counts with features, if the release is for rankings. This and the next three were chosen
    on splits with the seeds 901 to 903 of all data of ``benchmarks/robust.py``."""
    clear_with_features: tuple[float, float] = (12.0, 0.45)
    """The same from which on rankings have the usual floor of popularity."""
    with_features_beside: tuple[float, float] = (3.5, 0.45)
    """The least T and q with features if the release is for both: counts get less of epsilon there, and more would
    rule them out too often."""
    without_features_beside: tuple[float, float] = (3.5, 0.2)
    """The same without features."""
    clear_for_products: float = 13.0
    """The least T for products, by what they get of μ²."""
    covered_by_products: float = 0.95
    """The share of ratings beyond which more items are not worth their noise, unless there is little."""
    clear_for_all: float = 60.0
    """The T for which there is."""
    least_covered_by_products: float = 0.75
    """The least share of ratings that products must be about: with .85, FilmTrust had them with epsilon 5 or not from
    one draw of the noise to the next, which cost .009 RMSE (splits 911 and 912)."""
    least_covered_for_both: float = 0.85
    """The same if the release is for both, when they take half of what counts of pairs would have."""
    clip: float = 0.2
    """Where residuals are clipped in products, in widths of the scale."""
    relative_weight: float = 0.05
    """κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of counts relative to products."""
    part_of_products: float = 0.5
    """Of μ² of pairs, if the release is for both. Each of the two sums has items of its own, and together they have
    less noise than one sum of both with a κ² between."""
    part_without_features: float = 0.4
    """The same without features. Chosen, as the costs, on splits with the seeds 881 to 883 of small data of
    ``benchmarks/robust.py``."""
    part_of_products_for_ratings: float = 0.6
    """The same if it is for ratings, which gain by patterns of who rates what too. This and the next were chosen on
    splits with the seeds 876 to 878, 888 and 889 of small data of ``benchmarks/robust.py``."""
    counts_for_ratings: tuple[float, float] = (12.0, 0.5)
    """The least T and q for counts alone, if it is for ratings and items have no features."""

    def part_and_cost(self, purpose: Purpose, features: bool) -> tuple[float, float]:
        """What products get of μ² of pairs, and what they may cost item sums."""
        if purpose != "both":
            return self.part_of_products_for_ratings, self.cost
        if features:
            return self.part_of_products, self.cost_for_both
        return self.part_without_features, self.cost_without_features

    def beside_counts(self, purpose: Purpose, clearness: float) -> tuple[float, float]:
        """What item sums get at most beside counts of pairs alone, and what this may cost."""
        if purpose != "both":
            return self.at_most_for_ratings
        return self.at_most_if_clear if clearness >= self.clear_for_less else self.at_most

    @property
    def laplace_beside_pairs(self) -> float:
        """What looks with Laplace noise take where pairs are asked for, if all that could have it do."""
        return self.trace_share + self.first_share + self.level_share + self.scales_share + self.again_beside_pairs


CONSTANTS = _Constants()
ROUNDING = 1e-6
"""What of μ² is not spent where it is split: noise on both parts is rounded."""


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
    """Shares of epsilon, which sum to what the first look left; and among how many items pairs are asked for.

    ``items`` are those of co-occurrence counts and ``rated`` those of products, 0 for none; ``part`` of μ² goes to the
    latter. ``floor`` is the share of popularity that everyone keeps in rankings.

    Once they are ``settled``, ``noise`` is that of item sums, ``taken`` of μ² goes to looks with Gaussian noise before
    pairs, and the shares of these are of μ².
    """

    again: float
    scales: float = 0.0
    pairs: float = 0.0
    items: int = 0
    rated: int = 0
    part: float = 0.0
    floor: float = USUAL_FLOOR
    noise: Literal["gaussian"] | None = None
    taken: float = 0.0

    def settled(self, population: Population, sums: Contribution, pure: bool) -> "NextLooks":
        """Which noise looks before pairs have: as little as planned, and whichever leaves more to pairs.

        Laplace noise is smaller for one look alone. But shares of epsilon add up, and so do those of μ², which goes by
        the square: what takes a tenth of epsilon would take a few hundredths of μ². ``sums`` are asked for again;
        ``pure`` says that a look with Laplace noise must follow them.
        """
        if self.pairs == 0:
            return self
        scales = gaussian_share(population, trace_of_users(), self.scales) if self.scales > 0 else 0.0
        one = replace(self, scales=scales, pairs=self.pairs + self.scales, taken=scales)
        items = gaussian_share(population, sums, self.again)
        both = replace(one, again=items, noise="gaussian", pairs=one.pairs + self.again, taken=scales + items)
        return both if not pure and both._left(population) > one._left(population) else one

    def _left(self, population: Population) -> float:
        """For pairs, of μ²."""
        pairs, _, _ = NextLooks(0.0, pairs=1.0).counted(population, *_two_items(population))
        return gaussian_share(population, pairs.contribution, self.pairs) - self.taken

    def counted(self, population: Population, rows: Indices, base: Floats) -> tuple[PairSums, Contribution, float]:
        """Co-occurrence counts alone, as the clip is infinite and all residuals become 0; how, and with what share."""
        pairs = PairSums(rows, base, math.inf, 1.0, None, "rating, l2")
        return pairs, *self._split(population, pairs.contribution, 1 - self.part)

    def products(self, population: Population, rows: Indices, base: Floats) -> tuple[PairSums, Contribution, float]:
        """Products, and counts with little weight."""
        clip = CONSTANTS.clip * population.catalogue.scale.width
        pairs = PairSums(rows, base, clip, CONSTANTS.relative_weight, None, "rating, l2")
        return pairs, *self._split(population, pairs.contribution, self.part)

    def _split(self, population: Population, asked: Contribution, part: float) -> tuple[Contribution, float]:
        """A part of what the share for pairs is in μ², as μ² adds up where Gaussian noise comes twice."""
        if part == 1 and self.taken == 0:
            return asked, self.pairs
        left = gaussian_share(population, asked, self.pairs) - self.taken
        return replace(asked, noise="gaussian"), part * left * (1 - ROUNDING)


def gaussian_share(population: Population, asked: Contribution, share: float) -> float:
    """The share of μ² with which Gaussian noise is as large as that of the unit with this share of epsilon."""
    gaussian = replace(asked, noise="gaussian")
    return float((population.deviation(gaussian) / population.deviation(asked, share)) ** 2)


def _two_items(population: Population) -> tuple[Indices, Floats]:
    """For questions about noise alone."""
    size = len(population.catalogue)
    return np.arange(min(2, size), dtype=np.int32), np.zeros(size, dtype=np.float32)


def check(population: Population) -> None:
    """Raise where pairs could not be had: without a delta."""
    population.deviation(NextLooks(0.0, pairs=1.0).counted(population, *_two_items(population))[1])


def first_looks(purpose: Purpose, trace: float, population: Population) -> FirstLooks:
    """All for item sums, if noise hides pairs of any K items whatever they are, as far as the trace says."""
    level = CONSTANTS.level_share if item_sums(population, purpose, trace).clip < 1 else 0.0
    usual = FirstLooks(CONSTANTS.first_share, level)
    fewest = min(LISTED.fewest_items, len(population.catalogue))
    likely = trace + 2 * population.deviation(trace_of_users(), CONSTANTS.trace_share)
    most = likely / threshold(population, fewest, 1.0)[-1]
    return usual if most >= CONSTANTS.least_ratio else FirstLooks(1 - CONSTANTS.trace_share - level, level)


def next_looks(
    purpose: Purpose, trace: float, counts: Doubles, population: Population, first: FirstLooks, features: bool
) -> NextLooks:
    """What to ask for next; ``features`` says whether items have any."""
    if first.items > CONSTANTS.first_share:
        return NextLooks(0.0)
    scales = 0.0 if purpose == "ranking" else share_of_scales(trace, counts, population)
    left = first.left - scales
    clearness = clearness_of(counts, population)
    if clearness < (CONSTANTS.clear_for_ranking if purpose == "ranking" else CONSTANTS.clear):
        return NextLooks(left, scales)
    shares = CONSTANTS.again_if_negligible, CONSTANTS.again_beside_pairs
    negligible = CONSTANTS.negligible_for_both if purpose == "both" else CONSTANTS.negligible
    if purpose != "ranking":
        part, most = CONSTANTS.part_and_cost(purpose, features)
        again = least_share(counts, population, left, shares, (negligible, most))
        seen = SeenThrough.of(trace, counts, population, left - again)
        if left - again >= CONSTANTS.least_pair_share and (rated := seen.items_for_products(purpose, part)):
            counted = seen.counted("both", features)
            part = part if counted.items else 1.0
            return NextLooks(again, scales, left - again, counted.items, rated, part, counted.floor)
    again, dear = CONSTANTS.again_for_ranking, False
    if purpose != "ranking":
        most = CONSTANTS.cost_of_counts if features else CONSTANTS.cost_without_features
        share, dearest = CONSTANTS.beside_counts(purpose, clearness)
        again = min(least_share(counts, population, left, shares, (negligible, most)), share)
        dear = cost_of(counts, population, left, again) > dearest
    counted = SeenThrough.of(trace, counts, population, left - again).counted(purpose, features)
    if dear or left - again < CONSTANTS.least_pair_share or not counted.items:
        return NextLooks(left, scales)
    return NextLooks(again, scales, left - again, counted.items, floor=counted.floor)


def share_of_scales(trace: float, counts: Doubles, population: Population) -> float:
    """For how wide priors at home should be; 0 where too few users would say it."""
    users, _ = size_by(trace, counts)
    noise = 2 * population.deviation(trace_of_users(), CONSTANTS.scales_share)  # one rating moves what is said by 2
    return CONSTANTS.scales_share if users >= CONSTANTS.users_for_scales * noise else 0.0


def size_by(trace: float, counts: Doubles) -> tuple[float, float]:
    """About how many users and ratings there are: n ratings each, where the trace is users times √n."""
    ratings = max(float(counts.sum()), 1.0)
    return min(max(trace, 0.0) ** 2 / ratings, ratings), ratings


def threshold(population: Population, items: int, share: float) -> Doubles:
    """The spectral threshold 2 s √K above, for K from 1 on."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    pairs, asked, _ = NextLooks(0.0, pairs=share).counted(population, np.arange(items, dtype=np.int32), base)
    noise = pairs.deviations(population.deviation(asked, share))[1]
    return 2 * noise * np.sqrt(np.arange(1, items + 1))


@dataclass(frozen=True, eq=False)
class SeenThrough:
    """q and T above for K from 1 on, as many as pairs may be asked for; T is 0 where R is too small."""

    covered: Doubles
    popularity: Doubles

    @classmethod
    def of(cls, trace: float, counts: Doubles, population: Population, share: float) -> "SeenThrough":
        """By the noise on pairs with this share."""
        falling = np.sort(counts)[::-1]
        ratings, trace = max(float(falling.sum()), 1e-9), max(trace, 1e-9)
        covered = (np.cumsum(falling) / ratings)[: LISTED.most_items]
        together = np.cumsum((falling / ratings) ** 2)[: len(covered)] * (ratings / trace) ** 2
        ratios = np.sqrt(covered) * trace / threshold(population, len(covered), share)
        popularity = ratios * together / np.maximum(covered, 1e-9)
        at_best = np.sqrt(covered) * trace / threshold(population, len(covered), 1.0)
        return cls(covered, np.where(at_best >= CONSTANTS.least_ratio, popularity, 0.0))

    def items_for_products(self, purpose: Purpose, part: float) -> int:
        """K above, where products get this part of μ²; 0 where they are not worth asking for."""
        covered = int(np.searchsorted(self.covered, CONSTANTS.covered_by_products)) + 1
        few = self.popularity[:covered] * math.sqrt(part) >= CONSTANTS.clear_for_products
        enough = np.flatnonzero(np.append(few, self.popularity[covered:] >= CONSTANTS.clear_for_all))
        least = CONSTANTS.least_covered_for_both if purpose == "both" else CONSTANTS.least_covered_by_products
        if not len(enough) or self.covered[enough[-1]] < least:
            return 0
        return int(enough[-1]) + 1 if enough[-1] > 0 else 0

    def counted(self, purpose: Purpose, features: bool) -> CountedPairs:
        """The K above for counts, where items have features or not."""
        both, known = purpose == "both", (self.covered, self.popularity)
        if purpose == "ratings":
            return CountedPairs() if features else CountedPairs.of(*known, CONSTANTS.counts_for_ratings)
        if features:
            least = CONSTANTS.with_features_beside if both else CONSTANTS.with_features
            return CountedPairs.of(*known, least, CONSTANTS.clear_with_features)
        if both:
            return CountedPairs.of(*known, CONSTANTS.without_features_beside)
        clear = CountedPairs.of(*known, PLAN.without_features)
        return clear if clear.items else CountedPairs.of(*known, CONSTANTS.unclear_without_features)
