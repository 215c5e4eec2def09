"""DPSGD-PNBM: similarities by gradient descent with Laplace noise (Algorithm 1).

    S ← β S⁽¹⁾
    for t = 1 … K:
        Φ      a random batch of the ratings, a share γ of them
        e_ui   = clamp(r̂_ui − r_ui, ±e_max),     e_max = ½ + (φ − 1)/(t + 1)
        G      = Σ_{(u,i) ∈ Φ} e_ui ∂r̂_ui/∂S + Laplace(γ K ΔF / ε),     ΔF = 2 e_max φ / C
        S      ← S − η (β G + λ S)

    ∂r̂_ui/∂s_ij = (a_uj − sign(s_ij) p_ui) / |S_i| I_u

**Readings.** The paper says nothing of γ: all ratings are in every batch unless a share is given. It says that removing
"paranoid" records makes ``|r_uj − r̂_ui| ≤ φ`` hold, and not how: here that difference is clamped. It drops the part of
eq. (5) for negative similarities, and prints the denominator without its bars: the derivative above is meant. C is
assumed and not enforced; ``enforces_bound`` enforces it. The start is left open: see :mod:`.similarities`.

**The released code** (``as_released_code``) does otherwise: the error is the prediction without its mean less the raw
rating; it is not clamped; only the first term of the derivative is there, and a rating takes part in its own
prediction; C is enforced; the noise is smaller by √2; decay is βλS; S is made the same both ways after every step. Its
start is ``random``, with η .4, λ .005, β 10, C 10 and K 10.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_seed, require_settings
from discreet.kernels.published_pnbm import published_gradient
from discreet.papers.neighbourhood import similarities as shared
from discreet.papers.neighbourhood.looks import exact_looks, noisy_look
from discreet.papers.neighbourhood.privacy import claim_of_descent, most_error, published_sensitivity
from discreet.populations.asking import check_ratings
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look


@dataclass(frozen=True, kw_only=True)
class DPSGDPNBM:
    """Published: similarities learned by gradient descent with Laplace noise. Claimed for a rating's value, not proven.

    Parameters
    ----------
    epsilon
        What the paper claims; None for no noise: the maximum a posteriori (MAP) similarities.
    iterations, learning_rate, regularisation
        K, η and λ. The paper takes K from 1 to 20, η .1 or .4, λ .05 or .005: the smaller epsilon, the fewer steps.
    rescaling, bound
        β and C: 10 or 20, and 10 or 15.
    batch
        γ, the share of the ratings in a batch.
    start
        ``constant``, ``cosine``, ``random``, or the folder of a saved release.
    neighbours
        N_k; None for the paper's 500, or all of a smaller catalogue.
    enforces_bound
        Divide by C at least. The paper does not, and its bound needs it.
    as_released_code
        Do what the authors' code does where it differs from their paper.
    seed
        Of a random start.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = DPSGDPNBM(epsilon=1.0).fit(ratings)
    >>> release.guarantee.proven is None, release.guarantee.claimed
    (True, Loss(epsilon=1.0, delta=0.0))
    """

    epsilon: float | None = 1.0
    iterations: int = 1
    learning_rate: float = 0.1
    regularisation: float = 0.005
    rescaling: float = 10.0
    bound: float = 15.0
    batch: float = 1.0
    start: str = "constant"
    neighbours: int | None = None
    enforces_bound: bool = False
    as_released_code: bool = False
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_settings(self, "epsilon", "learning_rate", "rescaling", "bound", above=0)
        require_settings(self, "iterations", "regularisation", least=0)
        require_settings(self, "batch", above=0, most=1)
        require_seed(self.seed)
        shared.check_settings(self)

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Learn. ``randomness`` can be seeded for experiments, and the guarantee then says so."""
        return self._run(ratings, Randomness() if randomness is None else randomness, progress, [])

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: the release, and every look behind it with the noise that the paper says."""
        looks: list[Look] = []
        return self._run(ratings, randomness, no_progress, looks, watched=True), tuple(looks)

    def learn(
        self, ratings: Ratings, randomness: Randomness, progress: Progress = no_progress
    ) -> tuple[Floats, Floats]:
        """Item means, and the similarities after the last step, before any is cut off."""
        return self._learn(ratings, randomness, progress, [], watched=False)

    def released(self, ratings: Ratings, learned: tuple[Floats, Floats], *, seeded: bool) -> Release:
        """What is published of what was learned."""
        means, similarities = learned
        arrays: dict[str, AnyArray] = {
            "item_mean": means,
            "similarities": shared.nearest_only(similarities, self.neighbours),
        }
        promise = claim_of_descent(
            self.epsilon, start=self.start, as_released_code=self.as_released_code, seeded=seeded
        )
        return Release(self, arrays, ratings.catalogue, promise)

    def gradient(
        self, ratings: Ratings, means: Floats, similarities: Floats, iteration: int, weights: Floats | None = None
    ) -> Doubles:
        """G without its noise. With S and the means given it is a sum over users."""
        columns = ratings.by_item
        items = np.repeat(np.arange(ratings.n_items), np.diff(columns.indptr))
        width = ratings.catalogue.scale.width
        code = self.as_released_code
        return published_gradient(
            similarities,
            (columns.indptr, columns.users, columns.values if code else columns.values - means[items]),
            (ratings.indptr, ratings.item_index, ratings.values - means[ratings.item_index]),
            np.ones(len(ratings), dtype=np.float32) if weights is None else weights,
            most_error=float("inf") if code else most_error(iteration, width),
            most_feature=float("inf") if code else width,
            floor=self.bound if code or self.enforces_bound else 0.0,
            one_term=code,
        )

    def noise_scale(self, iteration: int, width: float) -> float:
        """Scale of the Laplace noise of an iteration."""
        assert self.epsilon is not None
        scale = self.batch * self.iterations * published_sensitivity(iteration, width, self.bound) / self.epsilon
        return scale / np.sqrt(2) if self.as_released_code else scale

    def _run(
        self, ratings: Ratings, randomness: Randomness, progress: Progress, looks: "list[Look]", watched: bool = False
    ) -> Release:
        learned = self._learn(ratings, randomness, progress, looks, watched)
        return self.released(ratings, learned, seeded=randomness.is_seeded)

    def _learn(
        self, ratings: Ratings, randomness: Randomness, progress: Progress, looks: "list[Look]", watched: bool
    ) -> tuple[Floats, Floats]:
        check_ratings(self, ratings)
        shared.check_catalogue(self, ratings.n_items)
        means, width = shared.item_means(ratings), ratings.catalogue.scale.width
        similarities = shared.start_of(self, ratings) * np.float32(self.rescaling)
        if self.as_released_code:  # own ratings take part, so the diagonal does
            np.fill_diagonal(similarities, np.float32(self.rescaling) * shared.RANDOM / 2)
        if watched:
            looks += exact_looks(ratings, products=self.start == "cosine")
        decay = self.regularisation * (self.rescaling if self.as_released_code else 1.0)
        for iteration in range(1, self.iterations + 1):
            weights = self._batch(len(ratings), randomness)
            gradient = self.gradient(ratings, means, similarities, iteration, weights)
            if self.epsilon is not None:
                scale = self.noise_scale(iteration, width)
                gradient = add_laplace(gradient, scale, grid_of(scale), randomness)
                if watched:
                    now, step = similarities.copy(), iteration
                    sensitivity = self.batch * published_sensitivity(iteration, width, self.bound)

                    def total(some: Ratings, now: Floats = now, step: int = step) -> AnyArray:
                        return self.gradient(some, means, now, step)

                    name = f"gradient, iteration {iteration}"
                    looks.append(noisy_look(name, total, gradient, sensitivity, scale, self.batch))
            gradient *= self.rescaling
            gradient += decay * similarities
            similarities = (similarities - self.learning_rate * gradient).astype(np.float32)
            if self.as_released_code:
                similarities = (similarities + similarities.T) / np.float32(2)
            else:
                np.fill_diagonal(similarities, 0)
            progress(iteration, self.iterations, "learning similarities")
        np.fill_diagonal(similarities, 0)
        return means, similarities

    def _batch(self, count: int, randomness: Randomness) -> Floats | None:
        """1 for the ratings in the batch and 0 for the others, without replacement; None for all."""
        if self.batch == 1:
            return None
        weights = np.zeros(count, dtype=np.float32)
        weights[np.argsort(randomness.words(count))[: max(1, round(self.batch * count))]] = 1
        return weights

    declared = shared.declared
    predict, score, explain = shared.predict, shared.score, shared.explain
