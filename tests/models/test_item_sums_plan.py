"""How item sums are asked for with the unit rating: what sums weigh beside counts, and where residuals are clipped."""

import numpy as np
import pytest

import discreet as dc
from discreet.models.sums.almanac_plan import CONSTANTS as PLAN
from discreet.models.sums.almanac_plan import PURPOSES, typical
from discreet.models.sums.item_statistics import SCALINGS, ItemStatistics
from discreet.models.sums.item_sums_plan import CONSTANTS, clearness_of, item_sums, kept_by, sums_again

RATINGS = dc.synthetic(users=400, items=120, ratings=12_000, seed=3)


def server(epsilon=5.0):
    return dc.TrustedServer(RATINGS, dc.Ledger(epsilon=epsilon, delta=1e-6), randomness=dc.Randomness(1))


def test_sums_weigh_less_the_more_noise_hides():
    for purpose in PURPOSES:
        found = [item_sums(server(epsilon), purpose, 4e3) for epsilon in (0.001, 0.05, 5.0)]
        weights = [about.relative_weight for about in found]
        assert weights == sorted(weights) and weights[0] < weights[-1]
        clips = [about.clip for about in found]
        assert clips == ([1.0] * 3 if purpose == "ranking" else [CONSTANTS.clip, CONSTANTS.clip, 1.0])
        assert [about.kept for about in found] == [kept_by(clip) for clip in clips]


def test_rankings_keep_counts_where_noise_hides_nearly_everything():
    assert item_sums(server(0.001), "ranking", 4e3).relative_weight == CONSTANTS.for_ranking_if_hidden
    assert item_sums(server(5.0), "ranking", 4e3).relative_weight == PLAN.sums_for_ranking
    assert item_sums(server(5.0), "ranking", -4e3).relative_weight == CONSTANTS.for_ranking_if_hidden


@pytest.mark.parametrize("features", [False, True])
def test_rankings_ask_what_is_liked_where_nothing_else_is_known(features):
    population, counts = server(), np.linspace(3000, 100, 120)
    weight = sums_again("ranking", counts, population, features=features, pairs=False)
    assert weight == (None if features else CONSTANTS.for_ranking_alone)
    dim = counts * 0.9 * CONSTANTS.clear_for_liked / clearness_of(counts, population)
    assert sums_again("ranking", dim, population, features=features, pairs=False) is None
    assert sums_again("ranking", dim, population, features=features, pairs=True) == CONSTANTS.for_ranking_beside_pairs


def test_clear_sums_weigh_more_when_they_are_asked_for_again():
    population, counts = server(), np.linspace(3000, 100, 120)
    weight = CONSTANTS.for_both_if_clear
    first = item_sums(population, "both", 4e3)
    assert sums_again("both", counts, population, features=True, pairs=True) == weight > first.relative_weight
    assert sums_again("both", counts / 1e5, population, features=True, pairs=True) is None
    assert sums_again("ratings", counts, population, features=True, pairs=True) is None
    few = counts / 1e4
    nights_before = typical(few) / CONSTANTS.clear
    assert sums_again("both", few, population, nights_before * 1.1, features=True, pairs=True) is None
    assert sums_again("both", few, population, nights_before * 0.9, features=True, pairs=True) == weight


@pytest.mark.parametrize("purpose", PURPOSES)
def test_whoever_is_summed_exactly_in_the_first_look_is_so_in_all(purpose):
    """More users are then refused before anything is spent."""
    counts, most = np.linspace(3000, 100, 120), set()
    for epsilon in (0.001, 0.05, 5.0):
        population = server(epsilon)
        sums = item_sums(population, purpose, 4e3)
        most.add(sums.contribution.most_users)
        for features in (False, True):
            for pairs in (False, True):
                weight = sums_again(purpose, counts, population, features=features, pairs=pairs)
                most.add(sums.with_weight(weight).contribution.most_users)
    assert most == {int(2**23 / {"ratings": 1.5, "both": 2.0, "ranking": 1.0}[purpose])}


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("weight", [0.2, 1.0, 1.5, 2.0, 50.0])
def test_no_sum_over_as_many_users_as_are_allowed_leaves_the_doubles(scaling, weight):
    """Multiples of 2⁻³⁰ are exact up to 2⁵³ of them: as many of the largest entry there is are fewer."""
    base = np.full(120, 3.0, dtype=np.float32)
    sums = ItemStatistics(base, RATINGS.catalogue.scale, scaling, weight)
    alone = dc.Ratings.of_history(dc.History(RATINGS.catalogue, np.array([0], np.int32), np.array([5.0], np.float32)))
    largest = np.abs(sums.contribution.total(alone)).max()
    assert largest == weight if scaling == "rating" and weight > 1 else largest <= 1
    assert sums.contribution.most_users * largest * 2.0**30 <= 2.0**53
