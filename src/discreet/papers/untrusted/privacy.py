"""What the paper claims of S2 and S3, what is true, and by how much they differ.

**Claimed**: the last V satisfies ε-differential privacy, each round's Σ(g + ρ̃) does too; the third party learns
nothing, and the recommender cannot take the noise away. No total over the rounds is given.

**What holds.** Pieces of Theorem 2 add up to Laplace noise if all k users have the same H, the right k, and send
theirs. The third party sees numbers that are uniform mod P, so no values. Neither server alone knows η in S3: α and β
are pads.

**What is wrong.**

1. *Rounds add up.* Every V(t) is seen, and only ρ̃(t) is fresh: T rounds cost Tε, or what :func:`composed` says.
2. *η protects nothing.* It is the same in all rounds, so it cancels in differences of rounds: (11) holds of it, as the
   paper itself says, and what S3 does to keep it constant keeps that too.
3. *H is the recommender's.* To whoever knows H the noise is Gaussian with a known variance: there is no pure ε, and
   with d = 1 δ(ε') is about ε²/4ε' (:func:`delta_given_exponentials`).
4. *H, k, V and the group are the recommender's word.* H = 0 or a huge k switches the noise off, and nothing shows it:
   :mod:`~discreet.papers.untrusted.attacks` reads ratings off. No finite ε holds against the recommender.
5. *U moves.* S1's own text says that Theorem 1 fails where U and V are trained together, which S2 and S3 do. A changed
   rating moves u_i, and through it all of the user's items; without clipped residuals by any amount.
6. *Who rated what* is told to both servers in clear: requests and labels name the items.
7. *Users who collude* know their pieces: of k pieces with c known a share (k − c)/k of the variance is left.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import Rating

if TYPE_CHECKING:
    from discreet.papers.untrusted.algorithm import UntrustedMF

DELTA = 1e-5
"""At which totals over rounds are given."""


def guarantee(model: "UntrustedMF", *, seeded: bool) -> Guarantee:
    """The claim, and in a sentence why it is not proven."""
    if model.epsilon is None:
        return Guarantee(reason="item factors were trained on the users' gradients without noise", seeded=seeded)
    wrong = [
        "the losses of all rounds add up",
        "the recommender chooses the spread of the noise and the group, and so can switch it off",
        "user factors, which the proof takes for constants, are trained with the item factors",
    ]
    if model.shrunk_noise:
        wrong.append("the noise is divided by the number of ratings")
    return Guarantee(
        reason="; ".join(wrong) + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(model.epsilon)),
        unit=Rating("replace"),
        protects_from=("the public", "the recommender", "the third party"),
        public=("which items each user rated",),
        seeded=seeded,
    )


def composed(epsilon: float, rounds: int, delta: float = DELTA) -> float:
    """What ``rounds`` mechanisms of pure ``epsilon`` cost together at most, and exactly for the worst of them.

    The worst is randomised response: of T answers l are wrong with odds C(T, l) e^((T−l)ε)/(1 + e^ε)^T, and the loss is
    then (T − 2l)ε (Kairouz, Oh and Viswanath 2015).

    >>> round(composed(0.1, 100), 3), composed(0.1, 100, 0.0)
    (4.307, 10.0)
    """
    if delta == 0:
        return rounds * epsilon
    wrong = np.arange(rounds + 1)
    from scipy.special import gammaln  # reading a release needs no scipy

    log_odds = gammaln(rounds + 1) - gammaln(wrong + 1) - gammaln(rounds - wrong + 1)
    log_odds += (rounds - wrong) * epsilon - rounds * np.log1p(np.exp(epsilon))
    losses = (rounds - 2 * wrong) * epsilon

    def delta_of(total: float) -> float:
        over = losses > total
        return float((np.exp(log_odds[over]) * -np.expm1(total - losses[over])).sum())

    return _least(delta_of, delta, rounds * epsilon)


def participations(rounds: int, at_most: int, users: int) -> float:
    """In how many rounds of S3 a user takes part on average.

    >>> round(participations(10_000, 1000, 191_668), 1), round(participations(10_000, 100, 943))
    (52.2, 1060)
    """
    return rounds * min(at_most, users) / users


def delta_given_exponentials(epsilon: float, total: float, points: int = 200_001) -> float:
    """δ(``total``) of one coordinate's noise to whoever knows H: E over H of the Gaussian mechanism's, μ = ε/√(2H).

    >>> f"{delta_given_exponentials(0.1, 1.0):.1e} {delta_given_exponentials(1.0, 5.0):.3f}"
    '2.5e-03 0.048'
    """
    shares = (np.arange(points) + 0.5) / points  # H by its quantiles; small H matter, so their squares are even
    levels = shares**4
    weights = 4 * shares**3 / points
    mu = epsilon / np.sqrt(-2 * np.log1p(-levels))
    from scipy.special import ndtr

    return float((weights * (ndtr(mu / 2 - total / mu) - np.exp(total) * ndtr(-mu / 2 - total / mu))).sum())


def honest_mu(epsilon: float, factors: int, rounds: int = 1) -> float:
    """What an item's noise of all rounds is to a recommender with honest H: μ = √(Σ s²/2b²H), its median over H.

    For a shift s of the paper's length 2Δ that is alike in all coordinates. The sum of 1/H is heavy-tailed: more rounds
    cost more than √rounds times one.

    >>> round(honest_mu(0.1, 50), 4)
    0.0226
    """
    rng, count = np.random.default_rng(1), factors * rounds
    draws = max(5, min(10_001, 4_000_000 // count)) | 1
    totals = [float((1 / rng.exponential(size=count)).sum()) for _ in range(draws)]
    return epsilon * math.sqrt(float(np.median(totals)) / 2) / factors


def honest_total(mu: float, *, sensitivity: float = 1.0, items: int = 1, delta: float = DELTA) -> float:
    """The epsilon of a rating that moves ``items`` items by ``sensitivity`` times the paper's 2Δ each.

    >>> round(honest_total(10 * 0.0225), 2)  # a hundred rounds
    0.83
    """
    from discreet.privacy.gaussian import epsilon_of_mu  # which needs scipy

    return epsilon_of_mu(sensitivity * mu * math.sqrt(items), delta)


def _least(delta_of: Callable[[float], float], delta: float, most: float) -> float:
    """By bisection: delta falls with epsilon."""
    low, high = 0.0, most
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return high
