"""The gradient of learned similarities against finite differences and the formula."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.kernels.pnbm import clipped_gradient, learned_means, list_means, similarity_gradient

RATINGS = dc.synthetic(users=15, items=9, ratings=70, seed=2)
DEVIATIONS = (RATINGS.values - np.float32(3.3)).astype(np.float32)


def gradient(similarities, floor, ratings=RATINGS):
    columns = ratings.by_item
    return similarity_gradient(
        similarities,
        (columns.indptr, columns.users, columns.values - np.float32(3.3)),
        (ratings.indptr, ratings.item_index, ratings.values - np.float32(3.3)),
        floor,
    )


def by_definition(similarities, floor, ratings=RATINGS):
    """Half the sum of squared errors, and its gradient, one rating and one neighbour at a time."""
    loss, slope = 0.0, np.zeros(similarities.shape)
    for user in range(ratings.n_users):
        rows = slice(ratings.indptr[user], ratings.indptr[user + 1])
        items, deviations = ratings.item_index[rows], ratings.values[rows].astype(float) - 3.3
        for place, item in enumerate(items):
            others = np.arange(len(items)) != place
            near, away = similarities[item, items[others]].astype(float), deviations[others]
            size = np.abs(near).sum()
            divisor = max(size, floor)
            if divisor == 0:
                continue
            mean = near @ away / divisor
            error = mean - deviations[place]
            loss += error**2 / 2
            inner = away - np.sign(near) * mean if size >= floor else away
            slope[item, items[others]] += error * inner / divisor
    return loss, slope


def signed(seed):
    """Similarities of both signs, away from 0, where the size of a similarity has no derivative."""
    rng = np.random.default_rng(seed)
    similarities = (rng.uniform(0.3, 1, (9, 9)) * rng.choice([-1, 1], (9, 9))).astype(np.float32)
    np.fill_diagonal(similarities, 0)
    return similarities


@pytest.mark.parametrize("floor", [0.0, 0.9, 3.05, 100.0])
def test_gradient_is_the_formula(floor):
    similarities = signed(1)
    np.testing.assert_allclose(gradient(similarities, floor), by_definition(similarities, floor)[1], atol=2e-6)


@pytest.mark.parametrize("floor", [0.0, 3.05, 100.0])
def test_formula_is_the_derivative(floor):
    similarities, width = signed(2).astype(np.float64), 1e-6
    slope = by_definition(similarities, floor)[1]
    for item, other in np.ndindex(9, 9):
        if item != other:
            up, down = similarities.copy(), similarities.copy()
            up[item, other] += width
            down[item, other] -= width
            change = (by_definition(up, floor)[0] - by_definition(down, floor)[0]) / (2 * width)
            assert slope[item, other] == pytest.approx(change, abs=1e-5)


def test_no_item_speaks_for_itself():
    assert not np.diag(gradient(signed(3), 0.0)).any()
    changed = RATINGS.select(np.arange(len(RATINGS)) != 0)
    item = RATINGS.item_index[0]
    # Without the rating, its user no longer adds to the item's row: the row is what all others add.
    np.testing.assert_allclose(
        gradient(signed(3), 0.0, changed)[item], by_definition(signed(3), 0.0, changed)[1][item], atol=2e-6
    )


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 4.0]))
def test_gradient_is_additive_over_users(seed, floor):
    similarities = signed(seed)
    first, second = RATINGS.user_index < 7, RATINGS.user_index >= 7
    parts = [gradient(similarities, floor, RATINGS.select(half)) for half in (first, second)]
    np.testing.assert_allclose(sum(parts), gradient(similarities, floor), atol=1e-9)


def test_threads_do_not_change_the_gradient():
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = gradient(signed(4), 1.0)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, gradient(signed(4), 1.0))


@pytest.mark.parametrize("floor", [0.0, 2.0])
def test_means_by_learned_similarity(floor):
    similarities = signed(5)
    similarities[3] = 0
    similarities.setflags(write=False)
    otherwise = np.linspace(-1, 1, RATINGS.n_users).astype(np.float32)
    users, items = (grid.ravel().astype(np.int32) for grid in np.indices((RATINGS.n_users, 9)))
    asked = users, items, RATINGS.indptr, RATINGS.item_index, DEVIATIONS
    means = learned_means(asked, similarities, floor, otherwise).reshape(-1, 9)
    seen, spread = np.zeros((2, RATINGS.n_users, 9))
    seen[RATINGS.user_index, RATINGS.item_index] = 1
    spread[RATINGS.user_index, RATINGS.item_index] = DEVIATIONS
    below = seen @ np.abs(similarities.T)
    expected = np.where(
        below > 0, spread @ similarities.T / np.maximum(np.maximum(below, floor), 1e-9), otherwise[:, None]
    )
    np.testing.assert_allclose(means, expected, atol=1e-5)


# ── Lists of neighbours ──


def lists(seed, width=5, sign=True):
    """For each item ``width`` others in increasing order, the last of them without similarity."""
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.permutation(np.delete(np.arange(9), item))[:width]) for item in range(9)]
    similarities = rng.uniform(0.3, 1, (9, width)) * (rng.choice([-1, 1], (9, width)) if sign else 1)
    similarities[:, -1] = 0
    return np.array(chosen, dtype=np.int32), similarities.astype(np.float32)


def spread_out(neighbours, similarities):
    dense = np.zeros((9, 9), dtype=np.float32)
    np.put_along_axis(dense, neighbours, similarities, axis=1)
    return dense


def clipped(neighbours, similarities, floor, clip, ratings=RATINGS):
    places = np.argsort(ratings.item_index, kind="stable").astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ratings.item_index, minlength=9))])
    by_item = indptr, ratings.user_index[places].astype(np.int32), places
    by_user = ratings.indptr, ratings.item_index, ratings.values - np.float32(3.3)
    return clipped_gradient(neighbours, similarities, by_item, by_user, floor, clip)


@pytest.mark.parametrize("floor", [0.5, 1.7, 100.0])
@pytest.mark.parametrize("sign", [True, False])
def test_gradient_of_lists_is_that_of_the_matrix_where_they_have_neighbours(floor, sign):
    neighbours, similarities = lists(6, sign=sign)
    slope = by_definition(spread_out(neighbours, similarities), floor)[1]
    expected = np.where(similarities != 0, np.take_along_axis(slope, neighbours, axis=1), 0)
    np.testing.assert_allclose(clipped(neighbours, similarities, floor, np.inf), expected, atol=2e-6)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 4.0]), st.booleans())
def test_every_users_gradient_is_cut_to_the_clip(seed, clip, sign):
    neighbours, similarities = lists(seed, width=8, sign=sign)
    total = np.zeros(neighbours.shape)
    for user in range(RATINGS.n_users):
        own = RATINGS.select_users([user])
        slope = clipped(neighbours, similarities, 1.0, np.inf, own)
        length = np.linalg.norm(slope)
        if length > clip:
            slope *= clip / length
        alone = clipped(neighbours, similarities, 1.0, clip, own)
        np.testing.assert_allclose(alone, slope, atol=1e-9)
        assert np.linalg.norm(alone) <= clip * (1 + 1e-12)
        total += slope
    np.testing.assert_allclose(clipped(neighbours, similarities, 1.0, clip), total, atol=1e-9)


def test_the_clip_holds_where_similarities_are_tiny():
    neighbours, similarities = lists(8, width=8)
    slope = clipped(neighbours, similarities * np.float32(1e-12), 1e-12, 2.0, RATINGS.select_users([0]))
    assert np.linalg.norm(slope) == pytest.approx(2.0, rel=1e-9)


def test_threads_do_not_change_the_gradient_of_lists():
    neighbours, similarities = lists(9)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = clipped(neighbours, similarities, 1.0, 1.0)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, clipped(neighbours, similarities, 1.0, 1.0))


@pytest.mark.parametrize("floor", [0.1, 2.0])
def test_means_over_lists_are_those_of_the_matrix(floor):
    neighbours, similarities = lists(5)
    otherwise = np.linspace(-1, 1, RATINGS.n_users).astype(np.float32)
    users, items = (grid.ravel().astype(np.int32) for grid in np.indices((RATINGS.n_users, 9)))
    asked = users, items, RATINGS.indptr, RATINGS.item_index, DEVIATIONS
    expected = learned_means(asked, spread_out(neighbours, similarities), floor, otherwise)
    means = list_means(asked, neighbours, similarities, floor, otherwise)
    np.testing.assert_allclose(means, expected, atol=1e-6)
