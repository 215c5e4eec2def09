"""From how often an attack succeeds to a lower bound on epsilon, with a stated confidence.

**Many runs.** Let A be any set of outcomes. A mechanism that is (ε, δ)-private gives, for neighbouring data sets,
P(A | in) ≤ e^ε P(A | out) + δ, so ε ≥ ln((P(A | in) − δ) / P(A | out)), and the same with "in" and "out" exchanged.
The set is "the score of the attack is at least t" or "below t". It is chosen on one half of the runs; on
the other half the two probabilities are bounded by Clopper and Pearson, which holds for every number of runs.

A Gaussian mechanism is μ-GDP: every test of in against out has Φ⁻¹(true positives) − Φ⁻¹(false positives) ≤ μ, with
equality for the likelihood ratio of a canary of full norm. So for these μ is measured as well, far more sharply:
that the noise is half of what was booked shows in μ long before it shows in epsilon at a small delta.

**One run.** Of m canaries each takes part or not by its own fair coin S_i. From the release y the attack guesses the
coins of r of them, and W guesses are right. *If the mechanism is (ε, δ)-private for one canary, then
P(W ≥ w) ≤ P(Binomial(r, p) ≥ w) + mδ with p = e^ε / (1 + e^ε).*

Proof. Go through the canaries in order, and fix the coins before i. Averaging over the coins after i keeps privacy, so
the laws P1 and P0 of the release given S_i = 1 and S_i = 0 satisfy P1(B) ≤ e^ε P0(B) + δ and the reverse for all B.
Given y and the coins before i, the odds that "in" is right are P1(y) : P0(y); its probability exceeds p where
P1 > e^ε P0. Since y has the density (P1 + P0)/2, and p = e^ε(1 − p), the excess over p has the mean

    ∫ (P1 − p(P1 + P0))⁺ / 2  =  (1 − p)/2 ∫ (P1 − e^ε P0)⁺  ≤  (1 − p) δ / 2

over those y for which the guess is "in", and the same for "out": together at most (1 − p)δ. A guess that is right with
probability at most p + f, given y and the coins before, can be drawn as: right if Y_i, a coin of probability p of its
own, says so, or else if Z_i does, a coin of probability f/(1 − p). The Y_i are independent of each other and of y, so
those of the r guessed canaries sum to a Binomial(r, p), whichever these are; and the chance that any Z_i matters is at
most Σ E f_i / (1 − p) ≤ mδ. ∎

So an epsilon for which that probability is below 1 − confidence is refuted. (The idea of auditing in one run is due to
Steinke, Nasr and Jagielski, 2023; their bound is sharper in δ, which does not matter as long as mδ is small.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, betaincinv, ndtr, ndtri

from discreet.types import AnyArray, Doubles

CANDIDATES, EXTREMES = 100, 16
"""Thresholds that are tried on the first half."""
ROOT = 1e-9
"""More than the root finder errs: so far to the safe side."""

Count = AnyArray | int
Bound = Callable[[Count, Count, Count, Count], Doubles]
"""(hits, runs) where hits should be many, (hits, runs) where they should be few → a lower bound."""


@dataclass(frozen=True)
class Cut:
    """A set of outcomes: scores of at least ``threshold``, or below it; and for which side they are taken to speak."""

    threshold: float
    above: bool
    for_present: bool

    def hits(self, scores: AnyArray) -> int:
        """How many of the scores lie in the set."""
        return int(np.count_nonzero(scores >= self.threshold if self.above else scores < self.threshold))

    def many_and_few(self, absent: AnyArray, present: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The scores of the side on which there should be many hits, and those of the other."""
        return (present, absent) if self.for_present else (absent, present)


@dataclass(frozen=True)
class Interval:
    """An estimate between a lower and an upper bound."""

    estimate: float
    low: float
    high: float


