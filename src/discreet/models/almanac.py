"""Almanac: item statistics are published once; from them and their own ratings all work out the rest at home.

**Published**, in at most two looks at the ratings, each a bounded sum over users with noise of a known deviation:

    1. how often each item was rated and the sum of its ratings          (:mod:`~discreet.models.sums.item_sums`)
    2. among the most rated items, by the noisy counts of 1, for every pair i, j
         W_ij = Σ_u w_u            over the users who rated both         (:mod:`~discreet.models.sums.pair_sums`)
         A_ij = Σ_u w_u x_ui x_uj  with x_ui = r_ui − base_i, cut        in one sum with W

Which of them, with what share of the budget and among how many items is settled beforehand from public facts alone
(:mod:`~discreet.models.sums.almanac_queries`): where noise would hide the pairs, all of the budget goes to the items;
where it would hide products of ratings but not that two items are rated together, only the latter is asked for.

What follows looks at no rating again, and costs nothing:

    base_i         mean + b_i: counts and sums behind their noise, by empirical Bayes, towards a line in the public
                   features of the item (:mod:`~discreet.data.features`); with v_i, what is not known of it
    item_factors   L, with A ≈ W ∘ (L Lᵀ): those of its patterns that stand above the noise edge, refined by a
                   factorisation that weighs each pair by its noise (:mod:`~discreet.models.denoise.spectral`)
    taste_factors  the patterns of W that stand above its own edge: who rates what (:mod:`~discreet.models.home.conditional_logit`)
    counts         the noisy counts behind their noise, and where there are pairs, as the first pattern of W tells them

**At home** a rating is expected to be base_i + z_iᵀ a_u, where z_i are covariates made of public features, popularity
and factors, and a_u is what a user's own ratings leave most likely (:mod:`~discreet.models.home.user_regression`). A ranking is
by how likely an item is to be rated next: popularity, moved by the user's own place among the patterns of taste and
tilted by public features (:mod:`~discreet.models.home.conditional_logit`). Whoever has rated nothing gets base_i, and what is
popular.

**Guarantee.** The release is a function of the noisy sums and of public facts; both sums are booked, with the
sensitivities that their modules prove. A user's own fit is shown to that user alone, who knows those ratings already.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import AGES, item_features
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require, require_number, require_whole
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.home.conditional_logit import ConditionalLogit, InteractionModel, taste_factors
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.almanac_queries import CLIP, queries_for
from discreet.models.sums.item_sums import posterior_biases, posterior_counts
from discreet.models.sums.pair_sums import Weighting
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices, Progress, no_progress

# Public constants, chosen on MovieLens 1M and on splits of MovieLens 100K with other seeds than those reported.
CHANCE, CHANCE_BESIDE_NOISE, CHANCE_OF_USERS, FACTOR_SPREAD = 2.0, 5.0, 12.0, 0.1
"""The v of :mod:`~discreet.models.denoise.spectral`, in weights of a rating, and its t, in units of the clip. Beside
noise more caution pays, as weights are known less well; and with the unit user they differ far more from user to user,
so that chance is with the few that weigh most."""
PATTERNS = 6
"""How many patterns of who rates what together are looked for in the weights of products."""
AGES_FOR_RANKING = 8
"""How many ages of items are told apart in rankings, where there is more to learn of them than in ratings."""


@dataclass(frozen=True, kw_only=True)
class Almanac:
    """Noisy item statistics, published once, and a small Bayesian regression of everyone's own at home.

    The one to use: it predicts ratings and ranks, with any unit and any epsilon, with or without public features.

    Parameters
    ----------
    audience
        About how many users take part, as far as this is publicly known; an order of magnitude is enough. Told too
        large a number, it asks for pairs that the noise hides, with budget that the averages then lack.
    factors, taste_factors
        At most so many patterns of ratings, and of who rates what; with few data or much noise fewer stand out.
    items
        Among how many items pairs are asked for, the most rated. None for the public rule.
    features
        Whether genres and years of the catalogue are used.
    pair_share
        How much of the budget pairs get, 0 for item sums alone: the best for ratings where there are few users. None
        for the public rule.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    >>> release = dc.Almanac(audience=200).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.what for spend in ledger.spends]
    ["how often each item was rated, and its ratings' sum"]
    >>> release.predict(ratings, [0, 0], [3, 4]).shape
    (2,)
    """

    audience: int = 1000
    factors: int = 40
    taste_factors: int = 64
    items: int | None = None
    features: bool = True
    pair_share: float | None = None

    def __post_init__(self) -> None:
        for name in ("audience", "factors", "taste_factors"):
            require_whole(name, getattr(self, name), 1)
        if self.items is not None:
            require_whole("items", self.items, 2)
        if self.pair_share is not None:
            require_number("pair_share", self.pair_share, least=0, below=1)
        require(isinstance(self.features, bool), f"features must be true or false, got {self.features!r}")

    # ── Publication ──

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for item sums and, unless noise would hide them, for sums over pairs of items; and clean these."""
        check_population(self, population)
        catalogue = population.catalogue
        features = self._features(catalogue)
        queries = queries_for(population, self.audience, self.items, self.pair_share, features.shape[1] > 0)
        size, width = len(catalogue), catalogue.scale.width
        sums, asked = queries.item_sums(population)
        count_noise = population.deviation(asked, 1 - queries.share)
        noisy_counts, noisy_sums = population.sum(asked, 1 - queries.share)
        counts = posterior_counts(noisy_counts, count_noise)
        weight = sums.typical_weight
        bias, unknown = posterior_biases(
            counts, noisy_sums * sums.points, count_noise * sums.points, weight, features, width
        )
        mean = float(sums.base[0] + bias @ counts / max(counts.sum(), 1e-9))
        base = np.clip(sums.base + bias, catalogue.scale.low, catalogue.scale.high).astype(np.float32)
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": base - np.float32(mean),
            "unknown": unknown.astype(np.float32),
            "counts": (counts / weight).astype(np.float32),
        }
        progress(1, 3, "item sums")
        rows = np.sort(np.argsort(-noisy_counts, kind="stable")[: queries.items]).astype(np.int32)
        factors, tastes = np.zeros((queries.items, 0), dtype=np.float32), np.zeros((queries.items, 0), dtype=np.float32)
        if queries.share > 0:
            pairs, asked = queries.pair_sums(population, rows, base)
            products, weights = pairs.matrices(population.sum(asked, queries.share))
            noise, weight_noise = pairs.deviations(population.deviation(asked, queries.share))
            progress(2, 3, "pairs of items")
            added = _weight_of_a_rating(weights, counts[rows], queries.weighting)
            tastes, known = taste_factors(weights, counts[rows], weight_noise, count_noise, added, self.taste_factors)
            arrays["counts"][rows] = known / weight
            weights = denoised_weights(weights, counts[rows], weight_noise, PATTERNS)
            if queries.products:
                chance = (
                    CHANCE_OF_USERS if queries.weighting == "user, l2" else CHANCE_BESIDE_NOISE if noise > 0 else CHANCE
                )
                chance *= _weight_of_a_rating(weights, counts[rows], queries.weighting)
                factors = denoised_factors(products, weights, noise, chance, FACTOR_SPREAD, self.factors)
                factors = factors * np.float32(CLIP * width)
        for name, found, most in (
            ("item_factors", factors, self.factors),
            ("taste_factors", tastes, self.taste_factors),
        ):  # columns of zeros for what did not stand out: the shape of a release says nothing
            arrays[name] = np.zeros((size, most), dtype=np.float32)
            arrays[name][rows, : found.shape[1]] = found
        progress(3, 3, "pairs of items")
        return Release.of(self, population, arrays)

    def _features(self, catalogue: Catalogue, ages: int = AGES) -> Floats:
        found = item_features(catalogue, ages)
        return found if self.features else found[:, :0]

    # ── Prediction, at home ──

    def prepare(self, release: Release) -> "Prepared":
        """What does not depend on a user."""
        return Prepared(self, release)

    def predict(self, prepared: "Prepared", histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair, from the user's own ratings."""
        return prepared.regression.predict(histories, users, items)

    def score(self, prepared: "Prepared", histories: Ratings) -> Floats:
        """How likely each item is to be the next that the user rates, as a logarithm."""
        return prepared.ranking.scores(histories)

    def explain(self, prepared: "Prepared", history: History, item: int) -> Floats:
        """What each rating of the history adds to the score of ``item``."""
        return prepared.ranking.shares(history, item)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What rankings and ratings at home start from, each made when it is first asked for."""

    model: Almanac
    release: Release

    @cached_property
    def ranking(self) -> ConditionalLogit:
        """For rankings."""
        arrays, catalogue = self.release.arrays, self.release.catalogue
        liked = (arrays["item_bias"] * (4 / catalogue.scale.width)).astype(np.float32)
        features = self.model._features(catalogue, ages=AGES_FOR_RANKING)
        return ConditionalLogit.of(InteractionModel.of(arrays["counts"], arrays["taste_factors"]), liked, features)

    @cached_property
    def regression(self) -> UserRegression:
        """For ratings."""
        arrays = self.release.arrays
        return UserRegression.of(
            arrays["mean"][0] + arrays["item_bias"],
            arrays["unknown"],
            arrays["counts"],
            self.model._features(self.release.catalogue),
            arrays["item_factors"][:, arrays["item_factors"].any(axis=0)],
            self.release.catalogue.scale.width,
        )


def _weight_of_a_rating(weights: Floats, counts: AnyArray, weighting: Weighting) -> float:
    """What w_u is like, from the weights and from how much the items were rated."""
    ratio = float(np.trace(weights)) / max(float(counts.sum()), 1e-9)
    return ratio**2 if weighting == "user, l2" else ratio
