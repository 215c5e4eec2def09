"""Almanac: bounds by brute force, formulas against naive ones, what is asked for on which terms, and what is spent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.features import item_features
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.fitting.fit_on import fit_on
from discreet.models.almanac.items import SeenItems
from discreet.models.almanac.planner import CONSTANTS as PLAN
from discreet.models.almanac.planner import Planner
from discreet.models.almanac.questions import RatingLevel, levelled
from discreet.models.denoise import item_biases
from discreet.models.denoise.item_biases import (
    CONSTANTS,
    Averages,
    UnknownLine,
    denoised,
    posterior_biases,
    posterior_counts,
)
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import CONSTANTS as STATISTICS
from discreet.models.sums.item_statistics import SCALINGS, ItemStatistics

SCALE = dc.Scale(1, 5)
GENRES = [["Drama"], ["Comedy"], ["Drama", "War"], ["War"], []]


def catalogue_of(size, features=False):
    names = [f"i{n}" for n in range(size)]
    if not features:
        return dc.Catalogue.of(names, SCALE, declared=True)
    genres = [GENRES[n % len(GENRES)] for n in range(size)]
    years = [1950 + 3 * n if n % 7 else 0 for n in range(size)]
    return dc.Catalogue.of(names, SCALE, genres=genres, years=years, declared=True)


def world(users=80, items=30, seed=1, features=True):
    """Ratings with an item's quality, a user's generosity and, for half of the users, a taste for Drama."""
    rng = np.random.default_rng(seed)
    catalogue = catalogue_of(items, features)
    rated = rng.random((users, items)) < rng.uniform(0.1, 0.7, items)
    quality, generosity = rng.normal(3.4, 0.5, items), rng.normal(0, 0.4, users)
    drama = np.array(["Drama" in GENRES[n % len(GENRES)] for n in range(items)])
    taste = np.where(np.arange(users) % 2, 0.8, -0.8)
    user, item = np.nonzero(rated)
    expected = quality[item] + generosity[user] + taste[user] * drama[item] + rng.normal(0, 0.5, len(user))
    names = Labels.of([f"u{n}" for n in range(users)], what="user")
    return Ratings.of_columns(catalogue, names, user, item, np.clip(np.rint(expected), 1, 5))


WORLD = world()


def terms(epsilon, unit="user", delta=1e-6, seed=1):
    return dc.Terms(epsilon=epsilon, delta=delta, unit=unit, noise_seed=seed)


# ── Item sums ──


@pytest.mark.parametrize("base", [[3, 3, 3], [1, 5, 3.5]], ids=str)
@pytest.mark.parametrize("scaling", ["rating", "user, l2", "user, l1"])
@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_unit_moves_item_sums_beyond_their_bound(base, scaling, neighbours):
    contribution = ItemStatistics(np.array(base, dtype=np.float32), SCALE, scaling).contribution
    found = dc.audit.check_sensitivity(contribution, catalogue_of(3), [1, 3, 4, 5], users=1, neighbours=neighbours)
    assert all(measured.exhaustive and measured.pairs > 50 for measured in found)


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_rating_moves_clipped_item_sums_or_the_level_beyond_their_bounds(neighbours):
    base = np.array([3, 3, 3.5], dtype=np.float32)
    clipped = ItemStatistics(base, SCALE, "rating", clip=0.3, kept=0.5).contribution
    for contribution in (clipped, RatingLevel(base, SCALE).contribution):
        found = dc.audit.check_sensitivity(contribution, catalogue_of(3), [1, 3, 4, 5], users=1, neighbours=neighbours)
        assert all(measured.exhaustive and measured.pairs > 50 for measured in found)


@pytest.mark.parametrize("scaling", ["rating", "user, l2", "user, l1"])
def test_item_sums_add_up_over_users(scaling):
    contribution = ItemStatistics(np.full(3, 3.5, dtype=np.float32), SCALE, scaling).contribution
    dc.audit.check_sensitivity(contribution, catalogue_of(3), [1, 3, 5], users=3, most=150)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("weight", [0.2, 1.0, 1.5, 2.0, 50.0])
def test_no_sum_over_as_many_users_as_are_allowed_leaves_the_doubles(scaling, weight):
    """Multiples of 2⁻³⁰ are exact up to 2⁵³ of them: as many of the largest entry there is are fewer."""
    sums = ItemStatistics(np.full(30, 3.0, dtype=np.float32), SCALE, scaling, weight)
    alone = Ratings.of_history(dc.History(WORLD.catalogue, np.array([0], np.int32), np.array([5.0], np.float32)))
    largest = np.abs(sums.contribution.total(alone)).max()
    assert largest == weight if scaling == "rating" and weight > 1 else largest <= 1
    assert sums.contribution.most_users * largest * 2.0**30 <= 2.0**53


@pytest.mark.parametrize(("scaling", "norm"), [("user, l2", 2), ("user, l1", 1)])
def test_every_user_is_as_long_as_the_bound(scaling, norm):
    """A bound that nobody comes near would buy noise for nothing."""
    sums = ItemStatistics(np.full(30, 3.5, dtype=np.float32), SCALE, scaling)
    for position in (0, 5, 40):
        total = sums.contribution.total(WORLD.select_users(np.array([position])))
        assert np.linalg.norm(total.ravel(), norm) == pytest.approx(1, rel=1e-6)


def test_item_sums_are_counts_and_sums():
    sums = ItemStatistics(np.full(30, 3.0, dtype=np.float32), SCALE, "rating")
    counts, totals = sums.contribution.total(WORLD)
    for item in (0, 7, 29):
        own = WORLD.values[WORLD.item_index == item]
        assert counts[item] == len(own)
        assert totals[item] * sums.points == pytest.approx((own - 3).sum(), rel=1e-6)


def test_a_tight_clip_leaves_the_same_sums_about():
    """What it takes from sums is given back by their unit, the same from numpy and from the compiled kernel."""
    rng = np.random.default_rng(3)
    catalogue, names = catalogue_of(40), Labels.of([f"u{n}" for n in range(9000)], what="user")
    user, item = np.nonzero(rng.random((9000, 40)) < 0.8)
    liked = rng.normal(0, 0.3, 40)
    spread = STATISTICS.rating_deviation * SCALE.width
    values = np.clip(3.5 + liked[item] + spread * rng.normal(size=len(item)), 1, 5)
    ratings = Ratings.of_columns(catalogue, names, user, item, values)
    base = np.full(40, 3.5, dtype=np.float32)
    sums = ItemStatistics(base, SCALE, "rating").clipped_tightly()
    assert sums.clip == 0.4 < 1
    counts, totals = sums.contribution.total(ratings)
    found = totals * sums.points / counts
    assert np.polyfit(liked, found, 1)[0] == pytest.approx(1, abs=0.1)
    np.testing.assert_array_equal(sums._small_total(ratings), [counts, totals])


def test_the_level_is_what_is_left_of_all_ratings():
    population = dc.NoPrivacy(WORLD)
    seen = SeenItems.ask(ItemStatistics(np.full(30, 2.0, dtype=np.float32), SCALE, "rating"), population, 1.0)
    counts = np.bincount(WORLD.item_index, minlength=30).astype(float)
    low = Averages(np.full(30, 2.9, dtype=np.float32), np.zeros(30), counts, np.arange(30, dtype=np.int32))
    shifted, averages = levelled(seen, low, population, 0.1)
    assert averages.base == pytest.approx(np.full(30, WORLD.values.mean()), abs=0.01)
    assert shifted.sums.base - seen.sums.base == pytest.approx(averages.base - low.base, abs=1e-5)
    assert levelled(seen, low, population, 0.0) == (seen, low)


# ── Behind the noise ──


def test_counts_behind_noise_err_less_than_the_noise():
    rng = np.random.default_rng(2)
    truth = np.concatenate([np.zeros(300), rng.exponential(20, 300)])
    noisy = truth + rng.normal(0, 10, 600)
    found = posterior_counts(noisy, 10.0)
    assert found.min() >= 0
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.9 * np.sqrt(np.mean((np.maximum(noisy, 0) - truth) ** 2))


def test_counts_far_above_the_noise_stay():
    noisy = np.array([1e6, 5e4, 300.0, -0.4, 0.2])
    np.testing.assert_allclose(posterior_counts(noisy, 0.5)[:3], noisy[:3])
    np.testing.assert_array_equal(posterior_counts(noisy, 0.0), [1e6, 5e4, 300, 0, 0.2])


@pytest.mark.parametrize("deviation", [0.0, 4.0])
def test_biases_are_the_mean_of_a_normal_posterior(deviation, monkeypatch):
    """Against the textbook: b given its sum, over all lines, spreads and deviations of ratings, none left out."""
    monkeypatch.setattr(item_biases, "CONSTANTS", replace(CONSTANTS, unlikely=0.0))
    rng = np.random.default_rng(3)
    features = rng.normal(size=(60, 2)).astype(np.float32)
    counts = rng.uniform(1, 80, 60)
    truth = features @ [0.3, -0.2] + rng.normal(0, 0.3, 60)
    sums = counts * truth + rng.normal(0, np.sqrt((CONSTANTS.residual_deviation * 4) ** 2 * counts + deviation**2))
    found, unknown = posterior_biases(counts, sums, deviation, 1.0, features, 4.0)
    assert np.sqrt(np.mean((found - truth) ** 2)) < np.sqrt(np.mean((sums / counts - truth) ** 2))
    assert np.all(unknown > 0)
    assert np.mean((found - truth) ** 2 / unknown) == pytest.approx(1, abs=0.6)
    # The same by dense matrices: b ~ N(0, t² + line prior² lineᵀ), sum = n b + error, each t by its evidence.
    popularity = np.log(counts + 1)
    line = np.column_stack([np.ones(60), (popularity - popularity @ counts / counts.sum()) / 2, features])
    prior = np.diag((4 * np.r_[CONSTANTS.level_spread, np.full(3, CONSTANTS.slope_spread)]) ** 2)
    evidence, means, variances = [], [], []
    for residual in CONSTANTS.residual_deviations:
        error_variance = (residual * 4) ** 2 * counts + deviation**2
        unlikely = (np.log(residual / CONSTANTS.residual_deviation) / CONSTANTS.of_its_logarithm) ** 2 / 2
        for spread in 4 * np.array(CONSTANTS.spreads):
            of_spread = (np.log(spread / 4 / CONSTANTS.likely_spread) / CONSTANTS.of_log_spread) ** 2 / 2
            own = spread**2 * np.eye(60) + line @ prior @ line.T
            seen = counts[:, None] * own * counts + np.diag(error_variance)
            gain = np.linalg.solve(seen, counts[:, None] * own).T
            evidence.append(
                -0.5 * (sums @ np.linalg.solve(seen, sums) + np.linalg.slogdet(seen)[1]) - unlikely - of_spread
            )
            means.append(gain @ sums)
            variances.append(np.diag(own - gain @ (counts[:, None] * own)))
    likely = np.exp(np.array(evidence) - max(evidence))
    likely /= likely.sum()
    np.testing.assert_allclose(found, likely @ np.array(means), atol=1e-8)
    np.testing.assert_allclose(unknown, likely @ (np.array(variances) + (np.array(means) - found) ** 2), atol=1e-8)


@pytest.mark.parametrize("width", [4.0, 9.0])
def test_what_is_hidden_of_the_line_is_no_error_of_single_items(width):
    """With much noise most of what is unknown is about the line: it moves to the priors at home, part by part."""
    scale, rng = dc.Scale(0, width), np.random.default_rng(5)
    features = rng.integers(0, 2, size=(300, 3)).astype(np.float32)
    answers = {}
    for noise in (0.1, 300.0):
        asked = ItemStatistics(np.full(300, width / 2, dtype=np.float32), scale, "user, l2")
        answer = np.stack([np.full(300, 20.0), rng.normal(0, 0.5, 300)]) + rng.normal(0, noise, (2, 300))
        noises = np.full((2, 300), noise)
        seen = SeenItems(asked, answer, noises, "gaussian")
        *_, variances = denoised(asked, *answer, noise, features)
        line = UnknownLine.of(asked, posterior_counts(answer[0], noise), answer[1], noises, features)
        averages = seen.averages(features, 300)
        np.testing.assert_allclose(averages.unknown + line.of_items, variances, rtol=1e-6)
        assert (averages.unknown >= 0).all() and (line.of_items > 0).all()
        answers[noise] = seen.prior_scales(features)
    assert (answers[0.1] >= 1).all() and (answers[0.1] < 1.05).all()
    assert answers[300.0][0] > 1.1 and answers[300.0][1] > 1.1 and answers[300.0][2] == 1
    assert seen.prior_scales(features[:, :0])[1] == 1


def test_features_help_where_sums_say_little():
    rng = np.random.default_rng(4)
    features = rng.integers(0, 2, size=(400, 3)).astype(np.float32)
    truth = features @ [0.5, -0.4, 0.3] + rng.normal(0, 0.1, 400)
    counts = np.full(400, 5.0)
    sums = counts * truth + rng.normal(0, 6.0, 400)
    errors = [
        np.mean((posterior_biases(counts, sums, 6.0, 0.1, f, 4.0)[0] - truth) ** 2) for f in (features, features[:, :0])
    ]
    assert errors[0] < 0.6 * errors[1]


# ── Features ──


def test_features_come_from_the_catalogue_alone():
    features = item_features(catalogue_of(20, features=True))
    assert features.shape == (20, 3 + 4)
    np.testing.assert_allclose((features[:, :3] ** 2).sum(axis=1), [1, 1, 1, 1, 0] * 4, rtol=1e-6)
    np.testing.assert_allclose(features[:, 3:].sum(axis=1), 1, rtol=1e-6)  # tents add up to 1 everywhere
    assert item_features(catalogue_of(20)).shape == (20, 0)


def test_one_year_for_all_tells_nothing():
    catalogue = dc.Catalogue.of(["a", "b"], SCALE, years=[1990, 1990])
    assert item_features(catalogue).shape == (2, 0)


# ── At home ──


def covariates(items=30, factors=2, seed=5):
    rng = np.random.default_rng(seed)
    return UserRegression.of(
        rng.uniform(2, 4, items).astype(np.float32),
        rng.uniform(0, 0.3, items).astype(np.float32),
        rng.uniform(0, 50, items).astype(np.float32),
        rng.random((items, 3)).astype(np.float32),
        rng.normal(0, 0.3, (items, factors)).astype(np.float32),
        4.0,
    )


def test_own_fit_is_the_posterior_of_the_regression():
    known = covariates()
    found = known.coefficients(WORLD)
    for position in (0, 3, 50):
        history = WORLD.history_at(position)
        z = known.rows[history.items].astype(float)
        noise = np.diag(known.residual_variance / known.weights[history.items])  # σ² + v_i
        gain = z.T @ np.linalg.inv(z @ z.T + noise)  # the other form of the same mean, over ratings
        np.testing.assert_allclose(found[position], gain @ (history.values - known.base[history.items]), atol=2e-4)


def test_explanations_add_up_to_the_prediction():
    known = covariates()
    history = WORLD.history_at(4)
    for item in (0, 9, 29):
        expected = known.rows[item] @ known.coefficients(WORLD.select_users(np.array([4])))[0]
        assert known.shares(history, item).sum() == pytest.approx(float(expected), abs=2e-4)


def test_a_stranger_gets_the_prior_mean():
    release = fit_on(dc.Almanac(), WORLD)
    nobody = Ratings.of_history(dc.History(WORLD.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))
    predicted = release.predict(nobody, np.zeros(30, int), np.arange(30))
    np.testing.assert_allclose(predicted, release.arrays["mean"][0] + release.arrays["item_bias"], rtol=1e-6)


@pytest.mark.parametrize(("epsilon", "hidden"), [(0.5, True), (3.0, False)])
def test_finds_a_taste_for_a_genre_whether_noise_hides_all_factors_or_not(epsilon, hidden):
    train, test = world(users=300, items=40, seed=2).split(test=0.2, seed=1)
    errors = {}
    for features in (True, False):
        release = fit_on(dc.Almanac(features=features), train, terms(epsilon))
        assert hidden != release.arrays["item_factors"].any()
        predicted = release.predict(train, test.user_index, test.item_index)
        errors[features] = np.sqrt(np.mean((predicted - test.values) ** 2))
    assert errors[True] < errors[False] - 0.02


def test_finds_factors_without_features():
    train, test = world(users=300, items=40, seed=2, features=False).split(test=0.2, seed=1)
    errors = []
    for factors in (fit_on(dc.Almanac(), train).arrays["item_factors"], np.zeros((40, 40), np.float32)):
        release = fit_on(dc.Almanac(), train)
        release = replace(release, arrays={**release.arrays, "item_factors": factors})
        errors.append(np.sqrt(np.mean((release.predict(train, test.user_index, test.item_index) - test.values) ** 2)))
    assert errors[0] < errors[1] - 0.05


# ── What is asked for ──


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_without_a_delta_noise_is_laplace(unit):
    release = fit_on(dc.Almanac(), WORLD, terms(1.0, unit, delta=0.0))
    assert {spend.mechanism for spend in release.spends} == {"laplace"}


@pytest.mark.parametrize("unit", ["rating", "user"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 50.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_look_is_booked_and_within_the_limit(unit, epsilon, delta):
    ledger = terms(epsilon, unit, delta).ledger()
    release = dc.Almanac().fit(dc.TrustedServer(WORLD, ledger))
    assert len(ledger.spends) == len(release.spends) >= 3
    assert 0.9 * epsilon < ledger.spent <= epsilon * (1 + 1e-9)
    assert release.guarantee.proven is not None
    assert np.isfinite(release.predict(WORLD, [0, 1], [2, 3])).all()


@pytest.mark.parametrize(("unit", "pairs"), [("rating", True), ("user", False)])
def test_without_a_delta_pairs_of_items_are_asked_for_where_one_rating_is_hidden(unit, pairs):
    """Of a whole user they are too many for Laplace noise."""
    ratings = dc.synthetic(users=2000, items=60, ratings=60_000, seed=4)
    release = fit_on(dc.Almanac(), ratings, terms(30.0, unit, delta=0.0))
    assert {spend.mechanism for spend in release.spends} == {"laplace"}
    assert any("pairs of items" in spend.what for spend in release.spends) == pairs
    assert release.arrays["taste_factors"].any() == pairs


def test_devices_that_trust_nobody_are_asked_for_item_sums():
    ratings = WORLD.select_users(np.arange(20))
    ledger = dc.Ledger(4.0, 1e-6, dc.User(neighbours="replace"))
    release = dc.Almanac().fit(dc.LocalDevices(ratings, ledger, randomness=dc.Randomness(1)))
    assert any("how often each item was rated" in spend.what for spend in release.spends)
    assert np.isfinite(release.scores(ratings)).all()


def test_a_cap_on_ratings_is_kept():
    ledger = dc.Ledger(2.0, 1e-6, dc.User(max_ratings=5))
    release = dc.Almanac().fit(dc.TrustedServer(WORLD, ledger))
    assert release.guarantee.proven is not None


@pytest.mark.parametrize("products", [True, False])
@pytest.mark.parametrize(("unit", "delta"), [("rating", 1e-6), ("rating", 0.0), ("user", 1e-6)])
def test_pairs_as_they_are_asked_for_keep_their_bounds(unit, delta, products):
    """Also where residuals are left out by an endless clip."""
    ratings = world(items=3)
    planner = Planner(dc.TrustedServer(ratings, terms(1.0, unit, delta).ledger()))
    base = np.array([3.1, 2.5, 4.2], np.float32)
    pairs = planner.pairs(np.arange(3, dtype=np.int32), base, rated=products)
    asked = replace(pairs.contribution, noise=planner.noise)
    found = dc.audit.check_sensitivity(asked, catalogue_of(3), [1, 3, 5], users=1)
    assert found and all(measured.exhaustive for measured in found)
    assert pairs.matrices(asked.total(ratings))[0].any() == products


def test_factors_are_in_points_of_the_scale():
    """L Lᵀ is near the covariance of clipped residuals for two items that many rated."""
    ratings = world(users=600, items=12, seed=6)
    release = fit_on(dc.Almanac(features=False), ratings)
    factors = release.arrays["item_factors"].astype(float)
    dense = np.full((600, 12), np.nan)
    dense[ratings.user_index, ratings.item_index] = ratings.values
    cut = np.clip(dense - (release.arrays["mean"][0] + release.arrays["item_bias"]), -PLAN.clip * 4, PLAN.clip * 4)
    both = ~np.isnan(cut[:, 0]) & ~np.isnan(cut[:, 5])
    assert (factors[0] @ factors[5]) == pytest.approx(np.mean(cut[both, 0] * cut[both, 5]), abs=0.2)


# ── Invariants ──


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_who_comes_first_changes_nothing_without_noise(seed):
    order = np.random.default_rng(seed).permutation(WORLD.n_users).astype(np.int32)
    shuffled = Ratings.of_columns(WORLD.catalogue, WORLD.users, order[WORLD.user_index], WORLD.item_index, WORLD.values)
    one, other = (fit_on(dc.Almanac(factors=3), ratings) for ratings in (WORLD, shuffled))
    pairs = np.arange(WORLD.n_users), np.arange(WORLD.n_users) % 30
    np.testing.assert_allclose(
        one.predict(WORLD, *pairs), other.predict(shuffled, order[pairs[0]], pairs[1]), rtol=2e-3, atol=2e-3
    )


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_a_history_does_not_matter(seed):
    release = fit_on(dc.Almanac(factors=3), WORLD)
    order = np.random.default_rng(seed).permutation(len(WORLD))
    columns = WORLD.user_index[order], WORLD.item_index[order], WORLD.values[order]
    shuffled = Ratings.of_columns(WORLD.catalogue, WORLD.users, *columns)
    np.testing.assert_array_equal(release.scores(WORLD), release.scores(shuffled))


@settings(max_examples=20, deadline=None)
@given(epsilon=st.floats(1e-3, 30), unit=st.sampled_from(["rating", "user"]), delta=st.sampled_from([0.0, 1e-6]))
def test_whatever_the_terms_predictions_are_ratings(epsilon, unit, delta):
    release = fit_on(dc.Almanac(), WORLD, terms(epsilon, unit, delta))
    predicted = release.predict(WORLD, np.arange(80), np.arange(80) % 30)
    assert np.isfinite(predicted).all()
    assert np.isfinite(release.scores(WORLD)).all()
    assert np.all(release.arrays["counts"] >= 0)
    base = release.arrays["mean"][0] + release.arrays["item_bias"]
    assert 1 - 1e-4 <= base.min() <= base.max() <= 5 + 1e-4


def test_an_empty_world_and_a_single_item():
    for items in (1, 2):
        ratings = world(users=6, items=items)
        for given_terms in (dc.Terms(), terms(1.0), terms(20.0, "rating")):
            release = fit_on(dc.Almanac(), ratings, given_terms)
            assert np.isfinite(release.predict(ratings, [0], [0])).all()


# ── Settings, disk, command line ──


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"factors": 0}, "factors"),
        ({"taste_factors": 1.5}, "taste_factors"),
        ({"purpose": None}, "purpose"),
        ({"features": "yes"}, "features"),
    ],
)
def test_refuses_impossible_settings(wrong, message):
    with pytest.raises(InputError, match=message):
        dc.Almanac(**wrong)


def test_a_private_release_survives_the_disk(tmp_path):
    ledger = terms(3.0, "rating").ledger()
    release = dc.Almanac().fit(dc.TrustedServer(WORLD, ledger))
    release.save(tmp_path / "release")
    again = dc.Release.load(tmp_path / "release")
    assert again.guarantee == release.guarantee
    assert again.model == release.model
    np.testing.assert_array_equal(again.predict(WORLD, [0, 1], [2, 3]), release.predict(WORLD, [0, 1], [2, 3]))


def test_shapes_say_nothing_of_the_ratings():
    shapes = [
        {name: array.shape for name, array in fit_on(dc.Almanac(), world(seed=seed), terms(5.0)).arrays.items()}
        for seed in (1, 2)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("given_terms", "features", "most"),
    [
        (dc.Terms(), True, 0.905),
        (terms(5.0, "rating", 1e-5), True, 0.915),
        (terms(1.0, "rating", 1e-5), True, 0.925),
        (terms(1.0, "user", 1e-5), True, 0.970),
        (terms(10.0, "user", 1e-5), True, 0.932),
        (terms(1.0, "rating", 1e-5), False, 0.945),
        (terms(1.0, "user", 1e-5), False, 1.008),
    ],
    ids=str,
)
def test_error_on_movielens(ml_100k, given_terms, features, most):
    train, test = ml_100k.split(test=0.2, seed=100)
    release = fit_on(dc.Almanac(features=features), train, given_terms)
    predicted = release.predict(train, test.user_index, test.item_index)
    assert np.sqrt(np.mean((predicted - test.values) ** 2)) < most


@pytest.mark.parametrize("seed", [0, 1])
def test_counts_are_refined_by_pairs(seed, force_plan):
    """The first pattern of the pairs tells again how often items were rated: with both, counts are nearer to it."""
    ratings = dc.synthetic(users=3000, items=40, ratings=40_000, seed=2)
    exact = np.bincount(ratings.item_index, minlength=40)
    server = dc.TrustedServer(ratings, dc.Ledger(0.3, 1e-6), randomness=dc.Randomness(seed))
    force_plan(counts=1.0)
    release = dc.Almanac(purpose="ranking").fit(server)
    noisy, deviation = release.arrays["noisy_sums"][0].astype(float), float(release.arrays["sums_noise"][0, 0])
    before = np.abs(posterior_counts(noisy, deviation) - exact).mean()
    assert np.abs(release.arrays["counts"] - exact).mean() < 0.7 * before


def test_without_privacy_an_item_that_all_rate_at_the_bottom_is_expected_there():
    """Residuals of 1 about 3.5 were clipped at 2, which no noise asks for."""
    made = dc.synthetic(users=200, items=2, ratings=400, seed=1)
    ratings = replace(made, values=np.where(made.item_index == 0, 5, 1).astype(np.float32))
    arrays = dc.Almanac().fit(dc.NoPrivacy(ratings)).arrays
    good, bad = arrays["mean"][0] + arrays["item_bias"]
    assert good > 4.9 and bad < 1.3


def test_without_privacy_users_say_how_wide_priors_at_home_should_be():
    """Then it costs nothing; where most ratings are alike too, no other width of users' biases is clearly better."""
    made = dc.synthetic(users=400, items=80, ratings=4_000, seed=3)
    ratings = replace(made, values=np.where(made.values >= 3, made.catalogue.scale.high, made.values))
    lost = []
    for seed in range(4):
        train, test = ratings.split(test=0.25, seed=seed)
        release = dc.Almanac().fit(dc.NoPrivacy(train))
        scales, errors = release.arrays["prior_scales"], []
        assert scales.shape == (4,) and scales[3] <= 1
        for width in (scales[0], 0.5, 0.7, 0.85, 1.2, 1.5):
            other = replace(
                release, arrays={**release.arrays, "prior_scales": np.array([width, *scales[1:]], np.float32)}
            )
            predicted = other.predict(train, test.user_index, test.item_index)
            errors.append(np.sqrt(np.mean((predicted - test.values) ** 2)))
        lost.append(errors[0] - min(errors))
    assert np.mean(lost) < 0.006  # of errors of about 1.2
