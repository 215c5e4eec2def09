"""What an almanac asks for after its first look, decided by what it saw: with the unit user and Gaussian noise.

Gaussian looks split without loss: to ask with half of μ² and again with the other half, and to average, is to ask once
with all of it. So a first look takes a part of the budget: at how many users rate how much
(:mod:`~discreet.models.sums.census`) and at the item sums. Its noisy answers say, at no further cost, where the rest
pays. With n_i the denoised counts of items:

    S     =  Σ n_i² / Σ n_i, in deviations of the noise on a count if the whole budget went there: how clearly the item
             of a rating is seen
    q(K)  =  the share of ratings that the K most rated items have
    T(K)  =  Σ_i≤K n_i² / Σ_i≤K n_i, times the part of their ratings that are not the only one of a user, over the
             spectral threshold 2 s √K of noise on their co-occurrence: about the eigenvalue of popularity there, of
             which other patterns have a part
    R(K)  =  users who rated two or more of them, over the same threshold
    P     =  the co-occurrence of an average pair of the items with 99% of the ratings, in deviations s of its noise

    products          P ≥ 14, unless the release is for rankings: few items that most users rate; then products and
                      co-occurrence counts of their pairs say more than anything else, and get all that is left
    the same again    S < 3: item sums with all that is left
    sweeps            S ≥ 3: what everyone's own fit leaves of the item biases, which spreads less than ratings do; from
                      S ≥ 25 with factors, S/15 of them, at most 8, or 16 where S ≥ 500, and at last the biases once
                      more (:mod:`~discreet.models.denoise.private_als`). Where users rate more than 100 items on
                      average, or 50 with factors, less is enough: own fits leave less. Sweeps start from public
                      features or, where there are none and S is at least 30 over what sweeps get, from products of
                      pairs (:mod:`~discreet.models.denoise.initial_factors`): then from all factors that stand out
                      there, though they be more than were planned, as what was paid for is not thrown away
    fixed effects     where there are no factors: what users' own fits have in common
                      (:mod:`~discreet.models.sums.fixed_effects`)
    pairs             for rankings, co-occurrence among the K most rated items: those for which q (T − 3)^0.4 is
                      largest, of those with R ≥ 12, T ≥ 7 and q ≥ 20%; none where S < 4. A part is asked for first:
                      if no pattern but popularity stands out in it, no more is. Where public features tell tastes
                      apart already, patterns add less: T must be 8 at least, and unless some K has T ≥ 13 and q ≥ 55%,
                      pairs get only half of what is left, counts the other half, and rankings stay nearer to
                      popularity (:mod:`~discreet.models.home.conditional_logit`), the more the smaller q is

A small look before pairs asks how wide priors at home should be (:mod:`~discreet.models.sums.prior_scales`).

``purpose`` says what the release is for. For ratings alone there are no pairs; for ranking alone there are no sweeps,
and sums of ratings get a small part beside counts.

**Guarantee.** Whether and how to look again depends on answers; the ledger's filter keeps to the limit that was fixed
beforehand (:mod:`~discreet.privacy.composition`).
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.models.home.conditional_logit import USUAL_FLOOR
from discreet.models.sums import fixed_effects
from discreet.models.sums.census import MIDDLES, Census
from discreet.models.sums.counted_pairs import CONSTANTS as LISTED
from discreet.models.sums.counted_pairs import CountedPairs
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices

Purpose = Literal["both", "ratings", "ranking"]
PURPOSES: tuple[Purpose, ...] = ("both", "ratings", "ranking")


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 to 516 of MovieLens 100K, 1M and latest-small, FilmTrust and MovieTweetings.

    The seeds of ``benchmarks/robust.py`` are others. The weights of sums were held against synthetic ratings too; what
    is about many factors, on synthetic ratings of 48,000 users, as in ``benchmarks/almanac.py --scale``, with the seed
    11. Shares are of μ².
    """

    census_share: float = 0.01
    """For how many users rate how much."""
    first_share: float = 0.2
    """For the first look at item sums."""
    scales_share: float = 0.02
    """For how wide priors at home should be, unless the release is for rankings alone."""
    sums_for_ratings: float = 1.5
    """The relative weight of sums beside counts, if the release is for ratings."""
    sums_for_both: float = 0.5
    """The same if it is for both: where noise hides most, counts are what is worth having."""
    sums_for_both_if_clear: float = 1.5
    """The same when item sums are asked for again, if S is at least ``clear_for_sums``."""
    clear_for_sums: float = 0.6
    """The least S, by the looks of nights before too, for which sums are worth as much as for ratings."""
    sums_for_ranking: float = 0.2
    """The same if it is for rankings, which need sums only to tell what is liked."""
    sums_for_ranking_if_clear: float = 0.6
    """The same when item sums are asked for again, if S is at least ``clear``."""
    sums_for_ranking_without_features: float = 1.0
    """The same without features, if S is at least ``clear_for_liked``: what is liked tells more of who rates it then.
    This and the next six were chosen on splits with the seeds 941, 942 and 951 to 953 of MovieLens 1M and 100K as they
    are and changed, FilmTrust and made-up ratings."""
    clear_for_liked: float = 1.5
    """The least S for that."""
    clear: float = 4.0
    """The least S for which pairs pay."""
    clear_for_sweeps: float = 3.0
    """The least S for which sweeps pay."""
    many_ratings_for_sweeps: float = 100.0
    """Where users have more ratings than this on average, as much less, by the root, is enough."""
    clear_for_factors: float = 25.0
    """The least S for which factors pay."""
    many_ratings_for_factors: float = 50.0
    """Where users have more ratings than this on average, as much less, by the root, is enough."""
    ratio_of_a_factor: float = 15.0
    """S for each factor."""
    most_factors: int = 8
    """However large S is, below ``clear_for_many``."""
    clear_for_many: float = 500.0
    """The least S for which ``many_factors`` pay: sweeps take longer with them, so there are fewer."""
    many_factors: int = 16
    """From there on."""
    ratings_of_a_factor: float = 8.0
    """A user must have so many ratings for each factor, on average. Chosen on splits with the seeds 1151 to 1154 of
    data with 7 to 50 of each user: with one for every 3, the default lost up to .008 RMSE where users have 7. Sweeps
    that start from products have all factors that these show, however few ratings users have."""
    biases_at_last: float = 0.12
    """For item biases alone, after sweeps with factors; .1 to .2 did the same."""
    again_beside_sweeps: float = 0.15
    """For item sums again, where sweeps have no factors."""
    part_again: float = 0.5
    """The same if the release is for both and S is below ``clear_for_a_sweep``, of what sweeps would get: counts gain
    more by it than by a sweep. This and the next were chosen on splits with the seeds 1111, 1112 and 1117 to 1119."""
    clear_for_a_sweep: float = 8.0
    sweeps: int = 2
    """Without factors, if the release is for ratings."""
    sweeps_with_factors: int = 12
    """If it is for ratings."""
    sweeps_with_factors_beside_pairs: int = 8
    """If it is for both."""
    many_users: float = 100_000
    """From so many users on there are fewer sweeps, as each takes long: two thirds as many, and half beside pairs."""
    sweeps_of_many_users: int = 8
    """With factors, if it is for ratings."""
    sweeps_of_many_users_beside_pairs: int = 4
    """The same if it is for both."""
    sweeps_with_many_factors: int = 4
    """Whatever it is for."""
    clear_for_start: float = 30.0
    """The least S, times what sweeps get of the budget, for which they start from products of pairs, where items have
    no public features. This and the next two were chosen on FilmTrust, made-up ratings and MovieLens without features,
    on splits with the seeds 611 to 614."""
    start_share: float = 0.25
    """For these products, of what sweeps get."""
    sweeps_after_start: int = 6
    """At most: they start from better factors."""
    counts_in_sweeps: float = 0.5
    """The relative weight of counts in a sweep without factors, if the release is for both: rankings get them too."""
    tried_share: float = 0.38
    """The part of what pairs get that is asked for first, to see whether patterns stand out."""
    tried_without_features: float = 0.6
    """The same without features: with less, pairs were given up too often. Chosen on splits with the seeds 873, 874,
    884 and 885 of small data of ``benchmarks/robust.py``."""
    least_patterns: int = 2
    """How many must, popularity among them; otherwise the rest goes elsewhere."""
    pair_share: float = 0.38
    """For pairs, if the release is for both: with less, RMSE is better and rankings are worse."""
    pair_share_of_many: float = 0.2
    """The same from ``clear_for_many`` on, where rankings lose little by it. Chosen on 480,000 synthetic users, as in
    ``benchmarks/almanac.py --scale``, with the seed 11."""
    least_ratio: float = 12.0
    """The least R: with less, the T that is seen may be noise of the first look. This and the next were chosen by
    rankings on splits with the seeds 701, 702 and 711 of all small data of ``benchmarks/robust.py``."""
    without_features: tuple[float, float] = (7.0, 0.2)
    """The least T and q."""
    with_features: tuple[float, float] = (8.0, 0.2)
    """The same with features. This and the next two were chosen on splits with the seeds 901 to 903 of all data of
    ``benchmarks/robust.py``."""
    clear_with_features: tuple[float, float] = (13.0, 0.55)
    """The T and q from which on pairs with features get all that is left, and rankings the usual floor."""
    part_if_unclear: float = 0.5
    """How much of what is left pairs get otherwise, if the release is for rankings."""
    clear_for_products: float = 14.0
    """The least P."""
    covered_by_products: float = 0.99
    """The share of ratings of the items that P is about."""
    clip_of_products: float = 0.25
    """Where residuals are clipped in products, in widths of the scale."""
    counts_beside_products: float = 0.6
    """κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of counts relative to products."""
    counts_beside_products_for_ratings: float = 0.2
    """The same if the release is for ratings."""

    def relative_weight(self, purpose: Purpose) -> float:
        """Of sums beside counts."""
        weights = {
            "ratings": self.sums_for_ratings,
            "both": self.sums_for_both,
            "ranking": self.sums_for_ranking,
        }
        return weights[purpose]


