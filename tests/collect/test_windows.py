"""The law of the windows: what is drawn, what it loses, what its mean is."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.collect.windows import INSIDE, Windows
from discreet.errors import InputError
from discreet.privacy.randomness import Randomness

sizes = st.integers(1, 9)
laws = st.builds(Windows.of_epsilon, sizes, sizes, st.floats(0.01, 12))


def odds(law: Windows, secret: int) -> list[Fraction]:
    """P(output | secret) from the definition, exactly."""
    weights = [law.inside if secret <= y < secret + law.width else law.outside for y in range(law.size)]
    return [Fraction(weight, sum(weights)) for weight in weights]


@given(laws)
def test_odds_are_those_of_the_definition(law):
    for secret in range(law.inputs):
        exact = odds(law, secret)
        assert sum(exact) == 1
        np.testing.assert_allclose(law.odds(np.arange(law.size), secret), [float(one) for one in exact], rtol=1e-14)


@given(sizes, sizes, st.floats(1e-6, 25))
def test_no_pair_of_secrets_loses_more_than_epsilon(inputs, width, epsilon):
    law = Windows.of_epsilon(inputs, width, epsilon)
    table = [odds(law, secret) for secret in range(inputs)]
    worst = max(one[y] / other[y] for one in table for other in table for y in range(law.size))
    with localcontext() as context:
        context.prec = 60
        allowed = Decimal(epsilon).exp()
    assert worst <= Fraction(allowed)
    if inputs > 1:
        assert math.log(worst) == pytest.approx(law.epsilon, abs=1e-12)
        assert law.epsilon >= epsilon - 2 * math.exp(epsilon) / INSIDE


@given(laws)
def test_the_estimate_is_unbiased_and_its_variance_is_known(law):
    outputs = np.arange(law.size)
    for secret in range(law.inputs):
        weights = law.odds(outputs, secret)
        estimates = (outputs - law.offset) / law.slope
        assert weights @ estimates == pytest.approx(secret, abs=1e-6 / law.slope)
        assert law.variance(secret) == pytest.approx(weights @ (estimates - secret) ** 2, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("inputs", "width"), [(5, 1), (2, 1), (6, 4), (3, 9)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_draws_follow_the_law_and_no_other(inputs, width, epsilon):
    law = Windows.of_epsilon(inputs, width, epsilon)
    outputs, count = np.arange(law.size), 200_000
    for secret in (0, inputs - 1):
        drawn = np.bincount(law.draw(np.full(count, secret), Randomness(seed=secret)), minlength=law.size)
        assert len(drawn) == law.size
        assert chisquare(drawn, count * law.odds(outputs, secret)).pvalue > 1e-4
        for wrong in (0.7 * epsilon, 1.3 * epsilon):
            expected = count * Windows.of_epsilon(inputs, width, wrong).odds(outputs, secret)
            assert chisquare(drawn, expected).pvalue < 1e-20


def test_uniform_windows_and_nothing_else():
    law = Windows(inputs=3, width=7)
    assert law.epsilon == math.inf
    drawn = law.draw(np.full(70_000, 2), Randomness(seed=1))
    assert (drawn.min(), drawn.max()) == (2, 8)
    assert chisquare(np.bincount(drawn)[2:]).pvalue > 1e-4
    assert chisquare(np.bincount(drawn)[2:], np.array([1.3, 1, 1, 1, 1, 1, 0.7]) * 10_000).pvalue < 1e-20


def test_one_output_needs_no_randomness():
    assert Windows(inputs=4, width=1).draw(np.arange(4), Randomness()).tolist() == [0, 1, 2, 3]


def test_draws_differ_and_a_seed_repeats_them():
    law = Windows.of_epsilon(2**16, 2**16, 1.0)
    secrets = np.zeros(100, dtype=np.int64)
    assert law.draw(secrets, Randomness()).tolist() != law.draw(secrets, Randomness()).tolist()
    assert law.draw(secrets, Randomness(seed=1)).tolist() == law.draw(secrets, Randomness(seed=1)).tolist()
    assert len(law.draw(secrets[:0], Randomness())) == 0


def test_what_makes_no_law_is_refused():
    with pytest.raises(InputError, match="too small to leave anything"):
        Windows.of_epsilon(5, 1, 1e-13)
    with pytest.raises(InputError, match="too wide"):
        Windows(inputs=2**61, width=2**62)
    with pytest.raises(InputError, match="at least one input"):
        Windows(inputs=0, width=1)
    with pytest.raises(InputError, match="weigh more"):
        Windows(inputs=2, width=1, inside=1, outside=1)
