"""Weighted sums over pairs of items against dense products, and neighbours against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import get_num_threads, set_num_threads

from discreet.kernels import covariance
from discreet.kernels.covariance import diagonal_places, packed_length, unpacked, weighted_moments


def some_ratings(users, items, seed, density=0.4):
    """``(indptr, items, values, weights)`` of random users, some of them without a rating, and the dense matrices."""
    rng = np.random.default_rng(seed)
    marks = rng.random((users, items)) < density * rng.random((users, 1))
    dense = np.where(marks, rng.normal(size=(users, items)), 0).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(marks.sum(axis=1))]).astype(np.int64)
    user, item = np.nonzero(marks)
    weights = rng.random(users)
    return (
        (indptr, item.astype(np.int32), dense[user, item], weights),
        dense.astype(np.float64),
        marks.astype(np.float64),
    )


def dense_moments(dense, marks, weights):
    upper = np.triu_indices(dense.shape[1])
    return np.stack([((values * weights[:, None]).T @ values)[upper] for values in (dense, marks)])


@settings(max_examples=30)
@given(users=st.integers(0, 30), items=st.integers(1, 90), seed=st.integers(0, 1000))
def test_sums_are_the_dense_products(users, items, seed):
    columns, dense, marks = some_ratings(users, items, seed)
    sums = weighted_moments(*columns, items)
    assert sums.shape == (2, packed_length(items))
    np.testing.assert_allclose(sums, dense_moments(dense, marks, columns[3]), rtol=1e-12, atol=1e-12)


def test_unpacks_to_a_symmetric_matrix():
    columns, dense, _ = some_ratings(40, 20, 1)
    packed = weighted_moments(*columns, 20)
    matrix = unpacked(packed[0], 20)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, (dense * columns[3][:, None]).T @ dense, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.diag(matrix), packed[0][diagonal_places(20)], rtol=1e-6)


def test_blocks_from_a_stream_add_up(monkeypatch):
    """Users that come block by block, and small blocks."""
    (indptr, items, values, weights), _, _ = some_ratings(60, 30, 2)
    whole = weighted_moments(indptr, items, values, weights, 30)
    streamed = np.zeros_like(whole)
    for first in range(0, 60, 7):
        last = min(first + 7, 60)
        rows = slice(indptr[first], indptr[last])
        own = indptr[first : last + 1] - indptr[first]
        weighted_moments(own, items[rows], values[rows], weights[first:last], 30, out=streamed)
    np.testing.assert_allclose(streamed, whole, rtol=1e-12, atol=1e-14)
    monkeypatch.setattr(covariance, "BLOCK", 5)
    np.testing.assert_allclose(weighted_moments(indptr, items, values, weights, 30), whole, rtol=1e-12, atol=1e-14)


def test_single_precision_is_only_the_result():
    """A large sum of small numbers: a float32 accumulator would lose one in a thousand."""
    users = 200_000
    indptr, items = np.arange(users + 1, dtype=np.int64), np.zeros(users, dtype=np.int32)
    values = np.full(users, 0.1, dtype=np.float32)
    sums = weighted_moments(indptr, items, values, np.ones(users), 1, dtype=np.float32)
    assert sums.dtype == np.float32
    assert sums[0, 0] == pytest.approx(users * float(np.float32(0.1)) ** 2, rel=1e-6)


def test_whole_numbers_are_summed_exactly():
    """Sums that doubles could not hold: 2**60 and a few ones, in any order."""
    users, order = 64, np.random.default_rng(1).permutation(64)
    indptr, items = np.arange(users + 1, dtype=np.int64), np.zeros(users, dtype=np.int32)
    values = np.ones(users, dtype=np.int16)
    weights = np.where(np.arange(users) % 2, 1, 1 << 55)
    for own in (weights, weights[order]):
        sums = weighted_moments(indptr, items, values, own, 1)
        assert sums.dtype == np.int64 and sums[0, 0] == sums[1, 0] == (32 << 55) + 32


def test_threads_change_nothing():
    columns, _, _ = some_ratings(300, 200, 3)
    threads = get_num_threads()
    whole = weighted_moments(*columns, 200)
    try:
        set_num_threads(1)
        np.testing.assert_array_equal(weighted_moments(*columns, 200), whole)
    finally:
        set_num_threads(threads)
