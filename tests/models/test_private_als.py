"""ALS where users are hidden: its bound by brute force, its sums and solutions against naive ones, what it spends."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.kernels import row_solves
from discreet.kernels.statistics import LATTICE, add_bounded_statistics
from discreet.models.denoise import private_als
from discreet.models.denoise.private_als import (
    ALSQueries,
    NoisyEquations,
    ask_for_averages,
    fit_private,
    positive,
    refined,
)
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.factor_sums import FactorSums
from discreet.populations.population import exact_total
from discreet.populations.rehearsal import rehearse

SCALE = dc.Scale(1, 5)
RATINGS = dc.synthetic(users=60, items=40, ratings=1200, seed=3)
WEIGHTINGS = ["uniform", "tail", "adaptive"]
QUERIES = ALSQueries.of(factors=2, sweeps=6, items=40, share=0.7, last=0.0, features=False)


def asked(weighting, size=4, listed=None, factors=2, kept=2, spread=1.0, clip=1.5, seed=0):
    """A sweep's sum with made-up factors."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(2, 4, size).astype(np.float32)
    rows = np.concatenate([np.ones((size, 1)), spread * rng.normal(size=(size, factors))], axis=1).astype(np.float32)
    known = UserRegression(base, rows, np.ones(size, dtype=np.float32), 0.7)
    listed = np.arange(size, dtype=np.int32) if listed is None else np.array(listed, dtype=np.int32)
    counts = rng.permutation(size) * 3.0
    return FactorSums(known, base, factors, listed, counts, weighting, kept, 0.25, clip, 0.5, 0.3, 0.6, (7, 0))


def catalogue_of(size):
    return dc.Catalogue.of([f"i{n}" for n in range(size)], SCALE, declared=True)


def private(ratings=RATINGS, epsilon=5.0, seed=None, **ledger):
    ledger = dc.Ledger(epsilon=epsilon, **{"delta": 1e-6, "unit": dc.User(), **ledger})
    return dc.TrustedServer(ratings, ledger, randomness=None if seed is None else dc.Randomness(seed))


# ── The bound ──


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_user_and_no_rating_moves_the_sum_beyond_its_bound(weighting, seed):
    contribution = asked(weighting, size=3, listed=[0, 2] if seed else None, seed=seed).contribution
    by_user, by_rating = dc.audit.check_sensitivity(contribution, catalogue_of(3), [1, 3, 5], users=1)
    assert by_user.share == pytest.approx(1, abs=1e-6)  # every user is heard in full
    assert by_rating.share > 0.6  # one rating moves everything that its user says
    if weighting != "uniform":  # that one goes by the names of users, who are renamed there when one leaves
        dc.audit.check_sensitivity(contribution, catalogue_of(3), [1, 5], users=3, most=60)


def test_one_rating_can_turn_a_user_almost_around():
    """So nothing smaller than 2 would do for a rating."""
    sums = replace(asked("adaptive", size=2, factors=1, spread=0.0), relative_weight=0.01, constant=1.0)
    sums = replace(
        sums, known=UserRegression(np.full(2, 3.0, np.float32), np.zeros((2, 2), np.float32), sums.known.weights, 1.0)
    )
    sums = replace(sums, base=np.full(2, 3.0, np.float32), clip=2.0, counts=np.array([1e12, 1.0]), exponent=1.0)
    by_user, by_rating = dc.audit.check_sensitivity(sums.contribution, catalogue_of(2), [1, 3.05, 5], users=1)
    assert by_user.furthest <= 1 < 1.3 < by_rating.furthest


@given(
    values=st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), min_size=6, max_size=6),
    spread=st.sampled_from([0.0, 1e-6, 1.0, 1e4]),
    weighting=st.sampled_from(WEIGHTINGS),
)
@settings(max_examples=60, deadline=None)
def test_a_user_has_length_one_whatever_they_rated(values, spread, weighting):
    items = np.flatnonzero(values)
    own = Ratings.of_columns(
        catalogue_of(6), Labels.of(["u"], what="user"), np.zeros(len(items), int), items, np.array(values)[items]
    )
    length = np.linalg.norm(asked(weighting, size=6, spread=spread).contribution.total(own))
    assert length <= 1
    assert length == pytest.approx(1 if len(items) else 0, abs=1e-5)


