"""Half-steps of implicit-feedback ALS by conjugate gradients: much cheaper than forming each row's Gram matrix.

Row ``u`` (a user; or an item, with users for items) seeks::

    (base + penalty_u I + weight Σ_i v_i v_iᵀ) x_u  =  target Σ_i v_i          over the items i it rated

``base``, a multiple of VᵀV, is the same for all rows. In the basis of its eigenvectors it is diagonal, so a
product with the matrix is one pass over the row's own factors, and ``base + penalty_u`` can be divided out
first (preconditioning). What is left is so close to the identity that two or three steps are as good as
the exact solution, at 4 d operations a rating and step instead of d².
"""

import numpy as np

from discreet.kernels.compiling import njit, prange
from discreet.kernels.ridge import REORDER
from discreet.kernels.threads import one_blas_thread
from discreet.types import Floats, Indices, Offsets

CHUNKS = 128  # rows are handed to threads in this many runs of about equally many ratings


def half_step(
    indptr: Offsets,
    items: Indices,
    factors: Floats,
    base_weight: float,
    penalty: Floats,
    weight: float,
    target: float,
    steps: int,
    start: Floats | None = None,
) -> Floats:
    """Solve for all rows with ``base = base_weight VᵀV``; rows without ratings get zeros.

    Parameters
    ----------
    indptr, items
        The rated items of each row.
    factors
        V, items by factors.
    penalty
        One for each row.
    steps
        Conjugate-gradient steps; each at least halves the error, usually much more.
    start
        Where each row starts: what it had before, or zeros.

    Examples
    --------
    >>> one = np.ones((1, 1), dtype=np.float32)
    >>> data = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32)
    >>> half_step(*data, one, 1.0, one[0], 2.0, 8.0, 1).tolist()
    [[2.0]]
    """
    with one_blas_thread():
        spectrum, basis = eigenbasis(factors, base_weight)
        own = None if start is None else start @ basis
        solved = improve_rows(indptr, items, factors @ basis, spectrum, penalty, weight, target, steps, own)
        return np.asarray(solved @ basis.T)


def eigenbasis(factors: Floats, base_weight: float) -> tuple[Floats, Floats]:
    """Eigenvalues and eigenvectors of ``base_weight VᵀV``."""
    eigenvalues, basis = np.linalg.eigh(base_weight * (factors.T @ factors).astype(np.float64))
    return np.maximum(eigenvalues, 0).astype(np.float32), basis.astype(np.float32)


def improve_rows(
    indptr: Offsets,
    items: Indices,
    factors: Floats,
    spectrum: Floats,
    penalty: Floats,
    weight: float,
    target: float,
    steps: int,
    start: Floats | None = None,
) -> Floats:
    """The solutions of :func:`half_step` in the basis of the spectrum, in which factors and start are given."""
    solved = np.zeros((len(indptr) - 1, factors.shape[1]), dtype=np.float32) if start is None else start
    _improve_rows(indptr, items, factors, spectrum, penalty, weight, target, steps, solved)
    return solved


@njit(cache=True, fastmath=REORDER)
def _multiply(count: int, own: Floats, diagonal: Floats, weight: float, shift: float, x: Floats, image: Floats) -> None:
    """``image ← diagonal x + Σ_i v_i (weight v_iᵀx + shift)``, four factors at a time."""
    d = len(x)
    w, s = np.float32(weight), np.float32(shift)
    for k in range(d):
        image[k] = diagonal[k] * x[k]
    row = 0
    while row + 4 <= count:
        v0, v1, v2, v3 = own[row], own[row + 1], own[row + 2], own[row + 3]
        c0, c1, c2, c3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for k in range(d):
            c0 += v0[k] * x[k]
            c1 += v1[k] * x[k]
            c2 += v2[k] * x[k]
            c3 += v3[k] * x[k]
        c0, c1, c2, c3 = w * c0 + s, w * c1 + s, w * c2 + s, w * c3 + s
        for k in range(d):
            image[k] += c0 * v0[k] + c1 * v1[k] + c2 * v2[k] + c3 * v3[k]
        row += 4
    while row < count:
        v0 = own[row]
        c0 = np.float32(0.0)
        for k in range(d):
            c0 += v0[k] * x[k]
        c0 = w * c0 + s
        for k in range(d):
            image[k] += c0 * v0[k]
        row += 1


@njit(cache=True, parallel=True, fastmath=REORDER)
def _improve_rows(
    indptr: Offsets,
    items: Indices,
    factors: Floats,
    spectrum: Floats,
    penalty: Floats,
    weight: float,
    target: float,
    steps: int,
    solved: Floats,
) -> None:
    """Preconditioned conjugate gradients for every row of ``solved``, in place, in the basis of the spectrum."""
    rows, d = solved.shape
    bounds = np.searchsorted(indptr, np.linspace(0, indptr[rows], CHUNKS + 1).astype(np.int64))
    bounds[0], bounds[CHUNKS] = 0, rows
    for chunk in prange(CHUNKS):
        longest = 0
        for u in range(bounds[chunk], bounds[chunk + 1]):
            longest = max(longest, indptr[u + 1] - indptr[u])
        own = np.empty((longest, d), dtype=np.float32)
        work = np.empty((4, d), dtype=np.float32)
        diagonal, residual, direction, image = work[0], work[1], work[2], work[3]
        for u in range(bounds[chunk], bounds[chunk + 1]):
            x = solved[u]
            first, count = indptr[u], indptr[u + 1] - indptr[u]
            if count == 0:
                x[:] = 0
                continue
            for row in range(count):  # side by side, where the passes below find them in the near cache
                i = items[first + row]
                for k in range(d):
                    own[row, k] = factors[i, k]
            for k in range(d):
                diagonal[k] = spectrum[k] + penalty[u]
            _multiply(count, own, diagonal, weight, -target, x, residual)
            old = np.float32(0.0)
            for k in range(d):
                residual[k] = -residual[k]
                direction[k] = residual[k] / diagonal[k]
                old += residual[k] * direction[k]
            for _ in range(steps):
                if old < np.float32(1e-20):
                    break
                _multiply(count, own, diagonal, weight, 0.0, direction, image)
                curvature = np.float32(0.0)
                for k in range(d):
                    curvature += direction[k] * image[k]
                length = old / curvature
                new = np.float32(0.0)
                for k in range(d):
                    x[k] += length * direction[k]
                    residual[k] -= length * image[k]
                    new += residual[k] * residual[k] / diagonal[k]
                for k in range(d):
                    direction[k] = residual[k] / diagonal[k] + new / old * direction[k]
                old = new