CONSTANTS = _Constants()


@dataclass(frozen=True)
class Sweeps:
    """How what is left of the budget is spent on sweeps; ``relative_weight`` is that of counts, None for the usual.

    Of ``share``, ``last`` goes to item biases after the sweeps, and ``start`` before them to products of pairs of as
    many ``items``, which may show more than ``factors``: sweeps then have as many as they show.
    """

    factors: int
    sweeps: int
    share: float
    relative_weight: float | None = None
    last: float = 0.0
    start: float = 0.0
    items: int = 0


@dataclass(frozen=True)
class NextLooks:
    """Shares of the budget, which sum to what the first look left."""

    again: float
    """For the item sums once more."""
    sweeps: Sweeps | None
    pairs: float
    items: int
    """Among how many items pairs are asked for."""
    sums_again: float | None = None
    """The relative weight of sums when item sums are asked for again; None for that of the first look."""
    products: bool = False
    """Whether pairs are asked for products of ratings too."""
    effects: float = 0.0
    """For what users' own fits have in common."""
    floor: float = USUAL_FLOOR
    """The share of popularity that everyone keeps in rankings."""


def item_sums(population: Population, purpose: Purpose) -> ItemStatistics:
    """The first look at items; after other nights sums weigh as much as in all of these together."""
    about, prior = ItemStatistics.of(population.catalogue, "user, l2"), population.catalogue.prior
    if about.counts_alone:
        return about
    least = CONSTANTS.relative_weight(purpose)
    before = None if prior is None else prior.relative_weight
    weight = least if before is None else float(np.clip(before, least, max(least, CONSTANTS.sums_for_both_if_clear)))
    return replace(about, relative_weight=weight)