@pytest.mark.parametrize("width", [1e-30, 1e25])
def test_what_leaves_the_range_of_numbers_at_home_is_not_heard(width):
    """A sum that is no number would tell that somebody rated the item, through any noise."""
    scale = dc.Scale(0, 1)
    object.__setattr__(scale, "high", width)  # which a scale refuses by itself
    values = ((RATINGS.values - 1) / 4 * np.float32(width)).astype(np.float32)
    ratings = replace(RATINGS, catalogue=replace(RATINGS.catalogue, scale=scale), values=values)
    sums = asked("adaptive", size=40, clip=0.35 * width)
    base = np.full(40, width / 2, np.float32)
    with np.errstate(all="ignore"):
        known = UserRegression.of(
            base, 0 * base, 1 + 0 * base, np.zeros((40, 0)), sums.known.rows[:, 1:] * width, width
        )
        sums = replace(sums, known=known, base=base)
        assert not all(np.isfinite(found).all() for found in known.posteriors(ratings, 2))  # or this tests nothing
        for user in range(5):
            assert 0.99 < np.linalg.norm(sums.contribution.total(ratings.select_users(np.array([user])))) <= 1


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_what_a_user_adds_is_the_same_to_the_last_bit_whoever_else_is_there(weighting):
    contribution = asked(weighting, size=40, kept=5).contribution
    everybody = contribution.total(RATINGS)
    others = np.r_[0:17, 18:60]
    alone = contribution.total(RATINGS.select_users(np.array([17])))
    np.testing.assert_array_equal(everybody - contribution.total(RATINGS.select_users(others)), alone)


# ── The sum ──


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_sum_is_what_its_formula_says(weighting):
    sums = asked(weighting, size=40, listed=range(0, 40, 2), kept=4, clip=0.8)
    grams, moments = sums.normal_equations(sums.contribution.total(RATINGS))
    expected_grams, expected_moments = np.zeros_like(grams), np.zeros_like(moments)
    question, strays = sums.question, sums.known.residual_variance
    rated = question.fitted.rows * question.fitted.unit  # on a lattice, as the ratings are
    np.testing.assert_allclose(rated, sums.known.rows, atol=2**-17)
    unit = question.target_unit
    assert unit <= 2**-15
    position = {item: place for place, item in enumerate(sums.listed)}
    for user in range(RATINGS.n_users):
        history = RATINGS.history_at(user)
        mine = [at for at, item in enumerate(history.items) if item in position]
        if weighting == "tail":
            mine = sorted(mine, key=lambda at: sums.counts[history.items[at]])[:4]
        elif weighting == "uniform":  # which ones is drawn: see below
            kept = sums._keeps(RATINGS, _positions(sums))[RATINGS.indptr[user] : RATINGS.indptr[user + 1]]
            mine = [at for at in mine if kept[at]]
            assert len(mine) <= 4
        mine_rated = rated[history.items]
        residuals = np.rint((history.values.astype(np.float64) - sums.known.base[history.items]) / unit) * unit
        own = np.linalg.solve(mine_rated.T @ mine_rated + strays * np.eye(3), mine_rated.T @ residuals)
        z = np.r_[sums.constant, own[1:]]
        covariance = strays * np.linalg.inv(mine_rated.T @ mine_rated + strays * np.eye(3))
        m = np.outer(z, z)
        m[1:, 1:] += 0.6 * covariance[1:, 1:]
        said = []
        for at in mine:
            item = history.items[at]
            y = np.clip(history.values[at] - sums.base[item] - own[0], -0.8, 0.8)
            said.append((position[item], sums.item_weights[position[item]], y))
        length = np.sqrt(sum(c**2 * (sums.relative_weight**2 * (m**2).sum() + y**2 * (z @ z)) for _, c, y in said))
        for place, c, y in said:
            expected_grams[place] += c / length * m
            expected_moments[place] += c / length * y * z
    np.testing.assert_allclose(grams, expected_grams, atol=1e-5)
    np.testing.assert_allclose(moments, expected_moments, atol=1e-5)


