"""How an almanac asks for item sums with the unit rating, decided by how many pairs users rate.

It goes by x = Σ_u √(n_u − 1) / items, in deviations of the noise on a count: about how clearly an average item is seen.
Where x is small, noise hides most items and what counts tell of them is worth more, so sums weigh less beside counts;
and where x < 1.5 residuals about the level of all ratings are clipped more tightly than they spread, which makes noise
on sums as much smaller and loses little. Otherwise they are clipped at half the width of the scale, about the prior
mean of a rating, and sums weigh most. Where x is near 1.5 the clip is that of a prior, and so is the level if it is
near: so the sums of several nights average.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.prior import ItemPrior
from discreet.models.sums.almanac_plan import CONSTANTS as PLAN
from discreet.models.sums.almanac_plan import Purpose, typical
from discreet.models.sums.census import trace_of_users
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.population import Population
from discreet.types import Doubles


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 to 508 of the data of ``benchmarks/robust.py``, and with the seeds 611 to 614
    of those that it changes.

    Weights are of sums relative to counts.
    """

    clip: float = 0.4
    """Where residuals are clipped where x is small, in half widths of the scale, a little less than they spread, unless
    the release is for rankings alone."""
    density_of_clip: float = 1.5
    """The least x for which residuals are clipped at half the width of the scale: noise no longer hides most items."""
    nearly: float = 1.25
    """By what factor x may differ from that, for the clip to be taken from a prior."""
    rating_deviation: float = 0.235
    """Of ratings about the expectation of their item, in widths of the scale: what a clip leaves."""
    for_ratings: tuple[float, float] = (0.8, 1.5)
    """The least and the largest weight, if the release is for ratings."""
    for_both: tuple[float, float] = (0.25, 1.0)
    """The same if it is for both. This and how it grows were chosen on splits with the seeds 704 to 707."""
    if_dense: float = 2.0
    """The weight for x = 1."""
    power_of_density: float = 0.4
    """How it grows with x."""
    power_of_density_for_both: float = 0.8
    """The same if it is for both: where noise hides most, rankings need what sums would take."""
    for_ranking_if_hidden: float = 0.05
    """The weight if the release is for rankings and x is small: noise on counts is a fifth larger with the usual one,
    and up to .015 NDCG@100 were lost by it. Chosen on splits with the seeds 1101 to 1104."""
    hidden: float = 0.6
    """The largest x for that."""
    for_ranking_beside_pairs: float = 1.0
    """The weight for rankings when item sums are asked for again and pairs follow: these tell what counts would."""
    for_ranking_alone: float = 0.5
    """The same if S is at least ``clear_for_liked`` and there is nothing else to go by, neither features nor pairs:
    what is liked tells of who rates it. Chosen on the same."""
    clear_for_liked: float = 5.0
    for_both_if_clear: float = 2.0
    """The weight for both when item sums are asked for again, if S is at least ``clear``: then counts are known well
    enough. Chosen on splits with the seeds 911 and 912."""
    clear: float = 14.0
    """The least S for that."""

    def heaviest(self, purpose: Purpose) -> float:
        """The largest weight of all looks."""
        if purpose == "ratings":
            return self.for_ratings[1]
        if purpose == "both":
            return max(self.for_both[1], self.for_both_if_clear)
        return max(PLAN.sums_for_ranking, self.for_ranking_beside_pairs, self.for_ranking_alone)


CONSTANTS = _Constants()


def check(population: Population, purpose: Purpose) -> None:
    """Raise before the first look where there are too many users for one of the looks."""
    about = ItemStatistics.of(population.catalogue, "rating")
    population.deviation(about.with_weight(CONSTANTS.heaviest(purpose)).contribution)


def item_sums(population: Population, purpose: Purpose, trace: float) -> ItemStatistics:
    """What is asked of items."""
    about = replace(ItemStatistics.of(population.catalogue, "rating"), heaviest=CONSTANTS.heaviest(purpose))
    density = max(trace, 0.0) / (len(population.catalogue) * population.deviation(trace_of_users()))
    if purpose == "ranking":
        hidden = density < CONSTANTS.hidden
        weight = CONSTANTS.for_ranking_if_hidden if hidden else PLAN.sums_for_ranking
        return about if about.counts_alone else replace(about, relative_weight=weight)
    power, limits = CONSTANTS.power_of_density, CONSTANTS.for_ratings
    if purpose == "both":
        power, limits = CONSTANTS.power_of_density_for_both, CONSTANTS.for_both
    weight = float(np.clip(CONSTANTS.if_dense * density**power, *limits))
    clip = clip_for(density, population.catalogue.prior)
    return replace(about, relative_weight=weight, clip=clip, kept=kept_by(clip))


def clip_for(density: float, prior: ItemPrior | None) -> float:
    """Where residuals are clipped, by x; where this could be either, as in the sums of a prior, which then average."""
    tight, nearly = density < CONSTANTS.density_of_clip, CONSTANTS.nearly
    if 1 / nearly < density / CONSTANTS.density_of_clip < nearly and prior is not None and prior.sums_kind is not None:
        tight = bool(prior.sums_kind[2] == np.float32(CONSTANTS.clip))
    return CONSTANTS.clip if tight else 1.0


def kept_by(clip: float) -> float:
    """How much of a small difference between items is left in sums: the share of ratings that are not clipped.

    >>> round(kept_by(0.4), 2), kept_by(1.0)
    (0.63, 1.0)
    """
    half_width = 0.5 / (math.sqrt(2) * CONSTANTS.rating_deviation)
    return math.erf(clip * half_width) / math.erf(half_width)


def sums_again(
    purpose: Purpose,
    counts: Doubles,
    population: Population,
    before: float = math.inf,
    *,
    features: bool,
    pairs: bool,
) -> float | None:
    """The relative weight of sums when item sums are asked for again; None for that of the first look.

    ``before`` is the deviation of the noise on a count in the looks of nights before, if there were any; ``features``
    says whether items have any, and ``pairs`` whether some will be asked for.
    """
    clearness = math.hypot(clearness_of(counts, population), typical(counts) / before)
    if purpose == "both" and clearness >= CONSTANTS.clear:
        return CONSTANTS.for_both_if_clear
    if purpose == "ranking" and pairs:
        return CONSTANTS.for_ranking_beside_pairs
    if purpose == "ranking" and not features and clearness >= CONSTANTS.clear_for_liked:
        return CONSTANTS.for_ranking_alone
    return None


def clearness_of(counts: Doubles, population: Population) -> float:
    """S of :mod:`~discreet.models.sums.rating_plan`: of the item of a rating, if the whole budget went there."""
    return typical(counts) / population.deviation(ItemStatistics.of(population.catalogue, "rating").contribution)
