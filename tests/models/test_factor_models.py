"""Edges that all factor and linear models share."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.labels import Labels
from discreet.releases.contract import needs_raw_ratings

MODELS = [
    dc.MF(factors=3, epochs=3),
    dc.MF(factors=3, epochs=3, regularisation=0.0),
    dc.models.PMF(factors=3, steps=5),
    dc.ALS(factors=3, sweeps=2),
    dc.ALS(factors=3, sweeps=2, biased=False, regularisation=1e-9),
    dc.ImplicitALS(factors=3, sweeps=2),
    dc.BayesianMF(factors=3, sweeps=3),
    dc.EASE(regularisation=1.0),
    dc.SVD(factors=3),
    dc.WARP(factors=3, epochs=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@settings(max_examples=25)
@given(users=st.integers(1, 6), items=st.integers(1, 7), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_any_shape_gives_finite_scores(model, users, items, share, seed):
    """One user, one item, users and items without ratings, or nothing at all."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((users, items)) < share)
    catalogue = dc.Catalogue.of([str(n) for n in range(items)], dc.Scale(1, 5))
    labels = Labels.of([str(n) for n in range(users)], what="user")
    ratings = dc.Ratings.of_columns(catalogue, labels, user, item, rng.integers(1, 6, len(user)))
    release = model.fit(ratings if needs_raw_ratings(model) else dc.NoPrivacy(ratings))
    for array in release.arrays.values():
        assert np.isfinite(array).all()
    scores = release.scores(ratings)
    assert scores.shape == (users, items)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    if release.predicts_ratings:
        predicted = release.predict(ratings, np.zeros(items, int), np.arange(items))
        np.testing.assert_allclose(predicted, np.clip(scores[0], 1, 5), rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="there is one thread only")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_threads_change_nothing(model):
    ratings = dc.synthetic(users=60, items=40, ratings=1000, seed=3)
    before, outcomes = numba.get_num_threads(), []
    for threads in (before, 1):
        numba.set_num_threads(threads)
        try:
            release = model.fit(ratings if needs_raw_ratings(model) else dc.NoPrivacy(ratings))
            outcomes.append([*release.arrays.values(), release.scores(ratings)])
        finally:
            numba.set_num_threads(before)
    for many, one in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(many, one)
