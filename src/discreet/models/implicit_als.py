"""Ranking by alternating least squares on who rated what (implicit feedback), asked of a population.

    score of item i for user u  =  p_uᵀq_i

    minimise  Σ_rated (1 − p_uᵀq_i)² + w Σ_all (p_uᵀq_i)² + λ (Σ_u (n_u + w·items) ‖p_u‖² + Σ_i (n_i + w·users) ‖q_i‖²)

Every pair that was not rated counts as a faint 0, with weight w. Each sweep:

    1. every user, at home, solves (w Σ_i q_i q_iᵀ + Σ_rated q_i q_iᵀ + λ (n_u + w·items)) p_u = Σ_rated q_i;
    2. they answer with one sum: for each item they rated p_u p_uᵀ and p_u, and for all together p_u p_uᵀ;
    3. the model solves (w Σ_u p_u p_uᵀ + Σ_raters p_u p_uᵀ + λ (n_i + w·users)) q_i = Σ_raters p_u for each item.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_kinds, require_settings
from discreet.kernels import few_users
from discreet.kernels.als import eigenbasis, half_step, improve_rows
from discreet.kernels.compiling import chosen
from discreet.kernels.statistics import normal_equation_sums, pack, packed_width, solve_items, unpack
from discreet.models.home.fold_in import fixed
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Progress, no_progress

STEPS = 8  # conjugate-gradient steps from zero: as good as exact


@dataclass(frozen=True, kw_only=True)
class ImplicitALS:
    """Factors for ranking by alternating least squares; it looks at who rated what, not how high.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    unobserved_weight
        w above: how much a pair that was not rated counts, against 1 for one that was.
    regularisation
        λ above.
    sweeps
        How often the population is asked.
    seed
        Of the initial factors.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.ImplicitALS(factors=4, sweeps=3).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_factors"].shape
    (30, 4)
    """

    factors: int = 64
    unobserved_weight: float = 0.2
    regularisation: float = 0.02
    sweeps: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", "sweeps", least=1)
        require_settings(self, "unobserved_weight", "regularisation", above=0)
        require_kinds(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Alternate: users solve at home and answer with sums, the model solves the items."""
        check_population(self, population)
        items, d = len(population.catalogue), self.factors
        spread = 0.1 / d**0.5
        item_factors = np.random.default_rng(self.seed).normal(0, spread, (items, d)).astype(np.float32)
        penalty = np.full(d, self.regularisation, dtype=np.float32)
        for sweep in range(self.sweeps):
            *statistics, everyone = population.sum(self._contribution(item_factors))
            gram, users = unpack(everyone[: d * (d + 1) // 2]), everyone[-1]
            base = self.unobserved_weight * (gram + self.regularisation * users * np.eye(d))
            item_factors = solve_items(np.asarray(statistics), base.astype(np.float32), 1.0, penalty)
            progress(sweep + 1, self.sweeps, "sweeps")
        return Release.of(self, population, {"item_factors": item_factors})

    def _fold_in(self, histories: Ratings, item_factors: Floats) -> Floats:
        penalty = self._penalties(histories, len(item_factors))
        indptr, items = histories.indptr, histories.item_index
        return half_step(indptr, items, item_factors, self.unobserved_weight, penalty, 1.0, 1.0, STEPS)

    def _penalties(self, histories: Ratings, items: int) -> Floats:
        return (self.regularisation * (np.diff(histories.indptr) + self.unobserved_weight * items)).astype(np.float32)

    def _contribution(self, item_factors: Floats) -> Contribution:
        def total(ratings: Ratings) -> Doubles:
            own = self._fold_in(ratings, item_factors)
            by_item = ratings.by_item
            targets = np.ones(len(ratings), dtype=np.float32)
            statistics = normal_equation_sums(by_item.indptr, by_item.users, targets, fixed(own))
            together = np.zeros(statistics.shape[1])
            gram = own.T.astype(np.float64) @ own.astype(np.float64)
            together[: statistics.shape[1] - self.factors - 1] = pack(gram)
            together[-1] = np.count_nonzero(np.diff(ratings.indptr))
            return np.concatenate([statistics, together[None, :]])

        shape = (len(item_factors) + 1, packed_width(self.factors))
        return Contribution(name="what users' own factors say about each item", shape=shape, total=total)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", self.factors)),)

    def prepare(self, release: Release) -> "Prepared":
        """The item factors in the basis in which their Gram matrix is diagonal."""
        factors = release.arrays["item_factors"]
        spectrum, basis = eigenbasis(factors, self.unobserved_weight)
        return Prepared(factors @ basis, spectrum)

    def score(self, prepared: "Prepared", histories: Ratings) -> Floats:
        """Products of the user's own factors, solved from their history, with all item factors."""
        improve = chosen(histories.n_users, few_users.improve_rows, improve_rows)
        own = improve(
            histories.indptr,
            histories.item_index,
            prepared.factors,
            prepared.spectrum,
            self._penalties(histories, len(prepared.factors)),
            1.0,
            1.0,
            STEPS,
        )
        return np.asarray(own @ prepared.factors.T)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Item factors, turned so that their weighted Gram matrix is diagonal; and its diagonal."""

    factors: Floats
    spectrum: Floats
