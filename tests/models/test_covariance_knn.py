"""The bounds of the pair sums by brute force, what is spent, and predictions against the formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numba import get_num_threads, set_num_threads

import discreet as dc
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.models.denoise.item_biases import item_biases
from discreet.models.denoise.spectral import above_threshold, denoised_factors, denoised_weights, spectral_threshold
from discreet.models.sums import pair_sums
from discreet.models.sums.pair_sums import CONSTANTS, PairSums
from discreet.populations.population import exact_total
from discreet.populations.rehearsal import rehearse
from discreet.privacy.unit import Bound

SCALE = dc.Scale(1, 5)
BASES = ([3, 3, 3, 3], [1, 5, 3, 2], [4.2, 3.1, 2.5, 3.6])
RELATIVE_WEIGHT = dc.CovarianceKNN.relative_weight


def asked(base, weighting, user_damping=None, clip=1.0, relative_weight=RELATIVE_WEIGHT):
    rows = np.arange(len(base), dtype=np.int32)
    return PairSums(rows, np.array(base, dtype=np.float32), clip, relative_weight, user_damping, weighting)


def catalogue_of(size):
    return dc.Catalogue.of([f"i{n}" for n in range(size)], SCALE, declared=True)


def one_user(values, size):
    """Ratings of one user: ``{item: value}``."""
    items = np.array(sorted(values), dtype=np.int32)
    rated = [values[item] for item in sorted(values)]
    return Ratings.of_columns(
        catalogue_of(size), Labels.of(["u"], what="user"), np.zeros(len(items), int), items, rated
    )


# ── Bounds ──


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize(
    ("weighting", "user_damping"),
    [
        ("rating, l2", None),
        ("rating, l2", 0.0),
        ("rating, l2", 5.0),
        ("rating, l1", None),
        ("user, l2", None),
        ("user, l2", 2.0),
    ],
)
@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_no_unit_moves_the_sums_beyond_their_bound(base, weighting, user_damping, neighbours):
    """All data sets of one user with values 1, 3 and 5, or none, on four items; the others do not matter to a sum."""
    for clip in (1.0, 4.0):
        contribution = asked(base, weighting, user_damping, clip).contribution
        found = dc.audit.check_sensitivity(contribution, catalogue_of(4), [1, 3, 5], users=1, neighbours=neighbours)
        assert all(measured.exhaustive and measured.pairs > 200 for measured in found)


@pytest.mark.parametrize("weighting", ["rating, l2", "rating, l1", "user, l2"])
def test_sums_are_sums_over_users(weighting):
    contribution = asked(BASES[2], weighting).contribution
    dc.audit.check_sensitivity(contribution, catalogue_of(4), [1, 2, 5], users=3, most=150)


@pytest.mark.parametrize("user_damping", [None, 5.0])
@pytest.mark.parametrize("count", [1, 3, 10, 40, 120])
def test_one_more_rating_of_an_active_user(count, user_damping):
    """Random users of every length, and the hardest: all residuals at the clip, the new one against them."""
    rng = np.random.default_rng(count)
    for trial in range(20):
        base = np.full(count + 1, 3.0) if trial < 4 else rng.uniform(1, 5, count + 1)
        sums = asked(base, "rating, l2", user_damping).contribution
        values = {
            i: float(rng.choice([1, 2, 3, 4, 5] if trial >= 4 else [[1], [5], [1, 5], [2, 4]][trial]))
            for i in range(count)
        }
        before = exact_total(sums, one_user(values, count + 1))
        for value in (1.0, 3.0, 5.0):
            moved = exact_total(sums, one_user({**values, count: value}, count + 1)) - before
            assert np.sqrt((moved**2).sum()) <= sums.bounds[0].value * (1 + 1e-9)


def test_bounds_are_attained():
    """Bounds that nothing comes near would buy noise for nothing."""
    count = 400
    base = np.full(count + 1, 3.0)
    before, after = (dict.fromkeys(range(n), 5.0) for n in (count, count + 1))
    for weighting, norm in (("rating, l2", 2), ("rating, l1", 1)):
        sums = asked(base, weighting).contribution
        moved = exact_total(sums, one_user(after, count + 1)) - exact_total(sums, one_user(before, count + 1))
        assert np.linalg.norm(moved.ravel(), norm) == pytest.approx(sums.bounds[0].value, rel=2e-3)
    whole = exact_total(asked(base, "user, l2").contribution, one_user(after, count + 1))
    # Rounding a user's weight down to multiples of 2⁻²³ makes the user shorter, by less than the number of ratings.
    assert 1 - 2 * count * 2.0**-23 < np.linalg.norm(whole) <= 1


def test_centring_needs_its_part_of_the_bound():
    """A bound that forgets how one rating moves the user's mean, and with it all other residuals, is broken."""
    count, damping = 30, 0.0
    base = np.array([5.0] * count + [1.0])
    centred = asked(base, "rating, l2", damping, clip=2.0)
    plain = asked(base, "rating, l2", clip=2.0).contribution.bounds[0].value
    worst = 0.0
    for near in (3, 6, 12, 20, 30):
        values = {i: 1.0 if i % 2 else 5.0 for i in range(near)}
        before, after = (one_user(own, count + 1) for own in (values, {**values, count: 5.0}))
        moved = exact_total(centred.contribution, after) - exact_total(centred.contribution, before)
        worst = max(worst, float(np.linalg.norm(moved)))
    bound = centred.contribution.bounds[0].value
    assert worst <= bound == pytest.approx(math.sqrt(2 * (1 + RELATIVE_WEIGHT + CONSTANTS.mean_clip**2)), rel=5e-3)
    assert worst > 0.5 * plain


