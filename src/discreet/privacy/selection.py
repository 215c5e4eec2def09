"""Choosing the best of several candidates by a private score, and paying for it.

The best of a grid is a release: which damping or clip fits best says something about the ratings. There are
three honest ways to state a choice in a guarantee (``tuning=…`` of a population): ``public``, made on other or
public data; ``paid``, made by :func:`choose` from the same ledger; ``unpaid``, and then nothing is proven.

**Permute and flip.** The candidates come up in random order; candidate r is taken with odds p_r = exp(a(u_r −
max u)), otherwise the next one comes. The best one is taken for certain when it comes, so the search ends.

**Guarantee.** Let each score u_r move by at most D either way. Random order is the same as a uniform arrival
time of each, so, with w_r = e^(a u_r), W their maximum and t the arrival time of r in units of 1/W,

    P(r) = w_r · ∫₀^{1/W} ∏_{s≠r} (1 − t·w_s) dt.

This falls, or stays, when another w_s grows, for then the integrand and the upper end fall; and it grows with
w_r (where w_r = W it is ∫₀¹ ∏ (1 − v·w_s/w_r) dv). It does not change when all scores move by the same amount,
which multiplies all w by a constant. So it grows most when u_r rises by D and all others fall by D, which is
the same as u_r rising by 2D alone: then w_r grows by e^(2aD) and the integral does not grow. Hence P'(r) ≤
e^(2aD)·P(r), for every r: pure ε = 2aD. Ties need no care: no two candidates are ever compared. Where adding a
unit moves all scores the same way (``monotone``: sums of losses, say), the others stay at worst, and ε = aD.
The expected loss of score is never more than the exponential mechanism's.

**No floating point.** Scores are doubles, so their differences are exact decimals, and the odds are compared exactly
(:func:`~discreet.privacy.noise.is_below`). Scores are sums in doubles and may move by a hair more than D: one part in
2**20 is added.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

import numpy as np

from discreet.doors import checked
from discreet.errors import InputError, require
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise import fresh, is_below
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.types import AnyArray, Doubles

Candidate = TypeVar("Candidate")

FLOAT_MARGIN = 2.0**-20
WORST = 1e300
"""Minus this stands for a score that is no finite number."""


@checked
def choose(
    candidates: Sequence[Candidate],
    score: Callable[[Candidate], float],
    sensitivity: float,
    ledger: Ledger,
    share: float = 1.0,
    randomness: Randomness | None = None,
    *,
    monotone: bool = False,
    what: str = "which candidate scores best",
) -> Candidate:
    """A candidate with a high score, at the price of a share of the ledger.

    Parameters
    ----------
    candidates
        Public: what could be chosen.
    score
        The higher the better. Called once for each candidate, after the ledger was charged. It may look at the
        ratings; whatever else it uses must be public or released already. (A model that was fitted for this must
        have been paid for; else its training ratings move the score as well, and the bound is void.)
    sensitivity
        How far adding or removing one unit of the ledger moves any one score. Where repeats were merged, a rating is an
        event that may replace a merged value: how far that moves it.
    ledger, share
        What pays, and how much of its limit; see :func:`pure_share`.
    randomness
        By default from the operating system. After a seeded choice the ledger proves nothing.
    monotone
        Adding a unit moves all scores the same way: twice as precise for the same price.

    Examples
    --------
    How strongly should item means be damped? One noisy sum serves every candidate, since damping comes after the
    noise. The score is minus the squared error on ratings held out, each at most 4 (in half widths of the scale),
    so one rating moves every score by at most 4, and a further one never raises any.

    >>> import discreet as dc
    >>> from discreet.privacy.bounding import centre, hold_out, user_tags
    >>> from discreet.privacy.randomness import secret_key
    >>> ratings, key = dc.synthetic(users=400, items=40, ratings=8000, seed=1), secret_key()
    >>> held = hold_out(ratings.indptr, ratings.item_index, user_tags(ratings.users.names, key), 0.3, key)
    >>> train, validation = ratings.select(~held), ratings.select(held)
    >>> ledger = dc.Ledger(epsilon=2.0)
    >>> def counts_and_sums(part):
    ...     rows = [np.ones(len(part)), centre(part.values, 1, 5)]
    ...     return np.stack([np.bincount(part.item_index, weights=row, minlength=40) for row in rows])
    >>> asked = dc.Contribution("ratings of items", (2, 40), counts_and_sums, (dc.Bound("rating", "l1", 2.0, cells=2),))
    >>> counts, sums = dc.TrustedServer(train, ledger).sum(asked, share=0.75)
    >>> def score(damping):
    ...     means = np.clip(sums / np.maximum(counts + damping, 1), -1, 1)
    ...     return -float(((centre(validation.values, 1, 5) - means[validation.item_index]) ** 2).sum())
    >>> damping = choose([1, 10, 100, 1000], score, 4.0, ledger, share=0.25, monotone=True)
    >>> damping in (1, 10, 100, 1000), round(ledger.spent, 6)
    (True, 2.0)

    A model is fitted with the choice on what is left: ``dc.TrustedServer(ratings, ledger, share=…, tuning="paid")``.
    """
    require(len(candidates) > 0, "there must be at least one candidate to choose from")
    require(
        np.isfinite(float(sensitivity)) and sensitivity > 0,
        f"sensitivity must be positive and finite, got {sensitivity}",
    )
    # How far two scores can move apart: this is what the proof calls 2D, or D where all move the same way.
    apart = (
        sensitivity * (1 + FLOAT_MARGIN) * (1 if monotone else 2) * (2 if ledger.unit.neighbours == "replace" else 1)
    )
    epsilon = pure_share_of_all(ledger, share)
    source = Randomness() if randomness is None else randomness
    ledger.charge(
        Spend(
            what=what,
            mechanism="pure",
            norm="l1",
            sensitivity=apart,
            scale=apart / epsilon,
            seeded=source.is_seeded,
            chooses=True,
        )
    )
    scores = np.array([_score(score, candidate) for candidate in candidates])
    return candidates[permute_and_flip(scores, epsilon / apart, source)]


def _score(score: Callable[[Candidate], float], candidate: Candidate) -> float:
    """A finite score. The ledger was charged by now, so an error says nothing of its cause, which may be the ratings.

    A score that moves by a bounded amount is finite on all ratings. One that is not counts as the worst: an error would
    tell on which ratings it is not.
    """
    try:
        found = float(score(candidate))
    except Exception:
        found = None
    if found is None:  # outside of the handler, so that it carries no other error along
        raise InputError("a score could not be computed, and what was booked for the choice stays spent")
    return found if math.isfinite(found) else -WORST


def permute_and_flip(scores: AnyArray, rate: float, randomness: Randomness) -> int:
    """The position of a high score; ``rate`` is the a of the proof above.

    >>> permute_and_flip(np.array([0.0, 1000.0]), 1.0, Randomness())
    1
    """
    require(bool(np.isfinite(scores).all()), "every score must be finite")
    order = list(range(len(scores)))
    best, steepness = Decimal(float(scores.max())), Decimal(rate)

    def odds() -> Decimal:
        return (steepness * (Decimal(float(scores[candidate])) - best)).exp()

    while True:
        # The next of a random permutation, one at a time: mostly few are needed.
        place = _place(len(order), randomness)
        candidate = order[place]
        if is_below(_uniform(randomness), 128, odds, fresh(randomness)):
            return candidate
        order[place] = order[-1]
        order.pop()


def flip_law(scores: AnyArray, rate: float) -> Doubles:
    """The probability with which each score is chosen: the integral of the proof above, by a rule that is exact for it.

    >>> flip_law(np.array([0.0, math.log(0.5)]), 1.0).tolist()
    [0.75, 0.25]
    """
    weights = np.exp(rate * (np.asarray(scores, dtype=np.float64) - np.max(scores)))
    nodes, parts = np.polynomial.legendre.leggauss(len(weights) // 2 + 1)
    times, parts = (nodes + 1) / 2, parts / 2
    found = np.empty(len(weights))
    for place in range(len(weights)):
        others = np.delete(weights, place)
        found[place] = weights[place] * (parts @ np.prod(1 - times[:, None] * others, axis=1))
    return found


def pure_share(ledger: Ledger, share: float) -> float:
    """The epsilon of a pure mechanism that takes a share of a ledger's limit.

    With delta 0, or the whole, this is that share of epsilon. Otherwise the rest may go to Gaussian noise, whose shares
    add up in other units: then it is what fits before Gaussian noise with all other shares, which is less; and after
    Gaussian noise, where it counts as such, less still, unless both were planned (:mod:`discreet.privacy.composition`).

    >>> pure_share(Ledger(epsilon=2.0), 0.25)
    0.5
    """
    require(0 < share <= 1, f"the share of a budget lies in (0, 1], got {share}")
    if ledger.delta == 0 or share == 1:
        return share * ledger.epsilon
    if ledger.planned is None and any(spend.mechanism == "gaussian" for spend in ledger.spends):
        from discreet.privacy.gaussian import mu_of, pure_of_mu

        return min(share * ledger.epsilon, pure_of_mu(mu_of(ledger.epsilon, ledger.delta * 0.999) * share**0.5))
    return min(share * ledger.epsilon, _beside_gaussian(ledger.epsilon, ledger.delta, share))


def pure_share_of_all(ledger: Ledger, share: float) -> float:
    """The same for a look at numbers that no population holds: where levels go by sampling, these are in no sample."""
    require(
        not ledger.levels or ledger.weighted,
        "this ledger promises privacy levels by sampling, and these numbers are of everybody: keep another ledger",
    )
    return pure_share(ledger, share)


@lru_cache(maxsize=64)
def _beside_gaussian(epsilon: float, delta: float, share: float) -> float:
    from discreet.privacy.accounting import epsilon_of, gaussian_noise_multiplier

    whole = gaussian_noise_multiplier(epsilon, delta * 0.999)
    rest = Spend(what="rest", mechanism="gaussian", norm="l2", sensitivity=1, scale=whole / (1 - share) ** 0.5)
    return epsilon - epsilon_of([rest], delta * 0.998)


def _place(places: int, randomness: Randomness) -> int:
    """One of so many places, all with the same odds."""
    drawn = _uniform(randomness)
    while drawn >= 2**128 // places * places:
        drawn = _uniform(randomness)
    return drawn % places


def _uniform(randomness: Randomness) -> int:
    first, second = randomness.words(2)
    return int(first) << 64 | int(second)
