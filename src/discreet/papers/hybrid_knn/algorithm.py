"""The hybrid of randomized perturbation and differential privacy, as published (DASFAA 2017, LNCS 10177, 576–591).

Collection, at home:

    r'_ui = r_ui + v_ui,    v_ui uniform in [−gamma, gamma]

Publication, by the recommender. Lap(s) is Laplace noise of scale s, e the presence of ratings, the epsilons are .02,
.19 and .79 of epsilon, and the four deltas are in :mod:`discreet.papers.hybrid_knn.privacy`:

    G      = (Σ r' + Lap(delta_r/ε₁)) / (Σ e + Lap(delta_e/ε₁))
    IAvg_i = (Σ_u r'_ui + Lap(delta_r/ε₂) + β_m G) / (Σ_u e_ui + Lap(delta_e/ε₂) + β_m)     β_m ratings of an item, mean
    UAvg_u = Σ_i (r'_ui − IAvg_i) / (c_u + β_u)                                       β_u ratings of a user c_u, mean
    r̂_ui   = clamp(r'_ui − IAvg_i − UAvg_u, ±B)
    Cov_ij = (Σ_u r̂_ui r̂_uj / c_u + Lap(delta_p/ε₃)) / (Σ_u e_ui e_uj / c_u + Lap(delta_w/ε₃))

Every cell of the two matrices has noise of its own. The paper publishes their ratio, which is all that the forms
*ratio* and *plain* below use; our release keeps both halves, from which the other forms are read. Prediction, from the
k = 20 rated items nearest to i:

    IAvg_i + UAvg_u + Σ_j s_ij x_uj / (Σ_j |s_ij| + damping),    x_uj = r_uj − IAvg_j − UAvg_u

**Two readings of the centring.** The text shrinks UAvg towards G, (Σ_i (r'_ui − IAvg_i) + β_u G) / (c_u + β_u), and
takes only it from the rating: r̂ = clamp(r' − UAvg). UAvg is then 2.2 at the median, where G is 3.5, and 82 % of
all r̂ are B on MovieLens 100K. This is ``centring="literal"``. What the text must mean, and what the work it follows
does, is above: ``"corrected"``.

**Six prediction forms.** The paper passes Cov "with no changes" to the kNN of Bell and Koren (ICDM 2007), and gives no
formula. That one has weights that are derived jointly; what is mostly called kNN is a weighted mean. Both are here:

    average   IAvg_i + UAvg_u alone
    plain     s = Cov, nearest by |Cov|, no damping
    ratio     Σ_j θ_j x_uj, with θ ≥ 0 the best for Cov: least θᵀ Cov_NN θ − 2 θᵀ Cov_Ni, N the k items with the
              greatest Cov > 0. Cov as published, made the same both ways. It is not positive, even without noise, so
              θ ≤ 1 is demanded too, lest it be infinite.
    joint     as ratio, with N as in shrunk. Entries are shrunk towards the mean of their kind, on the diagonal or off
              it, as Bell and Koren do, with a denominator as in shrunk: this needs both halves.
    shrunk    s = Cov_ij / √(Cov_ii Cov_jj) where positive, from Cov with a denominator of at least 0, greater by
              1 + the scale of its noise; damping 1
    damped    as shrunk, with damping 20: next to nothing is left where neighbours are only noise
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.collect.mechanisms import UniformNoise
from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require_kinds, require_settings
from discreet.kernels import few_pairs
from discreet.kernels.compiling import chosen
from discreet.kernels.gram import gram_rows
from discreet.kernels.rated_neighbours import jointly_weighted, rated_neighbour_means
from discreet.papers.frame.checks import check_readings
from discreet.papers.hybrid_knn.prepared import Prepared
from discreet.papers.hybrid_knn.privacy import SHARES, Sensitivities, guarantee
from discreet.populations.asking import check_ratings
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

Form = Literal["average", "plain", "ratio", "joint", "shrunk", "damped"]
FORMS: tuple[Form, ...] = ("average", "plain", "ratio", "joint", "shrunk", "damped")
JOINT: tuple[Form, ...] = ("ratio", "joint")
"""With weights that are derived jointly."""
SWEEPS = 30
"""Rounds over the places of θ."""
DAMPINGS: dict[Form, float] = {"plain": 0.0, "shrunk": 1.0, "damped": 20.0}


@dataclass(frozen=True, eq=False)
class PerturbedStatistics:
    """Every sum that the recommender adds noise to: what the paper's proof, and an audit, are about.

    ``dampings`` are β_m and β_u, to which it adds none.
    """

    total: float
    count: float
    item_totals: Doubles
    item_counts: Doubles
    products: Doubles
    weights: Doubles
    dampings: tuple[float, float]
    mean: float
    item_averages: Doubles


@checked
@dataclass(frozen=True, kw_only=True)
class HybridKNN:
    """Published hybrid: users perturb, the recommender publishes noisy averages and covariances. Claimed, not proven.

    It needs the raw ratings: :meth:`fit` perturbs them as the users would, and then publishes.

    Parameters
    ----------
    epsilon
        What the paper claims; None for no noise (randomized perturbation alone).
    gamma
        Users add uniform noise within ± this; 0 for none (differential privacy alone).
    ignores_perturbation
        Fit the noise to ratings that were not perturbed, although they were (Fig. 9).
    neighbours, bound
        k and B.
    clamps_averages
        Clamp the global and the item averages to the perturbed scale. The paper does not, and its theorems need it.
    centring
        ``corrected``, or ``literal`` as in the text.
    prediction
        How a rating is predicted: ``average``, ``plain``, ``ratio``, ``joint``, ``shrunk`` or ``damped``.
    item_damping, user_damping
        β_m and β_u; None for the mean number of ratings of an item and of a user, as published.

    Notes
    -----
    The paper predicts from perturbed ratings, since the recommender has no others: pass what :meth:`collect` returned
    to ``release.predict``. At home one's own true ratings are at hand, and predict better.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = HybridKNN(epsilon=None, gamma=0.5, prediction="shrunk").fit(ratings)
    >>> release.guarantee.proven is None
    True
    >>> len(release.recommend(ratings.history_at(0), k=3))
    3
    """

    epsilon: float | None = 1.0
    gamma: float = 0.5
    ignores_perturbation: bool = False
    neighbours: int = 20
    bound: float = 1.0
    clamps_averages: bool = False
    centring: Literal["corrected", "literal"] = "corrected"
    prediction: Form = "plain"
    item_damping: float | None = None
    user_damping: float | None = None

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_readings(self, {"prediction": FORMS})
        require_kinds(self)
        require_settings(self, "gamma", "item_damping", "user_damping", least=0)
        require_settings(self, "neighbours", least=1)
        require_settings(self, "bound", above=0)

    # ── The three stages ──

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Collect and publish. ``randomness`` can be seeded for experiments, and the guarantee then says so."""
        randomness = Randomness() if randomness is None else randomness
        progress(0, 2, "perturbing")
        collected = self.collect(ratings, randomness)
        progress(1, 2, "publishing")
        return self.publish(collected, randomness)

    def collect(self, ratings: Ratings, randomness: Randomness) -> Ratings:
        """At home: what every user sends instead of their ratings."""
        check_ratings(self, ratings)
        if self.gamma == 0:
            return ratings
        channel = UniformNoise(gamma=self.gamma).channel(ratings.catalogue.scale)
        # The catalogue keeps its scale: that of what is predicted, and of tau.
        return replace(ratings, values=channel.perturb(ratings.values, randomness).astype(np.float32))

    def publish(self, collected: Ratings, randomness: Randomness) -> Release:
        """At the recommender's: averages and the two halves of the covariance, from what the users sent."""
        return self.released(self.measure(collected, randomness), collected.catalogue, randomness.is_seeded)

    def released(self, measured: PerturbedStatistics, catalogue: Catalogue, seeded: bool) -> Release:
        """What is published of the noisy sums."""
        arrays: dict[str, AnyArray] = {
            "mean": np.array([measured.mean], dtype=np.float32),
            "item_average": measured.item_averages.astype(np.float32),
            "user_damping": np.array([measured.dampings[1]], dtype=np.float32),
            "products": measured.products.astype(np.float32),
            "weights": measured.weights.astype(np.float32),
        }
        return Release(self, arrays, catalogue, guarantee(self, catalogue.scale, seeded=seeded))

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: the release, and every sum behind it with the noise that the paper says."""
        from discreet.papers.hybrid_knn.looks import looks_of

        collected = self.collect(ratings, randomness)
        measured = self.measure(collected, randomness)
        release = self.released(measured, collected.catalogue, randomness.is_seeded)
        return release, looks_of(self, measured, collected)

    def measure(self, collected: Ratings, randomness: Randomness) -> PerturbedStatistics:
        """All noisy sums, in order: each needs the averages before it."""
        size, users, scale = collected.n_items, max(1, collected.n_users), collected.catalogue.scale
        sensitive = self.sensitivities(scale.width)
        first, second, third = (None if self.epsilon is None else share * self.epsilon for share in SHARES)
        items, values = collected.item_index, collected.values.astype(np.float64)

        total = float(_noisy(values.sum(), sensitive.ratings, first, randomness))
        count = float(_noisy(float(len(values)), sensitive.counts, first, randomness))
        mean = float(_ratio(np.array(total), np.array(count)))
        lowest, highest = scale.low - self.gamma, scale.high + self.gamma
        if self.clamps_averages:
            mean = min(max(mean, lowest), highest)

        item_damping = len(values) / size if self.item_damping is None else self.item_damping
        totals = _noisy(np.bincount(items, values, minlength=size), sensitive.ratings, second, randomness)
        counts = _noisy(np.bincount(items, minlength=size), sensitive.counts, second, randomness)
        averages = _ratio(totals + item_damping * mean, counts + item_damping, otherwise=mean)
        if self.clamps_averages:
            averages = np.clip(averages, lowest, highest)

        user_damping = len(values) / users if self.user_damping is None else self.user_damping
        clamped = self.clamped(collected, mean, averages, user_damping)
        exact_products, exact_weights = weighted_sums(collected, clamped)
        return PerturbedStatistics(
            total=total,
            count=count,
            item_totals=totals,
            item_counts=counts,
            products=_noisy(exact_products, sensitive.products, third, randomness),
            weights=_noisy(exact_weights, sensitive.weights, third, randomness),
            dampings=(item_damping, user_damping),
            mean=mean,
            item_averages=averages,
        )

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        items: dict[str, tuple[int | str, ...]] = {"mean": (1,), "item_average": ("items",), "user_damping": (1,)}
        pairs: dict[str, tuple[int | str, ...]] = dict.fromkeys(("products", "weights"), ("items", "items"))
        return tuple(Array(name, "float32", shape) for name, shape in (items | pairs).items())

    def prepare(self, release: Release) -> Prepared:
        """What does not depend on a user."""
        return Prepared(self, release)

    def predict(self, prepared: Prepared, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """The averages, and what the nearest of the user's rated items add."""
        averages = prepared.release.arrays["item_average"].astype(np.float64)
        own = self._own(prepared.release, histories)
        expected = own[users] + (averages[items] if self.centring == "corrected" else 0.0)
        if self.prediction != "average":
            residuals = self.residuals(histories, averages, own).astype(np.float32)
            own_ratings = (histories.indptr, histories.item_index, residuals)
            expected = expected + self._from_neighbours(prepared, users, items, own_ratings)
        return np.asarray(expected, dtype=np.float32)

    def score(self, prepared: Prepared, histories: Ratings) -> Floats:
        """Predicted ratings of all items."""
        size = histories.n_items
        users = np.repeat(np.arange(histories.n_users, dtype=np.int32), size)
        items = np.tile(np.arange(size, dtype=np.int32), histories.n_users)
        return self.predict(prepared, histories, users, items).reshape(histories.n_users, size)

    def explain(self, prepared: Prepared, history: History, item: int) -> Floats:
        """What each rating of the history adds to the prediction for ``item``: 0 but for the nearest k."""
        if self.prediction == "average":
            return np.zeros(len(history), dtype=np.float32)
        alone = Ratings.of_history(history)
        release = prepared.release
        residuals = self.residuals(alone, release.arrays["item_average"], self._own(release, alone))
        if self.prediction in JOINT:  # one copy of the history for each rating, in which it alone is not 0
            count = len(history)
            copies = np.arange(count + 1, dtype=np.int64) * count, np.tile(history.items, count).astype(np.int32)
            users, items = np.arange(count, dtype=np.int32), np.full(count, item, dtype=np.int32)
            return self._from_neighbours(
                prepared, users, items, (*copies, np.diag(residuals).astype(np.float32).ravel())
            )
        row = np.where(history.items == item, 0, prepared.similarities[item][history.items])
        row[np.argsort(-np.abs(row), kind="stable")[self.neighbours :]] = 0
        below = float(np.abs(row).sum()) + DAMPINGS[self.prediction]
        return (row * residuals / below if below > 0 else 0 * residuals).astype(np.float32)

    # ── Their parts ──

    def sensitivities(self, width: float) -> Sensitivities:
        """What the noise is fitted to, on a scale of this width."""
        gamma = 0.0 if self.ignores_perturbation else self.gamma
        return Sensitivities.published(width, gamma, self.bound)

    def user_averages(self, ratings: Ratings, mean: float, averages: AnyArray, damping: float) -> Doubles:
        """UAvg of every user, from their own ratings."""
        above = ratings.values - averages[ratings.item_index]
        sums: Doubles = np.bincount(ratings.user_index, weights=above, minlength=ratings.n_users).astype(np.float64)
        if self.centring == "literal":
            sums = sums + damping * mean
        return _ratio(sums, np.diff(ratings.indptr) + damping)

    def residuals(self, ratings: Ratings, averages: AnyArray, own: Doubles) -> Doubles:
        """How far each rating lies from what its averages say; not clamped."""
        left: Doubles = ratings.values - own[ratings.user_index]
        return left - averages[ratings.item_index] if self.centring == "corrected" else left

    def clamped(self, ratings: Ratings, mean: float, averages: AnyArray, damping: float) -> Doubles:
        """r̂ of every rating."""
        own = self.user_averages(ratings, mean, averages, damping)
        return np.clip(self.residuals(ratings, averages, own), -self.bound, self.bound)

    def _from_neighbours(
        self, prepared: Prepared, users: Indices, items: Indices, own_ratings: tuple[AnyArray, Indices, Floats]
    ) -> Floats:
        """What the nearest rated items add to the averages of each pair."""
        near, count = prepared.similarities, len(own_ratings[0]) - 1
        if self.prediction in JOINT:
            mean = chosen(count, few_pairs.jointly_weighted, jointly_weighted)
            return mean((users, items, *own_ratings), near, prepared.moments, self.neighbours, SWEEPS)
        plain = chosen(count, few_pairs.rated_neighbour_means, rated_neighbour_means)
        return plain((users, items, *own_ratings), near, self.neighbours, DAMPINGS[self.prediction])

    def moments(self, release: Release) -> Floats:
        """The covariance for joint weights, the same both ways: published, or shrunk towards the mean of its kind."""
        if self.prediction == "ratio":
            return self.similarities(release)
        products, weights = ((release.arrays[name] + release.arrays[name].T) / 2 for name in ("products", "weights"))
        diagonal = np.eye(len(products), dtype=np.bool_)
        common = np.empty_like(products)
        for kind in (diagonal, ~diagonal):
            common[kind] = products[kind].sum() / max(float(np.maximum(weights[kind], 0).sum()), 1e-9)
        support = self._support
        return np.asarray((products + support * common) / (np.maximum(weights, 0) + support), dtype=np.float32)

    @property
    def _support(self) -> np.float32:
        """By how much denominators are greater in the forms that shrink."""
        noise = 0.0 if self.epsilon is None else self.sensitivities(1.0).weights / (SHARES[2] * self.epsilon)
        return np.float32(1 + noise)

    def similarities(self, release: Release) -> Floats:
        """The matrix that neighbours are chosen and weighted by."""
        products, weights = release.arrays["products"], release.arrays["weights"]
        if self.prediction in ("plain", "ratio"):
            published = _ratio(products, weights).astype(np.float32)
            return published if self.prediction == "plain" else (published + published.T) / np.float32(2)
        covariance = products / (np.maximum(weights, 0) + self._support)
        spread = np.sqrt(np.maximum(np.diag(covariance), 0))
        correlation = _ratio(covariance, np.outer(spread, spread))
        return np.clip(correlation, 0, 1).astype(np.float32)

    def _own(self, release: Release, histories: Ratings) -> Doubles:
        mean, damping = float(release.arrays["mean"][0]), float(release.arrays["user_damping"][0])
        return self.user_averages(histories, mean, release.arrays["item_average"].astype(np.float64), damping)


