"""Which looks of an almanac its population has room for, as far as the samplers of noise go.

Every number under noise is off with tiny odds, which count e^ε times and must fit into a small part of delta that is
set aside (:mod:`~discreet.privacy.composition`). Pairs of items are millions of numbers: with an epsilon of 30 and
more, or of 15 where every user adds a share of the noise, they may not fit. A ledger would refuse them, but only after
the looks that led to them were paid for. So the numbers of a plan are counted before it is followed: where there is no
room for them, pairs are left out of it, and where that is not enough, sweeps. Where there is none even for what is
left, nothing is decided on the way, and one look at item sums gets the whole budget.

How many numbers a plan has depends on noisy answers and on public facts, as the plan itself does.
"""

from dataclasses import replace

from discreet.errors import OverspentError
from discreet.kernels.covariance import packed_length
from discreet.models.home.conditional_logit import USUAL_FLOOR
from discreet.models.sums import almanac_plan, rating_plan
from discreet.models.sums.almanac_plan import NextLooks, Purpose
from discreet.models.sums.almanac_queries import AlmanacQueries
from discreet.models.sums.census import BINS, Census
from discreet.populations.around import has_room
from discreet.populations.population import Population
from discreet.types import Doubles

SMALL = 32
"""More than the numbers of the level, of how wide priors are, and of fixed effects beside those of features."""


def to_look_first(population: Population, features: int) -> bool:
    """Whether there is room for item sums, twice, and what is small beside them: for the least of all plans."""
    size = len(population.catalogue)
    return has_room(population, len(BINS), 2 * size, 2 * size, features + SMALL)


def beforehand(population: Population, queries: AlmanacQueries, *, wanted: bool) -> AlmanacQueries:
    """What is decided by public facts, without pairs where there is no room for them; an error if they are wanted."""
    pairs = 2 * packed_length(queries.items)
    if queries.share == 0 or has_room(population, 2 * len(population.catalogue), pairs):
        return queries
    if wanted:
        raise OverspentError(
            f"pairs of {queries.items:,} items cannot be had with so large an epsilon and so small a delta: "
            "the samplers alone are off with larger odds; nothing was computed"
        )
    return replace(queries, share=0.0)


def next_looks(
    purpose: Purpose,
    census: Census,
    counts: Doubles,
    population: Population,
    features: int,
    before: float,
    tried: float = 0.0,
    *,
    most_listed: int,
) -> NextLooks:
    """Those of :func:`almanac_plan.next_looks` that there is room for; sweeps are about ``most_listed`` items."""
    looks = NextLooks(0.0, None, 0.0, 0)
    for without in ((), ("pairs",), ("pairs", "sweeps")):
        looks = almanac_plan.next_looks(purpose, census, counts, population, features, before, tried, without)
        if has_room(population, *cells_of(looks, len(population.catalogue), features, most_listed)):
            break
    return looks


def cells_of(looks: NextLooks, size: int, features: int, most_listed: int) -> list[int]:
    """How many numbers each of the looks has, at most, for so many items and features."""
    cells = [features + SMALL]
    if looks.again > 0:
        cells.append(2 * size)
    if looks.pairs > 0:
        cells += [2 * packed_length(looks.items)] * (1 if looks.products else 2)
    if (sweeps := looks.sweeps) is not None:
        factors = sweeps.factors
        if sweeps.start > 0:  # whose products may show more factors than were planned
            cells.append(2 * packed_length(sweeps.items))
            factors = max(factors, almanac_plan.CONSTANTS.many_factors)
        listed = min(size, most_listed)
        cells += [listed * (packed_length(factors + 1) + factors + 1)] * sweeps.sweeps
        cells += [2 * listed] * (sweeps.last > 0)
    return cells


def looks_at_ratings(looks: rating_plan.NextLooks, population: Population) -> rating_plan.NextLooks:
    """The same for those of :func:`rating_plan.next_looks`: without pairs, item sums get what these would have had."""
    pairs = [2 * packed_length(items) for items in (looks.items, looks.rated) if items]
    if looks.pairs == 0 or has_room(population, SMALL, 2 * len(population.catalogue), *pairs):
        return looks
    without = replace(looks, pairs=0.0, items=0, rated=0, part=0.0, floor=USUAL_FLOOR)
    return replace(without, again=looks.again + looks.pairs)