def next_looks(
    purpose: Purpose,
    census: Census,
    counts: Doubles,
    population: Population,
    features: int = 0,
    before: float = math.inf,
    tried: float = 0.0,
    without: Collection[str] = (),
) -> NextLooks:
    """What to ask for next, where items have so many public features.

    ``before`` is the deviation of the noise on a count in the looks of nights before, if there were any. With
    ``tried``, what went to pairs in which nothing stood out, there are no more pairs. ``without`` rules out ``pairs``,
    or ``sweeps`` as well, for which there is no room (:mod:`~discreet.models.sums.room`).
    """
    left = 1 - CONSTANTS.census_share - CONSTANTS.first_share - tried
    left -= 0.0 if purpose == "ranking" else CONSTANTS.scales_share
    no_pairs = tried > 0 or "pairs" in without
    if purpose != "ranking" and not no_pairs and (items := items_for_products(census, counts, population, left)):
        return NextLooks(0.0, None, left, items, products=True)
    clearness = clearness_of(counts, population)
    for_both = CONSTANTS.pair_share_of_many if clearness >= CONSTANTS.clear_for_many else CONSTANTS.pair_share
    for_pairs, listed = for_both if purpose == "both" else left, CountedPairs()
    if clearness >= CONSTANTS.clear and not no_pairs:
        listed = counted_pairs(census, counts, population, for_pairs, features > 0)
    items = 0 if purpose == "ratings" else listed.items
    sums_again = sums_beside_counts(purpose, math.hypot(clearness, typical(counts) / before), features > 0)
    if purpose == "ranking":
        pairs = (1.0 if listed.clear else CONSTANTS.part_if_unclear) * left if items else 0.0
        return NextLooks(left - pairs, None, pairs, items, sums_again, floor=listed.floor)
    pairs = for_both if items else 0.0
    factors = factors_for(clearness, census)
    effects = 0.0 if factors else fixed_effects.share_for(census, population, features)
    left -= pairs + effects
    least = least_clear(CONSTANTS.clear_for_sweeps, CONSTANTS.many_ratings_for_sweeps, census)
    if clearness < least or "sweeps" in without:
        return NextLooks(left, None, 0.0, 0, sums_again, effects=effects)
    if factors:
        sweeps = Sweeps(factors, sweeps_with(factors, purpose, census), left, last=CONSTANTS.biases_at_last)
        if listed.items and features == 0 and clearness * left >= CONSTANTS.clear_for_start:
            fewer = min(sweeps.sweeps, CONSTANTS.sweeps_after_start)
            sweeps = replace(sweeps, sweeps=fewer, start=CONSTANTS.start_share * left, items=listed.items)
        return NextLooks(0.0, sweeps, pairs, items, floor=listed.floor)
    hidden = purpose == "both" and clearness < CONSTANTS.clear_for_a_sweep
    part = CONSTANTS.part_again * left if hidden else CONSTANTS.again_beside_sweeps
    again = 0.0 if items else part
    sweeps = Sweeps(0, CONSTANTS.sweeps, left - again)
    if purpose == "both":
        sweeps = Sweeps(0, 1, left - again, CONSTANTS.counts_in_sweeps)
    return NextLooks(again, sweeps, pairs, items, sums_again, effects=effects, floor=listed.floor)


