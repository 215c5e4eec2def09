"""Almanac: item statistics are published once; each user's predictions are computed from them at home.

**Published**, from bounded sums over users, with noise of a known standard deviation:

    1. the count of each item and the sum of its ratings                 (:mod:`~discreet.models.sums.item_statistics`)
    2. among the most rated items, by the noisy counts of 1, for every pair i, j
         W_ij = Σ_u w_u            over the users who rated both         (:mod:`~discreet.models.sums.pair_sums`)
         A_ij = Σ_u w_u x_ui x_uj  with x_ui = r_ui − base_i, clipped    in one sum with W
    3. what users' own regressions have in common                        (:mod:`~discreet.models.sums.fixed_effects`)
    4. how wide the priors of users' own regressions should be           (:mod:`~discreet.models.sums.prior_scales`)

Which of them are asked for, with what share of the budget and among how many items, is decided on the way, by what the
release is for (its ``purpose``) and by the noisy answers so far: :mod:`~discreet.models.sums.almanac_plan` for the unit
user, :mod:`~discreet.models.sums.rating_plan` for the unit rating, as far as the samplers allow
(:mod:`~discreet.models.sums.room`). Without a purpose, without a delta, and where ``items`` or ``pair_share`` are
given, it is decided beforehand from public facts (:mod:`~discreet.models.sums.almanac_queries`).

The rest is post-processing and costs no privacy:

    base_i         mean + b_i, by empirical Bayes from the noisy counts and sums, with a prior that is linear in public
                   features (:mod:`~discreet.models.denoise.item_biases`), moved by 3; and v_i, its posterior variance
    item_factors   L, with A ≈ W ∘ (L Lᵀ): eigenvectors above the spectral threshold, refined by a weighted
                   factorisation (:mod:`~discreet.models.denoise.spectral`)
    taste_factors  factors of W: who rates what (:mod:`~discreet.models.denoise.co_occurrence`)
    neighbours     item-item weights, EASE of the denoised W (:mod:`~discreet.models.denoise.item_weights`)
    counts         denoised counts; where there are pairs, improved by the first factor of W
    prior_scales   how wide priors at home are; popularity_floor, how near to popularity rankings stay;
                   feature_precision, how tightly tastes for features are held

**At home** the expected rating is base_i + z_iᵀ a_u, where z_i are covariates made of public features, popularity and
factors, and a_u is fitted to the user's own ratings (:mod:`~discreet.models.home.user_regression`). Items are ranked by
the probability that the user rates them next: a conditional logit whose offset is the user's expected interactions
(:mod:`~discreet.models.home.conditional_logit`). A user without ratings gets base_i, and the most popular items.

**Guarantee.** The release is a function of the noisy sums and of public facts. All sums are booked, with the
sensitivities that their modules prove. A user's own fit is shown to that user alone, who knows those ratings already.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import AGES, item_features
from discreet.errors import InputError, require, require_kinds, require_settings
from discreet.kernels.gpu_logit import LogitOnDevice
from discreet.kernels.gpu_pairs import ratings_stay
from discreet.models.denoise.initial_factors import initial_factors
from discreet.models.denoise.interactions import fit_interactions
from discreet.models.denoise.level import about_level, levelled
from discreet.models.denoise.pair_factors import PairFactors, as_wide_as_needed, padded, rating_factors
from discreet.models.denoise.prior import informed
from discreet.models.denoise.private_als import CONSTANTS as SWEEPS
from discreet.models.denoise.private_als import ALSQueries, refined
from discreet.models.denoise.seen_items import SeenItems
from discreet.models.denoise.seen_pairs import SeenPairs
from discreet.models.home import item_arrays, methods
from discreet.models.home.prepared import Prepared
from discreet.models.home.taste_covariates import taste_covariates
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums import almanac_plan, item_sums_plan, rating_plan, room
from discreet.models.sums.almanac_plan import PURPOSES, Purpose
from discreet.models.sums.almanac_queries import AlmanacQueries, queries_for
from discreet.models.sums.census import Census, census_of_users, trace_of_users
from discreet.models.sums.fixed_effects import with_fixed_effects
from discreet.models.sums.pair_sums import PairSums
from discreet.models.sums.prior_scales import asked_scales
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Progress, no_progress


@dataclass(frozen=True)
class _Constants:
    """Chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported."""

    ages_for_ranking: int = 8
    """Into how many bins the ages of items are sorted for rankings, where they matter more than for ratings."""


CONSTANTS = _Constants()


@dataclass(frozen=True, kw_only=True)
class Almanac:
    """Noisy item statistics, published once, and a small Bayesian regression of everyone's own at home.

    The one to use: it predicts ratings and ranks, with any unit and any epsilon, with or without public features.

    Parameters
    ----------
    audience
        About how many users take part, as far as this is publicly known; an order of magnitude is enough. It matters
        only where everything is decided beforehand: without a purpose or a delta, or with ``items`` or ``pair_share``.
    factors, taste_factors
        The largest number of factors of ratings, and of who rates what; with few data or much noise there are fewer.
        A release has 64 columns for the latter, or this number if it is smaller; where more were found, 128 or 256.
    items
        Among how many items pairs are asked for, the most rated. None to go by what is seen or, where everything is
        decided beforehand, by the public rule.
    features
        Whether genres and years of the catalogue are used.
    pair_share
        How much of the budget pairs get, 0 for item sums alone: the best for ratings where there are few users. None
        as for ``items``.
    purpose
        What the release is for: ``"ratings"``, ``"ranking"`` or ``"both"``. With a delta, and without ``items`` and
        ``pair_share``, it looks first, and then spends the budget where that pays. None to decide everything
        beforehand, by public facts.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    >>> release = dc.Almanac(purpose="ranking").fit(dc.TrustedServer(ratings, ledger))
    >>> len(ledger.spends), ledger.spends[0].what
    (3, 'how many users rated how much')
    >>> release.predict(ratings, [0, 0], [3, 4]).shape
    (2,)
    """

    audience: int = 1000
    factors: int = 40
    taste_factors: int = 256
    items: int | None = None
    features: bool = True
    pair_share: float | None = None
    purpose: Purpose | None = "both"

    implicit: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_settings(self, "audience", "factors", "taste_factors", least=1)
        require_settings(self, "items", least=2)
        require_settings(self, "pair_share", least=0, below=1)
        require(
            self.purpose is None or (isinstance(self.purpose, str) and self.purpose in PURPOSES),
            f"purpose must be 'both', 'ratings' or 'ranking', got {self.purpose!r}",
        )
        require_kinds(self)

    # ── Publication ──

    @ratings_stay()
    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for noisy sums, and denoise them."""
        check_population(self, population)
        implicit = population.catalogue.scale.implicit
        if self.purpose is None or not self.chooses_on_the_way(population):
            arrays = (self._fit_without_ratings if implicit else self._fit_by_public_facts)(population, progress)
        else:
            by_user = population.unit is not None and population.unit.name == "user"
            fit = self._fit_by_what_is_seen if by_user else self._fit_by_ratings
            arrays = fit(population, "ranking" if implicit else self.purpose, progress)
        return Release.of(self, population, as_wide_as_needed(arrays))

    def chooses_on_the_way(self, population: Population) -> bool:
        """Whether answers decide what is asked for next: with a purpose, a delta, and room for more than one look."""
        beforehand = self.purpose is None or self.items is not None or self.pair_share is not None
        if beforehand or population.unit is None:
            return False
        try:
            population.deviation(census_of_users())
            if population.unit.name == "rating":
                rating_plan.check(population)
        except InputError:  # without a delta
            return False
        return room.to_look_first(population, self._features(population.catalogue).shape[1])

    def _fit_by_what_is_seen(self, population: Population, purpose: Purpose, progress: Progress) -> dict[str, AnyArray]:
        """A first look at users and items; then whatever pays most (:mod:`~discreet.models.sums.almanac_plan`)."""
        plan, size, features = almanac_plan.CONSTANTS, len(population.catalogue), self._features(population.catalogue)
        for_ranking = self._features(population.catalogue, CONSTANTS.ages_for_ranking)
        census = Census.ask(population, plan.census_share)
        sums = almanac_plan.item_sums(population, purpose)
        seen = SeenItems.ask(sums, population, plan.first_share).with_nights_before(population.catalogue.prior)
        progress(1, 3, "item sums")
        averages = seen.averages(features, SWEEPS.most_items)
        facts = purpose, census, averages.counts * sums.typical_weight, population, features.shape[1], seen.before
        looks, tried = room.next_looks(*facts, most_listed=SWEEPS.most_items), None
        rows, found = np.zeros(0, dtype=np.int32), PairFactors.nothing()
        part = plan.tried_share if features.shape[1] else plan.tried_without_features
        if looks.pairs > 0 and not looks.products:
            tried = SeenPairs.ask(seen.listed(looks.items), population, part * looks.pairs)
            if tried.patterns(averages.counts, sums.typical_weight, seen.deviation) < plan.least_patterns:
                found = replace(found, tighter=tried.tighter(averages.counts, sums.typical_weight, for_ranking))
                spent = part * looks.pairs
                looks, tried = room.next_looks(*facts, spent, most_listed=SWEEPS.most_items), None
        if looks.again > 0:
            seen = seen.again(population, looks.again, looks.sums_again)
            averages = seen.averages(features, SWEEPS.most_items)
        factors, width, wider = np.zeros((size, 0)), population.catalogue.scale.width, seen.prior_scales(features)
        known = averages.at_home(features, factors, width, wider)
        base, wider = with_fixed_effects(known, wider, census, averages.counts, seen.roots, population, looks.effects)
        averages, unknown, counts = replace(averages, base=base), averages.unknown, averages.counts
        if looks.sweeps is not None:
            queries = ALSQueries.of(looks.sweeps, len(averages.listed), self.features, most_factors=self.factors)
            start = initial_factors(looks.sweeps, population, seen, averages, min(plan.many_factors, self.factors))
            side, said = refined(queries, population, averages, no_progress, start)
            base, unknown, factors = side.base, side.unknown, side.factors
            counts = seen.counts_with(said, averages)
        progress(2, 3, "what own fits leave")
        if tried is not None:
            rows = tried.pairs.listed
            more = tried.again(population, (1 - part) * looks.pairs)
            found = more.factors(counts, sums.typical_weight, seen.deviation, self.taste_factors, for_ranking)
            counts[rows] = found.counts / sums.typical_weight
        if looks.products:
            rows = seen.listed(looks.items)
            asked_of_pairs = almanac_plan.products(rows, base, width, purpose)
            own = counts[rows] * sums.typical_weight
            found = self._seen_in_pairs(*asked_of_pairs, looks.pairs, population, own, seen.deviation)
            counts[rows] = found.counts / sums.typical_weight
        progress(3, 3, "pairs of items")
        averages = replace(averages, base=base, unknown=unknown, counts=counts)
        arrays = averages.arrays | found.arrays(size, rows, self.factors, self.taste_factors)
        arrays["popularity_floor"] = np.array([looks.floor], dtype=np.float32)
        if looks.sweeps is not None:
            arrays["item_factors"] = padded(size, np.arange(size, dtype=np.int32), factors, self.factors)
        if purpose != "ranking":
            at_home = self._regression(arrays | {"prior_scales": wider}, population.catalogue)
            arrays |= asked_scales(at_home, census.size, population, plan.scales_share, wider)
        return informed(arrays, population, seen, features)

    def _fit_by_ratings(self, population: Population, purpose: Purpose, progress: Progress) -> dict[str, AnyArray]:
        """The same where single ratings are hidden (:mod:`~discreet.models.sums.rating_plan`)."""
        size, features = len(population.catalogue), self._features(population.catalogue)
        item_sums_plan.check(population, purpose)
        trace = float(population.sum(trace_of_users(), rating_plan.CONSTANTS.trace_share)[0])
        first = rating_plan.first_looks(purpose, trace, population)
        sums = about_level(item_sums_plan.item_sums(population, purpose, trace), population, first.level / 2)
        seen = SeenItems.ask(sums, population, first.items, None).with_nights_before(population.catalogue.prior)
        progress(1, 3, "item sums")
        counts = seen.averages(features, SWEEPS.most_items).counts
        counts *= max(float(seen.answer[0].sum()), 0.0) / max(float(counts.sum()), 1e-9)  # the sum without its bias
        looks = rating_plan.next_looks(purpose, trace, counts, population, first, features.shape[1] > 0)
        looks = room.looks_at_ratings(looks, population)
        if looks.again > 0:
            given = {"features": features.shape[1] > 0, "pairs": looks.pairs > 0}
            more = sums.with_weight(item_sums_plan.sums_again(purpose, counts, population, seen.before, **given))
            looks = looks.settled(population, more.contribution, pure=first.level > 0)
            seen = seen.averaged_with(SeenItems.ask(more, population, looks.again, looks.noise))
        averages = seen.averages(features, SWEEPS.most_items)
        seen, averages = levelled(seen, averages, population, first.level / 2)
        at_home = averages.at_home(features, np.zeros((size, 0)), population.catalogue.scale.width)
        by_size = rating_plan.size_by(trace, averages.counts), population, looks.scales
        scales = asked_scales(at_home, *by_size, laplace=looks.pairs == 0)
        progress(2, 3, "item sums")
        rows, found = np.zeros(0, dtype=np.int32), PairFactors.nothing()
        base, known = averages.base, averages.counts.copy()
        if looks.pairs > 0:
            ask = looks.counted if looks.items else looks.products
            rows = seen.listed(looks.items or looks.rated)
            found = self._seen_in_pairs(*ask(population, rows, base), population, known[rows], seen.deviation)
            averages.counts[rows] = found.counts
        arrays = averages.arrays | scales | found.arrays(size, rows, self.factors, self.taste_factors)
        arrays["popularity_floor"] = np.array([looks.floor], dtype=np.float32)
        if looks.items and looks.rated:
            rows = seen.listed(looks.rated)
            pairs, asked, share = looks.products(population, rows, base)
            answer = population.sum(asked, share), population.deviation(asked, share)
            factors = rating_factors(pairs, *answer, known[rows], self.factors)
            arrays["item_factors"] = padded(size, rows, factors, self.factors)
        progress(3, 3, "pairs of items")
        return informed(arrays, population, seen, features)

    def _seen_in_pairs(
        self,
        pairs: PairSums,
        asked: Contribution,
        share: float,
        population: Population,
        counts: Doubles,
        count_noise: float,
    ) -> PairFactors:
        answer, deviation = population.sum(asked, share), population.deviation(asked, share)
        features = self._features(population.catalogue, CONSTANTS.ages_for_ranking)
        most = {"most": self.factors, "most_tastes": self.taste_factors}
        return PairFactors.of(pairs, answer, deviation, counts, count_noise, **most, features=features)

    def _fit_by_public_facts(self, population: Population, progress: Progress) -> dict[str, AnyArray]:
        """Ask for item sums and, unless noise would hide them, for sums over pairs of items; and denoise both."""
        catalogue, size = population.catalogue, len(population.catalogue)
        features = self._features(catalogue)
        queries = self._queries(population, features.shape[1] > 0)
        sums, asked = queries.item_sums(population)
        seen = SeenItems.ask(sums, population, 1 - queries.share, asked.noise).with_nights_before(catalogue.prior)
        counts, bias, unknown = seen.denoised(features)
        weight = sums.typical_weight
        mean = float(sums.base[0] + bias @ counts / max(counts.sum(), 1e-9))
        base = np.clip(sums.base + bias, catalogue.scale.low, catalogue.scale.high).astype(np.float32)
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": base - np.float32(mean),
            "unknown": unknown.astype(np.float32),
            "counts": (counts / weight).astype(np.float32),
        }
        progress(1, 3, "item sums")
        rows = seen.listed(queries.items)
        found = PairFactors.nothing()
        if queries.share > 0:
            pairs, asked = queries.pair_sums(population, rows, base)
            found = self._seen_in_pairs(pairs, asked, queries.share, population, counts[rows], seen.deviation)
            arrays["counts"][rows] = found.counts / weight
        arrays |= found.arrays(size, rows, self.factors, self.taste_factors)
        if population.unit is None:  # then asking costs nothing; but items know the ratings that are left out: half way
            known, size_by = self._regression(arrays, catalogue), Census.ask(population, 1.0).size
            arrays["prior_scales"] = np.sqrt(asked_scales(known, size_by, population, 1.0)["prior_scales"])
        progress(3, 3, "pairs of items")
        return informed(arrays, population, seen, features)

    def _fit_without_ratings(self, population: Population, progress: Progress) -> dict[str, AnyArray]:
        """Counts and co-occurrence counts alone (:mod:`~discreet.models.denoise.interactions`)."""
        size, features = len(population.catalogue), self._features(population.catalogue, CONSTANTS.ages_for_ranking)
        queries = self._queries(population, features.shape[1] > 0)
        asked = replace(queries, products=False), population, self.taste_factors
        told = fit_interactions(*asked, features, progress)
        nothing = np.zeros(size, dtype=np.float32)
        arrays = {
            "mean": np.ones(1, dtype=np.float32),
            "item_bias": nothing,
            "unknown": nothing,
            "counts": told.counts.astype(np.float32),
        } | told.found.arrays(size, told.rows, self.factors, self.taste_factors)
        return informed(arrays, population, told.seen, features)

    def _queries(self, population: Population, features: bool) -> AlmanacQueries:
        queries = queries_for(population, self.audience, self.items, self.pair_share, features)
        return room.beforehand(population, queries, wanted=self.pair_share is not None)

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
            *((item_arrays.PRIOR_SCALES,) if "prior_scales" in names else ()),
            *((item_arrays.POPULARITY_FLOOR,) if "popularity_floor" in names else ()),
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
