"""What an almanac asks beside items and pairs: a few numbers each, their proofs, and what follows from the answers.

**The level of all ratings.** Sums of clipped residuals say which items are liked better than others, but where ratings
are skewed not how well all of them are. With residuals in half widths of the scale, clipped to ±1, a rating adds

    (a, r_ui − base_i)        a = ¼

*One rating* moves the first by a and the second by at most 1; a rating of another value, the second by at most 2 and
the first not at all. ∎ Residuals are rounded towards 0 to multiples of 2⁻¹⁰, so that sums of up to 2⁴³ of them are
exact. With c and e the two noisy sums,

    shift  =  e/n, times t² / (t² + (s/n)²),    n = c/a the ratings, s the deviation of the noise, t that of a shift

is added to every base_i. It is asked for twice: before item sums, so that their residuals are clipped about what
ratings are on average, and after them.

**What users' own fits have in common**: the fixed effects of a mixed model whose random effects stay at home. There a
user's coefficients are a_u ~ N(0, I) (:mod:`~discreet.models.home.user_regression`). Where noise hides the line on
which item biases lie, the expected ratings of all items of a feature are off together, and so users' own coefficients
have a mean m. Thousands of noisy item sums tell little of it; it has few dimensions, so one sum over users that is
about nothing else tells much more:

    r_ui − base_i  =  z_iᵀ (m + a_u) + error      â_u, the user's own fit with m = 0, is the gradient of its likelihood
    d_u            =  â_u / max(1, ‖â_u‖)         what user u adds
    Σ_u d_u        ≈  H m,   H = Σ_n users(n) A(n) / max(1, √tr A(n)),   A(n) = (n G + σ²I)⁻¹ n G

with G the mean of ω_i z_i z_iᵀ over ratings, by noisy counts, and users(n) what is known of users' activity, scaled to
the sum of all noisy counts, Σ_u √n_u (:mod:`~discreet.models.sums.activity`). From the noisy sum m
follows by Bayes: m ~ N(0, P), P what is hidden of the line. base_i + z_iᵀ m are the new expected ratings, and what is
still not known of m widens priors at home.

**The vote: how wide priors at home should be.** A user's coefficients have prior standard deviations. How much
users differ in their biases, in their tastes for features, and in how far they follow opinion and popularity is
another matter for jokes than for films; and released factors may have been learned from noise. Each user can tell:
with D(x) the sum of squared errors when each of their own ratings is foreseen from all the others with priors 2^x as
wide, in squared widths of the scale, user u adds

    d_u  =  (D(±1) − D(0) for each of the four) / (c √n),    scaled down to norm 1 where it is longer

with c a constant and n about how many ratings a user has, by noisy answers. A rating that is foreseen is left out of
its item's mean too: of what is known of item i, with variance v_i of t², one of n_i ratings is h_i = (1 − v_i/t²)/n_i.
From the noisy sum (L₋, L₊) of each of the four, a parabola through 0 is least at

    x  =  (L₋ − L₊) / (2 (L₋ + L₊)),    where (L₋ + L₊)/2 counts as at least 0, plus twice the deviation of the noise

so that x stays near 0 where noise hides the answer, and within ±2 anywhere; released factors are scaled down only, as
users' own ratings are in them, so that they seem to foresee these better than they do.

In both *one user* adds a vector of norm 1 at most (after rounding towards 0); exchanged for another's, it moves by 2 at
most. *One rating* changes all that its user says: one vector of norm at most 1 becomes another, so the sum moves by 2
at most; in the vote likewise in L1, where vectors are scaled down to 1 in that norm. ∎ d_u depends on u's own ratings
and on what was released before. Where there are very many users one in so many takes part; who does is a function of
their own ratings too. NaN and infinities count as 0.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.kernels.left_out import left_out_errors, left_out_errors_by_torch, one_user_in
from discreet.models.almanac.items import SeenItems
from discreet.models.denoise.item_biases import Averages
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.activity import Activity
from discreet.models.sums.item_statistics import ItemStatistics
from discreet.populations.contribution import Contribution
from discreet.populations.population import Population
from discreet.privacy.lattice import most_on_lattice, on_lattice
from discreet.privacy.unit import Bound, Norm
from discreet.releases.choices import PARTS
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Chosen on small data of ``benchmarks/robust.py``, on splits with the seeds 501 and 611."""

    following: float = 0.05
    """The prior variance of m for how far users follow opinion and popularity."""
    typical_error: float = 0.04
    """The c above."""
    least_curvature: float = 2.0
    """The least curvature of a parabola, in deviations of the noise."""
    furthest: float = 2.0
    """The largest x."""
    left_out: int = 24
    """How many ratings of a user are left out in turn, at most."""
    users: int = 30_000
    """About so many take part at most: more would make it slow, and noise matters no more for so many."""
    cells: float = 3e7
    """Where a user's regression has d columns, about this over d² take part, for the same reason."""


