"""Features that tell nothing of who rates what are not trusted; those that do are."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.models.almanac.pairs import CONSTANTS, tighter_prior

NAMES = Labels.of([str(user) for user in range(1500)], what="user")


def drawn(users, items, each, variance, seed=1):
    """Who rates what, by popularity and by tastes of this variance for random features: co-occurrence, and features."""
    rng = np.random.default_rng(seed)
    features = (rng.random((items, 4)) < 0.3).astype(np.float32)
    popular = np.log(1 / np.arange(1, items + 1) ** 0.5)
    scores = popular + rng.normal(0, np.sqrt(variance), (users, 4)) @ features.T + rng.gumbel(size=(users, items))
    rated = np.zeros((users, items))
    np.put_along_axis(rated, np.argsort(-scores, axis=1)[:, :each], 1.0, axis=1)
    return rated, features


def of(rated, features, noise=0.0, seed=2):
    weights = rated.T @ rated
    upper = np.triu(np.random.default_rng(seed).normal(0, noise, weights.shape), 1)
    return tighter_prior(weights + upper + upper.T, noise, 1.0, rated.sum(axis=0), features)


@pytest.mark.parametrize("variance", [0.3, 0.6, 1.0])
def test_tastes_that_differ_leave_the_prior_as_it_is(variance):
    rated, features = drawn(2000, 150, 10, variance)
    assert of(rated, features) == 1 and of(rated, features, noise=5.0) == 1


def test_without_tastes_it_is_tight_as_far_as_noise_lets_one_see():
    rated, features = drawn(2000, 150, 10, 0.0)
    clear, noisy, hidden = (of(rated, features, noise) for noise in (0.0, 5.0, 500.0))
    assert clear > 5 and clear >= noisy >= hidden == 1


def test_weaker_tastes_give_a_prior_in_between():
    rated, features = drawn(8000, 150, 10, 0.05)
    assert 1.5 < of(rated, features) < CONSTANTS.least_variance / 0.03


def test_nobody_and_features_that_are_all_alike_change_nothing():
    features = np.ones((5, 2), dtype=np.float32)
    assert tighter_prior(np.zeros((5, 5)), 1.0, 1.0, np.zeros(5), features) == 1
    assert tighter_prior(np.ones((5, 5)), 1.0, 1.0, np.ones(5), features) == 1


def test_random_features_cost_a_ranking_next_to_nothing():
    """Popularity is all that can be learned; with a usual prior the ranking lost .01 NDCG@100 and more."""
    rated, features = drawn(1500, 100, 12, 0.0)
    users, items = np.nonzero(rated)
    values = np.random.default_rng(3).integers(1, 6, len(users)).astype(np.float64)
    plain = dc.Catalogue.of([str(item) for item in range(100)], dc.Scale(1, 5), declared=True)
    known = replace(plain, genres=("a", "b", "c", "d"), item_genres=features.astype(bool))
    found = {}
    for name, catalogue in (("without", plain), ("with", known)):
        ratings = dc.Ratings.of_columns(catalogue, NAMES, users, items, values)
        train, test = ratings.split(test=0.3, seed=1)
        release = dc.Almanac(purpose="ranking").fit(dc.NoPrivacy(train))
        found[name] = dc.evaluate(release, train, test, metrics=["ndcg@100"]).rows[0].metrics["ndcg@100"].mean
    assert found["with"] > found["without"] - 0.004


def test_a_release_holds_features_as_tightly_as_it_says():
    ratings = dc.synthetic(users=300, items=60, ratings=6000, seed=1)
    release = dc.Almanac().fit(dc.NoPrivacy(ratings))
    assert release.arrays["feature_precision"].tolist() == [1.0]
    arrays = dict(release.arrays) | {"feature_precision": np.array([16.0], dtype=np.float32)}
    tight = replace(release, arrays=arrays)
    usual, held = (one.model.prepare(one).ranking for one in (release, tight))
    columns = usual.covariates.shape[1] - 2  # the last two are popularity and how well items are liked
    assert held.covariates[:, :columns] == pytest.approx(usual.covariates[:, :columns] / 4)
    assert held.covariates[:, columns:] == pytest.approx(usual.covariates[:, columns:])
