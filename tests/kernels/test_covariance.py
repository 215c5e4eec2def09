"""Weighted sums over pairs of items against dense products, and neighbours against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import get_num_threads, set_num_threads

from discreet.errors import InputError
from discreet.kernels import covariance
from discreet.kernels.covariance import diagonal_places, packed_length, unpacked, weighted_moments
from discreet.kernels.covariance_torch import packed_by_torch, torch_moments, whole_moments_by_torch
from discreet.kernels.ridge_knn import interpolated, listed_means


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


@pytest.mark.parametrize(
    ("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-5), ("split", 5e-5), ("bfloat16", 0.02)]
)
def test_torch_sums_the_same(precision, tolerance, monkeypatch):
    pytest.importorskip("torch")
    from discreet.kernels import covariance_torch

    monkeypatch.setattr(covariance_torch, "BLOCK_CELLS", 400)  # several blocks
    columns, _, _ = some_ratings(50, 23, 4)
    sums = packed_by_torch(torch_moments(*columns, 23, device="cpu", precision=precision))
    expected = weighted_moments(*columns, 23)
    np.testing.assert_allclose(sums, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("largest", [(4, 31), (10, 19)])
def test_whole_numbers_come_out_of_torch_to_the_last_digit(largest, monkeypatch):
    """The largest values and weights that pair sums have, in more blocks than one, on top of sums so far."""
    pytest.importorskip("torch")
    from discreet.kernels import covariance_torch

    monkeypatch.setattr(covariance_torch, "EXACT_USERS", 20)
    monkeypatch.setattr(covariance_torch, "BLOCK_CELLS", 400)
    (indptr, items, values, weights), _, _ = some_ratings(70, 23, 4)
    whole = np.clip(values * 2.0 ** largest[0], -(2 ** largest[0]), 2 ** largest[0]).astype(np.int16)
    whole_weights = (weights * 2.0 ** largest[1]).astype(np.int64)
    before = np.arange(2 * packed_length(23), dtype=np.int64).reshape(2, -1)
    expected = weighted_moments(indptr, items, whole, whole_weights, 23, out=before.copy())
    found = whole_moments_by_torch(indptr, items, whole, whole_weights, 23, out=before.copy(), device="cpu")
    np.testing.assert_array_equal(found, expected)


def test_says_when_torch_is_missing():
    try:
        import torch  # noqa: F401
    except ImportError:
        columns, _, _ = some_ratings(5, 4, 5)
        with pytest.raises(InputError, match="torch, which is not installed"):
            torch_moments(*columns, 4)
    else:
        pytest.skip("torch is here")


# ── Neighbours ──


def world(seed):
    """Users by items, residuals, and every pair as a question."""
    (indptr, rated, residuals, _), dense, marks = some_ratings(12, 15, seed, density=0.9)
    users, items = (index.ravel().astype(np.int32) for index in np.indices((12, 15)))
    return indptr, rated, residuals, dense, marks, users, items


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_listed_means_by_loops(k, damping):
    indptr, rated, residuals, dense, marks, users, items = world(7)
    rng = np.random.default_rng(8)
    neighbours = np.sort([rng.permutation(15)[:6] for _ in range(15)], axis=1).astype(np.int32)
    similarities = np.maximum(rng.normal(size=(15, 6)), 0).astype(np.float32)
    found = listed_means(users, items, indptr, rated, residuals, neighbours, similarities, k, damping)
    for user, item, mean in zip(users, items, found, strict=True):
        near = [
            (similarity, dense[user, other])
            for other, similarity in zip(neighbours[item], similarities[item], strict=True)
            if similarity > 0 and marks[user, other] and other != item
        ]
        near = sorted(near, key=lambda pair: -pair[0])[:k]
        expected = sum(s * x for s, x in near) / (sum(s for s, _ in near) + damping) if near else 0
        assert mean == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("k", [1, 4, 20])
def test_interpolation_is_the_ridge_solution(k):
    indptr, rated, residuals, dense, marks, users, items = world(9)
    factors = np.random.default_rng(10).normal(size=(13, 3))
    covariance_matrix = (factors @ factors.T).astype(np.float32)
    positions = np.full(15, -1, dtype=np.int32)  # two items take no part
    positions[np.delete(np.arange(15), [3, 8])] = np.arange(13)
    found = interpolated(users, items, indptr, rated, residuals, positions, covariance_matrix, k, 0.7)
    for user, item, mean in zip(users, items, found, strict=True):
        near = []
        if positions[item] >= 0:
            row = covariance_matrix[positions[item]]
            for other in np.flatnonzero(marks[user]):
                at = positions[other]
                if at >= 0 and other != item and row[at] > 0:
                    near.append((row[at] / np.sqrt(covariance_matrix[at, at] + 0.7), other))
        chosen = [other for _, other in sorted(near, key=lambda pair: -pair[0])[:k]]
        expected = 0.0
        if chosen:
            at = positions[chosen]
            gram = covariance_matrix[np.ix_(at, at)] + 0.7 * np.eye(len(at))
            expected = np.linalg.solve(gram, covariance_matrix[at, positions[item]]) @ dense[user, chosen]
        assert mean == pytest.approx(expected, rel=1e-3, abs=1e-3)