def _positions(sums):
    position = np.full(len(sums.base), -1, dtype=np.int32)
    position[sums.listed] = np.arange(len(sums.listed))
    return position


def test_items_that_are_rated_less_weigh_more():
    sums = asked("adaptive", size=10)
    order = np.argsort(np.maximum(sums.counts, 1))
    assert np.all(np.diff(sums.item_weights[order]) <= 0)
    assert asked("uniform", size=10).item_weights.tolist() == [1] * 10


def test_another_sweep_draws_other_ratings():
    sums = asked("uniform", size=40, kept=3)
    first, again = (sums._keeps(RATINGS, _positions(sums)) for _ in range(2))
    other = replace(sums, draw=(7, 1))._keeps(RATINGS, _positions(sums))
    assert (first == again).all()
    assert (first != other).any()


def test_the_kernel_rounds_towards_zero_and_sums_exactly():
    rng = np.random.default_rng(0)
    users = rng.integers(0, 30, 200).astype(np.int32)
    indptr = np.array([0, 80, 80, 200])
    factors, targets, scales = rng.normal(size=(30, 3)), rng.normal(size=200), np.array([0.5, 1, 2.0])
    squares = rng.normal(size=(30, 5))

    def summed(indptr, users, targets):
        steps = np.zeros((len(indptr) - 1, 8))
        add_bounded_statistics(steps, indptr, users, targets, factors, squares, scales[: len(indptr) - 1])
        return steps / LATTICE

    found = summed(indptr, users, targets)
    for item in range(3):
        at = slice(indptr[item], indptr[item + 1])
        every = np.concatenate([squares[users[at]], targets[at][:, None] * factors[users[at]]], axis=1)
        np.testing.assert_allclose(found[item], scales[item] * every.sum(axis=0), atol=1e-6)
    one = summed(np.array([0, 1]), users[:1], targets[:1])[0]
    exact = scales[0] * np.r_[squares[users[0]], targets[0] * factors[users[0]]]
    assert np.all(np.abs(one) <= np.abs(exact)) and np.all(one * 2**30 == np.trunc(one * 2**30))
    backwards = np.r_[np.arange(79, -1, -1), np.arange(199, 79, -1)]
    turned = summed(indptr, users[backwards], targets[backwards])
    np.testing.assert_array_equal(found, turned)


def test_what_users_do_not_know_of_their_own_factors():
    rng = np.random.default_rng(0)
    known = UserRegression(
        np.zeros(40, np.float32), rng.normal(size=(40, 5)).astype(np.float32), np.ones(40, np.float32), 0.7
    )
    nobody = RATINGS.select(RATINGS.user_index != 4)
    own, unknown = known.posteriors(nobody, 3)
    np.testing.assert_allclose(own, known.coefficients(nobody), rtol=1e-4, atol=1e-5)
    for user in (0, 4, 9):
        rows = known.rows[nobody.item_index[nobody.user_index == user]].astype(np.float64)
        expected = 0.7 * np.linalg.inv(rows.T @ rows + 0.7 * np.eye(5))[2:, 2:]
        np.testing.assert_allclose(unknown[user], expected[np.tril_indices(3)], rtol=1e-3, atol=1e-5)


# ── The items ──


