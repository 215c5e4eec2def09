"""Sums over pairs of items, similarities and what neighbours say, each beside its slow definition."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.kernels.gram import MOMENTS, PRODUCTS, PRODUCTS_AND_COUNTS, gram_rows
from discreet.kernels.neighbours import cosine_rows, nearest, neighbour_means, pearson_rows, similar_sums

RATINGS = dc.synthetic(users=40, items=25, ratings=300, seed=1)
SEEN = RATINGS.csr.toarray() > 0
VALUES = np.where(SEEN, RATINGS.csr.toarray(), 0).astype(np.float64)


def sums(statistics, first=0, rows=25):
    columns = RATINGS.by_item
    by_item = columns.indptr, columns.users, columns.values
    return gram_rows(first, rows, by_item, (RATINGS.indptr, RATINGS.item_index, RATINGS.values.copy()), statistics)


def test_sums_of_pairs():
    own, other = SEEN.astype(float), VALUES
    expected = [other.T @ other, own.T @ own, other.T @ own, own.T @ other, (other**2).T @ own, own.T @ other**2]
    np.testing.assert_allclose(np.moveaxis(sums(MOMENTS), 2, 0), expected)
    np.testing.assert_array_equal(sums(PRODUCTS)[:, :, 0], sums(MOMENTS)[:, :, 0])
    np.testing.assert_array_equal(sums(PRODUCTS_AND_COUNTS), sums(MOMENTS)[:, :, :2])


@pytest.mark.parametrize("rows", [1, 7, 24])
@pytest.mark.parametrize("statistics", [PRODUCTS, PRODUCTS_AND_COUNTS, MOMENTS])
def test_blocks_do_not_change_the_sums(rows, statistics):
    blocks = [sums(statistics, first, min(rows, 25 - first)) for first in range(0, 25, rows)]
    np.testing.assert_array_equal(np.concatenate(blocks), sums(statistics))


def test_threads_do_not_change_the_sums():
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = sums(MOMENTS)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, sums(MOMENTS))


@pytest.mark.parametrize("shrinkage", [0.0, 4.0])
def test_cosine(shrinkage):
    norms = np.sqrt((VALUES**2).sum(axis=0))
    counts = SEEN.T.astype(float) @ SEEN
    expected = VALUES.T @ VALUES / np.maximum(np.outer(norms, norms), 1) * counts / np.maximum(counts + shrinkage, 1)
    np.fill_diagonal(expected, 0)
    similarities = cosine_rows(sums(PRODUCTS_AND_COUNTS), 0, norms, shrinkage)
    np.testing.assert_allclose(similarities, expected, rtol=1e-6)
    np.testing.assert_array_equal(similarities, similarities.T)
    np.testing.assert_array_equal(cosine_rows(sums(PRODUCTS_AND_COUNTS, 5, 3), 5, norms, shrinkage), similarities[5:8])


@pytest.mark.parametrize("shrinkage", [0.0, 4.0])
def test_pearson(shrinkage):
    expected = np.zeros((25, 25))
    for i, j in zip(*np.triu_indices(25, 1), strict=True):
        both = SEEN[:, i] & SEEN[:, j]
        left, right = VALUES[both, i], VALUES[both, j]
        if both.sum() > 1 and np.ptp(left) > 0 and np.ptp(right) > 0:
            expected[i, j] = np.corrcoef(left, right)[0, 1] * both.sum() / (both.sum() + shrinkage)
            expected[j, i] = expected[i, j]
    assert (expected != 0).sum() > 100
    similarities = pearson_rows(sums(MOMENTS), 0, shrinkage)
    np.testing.assert_allclose(similarities, expected, atol=1e-6)
    np.testing.assert_array_equal(similarities, similarities.T)
    np.testing.assert_array_equal(pearson_rows(sums(MOMENTS, 5, 3), 5, shrinkage), similarities[5:8])


def test_an_item_that_nobody_rated_resembles_nothing():
    assert not cosine_rows(np.zeros((2, 2, 1)), 0, np.zeros(2), 0.0).any()
    assert not pearson_rows(np.zeros((2, 2, 6)), 0, 0.0).any()


@given(
    st.lists(st.sampled_from([-0.5, 0.0, 1e-30, 0.1, 0.1000001, 0.2, 0.9, 1.0]), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_nearest_are_the_largest_positive(row, width):
    values = np.array(row, dtype=np.float32)
    best = [item for item in np.argsort(-values, kind="stable") if values[item] > 0][:width]
    items, kept = nearest(values[None, :], width)
    expected = sorted(best)
    assert items[0, : len(best)].tolist() == expected
    np.testing.assert_array_equal(kept[0], np.append(values[expected], np.zeros(width - len(best))))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_nearest_of_many(seed, width):
    rows = np.random.default_rng(seed).normal(size=(2, 700)).astype(np.float32) ** 3
    items, kept = nearest(rows, width)
    for row, chosen, similarities in zip(rows, items, kept, strict=True):
        positive = np.sort(row[row > 0])[::-1][:width]
        np.testing.assert_array_equal(np.sort(similarities)[::-1][: len(positive)], positive)
        np.testing.assert_array_equal(row[chosen[: len(positive)]], similarities[: len(positive)])


def a_release(rng, items=25, width=6):
    """Neighbour lists as ``nearest`` makes them, the last rows not filled."""
    dense = np.where(rng.random((items, items)) < 0.5, rng.random((items, items)), 0).astype(np.float32)
    np.fill_diagonal(dense, 0)
    dense[-3:, 2:] = 0
    dense[-1] = 0
    neighbours, similarities = nearest(dense, width)
    kept = np.zeros_like(dense)
    np.put_along_axis(kept, neighbours, similarities, axis=1)
    kept[:, 0] = np.where((neighbours == 0) & (similarities > 0), similarities, 0).sum(axis=1)
    return neighbours, similarities, kept


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_means_of_neighbours(damping):
    rng = np.random.default_rng(2)
    neighbours, similarities, dense = a_release(rng)
    residuals = rng.normal(size=len(RATINGS)).astype(np.float32)
    spread = np.zeros(SEEN.shape)
    spread[RATINGS.user_index, RATINGS.item_index] = residuals
    users, items = (grid.ravel().astype(np.int32) for grid in np.indices(SEEN.shape))
    for chosen in (np.arange(len(users)), np.sort(rng.choice(len(users), 90)), np.arange(1), np.arange(0)):
        asked = users[chosen], items[chosen], RATINGS.indptr, RATINGS.item_index, residuals
        means = neighbour_means(asked, neighbours, similarities, damping)
        above, below = spread @ dense.T, SEEN @ dense.T + damping
        expected = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
        np.testing.assert_allclose(means, expected[users[chosen], items[chosen]], atol=1e-5)


def test_sums_over_similar_items():
    rng = np.random.default_rng(3)
    _, _, dense = a_release(rng)
    weights = rng.normal(size=len(RATINGS)).astype(np.float32)
    spread = np.zeros(SEEN.shape)
    spread[RATINGS.user_index, RATINGS.item_index] = weights
    rows, similar = np.nonzero(dense.T)
    starts = np.searchsorted(rows, np.arange(26)).astype(np.int64)
    found = similar_sums(
        RATINGS.indptr, RATINGS.item_index, weights, starts, similar.astype(np.int32), dense.T[rows, similar]
    )
    np.testing.assert_allclose(found, spread @ dense.T, atol=1e-5)
