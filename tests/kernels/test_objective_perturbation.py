"""Exact solves and gradient sums beside naive ones, whatever the number of threads."""

import numba
import numpy as np
import pytest

import discreet as dc
from discreet.kernels import objective_perturbation_torch
from discreet.kernels.objective_perturbation import minimise_rows, residual_pulls, step_through

RATINGS = dc.synthetic(users=40, items=23, ratings=400, seed=3)
RNG = np.random.default_rng(5)


def sides(d: int):
    users, noise = RNG.normal(size=(RATINGS.n_users, d)), 30 * RNG.normal(size=(RATINGS.n_items, d))
    ridge = RNG.uniform(0.01, 2.0, RATINGS.n_items)
    return users, ridge, noise


def of_item(item: int):
    columns = RATINGS.by_item
    place = slice(columns.indptr[item], columns.indptr[item + 1])
    return columns.users[place], columns.values[place].astype(np.float64)


@pytest.mark.parametrize("d", [1, 3, 8, 11, 50])
def test_every_row_is_at_its_minimum(d):
    users, ridge, noise = sides(d)
    columns = RATINGS.by_item
    solved = minimise_rows(columns.indptr, columns.users, columns.values, users, ridge, noise)
    for item in range(RATINGS.n_items):
        who, values = of_item(item)
        own = users[who]
        expected = np.linalg.solve(own.T @ own + ridge[item] * np.eye(d), own.T @ values - noise[item])
        np.testing.assert_allclose(solved[item], expected, rtol=1e-6, atol=1e-8)


def test_an_item_without_ratings_has_its_noise_over_the_ridge():
    empty = np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    solved = minimise_rows(*empty, np.ones((4, 2)), np.array([0.5, 2.0]), np.array([[1.0, -2.0], [4.0, 0.0]]))
    np.testing.assert_allclose(solved, [[-2.0, 4.0], [-2.0, 0.0]])


@pytest.mark.parametrize("d", [1, 6])
def test_gradient_sums(d):
    users, _, items = sides(d)
    columns = RATINGS.by_item
    pulls = residual_pulls(columns.indptr, columns.users, columns.values, items, users)
    for item in range(RATINGS.n_items):
        who, values = of_item(item)
        np.testing.assert_allclose(pulls[item], (values - users[who] @ items[item]) @ users[who], rtol=1e-9, atol=1e-8)


def test_a_step_for_each_rating_in_turn():
    users, _, items = sides(4)
    items /= 30
    noise = RNG.normal(size=items.shape)
    expected_users, expected = users.copy(), items.copy()
    for user, item, value in zip(RATINGS.user_index, RATINGS.item_index, RATINGS.values, strict=True):
        u, v = expected_users[user].copy(), expected[item].copy()
        error = float(value) - u @ v
        expected_users[user] = u + 0.01 * (2 * error * v - 2 * 0.3 * u)
        expected[item] = v + 0.01 * (2 * error * u - 2 * 0.2 * v - noise[item])
    rows = RATINGS.user_index, RATINGS.item_index, RATINGS.values
    found_users, found = users.copy(), items.copy()
    step_through(*rows, found_users, found, noise, 0.01, 0.3, 0.2, True)
    np.testing.assert_allclose(found_users, expected_users, rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    before = found_users.copy()
    step_through(*rows, found_users, found, noise, 0.01, 0.3, 0.2, False)
    np.testing.assert_array_equal(found_users, before)


def test_the_number_of_threads_changes_nothing():
    users, ridge, noise = sides(7)
    columns = RATINGS.by_item
    data = columns.indptr, columns.users, columns.values
    most = numba.get_num_threads()
    results = []
    try:
        for threads in {1, most}:
            numba.set_num_threads(threads)
            results.append((minimise_rows(*data, users, ridge, noise), residual_pulls(*data, noise, users)))
    finally:
        numba.set_num_threads(most)
    for solved, pulls in results[1:]:
        np.testing.assert_array_equal(solved, results[0][0])
        np.testing.assert_array_equal(pulls, results[0][1])


@pytest.mark.parametrize("cells", [1, 1 << 26])
def test_torch_finds_the_same_minimisers(cells, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(objective_perturbation_torch, "BLOCK_CELLS", cells)
    ratings, rng = dc.synthetic(users=60, items=40, ratings=600, seed=1), np.random.default_rng(1)
    columns = ratings.by_item
    data = columns.indptr, columns.users, columns.values, rng.normal(size=(60, 5)), np.full(40, 0.1)
    noise = 3 * rng.normal(size=(40, 5))
    found = objective_perturbation_torch.minimise_rows(*data, noise, device="cpu")
    np.testing.assert_allclose(found, minimise_rows(*data, noise), rtol=1e-9, atol=1e-9)


def test_a_paper_is_solved_by_either_engine():
    pytest.importorskip("torch")
    ratings = dc.synthetic(users=60, items=40, ratings=600, seed=1)
    model = dc.papers.ObjectivePerturbedMF(minimiser="exact", factors=3, iterations=3)
    one, other = (
        model.fit(ratings, randomness=dc.Randomness(1), engine=engine).arrays["item_factors"]
        for engine in ("numba", "torch")
    )
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    with pytest.raises(dc.InputError, match="engine must be 'numba' or 'torch', got 'gpu'"):
        model.fit(ratings, engine="gpu")
