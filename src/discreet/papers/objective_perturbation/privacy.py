"""What the paper claims of S1, what is true, and by how much they differ.

**Claimed** (Theorem 1): V satisfies ε-differential privacy. Definition 1 has neighbours that differ by a record that is
there or not; the proof compares data with the same rated pairs, of which one *value* differs.

**What holds.** Let U be fixed without looking at the values, ‖u_i‖ ≤ Γ. Where the value r_pq changes, the map from η to
V is affine with the same matrix on both sides, so the odds of V differ by p(η_q)/p(η'_q) with
η_q − η'_q = 2 u_p (r_pq − r'_pq): at most e^(εΓ), and e^ε for Γ = 1. It needs no exact minimiser: T steps from a start
that does not depend on the values give v = A v(0) + B (2b − η), where A and B depend on U alone, and B can be inverted.

**What is wrong.**

1. *U is data.* It is trained on the same ratings: where r_pq moves, u_p does, and through V all others. Then for every
   item η_j − η'_j = 2(b_j − b'_j) − 2(G_j − G'_j) v_j, which no number bounds, the determinants of G_j + μM differ too,
   and all items' losses add up. That U is kept secret is no argument: V is a function of it. One user, ten items, d =
   1, r = (1, …, 1) or (5, 1, …, 1): |u| is 1.778 or 2.415, and the *size* of the noise in V tells which, whatever ε is
   (:func:`counter_example`).
2. *‖u_i‖ ≤ 1* is supposed and nothing sees to it. Even with U constant the bound is ε max‖u_i‖.
3. *A rating that is there or not* moves η_q by 2 u_p (r_pq − u_pᵀv_q), without a bound, and G_q by u_p u_pᵀ: there is
   no finite ε, even with U constant and short (:func:`one_rater`).

Lemma 1 (Laplace noise of scale 2Δ√d/ε in every coordinate) holds where Theorem 1 does, since Σ|x_k| ≤ √d‖x‖; its
noise does not have the radial density, as the text says it has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import Rating
from discreet.types import Doubles

if TYPE_CHECKING:
    from discreet.papers.objective_perturbation.algorithm import ObjectivePerturbedMF


def noise_scale(epsilon: float, width: float, noise: str, factors: int) -> float:
    """Of Theorem 1, 2Δ/ε along the radius; or of Lemma 1, 2Δ√d/ε in every coordinate.

    >>> noise_scale(0.1, 4.0, "radial", 50), round(noise_scale(0.1, 4.0, "laplace", 50), 1)
    (80.0, 565.7)
    """
    return 2 * width / epsilon * (math.sqrt(factors) if noise == "laplace" else 1.0)


def guarantee(model: "ObjectivePerturbedMF", *, seeded: bool) -> Guarantee:
    """The claim, and in a sentence why it is not proven."""
    if model.epsilon is None:
        return Guarantee(reason="item factors were trained on the raw ratings, without noise", seeded=seeded)
    wrong = ["the user factors, which its proof takes for constants, were trained on the same ratings"]
    if model.user_norm == "free":
        wrong.append("nothing keeps them within the length of 1 that it supposes")
    if model.minimiser == "steps" and model.start == "trained":
        wrong.append("its steps start at item factors that were trained without noise")
    if model.shrunk_noise:
        wrong.append("the noise is divided by the number of ratings")
    reason = f"{', '.join(wrong)}; and a rating that is there or not moves the noise without a bound"
    return Guarantee(
        reason=reason + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(model.epsilon)),
        unit=Rating("replace"),
        protects_from=("the public",),
        exposed_to=("the recommender, who has all ratings",),
        public=("which items each user rated",),
        seeded=seeded,
    )


@dataclass(frozen=True)
class Affine:
    """One published number, v = centre + noise/curvature, with Laplace noise: what d = 1 comes to.

    >>> one, other = Affine(centre=0.0, spread=1.0), Affine(centre=0.0, spread=1.0)
    >>> one.distance(other)
    0.0
    """

    centre: float
    spread: float

    def density(self, points: Doubles) -> Doubles:
        """At these points."""
        return np.asarray(np.exp(-np.abs(points - self.centre) / self.spread) / (2 * self.spread))

    def distance(self, other: "Affine") -> float:
        """Statistical distance of one such number."""
        if self == other:
            return 0.0
        reach = 40 * max(self.spread, other.spread) + abs(self.centre - other.centre)
        points = np.linspace(min(self.centre, other.centre) - reach, max(self.centre, other.centre) + reach, 2_000_001)
        gaps = np.abs(self.density(points) - other.density(points))
        return float(gaps.sum() * (points[1] - points[0]) / 2)


def distance_of_all(one: Sequence[Affine], other: Sequence[Affine], draws: int = 200_000) -> float:
    """Statistical distance of several numbers that share a hidden sign: E max(0, 1 − q/p), by seeded draws.

    The sign is that of u, which a random start decides: V and −V are as likely.

    >>> round(distance_of_all(*counter_example(0.1)), 2)
    0.66
    """
    rng = np.random.default_rng(1)
    points = [mine.centre + rng.laplace(0, mine.spread, draws) for mine in one]

    def log_density(side: Sequence[Affine]) -> Doubles:
        signs = [
            sum((np.log(mine.density(sign * own)) for mine, own in zip(side, points, strict=True)), np.zeros(draws))
            for sign in (1, -1)
        ]
        return np.logaddexp(*signs)

    return float(np.maximum(0.0, 1 - np.exp(log_density(other) - log_density(one))).mean())


def counter_example(epsilon: float, penalty: float = 0.001, width: float = 4.0) -> tuple[list[Affine], list[Affine]]:
    """The ten published numbers of one user with the ratings (1, …, 1), and with (5, 1, …, 1); d = 1, M = 1.

    At a minimum of (1) with one user and d = 1, (u²+μ)v = u r and (‖v‖²+λ)u = vᵀr, so u² = ‖r‖√(μ/λ) − μ.

    >>> calm, changed = counter_example(0.1)
    >>> [round((40 / one.spread - 0.001) ** 0.5, 3) for one in (calm[0], changed[0])]
    [1.778, 2.415]
    """
    sides = []
    for ratings in (np.ones(10), np.array([5.0, *np.ones(9)])):
        square = float(np.sqrt((ratings**2).sum())) - penalty
        curvature = square + penalty
        sides.append(
            [
                Affine(centre=math.sqrt(square) * float(value) / curvature, spread=width / epsilon / curvature)
                for value in ratings
            ]
        )
    return sides[0], sides[1]


def one_rater(epsilon: float, penalty: float, width: float, value: float) -> tuple[Affine, Affine]:
    """An item that one user with u = 1 rated, and the same item without the rating; d = 1, M = 1, U constant.

    >>> there, gone = one_rater(0.1, 0.001, 4.0, 5.0)
    >>> round(there.distance(gone), 3)
    0.992
    """
    return (
        Affine(centre=value / (1 + penalty), spread=width / epsilon / (1 + penalty)),
        Affine(centre=0.0, spread=width / epsilon / penalty),
    )