def equations(noise=0.0, items=30, d=3, seed=0, own=0.3):
    """Made-up equations, their masses, and the truth behind them."""
    rng = np.random.default_rng(seed)
    masses = rng.uniform(5, 50, items)
    spread = rng.normal(size=(items, 40, d)) * (1 + own * rng.normal(size=(items, 1, d)))
    grams = masses[:, None, None] * (spread.transpose(0, 2, 1) @ spread) / 40
    features = rng.normal(size=(items, 2))
    truth = features @ rng.normal(size=(2, d)) + 0.2 * rng.normal(size=(items, d))
    moments = (grams @ truth[:, :, None])[:, :, 0] + noise * rng.normal(size=(items, d))
    symmetric = noise * rng.normal(size=(items, d, d)) / np.sqrt(2)
    symmetric = np.where(np.eye(d, dtype=bool), symmetric * np.sqrt(2), np.tril(symmetric, -1))
    symmetric = np.tril(symmetric) + np.tril(symmetric, -1).transpose(0, 2, 1)
    return NoisyEquations(grams + symmetric, moments, masses, noise, noise, np.full(items, 0.1)), grams, features, truth


def test_without_noise_an_item_solves_its_ridge_problem():
    noisy, grams, _, _ = equations()
    found = noisy.denoised()
    expected, variances = np.full((30, 3), 0.1), np.full((30, 3), 0.5)
    solved, unknown = found.items(expected, variances)
    for item in (0, 11):
        # with strays of variance 0.1 G: (G/0.1 + 1/0.5) x = h/0.1 + expected/0.5
        precision = grams[item] / 0.1 + np.eye(3) / 0.5
        right = found.moments[item] / 0.1 + expected[item] / 0.5
        np.testing.assert_allclose(solved[item], np.linalg.solve(precision, right), rtol=1e-5)
        np.testing.assert_allclose(unknown[item], np.diag(np.linalg.inv(precision)), rtol=1e-4)


def test_left_sides_stay_without_noise_and_are_pooled_under_much():
    exact, grams, _, _ = equations()
    np.testing.assert_allclose(exact.denoised().grams, grams, rtol=1e-6, atol=1e-6)
    noisy, grams, _, _ = equations(noise=60.0)
    clean = noisy.denoised()
    assert np.linalg.eigvalsh(clean.grams).min() > -1e-9
    assert ((clean.grams - grams) ** 2).sum() < 0.1 * ((noisy.grams - grams) ** 2).sum()


def test_torch_solves_the_same_equations(monkeypatch):
    pytest.importorskip("torch")
    noisy, _, features, _ = equations(noise=2.0)
    start, variances = np.full((3, 2), 0.2), np.full((30, 3), 0.04)

    def solved():
        found = noisy.denoised()
        return found.map_of(features, start, variances, 0 * start + 0.7), *found.items(features @ start.T, variances)

    here = solved()
    monkeypatch.setattr(row_solves, "_device", lambda size: "cpu")
    for one, other in zip(here, solved(), strict=True):
        assert type(other) is np.ndarray
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_the_map_of_features_solves_its_normal_equations():
    noisy, _, features, _ = equations(noise=2.0)
    found = noisy.denoised()
    variances, start = np.full((30, 3), 0.04), np.full((3, 2), 0.2)
    spreads = np.full((3, 2), 0.7)
    gram, moment = np.diag(1 / spreads.ravel() ** 2), np.zeros(6)
    for item in range(30):
        g = found.grams[item]
        length = ((start @ features[item]) ** 2 + variances[item]).sum()
        v = g @ np.diag(variances[item]) @ g + 0.1 * g + (2.0**2 + found.gram_variance[item] * length) * np.eye(3)
        design = g @ np.kron(np.eye(3), features[item][None, :])
        gram += design.T @ np.linalg.solve(v, design)
        moment += design.T @ np.linalg.solve(v, found.moments[item] - design @ start.ravel())
    expected = start + np.linalg.solve(gram, moment).reshape(3, 2)
    np.testing.assert_allclose(found.map_of(features, start, variances, spreads), expected, rtol=1e-6)