@pytest.mark.parametrize("user_damping", [None, 5.0])
@pytest.mark.parametrize("weighting", ["rating, l2", "rating, l1", "user, l2"])
def test_sums_are_the_same_in_whatever_order_users_come(weighting, user_damping, monkeypatch):
    """To the last bit: neighbours differ by what they contribute, and by no rounding error of others' sums."""
    ratings = dc.synthetic(users=300, items=40, ratings=4000, seed=5)
    base = np.random.default_rng(1).uniform(2, 4, 40)
    sums = asked(base, weighting, user_damping)
    whole = exact_total(sums.contribution, ratings)
    order = np.random.default_rng(2).permutation(300)
    shuffled = Ratings.of_columns(
        ratings.catalogue, ratings.users, order[ratings.user_index], ratings.item_index, ratings.values
    )
    np.testing.assert_array_equal(exact_total(sums.contribution, shuffled), whole)
    monkeypatch.setattr(pair_sums, "USERS_AT_ONCE", 7)
    monkeypatch.setattr("discreet.data.ratings.BLOCK", 20)
    np.testing.assert_array_equal(exact_total(sums.contribution, ratings), whole)
    threads = get_num_threads()
    try:
        set_num_threads(1)
        np.testing.assert_array_equal(exact_total(sums.contribution, ratings), whole)
    finally:
        set_num_threads(threads)


@pytest.mark.parametrize("user_damping", [None, 5.0])
@pytest.mark.parametrize("weighting", ["rating, l2", "rating, l1", "user, l2"])
def test_what_rounding_costs_is_in_the_bound(weighting, user_damping):
    """Beside sums of the same residuals that are not rounded: no further apart than the bound allows for."""
    ratings = dc.synthetic(users=60, items=80, ratings=3000, seed=6)
    sums = asked(np.random.default_rng(3).uniform(2, 4, 80), weighting, user_damping)
    indptr, items, x = sums.residuals(ratings)
    steps = x * 2.0 ** sums._bits[0]
    np.testing.assert_array_equal(steps, np.rint(steps))
    user = np.repeat(np.arange(60), np.diff(indptr))
    dense, marks = np.zeros((60, 80)), np.zeros((60, 80))
    dense[user, items], marks[user, items] = x, 1
    squares, counts = (dense**2).sum(axis=1), marks.sum(axis=1)
    length = {
        "rating, l2": np.sqrt(squares + RELATIVE_WEIGHT * counts),
        "user, l2": np.sqrt(squares**2 + (RELATIVE_WEIGHT * counts) ** 2),
        "rating, l1": counts,
    }[weighting]
    upper, root = np.triu_indices(80), 1.0 if weighting == "rating, l1" else math.sqrt(2)
    lengthened = np.where(upper[0] == upper[1], 1.0, root)
    for person in range(60):
        alone = exact_total(sums.contribution, ratings.select_users(np.array([person])))
        for row, values, unit in ((alone[0], dense[person], 1.0), (alone[1], marks[person], RELATIVE_WEIGHT)):
            exact = unit * np.outer(values, values)[upper] * lengthened / max(length[person], 1e-9)
            lost = np.abs(exact) - np.abs(row)
            assert lost.min() >= -1e-12  # rounded down
            assert lost.max() <= 1.5 * 2.0 ** -sums._bits[1]


