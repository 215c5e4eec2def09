"""What the paper claims of DP-PMF and PDP-PMF, what is true, and by how much they differ.

**Claimed.** Theorem 4: DP-PMF is ε-private for neighbours of which one has a rating and the other does not, written as
r and 0. Theorem 6: PDP-PMF is ε_ij-private for the rating r_ij.

**What is wrong.**

1. *Theorem 4 keeps the pair.* Its proof has the same indicator I_pq = 1 on both sides and a rating of 0 on one. The
   algorithm's indicator is that of the data: a rating that is not there leaves the sum. Then
   η − η' = u_p (r_pq − u_pᵀv̄_q), which no number bounds, and G_q loses u_p u_pᵀ. An item with one rating by a user with
   u = 1, λ_v = .01: v̄ has spread 49.5 with the rating and 5000 without it (ε .1), so |v̄| > 495 has odds 4.6e-5 and .91,
   whatever is claimed (:func:`one_rater`). MovieLens 100K has 141 such items.
2. *U is data, and not short.* As in the paper that it follows, U is trained on the same ratings and taken as constant.
3. *Algorithm 2 is not Theorem 4.* It starts at the V that was trained without noise, of which nothing is
   proven, and draws new noise in each step. With U constant, a data-independent start and one dimension, the last
   iterate hides a changed value with noise Σ_s γ(1 − γh)^s η_s, and a shift of the same sum of weights: the pure loss
   is ε times (1 − (1 − γh)^k)/(γh) (:func:`composed`), up to k₂ ε.
4. *t is the mean of the levels*, which depends on the ratings that are there.
5. *U is returned.* Predictions for d items and the public V̄ give u_i by linear equations. A user who rated only item q
   has u = r v_q/(‖v_q‖² + λ_u) where training is at rest, and so learns the v_q that was trained without noise
   (:func:`recovered`).

**What holds.** Theorem 6 over a base that is t-private: with the rating in the data the odds of an outcome are
π A + (1 − π) B, without it B, and e^−t B ≤ A ≤ e^t B. So they differ by at most 1 + π(e^t − 1) = e^ε above and
1 − π(1 − e^−t) ≥ e^−ε below (:func:`sampled_sides`). For a changed value Remark 7 has 2ε; if the base is t-private for
changed values too it is ε (:func:`replaced`).
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import Rating
from discreet.types import Doubles

if TYPE_CHECKING:
    from discreet.papers.personalised.algorithm import PDPPMF

START = "its steps start at item factors that were trained without noise, and draw new noise each time"
WRONG = {
    "listing": START,
    "fixed": "its steps start at item factors that were trained without noise",
    "theorem": "its proof keeps a removed rating as 0, where the algorithm leaves it out",
}
"""By mode, what is wrong first."""
SHARED = "the user factors, which the proof takes for constants, were trained on the same ratings"


def guarantee_of_one(epsilon: float | None, mode: str, user_norm: str, *, seeded: bool) -> Guarantee:
    """The claim of DP-PMF, and in a sentence why it is not proven."""
    if epsilon is None:
        return Guarantee(reason="item factors were trained on the raw ratings, without noise", seeded=seeded)
    long = ", nothing keeps them within the length of 1 that it supposes" if user_norm == "free" else ""
    return _claimed(f"{WRONG[mode]}; {SHARED}{long}", epsilon, seeded=seeded)


def guarantee_of_levels(model: "PDPPMF", *, given: bool, seeded: bool) -> Guarantee:
    """The claim of PDP-PMF: each rating its own level, the largest of which is stated."""
    if model.epsilon is None:
        return guarantee_of_one(None, model.mode, model.user_norm, seeded=seeded)
    base = guarantee_of_one(model.epsilon, model.mode, model.user_norm, seeded=False).reason
    drawn = "" if model.threshold != "mean" else "; and the threshold is the mean of private levels"
    how = "as given" if given else f"drawn between {model.conservative_epsilon:g} and {model.epsilon:g}"
    note = f"; what is claimed for each rating is a level of its own, {how}, and this is the largest"
    return _claimed(base + drawn + note, model.epsilon, seeded=seeded)


def _claimed(reason: str, epsilon: float, *, seeded: bool) -> Guarantee:
    return Guarantee(
        reason=reason + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(epsilon)),
        unit=Rating(),
        protects_from=("the public",),
        exposed_to=("the recommender, who has all ratings",),
        seeded=seeded,
    )


def one_rater(epsilon: float, penalty: float = 0.01, largest: float = 5.0) -> tuple[float, float]:
    """Spread of the published number of an item with one rating, and of the same item without it; d = 1, u = 1.

    >>> there, gone = one_rater(0.1)
    >>> round(there, 1), round(gone)
    (49.5, 5000)
    """
    return largest / epsilon / (1 + penalty), largest / epsilon / penalty


def composed(step: float, curvature: float, steps: int) -> float:
    """By how much fresh noise multiplies the loss of a changed value, U constant, in one dimension.

    >>> [round(composed(1.0, h, 50), 2) for h in (0.01, 0.1, 0.5)]
    [39.5, 9.95, 2.0]
    """
    product = step * curvature
    return (1 - (1 - product) ** steps) / product


def fresh_noise_variance(step: float, curvature: float, steps: int, variance: float) -> float:
    """Of the last iterate: γ² Σ_s (1 − γh)^2s σ².

    >>> round(fresh_noise_variance(1.0, 0.5, 50, 3.0), 6)  # 3 / (1 − 1/4)
    4.0
    """
    return step**2 * variance * sum((1 - step * curvature) ** (2 * s) for s in range(steps))


def sampled_sides(epsilon: float, threshold: float) -> tuple[float, float]:
    """The logarithms of both sides of Theorem 6, at a level and a threshold.

    >>> [round(side, 4) for side in sampled_sides(0.1, 0.393)]
    [-0.0736, 0.1]
    """
    rate = min(1.0, math.expm1(epsilon) / math.expm1(threshold))
    return math.log1p(rate * math.expm1(-threshold)), math.log1p(rate * math.expm1(threshold))


def replaced(epsilon: float, threshold: float) -> tuple[float, float]:
    """What a changed value loses: over a base that is private for changed values, and over one for removal alone.

    >>> [round(loss, 4) for loss in replaced(0.2, 0.7)]
    [0.2, 0.3165]
    """
    return epsilon, epsilon - math.log1p(-math.exp(-threshold) * math.expm1(epsilon))


def recovered(user: Doubles, value: float, penalty: float) -> Doubles:
    """v_q from the u of a user who rated only item q with this value, training at rest: u (‖v‖² + λ) = r v.

    So v points where u does, and ‖v‖² − (r/‖u‖) ‖v‖ + λ = 0; training ends at the larger root.

    >>> v = np.array([0.6, 1.2])
    >>> recovered(5.0 * v / (v @ v + 0.01), 5.0, 0.01).round(12).tolist()
    [0.6, 1.2]
    """
    length = float(np.sqrt(user @ user))
    half = value / length / 2
    return np.asarray(user / length * (half + math.sqrt(half**2 - penalty)))
