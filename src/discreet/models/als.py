"""Matrix factorisation by alternating least squares, asked of a population.

    expected rating of item i by user u  =  mean + b_u + b_i + p_uᵀq_i

    minimise  Σ_ui (r_ui − mean − b_u − b_i − p_uᵀq_i)² + λ (b_u² + b_i² + ‖p_u‖² + ‖q_i‖²)

The same objective as :class:`discreet.MF`. With one side fixed it is ridge regression for the other. Each sweep:

    1. every user, at home, solves for (p_u, b_u) from the public q_i and b_i;
    2. they answer with one sum: for each item they rated, z_u z_uᵀ and (r_ui − mean − b_u) z_u, where z_u = (p_u, 1);
    3. the model solves (Σ_u z_u z_uᵀ + n_i λ) (q_i, b_i) = Σ_u (r_ui − mean − b_u) z_u for each item.

No user's factors ever leave the user, only the sums do.
"""

from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_number, require_seed, require_whole
from discreet.kernels.statistics import item_statistics, packed_width, solve_items
from discreet.models.bias import item_biases
from discreet.models.fitting import check_population
from discreet.models.folding import FAINT_PENALTY, fixed, fold_in, predict_pairs, rating_offsets, with_ones
from discreet.models.release import Release
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.types import Doubles, Floats, Indices, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class ALS:
    """Matrix factorisation by alternating least squares, for ratings.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    regularisation
        λ above: how strongly factors and biases are pulled to 0, for each rating.
    sweeps
        How often the population is asked.
    biased
        Whether to model a mean and biases; without, the rating is p_uᵀq_i alone.
    seed
        Of the initial factors.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.ALS(factors=4, sweeps=3).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_factors"].shape
    (30, 4)
    """

    factors: int = 10
    regularisation: float = 0.15
    sweeps: int = 15
    biased: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        require_whole("factors", self.factors, least=1)
        require_number("regularisation", self.regularisation, above=0)
        require_whole("sweeps", self.sweeps, least=1)
        require_seed(self.seed)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Alternate: users solve at home and answer with sums, the model solves the items."""
        check_population(self, population)
        items = len(population.catalogue)
        item_factors = np.random.default_rng(self.seed).normal(0, 0.1, (items, self.factors)).astype(np.float32)
        mean, item_bias = 0.0, np.zeros(items, dtype=np.float32)
        # Who cannot answer the sweeps says so here, before any budget is spent on the biases.
        population.deviation(self._contribution(item_factors, np.float32(mean), item_bias))
        if self.biased:
            mean, item_bias = item_biases(population, damping=5.0)
        base = FAINT_PENALTY * np.eye(self.factors + self.biased, dtype=np.float32)
        for sweep in range(self.sweeps):
            statistics = population.sum(self._contribution(item_factors, np.float32(mean), item_bias))
            solved = solve_items(statistics, base, 1.0, self._penalty())
            item_factors = np.ascontiguousarray(solved[:, : self.factors])
            if self.biased:
                item_bias = np.ascontiguousarray(solved[:, -1])
            progress(sweep + 1, self.sweeps, "sweeps")
        arrays = {"mean": np.array([mean], np.float32), "item_bias": item_bias, "item_factors": item_factors}
        return Release.of(self, population, arrays)

    def _penalty(self) -> Floats:
        return np.full(self.factors + self.biased, self.regularisation, dtype=np.float32)

    def _contribution(self, item_factors: Floats, mean: np.float32, item_bias: Floats) -> Contribution:
        design = with_ones(item_factors) if self.biased else item_factors

        def total(ratings: Ratings) -> Doubles:
            own = fold_in(ratings, design, mean + item_bias, self._penalty())
            by_item = ratings.by_item
            targets = by_item.values - mean
            if self.biased:
                targets = targets - own[by_item.users, -1]
                own[:, -1] = 1
            return np.asarray(item_statistics(by_item.indptr, by_item.users, targets, fixed(own)))

        shape = (len(item_bias), packed_width(self.factors + self.biased))
        return Contribution(name="what users' own factors say about each item", shape=shape, total=total)

    def _fold_in(self, release: Release, histories: Ratings) -> tuple[Floats, Floats, Floats]:
        design = release.arrays["item_factors"]
        if self.biased:
            design = with_ones(design)
        offsets = rating_offsets(release)
        return fold_in(histories, design, offsets, self._penalty()), design, offsets

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Expected ratings, each user's own side solved from their history."""
        own, design, offsets = self._fold_in(release, histories)
        return predict_pairs(own, design, offsets, users, items)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """Expected ratings of all items."""
        own, design, offsets = self._fold_in(release, histories)
        return np.asarray(own @ design.T + offsets)