def test_more_users_than_fit_in_64_bits_are_refused(monkeypatch):
    monkeypatch.setattr("discreet.populations.population.MOST_USERS", 10)
    ratings = dc.synthetic(users=11, items=4, ratings=20, seed=1)
    with pytest.raises(InputError, match="is for at most 10 users"):
        exact_total(asked(BASES[0], "rating, l2").contribution, ratings)


def test_pure_sums_are_not_promised_when_centred():
    assert asked(BASES[0], "rating, l1", 5.0).contribution.bounds == ()


def test_matrices_come_back_from_the_sent_triangle():
    """√2 off the diagonal, so that the triangle is as long as the matrix; and back."""
    ratings = dc.synthetic(users=30, items=4, ratings=80, seed=1)
    sums = asked(BASES[2], "rating, l2")
    sent = exact_total(sums.contribution, ratings)
    products, weights = sums.matrices(sent)
    np.testing.assert_array_equal(products, products.T)
    length = math.sqrt(
        (products.astype(float) ** 2).sum() + (RELATIVE_WEIGHT * weights.astype(float)) ** 2 @ np.ones(4) @ np.ones(4)
    )
    assert np.linalg.norm(sent) == pytest.approx(length, rel=1e-5)
    indptr, items, x = sums.residuals(ratings)
    dense, marks = np.zeros((30, 4)), np.zeros((30, 4))
    user = np.repeat(np.arange(30), np.diff(indptr))
    dense[user, items], marks[user, items] = x, 1
    own = 1 / np.sqrt(np.maximum((dense**2).sum(axis=1) + RELATIVE_WEIGHT * marks.sum(axis=1), 1e-9))
    np.testing.assert_allclose(products, (dense * own[:, None]).T @ dense, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weights, (marks * own[:, None]).T @ marks, rtol=1e-5, atol=1e-6)


def test_noise_off_the_diagonal_is_what_is_said():
    sums = asked(np.full(60, 3.0), "rating, l2")
    empty = dc.synthetic(users=2, items=60, ratings=2, seed=1)
    server = dc.TrustedServer(empty, dc.Ledger(1.0, 1e-6), randomness=dc.Randomness(1))
    products, weights = sums.matrices(server.sum(sums.contribution))
    noise, weight_noise = sums.deviations(server.deviation(sums.contribution))
    off = np.triu_indices(60, 1)
    assert products[off].std() == pytest.approx(noise, rel=0.1)
    assert weights[off].std() == pytest.approx(weight_noise, rel=0.1)
    assert np.diag(products).std() == pytest.approx(math.sqrt(2) * noise, rel=0.35)


# ── What is asked, and what it costs ──

RATINGS = dc.synthetic(users=400, items=120, ratings=16000, seed=3)
FACTORS, POPULAR = dc.CovarianceKNN(audience=1_000_000), dc.CovarianceKNN(covariance_share=0.8, items=40)


def served(model, epsilon, delta=0.0, unit=None, seed=1, engine="numba"):
    ledger = dc.Ledger(epsilon, delta, unit)
    return model.fit(dc.TrustedServer(RATINGS, ledger, randomness=dc.Randomness(seed), engine=engine)), ledger


@pytest.mark.parametrize(
    ("delta", "unit", "mechanisms"),
    [
        (1e-6, dc.Rating(), ["laplace", "gaussian"]),
        (0.0, dc.Rating(), ["laplace", "laplace"]),
        (1e-6, dc.User(), ["gaussian", "gaussian"]),
        (1e-6, dc.User(max_ratings=20), ["gaussian", "gaussian"]),
    ],
    ids=["rating", "rating, pure", "user", "user, capped"],
)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_two_looks_that_fit_the_budget(delta, unit, mechanisms, epsilon):
    _, ledger = served(POPULAR, epsilon, delta, unit)
    assert [spend.mechanism for spend in ledger.spends] == mechanisms
    assert 0.5 * epsilon < ledger.spent <= epsilon * (1 + 1e-9)
    server = dc.TrustedServer(RATINGS, dc.Ledger(epsilon, delta, unit))
    plan = rehearse(POPULAR, server)
    secret = POPULAR.fit(server)
    assert plan.spends == secret.spends
    assert secret.guarantee.proven is not None and secret.guarantee.proven.epsilon <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("form", ["factors", "interpolation", "neighbours"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_can_be_rehearsed_at_any_size(form, delta):
    """Rehearsed on zeros, where there is nothing to find."""
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, delta))
    plan = rehearse(replace(FACTORS, form=form), server)
    assert len(plan.spends) == 2 and plan.spent <= 1 + 1e-9


