"""Does it pay to spend more of the budget on some items than on others? Called by ``covariance.py --only per-item``.

The pair sums of ``covariance-knn`` spend alike on every item that takes part. Here item i is scaled by a public
s_i ≤ 1, made from the noisy counts of the look before: a user adds w_u (y yᵀ, κ² z zᵀ) with y_i = s_i x_i and
z_i = s_i e_i, where w_u = 1/‖(y, κz)‖ for the unit rating, and 1/√(‖y‖⁴ + κ⁴‖z‖⁴) for the unit user. Noise is the same
on every cell of that, so the covariance of i and j, the ratio of its two cells, has noise in proportion to 1/(s_i s_j):

    s_i = (n_i / max n)^power       power > 0: more for popular items, softer than leaving out the others
                                    power < 0: more for unpopular ones

**The bounds stay what they are.** For a user each pair of matrices still has length 1. For a rating, with b = κ²,
X = ‖y‖², E = b‖z‖², S = X + E: it adds a ≤ s_i² to X and b s_i² to E, and X ≤ E/b. In the proof of
:mod:`discreet.models.sums.pair_sums` a, b and every bound on them are then s_i² ≤ 1 times as large, and the squared
distance is at most 2 s_i² (1 + b²)/(1 + b). ∎ (Brute force agrees, see :func:`check`.)

In the averages there is nothing to give: a rating touches its own item alone, so all items have the whole budget
already.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import discreet as dc
from discreet.kernels.covariance import diagonal_places, packed_length, weighted_moments
from discreet.models.denoise.item_biases import item_biases_and_weights
from discreet.models.denoise.spectral import denoised_factors, denoised_weights
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.contribution import Contribution

POWERS = (-0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5)
ROUNDING = 1e-6
"""For sums of doubles; the model's own are exact."""
SEEDS = (101, 102, 103, 104)
UNITS = (("rating", 2.0), ("rating", 5.0), ("rating", 10.0), ("user", 20.0))
CHANCE = 0.001
"""What a power must win over an equal budget, in RMSE, to be worth its while."""


@dataclass(frozen=True, eq=False)
class BudgetedSums(PairSums):
    """Pair sums with a scale for every listed item, in plain doubles: good enough to be measured."""

    scales: Any = field(kw_only=True)

    @property
    def contribution(self) -> Contribution:
        bound = dc.Bound("user", "l2", 1.0 + ROUNDING)
        if self.weighting == "rating, l2":
            bound = dc.Bound("rating", "l2", math.sqrt(2 * (1 + self.beside**2) / (1 + self.beside)) + ROUNDING)
        return Contribution("scaled products of pairs", (2, packed_length(len(self.listed))), self._sums, (bound,))

    def _sums(self, ratings: dc.Ratings) -> Any:
        size = len(self.listed)
        indptr, items, values = self.residuals(ratings)
        users = np.repeat(np.arange(ratings.n_users), np.diff(indptr))
        scaled = self.scales[items]
        products, marks = (
            np.bincount(users, weights=column.astype(np.float64) ** 2, minlength=ratings.n_users)
            for column in (scaled * values, scaled)
        )
        if self.weighting == "user, l2":
            length = np.sqrt(products**2 + (self.beside * marks) ** 2)
        else:
            length = np.sqrt(products + self.beside * marks)
        weights = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        rows, columns = np.triu_indices(size)
        both = self.scales[rows] * self.scales[columns]
        sums = weighted_moments(indptr, items, values, weights, size) * np.stack([both, self.beside * both])
        diagonal = diagonal_places(size)
        kept = sums[:, diagonal].copy()
        sums *= math.sqrt(2)
        sums[:, diagonal] = kept
        return sums


def scales_of(counts: Any, power: float) -> Any:
    """s above; nothing that was counted less than once is scaled down further."""
    scales = np.maximum(counts, 1.0) ** power
    return (scales / scales.max()).astype(np.float32)


