"""Gaussian noise for millions of cells: the right law, and only that one; the same whatever the threads."""

from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from discreet.populations import calibration
from discreet.privacy import slabs
from discreet.privacy.noise import add_gaussian
from discreet.privacy.randomness import Randomness

RISK = 1e-9  # of a false alarm in each test; seeds are fixed, so that none ever comes or goes


@pytest.mark.parametrize("sigma", [0.8, 3.0, 64.0, 100.5])
def test_small_numbers_have_the_law_of_the_discrete_gaussian(sigma):
    drawn = slabs.draw_from(sigma, 300_000, Randomness(seed=1), rounded=False)
    values = np.arange(-int(5 * sigma) - 1, int(5 * sigma) + 2)
    odds = np.exp(-(values**2) / (2 * sigma**2))
    odds /= np.exp(-(np.arange(-2000, 2001.0) ** 2) / (2 * sigma**2)).sum()
    seen = np.bincount(np.clip(drawn, values[0], values[-1]) - values[0], minlength=len(values))
    frequent = odds * len(drawn) >= 10
    found = stats.chisquare(seen[frequent], odds[frequent] / odds[frequent].sum() * seen[frequent].sum())
    assert found.pvalue > RISK


@pytest.mark.parametrize("sigma", [2.0**27, 1.37 * 2.0**30, 1.99 * 2.0**33])
def test_large_numbers_are_normal_and_a_wrong_scale_is_noticed(sigma):
    drawn = slabs.draw_from(sigma, 1_000_000, Randomness(seed=2)) / sigma
    assert stats.kstest(drawn, "norm").pvalue > RISK
    assert stats.kstest(drawn * 1.02, "norm").pvalue < RISK
    low = (slabs.draw_from(sigma, 200_000, Randomness(seed=3)) & 63).astype(np.int64)
    assert stats.chisquare(np.bincount(low, minlength=64)).pvalue > RISK


def test_doubtful_decisions_keep_the_law():
    """With so much doubt nearly every number that is not kept at once is decided with 100 digits."""
    drawn = slabs.draw_from(64.0, 50_000, Randomness(seed=4), rounded=False, doubt=0.5)
    assert stats.kstest(drawn + np.random.default_rng(1).uniform(-0.5, 0.5, len(drawn)), "norm", (0, 64)).pvalue > RISK


def test_what_is_kept_at_once_would_be_kept_by_exact_odds():
    bits, _, _, _, sure = slabs._tables(1.5 * 2.0**30)
    for slab in (0, 1, 100, 500, 2047):
        far = Decimal((slab + 1) << bits)
        exact = (-(far**2 - Decimal(slab << bits) ** 2) / (2 * Decimal(1.5 * 2.0**30) ** 2)).exp()
        assert Decimal(int(sure[slab])) / 2 ** (63 - bits) < exact


def test_it_is_repeatable_and_does_not_depend_on_threads(monkeypatch):
    values = np.linspace(-5, 5, 3 * slabs.PIECE + 17)
    one = slabs.add_many_gaussians(values, 1.0, 2.0**-30, Randomness(seed=5))
    monkeypatch.setattr(slabs, "MOST_THREADS", 1)
    np.testing.assert_array_equal(one, slabs.add_many_gaussians(values, 1.0, 2.0**-30, Randomness(seed=5)))
    noise = one - values
    assert abs(noise.std() - 1) < 6 / np.sqrt(2 * len(noise)) and abs(noise.mean()) < 6 / np.sqrt(len(noise))
    assert np.corrcoef(noise[: slabs.PIECE], noise[slabs.PIECE : 2 * slabs.PIECE])[0, 1] < 6 / np.sqrt(slabs.PIECE)
    on_grid = one / 2.0**-30
    np.testing.assert_array_equal(on_grid, np.rint(on_grid))


def test_what_lies_beyond_the_range_is_clipped_as_ever():
    values = np.full(slabs.PIECE, 1e30)
    many = slabs.add_many_gaussians(values, 1.0, 2.0**-30, Randomness(seed=1))
    few = add_gaussian(values[:2], 1.0, 2.0**-30, Randomness(seed=1))
    assert np.allclose(many, few[0], rtol=1e-6)


def test_streams_that_are_split_off_differ_and_stay_secret():
    stream = Randomness()
    assert stream.split().words(1)[0] != stream.split().words(1)[0]
    assert not stream.split().is_seeded and Randomness(seed=1).split().is_seeded


def test_only_steps_of_many_cells_are_drawn_so():
    assert calibration.MANY == 1 << 20
