"""Covariances of pairs of items, published with noise; each user's own ratings are completed from them at home.

Published are two sums over users:

    1. the count of each item and the sum of its ratings    →   base_i = mean + b_i, and the most rated items
    2. A_ij = Σ_u w_u x_ui x_uj  and  W_ij = Σ_u w_u        over the users who rated both, for pairs of these items,
                                                            x_ui = r_ui − base_i, clipped

The second is one bounded sum, numerator and denominator together (:mod:`~discreet.models.sums.pair_sums` has the
weights w_u and the proofs for a rating and for a user). The covariances C_ij = A_ij / W_ij are then denoised into
factors, C ≈ L Lᵀ (:mod:`~discreet.models.denoise.spectral`): post-processing, which costs no privacy.

Predictions, at home, have one of three forms, with F = (L, spread of users' biases), d_uj = r_uj − base_j and
b_u = Σ_j d_uj / (n_u + user_damping):

    factors         base_i + F_i·z,  z = (FᵀF + s² I)⁻¹ Fᵀd_u           from all that the user rated
    interpolation   base_i + b_u + Σ_j θ_j (d_uj − b_u),  θ = (L_N L_Nᵀ + s² I)⁻¹ L_N L_i   from the k nearest rated
                    items N (the weights of Bell and Koren)
    neighbours      base_i + b_u + Σ_j ρ_ij (d_uj − b_u) / (Σ_j ρ_ij + damping)   from the k nearest rated of those
                    that item i lists; ρ_ij is the correlation, less what all items have in common

Without noise ρ comes from A_ij / (W_ij + shrinkage), with noise from the denoised covariances.

**Fallback to averages.** Covariances are asked for where they are expected to stand out of the noise. The leading
pattern of ratings explains the variance v of them (``pattern``, in squared widths of the scale); K items, of which U
users (``audience``) rate n = 100 each with weight w, show it as an eigenvalue, and noise of deviation s hides it unless
that is above (Baik, Ben Arous & Péché 2005)

    U w n² v / (K clip²)  >  s √K

Elsewhere the whole budget goes to averages. If no eigenvalue then lies above the spectral threshold, there are no
factors, and predictions are averages. No rating is looked at to decide this.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require_kinds, require_settings
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.neighbours import nearest
from discreet.kernels.ridge_knn import interpolated, listed_means
from discreet.models.denoise.item_biases import item_biases_and_weights
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.home import neighbourhood
from discreet.models.home.fold_in import FoldIn, fixed, rating_offsets
from discreet.models.home.item_arrays import COUNTS, ITEM_BIAS, LISTS, MEAN
from discreet.models.home.user_bias import user_biases
from discreet.models.sums.pair_sums import PairSums, Weighting, weight_of_a_rating
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.populations.terms import DELTA_FOR_USERS
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Indices, Progress, no_progress

Form = Literal["factors", "interpolation", "neighbours"]


@checked
@dataclass(frozen=True, kw_only=True)
class CovarianceKNN:
    """Covariances between items as one noisy sum over users, and neighbours or factors made from them.

    Where noise would hide the covariances it publishes averages, as :class:`~discreet.Bias` does.

    Parameters
    ----------
    form
        How ratings are predicted: ``factors``, ``interpolation`` or ``neighbours``.
    factors
        The largest number of factors; with few data or much noise there are fewer.
    items
        How many items take part, the most rated. None for 500, and up to 4096 without noise.
    audience
        About how many users take part, as far as this is publicly known: it decides whether covariances are asked for.
    pattern
        What the leading pattern explains of ratings, in squared widths of the scale: v above.
    covariance_share
        How much of the budget the covariances get, 0 for averages alone. None for .7 where they stand out.
    clip
        Where residuals are clipped, in widths of the scale.
    centre
        What is taken from ratings before the products are summed: the ``item``'s mean, or the ``user``'s too, which
        one rating moves more.
    k
        How many rated items speak for an item; all of them in the form ``factors``.
    listed
        How many neighbours each item lists in the form ``neighbours``: the size of a sparse release.
    shrinkage
        Users without anything in common that are imagined for each pair, for ``neighbours`` without noise.
    residual_deviation, bias_spread
        Standard deviations of a rating about its expectation, the s above, and of users' biases, in widths of the
        scale.
    relative_weight
        κ² of :mod:`~discreet.models.sums.pair_sums`: the weight of W relative to A in their one sum.
    damping
        Correlation of an imagined neighbour whose residual is 0, for ``neighbours``.
    item_damping, user_damping
        Ratings at the mean that every item and every user is imagined to have had.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.CovarianceKNN(factors=4).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_factors"].shape[0]
    100
    >>> ledger = dc.Ledger(epsilon=10.0, delta=1e-6)
    >>> release = dc.CovarianceKNN(audience=1000).fit(dc.TrustedServer(ratings, ledger))
    >>> [spend.mechanism for spend in ledger.spends]
    ['laplace', 'gaussian']
    """

    form: Form = "factors"
    factors: int = 20
    items: int | None = None
    audience: int = 1000
    pattern: float = 0.004
    covariance_share: float | None = None
    clip: float = 0.25
    centre: Literal["item", "user"] = "item"
    k: int = 20
    listed: int = 200
    shrinkage: float = 15.0
    residual_deviation: float = 0.22
    bias_spread: float = 0.1
    relative_weight: float = 0.1
    damping: float = 0.3
    item_damping: float = 5.0
    user_damping: float = 5.0

    def __post_init__(self) -> None:
        require_kinds(self)
        require_settings(self, "items", least=2)
        require_settings(self, "covariance_share", least=0, below=1)
        require_settings(self, "clip", above=0, most=1)
        require_settings(self, "pattern", "residual_deviation", "bias_spread", above=0)
        require_settings(self, "relative_weight", least=2**-8, most=1)
        require_settings(self, "factors", "audience", "k", "listed", least=1)
        require_settings(self, "shrinkage", "damping", "item_damping", "user_damping", least=0)

    # ── Publication ──

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for averages and, unless noise would hide them, for covariances; and denoise these."""
        check_population(self, population)
        weighting, items, share = self._queries(population)
        mean, item_bias, counts = item_biases_and_weights(population, self.item_damping, 1 - share)
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": item_bias,
            "counts": np.maximum(counts, 0).astype(np.float32),
        }
        progress(1, 3, "averages")
        rows = np.sort(np.argsort(-counts, kind="stable")[:items]).astype(np.int32)  # the items that take part
        factors, similarities = np.zeros((items, 0), dtype=np.float32), np.zeros((items, items), dtype=np.float32)
        if share > 0:
            asked = self._sums(population, rows, arrays["mean"] + item_bias, weighting)
            products, weights = asked.matrices(population.sum(asked.contribution, share))
            noise, weight_noise = asked.deviations(population.deviation(asked.contribution, share))
            progress(2, 3, "covariances")
            rated = np.maximum(counts[rows], 0)
            weights = denoised_weights(weights, rated, weight_noise, 6)
            if self.form == "neighbours" and noise == 0:
                similarities = _shrunk_correlations(products, weights, self.shrinkage)
            else:
                variance = 2 * weight_of_a_rating(weights, rated, weighting)
                factors = denoised_factors(products, weights, noise, variance, 0.1, self.factors)
                similarities = _denoised_correlations(factors, weights, (self.residual_deviation / self.clip) ** 2)
        if self.form == "neighbours":
            arrays["neighbours"], arrays["similarities"] = _lists(similarities, rows, len(counts), self.listed)
        else:
            arrays["item_factors"] = np.zeros((len(counts), factors.shape[1]), dtype=np.float32)
            arrays["item_factors"][rows] = factors * np.float32(self.clip * population.catalogue.scale.width)
        progress(3, 3, "covariances")
        return Release.of(self, population, arrays)

    def remark(self, release: Release) -> str:
        """What whoever fitted it should know: whether averages are all there is, and why. Empty where they are not.

        Made from public things alone: settings, the ledger and what was released.
        """
        arrays = release.arrays
        found = arrays["similarities"] if self.form == "neighbours" else arrays["item_factors"]
        if found.any():
            return ""
        if len(release.spends) != 1 or release.spends[0].mechanism == "pure":  # asked for, with noise or without
            return "No covariance stood out, so these are averages alone"
        remark = f"These are averages alone: such noise would hide the covariances of about {self.audience:,} users"
        proven, unit = release.guarantee.proven, release.guarantee.unit
        if proven is None or unit is None or unit.name != "rating" or release.spends[0].mechanism != "laplace":
            return remark
        nobody = Ratings.of_history(History(release.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))
        ledger = Ledger(proven.epsilon, DELTA_FOR_USERS, unit)
        if proven.delta < DELTA_FOR_USERS and self._queries(TrustedServer(nobody, ledger))[2] > 0:
            remark += f"; with a delta of {DELTA_FOR_USERS:g} it could be smaller, and they would be published"
        return remark

    def _queries(self, population: Population) -> tuple[Weighting, int, float]:
        """How users are weighted, how many items take part and the covariances' share of the budget. All public."""
        items = min(len(population.catalogue), self.items or (4096 if population.unit is None else 500))
        share = 0.7 if self.covariance_share is None else self.covariance_share
        if population.unit is None:
            return "rating, l2", items, share
        base = np.full(len(population.catalogue), population.catalogue.scale.middle, dtype=np.float32)

        def noise(weighting: Weighting) -> float:
            asked = self._sums(population, np.arange(items, dtype=np.int32), base, weighting)
            return asked.deviations(population.deviation(asked.contribution, share or 0.7))[0]

        by_user = population.unit.name == "user"
        weighting: Weighting = "user, l2" if by_user else "rating, l2"
        try:
            deviation = noise(weighting)
        except InputError:  # without a delta there is no Gaussian noise, and Laplace noise goes by another bound
            if by_user:
                raise
            weighting, deviation = "rating, l1", noise("rating, l1")
        if self.covariance_share is None:
            rated = min(100, items)
            of_a_user = rated**1.5 if weighting == "rating, l2" else rated  # w n²
            eigenvalue = self.audience * of_a_user * self.pattern / self.clip**2 / items
            share = share if eigenvalue > deviation * items**0.5 else 0.0
        return weighting, items, share

    def _sums(self, population: Population, rows: Indices, base: Floats, weighting: Weighting) -> PairSums:
        clip = self.clip * population.catalogue.scale.width
        damping = self.user_damping if self.centre == "user" else None
        return PairSums(rows, base, clip, self.relative_weight, damping, weighting)

    # ── Prediction, at home ──

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        averages = MEAN, ITEM_BIAS, COUNTS
        if self.form == "neighbours":
            return (*averages, *LISTS)
        return (*averages, Array("item_factors", "float32", ("items", "factors")))

    def prepare(self, release: Release) -> "Prepared":
        """What does not depend on a user."""
        return Prepared(self, release)

    def predict(self, prepared: "Prepared", histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The expected rating of each pair, from the user's own ratings."""
        if self.form == "factors":
            return prepared.fold_in.predict(histories, users, items)
        base, arrays = prepared.base, prepared.release.arrays
        own = user_biases(histories, base, self.user_damping)
        residuals = histories.values - base[histories.item_index] - own[histories.user_index]
        asked = users, items, histories.indptr, histories.item_index, residuals
        if self.form == "interpolation":
            involved = np.unique(np.concatenate([histories.item_index, items]))
            position = np.full(len(base), -1, dtype=np.int32)
            position[involved] = np.arange(len(involved), dtype=np.int32)
            own_factors = arrays["item_factors"][involved]
            residual_variance = float((self.residual_deviation * prepared.width) ** 2)
            mean = chosen(histories.n_users, few_pairs.interpolated, interpolated)
            expected = mean(asked, position, own_factors @ own_factors.T, self.k, residual_variance)
            return np.asarray(base[items] + own[users] + expected, dtype=np.float32)
        lists = fixed(arrays["neighbours"]), fixed(arrays["similarities"])
        listed = chosen(histories.n_users, few_pairs.listed_means, listed_means)
        expected = listed(asked, *lists, self.k, self.damping)
        return np.asarray(base[items] + own[users] + expected, dtype=np.float32)

    def score(self, prepared: "Prepared", histories: Ratings) -> Floats:
        """How much each item is rated, more so where it should suit the user.

        ``√n_i (1 + L_i·z / width of the scale)``; in the form ``neighbours`` as in the other neighbour models.
        """
        if self.form == "neighbours":
            return prepared.neighbourhood.scores(histories)
        own, design = prepared.fold_in.own(histories), prepared.fold_in.factors
        tastes = own[:, :-1] @ design[:, :-1].T
        return np.asarray(np.sqrt(prepared.release.arrays["counts"]) * (1 + tastes / np.float32(prepared.width)))

    def explain(self, prepared: "Prepared", history: History, item: int) -> Floats:
        """What each rating of the history adds to the score of ``item``."""
        if self.form == "neighbours":
            return prepared.neighbourhood.shares(history, item)
        design, width = prepared.fold_in.factors, prepared.width
        rated = design[history.items].astype(np.float64)
        gram = rated.T @ rated + (self.residual_deviation * width) ** 2 * np.eye(design.shape[1])
        of_item = design[item].astype(np.float64) * np.sqrt(prepared.release.arrays["counts"][item]) / width
        of_item[-1] = 0  # the user's bias lifts all items alike
        weights = rated @ np.linalg.solve(gram, of_item)
        return np.asarray(weights * (history.values - prepared.base[history.items]), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What each form starts from at home, made when it is first asked for."""

    model: CovarianceKNN
    release: Release

    @property
    def width(self) -> float:
        """Of the scale."""
        return self.release.catalogue.scale.width

    @cached_property
    def base(self) -> Floats:
        """The expected rating of each item."""
        return rating_offsets(self.release)

    @cached_property
    def neighbourhood(self) -> neighbourhood.Neighbourhood:
        """The lists, in the form ``neighbours``."""
        return neighbourhood.Neighbourhood.of(self.release, self.model.user_damping)

    @cached_property
    def fold_in(self) -> FoldIn:
        """F above, in the other forms."""
        biases = np.full((len(self.base), 1), self.model.bias_spread * self.width, dtype=np.float32)
        design = np.concatenate([self.release.arrays["item_factors"], biases], axis=1)
        penalty = np.full(design.shape[1], (self.model.residual_deviation * self.width) ** 2, dtype=np.float32)
        return FoldIn(design, self.base, np.zeros_like(penalty), penalty)


def _shrunk_correlations(products: Floats, weights: Floats, shrinkage: float) -> Floats:
    """``A / (W + shrinkage)`` as correlations, less what all pairs have in common: the users' biases."""
    off_diagonal = products.sum() - np.trace(products), weights.sum() - np.trace(weights)
    common = max(float(off_diagonal[0] / max(off_diagonal[1], 1e-9)), 0.0)
    own = np.diag(products) - common * np.diag(weights)
    typical = max(float(own.sum() / max(np.trace(weights), 1e-9)), 1e-9)
    roots = np.sqrt(np.maximum((own + typical) / (np.diag(weights) + 1), 1e-3 * typical)).astype(np.float32)
    correlations = (products - np.float32(common) * weights) / (weights + np.float32(max(shrinkage, 1e-6)))
    correlations /= roots[:, None] * roots[None, :]
    np.fill_diagonal(correlations, 0)
    return np.asarray(correlations)


def _denoised_correlations(factors: Floats, weights: Floats, residual_variance: float) -> Floats:
    """``L Lᵀ`` as correlations of what ratings show, less what all pairs have in common."""
    covariance = factors @ factors.T
    common = float((weights * covariance).sum() / max(float(weights.sum()), 1e-9))
    roots = np.sqrt(np.diag(covariance) + np.float32(residual_variance))
    correlations = (covariance - np.float32(common)) / (roots[:, None] * roots[None, :])
    correlations[np.diag(covariance) <= 0] = 0
    np.fill_diagonal(correlations, 0)
    return np.asarray(correlations, dtype=np.float32)


def _lists(similarities: Floats, rows: Indices, size: int, width: int) -> tuple[Indices, Floats]:
    """The most similar items of every item of the catalogue; none for those that take no part."""
    width = max(1, min(width, len(rows) - 1))
    neighbours, kept = np.zeros((size, width), dtype=np.int32), np.zeros((size, width), dtype=np.float32)
    chosen, nearest_first = nearest(similarities, width)
    neighbours[rows], kept[rows] = rows[chosen], nearest_first
    return neighbours, kept
