"""What users' own fits have in common: the bound, that parts add up, and that it is found where it is known."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.models.almanac.items import SeenItems
from discreet.models.almanac.planner import Planner
from discreet.models.almanac.questions import FixedEffects, with_fixed_effects
from discreet.models.denoise.spectral import rating_factors
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.activity import MIDDLES, Activity, activity_of_users

SCALE = dc.Scale(1, 5)
ITEMS = 60
CATALOGUE = dc.Catalogue.of([str(i) for i in range(ITEMS)], SCALE, declared=True)


def regression(rng, wider=(1.5, 1.5, 1.0, 1.0), features=2):
    base = rng.uniform(2.5, 3.5, ITEMS).astype(np.float32)
    columns = rng.integers(0, 2, (ITEMS, features)).astype(np.float32)
    none = np.zeros((ITEMS, 0), dtype=np.float32)
    counts, unknown = np.full(ITEMS, 50, np.float32), np.full(ITEMS, 0.05, np.float32)
    return UserRegression.of(base, unknown, counts, columns, none, SCALE.width, np.array(wider, dtype=np.float32))


def rated(rng, known, users, ratings, common):
    """Ratings of users whose coefficients have this mean."""
    who = np.repeat(np.arange(users), ratings).astype(np.int32)
    items = np.concatenate([np.sort(rng.permutation(ITEMS)[:ratings]) for _ in range(users)]).astype(np.int32)
    own = common + 0.7 * rng.normal(size=(users, len(common)))
    values = known.base[items] + (known.rows[items] * own[who]).sum(axis=1) + 0.5 * rng.normal(size=len(who))
    labels = Labels.of([f"u{u}" for u in range(users)])
    return dc.Ratings.of_columns(CATALOGUE, labels, who, items, np.clip(values, 1, 5).astype(np.float32))


def server(ratings, epsilon, seed=1):
    ledger = dc.Ledger(epsilon=epsilon, delta=1e-6, unit=dc.User())
    return dc.TrustedServer(ratings, ledger, randomness=dc.Randomness(seed))


def test_a_user_adds_their_own_fit_scaled_down_to_length_1():
    rng = np.random.default_rng(1)
    known = regression(rng)
    ratings = rated(rng, known, 30, 20, np.zeros(5))
    own = known.coefficients(ratings).astype(np.float64)
    expected = own / np.maximum(np.linalg.norm(own, axis=1), 1)[:, None]
    told = FixedEffects(known).told(ratings)
    np.testing.assert_allclose(told, expected, atol=1e-4)
    long = replace(known, rows=known.rows * np.float32(1e3), residual_variance=1e-3)
    lengths = np.linalg.norm(FixedEffects(long).told(ratings), axis=1)
    assert lengths.max() <= 1
    known.rows[ratings.item_index[0]] = np.inf
    assert np.isfinite(FixedEffects(known).told(ratings)).all()


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_unit_moves_the_sum_beyond_its_bound(neighbours):
    few = dc.Catalogue.of(["a", "b", "c"], SCALE, declared=True)
    one, none = np.ones(3, np.float32), np.zeros((3, 0), np.float32)
    known = UserRegression.of(3 * one, 0 * one, one, np.eye(3, dtype=np.float32), none, SCALE.width)
    known = replace(known, rows=known.rows * np.float32(30))
    dc.audit.check_sensitivity(FixedEffects(known).contribution, few, [1, 5], users=2, neighbours=neighbours)


def test_a_sum_is_the_sum_of_its_parts_to_the_last_bit_whoever_takes_part():
    rng = np.random.default_rng(2)
    known = regression(rng)
    ratings = rated(rng, known, 400, 9, np.zeros(5))
    for one_in in (1, 4):
        asked = FixedEffects(known, one_in).contribution
        halves = [asked.total(ratings.select_users(np.arange(*span))) for span in ((0, 150), (150, 400))]
        assert np.array_equal(asked.total(ratings), sum(halves))
    assert 50 < len(FixedEffects(known, 4).told(ratings)) < 150


def test_what_users_have_in_common_is_found_and_priors_are_as_wide_as_what_is_left():
    rng = np.random.default_rng(3)
    known, wider = regression(rng), np.array([1.5, 1.5, 1.0, 1.0], dtype=np.float32)
    common = np.array([0.5, -0.6, 0.6, 0.0, 0.0])
    ratings = rated(rng, known, 1500, 20, common)
    activity = Activity.by_histogram(activity_of_users().total(ratings), 0.0).with_roots(1500 * 20**0.5)
    counts = np.full(ITEMS, 500.0)
    truth = known.base + known.rows @ common
    before = np.std(truth - known.base)
    left = {}
    for epsilon in (0.005, 5.0):
        base, widths = with_fixed_effects(known, wider, activity, counts, server(ratings, epsilon), 0.1)
        left[epsilon] = np.std(truth - base) / before, widths
    assert left[5.0][0] < 0.25 and left[0.005][0] < 1.1
    assert (left[5.0][1][:2] < 1.1).all() and (left[0.005][1][:2] > 1.3).all()
    unchanged, same = with_fixed_effects(known, wider, activity, counts, server(ratings, 1.0), 0.0)
    assert unchanged is known.base and same is wider


def test_activity_that_noise_hides_is_replaced_by_the_sum_of_counts():
    known = regression(np.random.default_rng(4))
    counts, hidden = np.full(ITEMS, 500.0), Activity(np.zeros(len(MIDDLES)), MIDDLES)
    typical, _ = FixedEffects(known).expected(hidden.with_roots(9000.0), counts)
    twice, _ = FixedEffects(known).expected(hidden.with_roots(18000.0), counts)
    np.testing.assert_allclose(twice, 2 * typical)
    assert np.trace(typical) > 100


def test_factors_from_products_of_pairs_point_where_ratings_do():
    rng = np.random.default_rng(6)
    users, truth = 3000, rng.normal(0, 0.5, ITEMS)
    who = np.repeat(np.arange(users), 20).astype(np.int32)
    items = np.concatenate([np.sort(rng.permutation(ITEMS)[:20]) for _ in range(users)]).astype(np.int32)
    values = 3 + rng.normal(size=users)[who] * truth[items] + 0.4 * rng.normal(size=len(who))
    labels = Labels.of([f"u{u}" for u in range(users)])
    ratings = dc.Ratings.of_columns(CATALOGUE, labels, who, items, np.clip(values, 1, 5).astype(np.float32))
    population, features = server(ratings, 20.0), np.zeros((ITEMS, 0), dtype=np.float32)
    planner = Planner(population)
    seen = SeenItems.ask(planner.sums, population, 0.2)
    averages, listed = seen.averages(features, ITEMS), seen.listed(40)
    counts = averages.counts[listed] * seen.sums.typical_weight
    pairs = planner.pairs(listed, averages.base, rated=True)
    found = rating_factors(pairs, *planner.answer(pairs, population, 0.2), counts, 40)
    assert found.shape[0] == 40 and found.shape[1] >= 1
    strongest = found[:, np.argmax(counts @ found**2)]
    assert abs(np.corrcoef(strongest, truth[listed])[0, 1]) > 0.9