CONSTANTS = _Constants()


# ── The level of all ratings ──

COUNTED = 0.25
"""The a above."""


@dataclass(frozen=True, eq=False)
class RatingLevel:
    """What is asked for: the sum of all residuals about ``base``, for a population that hides single ratings."""

    base: Floats
    scale: Scale

    @property
    def contribution(self) -> Contribution:
        """The sum."""
        bounds = (
            Bound("rating", "l1", 1 + COUNTED, cells=2, replace=2.0),
            Bound("rating", "l2", math.sqrt(1 + COUNTED**2), cells=2, replace=2.0),
        )
        name = "how many ratings there are, and how far they lie from what is expected"
        most, largest = most_on_lattice(1.0), float(len(self.base))
        return Contribution(name, (2,), self._total, bounds, most_users=most, largest=largest)

    def _total(self, ratings: Ratings) -> Doubles:
        residuals = ratings.values.astype(np.float64) - self.base[ratings.item_index]
        whole = np.trunc(np.clip(residuals / (self.scale.width / 2), -1, 1) * 2.0**10)
        return np.array([COUNTED * len(ratings), whole.sum() * 2.0**-10])


# ── What it says ──

SPREAD = 0.3
"""The t above, in half widths: set beforehand."""
NEAR = 0.05
"""How far a prior's level may lie from the one that is seen, in widths, to be taken: set beforehand."""


def shift_of(
    asked: RatingLevel, population: Population, share: float, noise: Literal["gaussian"] | None = None
) -> np.float32:
    """In points of the scale; 0 without a share."""
    if share <= 0:
        return np.float32(0)
    question = replace(asked.contribution, noise=noise)
    counted, total = population.sum(question, share)
    deviation = population.deviation(question, share)
    ratings = max(float(counted), deviation) / COUNTED
    shift = float(total) / ratings * SPREAD**2 / (SPREAD**2 + (deviation / ratings) ** 2)
    return np.float32(np.clip(shift, -1, 1) * asked.scale.width / 2)


def about_level(sums: ItemStatistics, population: Population, share: float) -> ItemStatistics:
    """The same sums about the level of all ratings, or of a prior if it is near; as they are without a share.

    Sums about one level can be averaged.
    """
    if share <= 0:
        return sums
    level = sums.level + float(shift_of(RatingLevel(sums.base, sums.scale), population, share)) / sums.scale.width
    prior = population.catalogue.prior
    if prior is not None and prior.sums_kind is not None and sums.same_but_for_weight(prior.sums_kind, level=False):
        known = float(prior.sums_kind[-1])
        level = known if abs(level - known) <= NEAR else level
    return sums.about_level(level)


def levelled(
    seen: SeenItems,
    averages: Averages,
    population: Population,
    share: float,
    noise: Literal["gaussian"] | None = None,
) -> tuple[SeenItems, Averages]:
    """The same sums and what they say of the items, with the level of all ratings; as they were without a share."""
    if share <= 0:
        return seen, averages
    scale = population.catalogue.scale
    points = shift_of(RatingLevel(averages.base, scale), population, share, noise)
    base = np.clip(averages.base + points, scale.low, scale.high)
    return replace(seen, sums=replace(seen.sums, base=seen.sums.base + points)), replace(averages, base=base)


# ── What users' own fits have in common ──

_BOUNDS = (Bound("user", "l2", 1.0, replace=2.0), Bound("rating", "l2", 2.0, replace=2.0))