def clopper_pearson(hits: Count, runs: Count, risk: float) -> tuple[Doubles, Doubles]:
    """A lower and an upper bound on a probability, each wrong with at most ``risk``.

    >>> low, high = clopper_pearson(5, 10, 0.025)
    >>> round(float(low), 3), round(float(high), 3)
    (0.187, 0.813)
    """
    hits = np.asarray(hits, dtype=np.float64)
    missed = runs - hits
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), missed + 1, risk), 0.0)
        high = np.where(missed > 0, betaincinv(hits + 1, np.maximum(missed, 1), 1 - risk), 1.0)
    return low, high


def epsilon_bound(delta: float, risk: float) -> Bound:
    """ln((P(A | in) − δ) / P(A | out)) from below, wrong with at most ``risk``; 0 where nothing is shown.

    >>> round(float(epsilon_bound(0.0, 0.05)(1000, 1000, 0, 1000)), 2)
    5.6
    """

    def bound(many: Count, many_runs: Count, few: Count, few_runs: Count) -> Doubles:
        low, _ = clopper_pearson(many, many_runs, risk / 2)
        _, high = clopper_pearson(few, few_runs, risk / 2)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.maximum(low - delta, 0.0) / high), 0.0)

    return bound


def mu_bound(risk: float) -> Bound:
    """Φ⁻¹(true positives) − Φ⁻¹(false positives) from below, wrong with at most ``risk``; 0 where nothing is shown."""

    def bound(many: Count, many_runs: Count, few: Count, few_runs: Count) -> Doubles:
        low, _ = clopper_pearson(many, many_runs, risk / 2)
        _, high = clopper_pearson(few, few_runs, risk / 2)
        return np.maximum(np.nan_to_num(ndtri(low) - ndtri(high), nan=0.0, neginf=0.0), 0.0)

    return bound


def mu_interval(many: int, few: int, runs: int, risk: float, pure: float = 0.0) -> Interval:
    """μ of a test with its bounds, which both hold except with probability ``risk``.

    Where the test tells of noise with a pure loss as well, ``pure`` is how much of that the ledger allows: the estimate
    and the lower bound are then of the μ without which the test could not be as good as it is.

    >>> interval = mu_interval(691, 309, 1000, 0.05)
    >>> round(interval.estimate, 2), interval.low < 1 < interval.high
    (1.0, True)
    >>> mu_interval(691, 309, 1000, 0.05, pure=1.0).estimate < 0.5
    True
    """
    lows, highs = zip(*(clopper_pearson(hits, runs, risk / 4) for hits in (many, few)), strict=True)
    # Half a hit more and a run more keep the estimate finite where every guess was right.
    rates = [(hits + 0.5) / (runs + 1) for hits in (many, few)]
    high = float(ndtri(highs[0]) - ndtri(lows[1]))
    if pure > 0:
        return Interval(mu_beside(pure, *rates), mu_beside(pure, float(lows[0]), float(highs[1])), high)
    return Interval(
        estimate=float(ndtri(rates[0]) - ndtri(rates[1])),
        low=max(0.0, float(ndtri(lows[0]) - ndtri(highs[1]))),
        high=high,
    )


def mu_beside(pure: float, true_positives: float, false_positives: float) -> float:
    """The least μ with which a test can be so good, beside a pure loss of ``pure``.

    A pure loss is no worse than a coin that falls for the right side with odds of e^ε to 1. Of that coin and of one
    normal number, whose mean is μ with the canary and 0 without it, the best test says "present" where the number
    exceeds a threshold t, which is t₊ if the coin says so too and else t₋ = t₊ + 2ε/μ. With q = e^ε/(1 + e^ε) it is
    right with qΦ(μ − t₊) + (1 − q)Φ(μ − t₋), and wrong with (1 − q)Φ(−t₊) + qΦ(−t₋).

    >>> mu_beside(1.0, 0.73, 0.27)  # the coin alone does that
    0.0
    >>> round(mu_beside(1e-9, 0.6915, 0.3085), 2)
    1.0
    """
    right = 1 / (1 + math.exp(-pure))

    def best(mu: float) -> float:
        apart = 2 * pure / mu

        def wrong(threshold: float) -> float:
            return float((1 - right) * ndtr(-threshold) + right * ndtr(-threshold - apart))

        threshold = brentq(lambda threshold: wrong(threshold) - false_positives, -apart - 40.0, 40.0) - ROOT
        return float(right * ndtr(mu - threshold) + (1 - right) * ndtr(mu - threshold - apart))

    least, most = 1e-3, 80.0  # below a thousandth of a deviation nothing is shown
    if best(least) >= true_positives:
        return 0.0
    if best(most) <= true_positives:
        return most
    return float(brentq(lambda mu: best(mu) - true_positives, least, most)) - ROOT


