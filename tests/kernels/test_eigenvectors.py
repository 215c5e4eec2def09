"""Eigenpairs and row solves as a GPU makes them, here by torch on the processor, beside numpy's."""

import numpy as np
import pytest

pytest.importorskip("torch")
from discreet.kernels import row_solves
from discreet.kernels.eigenvectors import MANY, lanczos, largest_eigenpairs


@pytest.mark.parametrize(("size", "most", "signals"), [(300, 8, 8), (300, 40, 5), (200, 1, 1), (64, 60, 3)])
def test_the_largest_eigenpairs(size, most, signals):
    rng = np.random.default_rng(size + most)
    factors = rng.standard_normal((size, signals)) * 3
    noise = rng.standard_normal((size, size))
    matrix = factors @ factors.T + (noise + noise.T) / 2
    values, vectors = lanczos(matrix.astype(np.float32), most, rng.standard_normal(size), 1e-6, "cpu")
    wanted, directions = np.linalg.eigh(matrix)
    np.testing.assert_allclose(np.sort(values), wanted[-most:], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(most), atol=1e-6)
    overlap = np.linalg.norm(directions[:, -signals:].T @ vectors, axis=1)
    np.testing.assert_allclose(overlap, 1, atol=1e-4)


@pytest.mark.parametrize("most", [MANY, MANY + 1])
def test_few_and_many_eigenpairs_by_scipy(most):
    from scipy.sparse.linalg import eigsh

    rng = np.random.default_rng(most)
    half = rng.standard_normal((400, 400))
    matrix = half + half.T
    values, vectors = largest_eigenpairs(matrix, most, rng.standard_normal(400), 1e-8, eigsh)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix)[-most:], atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-4)


def test_a_matrix_of_low_rank_is_no_harm():
    """The basis ends early there."""
    ones = np.ones((80, 80))
    values, vectors = lanczos(ones, 2, np.random.default_rng(1).standard_normal(80), 1e-9, "cpu")
    np.testing.assert_allclose(np.sort(values), [0, 80], atol=1e-8)
    assert np.isfinite(vectors).all()


def test_row_solves_by_torch(monkeypatch):
    rng = np.random.default_rng(1)
    weights = rng.random((90, 90)).astype(np.float32)
    arguments = (
        weights + weights.T,
        (weights - 0.5),
        rng.standard_normal((90, 4)).astype(np.float32),
        np.eye(4, dtype="f4"),
    )
    wanted = row_solves.damped_row_solves(*arguments, 5)
    upper = np.triu_indices(4)
    np.testing.assert_allclose(row_solves._by_torch(*arguments, 5, *upper, device="cpu"), wanted, rtol=1e-3, atol=1e-4)
