"""Matrix factorisation with a noisy objective, as published (Hua, Xia, Zhong, IJCAI 2015): S1, a trusted recommender.

r_ij is a rating of item j by user i, W the number of ratings, u_i and v_j vectors of d numbers, Δ the width of the
scale:

    (1)  min over U, V   1/M Σ (r_ij − u_iᵀv_j)² + λ Σ ‖u_i‖² + μ Σ ‖v_j‖²
    (6)  min over V      the same + 1/M Σ_j η_jᵀv_j,   U held fixed,   p(η_j) ∝ exp(−ε ‖η_j‖ / 2Δ)

Training minimises (1) on the raw ratings and keeps U, publication minimises (6) and releases V. At home a user solves
(1) for their own u_i with V fixed, and predicts u_iᵀv_j. Rows of U(0) and V(0) are uniform on the unit sphere.

**M is not defined**, and appears in (1) and (6) only; the printed steps (2) and (3) have sums without it. Noise and
data share 1/M, so it decides how much the penalties weigh, and how long a step is (``divisor``):

    row     M is the number of ratings of the row: means. The one reading whose steps of 2⁻⁵ learn in 40 to 100 of them
    ratings M is W, as in the work from which (1) comes. The penalty is then 100 on MovieLens 100K: rank 1 is left
    none    M is 1, the printed sums. Steps of 2⁻⁵ overflow

**How it is trained** (``training``): ``batch`` takes all of a row's ratings in a step, as (2) to (5) are printed;
``rating`` takes a step for each rating in turn, which is what "stochastic" means, a row's penalty once a rating, so M
is that of ``row``; ``alternating`` solves for U and V in turn.

**How (6) is minimised** (``minimiser``): ``steps`` takes as many steps as training did, from a fresh random V(0);
``exact`` solves it, as Theorem 1 supposes:  v_j = (G_j + μM I)⁻¹ (b_j − η_j/2),  G_j = Σ_i u_i u_iᵀ, b_j = Σ_i r_ij
u_i.

**‖u_i‖ ≤ 1** is supposed by Theorem 1, and nothing sees to it (``user_norm``): ``free`` leaves U as it is,
``projected`` brings every u_i into the unit ball after each step, ``scaled`` divides all of U by the largest norm at
the end.

**Noise** is radial as above, or of Lemma 1: every coordinate with Laplace noise of scale 2Δ√d/ε. They are not the same
law, as the text has it; both have the property that the proof needs. ``shrunk_noise`` takes 1/M for 1/W where it
stands before the noise, and not where it stands before the data: every step adds η/W. No theorem has this, and it is
the one reading whose numbers look like the figures.

Corrected misprints: (3) steps from v_j, not from v_i; (7) sums over rated pairs; (9) descends.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require, require_seed, require_settings
from discreet.kernels import few_users, objective_perturbation_torch
from discreet.kernels.compiling import chosen
from discreet.kernels.objective_perturbation import minimise_rows, residual_pulls, step_through
from discreet.papers.frame.checks import check_readings
from discreet.papers.objective_perturbation.privacy import guarantee, noise_scale
from discreet.populations.asking import check_ratings
from discreet.populations.engine import Engine, check_engine
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.noise_ball import draw_balls
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

CHOICES: dict[str, tuple[str, ...]] = {
    "divisor": ("row", "ratings", "none"),
    "training": ("batch", "rating", "alternating"),
    "minimiser": ("steps", "exact"),
    "start": ("fresh", "trained"),
    "user_norm": ("free", "projected", "scaled"),
    "noise": ("radial", "laplace"),
}
ROUNDS = 10
"""Of alternating training: it is at rest after a few."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves: the factors of users, which are kept secret, and of items, which are thrown away."""

    users: Doubles
    items: Doubles

    @property
    def longest(self) -> float:
        """The largest norm of a user's vector; Theorem 1 supposes at most 1."""
        return float(np.sqrt((self.users**2).sum(axis=1).max(initial=0.0)))


