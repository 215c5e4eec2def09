"""Almanac: item statistics are published once; each user's predictions are computed from them at home.

**Published**, from bounded sums over users, with noise of a known standard deviation:

    1. how much users rate                                                (:mod:`~discreet.models.sums.activity`)
    2. the count of each item and the sum of its ratings                  (:mod:`~discreet.models.sums.item_statistics`)
    3. what users' own regressions have in common                         (:mod:`~discreet.models.almanac.questions`)
    4. sweeps: what own fits leave of item biases, and factors of ratings (:mod:`~discreet.models.denoise.private_als`)
    5. among the most rated items, by the noisy counts of 2, for every pair i, j
         W_ij = Σ_u w_u            over the users who rated both          (:mod:`~discreet.models.sums.pair_sums`)
         A_ij = Σ_u w_u x_ui x_uj  with x_ui = r_ui − base_i, clipped
    6. the vote: how users' own ratings weigh the parts of predictions    (:mod:`~discreet.models.almanac.questions`)

1 and a part of 2 come first. From these noisy answers and from what the release is for, its ``purpose``, a plan follows
with the shares of all the rest: the one with which held-out ratings are expected to be predicted best
(:mod:`~discreet.models.almanac.planner`).

The rest is post-processing and costs no privacy:

    base_i         mean + b_i, by empirical Bayes from the noisy counts and sums, with a prior that is linear in public
                   features (:mod:`~discreet.models.denoise.item_biases`), moved by 3; and v_i, its posterior variance
    item_factors   L, with A ≈ W ∘ (L Lᵀ): eigenvectors above the spectral threshold, refined by a weighted
                   factorisation (:mod:`~discreet.models.denoise.spectral`)
    taste_factors  factors of W: who rates what (:mod:`~discreet.models.almanac.pairs`)
    neighbours     item-item weights, EASE of the denoised W (:mod:`~discreet.models.almanac.pairs`)
    counts         denoised counts; where there are pairs, improved by the first factor of W
    prior_scales   how wide priors at home are; feature_precision, how tightly tastes for features are held

**At home** the expected rating is base_i + z_iᵀ a_u, where z_i are covariates made of public features, popularity and
factors, and a_u is fitted to the user's own ratings (:mod:`~discreet.models.home.user_regression`). Items are ranked by
the probability that the user rates them next: a conditional logit whose offset is the user's expected interactions
(:mod:`~discreet.models.almanac.ranking`). A user without ratings gets base_i, and the most popular items.

**Guarantee.** The release is a function of the noisy sums and of public facts. All sums are booked, with the
sensitivities that their modules prove. A user's own fit is shown to that user alone, who knows those ratings already.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import AGES, item_features
from discreet.errors import require, require_kinds, require_settings
from discreet.kernels.gpu_logit import LogitOnDevice
from discreet.kernels.gpu_pairs import ratings_stay
from discreet.models.almanac.items import SeenItems, informed
from discreet.models.almanac.pairs import PairFactors, as_wide_as_needed, padded
from discreet.models.almanac.planner import CONSTANTS as PLAN
from discreet.models.almanac.planner import FACTORS, PURPOSES, ROUNDING, Plan, Planner, Purpose
from discreet.models.almanac.questions import about_level, asked_scales, levelled, with_fixed_effects
from discreet.models.almanac.ranking import Prepared
from discreet.models.denoise.item_biases import Averages
from discreet.models.denoise.private_als import CONSTANTS as SWEEPS
from discreet.models.denoise.private_als import ALSQueries, refined
from discreet.models.denoise.spectral import rating_factors
from discreet.models.home import item_arrays, methods
from discreet.models.home.user_regression import UserRegression, taste_covariates
from discreet.models.sums.activity import Activity
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.choices import TERMS
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Progress, no_progress


@dataclass(frozen=True)
class _Constants:
    """Shares are of μ² with the unit user, of epsilon with the unit rating."""

    activity: float = 0.01
    """For how much users rate."""
    first_of_users: float = 0.2
    """For item sums at first, which Gaussian noise allows to split without loss."""
    first_of_ratings: float = 0.04
    """The same with Laplace noise, which does not."""
    first_weight: float = 0.5
    """Of sums beside counts, in these."""
    level: float = 0.02
    """For the level of all ratings, half of it before item sums and half after them, with the unit rating."""
    effects: float = 0.04
    """For what users' own fits have in common, with the unit user."""
    scales: float = 0.03
    """For how wide priors of users' own regressions should be."""
    sweeps: int = 8
    """With factors."""
    sweeps_of_many: int = 4
    """The same from so many users on that each takes long:"""
    many_users: float = 100_000
    sweeps_alone: int = 2
    """Without."""
    ages_for_ranking: int = 8
    """Into how many bins the ages of items are sorted for rankings, where they matter more than for ratings."""


