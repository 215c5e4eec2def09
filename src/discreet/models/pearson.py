"""Pearson: items are alike when the people who rated both rated them alike.

    x_uj = r_uj − mean − b_j − b_u                       what is compared, computed at home
    ρ_ij = correlation of x_ui and x_uj over the n_ij users who rated both
    s_ij = (ρ_ij · n_ij / (n_ij + shrinkage))^power  for the ``neighbours`` largest positive ones of item i, else 0

Neighbours predict, rank and explain as :mod:`discreet.models.home.neighbourhood` says. The release is sums over users:
counts and sums of ratings, and for all pairs of items, by blocks of rows, Σ x_ui x_uj, n_ij, Σ x_ui, Σ x_uj, Σ x_ui²
and Σ x_uj² over the users who rated both.

Two items with two common users correlate perfectly or perfectly not: without ``shrinkage`` the nearest items are
mostly accidents.
"""

from dataclasses import dataclass
from typing import Literal

from discreet.doors import checked
from discreet.kernels.gram import MOMENTS
from discreet.kernels.neighbours import pearson_rows
from discreet.models.denoise.item_biases import item_biases
from discreet.models.home import neighbourhood
from discreet.models.sums import compared_items
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class Pearson:
    """Item-item neighbours by correlation over the users who rated both.

    Parameters
    ----------
    neighbours
        How many items each item keeps, the most similar ones.
    centre
        What is taken from each rating before items are compared: with ``user`` the means of both item and user.
        ``none`` and ``item`` say the same here, as a correlation does not see an item's mean.
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
    >>> release = dc.Pearson(neighbours=20).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["similarities"].shape
    (100, 20)
    """

    neighbours: int = 200
    centre: Literal["none", "item", "user"] = "user"
    shrinkage: float = 100.0
    power: float = 2.0
    damping: float = 0.05
    item_damping: float = 5.0
    user_damping: float = 10.0

    def __post_init__(self) -> None:
        neighbourhood.check_settings(self)

    @classmethod
    def plain(cls, neighbours: int = 900) -> "Pearson":
        """The textbook form: correlation of the ratings, means as they are, nothing shrunk.

        >>> Pearson.plain().shrinkage
        0
        """
        return cls(
            neighbours=neighbours, centre="none", shrinkage=0, power=1, damping=0, item_damping=0, user_damping=0
        )

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for the biases and for the moments of all pairs of items, and release the nearest items."""
        check_population(self, population)
        shrinkage = float(self.shrinkage)
        mean, item_bias = item_biases(population, self.item_damping)
        compared = compared_items.Compared(mean + item_bias, self.centre, self.user_damping)
        blocks = compared_items.blocks_of_sums(population, compared, MOMENTS, progress)
        return compared_items.release_of(
            self, population, mean, item_bias, blocks, lambda sums, first: pearson_rows(sums, first, shrinkage)
        )

    declared, prepare = neighbourhood.declared, neighbourhood.prepare
    predict, score, explain = neighbourhood.predict, neighbourhood.score, neighbourhood.explain
