"""Matrix factorisation that knows what it does not know: variational Bayes, asked of a population.

    rating of item i by user u  =  mean + b_u + b_i + p_uᵀq_i + noise of variance σ²
    (p_u, b_u) ~ Normal(0, A)         (q_i, b_i) ~ Normal(0, B)

Instead of one best value, users and items carry beliefs: a mean and a covariance. Someone with few ratings has
a wide one, which pulls predictions about them to what is known in general. That is why σ², A and B can be
learned too, and there is no regularisation to choose. Each sweep:

    1. every user, at home, forms their belief from the public beliefs about the items they rated,

           cov_u = σ² (Σ_i E[y_i y_iᵀ] + σ² A⁻¹)⁻¹        with y_i = (q_i, 1)
           mean_u = cov_u / σ² · Σ_i E[(r_ui − mean − b_i) y_i]

    2. they answer with one sum: for each item they rated E[z_u z_uᵀ] and E[(r_ui − mean − b_u) z_u], where
       z_u = (p_u, 1), and for all together the second moment of (p_u, b_u), which gives the next A;
    3. the model forms the beliefs about the items in the same way, and from them the next B and σ².

The expectations of products of p and b include their covariance. Ratings are counted in quarters of the
scale's width, so that nothing depends on the scale.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_kinds, require_settings
from discreet.kernels import few_users
from discreet.kernels.beliefs import add_messages, message_width, messages_of, update_beliefs
from discreet.kernels.compiling import chosen
from discreet.kernels.statistics import unpack
from discreet.models.denoise.item_biases import item_biases
from discreet.models.home.fold_in import fixed, predict_pairs, with_ones
from discreet.models.home.item_arrays import MEAN
from discreet.populations.asking import check_population
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Doubles, Floats, Indices, Progress, no_progress

USERS_AT_ONCE = 65_536  # bounds what the statistics of users take in memory


@dataclass(frozen=True, kw_only=True)
class BayesianMF:
    """Matrix factorisation by variational Bayes, for ratings; the most accurate of the factor models.

    Parameters
    ----------
    factors
        Length of the factor vectors.
    sweeps
        How often the population is asked.
    seed
        Of the initial factors.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.BayesianMF(factors=4, sweeps=3).fit(dc.NoPrivacy(ratings))
    >>> release.arrays["item_means"].shape
    (30, 5)
    """

    factors: int = 20
    sweeps: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "factors", "sweeps", least=1)
        require_kinds(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Alternate beliefs about users, formed at home, and about items, formed from the users' sums."""
        check_population(self, population)
        items, d, unit = len(population.catalogue), self.factors, population.catalogue.scale.width / 4
        # Precisions to start from; they are learned.
        noise, user_precision = 0.75, np.diag([1.0] * d + [3.0])
        item_precision = np.diag([30.0] * d + [5.0])
        means = np.zeros((items, d + 1), dtype=np.float32)
        means[:, :-1] = np.random.default_rng(self.seed).normal(0, 0.1, (items, d))
        covariances = np.zeros((items, (d + 1) * (d + 2) // 2), dtype=np.float32)
        # Who cannot answer the sweeps says so here, before any budget is spent on the biases.
        population.deviation(_what_users_say(means, covariances, 0.0, unit, noise * user_precision, noise))
        mean, item_bias = item_biases(population, damping=5.0)
        means[:, -1] = item_bias / unit
        for sweep in range(self.sweeps):
            contribution = _what_users_say(means, covariances, mean, unit, noise * user_precision, noise)
            answer = population.sum(contribution)
            statistics, everyone = answer[:-1], answer[-1]
            user_precision = _precision(everyone[: -d - 2], everyone[-1])
            means, covariances = update_beliefs(statistics, noise * item_precision, noise)
            seen = statistics[:, -d - 3] > 0
            second = _second_moments(means[seen], covariances[seen])
            item_precision = _precision(second.sum(axis=0), seen.sum())
            noise = _noise(statistics[seen], means[seen], second)
            progress(sweep + 1, self.sweeps, "sweeps")
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "noise": np.array([noise], dtype=np.float32),
            "item_means": means,
            "item_covariances": covariances,
            "user_precision": user_precision.astype(np.float32),
        }
        return Release.of(self, population, arrays)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        size = self.factors + 1
        return (
            MEAN,
            Array("noise", "float32", (1,), least=0),
            Array("item_means", "float32", ("items", size)),
            Array("item_covariances", "float32", ("items", size * (size + 1) // 2)),
            Array("user_precision", "float32", (size, size)),
        )

    def prepare(self, release: Release) -> "Prepared":
        """What is believed about the items, as users need it."""
        arrays, unit = release.arrays, release.catalogue.scale.width / 4
        mean, noise, item_means = float(arrays["mean"][0]), float(arrays["noise"][0]), arrays["item_means"]
        return Prepared(
            messages=few_users.messages_of(item_means, arrays["item_covariances"]),
            design=with_ones(item_means[:, :-1]),
            offsets=(mean + unit * item_means[:, -1]).astype(np.float32),
            mean=mean,
            unit=unit,
            noise=noise,
            precision=noise * arrays["user_precision"].astype(np.float64),
        )

    def predict(self, prepared: "Prepared", histories: Ratings, users: Indices, items: Indices) -> Floats:
        """Expected ratings under each user's belief about themselves, formed from their history."""
        return predict_pairs(prepared.own(histories), prepared.design, prepared.offsets, users, items)

    def score(self, prepared: "Prepared", histories: Ratings) -> Floats:
        """Expected ratings of all items."""
        return np.asarray(prepared.own(histories) @ prepared.design.T + prepared.offsets)


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """The messages about the items, and what turns a user's answer into ratings."""

    messages: Floats
    design: Floats
    offsets: Floats
    mean: float
    unit: float
    noise: float
    precision: Doubles

    def own(self, histories: Ratings) -> Floats:
        """The mean of each user's belief, in points of the scale."""
        own, _ = _beliefs_at_home(histories, self.messages, self.mean, self.unit, self.precision, self.noise)
        return own * np.float32(self.unit)


def _beliefs_at_home(
    ratings: Ratings, messages: Floats, mean: float, unit: float, precision: Doubles, noise: float
) -> tuple[Floats, Floats]:
    """Step 1: each user's mean and covariance."""
    values = (ratings.values - np.float32(mean)) / np.float32(unit)
    listening = chosen(ratings.n_users, few_users.add_messages, add_messages)
    statistics = listening(ratings.indptr, ratings.item_index, values, messages, len(precision) - 1)
    return chosen(ratings.n_users, few_users.update_beliefs, update_beliefs)(statistics, precision, noise)


def _what_users_say(
    means: Floats, covariances: Floats, mean: float, unit: float, precision: Doubles, noise: float
) -> Contribution:
    """Step 2: a row of statistics for each item, and a last row about the users together."""
    d = means.shape[1] - 1
    shape = (len(means) + 1, message_width(d))

    def total(ratings: Ratings) -> Doubles:
        answer = np.zeros(shape)
        messages = messages_of(fixed(means), fixed(covariances))
        for first in range(0, ratings.n_users, USERS_AT_ONCE):
            some = ratings
            if ratings.n_users > USERS_AT_ONCE:
                some = ratings.select_users(np.arange(first, min(first + USERS_AT_ONCE, ratings.n_users)))
            own = _beliefs_at_home(some, messages, mean, unit, precision, noise)
            by_item = some.by_item
            values = (by_item.values - np.float32(mean)) / np.float32(unit)
            answer[:-1] += add_messages(
                by_item.indptr, by_item.users, values, messages_of(fixed(own[0]), fixed(own[1])), d
            )
            active = np.diff(some.indptr) > 0
            answer[-1, : -d - 2] += _second_moments(own[0][active], own[1][active]).sum(axis=0)
            answer[-1, -1] += active.sum()
        return answer

    return Contribution(name="what users' own beliefs say about each item", shape=shape, total=total)


def _second_moments(means: Floats, covariances: Floats) -> Doubles:
    """E[x xᵀ] of each belief, packed."""
    rows, columns = np.tril_indices(means.shape[1])
    wide = means.astype(np.float64)
    return np.asarray(wide[:, rows] * wide[:, columns] + covariances)


def _precision(second_moments: Doubles, count: float) -> Doubles:
    """The prior's next precision: the inverse of the mean second moment."""
    moment = unpack(second_moments) / max(count, 1.0)
    return np.asarray(np.linalg.inv(moment + 1e-6 * np.eye(len(moment))))


def _noise(statistics: Doubles, means: Floats, second: Doubles) -> float:
    """The next σ²: the mean of E[(rating − expected)²] over all ratings, read off the statistics."""
    size = means.shape[1]
    packed = second.shape[1]
    rows, columns = np.tril_indices(size)
    twice = np.where(rows == columns, 1.0, 2.0)  # the packed triangle stands for both halves
    along = (means * statistics[:, packed : packed + size]).sum()
    across = (twice * second * statistics[:, :packed]).sum()
    squares, count = statistics[:, -1].sum(), statistics[:, packed - 1].sum()
    return float(max((squares - 2 * along + across) / max(count, 1.0), 1e-3))
