"""What an almanac asks for after its first look: the census, the rules, and that nothing is lost by looking twice."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.loading import without_ratings
from discreet.models.denoise.item_biases import NoisyCounts
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.home.conditional_logit import USUAL_FLOOR
from discreet.models.sums import rating_plan
from discreet.models.sums.almanac_plan import (
    CONSTANTS,
    PURPOSES,
    clearness_of,
    counted_pairs,
    factors_for,
    item_sums,
    next_looks,
    sums_beside_counts,
    sweeps_with,
)
from discreet.models.sums.census import BINS, MIDDLES, Census, census_of_users, trace_of_users
from discreet.models.sums.counted_pairs import CountedPairs
from discreet.models.sums.item_statistics import ItemStatistics, item_counts

SCALE = dc.Scale(1, 5)
CATALOGUE = dc.Catalogue.of(["a", "b", "c"], SCALE, declared=True)
RATINGS = dc.synthetic(users=400, items=120, ratings=12_000, seed=3)


def server(epsilon=2.0, ratings=RATINGS, seed=1):
    ledger = dc.Ledger(epsilon=epsilon, delta=1e-6, unit=dc.User())
    return dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(seed))


def rating_server(epsilon=5.0, ratings=RATINGS, seed=1):
    return dc.TrustedServer(ratings, dc.Ledger(epsilon=epsilon, delta=1e-6), randomness=dc.Randomness(seed))


def everyone_rates(ratings, users):
    """A census of so many users with so many ratings each."""
    found = np.zeros(len(BINS))
    found[np.searchsorted(BINS, ratings, side="right") - 1] = users
    return Census(found)


# ── The census ──


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_unit_moves_the_census_beyond_its_bound(neighbours):
    found = dc.audit.check_sensitivity(census_of_users(), CATALOGUE, [1, 5], users=2, neighbours=neighbours)
    assert all(measured.exhaustive for measured in found)


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_rating_moves_the_trace_of_users_beyond_its_bound(neighbours):
    found = dc.audit.check_sensitivity(trace_of_users(), CATALOGUE, [1, 5], users=2, neighbours=neighbours)
    assert all(measured.exhaustive for measured in found)


def test_one_more_rating_moves_the_trace_of_users_by_one_at_most():
    """However many ratings a user has: the roots differ by less, and rounding adds no more than 2**-10."""
    catalogue = dc.Catalogue.of([str(item) for item in range(1500)], SCALE, declared=True)
    sums = []
    for count in range(1, 1500):
        history = dc.History(catalogue, np.arange(count, dtype=np.int32), np.full(count, 3, dtype=np.float32))
        ratings = dc.Ratings.of_history(history)
        sums.append(float(trace_of_users().total(ratings)[0]))
    assert np.diff([0.0, *sums]).max() == 1.0


def test_the_census_counts_users_by_how_much_they_rate():
    lengths = np.diff(RATINGS.indptr)
    found = census_of_users().total(RATINGS)
    assert found.sum() == (lengths > 0).sum()
    for place, (low, high) in enumerate(zip(BINS, (*BINS[1:], 10**9), strict=True)):
        assert found[place] == ((lengths >= low) & (lengths < high)).sum()


def test_a_census_that_noise_hides_says_nobody():
    assert Census.of(np.full(len(BINS), 5.0), deviation=10.0).total == 0
    assert Census.of(np.full(len(BINS), 5.0), deviation=10.0).ratings_of_a_user == 0
    clear = Census.of(np.eye(len(BINS))[4] * 1000, deviation=10.0)
    assert (clear.total, clear.ratings_of_a_user) == (1000, pytest.approx(MIDDLES[4]))


# ── Looks that are averaged ──


def test_two_looks_have_the_noise_of_one_with_both_shares():
    """Deviations over 240 cells and 60 draws: a normal estimate errs by less than 5% but once in 10^15."""
    exact = SeenItems.ask(item_sums(dc.NoPrivacy(RATINGS), "both"), dc.NoPrivacy(RATINGS), 1.0).answer
    errors, expected = [], 0.0
    for seed in range(60):
        population = server(seed=seed)
        seen = SeenItems.ask(item_sums(population, "both"), population, 0.2).again(population, 0.4)
        errors.append(seen.answer - exact)
        expected = seen.deviation
    assert np.std(errors) == pytest.approx(expected, rel=0.05)


def test_counts_are_averaged_by_their_noise():
    said = NoisyCounts(np.array([10.0, 10.0]), np.array([1.0, 2.0]))
    together, deviations = said.averaged_with(np.array([20.0, 20.0]), 1.0)
    np.testing.assert_allclose(together, [15.0, 18.0])
    np.testing.assert_allclose(deviations, [0.5**0.5, (1 / 4 + 1) ** -0.5])


# ── The rules ──


def test_the_shares_are_all_that_is_left():
    population = server()
    for purpose in PURPOSES:
        scales = 0 if purpose == "ranking" else CONSTANTS.scales_share
        left = 1 - CONSTANTS.census_share - CONSTANTS.first_share - scales
        for size in (0.1, 3.0, 30.0, 300.0, 3000.0):
            for users in (0, 400, 400_000):
                counts = np.full(120, size) * np.linspace(3, 0.1, 120)
                looks = next_looks(purpose, everyone_rates(60, users), counts, population)
                spent = looks.again + looks.pairs + looks.effects
                assert spent + (0 if looks.sweeps is None else looks.sweeps.share) == pytest.approx(left)
                assert looks.effects == 0 or purpose != "ranking"
                assert looks.sweeps is None or looks.sweeps.start < looks.sweeps.share - looks.sweeps.last
                assert (looks.pairs > 0) == (looks.items > 0)
                assert looks.pairs == 0 or looks.products or purpose != "ratings"
                assert looks.sweeps is None or purpose != "ranking"
                assert looks.sweeps is None or (looks.sweeps.last > 0) == (looks.sweeps.factors > 0)


def test_sweeps_start_from_products_where_items_are_clear_and_have_no_features():
    census, counts = everyone_rates(60, 10_000), np.full(120, 3000.0) * np.linspace(3, 0.1, 120)
    population = server(epsilon=0.5)
    without, having = (next_looks("ratings", census, counts / 10, population, columns).sweeps for columns in (0, 20))
    assert without.start > 0 and without.items > 0 and without.sweeps == CONSTANTS.sweeps_after_start
    assert having.start == 0 and having.sweeps > without.sweeps
    assert next_looks("both", census, counts / 10, population).sweeps.start == 0  # pairs leave sweeps too little
    assert next_looks("ratings", census, counts / 1000, population).sweeps is None


def test_the_clearer_items_are_the_more_is_asked_of_sweeps():
    census = everyone_rates(60, 10_000)
    assert [factors_for(clear, census) for clear in (1, 19, 30, 60, 400, 1000)] == [0, 0, 2, 4, 8, 9]
    assert factors_for(1000, everyone_rates(170, 10_000)) == CONSTANTS.many_factors
    assert [factors_for(14, everyone_rates(ratings, 10_000)) for ratings in (20, 60, 290)] == [0, 0, 1]
    assert [factors_for(1000, everyone_rates(ratings, 10_000)) for ratings in (5, 12, 20)] == [0, 1, 3]
    assert factors_for(1000, everyone_rates(60, 0)) == 0


def test_sweeps_begin_earlier_where_users_rate_many_items():
    population, counts = server(), np.linspace(3, 0.1, 120)
    counts *= 2.5 / clearness_of(counts, population)
    few, many = (next_looks("ratings", everyone_rates(ratings, 40), counts, population) for ratings in (60, 290))
    assert few.sweeps is None and many.sweeps is not None


def test_rankings_ask_more_of_what_is_liked_where_nothing_else_tells_items_apart():
    for clear, without, having in ((1.0, None, None), (2.0, 1.0, None), (10.0, 1.0, 0.6)):
        found = [sums_beside_counts("ranking", clear, features) for features in (False, True)]
        assert found == [without, having]


def test_sweeps_are_fewer_where_each_takes_long():
    few, many = (everyone_rates(60, users) for users in (10_000, 10**6))
    assert [sweeps_with(8, purpose, few) for purpose in ("ratings", "both")] == [12, 8]
    assert [sweeps_with(8, purpose, many) for purpose in ("ratings", "both")] == [8, 4]
    assert [sweeps_with(16, purpose, many) for purpose in ("ratings", "both")] == [4, 4]


def test_pairs_are_asked_for_where_enough_users_rate_two_of_the_items():
    population = server()
    counts = np.linspace(3, 0.1, 120)
    assert counted_pairs(everyone_rates(60, 0), counts, population, 0.78, False).items == 0
    few, many = (
        counted_pairs(everyone_rates(60, users), counts, population, 0.78, False).items for users in (2_000, 10**6)
    )
    assert 0 < few <= many <= 120
    assert counted_pairs(everyone_rates(1, 10**4), counts, population, 0.78, False).items == 0  # nobody rates two


def test_pairs_get_everything_later_where_public_features_tell_tastes_apart():
    population, counts = server(), np.linspace(3, 0.1, 120)
    asked, clear = {}, {}
    for features in (False, True):
        found = [
            counted_pairs(everyone_rates(60, users), counts, population, 0.78, features) for users in range(10, 400, 5)
        ]
        asked[features] = [pairs.items > 0 for pairs in found]
        clear[features] = [pairs.items > 0 and pairs.clear for pairs in found]
        for series in (asked[features], clear[features]):
            assert np.diff(series).sum() == 1  # refused, and from some size on asked for
    assert sum(asked[True]) <= sum(asked[False]) and sum(clear[True]) < sum(clear[False]) == sum(asked[False])


def test_pairs_that_say_little_more_than_features_get_half_and_keep_rankings_near_popularity():
    """The usual floor where they are clear or there are no features; the larger one where few ratings are listed."""
    population, counts = server(), np.linspace(3, 0.1, 120)
    found = [counted_pairs(everyone_rates(60, users), counts, population, 0.78, True) for users in range(10, 400, 5)]
    unclear = [pairs for pairs in found if pairs.items and not pairs.clear]
    assert unclear and found[-1].clear and found[-1].floor == USUAL_FLOOR < min(pairs.floor for pairs in unclear)
    assert CountedPairs(20, False, 0.3).floor > CountedPairs(20, False, 0.9).floor > USUAL_FLOOR
    for users in range(10, 400, 5):
        looks = next_looks("ranking", everyone_rates(60, users), 100 * counts, population, features=20)
        pairs = counted_pairs(everyone_rates(60, users), 100 * counts, population, looks.again + looks.pairs, True)
        assert looks.items == pairs.items and looks.floor == pairs.floor
        if pairs.items:
            assert looks.again == pytest.approx(0 if pairs.clear else looks.pairs)


def test_a_floor_travels_with_the_release(tmp_path):
    release = dc.Almanac(purpose="ranking").fit(server(8.0))
    assert release.arrays["popularity_floor"].shape == (1,)
    for floor in (USUAL_FLOOR, 1.0):
        arrays = dict(release.arrays) | {"popularity_floor": np.array([floor], dtype=np.float32)}
        changed = replace(release, arrays=arrays)
        assert changed.model.prepare(changed).ranking.interactions.floor == pytest.approx(floor)
    changed.save(tmp_path / "release")
    np.testing.assert_array_equal(dc.Release.load(tmp_path / "release").scores(RATINGS), changed.scores(RATINGS))


def test_a_long_tail_stays_out_of_pairs_and_items_that_are_rated_alike_all_take_part():
    population, census = server(), everyone_rates(60, 10**6)
    assert counted_pairs(census, np.ones(120), population, 0.78, True).items == 120
    assert 20 <= counted_pairs(census, 1 / np.arange(1.0, 121.0) ** 1.5, population, 0.78, True).items < 40


def test_products_are_asked_for_where_most_users_rate_all_items():
    population, census = server(), everyone_rates(60, 10_000)
    dense = np.full(80, 300.0)
    for purpose in ("ratings", "both"):
        looks = next_looks(purpose, census, dense, population)
        assert looks.products and looks.items == 80 and looks.sweeps is None
        assert not next_looks(purpose, everyone_rates(60, 100), dense, population).products
        assert not next_looks(purpose, census, np.full(8000, 3.0), population).products
    assert not next_looks("ranking", census, dense, population).products


def test_few_items_that_most_rate_are_released_with_factors():
    ratings = dc.synthetic(users=3000, items=40, ratings=60_000, seed=5)
    release = dc.Almanac().fit(server(10.0, ratings))
    assert release.spends[-2].what == "products of pairs of items, and their weights"
    assert release.arrays["item_factors"].any() and release.arrays["taste_factors"].any()
    without = dc.Bias().fit(dc.NoPrivacy(ratings))
    ours, theirs = (
        np.mean((found.predict(ratings, ratings.user_index, ratings.item_index) - ratings.values) ** 2)
        for found in (release, without)
    )
    assert ours < theirs


@pytest.mark.parametrize("features", [False, True])
def test_with_the_unit_rating_the_shares_are_all_that_is_left(features):
    population = rating_server()
    plan, chosen = rating_plan.CONSTANTS, set()
    for purpose in PURPOSES:
        for size in (0.1, 3.0, 30.0, 300.0, 3000.0):
            for trace in (-100.0, 0.0, 200.0, 400.0, 1_100.0, 4_000.0, 4_000_000.0):
                counts = np.full(120, size) * np.linspace(3, 0.1, 120)
                first = rating_plan.first_looks(purpose, trace, population)
                looks = rating_plan.next_looks(purpose, trace, counts, population, first, features)
                asked = plan.trace_share, first.items, first.level, looks.again, looks.scales, looks.pairs
                assert sum(asked) == pytest.approx(1)
                assert first.items + looks.again >= 0.1
                assert (looks.again == 0) == (first.items > 0.9)
                assert purpose != "ranking" or first.level == looks.scales == looks.rated == 0
                assert purpose != "ratings" or not features or looks.items == 0 or looks.rated > 0
                assert (looks.pairs > 0) == (max(looks.items, looks.rated) > 1)
                assert (looks.part > 0, looks.part < 1) == (looks.rated > 0, looks.items > 0 or looks.rated == 0)
                chosen.add((purpose, looks.items > 0, looks.rated > 0))
    assert len(chosen) >= 6  # nothing, and what each purpose has: counts, products, and for both one or two of these


def test_with_the_unit_rating_products_are_of_all_items_where_noise_is_small():
    population, counts = rating_server(), np.linspace(3000, 100, 120)
    covered = np.cumsum(counts) / counts.sum()
    most = int(np.searchsorted(covered, rating_plan.CONSTANTS.covered_by_products)) + 1
    seen = [rating_plan.SeenThrough.of(4e3, counts * part, population, 0.7) for part in (0.1, 1.0)]
    rated = [found.items_for_products("ratings", 1.0) for found in seen]
    assert 0 < rated[0] <= most < rated[1] == 120


def test_with_the_unit_rating_flat_popularity_hides_other_patterns():
    population, trace = rating_server(), 4_000.0
    steep = np.geomspace(9_000, 9, 120)
    flat = np.full(120, steep.mean())
    found = [rating_plan.SeenThrough.of(trace, counts, population, 0.7) for counts in (steep, flat)]
    assert (found[0].popularity[19:] > 3 * found[1].popularity[19:]).all()
    one_rating_each = rating_plan.SeenThrough.of(trace, np.full(120, trace / 120), population, 0.7)
    assert one_rating_each.counted("both", False).items == one_rating_each.items_for_products("ratings", 1.0) == 0


def test_with_the_unit_rating_rankings_try_pairs_that_are_not_clear():
    covered = np.linspace(0.02, 1, 50)
    for highest, asked in ((4.0, False), (6.0, True), (30.0, True)):
        seen = rating_plan.SeenThrough(covered, np.full(50, highest))
        assert (seen.counted("ranking", False).items > 0) == asked
        assert seen.counted("ranking", False).floor == USUAL_FLOOR
        assert seen.counted("ratings", False).items == 0 or highest == 30.0


def test_with_the_unit_rating_item_sums_get_less_beside_pairs_where_they_are_clear():
    plan = rating_plan.CONSTANTS
    dim, clear = plan.beside_counts("both", 20.0), plan.beside_counts("both", 200.0)
    assert clear[0] < dim[0] < plan.beside_counts("ratings", 200.0)[0] == plan.beside_counts("ratings", 20.0)[0]


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_with_the_unit_rating_two_sums_of_pairs_cost_what_one_would(part):
    population, rows = rating_server(8.0), np.arange(20, dtype=np.int32)
    looks = rating_plan.NextLooks(0.25, pairs=0.6, items=20, rated=20, part=part)
    base = np.full(120, 3.5, dtype=np.float32)
    precision = 0.0
    for ask, own in ((looks.products, part), (looks.counted, 1 - part)):
        pairs, asked, share = ask(population, rows, base)
        if own > 0:
            alone = population.deviation(pairs.contribution, 0.6)
            precision += (alone / population.deviation(asked, share)) ** 2
    assert 1 - 1e-4 < precision <= 1


@pytest.mark.parametrize(("again", "pure", "noise"), [(0.1, False, "gaussian"), (0.1, True, None), (0.6, False, None)])
def test_with_the_unit_rating_looks_before_pairs_have_the_noise_that_leaves_more(again, pure, noise):
    population, rows = rating_server(), np.arange(20, dtype=np.int32)
    sums = ItemStatistics.of(population.catalogue, "rating").contribution
    planned = rating_plan.NextLooks(again, 0.05, 0.9 - again, items=20)
    looks = planned.settled(population, sums, pure)
    assert looks.noise == noise
    seen = population.deviation(replace(sums, noise=noise), looks.again)
    assert seen == pytest.approx(population.deviation(sums, again), rel=1e-3)
    pairs, asked, share = looks.counted(population, rows, np.zeros(120, dtype=np.float32))
    assert population.deviation(asked, share) < population.deviation(pairs.contribution, planned.pairs)
    whole = rating_plan.gaussian_share(population, pairs.contribution, looks.pairs)
    assert share + looks.taken == pytest.approx(whole, rel=1e-5) and share + looks.taken <= whole
    assert looks.scales + (looks.again if noise else 0.0) == pytest.approx(looks.taken)
    alone = rating_plan.NextLooks(0.9, 0.05)
    assert alone.settled(population, sums, pure) == alone


def test_with_the_unit_rating_laplace_looks_come_first():
    """The two phases of the filter: pure looks, and then those with Gaussian noise."""
    ratings = dc.synthetic(users=4000, items=60, ratings=100_000, seed=4)
    population = rating_server(8.0, ratings)
    release = dc.Almanac(purpose="both").fit(population)
    assert [spend.mechanism for spend in release.spends] == ["laplace"] * 2 + ["gaussian"] * 4
    assert 0.98 * 8.0 < population.ledger.spent <= 8.0 * (1 + 1e-9)
    assert release.arrays["item_factors"].any() and release.arrays["taste_factors"].any()


# ── The fit ──


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_every_look_is_booked_and_the_limit_is_what_is_promised(purpose, epsilon):
    population = server(epsilon)
    release = dc.Almanac(purpose=purpose).fit(population)
    assert 0.98 * epsilon < population.ledger.spent <= epsilon * (1 + 1e-9)
    assert release.spends == population.spends
    assert len(release.spends) >= 3
    for name, array in release.arrays.items():
        assert np.isfinite(array).all(), name
    assert np.isfinite(release.scores(RATINGS)).all()


@pytest.mark.parametrize("make", [server, rating_server])
def test_without_ratings_it_plans_by_what_it_saw_too(make):
    """However many users were announced: patterns are found where there are enough of them, and nothing but counts."""
    used = without_ratings(dc.synthetic(users=4000, items=60, ratings=100_000, seed=4))
    population = make(8.0, used)
    release = dc.Almanac(audience=10).fit(population)
    looks = [spend.what for spend in release.spends]
    assert looks[-1] == "how often pairs of items were rated together" and not any("sum" in look for look in looks)
    assert 0.98 * 8.0 < population.ledger.spent <= 8.0 * (1 + 1e-9)
    assert release.arrays["taste_factors"].any() and not release.arrays["item_bias"].any()
    drowned = dc.Almanac(audience=10**6).fit(make(0.01, used))
    assert not drowned.arrays["taste_factors"].any() and drowned.arrays["counts"].any()


def test_a_budget_books_the_whole_limit_for_looks_that_are_still_to_be_chosen(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("made up", epsilon=2.5, delta=1e-5, unit=dc.User())
    population = dc.TrustedServer(
        RATINGS, dc.Ledger(epsilon=2.0, delta=1e-6, unit=dc.User()), account="made up", budget=budget
    )
    release = dc.spend_and_release(dc.Almanac(purpose="both"), population, tmp_path / "release")
    assert release.guarantee.proven.epsilon == pytest.approx(2.0)
    assert len(release.spends) >= 3
    (line,) = budget.account("made up").spendings
    assert [spend.what for spend in line.spends] == ["looks that are chosen by the answers before them"]
    assert dc.Release.load(tmp_path / "release").spends == release.spends
    again = dc.TrustedServer(
        RATINGS, dc.Ledger(epsilon=2.0, delta=1e-6, unit=dc.User()), account="made up", budget=budget
    )
    with pytest.raises(dc.OverspentError):
        dc.spend_and_release(dc.Almanac(purpose="both"), again, tmp_path / "more")
    assert not again.spends


def test_with_the_unit_rating_a_budget_books_one_look_after_another(tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("made up", epsilon=2.5, delta=1e-5)
    population = dc.TrustedServer(RATINGS, dc.Ledger(epsilon=2.0, delta=1e-6), account="made up", budget=budget)
    release = dc.spend_and_release(dc.Almanac(purpose="both"), population, tmp_path / "release")
    assert release.guarantee.proven.epsilon == pytest.approx(2.0)
    account = budget.account("made up")
    assert [spend for line in account.spendings for spend in line.spends] == list(release.spends)
    assert account.spent <= 2.0 * (1 + 1e-9)
    again = dc.TrustedServer(RATINGS, dc.Ledger(epsilon=2.0, delta=1e-6), account="made up", budget=budget)
    with pytest.raises(dc.OverspentError):
        dc.spend_and_release(dc.Almanac(purpose="both"), again, tmp_path / "more")
    assert not again.spends
    assert len(budget.account("made up").spendings) == len(account.spendings)  # refused before the first look


@dataclass(frozen=True)
class Greedy:
    """Says that it chooses on the way, and asks for more than was booked."""

    shares: tuple[float, ...]

    def chooses_on_the_way(self, population):
        return True

    def fit(self, population, progress=None):
        for share in self.shares:
            population.sum(replace(item_counts(120, dc.User()), noise="gaussian"), share)
        return dc.Popularity().fit(population)


@pytest.mark.parametrize("model", [Greedy((0.7, 0.7)), Greedy((1.01,))], ids=str)
def test_no_more_than_was_booked_is_answered(model, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    population = dc.TrustedServer(
        RATINGS, dc.Ledger(epsilon=2.0, delta=1e-6, unit=dc.User()), account="made up", budget=budget
    )
    with pytest.raises((dc.OverspentError, dc.InputError)):
        dc.spend_and_release(model, population, tmp_path / "release")
    assert not (tmp_path / "release").exists()
    assert len(population.spends) <= 1


def test_what_is_promised_does_not_depend_on_what_was_seen():
    one, other = (
        dc.Almanac(purpose="both").fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=3.0, delta=1e-6, unit=dc.User())))
        for ratings in (RATINGS, dc.synthetic(users=30, items=120, ratings=300, seed=4))
    )
    assert one.guarantee.proven == other.guarantee.proven
    assert {name: array.shape for name, array in one.arrays.items()} == {
        name: array.shape for name, array in other.arrays.items()
    }


def test_a_purpose_that_is_none_is_refused():
    with pytest.raises(dc.InputError, match="purpose must be 'both', 'ratings' or 'ranking', got 'fun'"):
        dc.Almanac(purpose="fun")


def test_looks_that_weigh_sums_differently_are_averaged_row_by_row(monkeypatch):
    population = rating_server()
    about = ItemStatistics.of(population.catalogue, "rating")
    counts, sums = np.array([5.0, 9.0]), np.array([-2.0, 3.0])  # in half widths

    def look(weight, deviation):
        asked = replace(about, relative_weight=weight)
        return SeenItems(asked, np.stack([counts, weight * sums]), np.full((2, 2), deviation), None)

    monkeypatch.setattr(SeenItems, "ask", lambda *_: look(2.0, 4.0))
    together = look(0.5, 3.0).again(population, 0.5, 2.0)
    assert together.sums.relative_weight == 0.5
    assert np.allclose(together.answer, [counts, 0.5 * sums])
    assert together.deviation == pytest.approx((1 / 9 + 1 / 16) ** -0.5)
    assert np.allclose(together.deviations[1] / 0.5, (0.25 / 9 + 4 / 16) ** -0.5)