def test_nobody_rated_anything():
    empty = RATINGS.select(np.zeros(len(RATINGS), dtype=bool))
    for population in (dc.NoPrivacy(empty), dc.TrustedServer(empty, dc.Ledger(1.0, 1e-6))):
        release = FACTORS.fit(population)
        assert np.isfinite(release.scores(RATINGS)).all()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_population_with_one_kind_of_noise(noise):
    ledger = dc.Ledger(2.0, 1e-6)
    POPULAR.fit(dc.TrustedServer(RATINGS, ledger, noise=noise))
    assert [spend.mechanism for spend in ledger.spends] == [noise, noise]
    assert ledger.spent <= 2.0 * (1 + 1e-9)


def test_a_user_without_delta_is_refused_before_anything_is_spent():
    ledger = dc.Ledger(1.0, 0.0, dc.User())
    with pytest.raises(InputError, match="no proven bound"):
        POPULAR.fit(dc.TrustedServer(RATINGS, ledger))
    assert ledger.spends == ()


def test_covariances_that_noise_would_hide_are_not_asked_for():
    """All of the budget buys averages then, the same as in Bias."""
    release, ledger = served(dc.CovarianceKNN(), 0.05, 1e-6)
    bias, _ = served(dc.Bias(), 0.05, 1e-6)
    assert len(ledger.spends) == 1
    assert release.arrays["item_factors"].shape == (120, 0)
    users, items = RATINGS.user_index, RATINGS.item_index
    np.testing.assert_allclose(release.predict(RATINGS, users, items), bias.predict(RATINGS, users, items), atol=0.01)


@pytest.mark.parametrize("form", ["factors", "interpolation", "neighbours"])
def test_covariances_below_the_noise_edge_leave_the_averages(form):
    """Asked for at a price that leaves nothing but noise: hardly a factor, and hardly a difference."""
    model = replace(POPULAR, form=form)
    release, ledger = served(model, 0.05, 1e-6)
    assert len(ledger.spends) == 2
    averages = Ratings.of_history(dc.History(RATINGS.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))
    stranger = release.predict(averages, np.zeros(120, int), np.arange(120))
    np.testing.assert_allclose(stranger, np.clip(release.arrays["mean"] + release.arrays["item_bias"], 1, 5), rtol=1e-6)
    users, items = RATINGS.user_index, RATINGS.item_index
    alone = dc.Release(
        dc.Bias(), {k: release.arrays[k] for k in ("mean", "item_bias")}, RATINGS.catalogue, dc.Guarantee.none("a test")
    )
    difference = release.predict(RATINGS, users, items) - alone.predict(RATINGS, users, items)
    assert np.sqrt(np.mean(difference**2)) < 0.1


def test_more_budget_finds_more():
    train, test = RATINGS.split(test=0.2, seed=1)

    def error(model, population):
        predicted = model.fit(population).predict(train, test.user_index, test.item_index)
        return float(np.sqrt(np.mean((predicted - test.values) ** 2)))

    def private(epsilon):
        return dc.TrustedServer(train, dc.Ledger(epsilon, 1e-6), randomness=dc.Randomness(2))

    exact, averages = error(dc.CovarianceKNN(), dc.NoPrivacy(train)), error(dc.Bias(), dc.NoPrivacy(train))
    assert exact < averages - 0.01
    assert error(FACTORS, private(30.0)) < exact + 0.02
    assert error(dc.CovarianceKNN(), private(1.0)) < averages + 0.05


def test_devices_answer_too():
    few = RATINGS.select_users(np.arange(20))
    ledger = dc.Ledger(1.0, 1e-6)
    release = dc.CovarianceKNN(covariance_share=0.5, items=10).fit(dc.LocalDevices(few, ledger))
    assert len(ledger.spends) == 2 and np.isfinite(release.scores(few)).all()


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_an_audit_accuses_nobody(unit):
    """The furthest that a canary goes is the bound: for a user a good part of it is exercised."""
    small = dc.synthetic(users=40, items=12, ratings=250, seed=1)
    terms = dc.Terms(epsilon=2.0, delta=1e-5, unit=unit, trust="server")
    model = dc.CovarianceKNN(covariance_share=0.6)
    audit = dc.audit.audit_by_runs(model, small, terms, runs=200, randomness=dc.Randomness(seed=5))
    assert not audit.accuses, str(audit)
    assert audit.faults == ()


