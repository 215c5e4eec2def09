"""Each item explained by all the others, in closed form (EASE).

    minimise  tr((I − B)ᵀ G (I − B)) + λ ‖B‖²   with  diag(B) = 0

    P = (G + λ I)⁻¹           B_ij = −P_ij / P_jj  off the diagonal

G holds how often pairs of items go together. With G = XᵀX this is least squares of X on itself.
"""

import numpy as np

from discreet.errors import InputError, library_for
from discreet.types import Doubles, Floats


def weights_of_others(gram: Doubles, regularisation: float) -> Floats:
    """B above: column j holds the ridge weights of all other items for item j."""
    with library_for("fitting EASE"):
        from scipy.linalg import lapack

    matrix = np.array(gram, dtype=np.float64, order="F")
    np.fill_diagonal(matrix, np.diag(matrix) + regularisation)
    factor, failed = lapack.dpotrf(matrix, lower=True, overwrite_a=True)
    if failed:
        raise InputError("the regularised pair counts are not positive definite: raise regularisation")
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    weights: Floats = (-inverse / np.diag(inverse)).astype(np.float32)
    np.fill_diagonal(weights, 0)
    return weights