def least_clear(usual: float, many: float, census: Census) -> float:
    """The least S where users have about so many ratings: less than usual from ``many`` on, by the root."""
    return usual * min(1.0, math.sqrt(many / max(census.ratings_of_a_user, 1e-9)))


def sums_beside_counts(purpose: Purpose, clearness: float, features: bool) -> float | None:
    """The relative weight of sums in a second look; None for that of the first."""
    if purpose == "both" and clearness >= CONSTANTS.clear_for_sums:
        return CONSTANTS.sums_for_both_if_clear
    if purpose == "ranking" and not features and clearness >= CONSTANTS.clear_for_liked:
        return CONSTANTS.sums_for_ranking_without_features
    if purpose == "ranking" and clearness >= CONSTANTS.clear:
        return CONSTANTS.sums_for_ranking_if_clear
    return None


def clearness_of(counts: Doubles, population: Population) -> float:
    """S above."""
    about = ItemStatistics.of(population.catalogue, "user, l2").contribution
    return typical(counts) / population.deviation(replace(about, noise="gaussian"))


def typical(counts: Doubles) -> float:
    """The count of the item of a rating."""
    return float((counts**2).sum()) / max(float(counts.sum()), 1e-9)


def factors_for(clearness: float, census: Census) -> int:
    """How many factors of ratings are worth asking for."""
    if clearness < least_clear(CONSTANTS.clear_for_factors, CONSTANTS.many_ratings_for_factors, census):
        return 0
    most = CONSTANTS.many_factors if clearness >= CONSTANTS.clear_for_many else CONSTANTS.most_factors
    most = min(most, int(census.ratings_of_a_user / CONSTANTS.ratings_of_a_factor))
    return min(max(round(clearness / CONSTANTS.ratio_of_a_factor), 1), most)


