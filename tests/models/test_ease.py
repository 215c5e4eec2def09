import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.kernels.weights_of_others import weights_by_torch
from discreet.models import ease, svd

RATINGS = dc.synthetic(users=80, items=40, ratings=1500, seed=5)


def dense(ratings):
    matrix = np.zeros((ratings.n_users, ratings.n_items))
    matrix[ratings.user_index, ratings.item_index] = 1
    return matrix


def test_weights_are_ridge_regression_on_all_other_items():
    release = dc.EASE(regularisation=20).fit(dc.NoPrivacy(RATINGS))
    weights, x = release.arrays["weights"], dense(RATINGS)
    assert weights.dtype == np.float32
    assert not np.diag(weights).any()
    for item in range(0, 40, 7):
        others = np.delete(np.arange(40), item)
        left = x[:, others].T @ x[:, others] + 20 * np.eye(39)
        expected = np.linalg.solve(left, x[:, others].T @ x[:, item])
        np.testing.assert_allclose(weights[others, item], expected, rtol=1e-3, atol=1e-5)


def test_scores_are_sums_that_explain_themselves():
    release = dc.EASE().fit(dc.NoPrivacy(RATINGS))
    np.testing.assert_allclose(
        release.scores(RATINGS), dense(RATINGS) @ release.arrays["weights"], rtol=1e-4, atol=1e-6
    )
    history = RATINGS.history_at(2)
    reasons = release.model.explain(release, history, 5)
    assert reasons.shape == (len(history),)
    assert reasons.sum() == pytest.approx(release.score(history)[5], rel=1e-4)


@pytest.mark.parametrize("kind", [dc.EASE, dc.SVD])
def test_a_catalogue_that_is_too_large_is_refused(monkeypatch, kind):
    monkeypatch.setattr(ease, "MOST_ITEMS", 10)
    monkeypatch.setattr(svd, "MOST_ITEMS", 10)
    with pytest.raises(InputError, match="at most 10"):
        kind().fit(dc.NoPrivacy(RATINGS))


def test_pair_counts_add_up():
    asked = ease.pair_counts(40)
    np.testing.assert_array_equal(asked.total(RATINGS), dense(RATINGS).T @ dense(RATINGS))


def test_torch_finds_the_same_weights():
    pytest.importorskip("torch")
    gram = dense(RATINGS).T @ dense(RATINGS)
    wanted = ease.weights_of_others(gram, 20.0)
    np.testing.assert_allclose(weights_by_torch(gram, 20.0, "cpu"), wanted, rtol=1e-5, atol=1e-7)
    with pytest.raises(InputError, match="positive definite"):
        weights_by_torch(-10 * np.eye(3), 1.0, "cpu")


def test_settings_are_checked():
    with pytest.raises(InputError, match="regularisation"):
        dc.EASE(regularisation=0)
    with pytest.raises(InputError, match="positive definite"):
        ease.weights_of_others(-10 * np.eye(3), 1.0)


def ranking(release, train, validation, test):
    """NDCG@100 of the test items, train and validation items masked."""
    scores = release.scores(train).astype(np.float64)
    for seen in (train, validation):
        scores[seen.user_index, seen.item_index] = -np.inf
    held_out = dense(test)
    top = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    gains = 1 / np.log2(np.arange(2, 102))
    found = (np.take_along_axis(held_out, top, axis=1) * gains).sum(axis=1)
    counts = held_out.sum(axis=1).astype(int)
    best = np.concatenate([[0], np.cumsum(gains)])[np.minimum(counts, 100)]
    return (found[counts > 0] / best[counts > 0]).mean()


@pytest.mark.parametrize(
    ("model", "least"), [(dc.EASE(), 0.44), (dc.ImplicitALS(), 0.44), (dc.SVD(), 0.42), (dc.WARP(epochs=15), 0.41)]
)
def test_ranking_on_movielens(ml_100k, model, least):
    parts = ml_100k.split_each_user((0.8, 0.1, 0.1), seed=7)
    train = parts[0]
    release = model.fit(train if getattr(model, "raw_ratings", False) else dc.NoPrivacy(train))
    assert ranking(release, *parts) > least
