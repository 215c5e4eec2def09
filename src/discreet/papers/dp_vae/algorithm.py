"""DP-VAE, as published (Fang, Du, Wu 2022), and the same training of a plain autoencoder.

Every round takes 𝒰 users, one sample each, the whole row (Algorithm 3; the network is :mod:`.network`):

    g_k      the gradient of user k's loss over all weights together
    S        ``optimal``: Optimal_Clip of the batch's norms; ``constant`` and ``plain``: a number
    ĝ_k      = g_k min(1, S/‖g_k‖) + N(0, σ_k² I),    σ_k = √(2 ln(1.25/δ)) S/ε_k
    weights  ← weights − η mean_k ĝ_k

``plain`` is the DP-SGD that the paper compares with (Abadi et al.): one noise on the sum, made for all steps together as if
batches were secret samples. Every user has a level ε_k, uniform in (0, ε] (``levels="uniform"``), or ε. An epoch goes
through all users once. The noise of the ten users of a batch is drawn as one, of variance Σσ_k²: the server adds them up
anyway. It comes from a fast generator with a key from :class:`~discreet.privacy.randomness.Randomness`: 30 epochs take
780 million numbers, and nothing is proven of them.

Where the paper leaves things open, the cited Mult-VAE's step is taken: rows of ones, divided by their length, tanh. It has
dropout of the input, which the paper does not name: there is none here. δ_k is "the inverse of the training data size",
which is a secret: a setting here, whose default is that of MovieLens 100K.

At home a user encodes their own row. Without ratings the code is the mean of the user's own prior, made of what they say
of themselves: a cold start.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.word_vectors import WordVectors, embed_facts, word_vectors
from discreet.errors import require, require_number, require_seed, require_whole
from discreet.models.home.user_prior import UserPriors
from discreet.papers.dp_vae.clipping import expected_error, optimal_clip
from discreet.papers.dp_vae.network import Network
from discreet.papers.dp_vae.priors import exact_means, published_priors
from discreet.papers.dp_vae.privacy import guarantee, multiplier
from discreet.populations.asking import check_ratings
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

CLIPPING = ("optimal", "constant", "plain")
LEVELS = ("uniform", "same")
LEAST_LEVEL = 1e-3
"""Levels are uniform in (0, ε]; below this share of ε they are taken for it, or one user's noise would be all there is."""


