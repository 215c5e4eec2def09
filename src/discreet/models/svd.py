"""Truncated singular value decomposition, as a ranking.

    X   users by items, 1 where a user rated an item        X ≈ U S Vᵀ, the best of rank d

    score of item i  =  (x V Vᵀ)_i      x the user's own row

The columns of V are the leading eigenvectors of XᵀX, how many users rated both of two items: one sum over users.
V goes out; projecting onto it needs nothing but the user's own row.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import library_for, require, require_whole
from discreet.models.ease import MOST_ITEMS, pair_counts
from discreet.models.home.fold_in import row_sums
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Progress, no_progress

FEW_ITEMS = 500  # below, all eigenvectors are quicker than a search for the leading ones


@dataclass(frozen=True, kw_only=True)
class SVD:
    """Ranking by projection onto the leading directions of who rated what.

    Parameters
    ----------
    factors
        How many directions; at most as many as there are items.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.SVD(factors=4).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_factors"].shape
    (30, 4)
    """

    factors: int = 20

    def __post_init__(self) -> None:
        require_whole("factors", self.factors, least=1)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask how many users rated each pair of items, and release the leading eigenvectors."""
        check_population(self, population)
        items = len(population.catalogue)
        require(items <= MOST_ITEMS, f"SVD counts all pairs of items: at most {MOST_ITEMS} items, got {items}")
        vectors = leading_eigenvectors(population.sum(pair_counts(items)), min(self.factors, items))
        return Release.of(self, population, {"item_factors": vectors})

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", "factors")),)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The user's row, projected."""
        factors = release.arrays["item_factors"]
        return np.asarray(row_sums(histories, factors) @ factors.T, dtype=np.float32)

    def explain(self, release: Release, history: History, item: int) -> Floats:
        """The product of each rated item's factors with those of ``item``."""
        factors = release.arrays["item_factors"]
        return np.asarray(factors[history.items] @ factors[item])


def leading_eigenvectors(gram: Doubles, count: int) -> Floats:
    """Eigenvectors of the largest eigenvalues, the largest first, each with its largest entry positive.

    >>> leading_eigenvectors(np.diag([1.0, 3.0, 2.0]), 2).T.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    with library_for("fitting SVD"):
        from scipy.linalg import eigh
        from scipy.sparse.linalg import eigsh

    size = len(gram)
    if size <= FEW_ITEMS or 5 * count > size:
        _, vectors = eigh(gram, subset_by_index=(size - count, size - 1))
        vectors = vectors[:, ::-1]
    else:
        # A fixed start makes the search give the same answer each time.
        values, vectors = eigsh(gram, k=count, v0=np.ones(size))
        vectors = vectors[:, np.argsort(-values)]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return np.ascontiguousarray(vectors * np.where(largest < 0, -1, 1), dtype=np.float32)
