"""Matrix factorisation by alternating least squares, asked of a population.

    expected rating of item i by user u  =  mean + b_u + b_i + p_uᵀq_i

    minimise  Σ_ui (r_ui − mean − b_u − b_i − p_uᵀq_i)² + λ (b_u² + b_i² + ‖p_u‖² + ‖q_i‖²)

The same objective as :class:`discreet.MF`. With one side fixed it is ridge regression for the other. Each sweep:

    1. every user, at home, solves for (p_u, b_u) from the public q_i and b_i;
    2. they answer with one sum: for each item they rated, z_u z_uᵀ and (r_ui − mean − b_u) z_u, where z_u = (p_u, 1);
    3. the model solves (Σ_u z_u z_uᵀ + n_i λ) (q_i, b_i) = Σ_u (r_ui − mean − b_u) z_u for each item.

No user's factors ever leave the user, only the sums do. With privacy the same three steps are taken with bounded and
noisy sums, and with public item features on both sides: :mod:`~discreet.models.denoise.private_als`. How much is asked
for then follows from public facts, with the signal-to-noise ratio c = audience / (``reference`` · deviation of noise):

    factors  c  (1 to 16)        sweeps  4 c  (1 to 12)        share of the item sums  ½ / (1 + c)

and there are at most half as many factors as a user has ratings, on average. How many that are, a noisy look says, with
``activity_share`` of what item sums leave.

**Guarantee.** At user level, for everyone but whoever sums: the release is made of noisy sums alone, each booked, and
what a user computes at home from the release and their own ratings says nothing about anybody else (joint privacy).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.features import item_features
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require_kinds, require_settings
from discreet.kernels.gpu_als import als_sums
from discreet.kernels.statistics import normal_equation_sums, packed_width, solve_items
from discreet.models.denoise.item_biases import covariates, item_biases
from discreet.models.denoise.private_als import CONSTANTS as PRIVATE
from discreet.models.denoise.private_als import ALSQueries, fit_private, sample_factor_sums
from discreet.models.home import methods
from discreet.models.home.fold_in import FAINT_PENALTY, FoldIn, fixed, fold_in, rating_offsets, with_ones
from discreet.models.home.item_arrays import COUNTS, ITEM_BIAS, MEAN, UNKNOWN
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.factor_sums import Weighting
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Doubles, Floats, Progress, no_progress


@checked
@dataclass(frozen=True, kw_only=True)
class ALS:
    """Matrix factorisation by alternating least squares, for ratings.

    Parameters
    ----------
    factors
        Length of the factor vectors. None for 10 without privacy, and a public rule with it, capped by how much users
        rate.
    regularisation
        λ above: how strongly factors and biases are pulled to 0, for each rating. Without privacy; with it, empirical
        Bayes takes its place.
    sweeps
        How often the population is asked. None for 15 without privacy, and a public rule with it.
    biased
        Whether to model a mean and biases; without, the rating is p_uᵀq_i alone, which has no private form.
    seed
        Of the initial factors, and of which ratings are kept.
    weighting
        With privacy, how a user's ratings count: ``adaptive`` (all, more where items are rated less), ``uniform``
        (some, drawn at random) or ``tail`` (those of the items rated least).
    kept
        How many ratings of a user count at most, in the weightings ``uniform`` and ``tail``.
    exponent
        In the weighting ``adaptive``, items count in proportion to count to the power of minus this.
    items
        With privacy, how many items have factors of their own, the most rated. None for a public rule.
    features
        With privacy, whether to use the public genres and years of items: where factors start, what is expected of
        items that are rated little, and as covariates of users' own regressions.
    free
        With features, whether the factors of an item may differ from what a linear map of its features says.
    audience
        With privacy, about how many users take part, as far as this is publicly known; the public rules go by it.
    item_sums_share
        With privacy, how much of the budget goes to the items' counts and means. None for a public rule.
    reference
        With privacy, how many users, in deviations of the noise, make one factor and four sweeps worth asking for.
    activity_share
        With privacy and no ``factors``, what the look at how much users rate gets of what item sums leave.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.ALS(factors=4, sweeps=3).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_factors"].shape
    (30, 4)
    >>> ledger = dc.Ledger(epsilon=5.0, delta=1e-6, unit=dc.User())
    >>> release = dc.ALS(factors=2, sweeps=3).fit(dc.TrustedServer(ratings, ledger))
    >>> len(ledger.spends), release.guarantee.proven.epsilon <= 5
    (4, True)
    """

    factors: int | None = None
    regularisation: float = 0.15
    sweeps: int | None = None
    biased: bool = True
    seed: int = 0
    weighting: Weighting = "adaptive"
    kept: int = 200
    exponent: float = PRIVATE.exponent
    items: int | None = None
    features: bool = True
    free: bool = True
    audience: int = 1000
    item_sums_share: float | None = None
    reference: float = 1700.0
    activity_share: float = 0.02

    def __post_init__(self) -> None:
        require_kinds(self)
        require_settings(self, "factors", "sweeps", "items", "kept", "audience", least=1)
        require_settings(self, "regularisation", "reference", above=0)
        require_settings(self, "exponent", least=0, most=1)
        require_settings(self, "item_sums_share", "activity_share", above=0, below=1)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Alternate: users solve at home and answer with sums, the model solves the items."""
        check_population(self, population)
        if population.unit is None:
            return self._fit_exactly(population, progress)
        if not self.biased:
            raise InputError("ALS has a private form only with biases: leave out biased=False")
        return Release.of(self, population, fit_private(self._queries(population), population, progress))

    # ── Without privacy ──

    def _fit_exactly(self, population: Population, progress: Progress) -> Release:
        items, d = len(population.catalogue), self.factors or 10
        sweeps = self.sweeps or 15
        item_factors = np.random.default_rng(self.seed).normal(0, 0.1, (items, d)).astype(np.float32)
        mean, item_bias = 0.0, np.zeros(items, dtype=np.float32)
        if self.biased:
            mean, item_bias = item_biases(population, damping=5.0)
        base = FAINT_PENALTY * np.eye(d + self.biased, dtype=np.float32)
        for sweep in range(sweeps):
            statistics = population.sum(self._contribution(item_factors, np.float32(mean), item_bias))
            solved = solve_items(statistics, base, 1.0, self._penalty(d))
            item_factors = np.ascontiguousarray(solved[:, :d])
            if self.biased:
                item_bias = np.ascontiguousarray(solved[:, -1])
            progress(sweep + 1, sweeps, "sweeps")
        arrays = {"mean": np.array([mean], np.float32), "item_bias": item_bias, "item_factors": item_factors}
        return Release.of(self, population, arrays)

    def _penalty(self, factors: int) -> Floats:
        return np.full(factors + self.biased, self.regularisation, dtype=np.float32)

    def _contribution(self, item_factors: Floats, mean: np.float32, item_bias: Floats) -> Contribution:
        design = with_ones(item_factors) if self.biased else item_factors
        factors = item_factors.shape[1]

        def total(ratings: Ratings) -> Doubles:
            own = fold_in(ratings, design, mean + item_bias, self._penalty(factors))
            by_item = ratings.by_item
            targets = by_item.values - mean
            if self.biased:
                targets = targets - own[by_item.users, -1]
                own[:, -1] = 1
            return np.asarray(normal_equation_sums(by_item.indptr, by_item.users, targets, fixed(own)))

        def by_torch(parts: Iterable[Ratings]) -> Doubles:
            columns = ((part.indptr, part.item_index, part.values) for part in parts)
            offsets = np.asarray(mean + item_bias, dtype=np.float32)
            return als_sums(columns, design, offsets, self._penalty(factors), FAINT_PENALTY, float(mean), self.biased)

        shape = (len(item_bias), packed_width(factors + self.biased))
        name = "what users' own factors say about each item"
        return Contribution(name=name, shape=shape, total=total, on_torch=by_torch)

    # ── With privacy ──

    def _queries(self, population: Population) -> ALSQueries:
        """What will be asked for. Public: no rating is looked at."""
        queries = ALSQueries(
            factors=self.factors or 1,
            sweeps=self.sweeps or 1,
            items=min(len(population.catalogue), self.items or PRIVATE.most_items),
            item_sums_share=self.item_sums_share or 0.5,
            weighting=self.weighting,
            kept=self.kept,
            exponent=self.exponent,
            features=self.features,
            free=self.free,
            seed=self.seed,
        )
        noise = population.deviation(sample_factor_sums(queries, population.catalogue).contribution)
        signal_to_noise = self.audience / noise / self.reference
        share = self.item_sums_share or 0.5 / (1 + signal_to_noise)
        return replace(
            queries,
            activity_share=0.0 if self.factors else self.activity_share * (1 - share),
            factors=self.factors or round(min(max(signal_to_noise, 1), 16)),
            sweeps=self.sweeps or round(min(max(4 * signal_to_noise, 1), 12)),
            item_sums_share=share,
        )

    # ── At home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        private = (UNKNOWN, COUNTS)
        factors = Array("item_factors", "float32", ("items", "factors"))
        return (MEAN, ITEM_BIAS, factors, *(private if "unknown" in names else ()))

    def prepare(self, release: Release) -> FoldIn | UserRegression:
        """The item side: with what is not known of it, where it was learned through noise."""
        arrays, offsets = release.arrays, rating_offsets(release)
        design = arrays["item_factors"]
        if "unknown" in arrays:  # of the private form
            features = item_features(release.catalogue)[:, : None if self.features else 0]
            width = release.catalogue.scale.width
            return covariates(offsets, arrays["unknown"], arrays["counts"], features, design, width)
        factors = design.shape[1]
        return FoldIn(with_ones(design) if self.biased else design, offsets, self._penalty(factors))

    predict, score = methods.predict, methods.score
