"""Noise in pieces (Theorem 2), and the streams that it is drawn from.

If h ~ Exp(1) and c ~ N(0, 1), then b √(2h) c has the Laplace law of scale b. The recommender draws h for every
coordinate of an item and sends it to the item's k users; each draws c of variance 1/k. The sum over the k users is then
b √(2h) N(0, 1): Laplace, if all k have the same h, the right k, and send their piece.

Pieces are real numbers, as published, rounded when they are encoded: a proof would want noise on the grid.
"""

import math

import numpy as np

from discreet.kernels.untrusted import Words, exponentials_of, normals_of
from discreet.privacy.randomness import Randomness
from discreet.types import Doubles


class Streams:
    """Numbers by purpose and round, from one secret key: whoever asks again gets the same.

    >>> streams = Streams(bytes(32))
    >>> bool((streams.normals("rho", 1, 2, 3) == streams.normals("rho", 1, 2, 3)).all())
    True
    """

    def __init__(self, key: bytes) -> None:
        self._secret = key

    def normals(self, purpose: str, round_: int, rows: int, columns: int) -> Doubles:
        """Standard normal numbers, row by row."""
        return normals_of(self._words(purpose, round_, rows * columns)).reshape(rows, columns)

    def exponentials(self, purpose: str, round_: int, rows: int, columns: int) -> Doubles:
        """Exponential numbers of mean 1."""
        return exponentials_of(self._words(f"H of {purpose}", round_, rows * columns)).reshape(rows, columns)

    def _words(self, purpose: str, round_: int, count: int) -> Words:
        return Randomness.of_key(self._secret, f"{purpose} {round_}").words(count)


def laplace_scale(epsilon: float, width: float, factors: int) -> float:
    """Of Lemma 1, in every coordinate: 2Δ√d/ε.

    >>> round(laplace_scale(0.1, 4.0, 50), 1)
    565.7
    """
    return 2 * width * math.sqrt(factors) / epsilon


def pieces(scale: float, exponentials: Doubles, normals: Doubles, counts: Doubles) -> Doubles:
    """A piece for each row: ``scale √(2H) C``, C normal of variance 1/k; ``counts`` has k of each row."""
    return np.asarray(scale * np.sqrt(2 * exponentials) * (normals / np.sqrt(counts)[:, None]))