# ── Cleaning ──


def test_noise_alone_has_no_factors():
    rng = np.random.default_rng(1)
    noise = np.triu(rng.normal(0, 2.0, (150, 150)), 1).astype(np.float32)
    noise += noise.T
    assert np.linalg.eigvalsh(noise)[-1] == pytest.approx(spectral_threshold(2.0, 150), rel=0.05)
    weights = np.full((150, 150), 5.0, dtype=np.float32)
    factors = denoised_factors(noise, weights, 2.0, 0.1, 0.1, 20)
    assert factors.shape[1] <= 1 and np.abs(factors).max(initial=0) < 0.05


def test_what_stands_above_the_edge_is_found_again():
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 0.3, (200, 2))
    counts = rng.uniform(0.5, 2, 200)
    weights = np.outer(counts, counts).astype(np.float32) * 4
    noise = np.triu(rng.normal(0, 1.0, (200, 200)), 1)
    products = (weights * (truth @ truth.T) + noise + noise.T).astype(np.float32)
    found = denoised_factors(products, weights, 1.0, 0.05, 0.3, 20, sweeps=30)
    assert found.shape[1] == 2
    off = ~np.eye(200, dtype=bool)
    correlation = np.corrcoef((found @ found.T)[off], (truth @ truth.T)[off])[0, 1]
    raw = np.corrcoef((products / weights)[off], (truth @ truth.T)[off])[0, 1]
    assert correlation > 0.95 > raw


def test_eigenvalues_are_shrunk_to_what_they_were():
    rng = np.random.default_rng(3)
    direction = rng.normal(size=300)
    direction /= np.linalg.norm(direction)
    noise = np.triu(rng.normal(0, 1.0, (300, 300)), 1)
    values, _ = above_threshold(60 * np.outer(direction, direction) + noise + noise.T, 5, spectral_threshold(1.0, 300))
    assert values[0] == pytest.approx(60, rel=0.05)
    assert len(values) <= 2


def test_weights_come_back_through_noise():
    rng = np.random.default_rng(4)
    counts = rng.uniform(1, 10, 100)
    groups = np.where(np.arange(100) % 2, 1.0, -1.0)
    truth = 0.5 * np.outer(counts, counts) + 6 * np.outer(groups, groups)
    noise = np.triu(rng.normal(0, 5, (100, 100)))
    noisy = (truth + noise + np.triu(noise, 1).T).astype(np.float32)
    likely = denoised_weights(noisy, counts, 5.0, 6)
    assert np.abs(likely - truth).mean() < 0.4 * np.abs(noisy - truth).mean()
    assert likely.min() >= 0
    assert denoised_weights(noisy, counts, 0.0, 6) is noisy


# ── Prediction ──


def test_factors_predict_as_the_formula_says():
    release = dc.CovarianceKNN(factors=3).fit(dc.NoPrivacy(RATINGS))
    history = RATINGS.history_at(5)
    design = np.column_stack([release.arrays["item_factors"], np.full(120, 0.1 * 4)]).astype(float)
    base = (release.arrays["mean"] + release.arrays["item_bias"]).astype(float)
    rated = design[history.items]
    own = np.linalg.solve(
        rated.T @ rated + (0.22 * 4) ** 2 * np.eye(rated.shape[1]), rated.T @ (history.values - base[history.items])
    )
    found = release.predict(RATINGS, np.full(120, 5), np.arange(120))
    np.testing.assert_allclose(found, np.clip(base + design @ own, 1, 5), atol=1e-3)


