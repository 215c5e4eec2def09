"""From scores of attacks to a verdict: what is chosen on some runs is judged on others."""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.audit import bounds
from discreet.audit.learning import Sides
from discreet.audit.results import More
from discreet.errors import InputError
from discreet.privacy.spend import Spend
from discreet.types import Doubles

LIKELIHOOD = "likelihood of the noisy sums"
EVEN_ODDS = bounds.Cut(0.0, above=True, for_present=True)
CAUTION = 0.02
"""Choices are made by bounds that are wrong this much less often: of many candidates one is always lucky."""
NEARLY_AS_GOOD = 1.5
"""A learned attack is judged instead of the likelihood only if it was better by this factor when it was chosen."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which attack was judged, where it cut (for μ, where that was measured), and the bounds that follow."""

    attack: str
    cut: bounds.Cut
    epsilon: float
    mu: bounds.Interval | None
    absent: Doubles
    present: Doubles


def judge(
    scores: Mapping[str, Sides],
    chosen_on: int,
    delta: float,
    confidence: float,
    ratios: Sides | None = None,
    *,
    pure: float = 0.0,
) -> Verdict:
    """Choose an attack and its threshold on the first scores of each side, and bound epsilon by the others.

    For Gaussian noise give the log-likelihood ``ratios`` of all runs: half of the risk then goes to bounds on μ, in two
    equal parts. One is for the likelihood with the threshold 0, for which nothing was chosen, so that all runs count;
    it is reported unless a learned attack was better, which is judged with the other part on the runs that are left.
    Where other noise with a ``pure`` loss is mixed in, an attack tells of that too: μ is then what is needed beside it,
    and the ratios, which are of the Gaussian looks alone, are judged as well. Ratios that are all 0 were not looked at.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> noise = rng.laplace(size=(2, 4000))  # the scores are the sums themselves, which the canary moves by 1
    >>> verdict = judge({"sum": (noise[0], noise[1] + 1)}, 2000, 0.0, 0.95)
    >>> 0.8 < verdict.epsilon < 1
    True
    """
    risk = (1 - confidence) / (1 if ratios is None else 2)
    epsilons, mus = bounds.epsilon_bound(delta, CAUTION * risk), bounds.mu_bound(CAUTION * risk)
    attack, greatest = "", -1.0
    for name, (absent, present) in scores.items():
        _, found = bounds.best_cut(
            absent[:chosen_on], present[:chosen_on], epsilons if ratios is None or pure > 0 else mus
        )
        if not attack or found > greatest * NEARLY_AS_GOOD:
            attack, greatest = name, found
    absent, present = scores[attack]
    before, after = (absent[:chosen_on], present[:chosen_on]), (absent[chosen_on:], present[chosen_on:])
    cut, _ = bounds.best_cut(*before, epsilons)
    middle, mu = cut, None
    if ratios is not None:
        if any(side.any() for side in ratios) and (attack == LIKELIHOOD or pure > 0):
            middle, mu = EVEN_ODDS, _mu(EVEN_ODDS, ratios, risk / 2)
        if attack != LIKELIHOOD:
            learned = bounds.best_cut(*before, mus)[0]
            found_mu = _mu(learned, after, risk / 2, pure)
            if mu is None or found_mu.low > mu.low:
                middle, mu = learned, found_mu
    return Verdict(attack, middle, bounds.apply_bound(cut, *after, bounds.epsilon_bound(delta, risk)), mu, *after)


def _mu(cut: bounds.Cut, scores: Sides, risk: float, pure: float = 0.0) -> bounds.Interval:
    many, few = cut.many_and_few(*scores)
    return bounds.mu_interval(cut.hits(many), cut.hits(few), len(many), risk, pure)


def check_enough_runs(runs: int, confidence: float, delta: float, epsilon: float, mu: float | None) -> None:
    """Raise where even an attack that is always right could not refute what is promised: an audit must be able to fail.

    >>> check_enough_runs(100, 0.95, 0.0, 5.0, None)
    Traceback (most recent call last):
    discreet.errors.InputError: with 100 runs on each side an audit can show an epsilon of 2.57 at most, \
and 5 is to be tested: run at least 1103
    """
    name, promised, bound = _tested(confidence, delta, epsilon, mu)
    shown = bounds.greatest_bound(_judged(runs), bound)
    if shown <= promised:
        raise InputError(
            f"with {runs} runs on each side an audit can show {'an' if name == 'epsilon' else 'a'} {name} of "
            f"{shown:.3g} at most, and {promised:.4g} is to be tested: run at least "
            f"{fewest_runs(confidence, delta, epsilon, mu)}"
        )


def fewest_runs(confidence: float, delta: float, epsilon: float, mu: float | None) -> int:
    """From how many runs on each side on an attack that is always right would refute what is promised."""
    name, promised, bound = _tested(confidence, delta, epsilon, mu)
    most = 1
    while bounds.greatest_bound(most, bound) <= promised:
        most *= 2
        if most > 2**40:
            raise InputError(f"no number of runs can refute {name} {promised:.4g} at delta {delta:g}")
    judged = bisect_left(range(most), True, lo=1, key=lambda runs: bounds.greatest_bound(runs, bound) > promised)
    return 2 * judged + 3


def _judged(runs: int) -> int:
    """What is left of the runs after a quarter to learn on, and a quarter to choose on."""
    return runs - 2 * (runs // 4)


def _tested(confidence: float, delta: float, epsilon: float, mu: float | None) -> tuple[str, float, bounds.Bound]:
    """What is tested, how much of it is promised, and the lower end of the interval that :func:`judge` gives."""
    if mu is None:
        return "epsilon", epsilon, bounds.epsilon_bound(delta, 1 - confidence)
    return "mu", mu, bounds.mu_bound((1 - confidence) / 8)


def more_runs(verdict: Verdict, runs: int, seconds: float, delta: float, confidence: float) -> More:
    """What four times as many runs, which take so long, would show if the attack were right as often as it was.

    Intervals would be half as wide.
    """
    if verdict.mu is not None:
        low = max(0.0, verdict.mu.estimate - (verdict.mu.estimate - verdict.mu.low) / 2)
        return More(4 * runs, seconds, "mu", low)
    many, few = verdict.cut.many_and_few(verdict.absent, verdict.present)
    bound = bounds.epsilon_bound(delta, 1 - confidence)
    shown = bound(4 * verdict.cut.hits(many), 4 * len(many), 4 * verdict.cut.hits(few), 4 * len(few))
    return More(4 * runs, seconds, "epsilon", float(shown))


def epsilon_of_mu(mu: float, delta: float) -> float | None:
    """The epsilon at ``delta`` of Gaussian noise with this μ; None where delta is 0, and no epsilon would do."""
    from discreet.privacy.accounting import epsilon_of

    if delta == 0 or not math.isfinite(mu):
        return None
    if mu <= 0:
        return 0.0
    return epsilon_of([Spend(what="mu", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)], delta)
