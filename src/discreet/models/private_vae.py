"""An autoencoder trained with user-level privacy: noisy gradient descent on clipped gradients of whole users.

    1. popularity       one noisy sum; its logarithm is the output bias, and stays: all else is learned beside it
    2. T steps          each one noisy sum over a secret sample of the users, planned and paid for together:
                        Σ_u g_u min(1/C, 1/‖g_u‖), with ‖g_u‖ exact (:mod:`~discreet.models.sums.network_gradient`)
    3. Adam             on that sum over the public divisor ``sampling_rate · audience``; the release is the mean of
                        the weights of the last steps

The loss of a user is − Σ_i x_ui log π_i / n_u, and every gradient is clipped to the length C, far below what it usually
is: so all users count alike, and C hardly matters. With ``quantile`` it is found on the way, privately.

**How many steps.** With μ the privacy parameter of the whole budget, l weights and U users (``audience``), noise on the
mean gradient has the length √(T l)/(μ U) clips. T is the largest number for which that stays below a constant; where it
would be too small to learn anything, nothing is learned, the whole budget goes to popularity, and the ranking is that
of :class:`~discreet.Popularity`. All of this is public: it is decided before any rating is looked at.

**Guarantee.** The release is a function of both questions, which are booked, and of public facts. A checkpoint is too:
whoever goes on from one draws the steps that are left, and books what a whole fit costs, once.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.kernels.autoencoder import Arrays, Sizes, for_scoring
from discreet.models.denoise.noisy_training import NoisyTraining
from discreet.models.home.codes import network_scores
from discreet.models.home.network_arrays import network_arrays
from discreet.models.sums.item_statistics import item_counts
from discreet.models.sums.network_gradient import NetworkGradient
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.populations.rehearsal import plan_whole_fit
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Progress, no_progress


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 100K and 1M, on splits with other seeds than those reported."""

    popularity_share: float = 0.1
    """How much of the budget popularity gets where steps are made."""
    most_noise: float = 0.6
    """√(T l)/(μ U): the length of the noise on the mean gradient, in clips, up to which there are more steps."""
    too_much_noise: float = 0.9
    """If it is more than this even with the fewest steps, there are none."""
    fewest_steps: int = 10
    """Fewer teach nothing."""
    latent: tuple[int, ...] = (16, 8)
    """Lengths of the code; the first with which ``enough_steps`` are quiet enough is taken, or else the last."""
    enough_steps: int = 40
    most_steps: int = 100
    """More are not needed."""
    travel: float = 1.0
    """Steps times learning rate, about: how far Adam moves a weight at most."""
    shortest_step: float = 0.03
    """The least learning rate: with many steps weights may go further."""
    averaged: float = 0.2
    """Over which share of the steps weights are averaged."""
    counted: float = 0.1
    """The b of :mod:`~discreet.models.sums.network_gradient`, where the clip follows a quantile."""
    batch: int = 4096
    """About how many users a step should have: more cost time and hide nothing more."""
    floor: float = 2.0
    """Least popularity, in standard deviations of its noise."""
    spread: float = 0.1
    """Of the weights at the start."""


CONSTANTS = _Constants()