def test_items_are_found_again_through_noise():
    noisy, _, features, truth = equations(noise=4.0, items=400)
    noisy = noisy.denoised()
    variances = np.full((400, 3), 0.04)
    mapped = noisy.map_of(features, np.zeros((3, 2)), variances, np.full((3, 2), 1.0))
    solved, unknown = noisy.items(features @ mapped.T, variances)
    error = ((solved - truth) ** 2).mean()
    assert error < 0.5 * (truth**2).mean()
    assert error < ((features @ mapped.T - truth) ** 2).mean()
    assert np.all((unknown >= 0) & (unknown <= 0.04 + 1e-12))


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_positive_is_positive_and_leaves_positive_alone(seed):
    matrix = np.random.default_rng(seed).normal(size=(2, 3, 3))
    matrix = matrix + matrix.transpose(0, 2, 1)
    cut = positive(matrix)
    assert np.linalg.eigvalsh(cut).min() > -1e-9
    np.testing.assert_allclose(positive(cut), cut, atol=1e-9)


# ── The fit ──


def test_every_look_is_booked_before_it_is_taken():
    model, population = dc.ALS(factors=2, sweeps=3), private()
    plan = rehearse(model, population)
    release = model.fit(population)
    assert [spend.what for spend in population.spends] == [
        "how often each item was rated, and its ratings' sum",
        *["what users' own factors say about each item"] * 3,
    ]
    assert population.spends == plan.spends
    assert all(
        spend.mechanism == "gaussian" and spend.sensitivity == pytest.approx(1, abs=1e-4) for spend in plan.spends
    )
    assert 4.99 < population.ledger.spent <= 5
    assert release.guarantee.proven.epsilon <= 5


def test_there_are_no_more_factors_than_users_have_ratings_for():
    """And what is booked is what was planned, however many there are."""
    few, many = (dc.synthetic(users=2000, items=60, ratings=count, seed=3) for count in (13_000, 50_000))
    model, found = dc.ALS(audience=10**7, sweeps=1), []
    for ratings in (few, many):
        population = private(ratings, seed=1)  # a bin that noise fills would count as users who rate much
        plan = rehearse(model, population)
        found.append(model.fit(population).arrays["item_factors"].shape[1])
        assert population.spends == plan.spends and population.spends[1].what == "how many users rated how much"
    assert found[0] <= 13_000 / 2000 / 2 < 6 <= found[1] <= 16


