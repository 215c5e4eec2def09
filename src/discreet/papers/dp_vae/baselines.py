"""What the paper compares with, and ours beside it: from ratings and histories to scores of all items.

``KNN``      Surprise's: the 40 users with the least mean squared difference, items ranked by predicted rating
``SVD``      Surprise's: biased factors, 100 of them, plain SGD with steps of .005 and penalty .02, 20 epochs
``MF``       the same without biases
``LightFM``  its WARP loss (:class:`discreet.WARP`), with no features
``DPMF``     the cited objective perturbation (:class:`discreet.papers.ObjectivePerturbedMF`), epsilon 1
``AE``, ``DPAE``  the autoencoder, and plain DP-SGD of it with epsilon 1

Ours: popularity, EASE, item neighbours, PureSVD and Mult-VAE trained with Adam; and with a proven epsilon popularity
and Almanac, for whole users.
"""

from collections.abc import Callable, Mapping

import numpy as np

from discreet.data.ratings import Ratings
from discreet.models.almanac import Almanac
from discreet.models.cosine import Cosine
from discreet.models.ease import EASE
from discreet.models.mf import MF
from discreet.models.popularity import Popularity
from discreet.models.svd import SVD
from discreet.models.warp import WARP
from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF
from discreet.populations.population import NoPrivacy
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import User
from discreet.types import Floats

NEIGHBOURS = 40
PROVEN_DELTA = 1.25e-5
"""As the paper's δ on MovieLens 100K."""
Scores = Callable[[Ratings, Ratings, int], Floats]
"""From what is learned from, whose scores are wanted, and a seed."""


def nearest_users(train: Ratings, histories: Ratings, seed: int = 0) -> Floats:
    """KNN: the mean rating of the nearest users who rated the item, each weighted by 1/(1 + mean squared difference).

    Where nobody near rated it, the middle of the scale. A user is no neighbour of their own.
    """
    known, asked = _dense(train), _dense(histories)
    rated, given = (known > 0).astype(np.float32), (asked > 0).astype(np.float32)
    both = given @ rated.T
    squares = (asked**2) @ rated.T + given @ (known**2).T - 2 * asked @ known.T
    near = np.where(both > 0, 1 / (1 + np.maximum(squares, 0) / np.maximum(both, 1)), 0).astype(np.float32)
    if train.users is histories.users or np.array_equal(train.users.names, histories.users.names):
        np.fill_diagonal(near, 0)
    found = np.full((histories.n_users, train.n_items), train.catalogue.scale.middle, dtype=np.float32)
    by_item = train.by_item
    for item in range(train.n_items):
        raters = by_item.users[by_item.indptr[item] : by_item.indptr[item + 1]]
        if len(raters) == 0:
            continue
        weights, values = near[:, raters], known[raters, item]
        if len(raters) > NEIGHBOURS:
            chosen = np.argpartition(-weights, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
            weights, values = np.take_along_axis(weights, chosen, axis=1), values[chosen]
        total = weights.sum(axis=1)
        guess = (weights * values).sum(axis=1) / np.maximum(total, 1e-12)
        found[:, item] = np.where(total > 0, guess, found[:, item])
    return found


def random_scores(train: Ratings, histories: Ratings, seed: int) -> Floats:
    """Chance."""
    return np.random.default_rng(seed).random((histories.n_users, train.n_items), dtype=np.float32)


def svd(train: Ratings, histories: Ratings, seed: int) -> Floats:
    """SVD."""
    return _mf(train, histories, seed, biased=True)


def mf(train: Ratings, histories: Ratings, seed: int) -> Floats:
    """MF."""
    return _mf(train, histories, seed, biased=False)


def _mf(train: Ratings, histories: Ratings, seed: int, *, biased: bool) -> Floats:
    model = MF(factors=100, epochs=20, learning_rate=0.005, decay=1.0, regularisation=0.02, biased=biased, seed=seed)
    return model.fit(train).scores(histories)


def dpmf(train: Ratings, histories: Ratings, seed: int) -> Floats:
    """DPMF."""
    release = ObjectivePerturbedMF(epsilon=1.0, seed=seed).fit(train, randomness=Randomness(seed))
    return release.scores(histories)


def mult_vae(train: Ratings, histories: Ratings, seed: int) -> Floats:
    """Mult-VAE of the paper's size, trained well: Adam, dropout, annealing, early stopping."""
    from discreet.models.mult_vae import MultVAE

    return MultVAE(hidden=80, latent=20, seed=seed).fit(train).scores(histories)


def proven(model: Popularity | Almanac) -> Scores:
    """A model with a proven epsilon of 1 for whole users."""

    def scores(train: Ratings, histories: Ratings, seed: int) -> Floats:
        ledger = Ledger(1.0, PROVEN_DELTA, User())
        return model.fit(TrustedServer(train, ledger, randomness=Randomness(seed))).scores(histories)

    return scores


def exact(model: Popularity | EASE | Cosine | SVD) -> Scores:
    """A model without privacy."""
    return lambda train, histories, seed: model.fit(NoPrivacy(train)).scores(histories)


BASELINES: Mapping[str, Scores] = {
    "KNN": nearest_users,
    "SVD": svd,
    "MF": mf,
    "LightFM": lambda train, histories, seed: WARP(seed=seed).fit(train).scores(histories),
    "DPMF": dpmf,
    "random": random_scores,
    "popularity": exact(Popularity()),
    "EASE": exact(EASE()),
    "item neighbours": exact(Cosine()),
    "PureSVD": exact(SVD()),
    "Mult-VAE, Adam": mult_vae,
    "popularity, proven": proven(Popularity()),
    "Almanac, proven": proven(Almanac()),
}


def _dense(ratings: Ratings) -> Floats:
    return np.asarray(ratings.csr.toarray(), dtype=np.float32)
