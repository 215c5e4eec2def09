"""The paper's two rivals: matrix factorisation with noise on its errors, and as a sample of its posterior.

    r̂_ui = p_uᵀ q_i,    or  centre + p_uᵀ q_i  where it is ``centred``

**DPSGD-MF** (Berlioz and others, RecSys 2015): in each of K passes over the ratings, one after another,

    e   = clamp(r_ui − r̂_ui + Laplace(K φ / ε), ±2)
    p_u ← p_u + η (e q_i − λ p_u),    q_i ← q_i + η (e p_u − λ q_i)

**DPPS-MF** (Liu and others, RecSys 2015): Langevin steps on all factors together, with c = ε/(4 φ² τ) and at most τ
ratings of a user:

    θ ← θ − c η_t/2 (∇ ½ Σ e² + λ θ) + N(0, ρ η_t),    η_{t+1} = η₁ / t^ξ

The paper gives grids for η, K, λ, ρ and the number of factors, and cites both works for the rest. The start is left
open: at random about √(centre/d), so that the first prediction is the centre, a public number; or small about 0 where
it is centred. With the paper's steps the first learns, and the second hardly moves: the page has both.

What is released is the items' side. ``factors`` gives both, as the recommender has them: what the paper predicts from.
At home a user solves for their own side, as of any factor model here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_seed, require_settings
from discreet.kernels.published_pnbm import noisy_factor_epoch
from discreet.models.home.fold_in import FoldIn
from discreet.papers.neighbourhood.privacy import claim_of_errors, claim_of_sampling
from discreet.papers.neighbourhood.sampling import capped
from discreet.populations.asking import check_ratings
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import add_gaussian, add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

SPREAD = 0.1
"""Deviation of the first factors."""
MOST_ERROR = 2.0
Factors = tuple[Doubles, Doubles]
"""Of users and of items."""


# ── The methods of both: each takes them as its own ──


def declared(model: "Model", names: Collection[str]) -> tuple[Array, ...]:
    """The arrays of a release."""
    return (Array("item_factors", "float32", ("items", model.factors)),)


def predict(model: "Model", release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
    """Expected ratings, each user's own side solved from their history."""
    return _at_home(model, release).predict(histories, users, items)


def score(model: "Model", release: Release, histories: Ratings) -> Floats:
    """Expected ratings of all items."""
    return _at_home(model, release).scores(histories)


def _at_home(model: "Model", release: Release) -> FoldIn:
    factors = release.arrays["item_factors"]
    offsets = np.full(len(factors), _offset(model), dtype=np.float32)
    return FoldIn(factors, offsets, np.full(factors.shape[1], model.regularisation, dtype=np.float32))


@dataclass(frozen=True, kw_only=True)
class DPSGDMF:
    """Published: matrix factorisation with Laplace noise on every error. Claimed for a rating's value, not proven here.

    Parameters
    ----------
    epsilon
        What is claimed; None for no noise.
    factors, iterations, learning_rate, regularisation
        d, K, η and λ: 10 to 20, 10 to 50, 6e-4 or 8e-4, and .2 or .02.
    centre, centred
        What is predicted at first, and whether it is taken off the ratings, and factors begin about 0.
    seed
        Of the first factors and of the order of the ratings.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> DPSGDMF(epsilon=1.0).fit(ratings).arrays["item_factors"].shape
    (30, 10)
    """

    epsilon: float | None = 1.0
    factors: int = 10
    iterations: int = 10
    learning_rate: float = 6e-4
    regularisation: float = 0.02
    centre: float = 3.5
    centred: bool = False
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self)

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Learn, and release the items' side."""
        randomness = Randomness() if randomness is None else randomness
        _, items = self.learn(ratings, randomness, progress)
        return _released(self, ratings, items, claim_of_errors(self.epsilon, seeded=randomness.is_seeded))

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """The release; its noise is on single errors and on no sum over users, so no look is shown."""
        return self.fit(ratings, randomness=randomness), ()

    def learn(self, ratings: Ratings, randomness: Randomness, progress: Progress = no_progress) -> Factors:
        """Both sides, as the recommender has them."""
        check_ratings(self, ratings)
        rng, (users, items) = _first(self, ratings)
        values = (ratings.values - np.float32(_offset(self))).astype(np.float32)
        for iteration in range(self.iterations):
            noise = np.zeros(len(ratings))
            if self.epsilon is not None and len(ratings):
                scale = self.iterations * ratings.catalogue.scale.width / self.epsilon
                noise = add_laplace(noise, scale, grid_of(scale), randomness)
            noisy_factor_epoch(
                rng.permutation(len(ratings)),
                ratings.user_index,
                ratings.item_index,
                values,
                noise,
                users,
                items,
                self.learning_rate,
                self.regularisation,
                MOST_ERROR,
            )
            progress(iteration + 1, self.iterations, "passes")
        return users, items

    declared, predict, score = declared, predict, score


