"""Almanac: one publication of item statistics, from which everyone works out their own recommendations at home."""

from dataclasses import dataclass

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import require, require_number, require_whole
from discreet.models.almanac_plan import CLIP, plan_for
from discreet.models.at_home import Covariates
from discreet.models.features import item_features
from discreet.models.fitting import check_population
from discreet.models.folding import predict_pairs
from discreet.models.item_sums import likely_biases, likely_counts
from discreet.models.pair_sums import Weighting
from discreet.models.release import Release
from discreet.models.spectral import above_the_edge, factors_through_noise, likely_weights, noise_edge
from discreet.populations.population import Population
from discreet.types import AnyArray, Floats, Indices, Progress, no_progress

CHANCE, FACTOR_SPREAD, PATTERNS = 2.0, 0.1, 6
TYPICAL_WEIGHT = 0.1


@dataclass(frozen=True, kw_only=True)
class Almanac:
    """One publication of noisy item statistics; all fitting happens at home.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    >>> release = dc.Almanac(audience=200).fit(dc.TrustedServer(ratings, ledger))
    >>> release.predict(ratings, [0, 0], [3, 4]).shape
    (2,)
    """

    audience: int = 1000
    factors: int = 20
    taste_factors: int = 30
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
        plan = plan_for(population, self.audience, self.items, self.pair_share)
        catalogue = population.catalogue
        size, width = len(catalogue), catalogue.scale.width
        sums, asked = plan.item_sums(population)
        noise = population.deviation(asked, 1 - plan.share)
        noisy_counts, noisy_sums = population.sum(asked, 1 - plan.share)
        counts = likely_counts(noisy_counts, noise)
        features = self._features(catalogue)
        weight = 1.0 if plan.scaling == "rating" else TYPICAL_WEIGHT
        bias, unknown = likely_biases(counts, noisy_sums * sums.points, noise * sums.points, weight, features, width)
        mean = float(sums.base[0] + bias @ counts / max(counts.sum(), 1e-9))
        base = (sums.base + bias).astype(np.float32)
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": base - np.float32(mean),
            "unknown": unknown.astype(np.float32),
            "counts": (counts / weight).astype(np.float32),
        }
        progress(1, 3, "item sums")
        rows = np.sort(np.argsort(-noisy_counts, kind="stable")[: plan.items]).astype(np.int32)
        factors, tastes = np.zeros((plan.items, 0), dtype=np.float32), np.zeros((plan.items, 0), dtype=np.float32)
        if plan.share > 0:
            pairs, asked = plan.pair_sums(population, rows, base)
            products, weights = pairs.matrices(population.sum(asked, plan.share))
            noise, weight_noise = pairs.deviations(population.deviation(asked, plan.share))
            progress(2, 3, "pairs of items")
            tastes = _taste_factors(weights, weight_noise, self.taste_factors)
            weights = likely_weights(weights, counts[rows], weight_noise, PATTERNS)
            if plan.products:
                chance = CHANCE * _weight_of_a_rating(weights, counts[rows], plan.weighting)
                factors = factors_through_noise(products, weights, noise, chance, FACTOR_SPREAD, self.factors)
                factors *= np.float32(CLIP * width)
        for name, found, most in (
            ("item_factors", factors, self.factors),
            ("taste_factors", tastes, self.taste_factors),
        ):  # columns of zeros for what did not stand out: the shape of a release says nothing
            arrays[name] = np.zeros((size, most), dtype=np.float32)
            arrays[name][rows, : found.shape[1]] = found
        progress(3, 3, "pairs of items")
        return Release.of(self, population, arrays)

    def _features(self, catalogue: Catalogue) -> Floats:
        found = item_features(catalogue)
        return found if self.features else found[:, :0]

    # ── Prediction, at home ──

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair, from the user's own ratings."""
        known = self._covariates(release)
        return predict_pairs(known.tastes(histories), known.rows, known.base, users, items)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """How much each item is rated, more so where it should suit the user."""
        known = self._covariates(release)
        expected = known.base + known.tastes(histories) @ known.rows.T
        return np.asarray(np.sqrt(release.arrays["counts"]) * expected, dtype=np.float32)

    def explain(self, release: Release, history: History, item: int) -> Floats:
        """What each rating of the history adds to the expected rating of ``item``."""
        return self._covariates(release).shares(history, item)

    def _covariates(self, release: Release) -> Covariates:
        arrays = release.arrays
        return Covariates.of(
            arrays["mean"][0] + arrays["item_bias"],
            arrays["unknown"],
            arrays["counts"],
            self._features(release.catalogue),
            arrays["item_factors"][:, arrays["item_factors"].any(axis=0)],
            release.catalogue.scale.width,
        )


def _weight_of_a_rating(weights: Floats, counts: AnyArray, weighting: Weighting) -> float:
    """What w_u is like, from the weights and from how much the items were rated."""
    ratio = float(np.trace(weights)) / max(float(counts.sum()), 1e-9)
    return ratio**2 if weighting == "user, l2" else ratio


def _taste_factors(weights: Floats, deviation: float, most: int) -> Floats:
    """Who rates what together: the eigenvectors of the co-counts that stand above the noise edge, times their roots."""
    values, vectors = above_the_edge(weights, most, noise_edge(deviation, len(weights)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)), dtype=np.float32)
