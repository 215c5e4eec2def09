"""DP-VAE, as published (Fang, Du, Wu 2022), and the same training of a plain autoencoder.

Every round takes 𝒰 users, one sample each, the whole row (Algorithm 3; the network is :mod:`.network`):

    g_k      the gradient of user k's loss over all weights together
    S        ``optimal``: Optimal_Clip of the batch's norms; ``constant`` and ``plain``: a number
    ĝ_k      = g_k min(1, S/‖g_k‖) + N(0, σ_k² I),    σ_k = √(2 ln(1.25/δ)) S/ε_k
    weights  ← weights − η mean_k ĝ_k                                            (:mod:`.rounds`)

``plain`` is the DP-SGD that the paper compares with (Abadi et al.): one noise on the sum, made for all steps together
as if batches were secret samples. Every user has a level ε_k, uniform in (0, ε] (``levels="uniform"``), or ε. An epoch
goes through all users once.

Where the paper leaves things open, the cited Mult-VAE's step is taken: rows of ones, divided by their length, tanh. It
has dropout of the input, which the paper does not name: there is none here. δ_k is "the inverse of the training data
size", which is a secret: a setting here, whose default is that of MovieLens 100K.

At home a user encodes their own row. Without ratings the code is the mean of the user's own prior, made of what they
say of themselves: a cold start.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.word_vectors import WordVectors, embed_facts, word_vectors
from discreet.doors import checked
from discreet.errors import require_seed, require_settings
from discreet.models.home.user_prior import UserPriors
from discreet.papers.dp_vae.network import Gradients, Network
from discreet.papers.dp_vae.priors import exact_means, published_priors
from discreet.papers.dp_vae.privacy import guarantee
from discreet.papers.dp_vae.rounds import Rounds, draw_levels, fast_generator
from discreet.papers.frame.checks import check_readings
from discreet.populations.asking import check_ratings
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

CLIPPING = ("optimal", "constant", "plain")
LEVELS = ("uniform", "same")


@checked
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
        check_readings(self, {"levels": LEVELS, "clipping": CLIPPING})
        require_settings(self, "delta", above=0, below=1)
        require_settings(self, "clip", "learning_rate", above=0)
        require_settings(self, "hidden", "latent", "batch", least=1)
        require_settings(self, "epochs", "divergence", least=0)
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
        users describe themselves (default: :func:`~discreet.data.word_vectors.word_vectors`).
        """
        check_ratings(self, ratings)
        randomness = Randomness() if randomness is None else randomness
        network = self.network(ratings.n_items)
        rng = fast_generator(randomness)
        told, priors = self.priors_of(ratings, rng, words)
        flat = self.train(ratings, network, priors, rng, progress)
        arrays = {name: array.astype(np.float32) for name, array in network.views(flat).items()} | told
        promise = guarantee(self.epsilon, self.delta, self.clipping, priors=bool(told), seeded=randomness.is_seeded)
        return Release(self, arrays, ratings.catalogue, promise)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release, those of the priors where users said something of themselves."""
        out = 2 * self.latent if self.variational else self.latent
        told = (
            Array("fact_means", "float32", ("facts", self.latent)),
            Array("words", "float32", ("words", self.latent)),
        )
        return (
            Array("encoder_in", "float32", ("items", self.hidden)),
            Array("encoder_in_bias", "float32", (self.hidden,)),
            Array("encoder_out", "float32", (self.hidden, out)),
            Array("encoder_out_bias", "float32", (out,)),
            Array("decoder_in", "float32", (self.latent, self.hidden)),
            Array("decoder_in_bias", "float32", (self.hidden,)),
            Array("decoder_out", "float32", (self.hidden, "items")),
            Array("decoder_out_bias", "float32", ("items",)),
            *(told if "fact_means" in names else ()),
        )

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: of the last constants Theorem 4 claims noise of deviation √(2 ln(1.25/δ)) S/ε."""
        from discreet.papers.dp_vae.privacy import multiplier
        from discreet.papers.frame.looks import look_at

        release = self.fit(ratings, randomness=randomness)
        if self.epsilon is None:
            return release, ()
        scale = multiplier(self.delta) * self.clip / self.epsilon
        weights, what = release.arrays["decoder_out_bias"], "weights trained with noise"
        return release, look_at(weights, what, sensitivity=self.clip, scale=scale, mechanism="gaussian")

    def network(self, items: int) -> Network:
        """Of this size."""
        return Network(items, self.hidden, self.latent, self.variational)

    def levels_of(self, users: int) -> Doubles | None:
        """ε_k of every user; None without noise."""
        return draw_levels(self.epsilon, users, self.seed, same=self.levels == "same")

    def priors_of(
        self, ratings: Ratings, rng: np.random.Generator, words: WordVectors | None = None
    ) -> tuple[dict[str, Floats], UserPriors]:
        """What users need at home to make their own prior, where they say anything of themselves, and every prior."""
        if not (self.priors and self.variational and ratings.user_facts):
            return {}, UserPriors.standard(ratings.n_users, self.latent)
        table = (word_vectors() if words is None else words).table(self.latent)
        embedded = embed_facts(ratings.user_facts, ratings.n_users, table)
        means = exact_means(embedded)
        priors = published_priors(embedded, means, self.levels_of(ratings.n_users), self.delta, rng)
        return {"fact_means": means, "words": table}, priors

    def train(
        self,
        ratings: Ratings,
        network: Network,
        priors: UserPriors,
        rng: np.random.Generator,
        progress: Progress = no_progress,
    ) -> Floats:
        """Algorithm 3: all weights in one vector."""
        order, flat, rows = np.random.default_rng([self.seed, 2]), network.start(self.seed), dense_rows(ratings)
        weights = network.views(flat)

        def gradients(users: AnyArray) -> Gradients:
            prior = UserPriors(priors.means[users], priors.variances[users])
            codes = order.standard_normal((len(users), self.latent), dtype=np.float32)
            return network.gradients(weights, rows(users), codes, prior, self.divergence)

        self.rounds(ratings.n_users).descend(flat, ratings.n_users, gradients, order, rng, progress)
        return flat

    def rounds(self, users: int) -> Rounds:
        """Algorithm 3 with these settings."""
        return Rounds(
            levels=self.levels_of(users),
            delta=self.delta,
            clipping=self.clipping,
            clip=self.clip,
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.learning_rate,
            epsilon=self.epsilon,
        )

    # ── At home ──

    def score(self, release: Release, histories: Ratings) -> Floats:
        """y, from the user's own row; without ratings from the user's own prior."""
        network, weights = self.network(histories.n_items), dict(release.arrays)
        own = dense_rows(histories)(np.arange(histories.n_users))
        count = own.sum(axis=1, keepdims=True)
        _, codes = network.encode(weights, own / np.maximum(np.sqrt(count), 1))
        codes = codes[:, : self.latent]
        if "fact_means" in weights and (count == 0).any():
            priors = UserPriors.of_users(histories, weights["fact_means"], weights["words"])
            codes = np.where(count == 0, priors.means, codes)
        return np.asarray(network.decode(weights, codes)[1], dtype=np.float32)


def dense_rows(ratings: Ratings) -> Any:
    """From positions of users to their rows: 1 where an item was rated."""

    def rows(users: AnyArray) -> Floats:
        found = np.zeros((len(users), ratings.n_items), dtype=np.float32)
        for place, user in enumerate(users):
            found[place, ratings.item_index[ratings.indptr[user] : ratings.indptr[user + 1]]] = 1
        return found

    return rows
