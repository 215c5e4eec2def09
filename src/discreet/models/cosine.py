"""Cosine: items are alike when the same people rated them, and rated them alike.

    y_uj = r_uj − mean − b_j − b_u + presence                          what is compared, computed at home
    c_ij = Σ_u y_ui y_uj / (‖y_i‖ ‖y_j‖) · n_ij / (n_ij + shrinkage)   n_ij users rated both
    s_ij = c_ij^power  for the ``neighbours`` largest positive c_ij of item i, else 0

Neighbours predict, rank and explain as :mod:`discreet.models.home.neighbourhood` says. The release is sums over users:
counts and sums of ratings, Σ_u y_uj², and Σ_u y_ui y_uj, the last asked for by blocks of rows.

``presence`` is the weight of having rated an item, relative to the rating. With 0 the cosine is a correlation of
ratings alone, which is noise for most pairs; the larger it is, the more the cosine counts co-occurrence.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.doors import checked
from discreet.errors import require_number
from discreet.kernels.gram import PRODUCTS, PRODUCTS_AND_COUNTS
from discreet.kernels.neighbours import cosine_rows
from discreet.models.denoise.item_biases import item_biases
from discreet.models.home import neighbourhood
from discreet.models.sums import compared_items
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class Cosine:
    """Item-item neighbours by cosine similarity. The neighbour model to start with.

    Parameters
    ----------
    neighbours
        How many items each item keeps, the most similar ones.
    centre
        What is taken from each rating before items are compared: ``none``, the ``item``'s mean, or the means of
        both item and ``user``.
    presence
        What is then added: the weight of having rated an item at all.
    shrinkage
        Users without anything in common who are imagined to have rated each pair of items.
    power
        Similarities are raised to this power, which leaves more of the say to the nearest.
    damping
        Similarity of an imagined neighbour whose residual is 0: few or far neighbours say little.
    item_damping, user_damping
        Ratings at the mean that every item and every user is imagined to have had.

    Notes
    -----
    The defaults were tuned for rating error on splits inside a training part of MovieLens 100K.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.Cosine(neighbours=20).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["neighbours"].shape
    (100, 20)
    >>> len(release.recommend(ratings.history_at(0), k=3, explain=True))
    3
    """

    neighbours: int = 200
    centre: Literal["none", "item", "user"] = "user"
    presence: float = 1.0
    shrinkage: float = 0.0
    power: float = 3.0
    damping: float = 0.01
    item_damping: float = 5.0
    user_damping: float = 10.0

    implicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        neighbourhood.check_settings(self)
        require_number("presence", self.presence, least=0)

    @classmethod
    def plain(cls, neighbours: int = 900) -> "Cosine":
        """The textbook form: cosine of the raw ratings, means as they are, nothing shrunk.

        >>> Cosine.plain().centre
        'none'
        """
        return cls(neighbours=neighbours, centre="none", presence=0, power=1, damping=0, item_damping=0, user_damping=0)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for the biases and for the products of all pairs of items, and release the nearest items."""
        check_population(self, population)
        mean, item_bias = item_biases(population, self.item_damping)
        compared = compared_items.Compared(mean + item_bias, self.centre, self.user_damping, self.presence)
        norms = np.sqrt(population.sum(compared_items.squares(len(population.catalogue), compared)))
        shrinkage = float(self.shrinkage)
        statistics = PRODUCTS_AND_COUNTS if shrinkage > 0 else PRODUCTS
        blocks = compared_items.blocks_of_sums(population, compared, statistics, progress)
        return compared_items.release_of(
            self, population, mean, item_bias, blocks, lambda sums, first: cosine_rows(sums, first, norms, shrinkage)
        )

    declared, prepare = neighbourhood.declared, neighbourhood.prepare
    predict, score, explain = neighbourhood.predict, neighbourhood.score, neighbourhood.explain