def test_interpolation_from_all_that_was_rated_is_the_best_linear_prediction():
    """With k no smaller than the history and positive covariances: base + b_u + L_i (LᵀL + s²)⁻¹ Lᵀ x."""
    release = dc.CovarianceKNN(factors=1).fit(dc.NoPrivacy(RATINGS))
    factors = np.abs(release.arrays["item_factors"]).astype(float) + 0.05
    arrays = {**release.arrays, "item_factors": factors.astype(np.float32)}
    model = dc.CovarianceKNN(form="interpolation", k=120)
    release = dc.Release(model, arrays, RATINGS.catalogue, dc.Guarantee.none("a test"))
    history = RATINGS.history_at(3)
    base = (release.arrays["mean"] + release.arrays["item_bias"]).astype(float)
    residuals = history.values - base[history.items]
    own = residuals.sum() / (len(history) + 5)
    rated = factors[history.items]
    taste = np.linalg.solve(rated.T @ rated + (0.22 * 4) ** 2 * np.eye(rated.shape[1]), rated.T @ (residuals - own))
    new = np.setdiff1d(np.arange(120), history.items)
    found = release.predict(RATINGS, np.full(len(new), 3), new)
    np.testing.assert_allclose(found, np.clip(base[new] + own + factors[new] @ taste, 1, 5), atol=2e-3)


@pytest.mark.parametrize("centre", ["item", "user"])
def test_neighbours_are_the_largest_shrunk_correlations(centre):
    model = dc.CovarianceKNN(form="neighbours", centre=centre, listed=10, shrinkage=2.0)
    release = model.fit(dc.NoPrivacy(RATINGS))
    mean, bias = item_biases(dc.NoPrivacy(RATINGS), 5.0)
    sums = PairSums(
        np.arange(120, dtype=np.int32),
        mean + bias,
        1.0,
        RELATIVE_WEIGHT,
        5.0 if centre == "user" else None,
        "rating, l2",
    )
    products, weights = (matrix.astype(float) for matrix in sums.matrices(exact_total(sums.contribution, RATINGS)))
    off = ~np.eye(120, dtype=bool)
    common = max(products[off].sum() / weights[off].sum(), 0)
    own = np.diag(products) - common * np.diag(weights)
    variance = (own + own.sum() / np.trace(weights)) / (np.diag(weights) + 1)
    expected = (products - common * weights) / (weights + 2.0) / np.sqrt(np.outer(variance, variance))
    expected[~off] = 0
    for item in range(120):
        best = np.sort(np.argsort(-expected[item], kind="stable")[:10])
        kept = release.arrays["similarities"][item] > 0
        assert set(release.arrays["neighbours"][item][kept]) <= set(best)
        np.testing.assert_allclose(
            release.arrays["similarities"][item][kept],
            expected[item, release.arrays["neighbours"][item][kept]],
            atol=1e-4,
        )


@pytest.mark.parametrize("form", ["factors", "interpolation", "neighbours"])
def test_explanations_add_up_to_the_score(form):
    release = dc.CovarianceKNN(form=form, factors=3).fit(dc.NoPrivacy(RATINGS))
    history = RATINGS.history_at(9)
    scores = release.score(history)
    popular = 0 if form == "neighbours" else np.sqrt(release.arrays["counts"])
    for item in (0, 17, 60):
        added = release.scorer().shares(history, item)
        assert added.shape == (len(history),)
        of_item = popular if form == "neighbours" else popular[item]
        assert added.sum() == pytest.approx(scores[item] - of_item, rel=1e-3, abs=1e-3)


