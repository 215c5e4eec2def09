"""Item-item weights: EASE from noisy co-occurrence counts. Post-processing, so it costs no privacy.

Taste factors T keep of W, how many rated both of two items, what stands out of the noise. Single pairs of items that go
together are lost in them. With L = T Tᵀ, scaled to W by least squares off the diagonal,

    G     =  L + k (W − L)                  off the diagonal; most of what T leaves is noise, so k is small
    G_ii  =  what its raters weigh in W, or L_ii if that is more
    B     =  ridge weights of each item on all others   (:mod:`~discreet.kernels.weights_of_others`), with
    λ     =  125 a + 1.8 s √K               a what a rating weighs in W, s the noise on W, K the number of items

The spectral norm of k times the noise is 2 k s √K < λ, so G + λ I is positive definite unless L is far off; if it is
not, λ is doubled. Released are the largest weights of each item.
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError
from discreet.kernels.weights_of_others import weights_of_others
from discreet.types import AnyArray, Doubles, Floats, Indices


@dataclass(frozen=True)
class _Constants:
    """Chosen on splits with the seeds 501 and 502 of MovieLens 100K, 1M and latest-small, FilmTrust and synthetic
    ratings."""

    kept_with_noise: float = 0.3
    """The k above."""
    kept: float = 0.5
    """The same without noise."""
    ridge_of_ratings: float = 125.0
    """λ, in what a rating weighs in W."""
    ridge_of_noise: float = 1.8
    """The same, in s √K."""
    width: int = 100
    """How many weights of an item are released: with half as many, half of the gain is lost where noise is small."""
    least_width: int = 16
    """The same in a very large catalogue."""
    one_in: int = 6
    """The same in a small one: a sixth of all items."""
    cells: int = 2_000_000
    """About how many weights are released of all items: 16 MB with the positions."""

    most_items: int = 8192
    """Of more items there are none: the inverse takes their square in doubles, half a GB here."""


CONSTANTS = _Constants()


def released_width(size: int) -> int:
    """How many weights of an item are released, of a catalogue with so many items.

    >>> [released_width(size) for size in (10, 1_000, 40_000, 10**6)]
    [1, 100, 50, 16]
    """
    return min(max(CONSTANTS.cells // size, CONSTANTS.least_width), CONSTANTS.width, size // CONSTANTS.one_in)


def item_weights(
    weights: Floats, tastes: Floats, counts: Doubles, noise: float, weight_of_a_rating: float, width: int
) -> tuple[Indices, Floats]:
    """For each listed item the positions of the listed items that weigh most for it, and their weights: items by width.

    Parameters
    ----------
    weights
        The noisy W of the listed items.
    tastes
        Their taste factors. Without a pattern beside popularity all weights are 0.
    counts
        How often they were rated, in the unit in which a rating weighs ``weight_of_a_rating`` in W.
    noise
        The standard deviation of the noise on W off its diagonal.
    weight_of_a_rating
        The a above.
    width
        How many for each.
    """
    size = len(counts)
    if tastes.shape[1] < 2 or width < 1 or weight_of_a_rating <= 0 or size > CONSTANTS.most_items:
        return np.zeros((size, width), dtype=np.int32), np.zeros((size, width), dtype=np.float32)
    explained = tastes.astype(np.float64) @ tastes.T.astype(np.float64)
    diagonal = np.diag(explained).copy()
    np.fill_diagonal(explained, 0)
    scale = max(float(np.vdot(explained, weights)) / (float(np.vdot(explained, explained)) or 1.0), 0.0)
    kept = CONSTANTS.kept_with_noise if noise > 0 else CONSTANTS.kept
    gram = (1 - kept) * scale * explained + kept * weights
    np.fill_diagonal(gram, np.maximum(counts * weight_of_a_rating, scale * diagonal))
    ridge = CONSTANTS.ridge_of_ratings * weight_of_a_rating + CONSTANTS.ridge_of_noise * noise * np.sqrt(size)
    return _largest(_weights(gram, ridge), width)


def _weights(gram: Doubles, ridge: float) -> Floats:
    while True:
        try:
            return weights_of_others(gram, ridge)
        except InputError:  # not positive definite
            ridge *= 2


def _largest(weights: Floats, width: int) -> tuple[Indices, Floats]:
    """Of each column the rows with the largest absolute values, in the order of the rows."""
    by_item = np.ascontiguousarray(weights.T)
    chosen: AnyArray = np.argpartition(-np.abs(by_item), width - 1, axis=1)[:, :width]
    chosen = np.sort(chosen, axis=1).astype(np.int32)
    return chosen, np.take_along_axis(by_item, chosen, axis=1)