def sweeps_with(factors: int, purpose: Purpose, census: Census) -> int:
    """How many sweeps so many factors get."""
    plan = CONSTANTS
    if factors > plan.most_factors:
        return plan.sweeps_with_many_factors
    if census.total >= plan.many_users:
        alone, beside = plan.sweeps_of_many_users, plan.sweeps_of_many_users_beside_pairs
    else:
        alone, beside = plan.sweeps_with_factors, plan.sweeps_with_factors_beside_pairs
    return beside if purpose == "both" else alone


def items_for_products(census: Census, counts: Doubles, population: Population, share: float) -> int:
    """The items with nearly all ratings, if P is large enough among them; otherwise 0."""
    falling = np.sort(counts)[::-1]
    covered = np.cumsum(falling) / max(float(falling.sum()), 1e-9)
    items = int(np.searchsorted(covered, CONSTANTS.covered_by_products)) + 1
    if not LISTED.fewest_items <= items <= min(len(counts), LISTED.most_items):
        return 0
    together = census.total * census.ratings_of_a_user / items**2  # a user of n ratings adds 1/n to n² pairs
    return items if together >= CONSTANTS.clear_for_products * co_occurrence_noise(population, items, share) else 0


def counted_pairs(
    census: Census, counts: Doubles, population: Population, share: float, features: bool
) -> CountedPairs:
    """The K above with this share of the budget, where items have features or not."""
    falling = np.sort(counts)[::-1]
    most = min(len(counts), LISTED.most_items)
    covered = (np.cumsum(falling) / max(float(falling.sum()), 1e-9))[:most]
    of_users = np.outer(covered, MIDDLES)  # how many of the listed items they rated
    not_the_only = (np.maximum(of_users - 1, 0) @ census.users) / np.maximum(of_users @ census.users, 1e-9)
    ratings = falling[:most] * (census.size[1] / max(float(falling.sum()), 1e-9))
    popularity = np.cumsum(ratings**2) / np.maximum(np.cumsum(ratings), 1e-9) * not_the_only
    thresholds = 2 * co_occurrence_noise(population, most, share) * np.sqrt(np.arange(1, most + 1))
    seen = np.clip(of_users - 1, 0, 1) @ census.users >= CONSTANTS.least_ratio * thresholds
    popularity = np.where(seen, popularity / thresholds, 0.0)
    if features:
        return CountedPairs.of(covered, popularity, CONSTANTS.with_features, CONSTANTS.clear_with_features)
    return CountedPairs.of(covered, popularity, CONSTANTS.without_features)


def products(rows: Indices, base: Floats, width: float, purpose: Purpose) -> tuple[PairSums, Contribution]:
    """Products and co-occurrence counts of the listed items."""
    clip, weight = CONSTANTS.clip_of_products * width, CONSTANTS.counts_beside_products
    if purpose == "ratings":
        weight = CONSTANTS.counts_beside_products_for_ratings
    pairs = PairSums(rows, base, clip, weight, None, "user, l2")
    return pairs, replace(pairs.contribution, noise="gaussian")


def co_occurrence(rows: Indices, base: Floats) -> tuple[PairSums, Contribution]:
    """Co-occurrence counts of the listed items alone: with an infinite clip all residuals are 0."""
    pairs = PairSums(rows, base, math.inf, 1.0, None, "user, l2")
    return pairs, replace(pairs.contribution, noise="gaussian")


def co_occurrence_noise(population: Population, items: int, share: float) -> float:
    """The deviation of the noise on a co-occurrence count off the diagonal."""
    base = np.zeros(len(population.catalogue), dtype=np.float32)
    pairs, asked = co_occurrence(np.arange(items, dtype=np.int32), base)
    return pairs.deviations(population.deviation(asked, share))[1]
