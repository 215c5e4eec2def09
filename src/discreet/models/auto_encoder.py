"""A denoising autoencoder with a multinomial likelihood: :class:`~discreet.models.MultVAE` without a distribution.

    code = tanh(encoder(x_u)),   π = softmax(decoder(code)),   maximise  Σ_i x_ui log π_i

It has no prior and no variance: dropout of the input is all that keeps it from copying. With ``hidden=0`` it is
items → latent → items, the smallest network that learns who rates what.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.models.home.codes import network_scores
from discreet.models.home.network_arrays import network_arrays
from discreet.models.mult_vae import check_training, trained
from discreet.populations.asking import check_ratings
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class AutoEncoder:
    """A denoising autoencoder of who rated what, for ranking. It is trained on raw ratings.

    Parameters
    ----------
    hidden, latent
        Length of the hidden layers, 0 for none, and of the code.
    epochs, batch, learning_rate, dropout, decay, validation, patience, seed
        As in :class:`~discreet.models.MultVAE`.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.models.AutoEncoder(latent=4, epochs=2).fit(ratings)
    >>> sorted(release.arrays)
    ['input_bias', 'input_weights', 'output_bias', 'output_weights']
    """

    raw_ratings: ClassVar[bool] = True
    extras: ClassVar[dict[str, str]] = {"torch": "torch"}

    hidden: int = 0
    latent: int = 200
    epochs: int = 200
    batch: int = 100
    learning_rate: float = 1e-3
    dropout: float = 0.5
    decay: float = 0.0
    validation: float = 0.1
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_training(self)

    def fit(self, ratings: Ratings, progress: Progress = no_progress) -> Release:
        """Train on raw ratings, and release the weights."""
        check_ratings(self, ratings)
        return Release.of_ratings(self, ratings, trained(self, ratings, progress, variational=False))

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return network_arrays(self.hidden, self.latent)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The logits of all items, from the user's own history."""
        return network_scores(release, histories, variational=False)