CONSTANTS = _Constants()


@dataclass(frozen=True, kw_only=True)
class Almanac:
    """Noisy item statistics, published once, and a small Bayesian regression of everyone's own at home.

    The one to use: it predicts ratings and ranks, with any unit and any epsilon, with or without public features.

    Parameters
    ----------
    factors, taste_factors
        The largest number of factors of ratings, and of who rates what; with few data or much noise there are fewer.
        A release has 64 columns for the latter, or this number if it is smaller; where more were found, 128 or 256.
    features
        Whether genres and years of the catalogue are used.
    purpose
        What the release is for: ``"ratings"``, ``"ranking"`` or ``"both"``. It looks first, and then spends the budget
        where that pays.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    >>> release = dc.Almanac(purpose="ranking").fit(dc.TrustedServer(ratings, ledger))
    >>> ledger.spends[0].what
    'how many users rated how much'
    >>> release.predict(ratings, [0, 0], [3, 4]).shape
    (2,)
    """

    factors: int = 40
    taste_factors: int = 256
    features: bool = True
    purpose: Purpose = "both"

    implicit: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_settings(self, "factors", "taste_factors", least=1)
        require(
            isinstance(self.purpose, str) and self.purpose in PURPOSES,
            f"purpose must be 'both', 'ratings' or 'ranking', got {self.purpose!r}",
        )
        require_kinds(self)

    # ── Publication ──

    @ratings_stay()
    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for noisy sums, and denoise them: first who rates how much and the item sums, then what tells most."""
        check_population(self, population)
        catalogue, size, planner = population.catalogue, len(population.catalogue), Planner(population)
        purpose: Purpose = "ranking" if catalogue.scale.implicit else self.purpose
        features, noise = self._features(catalogue), planner.noise
        by_ratings = not planner.by_user and not planner.exact
        activity = Activity.ask(population, CONSTANTS.activity, noise)
        level = CONSTANTS.level if by_ratings and purpose != "ranking" else 0.0
        scales = 0.0 if purpose == "ranking" and not planner.exact else CONSTANTS.scales
        sums = about_level(planner.sums.with_weight(CONSTANTS.first_weight), population, level / 2)
        first = CONSTANTS.first_of_users if planner.by_user and noise else CONSTANTS.first_of_ratings
        seen = SeenItems.ask(sums, population, first, noise if planner.by_user else None)
        seen = seen.with_nights_before(catalogue.prior)
        progress(1, 3, "item sums")
        known = seen.known(seen.averages(features, SWEEPS.most_items), activity)
        activity = activity.with_roots(seen.roots) if planner.sweeps else activity
        left, beside = 1 - CONSTANTS.activity - first - level / 2, level / 2 + scales
        effects = CONSTANTS.effects if planner.sweeps and scales > 0 else 0.0
        plan = planner.plan(purpose, known, left - beside - effects)
        if by_ratings and plan.noise is not None and beside > 0:  # what is asked beside has Gaussian noise, too
            part = (planner.gaussian(left) - planner.gaussian(left - beside)) / beside * (1 - ROUNDING)
            level, scales = part * level, part * scales
        if plan.items > 0:
            asked = sums.with_weight(plan.relative_weight)
            seen = seen.averaged_with(SeenItems.ask(asked, population, plan.items * (1 - ROUNDING), plan.noise))
        averages = seen.averages(features, SWEEPS.most_items)
        seen, averages = levelled(seen, averages, population, level / 2, plan.noise)
        arrays: dict[str, AnyArray] = {} if planner.exact else {"plan": plan.array}
        wider = seen.prior_scales(features)
        if effects > 0:
            at_home = averages.at_home(features, np.zeros((size, 0)), catalogue.scale.width, wider)
            base, wider = with_fixed_effects(at_home, wider, activity, averages.counts, population, effects)
            averages = replace(averages, base=base)
        if plan.sweeps > 0:
            many = activity.total >= CONSTANTS.many_users
            averages, factors = self._sweep(plan, planner, seen, averages, population, many)
            arrays["item_factors"] = padded(size, np.arange(size, dtype=np.int32), factors, self.factors)
        progress(2, 3, "what own fits leave")
        rows, found = np.zeros(0, dtype=np.int32), PairFactors.nothing()
        rated = averages.counts.copy()
        if plan.counts > 0:
            rows = seen.listed(plan.counted)
            pairs = planner.pairs(rows, np.zeros(size, dtype=np.float32), rated=False)
            found = PairFactors.of(
                pairs,
                *planner.answer(pairs, population, plan.counts),
                rated[rows] * sums.typical_weight,
                seen.deviation,
                most=self.factors,
                most_tastes=self.taste_factors,
                features=self._features(catalogue, CONSTANTS.ages_for_ranking),
            )
            averages.counts[rows] = found.counts / sums.typical_weight
        arrays = averages.arrays | found.arrays(size, rows, self.factors, self.taste_factors) | arrays
        if plan.products > 0:
            rows = seen.listed(plan.rated)
            pairs = planner.pairs(rows, averages.base, rated=True)
            answer = planner.answer(pairs, population, plan.products)
            factors = rating_factors(pairs, *answer, rated[rows] * sums.typical_weight, self.factors)
            arrays["item_factors"] = padded(size, rows, factors, self.factors)
        progress(3, 3, "pairs of items")
        if scales > 0 and not catalogue.scale.implicit:
            at_home = self._regression(arrays | {"prior_scales": wider}, catalogue)
            followed = averages.followed((PLAN.bias_spread * catalogue.scale.width) ** 2)
            laplace = plan.noise is None
            arrays |= asked_scales(at_home, followed, activity.size, population, scales, wider, laplace)
        return Release.of(self, population, as_wide_as_needed(informed(arrays, population, seen, features)))

    def chooses_on_the_way(self, population: Population) -> bool:
        """Whether answers decide what is asked for next: wherever anything is protected."""
        return population.unit is not None

    def _sweep(
        self, plan: Plan, planner: Planner, seen: SeenItems, averages: Averages, population: Population, many: bool
    ) -> tuple[Averages, Floats]:
        """What own fits leave of item biases, and factors of ratings, which without features start from products."""
        size, start, sweeps = len(averages.base), 0.0, CONSTANTS.sweeps_alone
        initial = np.zeros((size, 0), dtype=np.float32)
        if plan.factors:
            sweeps = CONSTANTS.sweeps_of_many if many else CONSTANTS.sweeps
            if not self._features(population.catalogue).shape[1]:
                start, listed = PLAN.start * plan.sweeps, seen.listed(plan.start)
                pairs = planner.pairs(listed, averages.base, rated=True)
                counts = averages.counts[listed] * seen.sums.typical_weight
                answer = planner.answer(pairs, population, start)
                found = rating_factors(pairs, *answer, counts, self.factors)[:, : max(FACTORS)]
                initial = np.zeros((size, found.shape[1]), dtype=np.float32)
                initial[listed] = found[:, np.argsort(-(counts @ found**2), kind="stable")]
        last = PLAN.biases_at_last * plan.sweeps if plan.factors else 0.0
        queries = ALSQueries.of(
            factors=min(plan.factors, self.factors),
            sweeps=sweeps,
            items=len(averages.listed),
            share=(plan.sweeps - start) * (1 - ROUNDING),
            last=last,
            features=self.features,
        )
        side, counted = refined(queries, population, averages, no_progress, initial)
        counts = seen.counts_with(counted, averages)
        return replace(averages, base=side.base, unknown=side.unknown, counts=counts), side.factors.astype(np.float32)

    def _features(self, catalogue: Catalogue, ages: int = AGES) -> Floats:
        found = item_features(catalogue, ages)
        return found if self.features else found[:, :0]

    # ── Prediction, at home ──

    def _regression(self, arrays: Mapping[str, AnyArray], catalogue: Catalogue) -> UserRegression:
        base, factors = arrays["mean"][0] + arrays["item_bias"], arrays["item_factors"]
        known = base, arrays["unknown"], arrays["counts"], self._features(catalogue), factors[:, factors.any(axis=0)]
        tastes = taste_covariates(arrays["taste_factors"], arrays["counts"])
        return UserRegression.of(*known, catalogue.scale.width, arrays.get("prior_scales"), tastes)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (
            item_arrays.MEAN,
            item_arrays.ITEM_BIAS,
            item_arrays.UNKNOWN,
            item_arrays.COUNTS,
            Array("item_factors", "float32", ("items", self.factors)),
            Array("taste_factors", "float32", ("items", "tastes")),
            *(item_arrays.NEIGHBOUR_WEIGHTS if "neighbours" in names else ()),
            *((Array("plan", "float32", (len(TERMS), 2)),) if "plan" in names else ()),
            *((item_arrays.PRIOR_SCALES,) if "prior_scales" in names else ()),
            *((item_arrays.FEATURE_PRECISION,) if "feature_precision" in names else ()),
            *(item_arrays.SUMS if "noisy_sums" in names else ()),
        )

    def prepare(self, release: Release) -> Prepared:
        """What does not depend on a user."""
        features = self._features(release.catalogue, CONSTANTS.ages_for_ranking)
        return Prepared(release, features, lambda: self._regression(release.arrays, release.catalogue))

    def ranks_by_torch(self, prepared: Prepared) -> LogitOnDevice:
        """The same for very many users by torch, on a GPU where there is one."""
        return prepared.ranking_by_torch

    predict, score = methods.predict_ratings, methods.rank
    explain, explain_many = methods.explain, methods.explain_many