def best_cut(absent: AnyArray, present: AnyArray, bound: Bound) -> tuple[Cut, float]:
    """The cut with the greatest bound on these scores, and that bound. To be judged on other scores than these."""
    pooled = np.sort(np.concatenate([absent, present]))
    # Quantiles; the extremes one by one, since a leak may show in few runs; and where the widest gaps end.
    places = np.unique(np.linspace(0, len(pooled) - 1, CANDIDATES).astype(np.int64))
    ends = min(EXTREMES, len(pooled))
    gaps = np.argsort(-np.diff(pooled), kind="stable")[:EXTREMES] + 1
    places = np.union1d(np.union1d(places, gaps), np.r_[:ends, len(pooled) - ends : len(pooled)])
    thresholds = np.unique(pooled[places])
    below_absent = np.searchsorted(np.sort(absent), thresholds, side="left")
    below_present = np.searchsorted(np.sort(present), thresholds, side="left")
    best: tuple[Cut, float] | None = None
    for above in (True, False):
        hits_absent = len(absent) - below_absent if above else below_absent
        hits_present = len(present) - below_present if above else below_present
        for_present = hits_present * len(absent) >= hits_absent * len(present)  # which side has more of them
        values = bound(
            np.where(for_present, hits_present, hits_absent),
            np.where(for_present, len(present), len(absent)),
            np.where(for_present, hits_absent, hits_present),
            np.where(for_present, len(absent), len(present)),
        )
        gap = np.abs(hits_present / len(present) - hits_absent / len(absent))
        place = int(np.argmax(values + 1e-6 * gap))  # where nothing is shown yet, at least what looks best
        if best is None or values[place] > best[1]:
            best = Cut(float(thresholds[place]), above, bool(for_present[place])), float(values[place])
    assert best is not None
    return best


def apply_bound(cut: Cut, absent: AnyArray, present: AnyArray, bound: Bound) -> float:
    """The bound that a cut gives on fresh scores."""
    many, few = cut.many_and_few(absent, present)
    return float(bound(cut.hits(many), len(many), cut.hits(few), len(few)))


def greatest_bound(runs: int, bound: Bound) -> float:
    """What an attack that is always right would show in so many runs."""
    return float(bound(runs, runs, 0, runs))


def guessing_probability(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most how likely so many right guesses are if the mechanism is (ε, δ)-private; see the top of this file.

    >>> guessing_probability(10, 10, 10, 0.0, 0.0) == 2.0**-10
    True
    """
    p = 1 / (1 + math.exp(-epsilon))
    tail = 1.0 if right == 0 else float(bdtrc(right - 1, guesses, p))
    return min(1.0, tail + canaries * delta)


def guessing_bound(right: int, guesses: int, canaries: int, delta: float, risk: float) -> float:
    """The greatest epsilon that so many right guesses refute, wrong with at most ``risk``; 0 where none is refuted.

    >>> round(guessing_bound(100, 100, 100, 0.0, 0.05), 2)
    3.49
    """

    def excess(epsilon: float) -> float:
        return guessing_probability(right, guesses, canaries, epsilon, delta) - risk

    if excess(0.0) > 0:
        return 0.0
    return max(0.0, float(brentq(excess, 0.0, 64.0)) - ROOT)
