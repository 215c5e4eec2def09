"""DP-PMF and PDP-PMF, as published (Zhang, Liu, Chen, Zhong 2018).

r_ij is a rating of item j by user i, R the ratings, u_i and v_j vectors of d numbers:

    (1)  E(U, V) = ½ Σ (r_ij − u_iᵀv_j)² + λ_u/2 Σ ‖u_i‖² + λ_v/2 Σ ‖v_j‖²
    (8)  Ẽ(V) = E(U, V) + Σ_j η_jᵀv_j,   U held fixed,   P(η_j) ∝ exp(−ε ‖η_j‖ / Δ),  Δ = r_max

**DP-PMF.** Training minimises (1) on the raw ratings by k₁ steps and keeps U secret. Publication minimises (8) over V̄
(``mode``):

    listing   Algorithm 2: V̄ starts at the V that was trained *without noise*, and each of k₂ steps draws *new* noise
    fixed     the same start and steps with one noise vector for each item
    theorem   what Theorem 4 is about: one noise vector, and the minimiser itself, v̄_j = (G_j + λ_v I)⁻¹ (b_j − η_j)

**PDP-PMF.** Every rating has a privacy level ε_ij. It is kept with probability

    (11)  π_ij = (e^ε_ij − 1)/(e^t − 1) where ε_ij < t, and 1 elsewhere

and DP-PMF runs on what was kept with the budget t, by default the mean of all levels. Levels are drawn at random:
conservative (``conservative`` of all ratings) uniform in [ε_c, ε_m], moderate uniform in [ε_m, ε_l], the rest liberal,
ε_l.

**A learning rate of 50** overflows at once on the printed sums. It is the constant of the program that came with PMF,
where it is divided by the number of ratings, so a step is 50/|R'| here, R' being all ratings that were there to learn
from, kept or not. That program also has momentum .8 in training and starts at normal numbers of deviation .1
(``start="normal"``), where the text has no momentum and rows of norm 1 (``start="unit"``). The steps of publication are
Algorithm 2's own and have no momentum. On small data steps are 1/2σ at most, σ being the largest singular value of the
ratings: longer ones overflow.

**‖u_i‖ ≤ 1** is supposed (``user_norm``): ``scaled`` divides U by its largest norm and multiplies V by it, which leaves
all predictions as they were; ``free`` leaves U as it is; ``projected`` brings it into the unit ball after each step.

The paper's recommender predicts from U and V̄. A release holds no user: at home a user solves for u_i with V̄ fixed.
k₂ is not given, and is k₁ here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require, require_seed, require_settings
from discreet.kernels.objective_perturbation import minimise_rows, residual_pulls
from discreet.models.pmf import largest_singular_value
from discreet.papers.frame.checks import check_readings
from discreet.papers.objective_perturbation.algorithm import own_vectors
from discreet.papers.personalised.levels import Levels, draw_levels, threshold_of
from discreet.papers.personalised.privacy import guarantee_of_levels, guarantee_of_one
from discreet.populations.asking import check_ratings
from discreet.privacy.noise_ball import draw_balls
from discreet.privacy.personal import draw_sample, rates_for
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("listing", "fixed", "theorem"),
    "user_norm": ("scaled", "free", "projected"),
    "start": ("normal", "unit"),
}


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves: the factors of users, which are kept secret, and of items; and how long a step was."""

    users: Doubles
    items: Doubles
    rate: float


