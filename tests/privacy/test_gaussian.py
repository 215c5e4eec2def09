"""Gaussian noise in closed form: against dp-accounting, against many digits, and rounded to the safe side."""

import math

import dp_accounting
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.gaussian import delta_of_mu, epsilon_of_mu, log_delta, mu_of, mu_of_pure

DELTAS = [1e-15, 1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 0.05]


@pytest.mark.parametrize("delta", DELTAS)
def test_agrees_with_the_library(delta):
    for exponent in range(-8, 9):
        epsilon = 10 ** (exponent / 4)
        sigma = dp_accounting.get_sigma_gaussian(epsilon, delta)
        assert 1 / mu_of(epsilon, delta) == pytest.approx(sigma, rel=1e-6)
        assert epsilon_of_mu(1 / sigma, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-9)
        assert delta_of_mu(1 / sigma, epsilon) == pytest.approx(delta, rel=1e-4)
        mu = 10 ** (exponent / 8)
        assert epsilon_of_mu(mu, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6)


@given(epsilon=st.floats(-8, 2.9).map(lambda x: 10**x), delta=st.floats(-300, -0.5).map(lambda x: 10**x))
def test_never_on_the_unsafe_side_and_hardly_on_the_other(epsilon, delta):
    """With sixty digits, for deltas of which no double could hold the square."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):

        def true(epsilon, mu):
            epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
            above = mpmath.ncdf(mu / 2 - epsilon / mu)
            return mpmath.log(above - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu))

        wanted, mu = mpmath.log(mpmath.mpf(delta)), mu_of(epsilon, delta)
        assert true(epsilon, mu) <= wanted <= true(epsilon, mu * (1 + 1e-9))
        reached = epsilon_of_mu(mu, delta)
        assert reached == 0 or true(reached, mu) <= wanted


@given(epsilon=st.floats(-9, 2.9).map(lambda x: 10**x))
def test_no_pure_mechanism_tells_more_than_its_gaussian_noise(epsilon):
    """At every epsilon: randomised response, the worst pure mechanism, has no larger delta; at 0 it has the same."""
    mu = mu_of_pure(epsilon)
    for part in (0.0, 0.1, 0.5, 0.9, 0.999):
        lower = part * epsilon
        # P − e^lower·Q of a yes, with odds e^ε : 1 and 1 : e^ε.
        worst = -math.expm1(lower - epsilon) / (1 + math.exp(-epsilon))
        assert worst <= math.exp(log_delta(lower, mu)) * (1 + 1e-6)
    assert math.tanh(epsilon / 2) == pytest.approx(math.exp(log_delta(0.0, mu)), rel=1e-6)


def test_the_ends():
    assert epsilon_of_mu(0.0, 1e-6) == delta_of_mu(0.0, 1.0) == 0.0
    assert epsilon_of_mu(1.0, 0.0) == epsilon_of_mu(math.inf, 1e-6) == math.inf
    assert mu_of(1.0, 0.0) == 0.0
    assert epsilon_of_mu(1e-7, 1e-6) == 0.0  # so little noise is needed that delta alone will do
    assert mu_of_pure(1000.0) == pytest.approx(math.sqrt(8000), rel=1e-12)


def test_the_slow_library_is_not_loaded():
    import subprocess
    import sys

    code = """
import sys, numpy as np, discreet as dc
from discreet.privacy.composition import composed_epsilon
ledger = dc.Ledger(2.0, 1e-6)
ledger.charge(dc.privacy.Spend(what="a", mechanism="laplace", norm="l1", sensitivity=1, scale=2.0))
ledger.charge(dc.privacy.Spend(what="b", mechanism="gaussian", norm="l2", sensitivity=1, scale=8.0))
ledger.spent, composed_epsilon(ledger.spends, 1e-6), ledger.cost(0.5)
assert "dp_accounting" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
