"""EASE: each item explained by all the others, in closed form.

    X   users by items, 1 where a user rated an item
    minimise  ‖X − X B‖² + λ ‖B‖²   with  diag(B) = 0             (:mod:`~discreet.kernels.weights_of_others`)

    score of item j  =  Σ_i B_ij over the rated items i

XᵀX, how many users rated both of two items, is one sum over users. B goes out. A score is a sum over the user's
own items, so each of them can be named as a reason.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require, require_number
from discreet.kernels.weights_of_others import weights_of_others
from discreet.models.home.fold_in import row_sums
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

MOST_ITEMS = 30_000  # the inverse takes items² doubles: 7 GB here


@dataclass(frozen=True, kw_only=True)
class EASE:
    """A linear model of which items go together, for ranking; it looks at who rated what, not how high.

    Parameters
    ----------
    regularisation
        λ above: about as many raters as an item needs before it is believed. The default suits a thousand users
        as well as several thousands; it was chosen on MovieLens 100K.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.EASE(regularisation=50).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["weights"].shape
    (30, 30)
    """

    regularisation: float = 300.0

    def __post_init__(self) -> None:
        require_number("regularisation", self.regularisation, above=0)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask how many users rated each pair of items, and release the weights."""
        check_population(self, population)
        items = len(population.catalogue)
        require(items <= MOST_ITEMS, f"EASE inverts a square matrix of items: at most {MOST_ITEMS}, got {items}")
        gram = population.sum(pair_counts(items))
        weights = weights_of_others(gram, self.regularisation)
        return Release.of(self, population, {"weights": weights})

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("weights", "float32", ("items", "items")),)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """How strongly the rated items speak for each item."""
        return row_sums(histories, release.arrays["weights"])

    def explain(self, release: Release, history: History, item: int) -> Floats:
        """The weight of each rated item for ``item``."""
        return np.asarray(release.arrays["weights"][history.items, item])


def rated(ratings: Ratings) -> AnyArray:
    """1 where a user rated an item: sparse, users by items."""
    matrix = ratings.csr.copy()
    matrix.data = np.ones(len(ratings), dtype=np.float32)
    return matrix  # type: ignore[return-value]


def pair_counts(items: int) -> Contribution:
    """How many users rated both of two items, for all pairs."""

    def total(ratings: Ratings) -> Doubles:
        matrix = rated(ratings)
        # Counts are whole numbers far below 2²⁴, which float32 adds exactly.
        return np.asarray((matrix.T @ matrix).toarray(), dtype=np.float64)  # type: ignore[attr-defined]

    return Contribution(name="how many users rated both of two items", shape=(items, items), total=total)
