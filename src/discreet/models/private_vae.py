"""An autoencoder trained with user-level privacy: noisy gradient descent on clipped gradients of whole users.

    1. popularity       one noisy sum; its logarithm is the output bias, and stays: all else is learned beside it
    2. T steps          each one noisy sum over a secret sample of the users, planned and paid for together:
                        Σ_u g_u min(1/C, 1/‖g_u‖), with ‖g_u‖ exact (:mod:`~discreet.models.sums.network_gradient`)
    3. Adam             on that sum over the public divisor ``sampling_rate · audience``; the release is the mean of
                        the weights of the last steps

The loss of a user is − Σ_i x_ui log π_i / n_u, and every gradient is clipped to the length C, far below what it usually
is: so all users count alike, and C hardly matters. With ``quantile`` it is found on the way, privately.

**How much of the budget for what.** Popularity gets the share p with the least expected loss of a held-out rating, in
nats:

    J(p)  =  ¼ / (1 + p R²)  −  ½ c            what noise hides of popularity, less what steps tell of tastes
    c     =  max(0, 1 − 1/((1 − p) g S²))      how clearly: the squared cosine of a pattern and its estimate
                                               (Baik, Ben Arous & Péché 2005)

g is the strength of ``tastes``. R and S are the signal-to-noise ratios of an average item, in popularity and in
the gradient, if each had the whole budget: what ``audience`` users with ``ratings`` ratings say of it, over the noise.
Where p = 1 is best there are no steps, and the ranking is that of :class:`~discreet.Popularity`. Otherwise the learning
rate is multiplied by c: the more noise, the shorter are the steps. All of this is public: it is decided before any
rating is looked at.

**Guarantee.** The release is a function of both questions, which are booked, and of public facts. A checkpoint is too:
whoever goes on from one draws the steps that are left, and books what a whole fit costs, once.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.kernels.autoencoder import Arrays, Sizes, for_scoring
from discreet.models.denoise.item_biases import posterior_counts
from discreet.models.denoise.noisy_training import NoisyTraining
from discreet.models.home.codes import network_scores
from discreet.models.home.network_arrays import network_arrays
from discreet.models.sums.item_statistics import item_counts
from discreet.models.sums.network_gradient import NetworkGradient
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.populations.rehearsal import plan_whole_fit
from discreet.populations.steps import Steps
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class PrivateVAE:
    """An autoencoder of who rated what, with a guarantee for every user.

    Parameters
    ----------
    audience, ratings
        About how many users take part, and how many items each rates, as far as this is publicly known. They decide
        whether steps are made, and sums are divided by ``audience``.
    tastes
        How strong tastes are, all patterns of who rates what together, in squared popularity: g above.
    hidden, latent
        Length of the hidden layers, 0 for none, and of the code. Noise grows with the number of weights: keep both
        small.
    variational
        Whether the code is a distribution, with a KL term of weight ``beta``.
    beta
        See ``variational``.
    steps
        How many steps. None for 100 where they are expected to pay, and none elsewhere.
    sampling_rate, batch
        Over which share of the users each step is, below 1 for users who are present or absent only. None for about
        ``batch`` users: more cost time and hide nothing more.
    clip
        C above; with ``quantile`` where it starts.
    quantile
        Which share of the users should not be clipped: C follows it from step to step, by a noisy count in the same
        sum. None for a clip that stays.
    learning_rate
        Of Adam, where there is no noise; less with it.
    spread
        Of the weights at the start.
    dropout
        Share of a user's items that is left out of the input.
    seed
        Of the weights at the start. Public.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=300, items=40, ratings=6000, seed=1)
    >>> ledger = dc.Ledger(epsilon=10.0, delta=1e-6, unit=dc.User())
    >>> release = dc.models.PrivateVAE(audience=300, latent=2).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.what for spend in ledger.spends]
    ['how often each item was rated', 'gradients of an autoencoder']
    >>> release.guarantee.proven.epsilon <= 10
    True
    """

    extras: ClassVar[dict[str, str]] = {"torch": "torch", "accounting": "dp_accounting"}

    audience: int = 1000
    ratings: int = 100
    tastes: float = 0.3
    hidden: int = 0
    latent: int = 8
    variational: bool = False
    beta: float = 0.001
    steps: int | None = None
    sampling_rate: float | None = None
    batch: int = 4096
    clip: float = 0.05
    quantile: float | None = None
    learning_rate: float = 0.03
    spread: float = 0.1
    dropout: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "audience", "ratings", "latent", "batch", least=1)
        require_settings(self, "hidden", "beta", "steps", least=0)
        require_settings(self, "tastes", "clip", "learning_rate", "spread", above=0)
        require_settings(self, "dropout", least=0, below=1)
        require_settings(self, "sampling_rate", above=0, most=1)
        require_settings(self, "quantile", above=0, below=1)
        require_kinds(self)

    # ── Publication ──

    def fit(
        self, population: Population, progress: Progress = no_progress, *, checkpoint: str | Path | None = None
    ) -> Release:
        """Ask for popularity and for the steps, and release the weights.

        ``checkpoint`` names a file that is written while it learns, and when it is interrupted; if it is there, the fit
        goes on from it.
        """
        check_population(self, population)
        plan = self.plan(population)
        if plan.gradient is not None and plan.gradient.sampling_rate < 1:
            plan_whole_fit(self, population)
        noise = population.deviation(plan.counted, plan.popularity_share)
        counts = posterior_counts(population.sum(plan.counted, plan.popularity_share), noise)
        start = self._start(plan.sizes, counts)
        if plan.gradient is None:
            progress(1, 1, "popularity alone: steps would drown in noise")
            learned = {**start, "output_weights": np.zeros_like(start["output_weights"])}
        else:
            training = NoisyTraining(plan.gradient, plan.divisor, self.clip, plan.learning_rate, self.quantile)
            about = {"settings": repr(self), "catalogue": population.catalogue.fingerprint}
            place = None if checkpoint is None else Path(checkpoint)
            learned = training.learn(population, 1 - plan.popularity_share, start, progress, place, about)
        return Release.of(self, population, for_scoring(plan.sizes, learned))

    def plan(self, population: Population) -> "Plan":
        """How many steps there will be, and of what kind. Public: no rating is looked at."""
        unit, items = population.unit, len(population.catalogue)
        counted = replace(item_counts(items, unit), noise="gaussian")
        sizes = Sizes(items=items, hidden=self.hidden, latent=self.latent, variational=self.variational)
        gradient = NetworkGradient(
            sizes,
            steps=1,
            dropout=self.dropout,
            beta=self.beta,
            counted=0.0 if self.quantile is None else 0.1,
            fixed=("output_bias",),
        )
        # A rating has the weight 1/√n of its user's n, but where it is what is hidden: there counts are plain.
        of_user = math.sqrt(self.ratings)
        of_counts = of_user if unit is not None and unit.name == "user" else self.ratings
        popularity = self._signal_to_noise(population, counted, of_counts) ** 2
        learned = self._signal_to_noise(population, gradient.asked, of_user) ** 2
        shares = np.arange(1, 21) / 20
        seen = np.maximum(1 - 1 / np.maximum((1 - shares) * self.tastes * learned, 1e-12), 0)
        expected = 0.25 / (1 + shares * popularity) - seen / 2
        best = int(expected[:-1].argmin()) if self.steps else int(expected.argmin())
        if self.steps == 0 or (self.steps is None and seen[best] == 0):
            return Plan(sizes, counted, 1.0)
        rate = self.sampling_rate
        if rate is None:
            may_sample = unit is not None and unit.name == "user" and unit.neighbours == "add-or-remove"
            rate = min(1.0, self.batch / self.audience) if may_sample else 1.0
        divisor = rate * self.audience
        users = int(divisor + 6 * divisor**0.5) + 1
        gradient = replace(gradient, steps=self.steps or 100, sampling_rate=rate, users=users)
        learning_rate = self.learning_rate * float(seen[best] or 1)  # of steps that were asked for all the same
        return Plan(sizes, counted, float(shares[best]), gradient, divisor, learning_rate)

    def _signal_to_noise(self, population: Population, asked: Contribution | Steps, of_user: float) -> float:
        """What all users say of an average item, over the noise with the whole budget."""
        signal = self.audience * of_user / len(population.catalogue)
        return signal / max(population.deviation(asked), 1e-12 * signal)

    def _start(self, sizes: Sizes, counts: Doubles) -> Arrays:
        """Random weights of public seed; the output bias is the logarithm of popularity."""
        arrays = sizes.start(self.seed)
        for name in ("input_weights", "output_weights"):
            arrays[name] *= np.float32(self.spread / max(float(arrays[name].std()), 1e-9))
        logs = np.log(np.maximum(counts, 1e-3 * max(float(counts.mean()), 1e-9)))
        arrays["output_bias"] = (logs - np.log(np.exp(logs).sum())).astype(np.float32)
        return arrays

    # ── At home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return network_arrays(self.hidden, self.latent)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The logits of all items, from the user's own history."""
        return network_scores(release, histories, variational=self.variational)


@dataclass(frozen=True, eq=False)
class Plan:
    """What is asked for, decided beforehand: without a ``gradient`` popularity alone."""

    sizes: Sizes
    counted: Contribution
    popularity_share: float
    gradient: NetworkGradient | None = None
    divisor: float = 1.0
    learning_rate: float = 0.0
