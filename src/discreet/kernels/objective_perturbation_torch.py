"""The exact solves of :mod:`discreet.kernels.objective_perturbation` on a GPU, or wherever torch runs.

    (Σ_i u_i u_iᵀ + ridge_j I) x_j  =  Σ_i r_i u_i − n_j

Rows are taken in order of how many ratings they have, a block of similar length at a time, filled up with zeros and
multiplied together; then all systems of a block are solved by one batched Cholesky. In doubles, like the other kernel.
"""

import numpy as np

from discreet.extras import load_extra
from discreet.types import AnyArray, Doubles, Floats, Indices, Offsets

BLOCK_CELLS = 1 << 26  # of a block of rows, filled up: 512 MB


def minimise_rows(
    indptr: Offsets,
    columns: Indices,
    values: Floats,
    factors: Doubles,
    ridge: Doubles,
    noise: Doubles,
    *,
    device: str | None = None,
) -> Doubles:
    """The minimiser of every row, as :func:`discreet.kernels.objective_perturbation.minimise_rows` finds it."""
    torch = load_extra("torch", "torch", "solving on a GPU")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    d = noise.shape[1]
    # One more row of zeros stands for the ratings that a shorter row does not have.
    users = torch.as_tensor(np.concatenate([factors, np.zeros((1, d))]), device=device)
    solved = np.empty_like(noise)
    for rows in _blocks(indptr, d):
        places, filled = _filled(indptr, rows)
        who = torch.as_tensor(np.where(filled, columns[places], len(factors)).astype(np.int64), device=device)
        said = torch.as_tensor(np.where(filled, values[places], 0).astype(np.float64), device=device)
        own = users[who]  # (rows, ratings, d)
        left = own.mT @ own
        left.diagonal(dim1=1, dim2=2).add_(torch.as_tensor(ridge[rows], device=device)[:, None])
        right = (said[:, None, :] @ own)[:, 0] - torch.as_tensor(noise[rows], device=device)
        found = torch.cholesky_solve(right[:, :, None], torch.linalg.cholesky(left))[:, :, 0]
        solved[rows] = found.cpu().numpy()
    return solved


def _blocks(indptr: Offsets, d: int) -> list[AnyArray]:
    """Rows by their number of ratings, shortest first; in each block the longest is at most twice the shortest."""
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    blocks, start = [], 0
    while start < len(order):
        shortest = max(int(lengths[order[start]]), 1)
        end = int(np.searchsorted(lengths[order], 2 * shortest, side="right"))
        end = min(end, start + max(1, BLOCK_CELLS // (2 * shortest * d)))
        blocks.append(order[start:end])
        start = end
    return blocks


def _filled(indptr: Offsets, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
    """For each row of a block where its ratings stand, filled up to the longest; and which of these are ratings."""
    lengths = indptr[rows + 1] - indptr[rows]
    turn = np.arange(max(int(lengths.max()), 1))
    filled = turn < lengths[:, None]
    return np.where(filled, indptr[rows][:, None] + turn, 0), filled
