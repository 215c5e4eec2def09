"""DPPS-PNBM: one sample of the similarities' posterior by stochastic gradient Langevin dynamics (Algorithm 2).

    at most τ ratings of a user, drawn at random;  B = φ² τ;  c = ε / (4B)
    for t = 1 … K:
        Φ     a random batch of L of the N ratings
        ḡ     = 1/L Σ_{(u,i) ∈ Φ} e_ui ∂r̂_ui/∂S
        S     ← S − c η_t/2 (N ḡ + λ S ∘ H⁻¹) + N(0, ρ η_t)
        η_{t+1} = η₁ / t^ξ

**Readings.** Line 6 prints the decay as γ; it is ξ. All ratings are in every batch unless a share is given; then they
are drawn with replacement, as eq. (12) takes for granted. Of H there are three (``prior``):

    eq12      eq. (12) as printed: 1 − p_i p_j ((1 − p_i)(1 − p_j))^(L−1), p_i the share of i's ratings. It is about 1
              always, and the probability of nothing that is needed
    touched   that a batch touches the pair: 1 − (1 − n_ij/N)^L, n_ij who rated both; the prior acts where it was
    dense     H = 1: the prior term whole in every step, which is unbiased, and all that eq. (13) can mean

Errors are not clamped, and nothing keeps |S_i| I_u from 0: the paper does neither here. There is no β.

**The released code** (``as_released_code``) does otherwise: no cap τ on ratings, H = 1, no ½, a step of the summed
gradient multiplied once more by N, η constant for 40 steps; and the error, derivative and diagonal of the code of
DPSGD-PNBM. Its start is ``random``, with η 4e-7, λ .02, ρ .004, 300 steps and ε 200.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require, require_seed, require_settings
from discreet.kernels.gram import gram_rows
from discreet.kernels.published_pnbm import published_gradient
from discreet.papers.neighbourhood import similarities as shared
from discreet.papers.neighbourhood.looks import drift_look, exact_looks
from discreet.papers.neighbourhood.privacy import claim_of_sampling
from discreet.populations.asking import check_ratings
from discreet.privacy.noise import add_gaussian, grid_of
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

Prior = Literal["eq12", "touched", "dense"]
PRIORS: tuple[Prior, ...] = ("eq12", "touched", "dense")
CODE_CONSTANT, CODE_LEAST = 40, 1e-12
"""Steps of the same length in the released code, and its shortest step."""


@checked
@dataclass(frozen=True, kw_only=True)
class DPPSPNBM:
    """Published: a sample of the similarities' posterior, by Langevin dynamics. Claimed for a user, not proven.

    Parameters
    ----------
    epsilon
        What the paper claims, for all ratings of a user: 20 is its "0.1 × 200". None for no noise and no tempering.
    iterations, learning_rate, decay
        K, η₁ and ξ. The paper has η₁ of 8e-8, 4e-7 or 8e-6 and ξ .3; of K it says that it is beyond the burn-in.
    temperature
        ρ: .001, .006 or .09.
    regularisation
        λ: .02 or .002.
    cap
        τ, the most ratings of a user.
    batch
        The share of the ratings in a batch.
    prior
        How H is read: ``eq12``, ``touched`` or ``dense``.
    start, neighbours, as_released_code, seed
        As of DPSGD-PNBM.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = DPPSPNBM(epsilon=20.0, iterations=3).fit(ratings)
    >>> release.guarantee.proven is None, str(release.guarantee.unit)
    (True, 'all ratings of one user, present or absent')
    """

    epsilon: float | None = 20.0
    iterations: int = 50
    learning_rate: float = 4e-7
    decay: float = 0.3
    temperature: float = 0.006
    regularisation: float = 0.02
    cap: int = 200
    batch: float = 1.0
    prior: Prior = "eq12"
    start: str = "constant"
    neighbours: int | None = None
    as_released_code: bool = False
    seed: int = 0

    raw_ratings: ClassVar[bool] = True
    claims_for: ClassVar[str] = "user"

    def __post_init__(self) -> None:
        require_settings(self, "epsilon", "learning_rate", "temperature", above=0)
        require_settings(self, "iterations", "decay", "regularisation", least=0)
        require_settings(self, "cap", least=1)
        require_settings(self, "batch", above=0, most=1)
        require(self.prior in PRIORS, f"prior must be one of {', '.join(PRIORS)}, got {self.prior!r}")
        require_seed(self.seed)
        shared.check_settings(self)

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Sample. ``randomness`` can be seeded for experiments, and the guarantee then says so."""
        randomness = Randomness() if randomness is None else randomness
        return self.released(ratings, self.learn(ratings, randomness, progress), seeded=randomness.is_seeded)

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: the release, and every look behind it with its noise."""
        looks: list[Look] = []
        learned = self.learn(ratings, randomness, looks=looks)
        return self.released(ratings, learned, seeded=randomness.is_seeded), tuple(looks)

    def released(self, ratings: Ratings, learned: tuple[Floats, Floats], *, seeded: bool) -> Release:
        """What is published of what was learned."""
        means, similarities = learned
        arrays: dict[str, AnyArray] = {
            "item_mean": means,
            "similarities": shared.nearest_only(similarities, self.neighbours),
        }
        promise = claim_of_sampling(self.epsilon, self.temperature, start=self.start, seeded=seeded)
        return Release(self, arrays, ratings.catalogue, promise)

    def tempering(self, width: float) -> float:
        """c = ε / (4B): 1 without an epsilon.

        >>> DPPSPNBM(epsilon=12_800).tempering(4.0)
        1.0
        """
        return 1.0 if self.epsilon is None else self.epsilon / (4 * width**2 * self.cap)

    def drift(self, count: int, width: float) -> float:
        """What a summed gradient is multiplied by, beside the step: c/2, and cN in the released code."""
        return self.tempering(width) * (count if self.as_released_code else 0.5)

    def step_length(self, iteration: int) -> float:
        """η_t, from t = 1."""
        if self.as_released_code:
            later = iteration > CODE_CONSTANT
            return max(self.learning_rate / iteration**self.decay if later else self.learning_rate, CODE_LEAST)
        return float(self.learning_rate / max(1, iteration - 1) ** self.decay)

    def gradient(self, ratings: Ratings, means: Floats, similarities: Floats, weights: Floats | None = None) -> Doubles:
        """``Σ e ∂r̂/∂S`` over the ratings, or over as many of each as the weights say."""
        columns = ratings.by_item
        items = np.repeat(np.arange(ratings.n_items), np.diff(columns.indptr))
        code = self.as_released_code
        return published_gradient(
            similarities,
            (columns.indptr, columns.users, columns.values if code else columns.values - means[items]),
            (ratings.indptr, ratings.item_index, ratings.values - means[ratings.item_index]),
            np.ones(len(ratings), dtype=np.float32) if weights is None else weights,
            most_error=float("inf"),
            most_feature=float("inf"),
            one_term=code,
        )

    def learn(
        self,
        ratings: Ratings,
        randomness: Randomness,
        progress: Progress = no_progress,
        looks: "list[Look] | None" = None,
    ) -> tuple[Floats, Floats]:
        """Item means, and the last similarities, before any is cut off."""
        check_ratings(self, ratings)
        shared.check_catalogue(self, ratings.n_items)
        used = ratings if self.as_released_code else capped(ratings, self.cap, randomness)
        means, width = shared.item_means(used), used.catalogue.scale.width
        similarities = shared.start_of(self, used)
        if self.as_released_code:
            np.fill_diagonal(similarities, shared.RANDOM / 2)
        if looks is not None:
            looks += exact_looks(used, products=self.start == "cosine")
        drift = self.drift(len(used), width)
        inverse = self.inverse_prior(used)
        for iteration in range(1, self.iterations + 1):
            step = self.step_length(iteration)
            weights, many = self._batch(len(used), randomness)
            gradient = self.gradient(used, means, similarities, weights) * many
            pull = similarities * inverse
            if self.prior == "touched" and not self.as_released_code:
                pull *= gradient != 0
            after: Doubles = similarities - drift * step * (gradient + self.regularisation * pull)
            if self.epsilon is not None:
                deviation = float(np.sqrt(self.temperature * step))
                noisy = add_gaussian(after, deviation, grid_of(deviation), randomness)
                if looks is not None:
                    seen = gradient - (noisy - after) / (drift * step)

                    def total(some: Ratings, now: Floats = similarities) -> AnyArray:
                        return self.gradient(some, means, now)

                    looks.append(drift_look(f"gradient, step {iteration}", total, seen, deviation / (drift * step)))
                after = noisy
            similarities = after.astype(np.float32)
            if not self.as_released_code:
                np.fill_diagonal(similarities, 0)
            progress(iteration, self.iterations, "sampling similarities")
        np.fill_diagonal(similarities, 0)
        return means, similarities

    def inverse_prior(self, ratings: Ratings) -> Floats | float:
        """H⁻¹, element by element."""
        if self.as_released_code or self.prior == "dense" or len(ratings) == 0:
            return 1.0
        count = len(ratings)
        batch = max(1, round(self.batch * count))
        if self.prior == "eq12":
            shares = np.bincount(ratings.item_index, minlength=ratings.n_items) / count
            left = shares * (1 - shares) ** (batch - 1)
            return np.asarray(1 / (1 - np.outer(left, left)), dtype=np.float32)
        if self.batch == 1:  # then every pair that somebody rated is touched
            return 1.0
        present = np.ones(count, dtype=np.float32)
        columns = ratings.by_item
        both = gram_rows(
            0,
            ratings.n_items,
            (columns.indptr, columns.users, present),
            (ratings.indptr, ratings.item_index, present),
        )[:, :, 0]
        touched = -np.expm1(batch * np.log1p(-np.minimum(both / count, 1 - 1e-12)))
        return np.where(both > 0, 1 / np.maximum(touched, 1e-12), 0).astype(np.float32)

    def _batch(self, count: int, randomness: Randomness) -> tuple[Floats | None, float]:
        """How often each rating was drawn, and by how much their sum is multiplied: N/L."""
        if self.batch == 1 or count == 0:
            return None, 1.0
        size = max(1, round(self.batch * count))
        drawn = (randomness.words(size) % np.uint64(count)).astype(np.int64)
        return np.bincount(drawn, minlength=count).astype(np.float32), count / size

    declared = shared.declared
    predict, score, explain = shared.predict, shared.score, shared.explain


def capped(ratings: Ratings, most: int, randomness: Randomness) -> Ratings:
    """At most so many ratings of a user, drawn at random.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> int(np.diff(capped(ratings, 5, Randomness(1)).indptr).max())
    5
    """
    sizes = np.diff(ratings.indptr)
    if sizes.max(initial=0) <= most:
        return ratings
    order = np.lexsort((randomness.words(len(ratings)), ratings.user_index))
    place = np.empty(len(ratings), dtype=np.int64)
    place[order] = np.arange(len(ratings)) - np.repeat(ratings.indptr[:-1], sizes)
    return ratings.select(place < most)