@checked
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbedMF:
    """Matrix factorisation with noise in the objective of the item factors. Claimed, not proven.

    Parameters
    ----------
    epsilon
        What the paper claims; None for no noise.
    factors, iterations, learning_rate
        d, the steps of training and of publication, and γ.
    user_penalty, item_penalty
        λ and μ.
    divisor, training, minimiser, user_norm, noise, shrunk_noise
        How the text is read: see the module.
    start
        Where the steps of publication start: ``fresh`` at random, or ``trained``, at the V that was trained without
        noise; then not even a constant U makes the theorem true.
    seed
        Of U(0) and V(0), and of the order of ratings.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = ObjectivePerturbedMF(epsilon=1.0, factors=4, iterations=10).fit(ratings)
    >>> release.arrays["item_factors"].shape, release.guarantee.proven is None
    ((30, 4), True)
    """

    epsilon: float | None = 0.1
    factors: int = 50
    iterations: int = 100
    learning_rate: float = 2.0**-5
    user_penalty: float = 0.001
    item_penalty: float = 0.001
    divisor: Literal["row", "ratings", "none"] = "row"
    training: Literal["batch", "rating", "alternating"] = "batch"
    minimiser: Literal["steps", "exact"] = "steps"
    start: Literal["fresh", "trained"] = "fresh"
    user_norm: Literal["free", "projected", "scaled"] = "free"
    noise: Literal["radial", "laplace"] = "radial"
    shrunk_noise: bool = False
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_readings(self, CHOICES)
        require_settings(self, "factors", least=1)
        require_settings(self, "iterations", least=0)
        require_settings(self, "learning_rate", "user_penalty", "item_penalty", above=0)
        require_seed(self.seed)
        require(
            self.training != "rating" or self.divisor == "row",
            f"a step for each rating takes the penalty once a rating: divisor must be 'row', got {self.divisor!r}",
        )

    # ── The two stages ──

    def fit(
        self,
        ratings: Ratings,
        progress: Progress = no_progress,
        *,
        randomness: Randomness | None = None,
        engine: Engine = "numba",
    ) -> Release:
        """Train, and publish the item factors. ``randomness`` can be seeded for experiments; the guarantee says so.

        ``engine`` is what solves for an exact minimiser: ``numba``, or ``torch``, on a GPU where there is one.
        """
        return self.released(ratings, Randomness() if randomness is None else randomness, progress, engine)[0]

    def released(
        self, ratings: Ratings, randomness: Randomness, progress: Progress = no_progress, engine: Engine = "numba"
    ) -> tuple[Release, Trained]:
        """The release, and the user factors that were trained with it, from which the paper's experiments predict."""
        check_ratings(self, ratings)
        check_engine(engine)
        trained = self.train(ratings, progress)
        items = self.publish(ratings, trained, self.draw_noise(ratings, randomness), engine)
        promise = guarantee(self, seeded=randomness.is_seeded)
        return Release(self, {"item_factors": items.astype(np.float32)}, ratings.catalogue, promise), trained

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: Theorem 1 claims that a value moves the noise by 2Δ, of scale 2Δ/ε."""
        from discreet.papers.frame.looks import look_at

        release, _ = self.released(ratings, randomness)
        if self.epsilon is None:
            return release, ()
        factors, moved = release.arrays["item_factors"], 2 * ratings.catalogue.scale.width
        what = "item factors of a noisy objective"
        return release, look_at(factors, what, sensitivity=moved, scale=moved / self.epsilon)

    def train(self, ratings: Ratings, progress: Progress = no_progress) -> Trained:
        """Minimise (1) on the raw ratings."""
        rng = np.random.default_rng(self.seed)
        users, items = (unit_rows(rng, count, self.factors) for count in (ratings.n_users, ratings.n_items))
        order = rng.permutation(len(ratings))
        rounds = min(self.iterations, ROUNDS) if self.training == "alternating" else self.iterations
        for step in range(rounds):
            users, items = self._improved(ratings, users, items, order)
            if self.user_norm == "projected":
                users = into_unit_ball(users)
            if not (np.isfinite(users).all() and np.isfinite(items).all()):
                raise InputError(
                    f"training overflowed in step {step + 1}: a learning_rate of {self.learning_rate:g} is too large "
                    f"for divisor={self.divisor!r}; take a smaller one, or divisor='row'"
                )
            progress(step + 1, rounds, "training")
        if self.user_norm == "scaled":
            longest = max(Trained(users, items).longest, 1e-300)
            users, items = users / longest, items * longest
        return Trained(users, items)

    def publish(self, ratings: Ratings, trained: Trained, noise: Doubles, engine: Engine = "numba") -> Doubles:
        """Minimise (6) over V, with U held fixed."""
        by_item, divisors = ratings.by_item, self._divisors(ratings, "items")
        columns = by_item.indptr, by_item.users, by_item.values
        of_noise = np.full_like(divisors, max(len(ratings), 1)) if self.shrunk_noise else divisors
        added = noise / of_noise[:, None]
        if self.minimiser == "exact":
            halved = added * divisors[:, None] / 2
            solve = minimise_rows if engine == "numba" else objective_perturbation_torch.minimise_rows
            return np.asarray(solve(*columns, trained.users, self.item_penalty * divisors, halved))
        rng = np.random.default_rng((self.seed, 1))
        items = trained.items if self.start == "trained" else unit_rows(rng, ratings.n_items, self.factors)
        if self.training == "rating":
            rows = self._in_order(ratings, rng.permutation(len(ratings)))
            items, users = items.copy(), trained.users.copy()
            for _ in range(self.iterations):
                step_through(*rows, users, items, added, *self._rates, False)
            return items
        for _ in range(self.iterations):
            pull = 2 * residual_pulls(*columns, items, trained.users) / divisors[:, None] - added
            items = items + self.learning_rate * (pull - 2 * self.item_penalty * items)
        return np.asarray(items)

    def draw_noise(self, ratings: Ratings, randomness: Randomness) -> Doubles:
        """η of every item."""
        shape = ratings.n_items, self.factors
        if self.epsilon is None:
            return np.zeros(shape)
        scale = noise_scale(self.epsilon, ratings.catalogue.scale.width, self.noise, self.factors)
        if self.noise == "radial":
            return draw_balls(scale, *shape, randomness)
        return add_laplace(np.zeros(shape), scale, grid_of(scale), randomness)

    # ── At home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", self.factors)),)

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """u_iᵀv_j, the user's own vector solved from their own ratings."""
        own, factors = self._at_home(release, histories)
        return np.asarray((own[users] * factors[items]).sum(axis=1), dtype=np.float32)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The same for all items."""
        own, factors = self._at_home(release, histories)
        return np.asarray(own @ factors.T, dtype=np.float32)

    def _at_home(self, release: Release, histories: Ratings) -> tuple[Doubles, Doubles]:
        return own_vectors(release, histories, self.user_penalty, self.divisor)

    # ── Their parts ──

    def _improved(self, ratings: Ratings, users: Doubles, items: Doubles, order: AnyArray) -> tuple[Doubles, Doubles]:
        """One step of training, from the factors of the step before."""
        own, by_item = (ratings.indptr, ratings.item_index, ratings.values), ratings.by_item
        other = by_item.indptr, by_item.users, by_item.values
        if self.training == "rating":
            users, items = users.copy(), items.copy()
            rows = self._in_order(ratings, order)
            step_through(*rows, users, items, np.zeros_like(items), *self._rates, True)
            return users, items
        of_user, of_item = self._divisors(ratings, "users"), self._divisors(ratings, "items")
        if self.training == "alternating":
            items = minimise_rows(*other, users, self.item_penalty * of_item, np.zeros_like(items))
            users = minimise_rows(*own, items, self.user_penalty * of_user, np.zeros_like(users))
            return users, items
        with np.errstate(over="ignore", invalid="ignore"):  # which is looked for after every step
            user_pull = 2 * residual_pulls(*own, users, items) / of_user[:, None] - 2 * self.user_penalty * users
            item_pull = 2 * residual_pulls(*other, items, users) / of_item[:, None] - 2 * self.item_penalty * items
            return users + self.learning_rate * user_pull, items + self.learning_rate * item_pull

    @property
    def _rates(self) -> tuple[float, float, float]:
        return self.learning_rate, self.user_penalty, self.item_penalty

    def _in_order(self, ratings: Ratings, order: AnyArray) -> tuple[Indices, Indices, Floats]:
        return ratings.user_index[order], ratings.item_index[order], ratings.values[order]

    def _divisors(self, ratings: Ratings, side: Literal["users", "items"]) -> Doubles:
        """M of every row."""
        counts = np.diff(ratings.indptr if side == "users" else ratings.by_item.indptr)
        if self.divisor == "row":
            return np.maximum(counts, 1).astype(np.float64)
        return np.full(len(counts), float(max(len(ratings), 1)) if self.divisor == "ratings" else 1.0)


def own_vectors(release: Release, histories: Ratings, penalty: float, divisor: str) -> tuple[Doubles, Doubles]:
    """Ridge regression of users' ratings on V, with λ M, and V; M is a user's number of ratings where W is unknown."""
    factors = release.arrays["item_factors"].astype(np.float64)
    counts = np.maximum(np.diff(histories.indptr), 1)
    ridge = penalty * (np.ones(len(counts)) if divisor == "none" else counts)
    nothing = np.zeros((histories.n_users, factors.shape[1]))
    columns = histories.indptr, histories.item_index, histories.values
    solve = chosen(histories.n_users, few_users.minimise_rows, minimise_rows)
    return np.asarray(solve(*columns, factors, ridge.astype(np.float64), nothing)), factors


def unit_rows(rng: np.random.Generator, rows: int, columns: int) -> Doubles:
    """Rows that are uniform on the unit sphere.

    >>> bool(np.allclose((unit_rows(np.random.default_rng(1), 3, 5) ** 2).sum(axis=1), 1))
    True
    """
    drawn = rng.normal(size=(rows, columns))
    return np.asarray(drawn / np.sqrt((drawn**2).sum(axis=1, keepdims=True)))


def into_unit_ball(rows: Doubles) -> Doubles:
    """Every row that is longer than 1, shortened to 1.

    >>> into_unit_ball(np.array([[3.0, 4.0], [0.3, 0.4]])).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    """
    with np.errstate(over="ignore"):
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(lengths, 1.0))