def weighted_sums(ratings: Ratings, values: AnyArray) -> tuple[Doubles, Doubles]:
    """``Σ_u x_ui x_uj / c_u`` and ``Σ_u e_ui e_uj / c_u`` for all pairs of items.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> products, weights = weighted_sums(ratings, np.ones(600))
    >>> bool(np.allclose(products, weights)), round(float(weights.sum()))
    (True, 600)
    """
    roots = 1 / np.sqrt(np.maximum(np.diff(ratings.indptr), 1))[ratings.user_index]
    columns = ratings.by_item
    order = np.argsort(ratings.item_index, kind="stable")
    sums = []
    for column in (roots * values, roots):
        single = column.astype(np.float32)
        by_item = columns.indptr, columns.users, single[order]
        by_user = ratings.indptr, ratings.item_index, single
        sums.append(gram_rows(0, ratings.n_items, by_item, by_user)[:, :, 0])
    return sums[0], sums[1]


def _noisy(values: AnyArray | float, sensitivity: float, epsilon: float | None, randomness: Randomness) -> Doubles:
    """Laplace noise of scale sensitivity / epsilon on every number; none without epsilon."""
    exact = np.asarray(values, dtype=np.float64)
    if epsilon is None:
        return exact
    scale = sensitivity / epsilon
    return add_laplace(exact, scale, grid_of(scale), randomness)


def _ratio(above: AnyArray, below: AnyArray, otherwise: float = 0.0) -> Doubles:
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    out = np.full(shape, otherwise, dtype=np.float64)
    return np.divide(above, below, out=out, where=np.asarray(below) != 0)