@checked
@dataclass(frozen=True, kw_only=True)
class DPPMF:
    """Matrix factorisation with noise in the objective and one privacy level. Claimed, not proven.

    Parameters
    ----------
    epsilon
        What the paper claims; None for no noise.
    factors, iterations, private_iterations
        d, k₁ and k₂.
    learning_rate, momentum
        γ, of which a step is the |R'|-th part, and the share of the last step that the next one of training keeps.
    user_penalty, item_penalty
        λ_u and λ_v.
    mode, user_norm, start
        How the text is read: see the module.
    seed
        Of the first U and V.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = DPPMF(epsilon=1.0, factors=4).fit(ratings)
    >>> release.arrays["item_factors"].shape, release.guarantee.proven is None
    ((30, 4), True)
    """

    epsilon: float | None = 0.1
    factors: int = 20
    iterations: int = 50
    private_iterations: int = 50
    learning_rate: float = 50.0
    momentum: float = 0.8
    user_penalty: float = 0.01
    item_penalty: float = 0.01
    mode: Literal["listing", "fixed", "theorem"] = "listing"
    user_norm: Literal["scaled", "free", "projected"] = "scaled"
    start: Literal["normal", "unit"] = "normal"
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_readings(self, CHOICES)
        require_settings(self, "factors", least=1)
        require_settings(self, "iterations", "private_iterations", least=0)
        require_settings(self, "learning_rate", "user_penalty", "item_penalty", above=0)
        require_settings(self, "momentum", least=0, below=1)
        require_seed(self.seed)

    # ── The two stages ──

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Train, and publish the item factors. ``randomness`` can be seeded for experiments; the guarantee says so."""
        check_ratings(self, ratings)
        randomness = Randomness() if randomness is None else randomness
        trained = self.train(ratings, progress)
        items = self.publish(ratings, trained, self.draw_noise(ratings, self.epsilon, randomness))
        promise = guarantee_of_one(self.epsilon, self.mode, self.user_norm, seeded=randomness.is_seeded)
        return Release(self, {"item_factors": items.astype(np.float32)}, ratings.catalogue, promise)

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: Theorem 4 claims that a rating moves the noise by Δ, of scale Δ/ε."""
        from discreet.papers.frame.looks import look_at

        release = self.fit(ratings, randomness=randomness)
        if self.epsilon is None:
            return release, ()
        factors, moved = release.arrays["item_factors"], ratings.catalogue.scale.high
        what = "item factors of a noisy objective"
        return release, look_at(factors, what, sensitivity=moved, scale=moved / self.epsilon)

    def train(self, ratings: Ratings, progress: Progress = no_progress, *, of: int | None = None) -> Trained:
        """Minimise (1) by k₁ steps from a random start; ``of`` is how many ratings there were before sampling."""
        rng, size = np.random.default_rng(self.seed), (ratings.n_users, ratings.n_items)
        users, items = (rng.normal(0, 0.1, (rows, self.factors)) for rows in size)
        if self.start == "unit":
            users, items = (one / np.sqrt((one**2).sum(axis=1, keepdims=True)) for one in (users, items))
        rate = min(
            self.learning_rate / max(len(ratings) if of is None else of, 1), 0.5 / largest_singular_value(ratings)
        )
        own, by_item = (ratings.indptr, ratings.item_index, ratings.values), ratings.by_item
        other = by_item.indptr, by_item.users, by_item.values
        user_speed, item_speed = np.zeros_like(users), np.zeros_like(items)
        for step in range(self.iterations):
            user_pull = residual_pulls(*own, users, items) - self.user_penalty * users
            item_pull = residual_pulls(*other, items, users) - self.item_penalty * items
            user_speed = self.momentum * user_speed + rate * user_pull
            item_speed = self.momentum * item_speed + rate * item_pull
            users, items = users + user_speed, items + item_speed
            if self.user_norm == "projected":
                users = users / np.maximum(np.sqrt((users**2).sum(axis=1, keepdims=True)), 1.0)
            if not (np.isfinite(users).all() and np.isfinite(items).all()):
                raise InputError(
                    f"training overflowed in step {step + 1}: a learning_rate of {self.learning_rate:g} with momentum "
                    f"{self.momentum:g} is too large for these ratings"
                )
            progress(step + 1, self.iterations, "training")
        if self.user_norm == "scaled":
            longest = max(float(np.sqrt((users**2).sum(axis=1).max(initial=0.0))), 1e-300)
            users, items = users / longest, items * longest
        return Trained(users, items, rate)

    def publish(self, ratings: Ratings, trained: Trained, noise: Doubles) -> Doubles:
        """Minimise (8) over V̄; ``noise`` is that of every draw, items by factors, one draw but for ``listing``."""
        by_item = ratings.by_item
        columns = by_item.indptr, by_item.users, by_item.values
        if self.mode == "theorem":
            ridge = np.full(ratings.n_items, self.item_penalty)
            return np.asarray(minimise_rows(*columns, trained.users, ridge, noise[0]))
        items = trained.items
        for step in range(self.private_iterations):
            added = noise[step if self.mode == "listing" else 0]
            pull = residual_pulls(*columns, items, trained.users) - self.item_penalty * items - added
            items = items + trained.rate * pull
        return np.asarray(items)

    def draw_noise(self, ratings: Ratings, epsilon: float | None, randomness: Randomness) -> Doubles:
        """η of every draw and item: of scale Δ/ε along the radius, Δ being the largest rating."""
        draws = max(1, self.private_iterations if self.mode == "listing" else 1)
        shape = draws, ratings.n_items, self.factors
        if epsilon is None:
            return np.zeros(shape)
        scale = ratings.catalogue.scale.high / epsilon
        return draw_balls(scale, draws * ratings.n_items, self.factors, randomness).reshape(shape)

    # ── At home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", self.factors)),)

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """u_iᵀv̄_j, the user's own vector solved from their own ratings."""
        own, factors = own_vectors(release, histories, self.user_penalty, "none")
        return np.asarray((own[users] * factors[items]).sum(axis=1), dtype=np.float32)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The same for all items."""
        own, factors = own_vectors(release, histories, self.user_penalty, "none")
        return np.asarray(own @ factors.T, dtype=np.float32)


@checked
@dataclass(frozen=True, kw_only=True)
class PDPPMF(DPPMF):
    """DP-PMF on a sample of the ratings, each kept as often as its own privacy level allows. Claimed, not proven.

    Parameters
    ----------
    epsilon
        ε_l, the level of liberal ratings: the most that is claimed for any rating. None for no noise and no sampling.
    conservative, moderate
        The share of ratings at each of these levels; the rest is liberal.
    conservative_epsilon, moderate_epsilon
        ε_c and ε_m.
    threshold
        t: a number between the least and the greatest level, ``mean`` (as published; it depends on the ratings) or
        ``max``.
    level_seed
        Of who has which level, where :meth:`fit` is given none.

    Notes
    -----
    Everything else as in :class:`DPPMF`.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = PDPPMF(factors=4).fit(ratings)
    >>> release.guarantee.claimed
    Loss(epsilon=1.0, delta=0.0)
    """

    epsilon: float | None = 1.0
    conservative: float = 0.54
    moderate: float = 0.37
    conservative_epsilon: float = 0.1
    moderate_epsilon: float = 0.2
    threshold: float | Literal["mean", "max"] = "mean"
    level_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_seed(self.level_seed)
        if self.epsilon is not None:
            assert self.groups is not None  # which are checked where they are made
        require(
            self.threshold in ("mean", "max") or not isinstance(self.threshold, str),
            f"threshold must be 'mean', 'max' or a number, got {self.threshold!r}",
        )

    @property
    def groups(self) -> Levels | None:
        """Who has which level, in shares; None where nothing is private."""
        if self.epsilon is None:
            return None
        return Levels(
            conservative=self.conservative,
            moderate=self.moderate,
            conservative_epsilon=self.conservative_epsilon,
            moderate_epsilon=self.moderate_epsilon,
            liberal_epsilon=self.epsilon,
        )

    def fit(
        self,
        ratings: Ratings,
        progress: Progress = no_progress,
        *,
        randomness: Randomness | None = None,
        levels: AnyArray | None = None,
    ) -> Release:
        """Sample, train and publish.

        ``levels`` are the epsilons of all ratings, in the order of the ratings (by users, then by items); each at most
        ``epsilon``. Without them they are drawn.
        """
        check_ratings(self, ratings)
        randomness = Randomness() if randomness is None else randomness
        kept, budget = self.sample(ratings, randomness, levels)
        trained = self.train(kept, progress, of=len(ratings))
        items = self.publish(kept, trained, self.draw_noise(kept, budget, randomness))
        promise = guarantee_of_levels(self, given=levels is not None, seeded=randomness.is_seeded)
        return Release(self, {"item_factors": items.astype(np.float32)}, ratings.catalogue, promise)

    def sample(
        self, ratings: Ratings, randomness: Randomness, levels: AnyArray | None = None
    ) -> tuple[Ratings, float | None]:
        """What is kept of the ratings (Algorithm 1), and the budget t; all of them, and None, without privacy."""
        groups = self.groups
        if groups is None:
            require(levels is None, "levels were given for ratings that get no privacy: set an epsilon, or give none")
            return ratings, None
        if levels is None:
            own = draw_levels(groups, len(ratings), self.level_seed)
        else:
            own = _checked(levels, len(ratings), groups.liberal_epsilon)
        if len(own) == 0:
            return ratings, groups.liberal_epsilon
        budget = threshold_of(self.threshold, own)
        return ratings.select(draw_sample(rates_for(own, budget), randomness)), budget


def _checked(levels: AnyArray, ratings: int, most: float) -> Doubles:
    """A privacy level for each rating, none above what is claimed."""
    own = np.asarray(levels, dtype=np.float64)
    require(own.shape == (ratings,), f"levels must be one epsilon for each rating, got an array of shape {own.shape}")
    require(bool((np.isfinite(own) & (own > 0)).all()), "every privacy level must be positive and finite")
    require(bool((own <= most).all()), f"every privacy level must be at most epsilon, which is claimed: {most:g}")
    return own