def test_cells_of_factors_that_there_are_not_are_empty():
    sums = asked("adaptive", size=40)
    wide = replace(sums, planned=5)
    total = wide.contribution.total(RATINGS)
    assert total.shape == wide.contribution.shape == (40, 21 + 6)
    for one, other in zip(
        wide.normal_equations(total), sums.normal_equations(sums.contribution.total(RATINGS)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert np.count_nonzero(total.any(axis=0)) == 6 + 3


def test_a_rating_costs_as_much_as_a_user_who_is_replaced():
    population = private(unit=dc.Rating())
    release = dc.ALS(factors=2, sweeps=2).fit(population)
    assert [round(spend.sensitivity, 3) for spend in population.spends] == [1.803, 2.0, 2.0]
    assert release.guarantee.proven.epsilon <= 5


@pytest.mark.parametrize(
    ("model", "ledger", "why"),
    [
        (dc.ALS(), {"unit": dc.Rating(), "delta": 0.0}, "no proven bound"),
        (dc.ALS(), {"delta": 0.0}, "no proven bound"),
        (dc.ALS(biased=False), {}, "biases"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_spent(model, ledger, why):
    population = private(**ledger)
    with pytest.raises(InputError, match=why):
        model.fit(population)
    assert not population.spends


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("features", [True, False])
def test_releases_of_every_form_predict_and_last(weighting, features, tmp_path):
    model = dc.ALS(factors=3, sweeps=2, weighting=weighting, features=features, items=25, kept=10)
    release = model.fit(private())
    assert release.arrays["item_factors"].shape == (40, 3)
    users, items = np.array([0, 1, 2]), np.array([5, 6, 39])
    expected = release.predict(RATINGS, users, items)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(release.scores(RATINGS)[users, items], expected, rtol=1e-4)
    release.save(tmp_path / "release")
    np.testing.assert_array_equal(dc.Release.load(tmp_path / "release").predict(RATINGS, users, items), expected)


def test_with_a_map_alone_items_of_equal_features_have_equal_factors():
    ratings = dc.synthetic(users=60, items=200, ratings=3000, seed=3)
    release = dc.ALS(factors=3, sweeps=2, free=False).fit(private(ratings))
    catalogue, factors = ratings.catalogue, release.arrays["item_factors"]
    facts = np.concatenate([catalogue.item_genres, catalogue.years[:, None]], axis=1)
    _, first, same = np.unique(facts, axis=0, return_index=True, return_inverse=True)
    assert len(first) < 200
    np.testing.assert_allclose(factors, factors[first][same.ravel()], atol=1e-6)


def test_it_learns_through_noise():
    """Better than averages, and better with more sweeps: factors are found, not noise."""
    ratings = dc.synthetic(users=3000, items=300, ratings=150_000, seed=4)
    train, test = ratings.split(test=0.2, seed=1)
    errors = {}
    for name, model in {
        "bias": dc.Bias(),
        "one sweep": dc.ALS(factors=3, sweeps=1, features=False),
        "five sweeps": dc.ALS(factors=3, sweeps=5, features=False),
        "five sweeps with features": dc.ALS(factors=3, sweeps=5),
    }.items():
        release = model.fit(private(train, epsilon=20.0, seed=1))
        errors[name] = dc.evaluate(release, train, test)["rmse"]
    assert errors["five sweeps"] < errors["one sweep"] < errors["bias"] * 1.01
    assert errors["five sweeps"] < 0.99 * errors["bias"]
    assert errors["five sweeps with features"] < errors["five sweeps"]


def test_without_noise_the_private_form_is_as_good_as_alternating():
    train, test = dc.synthetic(users=600, items=100, ratings=20_000, seed=4).split(test=0.2, seed=1)
    plan = ALSQueries(4, 8, 100, 0.3, "adaptive", 100, 0.25, False, True, 0)
    arrays = fit_private(plan, dc.NoPrivacy(train), lambda *_: None)
    model = dc.ALS(factors=4, features=False)
    release = dc.Release.of(model, dc.NoPrivacy(train), arrays)
    bias = dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test)["rmse"]
    assert dc.evaluate(release, train, test)["rmse"] < 0.99 * bias


# ── Sweeps of an almanac ──


def test_shares_of_sweeps_grow_and_are_all_that_is_left():
    queries = ALSQueries.of(factors=2, sweeps=5, items=40, share=0.7, last=0.1, features=False)
    shares = queries.sweep_shares
    assert shares.sum() + queries.last_share == pytest.approx(0.7)
    np.testing.assert_allclose(shares[1:] / shares[:-1], private_als.CONSTANTS.growth)
    without = ALSQueries.of(factors=0, sweeps=2, items=40, share=0.7, last=0.0, features=False)
    np.testing.assert_allclose(without.sweep_shares, [0.35, 0.35])


def test_the_whole_covariance_weight_counts_before_sweeps_end():
    averages = ask_for_averages(QUERIES, dc.NoPrivacy(RATINGS))
    side = private_als.start_of_items(QUERIES, averages, np.zeros((40, 0)), SCALE.width)
    found = [
        private_als.step(QUERIES, sweep, averages, side, np.zeros((40, 0)), RATINGS.catalogue).covariance_weight
        for sweep in range(6)
    ]
    np.testing.assert_allclose(found, [0.25, 0.5, 0.75, 1, 1, 1])


def test_biases_at_last_are_known_better_and_factors_stay_as_they_are():
    averages = ask_for_averages(QUERIES, private(seed=1, epsilon=20.0))
    sides = {}
    for share in (0.0, 0.1):
        population = private(seed=2, epsilon=20.0)
        sides[share], _ = refined(replace(QUERIES, last_share=share), population, averages, lambda *_: None)
        assert len(population.spends) == QUERIES.sweeps + (share > 0)
    again = private_als.with_biases_at_last(
        replace(QUERIES, last_share=0.1), private(seed=3, epsilon=20.0), averages, sides[0.0]
    )
    np.testing.assert_array_equal(again.factors, sides[0.0].factors)
    assert (again.of_bias < sides[0.0].of_bias).all()
    np.testing.assert_allclose(again.unknown - again.of_bias, sides[0.0].unknown - sides[0.0].of_bias, atol=1e-12)
    assert (sides[0.1].of_bias <= sides[0.1].unknown).all()


def test_what_is_lost_to_a_wrong_bias_comes_back_at_last():
    """Items half a point too high or too low before, without noise: most of that is found."""
    population = dc.NoPrivacy(dc.synthetic(users=600, items=40, ratings=12_000, seed=3))
    averages = ask_for_averages(QUERIES, population)
    side, _ = refined(QUERIES, population, averages, lambda *_: None)
    wrong = np.where(np.arange(40) % 2, 0.5, -0.5).astype(np.float32)
    unsure = replace(side, base=side.base + wrong, of_bias=np.full(40, 0.25), unknown=np.full(40, 0.25))
    found = private_als.with_biases_at_last(replace(QUERIES, last_share=0.1), population, averages, unsure)
    assert np.abs(found.base - side.base).mean() < 0.5 * np.abs(wrong).mean()


@pytest.mark.parametrize(
    "wrong",
    [
        {"weighting": "heavy"},
        {"kept": 0},
        {"exponent": -1},
        {"items": 0},
        {"audience": 0},
        {"item_sums_share": 1},
        {"features": 1},
        {"free": None},
    ],
)
def test_settings_are_checked(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=name):
        dc.ALS(**wrong)


def test_totals_add_up_over_users():
    contribution = asked("tail", size=40).contribution
    halves = [RATINGS.select_users(np.arange(30)), RATINGS.select_users(np.arange(30, 60))]
    np.testing.assert_array_equal(
        sum(exact_total(contribution, half) for half in halves), exact_total(contribution, RATINGS)
    )


def test_the_equations_are_told_the_noise_of_the_averaged_sums(monkeypatch):
    """Where users say nothing, all that is averaged is noise: its deviation is what the equations are told.

    Of some 5,000 cells of each sweep, so an honest one is off by 1%; by 6% with odds below 1e-8.
    """

    class Silent(dc.TrustedServer):
        def _noisy(self, contribution, ratings, plan):
            if contribution.name.startswith("what users' own factors"):
                return plan.add_noise(np.zeros(contribution.shape), self._randomness)
            return super()._noisy(contribution, ratings, plan)

    seen = []
    build = private_als._equations

    def noted(plan, averages, asked, grams, moments, noise, catalogue):
        seen.append((float(moments.std()), noise))
        return build(plan, averages, asked, grams, moments, noise, catalogue)

    monkeypatch.setattr(private_als, "_equations", noted)
    ratings = dc.synthetic(users=60, items=1000, ratings=3000, seed=3)
    ledger = dc.Ledger(5.0, 1e-6, dc.User())
    dc.ALS(factors=4, sweeps=4, items=1000).fit(Silent(ratings, ledger, randomness=dc.Randomness(seed=1)))
    assert len(seen) == 4
    for measured, told in seen:
        assert measured == pytest.approx(told, rel=0.06)
    assert seen[-1][1] < 0.7 * seen[0][1]  # which is why earlier sweeps are kept


def test_sums_of_factors_are_exact_over_as_many_users_as_they_say():
    assert asked("adaptive").contribution.most_users == 2**23
