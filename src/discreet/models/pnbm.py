"""PNBM: a neighbour model whose similarities are learned.

    a_uj = r_uj − mean − b_j                                          how far a rating lies from the item's mean;
           less b_u with ``centre="user"``                            computed at home
    p_ui = Σ_j s_ij a_uj / D_ui,    D_ui = max(Σ_j |s_ij|, floor)     j over what u rated, i itself left out
    expected rating  =  r_ui − a_ui + p_ui

    minimise  ½ Σ_ui (p_ui − a_ui)² + ½ pull ‖S − S₁‖²   from S₁ by gradient descent:

    ∂p_ui/∂s_ij = (a_uj − sign(s_ij) p_ui) / D_ui,   and  a_uj / D_ui  where the floor holds
    S ← S − step · (Σ_ui (p_ui − a_ui) ∂p_ui/∂S + pull · (S − S₁))

The start S₁ is ``constant``, where p_ui is a user's mean deviation, or ``cosine``, the similarities of
:class:`discreet.models.cosine.Cosine`; rows have mean 1. Predictions do not change when a row and the floor are
multiplied by a number, so a scale of the similarities is no setting: it is in the step and the floor.

The release is sums over users: counts and sums of ratings, the products of pairs for a cosine start, and one
items × items gradient an epoch. Ranking and explanations are those of :mod:`discreet.models.home.neighbourhood`, with
every item as a neighbour.

After Wang and Tang, arXiv 1701.02120, without the noise and with the derivative in full.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require_kinds, require_settings
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.gram import PRODUCTS
from discreet.kernels.neighbours import cosine_rows, nearest
from discreet.kernels.pnbm import learned_means, similarity_gradient
from discreet.models.cosine import Cosine
from discreet.models.denoise.item_biases import item_biases
from discreet.models.home import neighbourhood
from discreet.models.home.item_arrays import ITEM_BIAS, LISTS, MEAN, NOISY_COUNTS
from discreet.models.home.lists import check_width, means_over_lists
from discreet.models.home.user_bias import user_biases
from discreet.models.sums import compared_items
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

MOST_ITEMS = 10_000  # similarities and gradient of more items would take over 2 GB


@checked
@dataclass(frozen=True, kw_only=True)
class PNBM:
    """Item-item neighbours with learned similarities.

    Parameters
    ----------
    start
        Similarities before the first epoch: ``constant`` or ``cosine``.
    centre
        What deviations are from: the ``item``'s mean, or the means of both item and ``user``.
    epochs
        Steps of gradient descent. 0 keeps the start; from ``constant`` that predicts by item mean plus the
        user's mean deviation.
    step, pull
        Length of a step, and how strongly similarities are drawn back to the start.
    floor
        Least sum of similarities to divide by: with few or far neighbours, predictions stay near the mean.
    neighbours
        How many items each item keeps after learning, the most similar ones, as a list; None keeps all.
    item_damping, user_damping
        Ratings at the mean that every item and every user is imagined to have had.

    Notes
    -----
    Items × items similarities are held in memory, so a catalogue may list at most 10,000 items. The defaults were
    tuned for rating error on a split inside a training part of MovieLens 100K.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.PNBM(start="constant", epochs=2).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["similarities"].shape
    (100, 100)
    """

    start: Literal["constant", "cosine"] = "cosine"
    centre: Literal["item", "user"] = "user"
    epochs: int = 5
    step: float = 5.0
    pull: float = 0.03
    floor: float = 10.0
    neighbours: int | None = None
    item_damping: float = 5.0
    user_damping: float = 10.0

    def __post_init__(self) -> None:
        require_kinds(self)
        require_settings(self, "epochs", "pull", "floor", "item_damping", "user_damping", least=0)
        require_settings(self, "step", above=0)
        require_settings(self, "neighbours", least=1)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for the biases and then for one gradient an epoch, and release the similarities."""
        check_population(self, population)
        size = len(population.catalogue)
        if size > MOST_ITEMS:
            raise InputError(
                f"PNBM holds a similarity for every pair of items and takes at most {MOST_ITEMS:,} items, "
                f"the catalogue lists {size:,}; Cosine takes any number"
            )
        if self.neighbours is not None:
            check_width(self.neighbours, size)
        mean, item_bias = item_biases(population, self.item_damping)
        deviations = compared_items.Compared(mean + item_bias, self.centre, self.user_damping)
        start = self._start(population, mean + item_bias, progress)
        similarities = start.copy()
        for epoch in range(self.epochs):
            step = population.sum(gradient(size, similarities, deviations, self.floor, epoch + 1))
            step += self.pull * (similarities - start)
            step *= self.step
            similarities -= step.astype(np.float32)
            progress(epoch + 1, self.epochs, "learning similarities")
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": item_bias,
            "counts": population.sum(item_counts(len(population.catalogue), population.unit)).astype(np.float32),
            "similarities": similarities,
        }
        if self.neighbours is not None:
            arrays["neighbours"], arrays["similarities"] = nearest(similarities, self.neighbours)
        return Release.of(self, population, arrays)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        if "neighbours" not in names:
            return (MEAN, ITEM_BIAS, NOISY_COUNTS, Array("similarities", "float32", ("items", "items")))
        return (MEAN, ITEM_BIAS, NOISY_COUNTS, *LISTS)

    def prepare(self, release: Release) -> "Prepared":
        """The similarities, and the weight of each item in a ranking."""
        base = release.arrays["mean"] + release.arrays["item_bias"]
        weights = neighbourhood.ranking_weights(release)
        lists, width = release.arrays.get("neighbours"), release.catalogue.scale.width
        return Prepared(base, release.arrays["similarities"], weights, width, lists)

    def predict(self, prepared: "Prepared", histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Biases, plus the mean deviation over what the user rated, weighted by similarity."""
        base = prepared.base
        own, deviations = self._at_home(prepared, histories)
        # What is expected of an item that nothing speaks for: the user's bias, unless it is in the base.
        otherwise = np.zeros_like(own) if self.centre == "user" else user_biases(histories, base, self.user_damping)
        similarities, floor = prepared.similarities, float(self.floor)
        if prepared.neighbours is not None:
            lists = prepared.neighbours, similarities
            means = means_over_lists(histories, deviations, users, items, *lists, floor, otherwise)
        else:
            asked = users.copy(), items.copy(), histories.indptr, histories.item_index, deviations
            learned = chosen(histories.n_users, few_pairs.learned_means, learned_means)
            means = learned(asked, similarities, floor, otherwise)
        return np.asarray(base[items] + own[users] + means, dtype=np.float32)

    def score(self, prepared: "Prepared", histories: Ratings) -> Floats:
        """How much each user has rated, and liked, near each item."""
        weights = np.zeros((histories.n_users, histories.n_items), dtype=np.float32)
        weights[histories.user_index, histories.item_index] = self._weights(prepared, histories)
        return np.asarray(weights @ prepared.matrix.T * prepared.item_weights, dtype=np.float32)

    def explain(self, prepared: "Prepared", history: History, item: int) -> Floats:
        """What each rating of the history adds to the score of ``item``."""
        similarities = prepared.row(item)[history.items]
        weights = self._weights(prepared, Ratings.of_history(history))
        return np.asarray(similarities * weights * prepared.item_weights[item], dtype=np.float32)

    def _start(self, population: Population, base: Floats, progress: Progress) -> Floats:
        size = len(population.catalogue)
        start = np.ones((size, size), dtype=np.float32)
        if self.start == "cosine":
            like = Cosine()
            compared = compared_items.Compared(base, self.centre, self.user_damping, like.presence)
            norms = np.sqrt(population.sum(compared_items.squares(size, compared)))
            for first, sums in compared_items.blocks_of_sums(population, compared, PRODUCTS, progress):
                similar = np.maximum(cosine_rows(sums, first, norms, 0.0), 0) ** np.float32(like.power)
                total = similar.sum(axis=1, keepdims=True)
                start[first : first + len(sums)] = np.divide(similar * size, total, out=similar, where=total > 0)
        np.fill_diagonal(start, 0)
        return start

    def _at_home(self, prepared: "Prepared", histories: Ratings) -> tuple[Floats, Floats]:
        own = user_biases(histories, prepared.base, self.user_damping)
        if self.centre == "item":
            own = np.zeros_like(own)
        return own, histories.values - prepared.base[histories.item_index] - own[histories.user_index]

    def _weights(self, prepared: "Prepared", histories: Ratings) -> Floats:
        return 1 + self._at_home(prepared, histories)[1] / np.float32(prepared.width)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Expected ratings, similarities, weights of the items in a ranking, and the width of the scale.

    Where only the nearest were kept, ``neighbours`` says which items the similarities are to.
    """

    base: Floats
    similarities: Floats
    item_weights: Floats
    width: float
    neighbours: Indices | None = None

    @cached_property
    def matrix(self) -> Any:
        """The similarities of all pairs; sparse where there are lists."""
        if self.neighbours is None:
            return self.similarities
        import scipy.sparse as sp

        listed = self.similarities > 0
        starts = np.concatenate([[0], np.cumsum(listed.sum(axis=1))])
        shape = (len(self.neighbours),) * 2
        return sp.csr_array((self.similarities[listed], self.neighbours[listed], starts), shape=shape)

    def row(self, item: int) -> Floats:
        """Similarities of one item to all."""
        similarities: Floats = self.similarities[item]
        if self.neighbours is None:
            return similarities
        row = np.zeros(len(self.base), dtype=np.float32)
        row[self.neighbours[item][similarities > 0]] = similarities[similarities > 0]
        return row


def gradient(
    size: int, similarities: Floats, deviations: compared_items.Compared, floor: float, epoch: int
) -> Contribution:
    """Gradient of half the squared errors in the similarities."""

    def total(ratings: Ratings) -> Doubles:
        columns = ratings.by_item
        return similarity_gradient(
            similarities,
            (columns.indptr, columns.users, deviations.by_item(ratings)),
            (ratings.indptr, ratings.item_index, deviations(ratings)),
            float(floor),
        )

    return Contribution(name=f"gradient of the similarities, epoch {epoch}", shape=(size, size), total=total)
