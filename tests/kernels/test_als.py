"""The kernels of the factor models against their normal equations, for any shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.als import half_step
from discreet.kernels.gradients import residual_sums
from discreet.kernels.pairs import pair_products
from discreet.kernels.ridge import solve_rows
from discreet.kernels.statistics import normal_equation_sums, pack, packed_width, solve_items, unpack


def problem(rows, items, factors, seed, longest=9):
    """Random rows, some of them empty; what belongs to ratings cannot be written to, as models hand it over."""
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.permutation(items)[: rng.integers(0, min(items, longest) + 1)]) for _ in range(rows)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in chosen])]).astype(np.int64)
    index = np.concatenate(chosen).astype(np.int32)
    targets = rng.normal(size=len(index)).astype(np.float32)
    factors = rng.normal(size=(items, factors)).astype(np.float32)
    index.flags.writeable = factors.flags.writeable = False
    return indptr, index, targets, factors


shapes = {
    "rows": st.integers(1, 6),
    "items": st.integers(1, 12),
    "factors": st.integers(1, 9),
    "seed": st.integers(0, 99),
}


@given(**shapes, weight=st.sampled_from([1.0, 0.3]))
def test_rows_solve_their_normal_equations(rows, items, factors, seed, weight):
    indptr, index, targets, v = problem(rows, items, factors, seed)
    penalty = np.linspace(0.1, 0.5, factors).astype(np.float32)
    base = np.eye(factors, dtype=np.float32) + np.float32(0.1)
    solved = solve_rows(indptr, index, targets, v, base, weight, penalty)
    for row in range(rows):
        own, t = v[index[indptr[row] : indptr[row + 1]]].astype(np.float64), targets[indptr[row] : indptr[row + 1]]
        left = base + weight * own.T @ own + len(own) * np.diag(penalty)
        expected = np.linalg.solve(left, own.T @ t) if len(own) else np.zeros(factors)
        np.testing.assert_allclose(solved[row], expected, rtol=1e-3, atol=1e-4)


@given(**shapes)
def test_items_solve_what_users_say(rows, items, factors, seed):
    """Statistics and their solution are the same normal equations, in two steps."""
    indptr, index, targets, v = problem(rows, items, factors, seed)
    statistics = normal_equation_sums(indptr, index, targets, v)
    assert statistics.shape == (rows, packed_width(factors))
    base, penalty = 0.5 * np.eye(factors, dtype=np.float32), np.full(factors, 0.2, dtype=np.float32)
    for row in range(rows):
        own = v[index[indptr[row] : indptr[row + 1]]].astype(np.float64)
        np.testing.assert_allclose(unpack(statistics[row, : -factors - 1]), own.T @ own, rtol=1e-4, atol=1e-5)
        assert statistics[row, -1] == len(own)
    np.testing.assert_allclose(
        solve_items(statistics, base, 1.0, penalty),
        solve_rows(indptr, index, targets, v, base, 1.0, penalty),
        rtol=1e-3,
        atol=1e-4,
    )


@given(**shapes)
def test_enough_conjugate_steps_are_exact(rows, items, factors, seed):
    indptr, index, _, v = problem(rows, items, factors, seed)
    penalty = np.linspace(0.5, 1, rows).astype(np.float32)
    solved = half_step(indptr, index, v, 0.3, penalty, 0.7, 1.0, steps=2 * factors + 4)
    for row in range(rows):
        own = v[index[indptr[row] : indptr[row + 1]]].astype(np.float64)
        left = 0.3 * v.T.astype(np.float64) @ v + 0.7 * own.T @ own + penalty[row] * np.eye(factors)
        expected = np.linalg.solve(left, own.sum(axis=0)) if len(own) else np.zeros(factors)
        np.testing.assert_allclose(solved[row], expected, rtol=1e-2, atol=1e-3)


def test_each_conjugate_step_comes_nearer():
    indptr, index, _, v = problem(20, 60, 16, seed=1, longest=40)
    penalty = np.ones(20, dtype=np.float32)
    exact = half_step(indptr, index, v, 0.3, penalty, 1.0, 1.0, steps=60)
    gaps = [np.abs(half_step(indptr, index, v, 0.3, penalty, 1.0, 1.0, steps) - exact).max() for steps in (1, 3, 6)]
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]
    warm = half_step(indptr, index, v, 0.3, penalty, 1.0, 1.0, 1, start=exact)
    np.testing.assert_allclose(warm, exact, atol=1e-5)


def test_packing_is_undone_by_unpacking():
    matrix = np.random.default_rng(0).normal(size=(5, 5))
    matrix += matrix.T
    np.testing.assert_array_equal(unpack(pack(matrix)), matrix)


@pytest.mark.parametrize("factors", [1, 7])
def test_products_and_gradients(factors):
    indptr, index, targets, v = problem(5, 9, factors, seed=2)
    own = np.random.default_rng(3).normal(size=(5, factors)).astype(np.float32)
    row = np.repeat(np.arange(5, dtype=np.int32), np.diff(indptr))
    row.flags.writeable = targets.flags.writeable = own.flags.writeable = False
    products = (own[row].astype(np.float64) * v[index]).sum(axis=1)
    np.testing.assert_allclose(pair_products(own, v, row, index), products, rtol=1e-4, atol=1e-5)
    expected = np.zeros((5, factors))
    np.add.at(expected, row, (targets - products)[:, None] * v[index])
    np.testing.assert_allclose(residual_sums(indptr, index, targets, own, v), expected, rtol=1e-4, atol=1e-4)