@dataclass(frozen=True, kw_only=True)
class DPPSMF:
    """Published: matrix factorisation as a sample of its posterior. Claimed for a user, not proven.

    Parameters
    ----------
    epsilon
        What is claimed, for all ratings of a user; None for no noise and no tempering.
    factors, iterations, learning_rate, decay, temperature, regularisation, cap
        d, K, η₁, ξ, ρ, λ and τ. The paper has η₁ from 2e-9 to 8e-6, ρ from 1e-4 to 3e-2, λ from .02 to .2; no K.
    centre, centred, seed
        As of DPSGD-MF.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> DPPSMF(epsilon=20.0, iterations=5).fit(ratings).guarantee.proven is None
    True
    """

    epsilon: float | None = 20.0
    factors: int = 10
    iterations: int = 100
    learning_rate: float = 8e-6
    decay: float = 0.3
    temperature: float = 6e-4
    regularisation: float = 0.02
    cap: int = 200
    centre: float = 3.5
    centred: bool = False
    seed: int = 0

    raw_ratings: ClassVar[bool] = True
    claims_for: ClassVar[str] = "user"

    def __post_init__(self) -> None:
        _check(self)
        require_settings(self, "temperature", above=0)
        require_settings(self, "decay", least=0)
        require_settings(self, "cap", least=1)

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Sample, and release the items' side."""
        randomness = Randomness() if randomness is None else randomness
        _, items = self.learn(ratings, randomness, progress)
        promise = claim_of_sampling(self.epsilon, self.temperature, means=False, seeded=randomness.is_seeded)
        return _released(self, ratings, items, promise)

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """The release; steps move the factors of every user, which are no sum over users, so no look is shown."""
        return self.fit(ratings, randomness=randomness), ()

    def learn(self, ratings: Ratings, randomness: Randomness, progress: Progress = no_progress) -> Factors:
        """Both sides, as the recommender has them."""
        import scipy.sparse as sp

        check_ratings(self, ratings)
        used = capped(ratings, self.cap, randomness)
        _, (users, items) = _first(self, used)
        width = used.catalogue.scale.width
        tempering = 1.0 if self.epsilon is None else self.epsilon / (4 * width**2 * self.cap)
        values, shape = used.values.astype(np.float64) - _offset(self), (used.n_users, used.n_items)
        for iteration in range(1, self.iterations + 1):
            step = self.learning_rate / max(1, iteration - 1) ** self.decay
            error = (users[used.user_index] * items[used.item_index]).sum(axis=1) - values
            errors = sp.csr_array((error, used.item_index, used.indptr), shape=shape)
            moved = tempering * step / 2
            users, items = (
                users - moved * (errors @ items + self.regularisation * users),
                items - moved * (errors.T @ users + self.regularisation * items),
            )
            if self.epsilon is not None:
                deviation = float(np.sqrt(self.temperature * step))
                users, items = (
                    add_gaussian(side, deviation, grid_of(deviation), randomness) for side in (users, items)
                )
            progress(iteration, self.iterations, "sampling factors")
        return users, items

    declared, predict, score = declared, predict, score


Model = DPSGDMF | DPPSMF


def predicted(model: Model, learned: Factors, ratings: Ratings) -> Floats:
    """What the recommender, who has both sides, predicts for these pairs of users and items."""
    users, items = learned
    products = (users[ratings.user_index] * items[ratings.item_index]).sum(axis=1)
    scale = ratings.catalogue.scale
    return np.asarray(np.clip(_offset(model) + products, scale.low, scale.high), dtype=np.float32)


def _check(model: Model) -> None:
    require_settings(model, "epsilon", "learning_rate", above=0)
    require_settings(model, "factors", least=1)
    require_settings(model, "iterations", "regularisation", least=0)
    require_settings(model, "centre")
    require_seed(model.seed)


def _offset(model: Model) -> float:
    """What is predicted beside the factors."""
    return model.centre if model.centred else 0.0


def _first(model: Model, ratings: Ratings) -> tuple[np.random.Generator, Factors]:
    rng = np.random.default_rng(model.seed)
    about = 0.0 if model.centred else np.sqrt(abs(model.centre) / model.factors)
    users, items = (rng.normal(about, SPREAD, (size, model.factors)) for size in (ratings.n_users, ratings.n_items))
    return rng, (users, items)


def _released(model: Model, ratings: Ratings, items: Doubles, promise: Guarantee) -> Release:
    return Release(model, {"item_factors": items.astype(np.float32)}, ratings.catalogue, promise)
