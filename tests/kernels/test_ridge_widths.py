"""The small ridge problems against numpy's own solvers, for widths around those of vector registers and blocks."""

import numpy as np
import pytest

from discreet.kernels.ridge import cholesky, gather, solve_rows, substitute

WIDTHS = [1, 3, 4, 7, 8, 9, 17, 64]


def positive_definite(d: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(2 * d, d))
    return rows.T @ rows + np.eye(d)


@pytest.mark.parametrize("d", WIDTHS)
def test_cholesky_leaves_the_factor_in_the_lower_triangle(d: int) -> None:
    matrix = positive_definite(d)
    worked = matrix.astype(np.float32)
    cholesky(worked)
    np.testing.assert_allclose(np.tril(worked), np.linalg.cholesky(matrix), rtol=1e-3, atol=1e-4)


def test_cholesky_of_a_singular_matrix_is_finite() -> None:
    matrix = np.ones((6, 6), dtype=np.float32)
    cholesky(matrix)
    assert np.isfinite(matrix).all()


@pytest.mark.parametrize("d", WIDTHS)
def test_substitute_solves(d: int) -> None:
    matrix, vector = positive_definite(d), np.arange(1.0, d + 1)
    solved = vector.astype(np.float32)
    substitute(np.linalg.cholesky(matrix).astype(np.float32), solved)
    np.testing.assert_allclose(solved, np.linalg.solve(matrix, vector), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 30])
@pytest.mark.parametrize("d", [1, 5, 8, 19])
def test_gather_adds_the_products_of_the_rows_in_between(d: int, count: int) -> None:
    rng = np.random.default_rng(d)
    items = rng.integers(0, 50, 40).astype(np.int32)
    targets = rng.normal(size=40).astype(np.float32)
    factors = rng.normal(size=(50, d)).astype(np.float32)
    gram, moment = np.ones((d, d), dtype=np.float32), np.ones(d, dtype=np.float32)
    gather(5, 5 + count, items, targets, factors, 2.5, gram, moment)
    own = factors[items[5 : 5 + count]].astype(np.float64)
    np.testing.assert_allclose(np.tril(gram), np.tril(1 + 2.5 * own.T @ own), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moment, 1 + own.T @ targets[5 : 5 + count], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("d", [2, 8, 21])
def test_solve_rows_is_ridge_regression(d: int) -> None:
    rng = np.random.default_rng(1)
    indptr = np.array([0, 3, 3, 40], dtype=np.int64)
    items = rng.integers(0, 50, 40).astype(np.int32)
    targets = rng.normal(size=40).astype(np.float32)
    factors = rng.normal(size=(50, d)).astype(np.float32)
    base, penalty = positive_definite(d).astype(np.float32), np.linspace(0.1, 1, d, dtype=np.float32)
    solved = solve_rows(indptr, items, targets, factors, base, 0.5, penalty)
    for row in range(3):
        mine = slice(indptr[row], indptr[row + 1])
        own = factors[items[mine]].astype(np.float64)
        matrix = base + 0.5 * own.T @ own + len(own) * np.diag(penalty)
        np.testing.assert_allclose(solved[row], np.linalg.solve(matrix, own.T @ targets[mine]), rtol=1e-3, atol=1e-4)
