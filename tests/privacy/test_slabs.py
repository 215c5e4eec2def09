"""Gaussian noise for millions of cells: the right law, and only that one; the same whatever the threads."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from discreet.kernels.chacha import chacha_block
from discreet.populations import calibration
from discreet.privacy import slabs
from discreet.privacy.noise import add_gaussian
from discreet.privacy.randomness import Randomness

torch = pytest.importorskip("torch")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
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
    """With so much doubt nearly every number that is not kept at once is decided exactly."""
    drawn = slabs.draw_from(64.0, 50_000, Randomness(seed=4), rounded=False, doubt=0.5)
    assert stats.kstest(drawn + np.random.default_rng(1).uniform(-0.5, 0.5, len(drawn)), "norm", (0, 64)).pvalue > RISK


def test_what_is_kept_at_once_would_be_kept_by_exact_odds():
    bits, _, _, sure = slabs._tables(1.5 * 2.0**30)
    for slab in (0, 1, 100, 500, 2047):
        far = Decimal((slab + 1) << bits)
        exact = (-(far**2 - Decimal(slab << bits) ** 2) / (2 * Decimal(1.5 * 2.0**30) ** 2)).exp()
        assert Decimal(int(sure[slab])) / 2 ** (63 - bits) < exact


@pytest.mark.parametrize("sigma", [0.8, 1.5 * 2.0**30, 1.99 * 2.0**47])
def test_thresholds_are_those_of_exact_odds(sigma):
    bits, high, _, _ = slabs._tables(sigma)
    with localcontext() as context:
        context.prec = 300
        odds = [int((-(Decimal(j << bits) ** 2) / (2 * Decimal(sigma) ** 2)).exp() * 2**900) for j in range(6000)]
    for slab in (0, 1, 77, 500, 2047):
        assert int(high[slab]) == min((sum(odds[: slab + 1]) << 64) // sum(odds), 2**64 - 1)
    for slab in (0, 77, 1300):  # of which the last has odds of 2**-140 and less
        exact = (sum(odds[: slab + 1]) << 512) // sum(odds)
        words = [exact >> shift & (2**64 - 1) for shift in range(448, -64, -64)]
        if words[0] != int(high[slab]) or (slab == 1300 and bits == 0):
            continue
        for same, off in ((3, -1), (3, 1), (6, -1), (6, 1)):
            more = iter([*words[1:same], words[same] + off, *words[same + 1 :], 0])
            assert slabs._tied_slab(words[0], sigma, bits, more) == (slab if off < 0 else slab + 1)


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


def test_sums_of_many_cells_are_drawn_so():
    assert calibration.MANY == 1 << 20


def test_blocks_are_those_of_the_library():
    """Our own ChaCha20, for single blocks, beside the library's."""
    key = np.arange(32, dtype=np.uint8).tobytes()
    law = slabs._Law(key, 2.0**30, True, slabs.DOUBT)
    block = np.empty(16, dtype=np.uint32)
    for counter, attempt, purpose in ((0, 0, 0), (7, 3, 1), (2**32 - 1, 5, 0)):
        chacha_block(law.key_words, counter, attempt, purpose, block)
        np.testing.assert_array_equal(block.view(np.uint64), law._words(counter, attempt, purpose, 8))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sigma", [2.0**26, 1.3 * 2.0**30, 2.0**44])
def test_torch_makes_the_same_integers(device, sigma):
    count = 200_003
    here = slabs.NoiseOnDevice(sigma, 1.0, count, Randomness(seed=6), device).integers()
    np.testing.assert_array_equal(here.cpu().numpy(), slabs.draw_from(sigma, count, Randomness(seed=6)))


@pytest.mark.parametrize("device", DEVICES)
def test_what_doubles_cannot_decide_is_decided_the_same_everywhere(device):
    """With more doubt more numbers are decided with 100 digits, and all of them come out as before."""
    wanted = slabs.draw_from(2.0**30, 20_000, Randomness(seed=7))
    noise = slabs.NoiseOnDevice(2.0**30, 1.0, 20_000, Randomness(seed=7), device, doubt=2.0**-8)
    assert len(noise._drawn.doubtful()) > 50
    np.testing.assert_array_equal(noise.integers().cpu().numpy(), wanted)
    np.testing.assert_array_equal(slabs.draw_from(2.0**30, 20_000, Randomness(seed=7), doubt=2.0**-8), wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_sums_are_rounded_to_the_lattice_alike(device):
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0, 1e3, 5000) * 10.0 ** rng.integers(-9, 20, 5000), np.arange(99) * 2.0**-31])
    grid = 2.0**-30
    here = slabs.NoiseOnDevice(1.0, grid, len(values), Randomness(seed=8), device).add_to(
        torch.tensor(values, device=device)
    )
    np.testing.assert_array_equal(here.cpu().numpy(), slabs.add_many_gaussians(values, 1.0, grid, Randomness(seed=8)))


def test_each_draw_has_a_key_of_its_own():
    stream = Randomness(seed=1)
    one, other = (slabs.draw_from(2.0**30, 1000, stream) for _ in range(2))
    assert not (one == other).any()
    assert (slabs.draw_from(2.0**30, 10, Randomness()) != slabs.draw_from(2.0**30, 10, Randomness())).any()


def test_the_first_numbers_do_not_depend_on_how_many_follow():
    few, many = (slabs.draw_from(2.0**30, count, Randomness(seed=2)) for count in (10, 3 * slabs.PIECE))
    np.testing.assert_array_equal(few, many[:10])