@checked
@dataclass(frozen=True, kw_only=True)
class PrivateVAE:
    """An autoencoder of who rated what, with a guarantee for every user.

    Parameters
    ----------
    audience
        About how many users take part, as far as this is publicly known. It decides how many steps are made, and it is
        what sums are divided by.
    hidden, latent
        Length of the hidden layers, 0 for none, and of the code; None for a public rule. Noise grows with the number of
        weights: keep both small.
    variational
        Whether the code is a distribution, with a KL term of weight ``beta``.
    beta
        See ``variational``.
    steps, sampling_rate
        How many steps, each over which share of the users. None for public rules. Below 1 for users who are present or
        absent only.
    clip
        C above; with ``quantile`` where it starts.
    quantile
        Which share of the users should not be clipped: C follows it from step to step, by a noisy count in the same
        sum. None for a clip that stays.
    learning_rate
        Of Adam; None for a public rule.
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
    hidden: int = 0
    latent: int | None = None
    variational: bool = False
    beta: float = 0.001
    steps: int | None = None
    sampling_rate: float | None = None
    clip: float = 0.05
    quantile: float | None = None
    learning_rate: float | None = None
    dropout: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "audience", "latent", least=1)
        require_settings(self, "hidden", "beta", "steps", least=0)
        require_settings(self, "clip", "learning_rate", above=0)
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
        items = len(population.catalogue)
        counted = replace(item_counts(items, population.unit), noise="gaussian")
        noise = population.deviation(counted, plan.popularity_share)
        counts = population.sum(counted, plan.popularity_share)
        start = self._start(plan.sizes, counts, noise)
        if plan.gradient is None:
            progress(1, 1, "popularity alone: steps would drown in noise")
            learned = {**start, "output_weights": np.zeros_like(start["output_weights"])}
        else:
            training = NoisyTraining(
                plan.gradient, plan.divisor, float(self.clip), plan.learning_rate, self.quantile, CONSTANTS.averaged
            )
            about = {"settings": repr(self), "catalogue": population.catalogue.fingerprint}
            place = None if checkpoint is None else Path(checkpoint)
            learned = training.learn(population, 1 - plan.popularity_share, start, progress, place, about)
        return Release.of(self, population, for_scoring(plan.sizes, learned))

    def plan(self, population: Population) -> "Plan":
        """How many steps there will be, and of what kind. Public: no rating is looked at."""
        unit, rate = population.unit, self.sampling_rate
        if rate is None:
            may_sample = unit is not None and unit.name == "user" and unit.neighbours == "add-or-remove"
            rate = min(1.0, CONSTANTS.batch / self.audience) if may_sample else 1.0
        for latent in CONSTANTS.latent if self.latent is None else (int(self.latent),):
            gradient = self._gradient(len(population.catalogue), latent)
            noise = population.deviation(gradient.asked, 1 - CONSTANTS.popularity_share) / self.audience
            length = noise * gradient.parameters**0.5  # of the noise on a mean gradient, if there were one step
            quiet = (CONSTANTS.most_noise / length) ** 2 if length > 0 else CONSTANTS.most_steps
            if quiet >= CONSTANTS.enough_steps:
                break
        sizes, steps = gradient.sizes, self.steps
        if steps is None:
            steps = int(min(max(quiet, CONSTANTS.fewest_steps), CONSTANTS.most_steps))
            steps = steps if length * steps**0.5 <= CONSTANTS.too_much_noise else 0
        if steps == 0:
            return Plan(sizes, None, 1.0, 0.0, 1.0)
        divisor = rate * self.audience
        gradient = replace(gradient, steps=steps, sampling_rate=rate, users=int(divisor + 6 * divisor**0.5) + 1)
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = max(CONSTANTS.shortest_step, CONSTANTS.travel / max(steps, CONSTANTS.fewest_steps))
        return Plan(sizes, gradient, divisor, learning_rate, CONSTANTS.popularity_share)

    def _gradient(self, items: int, latent: int) -> NetworkGradient:
        """One step over everybody, for a code of this length."""
        hidden, variational = int(self.hidden), bool(self.variational)
        return NetworkGradient(
            Sizes(items=items, hidden=hidden, latent=latent, variational=variational),
            steps=1,
            dropout=self.dropout,
            beta=self.beta,
            counted=0.0 if self.quantile is None else CONSTANTS.counted,
            fixed=("output_bias",),
        )

    def _start(self, sizes: Sizes, counts: Doubles, noise: float) -> Arrays:
        """Random weights of public seed; the output bias is the logarithm of popularity."""
        arrays = sizes.start(self.seed)
        for name in ("input_weights", "output_weights"):
            arrays[name] *= np.float32(CONSTANTS.spread / max(float(arrays[name].std()), 1e-9))
        floor = max(CONSTANTS.floor * noise, 1e-3 * max(float(counts.mean()), 1e-9))
        # Below the floor a count says little: it loses little, and keeps its place in the order.
        logs = np.log(np.maximum(counts, floor)) - 0.25 * np.log1p(np.maximum(floor - counts, 0) / floor)
        arrays["output_bias"] = (logs - np.log(np.exp(logs).sum())).astype(np.float32)
        return arrays

    # ── At home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return network_arrays(self.hidden, self.latent)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The logits of all items, from the user's own history."""
        return network_scores(release, histories, variational=bool(self.variational))


@dataclass(frozen=True)
class Plan:
    """What is asked for, decided beforehand: without a ``gradient`` popularity alone."""

    sizes: Sizes
    gradient: NetworkGradient | None
    divisor: float
    learning_rate: float
    popularity_share: float
