"""Noise by length has the law it is said to have.

Seeded streams: what passes once always passes. Thresholds are such that a correct sampler with another seed fails
with odds below one in a billion, and a scale that is 30% off is rejected at 1e-20.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InputError
from discreet.privacy import noise_ball
from discreet.privacy.noise_ball import add_ball, draw_ball, draw_balls
from discreet.privacy.randomness import Randomness

FALSE_ALARM = 1e-9


def p_value(draws, law, scale):
    """Chi-square of integers against ``law(support)``, over cells that expect 20 draws."""
    reach = int(60 * scale) + 3
    cell = np.floor_divide(np.arange(-reach, reach + 1), max(1, int(scale / 4)))
    odds = law(np.arange(-reach, reach + 1).astype(float))
    expected = np.bincount(cell - cell[0], weights=odds / odds.sum()) * len(draws)
    places = np.floor_divide(draws[np.abs(draws) <= reach], max(1, int(scale / 4))) - cell[0]
    observed = np.bincount(places, minlength=len(expected))
    large = expected >= 20
    observed = np.append(observed[large], len(draws) - observed[large].sum())
    expected = np.append(expected[large], max(len(draws) - expected[large].sum(), 1e-9))
    return stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), df=len(expected) - 1)


def rounded_laplace(scale):
    return lambda x: stats.laplace.cdf(x + 0.5, scale=scale) - stats.laplace.cdf(x - 0.5, scale=scale)


@pytest.mark.parametrize("scale", [0.8, 3.0])
def test_in_one_dimension_it_is_the_rounded_laplace_law(scale):
    """Small scales, so that the lattice that is finer by an odd factor is used every time."""
    randomness = Randomness(seed=1)
    draws = np.array([draw_ball(scale, 1, randomness)[0] for _ in range(6_000)])
    assert p_value(draws, rounded_laplace(scale), scale) > FALSE_ALARM
    for off in (0.7, 1.3):
        assert p_value(draws, rounded_laplace(off * scale), scale) < 1e-20


@pytest.mark.parametrize("dimensions", [2, 3, 8])
def test_length_is_gamma_and_direction_uniform(dimensions):
    scale, randomness = 2.0**28.4, Randomness(seed=2)
    draws = np.array([draw_ball(scale, dimensions, randomness) for _ in range(1_500)]) / scale
    lengths = np.linalg.norm(draws, axis=1)
    assert stats.kstest(lengths, stats.gamma(dimensions).cdf).pvalue > FALSE_ALARM
    for off in (0.7, 1.3):
        assert stats.kstest(off * lengths, stats.gamma(dimensions).cdf).pvalue < 1e-20
    # The square of one coordinate of a uniform direction is Beta(1/2, (d − 1)/2), whichever coordinate it is.
    for shares in (draws / lengths[:, None]).T ** 2:
        assert stats.kstest(shares, stats.beta(0.5, (dimensions - 1) / 2).cdf).pvalue > FALSE_ALARM
    assert stats.binomtest(int((draws > 0).sum()), draws.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize("dimensions", [1, 3, 50])
def test_many_vectors_at_once_have_the_same_law(dimensions):
    draws = draw_balls(80.0, 3_000, dimensions, Randomness(seed=7)) / 80
    lengths = np.linalg.norm(draws, axis=1)
    assert stats.kstest(lengths, stats.gamma(dimensions).cdf).pvalue > FALSE_ALARM
    for off in (0.7, 1.3):
        assert stats.kstest(off * lengths, stats.gamma(dimensions).cdf).pvalue < 1e-20
    assert stats.binomtest(int((draws > 0).sum()), draws.size).pvalue > FALSE_ALARM
    if dimensions > 1:
        shares = (draws[:, 0] / lengths) ** 2
        assert stats.kstest(shares, stats.beta(0.5, (dimensions - 1) / 2).cdf).pvalue > FALSE_ALARM
        spread = np.cov((draws / lengths[:, None]).T) * dimensions  # of a uniform direction: the identity over d
        assert np.abs(spread - np.eye(dimensions)).max() < 6.5 * math.sqrt(2 / 3_000)
    with pytest.raises(InputError, match="scale that is positive"):
        draw_balls(0.0, 3, dimensions, Randomness())


def test_many_dimensions_have_the_long_noise_they_should():
    """In 20,000 dimensions the length is 20,000 scales, give or take 141."""
    length = np.linalg.norm(draw_ball(2.0**20, 20_000, Randomness(seed=3)) / 2.0**20)
    assert abs(length - 20_000) < 6.2 * math.sqrt(20_000)


def test_exponential_numbers_have_their_law_and_all_their_digits():
    draws = noise_ball._exponentials(100_000, Randomness(seed=4))
    numbers = np.array([draw / 2**noise_ball._BITS for draw in draws])
    assert stats.kstest(numbers, stats.expon.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(1.3 * numbers, stats.expon.cdf).pvalue < 1e-20
    for shift in (0, 20, 1000, 1979, 1985, 2030, 2044):  # far below the mean every digit is as good as uniform
        digits = np.array([draw >> shift & 63 for draw in draws])
        assert stats.chisquare(np.bincount(digits, minlength=64)).pvalue > FALSE_ALARM


def test_squared_cosine_of_a_uniform_angle():
    randomness = Randomness(seed=5)
    draws = [float(noise_ball._squared_cosine(randomness)) for _ in range(5_000)]
    assert stats.kstest(draws, stats.beta(0.5, 0.5).cdf).pvalue > FALSE_ALARM


def test_rounding_twice_by_an_odd_factor_is_rounding_once():
    for factor in (1, 3, 7, 25):
        numbers = [Decimal(n) / 1009 for n in range(-3000, 3001)]
        for number in numbers:
            fine = int((number * factor).to_integral_value())
            assert (fine + (factor - 1) // 2) // factor == int(number.to_integral_value())


def test_noisy_vectors_lie_on_the_grid():
    noisy = add_ball(np.linspace(0, 1, 6).reshape(2, 3), 0.3, 2.0**-30, Randomness())
    assert noisy.shape == (2, 3)
    np.testing.assert_array_equal(noisy * 2.0**30, np.rint(noisy * 2.0**30))


@pytest.mark.parametrize(("scale", "dimensions"), [(0.0, 2), (math.nan, 2), (2.0**45, 2), (1.0, 0)])
def test_impossible_noise_is_refused(scale, dimensions):
    with pytest.raises(InputError, match="noise"):
        draw_ball(scale, dimensions, Randomness())