@dataclass(frozen=True, eq=False)
class FixedEffects:
    """What is asked for: ``known`` is the regression at home, of whose users one in ``one_in`` takes part, about."""

    known: UserRegression
    one_in: int = 1

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: a number for each covariate."""
        return _contribution(self.known.rows.shape[1], self._total)

    def told(self, ratings: Ratings) -> Doubles:
        """d_u of every user who takes part."""
        if self.one_in > 1:
            ratings = ratings.select_users(np.flatnonzero(one_user_in(ratings.indptr, ratings.item_index, self.one_in)))
        own = self.known.posteriors(ratings, 0)[0].astype(np.float64)
        own[~np.isfinite(own).all(axis=1)] = 0
        return on_lattice(own / np.maximum(np.linalg.norm(own, axis=1) * (1 + 2.0**-40), 1.0)[:, None])

    def _total(self, ratings: Ratings) -> AnyArray:
        return np.asarray(self.told(ratings).sum(axis=0))

    def expected(self, activity: Activity, counts: Doubles) -> tuple[Doubles, float]:
        """H above, and the variance of each number of the sum that comes from users' differing."""
        rows = self.known.rows * np.sqrt(
            self.known.weights[:, None] * (counts / max(float(counts.sum()), 1e-9))[:, None]
        )
        gram, d = rows.T @ rows, rows.shape[1]
        expected, variance = np.zeros((d, d)), 0.0
        for users, ratings in zip(activity.users / self.one_in, activity.ratings, strict=True):
            own = np.linalg.solve(ratings * gram + self.known.residual_variance * np.eye(d), ratings * gram)
            length = max(1.0, float(np.trace(own)) ** 0.5)
            expected += users / length * own
            variance += users / length**2 * float(np.trace(own)) / d
        return expected, variance


def _contribution(size: int, total: Callable[[Ratings], AnyArray]) -> Contribution:
    name = "what users' own fits have in common"
    return Contribution(name, (size,), total, _BOUNDS, "gaussian", largest=1.0)


def with_fixed_effects(
    known: UserRegression,
    wider: Floats,
    activity: Activity,
    counts: Doubles,
    population: Population,
    share: float,
) -> tuple[Floats, Floats]:
    """Expected ratings, and how much wider priors at home are than the usual ones, by one look.

    ``wider`` says the latter before it, for each part; the regression has these priors.
    """
    if share <= 0:
        return known.base, wider
    asked = FixedEffects(known, max(1, round(activity.total / CONSTANTS.users)))
    answer = population.sum(asked.contribution, share)
    noise = population.deviation(asked.contribution, share)
    expected, variance = asked.expected(activity, counts)
    hidden = 1 - 1 / np.square(wider, dtype=np.float64)  # of the priors that the regression has
    hidden[PARTS.index("following opinion and popularity")] = CONSTANTS.following
    prior = np.zeros(known.rows.shape[1])
    parts = known.columns_of_parts
    for part, columns in zip(hidden, parts, strict=True):
        prior[columns] = part
    solved = expected.T / (noise**2 + variance + 1e-12)
    covariance = np.linalg.inv(solved @ expected + np.diag(1 / np.maximum(prior, 1e-9)))
    base = known.base + known.rows @ (covariance @ (solved @ answer))
    left = [float(np.diag(covariance)[columns].mean()) if prior[columns].size else 0.0 for columns in parts]
    left[PARTS.index("following opinion and popularity")] = 0.0
    return base.astype(np.float32), np.sqrt(1 + np.square(wider) * left).astype(np.float32)


# ── The vote: how wide priors at home are ──