def test_a_sparse_release_is_small():
    dense, sparse = (dc.CovarianceKNN(form="neighbours", listed=n).fit(dc.NoPrivacy(RATINGS)) for n in (119, 10))
    size = [sum(array.nbytes for array in release.arrays.values()) for release in (dense, sparse)]
    assert size[1] < size[0] / 8
    assert np.isfinite(sparse.scores(RATINGS)).all()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("form", "magic", "form must be 'factors', 'interpolation' or 'neighbours', got 'magic'"),
        ("centre", "none", "centre must be 'item' or 'user'"),
        ("factors", 0, "factors must be at least 1, got 0"),
        ("items", 1, "items must be at least 2, got 1"),
        ("audience", 0, "audience must be at least 1"),
        ("covariance_share", 1.0, r"covariance_share must be at least 0 and below 1, got 1.0"),
        ("clip", 0, r"clip must be above 0 and at most 1, got 0"),
        ("k", 0, "k must be at least 1"),
        ("shrinkage", -1, "shrinkage must not be negative, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(setting, value, message):
    with pytest.raises(InputError, match=message):
        dc.CovarianceKNN(**{setting: value})


def test_movielens(ml_100k):
    """Beyond the averages without noise, and with epsilon 10 for one rating."""
    train, test = ml_100k.split(test=0.2, seed=11)

    def error(model, population):
        predicted = model.fit(population).predict(train, test.user_index, test.item_index)
        return float(np.sqrt(np.mean((predicted - test.values) ** 2)))

    assert error(dc.CovarianceKNN(), dc.NoPrivacy(train)) < 0.918
    assert error(dc.CovarianceKNN(form="neighbours"), dc.NoPrivacy(train)) < 0.922
    private = dc.TrustedServer(train, dc.Ledger(10.0, 1e-6), randomness=dc.Randomness(11))
    assert error(dc.CovarianceKNN(), private) < 0.925


# ── What adds up the sums ──


def test_torch_gives_the_same_release():
    pytest.importorskip("torch")
    releases = [
        served(dc.CovarianceKNN(audience=10**6), 5.0, delta=1e-6, unit=dc.User(), engine=engine)[0]
        for engine in ("numba", "torch")
    ]
    for name, array in releases[0].arrays.items():
        np.testing.assert_array_equal(releases[1].arrays[name], array)


def test_an_unknown_engine_is_refused():
    for make in (dc.NoPrivacy, lambda ratings, engine: dc.TrustedServer(ratings, dc.Ledger(1.0), engine=engine)):
        with pytest.raises(InputError, match="engine must be 'numba' or 'torch', got 'spark'"):
            make(RATINGS, engine="spark")
    with pytest.raises(InputError, match="engine must be 'numba' or 'torch', got 'spark'"):
        dc.Terms(engine="spark")


def test_an_engine_needs_whole_numbers():
    bounds = (Bound("user", "l2", 1.0),)
    with pytest.raises(InputError, match="needs a finish, largest or most_users: only exact sums"):
        dc.Contribution("sums", (1,), lambda ratings: np.zeros(1), bounds, on_torch=lambda ratings: np.zeros(1))


def test_an_old_release_with_an_engine_among_its_settings_is_read(tmp_path):
    release = dc.CovarianceKNN().fit(dc.NoPrivacy(RATINGS))
    release.save(tmp_path / "release")
    card = next(path for path in (tmp_path / "release").iterdir() if path.suffix == ".json")
    card.write_text(card.read_text().replace('"form":', '"engine": "torch", "form":'))
    assert dc.Release.load(tmp_path / "release").model == dc.CovarianceKNN()


# ── What is said of it ──


def test_a_release_of_averages_says_so_and_what_would_help():
    """At this epsilon Laplace noise would hide the covariances, and Gaussian noise would not."""
    model = dc.CovarianceKNN(audience=2000)
    pure = model.fit(dc.TrustedServer(RATINGS, dc.Ledger(0.3)))
    assert pure.remark.startswith(
        "These are averages alone: such noise would hide the covariances of about 2,000 users"
    )
    assert pure.remark.endswith("with a delta of 1e-06 it could be smaller, and they would be published")
    assert len(model.fit(dc.TrustedServer(RATINGS, dc.Ledger(0.3, 1e-6))).spends) == 2
    hopeless = model.fit(dc.TrustedServer(RATINGS, dc.Ledger(0.01)))
    assert hopeless.remark.endswith("about 2,000 users")


@pytest.mark.parametrize("form", ["factors", "neighbours"])
def test_covariances_that_stand_out_need_no_remark(form):
    assert dc.CovarianceKNN(form=form).fit(dc.NoPrivacy(RATINGS)).remark == ""
    assert dc.Bias().fit(dc.NoPrivacy(RATINGS)).remark == ""


def test_covariances_that_were_asked_for_in_vain():
    few = dc.synthetic(users=20, items=30, ratings=100, seed=1)
    release = FACTORS.fit(dc.TrustedServer(few, dc.Ledger(1.0, 1e-6), randomness=dc.Randomness(1)))
    assert release.remark == "No covariance stood out, so these are averages alone"


@pytest.mark.parametrize("unit", [dc.Rating(), dc.User()], ids=str)
@pytest.mark.parametrize("audience", [10_000, 10**9])
def test_whatever_the_audience_averages_keep_their_part(audience, unit):
    """What an audience that was told too large can do is bounded."""
    release, _ = served(dc.CovarianceKNN(audience=audience), 1.0, 1e-6, unit)
    averages, _ = served(dc.CovarianceKNN(covariance_share=0.7), 1.0, 1e-6, unit)
    assert [spend.scale for spend in release.spends] == [spend.scale for spend in averages.spends]
