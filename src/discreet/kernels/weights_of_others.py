"""Each item explained by all the others, in closed form (EASE).

    minimise  tr((I − B)ᵀ G (I − B)) + λ ‖B‖²   with  diag(B) = 0

    P = (G + λ I)⁻¹           B_ij = −P_ij / P_jj  off the diagonal

G holds how often pairs of items go together. With G = XᵀX this is least squares of X on itself.
"""

import numpy as np

from discreet.errors import InputError, library_for
from discreet.extras import load_extra
from discreet.kernels.eigenvectors import uses_gpu
from discreet.types import Doubles, Floats

NOT_DEFINITE = "the regularised pair counts are not positive definite: raise regularisation"


def weights_of_others(gram: Doubles, regularisation: float) -> Floats:
    """B above: column j holds the ridge weights of all other items for item j."""
    if uses_gpu(len(gram)):
        return weights_by_torch(gram, regularisation, "cuda")
    with library_for("fitting EASE"):
        from scipy.linalg import lapack

    matrix = np.array(gram, dtype=np.float64, order="F")
    np.fill_diagonal(matrix, np.diag(matrix) + regularisation)
    factor, failed = lapack.dpotrf(matrix, lower=True, overwrite_a=True)
    if failed:
        raise InputError(NOT_DEFINITE)
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    weights: Floats = (-inverse / np.diag(inverse)).astype(np.float32)
    np.fill_diagonal(weights, 0)
    return weights


def weights_by_torch(gram: Doubles, regularisation: float, device: str) -> Floats:
    """The same on a device."""
    torch = load_extra("torch", "torch", "a GPU")
    matrix = torch.tensor(gram, device=device).double()
    matrix.diagonal().add_(regularisation)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if int(failed):
        raise InputError(NOT_DEFINITE)
    inverse = torch.cholesky_inverse(factor)
    weights = -inverse / inverse.diagonal()
    found: Floats = weights.fill_diagonal_(0).float().cpu().numpy()
    return found
