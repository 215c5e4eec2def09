"""Patterns of who rates what as covariates of users' own regressions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.evaluation.measuring import measure
from discreet.models.home import user_regression
from discreet.models.home.user_regression import CONSTANTS, taste_covariates


def test_they_are_those_of_the_formula():
    rng = np.random.default_rng(1)
    counts, factors = rng.integers(1, 50, 30).astype(float), rng.normal(size=(30, 5)).astype(np.float32)
    factors[:7], factors[:, 4] = 0, 0  # items off the list, and a column in which nothing stood out
    found = taste_covariates(factors, counts)
    ratios = factors[7:, 1:4].astype(float) / np.abs(factors[7:, :1])
    share = counts[7:] / counts[7:].sum()
    centred = np.array([ratios[:, k] - sum(share * ratios[:, k]) for k in range(3)]).T
    deviation = np.sqrt(sum(share * centred[:, 0] ** 2))
    np.testing.assert_allclose(found[7:], np.clip(centred / deviation, -3, 3), rtol=1e-5, atol=1e-6)
    assert found.shape == (30, 3) and not found[:7].any()


def test_popularity_alone_says_nothing_of_ratings():
    counts = np.arange(1.0, 11.0)
    for factors in (np.zeros((10, 4)), np.ones((10, 1)), np.pad(np.ones((10, 1)), ((0, 0), (0, 3)))):
        assert taste_covariates(factors.astype(np.float32), counts).shape == (10, 0)
    assert taste_covariates(np.ones((10, 3), dtype=np.float32), np.zeros(10)).shape == (10, 0)


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter_and_values_are_bounded(seed, of_factors, of_counts):
    rng = np.random.default_rng(seed)
    counts, factors = rng.gamma(1.0, size=20), rng.normal(size=(20, 30)) * rng.integers(0, 2, (20, 1))
    factors[:, 0] *= rng.integers(0, 2, 20)  # popularity may be 0
    found = taste_covariates(factors.astype(np.float32), counts)
    assert found.shape[1] <= CONSTANTS.most and np.isfinite(found).all() and (np.abs(found) <= CONSTANTS.furthest).all()
    scaled = taste_covariates((of_factors * factors).astype(np.float32), of_counts * counts)
    np.testing.assert_allclose(scaled, found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("population", ["exact", "private"])
def test_who_rates_what_tells_of_ratings(population, monkeypatch):
    """Two kinds of people each rate, and like, one half of the items. Seeded noise."""
    rng = np.random.default_rng(3)
    kind, rated = rng.integers(0, 2, 800), rng.random((800, 60))
    likes = kind[:, None] == (np.arange(60) % 2)[None]
    user, item = np.nonzero(rated < np.where(likes, 0.4, 0.15))
    values = np.clip(np.round(3 + 0.6 * np.where(likes[user, item], 1, -1) + rng.normal(0, 0.8, len(user))), 1, 5)
    catalogue = dc.Catalogue.of([f"item {number}" for number in range(60)], dc.Scale(1, 5), declared=True)
    names = type(dc.synthetic(users=2, items=2, ratings=2, seed=1).users).of(
        [f"u{number}" for number in range(800)], "user"
    )
    ratings = dc.Ratings.of_columns(
        catalogue, names, user.astype(np.int32), item.astype(np.int32), values.astype(np.float32)
    )
    train, test = ratings.split(0.2, seed=1)
    asked = dc.NoPrivacy(train)
    if population == "private":
        asked = dc.TrustedServer(train, dc.Ledger(8.0, 1e-6, dc.Rating()), randomness=dc.Randomness(1))
    release = dc.Almanac().fit(asked)
    arrays = dict(release.arrays) | {"item_factors": np.zeros_like(release.arrays["item_factors"])}
    release = replace(release, arrays=arrays)  # so that nothing else knows who likes what

    def error():
        return measure(release, train, test, None, ["rmse"]).estimates["rmse"].mean

    known = error()
    monkeypatch.setattr(user_regression, "CONSTANTS", replace(user_regression.CONSTANTS, taste_weight=0.0))
    release = replace(release, arrays=dict(arrays))
    assert known < error() - 0.01
