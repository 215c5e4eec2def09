"""Mult-VAE: a variational autoencoder with a multinomial likelihood (Liang, Krishnan, Hoffman & Jebara 2018).

    x_u                        the row of who rated what, divided by its length
    (m, log s²)  = encoder(x_u)            items → hidden → 2 · latent, tanh between
    z = m + s ⊙ e,   e ~ N(0, I)           in training; z = m in scoring
    π  = softmax(decoder(z))               latent → hidden → items

    maximise  Σ_i x_ui log π_i − β KL(N(m, s²) ‖ N(0, I)),   β growing from 0 over the first epochs

A score is the logit of the item: whoever rates what the encoder has seen is folded in, so new users are no special
case, and the release is weights alone. It looks at who rated what, not how high.

It is trained on raw ratings, so it is a reference and not a private model; :class:`discreet.models.PrivateVAE` is the
private one. Training needs torch, scoring does not.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.kernels.autoencoder import Arrays, Sizes, for_scoring
from discreet.kernels.autoencoder_training import Training, train
from discreet.models.home.codes import network_scores
from discreet.models.home.network_arrays import network_arrays
from discreet.populations.asking import check_ratings
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class MultVAE:
    """A variational autoencoder of who rated what, for ranking.

    Parameters
    ----------
    hidden, latent
        Length of the hidden layers, 0 for none, and of the code.
    epochs, batch, learning_rate
        Passes over the users at most, users a step, and the step of Adam.
    beta, annealing
        Weight of the KL term, and over which share of the steps it grows to it.
    dropout
        Share of a user's items that is left out of the input at random.
    decay
        How strongly weights are pulled to 0.
    validation, patience
        Which share of the users is held out to decide when to stop, and after how many epochs without a better
        NDCG@100 of theirs; patience 0 trains on everybody for all epochs.
    seed
        Of everything random.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.models.MultVAE(hidden=8, latent=4, epochs=2).fit(ratings)
    >>> release.arrays["output_weights"].shape
    (30, 8)
    """

    raw_ratings: ClassVar[bool] = True
    extras: ClassVar[dict[str, str]] = {"torch": "torch"}

    hidden: int = 200
    latent: int = 64
    epochs: int = 200
    batch: int = 100
    learning_rate: float = 1e-3
    beta: float = 0.2
    annealing: float = 0.5
    dropout: float = 0.5
    decay: float = 0.0
    validation: float = 0.1
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_training(self)
        require_settings(self, "beta", least=0)
        require_settings(self, "annealing", least=0, most=1)

    def fit(self, ratings: Ratings, progress: Progress = no_progress) -> Release:
        """Train on raw ratings, and release the weights that scoring needs."""
        check_ratings(self, ratings)
        return Release.of_ratings(self, ratings, trained(self, ratings, progress, variational=True))

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return network_arrays(self.hidden, self.latent)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The logits of all items, from the user's own history."""
        return network_scores(release, histories, variational=True)


def trained(model: Any, ratings: Ratings, progress: Progress, *, variational: bool) -> Arrays:
    """The weights that scoring needs, of a network with the model's sizes that was trained as its settings say."""
    hidden, latent = int(model.hidden), int(model.latent)
    sizes = Sizes(items=ratings.n_items, hidden=hidden, latent=latent, variational=variational)
    named = {field.name for field in fields(Training)} & set(vars(model))
    how = Training(**{name: getattr(model, name) for name in named})
    return for_scoring(sizes, train(ratings.indptr, ratings.item_index, sizes, how, progress))


def check_training(model: object) -> None:
    """Raise for a setting that cannot be used, of those that the autoencoders have in common."""
    require_settings(model, "hidden", "epochs", "patience", "decay", least=0)
    require_settings(model, "latent", "batch", least=1)
    require_settings(model, "learning_rate", above=0)
    require_settings(model, "dropout", "validation", least=0, below=1)
    require_kinds(model)
