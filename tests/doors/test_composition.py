"""Composition: spends chosen on the way, what a ledger without a plan promises, releases for another unit."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import discreet as dc
from discreet.errors import OverspentError
from discreet.privacy.accounting import epsilon_of, gaussian_noise_multiplier
from discreet.privacy.budget import Budget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend

EPSILON, DELTA = 1.0, 1e-6
STEPS = 40


def laplace(epsilon, what="pure"):
    return Spend(what=what, mechanism="laplace", norm="l1", sensitivity=1, scale=1 / epsilon)


def gaussian(mu):
    return Spend(what="gaussian", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)


def true_delta(mus, pures, cells=700):
    """The delta at EPSILON of whoever follows the best strategy, by dynamic programming.

    Gaussian noise brings μ to ``mus[0]``, ``mus[1]``, … step by step. After each step the attacker knows the privacy
    loss so far, L, and may end with randomised response of ``pures[i]``, the worst pure mechanism. The greatest P(S) −
    e^ε·Q(S) is the expectation under P of (1 − e^(ε − L))⁺ at the end. A step adds N(m/2, m) to L, m the growth of μ².
    """
    place = np.linspace(-3.0, 11.0, cells)  # L in units of the μ so far
    width = place[1] - place[0]
    around = np.concatenate([[place[0] - width], place, [place[-1] + width]])

    def won(loss):
        return np.maximum(0.0, -np.expm1(np.minimum(0.0, EPSILON - loss)))

    value = np.zeros(cells)
    for step in reversed(range(len(mus))):
        loss, pure = place * mus[step], pures[step]
        true = 1 / (1 + math.exp(-pure))
        now = np.maximum(won(loss), true * won(loss + pure) + (1 - true) * won(loss - pure))
        if step + 1 < len(mus):
            growth = mus[step + 1] ** 2 - mus[step] ** 2
            mean, deviation = (loss + growth / 2) / mus[step + 1], math.sqrt(growth) / mus[step + 1]
            x = (around - mean[:, None]) / deviation
            integral = x * ndtr(x) + np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            hats = np.diff(integral, n=2) * deviation / width  # exact between cells if the value is linear there
            now = np.maximum(now, np.maximum(hats, 0.0) @ value)
        value = now
    first = place - mus[0] / 2
    return float((np.exp(-first * first / 2) / math.sqrt(2 * math.pi) * width) @ value)


def old_rule(mu):
    """How much pure loss was allowed beside Gaussian noise: pure + ε(μ, δ) ≤ ε, whatever was decided when."""
    return max(1e-9, EPSILON - epsilon_of([gaussian(mu)], DELTA))


def allowed(mu):
    """How much pure loss a ledger allows after Gaussian noise, to a millionth."""
    low, high = 1e-9, EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        ledger = Ledger(EPSILON, DELTA)
        ledger.charge(gaussian(mu))
        try:
            ledger.charge(laplace(middle))
            low = middle
        except OverspentError:
            high = middle
    return low


def test_noise_is_chosen_by_earlier_answers(door):
    """40 Gaussian steps of growing μ; at the luckiest moment all that is left goes into one pure step."""
    whole = 1 / gaussian_noise_multiplier(EPSILON, 0.999 * DELTA)
    mus = whole * np.geomspace(0.01, 0.98, STEPS)
    before = true_delta(mus, [old_rule(mu) for mu in mus])
    now = true_delta(mus, [allowed(mu) for mu in mus])
    assert before > 10 * DELTA
    assert now <= DELTA
    # The programme itself is right: without a pure step it is the delta of the Gaussian noise.
    assert true_delta(mus, [1e-12] * STEPS) == pytest.approx(math.exp(_log_delta(mus[-1])), rel=0.01)
    door(
        f"epsilon {EPSILON:g}, delta {DELTA:g} for Gaussian and pure steps chosen on the way",
        f"delta {before:.2g} after {STEPS} steps",
        f"a filter: the same attack reaches delta {now:.2g}",
    )


def _log_delta(mu):
    from discreet.privacy.gaussian import log_delta

    return log_delta(EPSILON, mu)


def test_whether_to_look_again_is_decided_by_the_answer(door):
    """Randomised response at 0.1, and after a yes another one at 0.9: the loss of all that, by listing it."""
    small, large = 0.1, 0.9

    def answers(truth):
        first, second = (1 / (1 + math.exp(-epsilon)) for epsilon in (small, large))
        yes, more = (first, second) if truth else (1 - first, 1 - second)
        return np.array([1 - yes, yes * (1 - more), yes * more])

    true = float(np.abs(np.log(answers(True) / answers(False))).max())
    ledger = Ledger(epsilon=1.0)
    ledger.charge(laplace(small))  # and the answer was no
    proven = Guarantee.of_ledger(ledger, protects_from=("the public",)).proven
    assert proven is not None and proven.epsilon >= true == pytest.approx(small + large)
    planned = Ledger(epsilon=1.0)
    planned.plan(laplace(small))
    planned.charge(laplace(small))
    assert Guarantee.of_ledger(planned, protects_from=("the public",)).proven == dc.privacy.Loss(small)
    door(
        f"epsilon {ledger.spent:g} where the first answer was no",
        f"epsilon {true:g} for the procedure that looks again after a yes",
        f"epsilon {proven.epsilon:g}, the limit; {small:g} only where it was planned",
    )


def test_a_release_for_users_costs_ratings_too(door, tmp_path):
    """How many users like which item best, with noise for users: removing one rating can move two of the counts."""
    epsilon, reach = 1.0, np.arange(-60, 61)

    def law(counts):
        ratio = math.exp(-epsilon)
        odds = [(1 - ratio) / (1 + ratio) * ratio ** np.abs(reach - count) for count in counts]
        return np.outer(*odds)

    # One user gave A five stars and B four: A is the favourite, and B is once the rating of A is gone.
    true = float(np.abs(np.log(law((1, 0)) / law((0, 1)))).max())
    gone = float(np.abs(np.log(law((1, 0)) / law((0, 0)))).max())
    assert gone == pytest.approx(epsilon) and true == pytest.approx(2 * epsilon)
    budget = Budget(tmp_path / "budget.sqlite")
    for unit in (dc.User(), dc.Rating()):
        plan = Ledger(epsilon, unit=unit)
        plan.charge(laplace(epsilon))
        budget.reserve("data", plan, "it")
    parts = {part.unit: part.spent for part in budget.account("data").parts}
    assert parts[dc.Rating()] >= true + epsilon - 1e-9
    assert math.isinf(parts[dc.User()])  # nothing bounds what many ratings of one user tell
    door(
        f"epsilon {epsilon:g} for one rating, beside {epsilon:g} for users",
        f"epsilon {true + epsilon:g}: the release for users alone costs a rating {true:g}",
        f"epsilon {parts[dc.Rating()]:g} for one rating, and no bound for a user",
    )