@dataclass(frozen=True, kw_only=True)
class DPVAE:
    """A variational autoencoder with noise on users' gradients. Claimed, not proven.

    Parameters
    ----------
    epsilon
        The largest level that a user may choose: what the paper claims. None for no clipping and no noise.
    delta
        δ_k, the same for everybody.
    levels
        ``uniform``: every user's ε_k is drawn from (0, ε]; ``same``: all have ε.
    clipping
        ``optimal``, ``constant`` or ``plain``: see the module.
    clip
        S, where it is constant.
    priors
        Whether users' own facts (age, gender, occupation) give their priors, where there are any; else N(0, 1).
    hidden, latent, variational
        Sizes of the network, and whether it is variational or a plain autoencoder.
    epochs, batch, learning_rate, divergence
        Passes over the users, users in a step, η, and β.
    seed
        Of the first weights, the order of users, the samples of codes and who has which level.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = DPVAE(hidden=8, latent=4, epochs=1).fit(ratings)
    >>> release.guarantee.claimed, release.guarantee.proven is None
    (Loss(epsilon=1.0, delta=1.25e-05), True)
    """

    epsilon: float | None = 1.0
    delta: float = 1.25e-5
    levels: Literal["uniform", "same"] = "uniform"
    clipping: Literal["optimal", "constant", "plain"] = "optimal"
    clip: float = 1.5
    priors: bool = True
    hidden: int = 80
    latent: int = 20
    variational: bool = True
    epochs: int = 30
    batch: int = 10
    learning_rate: float = 0.005
    divergence: float = 0.5
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(
            self.epsilon is None or 0 < self.epsilon < float("inf"),
            f"epsilon must be positive and finite, or None for no noise, got {self.epsilon}",
        )
        require_number("delta", self.delta, above=0, below=1)
        require(self.levels in LEVELS, f"levels must be one of {', '.join(LEVELS)}, got {self.levels!r}")
        require(self.clipping in CLIPPING, f"clipping must be one of {', '.join(CLIPPING)}, got {self.clipping!r}")
        require_number("clip", self.clip, above=0)
        for name in ("hidden", "latent", "batch"):
            require_whole(name, getattr(self, name), least=1)
        require_whole("epochs", self.epochs, least=0)
        require_number("learning_rate", self.learning_rate, above=0)
        require_number("divergence", self.divergence, least=0)
        require_seed(self.seed)

    # ── Training ──

    def fit(
        self,
        ratings: Ratings,
        progress: Progress = no_progress,
        *,
        randomness: Randomness | None = None,
        words: WordVectors | None = None,
    ) -> Release:
        """Train on raw ratings, and release the weights.

        ``randomness`` can be seeded for experiments; the guarantee says so. ``words`` are vectors of the words in which
        users describe themselves: GloVe's if its package is installed, else hashed. Users who score at home must have
        the same.
        """
        check_ratings(self, ratings)
        randomness = Randomness() if randomness is None else randomness
        network = self.network(ratings.n_items)
        rng = fast_generator(randomness)
        told, priors = self.priors_of(ratings, rng, words)
        flat = self.train(ratings, network, priors, rng, progress)
        arrays = {name: array.astype(np.float32) for name, array in network.views(flat).items()}
        if told is not None:
            arrays["fact_means"] = told
        promise = guarantee(
            self.epsilon, self.delta, self.clipping, priors=told is not None, seeded=randomness.is_seeded
        )
        return Release(self, arrays, ratings.catalogue, promise)

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: the release, whose weights are no sum with noise on it."""
        from discreet.papers.dp_vae.looks import looks_at

        release = self.fit(ratings, randomness=randomness)
        return release, looks_at(release.arrays["decoder_out_bias"], self.epsilon, self.delta, self.clip)

    def network(self, items: int) -> Network:
        """Of this size."""
        return Network(items, self.hidden, self.latent, self.variational)

    def levels_of(self, users: int) -> Doubles | None:
        """ε_k of every user; None without noise."""
        if self.epsilon is None:
            return None
        if self.levels == "same":
            return np.full(users, float(self.epsilon))
        drawn = 1 - np.random.default_rng([self.seed, 1]).random(users)  # in (0, 1]
        return np.asarray(self.epsilon * np.maximum(drawn, LEAST_LEVEL))

    def priors_of(
        self, ratings: Ratings, rng: np.random.Generator, words: WordVectors | None = None
    ) -> tuple[Floats | None, UserPriors]:
        """The means of what users say of themselves, where they do, and every user's prior."""
        if not (self.priors and self.variational and ratings.user_facts):
            return None, UserPriors.standard(ratings.n_users, self.latent)
        words = word_vectors() if words is None else words
        embedded = embed_facts(ratings.user_facts, ratings.n_users, self.latent, words)
        means = exact_means(embedded)
        return means, published_priors(embedded, means, self.levels_of(ratings.n_users), self.delta, rng)

    def train(
        self,
        ratings: Ratings,
        network: Network,
        priors: UserPriors,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> Floats:
        """Algorithm 3: all weights in one vector."""
        order = np.random.default_rng([self.seed, 2])
        flat = network.start(self.seed)
        weights, change = network.views(flat), np.zeros_like(flat)
        changes = network.views(change)
        rows = dense_rows(ratings)
        levels = self.levels_of(ratings.n_users)
        calibrated = self._calibrated(ratings.n_users)
        for epoch in range(self.epochs):
            for users in np.array_split(order.permutation(ratings.n_users), max(1, ratings.n_users // self.batch)):
                prior = UserPriors(priors.means[users], priors.variances[users])
                codes = order.standard_normal((len(users), self.latent), dtype=np.float32)
                found = network.gradients(weights, rows(users), codes, prior, self.divergence)
                share, deviation = np.ones(len(users)), 0.0
                if levels is not None:
                    bound = self.clip
                    if self.clipping == "optimal":
                        error = expected_error(found.norms, found.sums, levels[users], self.delta, network.count)
                        bound = optimal_clip(found.norms, error)
                    share = np.minimum(1, bound / np.maximum(found.norms, 1e-30))
                    deviation = bound * (
                        calibrated if self.clipping == "plain" else noise_of_batch(levels[users], self.delta)
                    )
                step = self.learning_rate / len(users)
                found.total(step * share, changes)
                if deviation:
                    change += np.float32(step * deviation) * rng.standard_normal(len(change), dtype=np.float32)
                flat -= change
            progress(epoch + 1, self.epochs, "epochs")
        return flat

    def _calibrated(self, users: int) -> float:
        """The noise of plain DP-SGD, in units of S: for all steps together, over secret samples."""
        if self.epsilon is None or self.clipping != "plain" or self.epochs == 0:
            return 0.0
        from discreet.privacy.accounting import sampled_noise_multiplier

        steps = max(1, users // self.batch)
        return sampled_noise_multiplier(float(self.epsilon), self.delta, min(1.0, 1 / steps), steps * self.epochs)

    # ── At home ──

    def score(self, release: Release, histories: Ratings, words: WordVectors | None = None) -> Floats:
        """y, from the user's own row; without ratings from the user's own prior."""
        network, weights = self.network(histories.n_items), dict(release.arrays)
        own = dense_rows(histories)(np.arange(histories.n_users))
        count = own.sum(axis=1, keepdims=True)
        _, codes = network.encode(weights, own / np.maximum(np.sqrt(count), 1))
        codes = codes[:, : self.latent]
        if "fact_means" in weights and (count == 0).any():
            words = word_vectors() if words is None else words
            priors = UserPriors.of_users(histories, weights["fact_means"], words)
            codes = np.where(count == 0, priors.means, codes)
        return np.asarray(network.decode(weights, codes)[1], dtype=np.float32)


def noise_of_batch(levels: AnyArray, delta: float) -> float:
    """√Σσ_k², in units of S.

    >>> round(noise_of_batch(np.ones(10), 1.25e-5), 2)
    15.17
    """
    return multiplier(delta) * float(np.sqrt((1 / np.asarray(levels) ** 2).sum()))


def dense_rows(ratings: Ratings) -> Any:
    """From positions of users to their rows: 1 where an item was rated."""

    def rows(users: AnyArray) -> Floats:
        found = np.zeros((len(users), ratings.n_items), dtype=np.float32)
        for place, user in enumerate(users):
            found[place, ratings.item_index[ratings.indptr[user] : ratings.indptr[user + 1]]] = 1
        return found

    return rows


def fast_generator(randomness: Randomness) -> np.random.Generator:
    """A generator keyed by the secret stream."""
    return np.random.Generator(np.random.SFC64(randomness.words(4).tolist()))