STEPS = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class PriorLosses:
    """What is asked for.

    Parameters
    ----------
    known
        The regression with its usual priors.
    followed
        h / (1 − h) of each item. Public.
    ratings_of_a_user
        The n above. Public.
    one_in
        One user in so many takes part, about. Public.
    norm
        In which norm vectors are scaled down.
    """

    known: UserRegression
    followed: Doubles
    ratings_of_a_user: float
    one_in: int
    norm: Norm

    @classmethod
    def of(cls, known: UserRegression, followed: Doubles, users: float, ratings: float, laplace: bool) -> "PriorLosses":
        """For about so many users and ratings, by noisy answers."""
        norm: Norm = "l1" if laplace else "l2"
        users = max(users, 1.0)
        most = min(CONSTANTS.users, CONSTANTS.cells / known.rows.shape[1] ** 2)
        return cls(known, followed, max(ratings / users, 1.0), max(1, round(users / most)), norm)

    @property
    def contribution(self) -> Contribution:
        """The sum, for a population: two numbers for each part of the priors."""
        bounds: tuple[Bound, ...] = (Bound("user", "l2", 1.0, replace=2.0), Bound("rating", "l2", 2.0, replace=2.0))
        if self.norm == "l1":
            bounds = (Bound("user", "l1", 1.0, replace=2.0), Bound("rating", "l1", 2.0, replace=2.0), *bounds)
        return Contribution(
            "how well users' own ratings foresee each other",
            (len(PARTS), len(STEPS)),
            self._total,
            bounds,
            "gaussian" if self.norm == "l2" else None,
            largest=1.0,
            on_torch=self._total_by_torch,
        )

    def losses(self, ratings: Ratings) -> Doubles:
        """d_u of every user, users by parts by steps."""
        errors = left_out_errors(ratings.indptr, ratings.item_index, ratings.values, *self._question)
        return self._told(errors)

    @property
    def _question(self) -> tuple[Doubles, Doubles, Doubles, Doubles, Doubles, int, int]:
        """All that is public, for a kernel."""
        known = self.known
        roots = np.sqrt(known.weights.astype(np.float64))
        rows = known.rows.astype(np.float64) * roots[:, None]
        powers = np.zeros((1 + len(PARTS) * len(STEPS), rows.shape[1]))
        for place, columns in enumerate(known.columns_of_parts):
            for other, step in enumerate(STEPS):
                powers[1 + place * len(STEPS) + other, columns] = step
        penalties = known.residual_variance * 4.0**-powers
        return known.base.astype(np.float64), rows, roots, self.followed, penalties, CONSTANTS.left_out, self.one_in

    def _told(self, errors: Doubles) -> Doubles:
        told = errors[:, 1:] - errors[:, :1]
        told /= CONSTANTS.typical_error * math.sqrt(self.ratings_of_a_user) * self.known.width**2
        told[~np.isfinite(told).all(axis=1)] = 0
        lengths = np.abs(told).sum(axis=1) if self.norm == "l1" else np.sqrt(np.square(told).sum(axis=1))
        return on_lattice(told / np.maximum(lengths * (1 + 2.0**-40), 1.0)[:, None])

    def _total(self, ratings: Ratings) -> AnyArray:
        return np.asarray(self.losses(ratings).sum(axis=0)).reshape(len(PARTS), len(STEPS))

    def _total_by_torch(self, parts: Iterable[Ratings]) -> AnyArray:
        columns = ((part.indptr, part.item_index, part.values) for part in parts)
        total = np.zeros(len(PARTS) * len(STEPS))
        for errors in left_out_errors_by_torch(columns, *self._question):
            total += self._told(errors).sum(axis=0)
        return total.reshape(len(PARTS), len(STEPS))


def asked_scales(
    known: UserRegression,
    followed: Doubles,
    size: tuple[float, float],
    population: Population,
    share: float,
    scales: Floats | None = None,
    laplace: bool = False,
) -> dict[str, AnyArray]:
    """The released array, by one look; none without a share. ``size`` is how many users and ratings there are.

    ``scales`` are those that the regression has already, if any. The noise is Gaussian, unless it is ``laplace``.
    """
    if share <= 0:
        return {}
    asked = PriorLosses.of(known, followed, *size, laplace).contribution
    deviation = population.deviation(asked, share)
    found = scales_of(population.sum(asked, share), deviation)
    if deviation == 0:  # patterns, too, know the ratings that are left out, and without noise by heart: half way
        found = np.sqrt(found)
    return {"prior_scales": found if scales is None else found * scales}


def scales_of(answer: AnyArray, deviation: float) -> Floats:
    """2^x for each part.

    >>> scales_of(np.array([[1.0, 1.0], [-2.0, 6.0], [0.1, -0.1], [0.1, -0.1]]), 0.0).tolist()
    [1.0, 0.5, 4.0, 1.0]
    """
    narrower, wider = np.asarray(answer, dtype=np.float64).T
    curvature = np.maximum((narrower + wider) / 2, 0) + CONSTANTS.least_curvature * deviation
    slope = (wider - narrower) / 2
    best = -slope / (2 * np.maximum(curvature, 1e-9))
    most = np.full(len(best), CONSTANTS.furthest)
    most[PARTS.index("released factors")] = 0.0
    return np.asarray(np.exp2(np.clip(best, -CONSTANTS.furthest, most)), dtype=np.float32)
