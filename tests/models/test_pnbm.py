"""PNBM: what its start is, that it learns, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError
from discreet.kernels import compiling
from discreet.models import pnbm
from discreet.populations.population import NoPrivacy

RATINGS = dc.synthetic(users=60, items=30, ratings=700, seed=6)
SEEN = RATINGS.csr.toarray() > 0
VALUES = RATINGS.csr.toarray().astype(np.float64)
PLAIN = {"item_damping": 0, "user_damping": 0, "floor": 0}


def error(release, ratings=RATINGS, test=RATINGS):
    predicted = release.predict(ratings, test.user_index, test.item_index).astype(np.float64)
    return np.sqrt(np.mean((predicted - test.values) ** 2))


def test_constant_similarity_is_item_mean_plus_mean_deviation():
    release = dc.PNBM(start="constant", centre="item", epochs=0, **PLAIN).fit(NoPrivacy(RATINGS))
    means = np.where(SEEN, VALUES, 0).sum(axis=0) / SEEN.sum(axis=0)
    deviations = np.where(SEEN, VALUES - means, 0)
    for user, item in np.ndindex(10, 30):
        others = SEEN[user] & (np.arange(30) != item)
        expected = means[item] + deviations[user, others].mean()
        assert release.predict(RATINGS, [user], [item])[0] == pytest.approx(np.clip(expected, 1, 5), abs=1e-5)


def test_cosine_start_is_the_cosine_with_rows_of_mean_one():
    start = dc.PNBM(epochs=0).fit(NoPrivacy(RATINGS)).arrays["similarities"]
    like = dc.Cosine(neighbours=29).fit(NoPrivacy(RATINGS))
    expected = np.zeros((30, 30))
    for item in range(30):
        np.add.at(expected[item], like.arrays["neighbours"][item], like.arrays["similarities"][item])
    expected *= 30 / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(start, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("start", ["constant", "cosine"])
@pytest.mark.parametrize("centre", ["item", "user"])
def test_learning_lowers_the_training_error(start, centre):
    errors = [
        error(dc.PNBM(start=start, centre=centre, epochs=epochs, step=0.5, pull=0).fit(NoPrivacy(RATINGS)))
        for epochs in (0, 1, 2, 8)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] - 1e-3


def test_one_step_is_the_formula():
    model = dc.PNBM(start="constant", centre="item", epochs=2, step=0.7, pull=0.2, floor=3)
    start, one, two = (
        dc.PNBM(start="constant", centre="item", epochs=epochs, step=0.7, pull=0.2, floor=3)
        .fit(NoPrivacy(RATINGS))
        .arrays["similarities"]
        .astype(np.float64)
        for epochs in (0, 1, 2)
    )
    base = dc.Bias(item_damping=model.item_damping).fit(NoPrivacy(RATINGS)).arrays
    deviations = np.where(SEEN, VALUES - base["mean"] - base["item_bias"], 0)

    def slope(similarities):
        below = SEEN @ np.abs(similarities.T)
        divisor = np.maximum(below, 3)
        mean = deviations @ similarities.T / divisor
        pulls = np.where(SEEN, (mean - deviations) / divisor, 0)
        inner = pulls.T @ deviations - np.sign(similarities) * ((pulls * mean * (below >= 3)).T @ SEEN)
        np.fill_diagonal(inner, 0)
        return inner

    np.testing.assert_allclose(one, start - 0.7 * slope(start), atol=1e-4)
    np.testing.assert_allclose(two, one - 0.7 * (slope(one) + 0.2 * (one - start)), atol=1e-4)


def test_only_the_nearest_are_kept():
    everything = dc.PNBM().fit(NoPrivacy(RATINGS)).arrays["similarities"]
    few = dc.PNBM(neighbours=5).fit(NoPrivacy(RATINGS)).arrays
    assert few["neighbours"].shape == few["similarities"].shape == (30, 5)
    spread = np.zeros_like(everything)
    np.put_along_axis(spread, few["neighbours"], few["similarities"], axis=1)
    least = np.sort(everything, axis=1)[:, -5, None]
    np.testing.assert_array_equal(spread, np.where(everything >= least, everything, 0))


@settings(max_examples=20)
@given(user=st.integers(0, 59), item=st.integers(0, 29), start=st.sampled_from(["constant", "cosine"]))
def test_explanations_sum_to_the_score(user, item, start):
    release, history = released(start), RATINGS.history_at(user)
    terms = release.scorer().shares(history, item)
    assert terms.sum() == pytest.approx(release.score(history)[item], rel=1e-4, abs=1e-5)


@settings(max_examples=20)
@given(users=st.sets(st.integers(0, 59), min_size=1).map(sorted), item=st.integers(0, 29))
def test_a_prediction_depends_on_the_release_and_the_own_history_alone(users, item):
    release = released("cosine")
    company, whole = RATINGS.select_users(users), np.array(users)
    places, items = np.arange(len(users)), np.full(len(users), item)
    for few in (-1, 10**9):  # by the kernels, and by numpy
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "FEW_USERS", few)
            predicted = release.predict(company, places, items)
            np.testing.assert_array_equal(predicted, release.predict(RATINGS, whole, items))


RELEASES: dict[str, dc.Release] = {}


def released(start):
    if start not in RELEASES:
        RELEASES[start] = dc.PNBM(start=start).fit(NoPrivacy(RATINGS))
    return RELEASES[start]


@pytest.mark.parametrize("centre", ["item", "user"])
def test_an_empty_history_gets_the_item_means(centre):
    release = dc.PNBM(centre=centre, epochs=1).fit(NoPrivacy(RATINGS))
    nobody = RATINGS.select(np.zeros(len(RATINGS), dtype=bool)).select_users([0])
    expected = release.arrays["mean"] + release.arrays["item_bias"]
    np.testing.assert_allclose(release.predict(nobody, np.zeros(30, int), np.arange(30)), expected, rtol=1e-6)


def test_too_many_items_are_refused(monkeypatch):
    monkeypatch.setattr(pnbm, "MOST_ITEMS", 29)
    with pytest.raises(InputError, match="takes at most 29 items, the catalogue lists 30; Cosine takes any number"):
        dc.PNBM().fit(NoPrivacy(RATINGS))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"start": "random"}, "start must be 'constant' or 'cosine', got 'random'"),
        ({"centre": "none"}, "centre must be 'item' or 'user', got 'none'"),
        ({"epochs": -1}, "epochs must not be negative, got -1"),
        ({"step": 0}, "step must be positive, got 0"),
        ({"pull": -1}, "pull must not be negative, got -1"),
        ({"floor": -1}, "floor must not be negative, got -1"),
        ({"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ({"item_damping": -1}, "item_damping must not be negative, got -1"),
        ({"user_damping": -1}, "user_damping must not be negative, got -1"),
    ],
)
def test_bad_settings_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        dc.PNBM(**values)


@pytest.mark.parametrize(
    ("model", "low", "high"),
    [
        (dc.PNBM(start="constant", centre="item", epochs=0, **PLAIN), 0.940, 0.956),
        (dc.PNBM(start="constant", centre="item"), 0.9, 0.937),
        (dc.PNBM(), 0.85, 0.905),
    ],
    ids=["constant", "from a constant", "from the cosine"],
)
def test_error_on_movielens(ml_100k, model, low, high):
    errors = [error(model.fit(NoPrivacy(train)), train, test) for train, test in ml_100k.folds(5, seed=1)]
    assert low <= np.mean(errors) <= high
