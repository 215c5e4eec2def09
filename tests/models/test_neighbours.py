"""Cosine and Pearson: the formulas written out slowly, and what a neighbour model owes its users."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError
from discreet.kernels import compiling
from discreet.models.sums import compared_items
from discreet.populations.population import NoPrivacy

RATINGS = dc.synthetic(users=40, items=30, ratings=420, seed=4)
SEEN = RATINGS.csr.toarray() > 0
VALUES = RATINGS.csr.toarray().astype(np.float64)

MODELS = {
    "cosine": dc.Cosine(neighbours=8),
    "cosine of item-centred ratings": dc.Cosine(neighbours=12, centre="item", presence=0.3, shrinkage=3, power=1),
    "plain cosine": dc.Cosine.plain(neighbours=10),
    "pearson": dc.Pearson(neighbours=8, shrinkage=5),
    "plain pearson": dc.Pearson.plain(neighbours=10),
}
RELEASES: dict[str, dc.Release] = {}
every_model = pytest.mark.parametrize("name", MODELS)


def released(name):
    if name not in RELEASES:
        RELEASES[name] = MODELS[name].fit(NoPrivacy(RATINGS))
    return RELEASES[name]


def biases(model, values=VALUES, seen=SEEN):
    mean = VALUES[SEEN].mean()
    counts = SEEN.sum(axis=0)
    item_bias = np.where(SEEN, VALUES - mean, 0).sum(axis=0) / np.maximum(counts + model.item_damping, 1e-9)
    base = mean + item_bias
    own = np.where(seen, values - base, 0).sum(axis=1) / np.maximum(seen.sum(axis=1) + model.user_damping, 1e-9)
    return base, own, np.where(seen, values - base - own[:, None], 0)


def slow_similarities(model):
    """Every pair of items by the formula, then each item's nearest."""
    base, own, _ = biases(model)
    taken = {"none": 0, "item": base, "user": base + own[:, None]}[model.centre]
    compared = VALUES - taken + getattr(model, "presence", 0)
    similar = np.zeros((30, 30))
    for i in range(30):
        for j in range(30):
            both = SEEN[:, i] & SEEN[:, j]
            left, right = compared[both, i], compared[both, j]
            if i == j or both.sum() == 0:
                continue
            if isinstance(model, dc.Cosine):
                similar[i, j] = left @ right / np.linalg.norm(np.where(SEEN, compared, 0)[:, i])
                similar[i, j] /= np.linalg.norm(np.where(SEEN, compared, 0)[:, j])
            elif both.sum() > 1 and np.ptp(left) > 1e-5 and np.ptp(right) > 1e-5:
                similar[i, j] = np.corrcoef(left, right)[0, 1]
            similar[i, j] *= both.sum() / (both.sum() + model.shrinkage)
    least = np.sort(similar, axis=1)[:, -model.neighbours, None]
    return np.where((similar >= least) & (similar > 0), similar, 0) ** model.power


def dense(release):
    """The released lists as a matrix."""
    matrix = np.zeros((30, 30))
    for item in range(30):
        for other, similarity in zip(
            release.arrays["neighbours"][item], release.arrays["similarities"][item], strict=True
        ):
            matrix[item, other] += similarity
    return matrix


@every_model
def test_similarities(name):
    found, expected = dense(released(name)), slow_similarities(MODELS[name])
    if "pearson" in name:  # pairs with two users in common tie: which of them fit is not what is tested here
        width = MODELS[name].neighbours
        found, expected = np.sort(found, axis=1)[:, -width:], np.sort(expected, axis=1)[:, -width:]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-5)


@every_model
def test_predictions(name):
    release, model = released(name), MODELS[name]
    base, own, residuals = biases(model)
    similar = dense(release)
    above, below = residuals @ similar.T, SEEN @ similar.T + model.damping
    expected = base + own[:, None] + np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    users, items = (grid.ravel() for grid in np.indices(SEEN.shape))
    order = np.random.default_rng(5).permutation(len(users))
    found = release.predict(RATINGS, users[order], items[order])
    np.testing.assert_allclose(found, np.clip(expected, 1, 5).ravel()[order], atol=2e-5)


@pytest.mark.parametrize("name", ["plain cosine", "plain pearson"])
def test_plain_forms_are_the_textbook_formula(name):
    """Item mean plus the weighted mean of deviations from the item means, where a neighbour was rated."""
    release, similar = released(name), dense(released(name))
    means = np.where(SEEN, VALUES, 0).sum(axis=0) / SEEN.sum(axis=0)
    users, items = (grid.ravel() for grid in np.indices((10, 30)))
    for user, item, found in zip(users, items, release.predict(RATINGS, users, items), strict=True):
        rated = [other for other in range(30) if SEEN[user, other] and similar[item, other] > 0]
        if rated:
            weights = similar[item, rated]
            expected = means[item] + weights @ (VALUES[user, rated] - means[rated]) / weights.sum()
            assert found == pytest.approx(np.clip(expected, 1, 5), abs=1e-4)


