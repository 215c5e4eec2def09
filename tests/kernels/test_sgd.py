import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.kernels.sgd import deal, grid_for, sgd_epoch
from discreet.models import mf
from discreet.models.mf import in_blocks


def plain_epoch(users, items, values, p, q, b, c, rate, bias_rate, penalty, bias_penalty):
    """The definition, in float64, one rating after the other."""
    squares = 0.0
    for u, i, value in zip(users, items, values, strict=True):
        e = value - b[u] - c[i] - p[u] @ q[i]
        squares += e * e
        b[u] += bias_rate * (e - bias_penalty * b[u])
        c[i] += bias_rate * (e - bias_penalty * c[i])
        p[u], q[i] = p[u] + rate * (e * q[i] - penalty * p[u]), q[i] + rate * (e * p[u] - penalty * q[i])
    return squares


def start(ratings, factors=3, seed=0):
    rng = np.random.default_rng(seed)
    tables = rng.normal(0, 0.3, (ratings.n_users, factors)), rng.normal(0, 0.3, (ratings.n_items, factors))
    biases = rng.normal(0, 0.1, ratings.n_users), rng.normal(0, 0.1, ratings.n_items)
    return [table.astype(np.float32) for table in (*tables, *biases)]


@pytest.mark.parametrize("ratings_of_a_block", [100_000, 20])
def test_an_epoch_is_the_plain_loop(monkeypatch, ratings_of_a_block):
    monkeypatch.setattr("discreet.kernels.sgd.RATINGS_OF_A_BLOCK", ratings_of_a_block)
    ratings = dc.synthetic(users=40, items=25, ratings=400, seed=2)
    starts, users, items, values = in_blocks(ratings, np.random.default_rng(0))
    values = values - np.float32(3.5)
    grid = round((len(starts) - 1) ** 0.5)
    assert grid == (1 if ratings_of_a_block == 100_000 else 4)
    diagonals = np.random.default_rng(1).permutation(grid)
    fast, slow = start(ratings), [table.astype(np.float64) for table in start(ratings)]
    squares = sgd_epoch(starts, diagonals, (users, items, values), tuple(fast), (0.05, 0.03, 0.1, 0.2))
    expected = 0.0
    for diagonal in diagonals:
        for block in range(grid):
            place = block * grid + (block + diagonal) % grid
            rows = slice(starts[place], starts[place + 1])
            expected += plain_epoch(users[rows], items[rows], values[rows], *slow, 0.05, 0.03, 0.1, 0.2)
    assert squares == pytest.approx(expected, rel=1e-4)
    for left, right in zip(fast, slow, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-5)


@given(
    users=st.integers(1, 12),
    items=st.integers(1, 12),
    share=st.floats(0, 1),
    grid_size=st.sampled_from([1, 5, 100_000]),
)
def test_blocks_hold_every_rating_once_and_diagonals_share_nobody(users, items, share, grid_size):
    full = dc.synthetic(users=users, items=items, ratings=users * items, seed=1)
    ratings = full.select(np.random.default_rng(2).random(len(full)) < share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.kernels.sgd.RATINGS_OF_A_BLOCK", grid_size)
        starts, user, item, _ = in_blocks(ratings, np.random.default_rng(0))
    grid = round((len(starts) - 1) ** 0.5)
    assert starts[0] == 0
    assert starts[-1] == len(ratings)
    assert {*zip(user.tolist(), item.tolist(), strict=True)} == {
        *zip(ratings.user_index.tolist(), ratings.item_index.tolist(), strict=True)
    }
    for diagonal in range(grid):
        places = [block * grid + (block + diagonal) % grid for block in range(grid)]
        rows = [slice(starts[place], starts[place + 1]) for place in places]
        for column in (user, item):
            seen = [set(column[some].tolist()) for some in rows]
            assert sum(map(len, seen)) == len(set().union(*seen))


def test_groups_are_dealt_evenly():
    counts = np.random.default_rng(0).pareto(1.5, 1000)
    totals = np.bincount(deal(counts, 4), weights=counts)
    assert totals.max() < 1.3 * totals.mean() or totals.max() <= counts.max()
    assert grid_for(0, 0, 0) == 1


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="there is one thread only")
def test_threads_do_not_change_the_release(monkeypatch):
    monkeypatch.setattr("discreet.kernels.sgd.RATINGS_OF_A_BLOCK", 50)
    ratings = dc.synthetic(users=60, items=40, ratings=1000, seed=3)
    model = mf.MF(factors=5, epochs=3)
    many = model.fit(ratings)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = model.fit(ratings)
    finally:
        numba.set_num_threads(before)
    for key, array in many.arrays.items():
        np.testing.assert_array_equal(array, one.arrays[key])