def fit(model: dc.CovarianceKNN, population: Any, power: float) -> dc.Release:
    """What ``covariance-knn`` does, with the sums above; the same for power 0."""
    weighting, size, share = model._queries(population)
    mean, item_bias, counts = item_biases_and_weights(population, model.item_damping, 1 - share)
    arrays = {"mean": np.array([mean], dtype=np.float32), "item_bias": item_bias}
    arrays["counts"] = np.maximum(counts, 0).astype(np.float32)
    rows = np.sort(np.argsort(-counts, kind="stable")[:size]).astype(np.int32)
    plain = model._sums(population, rows, arrays["mean"] + item_bias, weighting)
    scales, known = scales_of(counts[rows], power), np.maximum(counts[rows], 0)
    asked = BudgetedSums(rows, plain.base, plain.clip, plain.beside, None, weighting, scales=scales)
    products, weights = asked.matrices(population.sum(asked.contribution, share))
    noise, weight_noise = asked.deviations(population.deviation(asked.contribution, share))
    weights = denoised_weights(weights, known * scales, weight_noise, 6)
    of_a_rating = float(np.trace(weights)) / max(float((known * scales**2).sum()), 1e-9)
    # How far chance moves a cell is in proportion to the square of its scale, of which the weight has one half.
    chance: Any = 2 * of_a_rating ** (2 if weighting == "user, l2" else 1) * np.outer(scales, scales)
    factors = denoised_factors(products, weights, noise, chance.astype(np.float32), 0.1, model.factors)
    arrays["item_factors"] = np.zeros((len(counts), factors.shape[1]), dtype=np.float32)
    arrays["item_factors"][rows] = factors * np.float32(model.clip * population.catalogue.scale.width)
    return dc.Release.of(model, population, arrays)


def check() -> float:
    """The largest share of a declared bound that one rating or user was found to move; raises if it is beyond."""
    catalogue = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5))
    worst = 0.0
    for weighting in ("rating, l2", "user, l2"):
        for scales in ([1.0, 1.0, 1.0], [1.0, 0.5, 0.1], [0.2, 1.0, 0.6]):
            asked = BudgetedSums(
                np.arange(3, dtype=np.int32),
                np.full(3, 3.0, dtype=np.float32),
                1.0,
                0.1,
                None,
                weighting,  # type: ignore[arg-type]
                scales=np.array(scales, dtype=np.float32),
            )
            found = dc.audit.check_sensitivity(asked.contribution, catalogue, [1, 3, 3.5, 5])
            worst = max(worst, *(measured.share for measured in found))
    return worst


def run(data: str = "ml-100k") -> int:
    ratings = dc.load(data)
    model = dc.CovarianceKNN(audience=10 ** round(math.log10(ratings.n_users)))
    print(
        f"{data}, splits with seeds {SEEDS[0]} to {SEEDS[-1]} (on which nothing is reported), RMSE by power of counts"
    )
    print(f"the declared bounds hold by brute force: at most {check():.3f} of them is moved\n")
    print(f"{'':<22}" + "".join(f"{power:>9g}" for power in POWERS))
    won = 0
    for unit, epsilon in UNITS:
        errors = [
            float(np.mean([error(model, ratings, unit, epsilon, power, seed) for seed in SEEDS])) for power in POWERS
        ]
        print(f"{f'{unit}, epsilon {epsilon:g}':<22}" + "".join(f"{value:>9.4f}" for value in errors), flush=True)
        won += min(errors) < errors[POWERS.index(0.0)] - CHANCE
    verdict = f"pays in {won} of {len(UNITS)} rows" if won else "buys nothing"
    print(f"\nmore budget for some items than for others {verdict} (worth it: {CHANCE} less than an equal budget)")
    return won > 0


def error(model: dc.CovarianceKNN, ratings: dc.Ratings, unit: Any, epsilon: float, power: float, seed: int) -> float:
    train, test = ratings.split(test=0.2, seed=seed)
    terms = dc.Terms(epsilon=epsilon, delta=1e-6, unit=unit, noise_seed=seed)
    predicted = fit(model, terms.population(train), power).predict(train, test.user_index, test.item_index)
    return float(np.sqrt(np.mean((predicted.astype(np.float64) - test.values) ** 2)))