def test_without_neighbours_the_biases_stand_alone():
    catalogue = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5))
    users = RATINGS.users.of(["0", "1"], what="user")
    ratings = dc.Ratings.of_columns(catalogue, users, [0, 0, 1], [0, 1, 2], [5, 3, 2])
    for model in (dc.Cosine(), dc.Cosine.plain(), dc.Pearson(), dc.Pearson.plain()):
        release = model.fit(NoPrivacy(ratings))
        bias = dc.Bias(item_damping=model.item_damping, user_damping=model.user_damping).fit(NoPrivacy(ratings))
        np.testing.assert_allclose(release.predict(ratings, [0, 1], [2, 0]), bias.predict(ratings, [0, 1], [2, 0]))


@every_model
def test_scores(name):
    release, model = released(name), MODELS[name]
    similar = dense(release)
    weights = np.where(SEEN, 1 + biases(model)[2] / 4, 0)
    sums = np.maximum(similar.sum(axis=1), 1e-30)
    expected = np.sqrt(SEEN.sum(axis=0)) * (weights @ similar.T) / sums
    np.testing.assert_allclose(release.scores(RATINGS), expected, rtol=1e-4, atol=1e-5)


@every_model
@settings(max_examples=15)
@given(user=st.integers(0, 39), item=st.integers(0, 29))
def test_explanations_sum_to_the_score(name, user, item):
    release, history = released(name), RATINGS.history_at(user)
    terms = release.scorer().shares(history, item)
    assert terms.shape == (len(history),)
    assert terms.sum() == pytest.approx(release.score(history)[item], rel=1e-4, abs=1e-5)


@every_model
@settings(max_examples=15)
@given(users=st.sets(st.integers(0, 39), min_size=1).map(sorted), item=st.integers(0, 29))
def test_a_prediction_depends_on_the_release_and_the_own_history_alone(name, users, item):
    release = released(name)
    company, whole = RATINGS.select_users(users), np.array(users)
    places, items = np.arange(len(users)), np.full(len(users), item)
    for few in (-1, 10**9):  # by the kernels, and by numpy
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "FEW_USERS", few)
            predicted = release.predict(company, places, items)
            np.testing.assert_array_equal(predicted, release.predict(RATINGS, whole, items))
            np.testing.assert_array_equal(release.scores(company), release.scores(RATINGS)[whole])


@every_model
def test_blocks_do_not_change_the_release(name, monkeypatch):
    seen = []
    monkeypatch.setattr(compared_items, "BLOCK_CELLS", 1)
    monkeypatch.setattr(compared_items, "LEAST_ROWS", 7)
    small = MODELS[name].fit(NoPrivacy(RATINGS), lambda done, total, what: seen.append((done, total)))
    assert seen == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    for key, array in released(name).arrays.items():
        np.testing.assert_array_equal(small.arrays[key], array)


def test_more_neighbours_than_items():
    release = dc.Cosine(neighbours=500).fit(NoPrivacy(RATINGS))
    assert release.arrays["neighbours"].shape == (30, 29)


def test_an_empty_history_is_answered():
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=bool)).select_users([0])
    for name in MODELS:
        release = released(name)
        assert not release.scores(nobody).any()
        base = release.arrays["mean"] + release.arrays["item_bias"]
        np.testing.assert_allclose(release.predict(nobody, [0], [3])[0], base[3], rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ({"centre": "both"}, "centre must be 'none', 'item' or 'user', got 'both'"),
        ({"shrinkage": -1}, "shrinkage must not be negative, got -1"),
        ({"power": 0}, "power must be positive, got 0"),
        ({"damping": -0.1}, "damping must not be negative, got -0.1"),
        ({"item_damping": -1}, "item_damping must not be negative, got -1"),
        ({"user_damping": -1}, "user_damping must not be negative, got -1"),
    ],
)
def test_bad_settings_are_refused(values, message):
    for model in (dc.Cosine, dc.Pearson):
        with pytest.raises(InputError, match=message):
            model(**values)


def test_negative_presence_is_refused():
    with pytest.raises(InputError, match="presence must not be negative, got -1"):
        dc.Cosine(presence=-1)


def test_nothing_hides_a_sum_without_a_bound():
    """The products have no proven bound yet: whoever adds noise must refuse them."""
    compared = compared_items.Compared(np.zeros(30), "none", 0.0)
    assert compared_items.pair_sums(30, 0, 3, compared, 1).bounds == ()


def test_sums_are_additive_over_users():
    compared = compared_items.Compared(np.full(30, 3.0), "user", 2.0, 1.0)
    for asked in (compared_items.squares(30, compared), compared_items.pair_sums(30, 4, 5, compared, 6)):
        halves = [RATINGS.select_users(np.arange(17)), RATINGS.select_users(np.arange(17, 40))]
        np.testing.assert_allclose(sum(asked.total(half) for half in halves), asked.total(RATINGS), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "bar"),
    [
        (dc.Cosine(), 0.900),
        (dc.Cosine.plain(900), 0.943),
        (dc.Cosine.plain(100), 0.928),
        (dc.Pearson(), 0.915),
        (dc.Pearson.plain(900), 0.965),
    ],
    ids=["cosine", "plain cosine 900", "plain cosine 100", "pearson", "plain pearson 900"],
)
def test_error_on_movielens(ml_100k, model, bar):
    errors = []
    for train, test in ml_100k.folds(5, seed=1):
        predicted = replace(model).fit(NoPrivacy(train)).predict(train, test.user_index, test.item_index)
        errors.append(np.sqrt(np.mean((predicted.astype(np.float64) - test.values) ** 2)))
    assert np.mean(errors) <= bar
