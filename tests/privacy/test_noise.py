"""The samplers have the law they are said to have.

Statistical tests draw from seeded streams, so they cannot fail by chance once they pass; the thresholds
are set so that a correct sampler with another seed fails with odds below one in a billion, and a scale
that is 30% off is rejected with odds that are larger still.
"""

import copy
import math
import pickle
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InputError
from discreet.privacy import noise
from discreet.privacy.noise import draw_discrete_gaussian, draw_discrete_laplace
from discreet.privacy.randomness import Randomness

FALSE_ALARM = 1e-9
DRAWS = 200_000
LAWS = {
    "laplace": (draw_discrete_laplace, lambda x, scale: np.exp(-np.abs(x) / scale)),
    "gaussian": (draw_discrete_gaussian, lambda x, scale: np.exp(-(x**2) / (2 * scale**2))),
}
every_law = pytest.mark.parametrize("law", LAWS)


def p_value(draws, weight, scale):
    """Chi-square of integers against a law, over cells that expect at least 20 draws."""
    reach = int(60 * scale) + 3
    support = np.arange(-reach, reach + 1)
    probability = weight(support.astype(float), scale)
    probability /= probability.sum()
    width = max(1, int(scale / 4))
    cell = np.floor_divide(support, width)
    expected = np.bincount(cell - cell[0], weights=probability) * len(draws)
    inside = np.abs(draws) <= reach
    observed = np.bincount(np.floor_divide(draws[inside], width) - cell[0], minlength=len(expected))
    large = expected >= 20
    rest = np.array([len(draws) - observed[large].sum(), len(draws) - expected[large].sum()])
    observed, expected = np.append(observed[large], rest[0]), np.append(expected[large], max(rest[1], 1e-9))
    return stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), df=len(expected) - 1)


@every_law
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7, 60.0, 900.0])
def test_chi_square_accepts_the_law_and_rejects_a_scale_30_percent_off(law, scale):
    draw, weight = LAWS[law]
    draws = draw(scale, DRAWS, Randomness(seed=1))
    assert p_value(draws, weight, scale) > FALSE_ALARM
    for off in (0.7, 1.3):
        assert p_value(draws, weight, off * scale) < 1e-20


@every_law
@pytest.mark.parametrize("scale", [2.0**20, 2.0**28.5, 2.0**44])
def test_fine_lattices_have_the_continuous_law(law, scale):
    """On a fine lattice the steps cannot be seen: Kolmogorov-Smirnov against the continuous law."""
    draws = LAWS[law][0](scale, DRAWS, Randomness(seed=2)) / scale
    ideal = stats.laplace() if law == "laplace" else stats.norm()
    assert stats.kstest(draws, ideal.cdf).pvalue > FALSE_ALARM
    for off in (0.7, 1.3):
        assert stats.kstest(draws * off, ideal.cdf).pvalue < 1e-20


@every_law
def test_every_digit_of_a_fine_lattice_is_uniform_enough(law):
    """A table that is off in one digit would show in the low bits, which no coarse test sees."""
    draws = LAWS[law][0](2.0**36, DRAWS, Randomness(seed=3))
    for shift in (0, 6, 12, 18, 24):
        digits = (draws >> shift) & 63
        assert stats.chisquare(np.bincount(digits, minlength=64)).pvalue > FALSE_ALARM


@every_law
def test_tails_and_moments(law):
    scale = 50.0
    draws = LAWS[law][0](scale, 1_000_000, Randomness(seed=4))
    q = math.exp(-1 / scale)
    variance = 2 * q / (1 - q) ** 2 if law == "laplace" else scale**2
    assert abs(draws.mean()) < 6.2 * math.sqrt(variance / len(draws))
    assert draws.var() == pytest.approx(variance, rel=0.02)
    support = np.arange(-4000, 4001)
    probability = LAWS[law][1](support.astype(float), scale)
    probability /= probability.sum()
    for reach in (2, 3, 4):
        tail = probability[np.abs(support) > reach * scale].sum()
        seen = (np.abs(draws) > reach * scale).sum()
        assert stats.binomtest(int(seen), len(draws), tail).pvalue > FALSE_ALARM


def test_exact_decisions_give_the_same_law():
    """With ``doubt`` large nearly every decision takes the slow path."""
    draws = draw_discrete_gaussian(1.3, 20_000, Randomness(seed=5), doubt=0.5)
    weight = LAWS["gaussian"][1]
    assert p_value(draws, weight, 1.3) > FALSE_ALARM
    assert p_value(draws, weight, 1.3 * 1.3) < 1e-20


@pytest.fixture
def ninety_digits():
    with localcontext() as context:
        context.prec = 90
        yield


def threshold(scale, level, k):
    """P(digit ≤ k): of the last digit, which has no other above it, without a condition."""
    step = Decimal(4096) ** level / Decimal(scale)
    whole = 1 if 4096 * step > 80 else 1 - (-4096 * step).exp()
    return (1 - (-(k + 1) * step).exp()) / whole


@pytest.mark.usefixtures("ninety_digits")
@pytest.mark.parametrize("scale", [1e-3, 0.4, 46.0, 1000.0, 2.0**33, 2.0**45])
def test_digit_tables_against_exact_arithmetic(scale):
    levels = {1e-3: 1, 0.4: 1, 46.0: 1, 1000.0: 2, 2.0**33: 4, 2.0**45: 5}[scale]
    high, guide = noise.digit_tables(scale, 0, levels)
    for level in range(levels):
        for k in (0, 1, 17, 1000, 4094, 4095):
            assert high[level, k] == min(math.floor(threshold(scale, level, k) * 2**64), 2**64 - 1)
        assert (np.diff(high[level].astype(object)) >= 0).all()
        starts = np.arange(1 << 13, dtype=np.uint64) << np.uint64(51)
        first = guide[level].astype(int)
        assert (high[level][first] >= starts).all()
        assert all(k == 0 or high[level][k - 1] < start for k, start in zip(first, starts, strict=True))


@pytest.mark.parametrize("scale", [0.4, 46.0, 1000.0, 2.0**33])
def test_further_words_settle_ties_however_many_it_takes(scale):
    """Numbers that agree with a threshold in 64, 128 or 320 bits: the digit is known to the last one."""
    levels = {0.4: 1, 46.0: 1, 1000.0: 2, 2.0**33: 4}[scale]
    for level in range(levels):
        for k in (0, 3, 7):
            with localcontext() as context:
                context.prec = 300
                bits = int(threshold(scale, level, k) * 2**640)
            whole = [bits >> shift & (2**64 - 1) for shift in range(576, -64, -64)]
            for same in (1, 2, 5):
                for off in (-1, 1):
                    more = iter([*whole[1:same], (whole[same] + off) % 2**64, *whole[same + 1 :], 0])
                    words = np.full(levels, 0, dtype=np.uint64)
                    words[level] = whole[0]
                    drawn = noise.draw_digits(scale, 0, levels, words, more)
                    below = whole[same] + off < whole[same]
                    assert drawn.tolist() == [(k if below else k + 1) << (12 * level)]


@pytest.mark.parametrize("scale", [0.4, 46.0, 2.0**28.5])
def test_the_largest_numbers_come_with_their_odds(scale):
    """Where all of the first 1,000 bits are ones the number is beyond 693 scales; nothing is cut off."""
    levels = {0.4: 1, 46.0: 1, 2.0**28.5: 3}[scale]
    words = np.full(levels, 2**64 - 1, dtype=np.uint64)
    words[:-1] = 0
    drawn = noise.draw_digits(scale, 0, levels, words, iter([*[2**64 - 1] * 15, 2**63, *[0] * 20]))
    assert drawn[0] / scale == pytest.approx(1025 * math.log(2), abs=max(1, 1 / scale))


def test_odds_are_compared_to_the_last_bit():
    third = 2**1984 // 3
    words = [third >> shift & (2**64 - 1) for shift in range(1920, -64, -64)]
    odds = lambda: Decimal(1) / 3  # noqa: E731
    for same in (1, 2, 20):
        for off in (-1, 1):
            more = iter([*words[1:same], words[same] + off, *[0] * 3])
            assert noise.is_below(words[0], 64, odds, more) == (off < 0)


@pytest.mark.usefixtures("ninety_digits")
@pytest.mark.parametrize("x", [0, 1, 2**27, -5 * 2**26])
def test_rounded_gaussian_against_the_error_function(x):
    """The power series against the integral it stands for, and its nearness to 1 that the proof uses."""
    mpmath = pytest.importorskip("mpmath")
    sigma = 2.0**26 * 1.25
    with mpmath.workdps(120):
        to = mpmath.mpf(sigma) * mpmath.sqrt(2)
        mass = (mpmath.erf((abs(x) + 0.5) / to) - mpmath.erf((abs(x) - 0.5) / to)) / 2
        exact = mass * sigma * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mpmath.mpf(x) ** 2 / (2 * sigma**2))
        series = mpmath.mpf(str(noise.rounded_to_discrete(x, Decimal(sigma) ** 2)))
        assert abs(series - exact) < mpmath.mpf(10) ** -60
        assert abs(exact - 1) < 2.0**-45


@pytest.mark.parametrize("rounded", [False, True])
def test_odds_never_exceed_one_and_doubles_err_less_than_the_doubt(rounded):
    """The slow path and the fast path agree far better than the margin in which the slow one is asked."""
    sigma = 2.0**28.3
    scale = math.floor(sigma) + 1.0
    for deviations in np.linspace(-12, 12, 97):
        candidate = round(deviations * sigma)
        with localcontext() as context:
            context.prec = 100
            exact = noise._odds_of_keeping(candidate, sigma, scale, rounded) * 2**128
        distance = (abs(float(candidate)) - sigma * sigma / scale) / sigma
        fast = Decimal(math.exp(-0.5 * distance * distance) * 2.0**64) * 2**64
        assert exact < 2**128
        assert abs(fast / exact - 1) < Decimal(noise._DOUBT) / 8


def test_rounded_gaussian_needs_a_fine_lattice():
    with pytest.raises(InputError, match="at least 2"):
        noise.draw_rounded_gaussian(1000.0, 1, Randomness())


def test_neighbouring_laplace_outputs_have_the_right_odds():
    """The definition itself: no output is more than e^(1/t) times likelier when the value moves by one."""
    scale, draws = 2.0, 400_000
    here = Counter(draw_discrete_laplace(scale, draws, Randomness(seed=6)).tolist())
    there = Counter((1 + draw_discrete_laplace(scale, draws, Randomness(seed=7))).tolist())
    for output in range(-4, 6):
        ratio = math.log(here[output] / there[output])
        error = math.sqrt(1 / here[output] + 1 / there[output])
        assert abs(ratio) < 1 / scale + 6.2 * error


@given(scale=st.floats(1e-3, 1e6), values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
@settings(deadline=None, max_examples=25)
def test_noisy_values_lie_on_the_grid_whatever_the_input(scale, values):
    grid = noise.grid_of(scale)
    for add in (noise.add_laplace, noise.add_gaussian):
        noisy = add(np.array(values), scale, grid, Randomness())
        np.testing.assert_array_equal(noisy / grid, np.rint(noisy / grid))


def test_grid_is_a_power_of_two_and_fine():
    for scale in (1e-3, 1.0, 17.0):
        for cells in (1, 10_000, 3_000_000):
            grid = noise.grid_of(scale, cells)
            assert math.frexp(grid)[0] == 0.5
            assert cells * grid <= scale * 2.0**-17


def test_naive_laplace_is_distinguishable_and_ours_is_not():
    """The floating-point attack (Mironov, CCS 2012): which doubles can be reached tells the input.

    The textbook sampler b·sign·ln(u) over a 53-bit uniform u, added to 0 or to 1, reaches sets of doubles
    that hardly meet. An attacker who checks whether an output minus the suspected input is of the form
    b·ln(k/2**53) is right most of the time. Our outputs are multiples of the grid from either input.
    """
    rng = np.random.default_rng(8)

    def naive(value, count):
        uniform = rng.integers(1, 2**53, count) / 2.0**53
        return value + np.where(rng.random(count) < 0.5, -1, 1) * np.log(uniform)

    def reachable_from(value, outputs):
        distance = np.abs(outputs - value)
        guess = np.rint(np.exp(-distance) * 2.0**53)
        near = guess[:, None] + np.arange(-40, 41)
        images = np.abs(np.log(np.clip(near, 1, 2**53) / 2.0**53))
        # Either sign: the double that the sampler would have produced from some u.
        sign = np.sign(outputs - value)[:, None]
        return (value + sign * images == outputs[:, None]).any(axis=1)

    small = lambda outputs: outputs[(np.abs(outputs) > 0.9) & (np.abs(outputs - 1) < 2.5)]  # noqa: E731
    from_zero = small(naive(0.0, 20_000))
    from_one = small(naive(1.0, 20_000))
    accuracy = (reachable_from(0.0, from_zero).mean() + (~reachable_from(0.0, from_one)).mean()) / 2
    assert accuracy > 0.6

    grid = noise.grid_of(1.0)
    ours = [noise.add_laplace(np.full(20_000, value), 1.0, grid, Randomness(seed=9)) for value in (0.0, 1.0)]
    for outputs in ours:
        np.testing.assert_array_equal(outputs / grid, np.rint(outputs / grid))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**46])
@every_law
def test_impossible_scales_are_refused(law, scale):
    with pytest.raises(InputError, match="integer noise needs a scale"):
        LAWS[law][0](scale, 1, Randomness())


def test_values_beyond_the_lattice_are_clipped_to_a_public_range():
    """An error would come after the ledger was charged, and would tell something about the values."""
    grid = noise.grid_of(1e-9)
    noisy = noise.add_laplace(np.array([1e12, -1e12, 0.0]), 1e-9, grid, Randomness())
    np.testing.assert_allclose(noisy[:2], [2.0**61 * grid, -(2.0**61) * grid], rtol=1e-9)
    assert abs(noisy[2]) < 1e-6


def test_streams_differ_unless_seeded():
    assert (Randomness().words(4) != Randomness().words(4)).any()
    assert (Randomness(seed=1).words(4) != Randomness(seed=2).words(4)).any()
    assert Randomness(seed=1).is_seeded and not Randomness().is_seeded


def test_a_stream_of_a_key_counts_as_seeded():
    keyed = Randomness.of_key(bytes(32), "noise")
    assert keyed.is_seeded and repr(keyed) == "Randomness(seeded: not private)"
    with pytest.raises(AttributeError):
        keyed.is_seeded = False


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("stream", [Randomness(), Randomness(seed=1), Randomness.of_key(bytes(32), "a")], ids=str)
def test_a_stream_is_not_copied(duplicate, stream):
    with pytest.raises(InputError, match=r"cannot be copied or pickled: make a new one with Randomness\(\)"):
        duplicate(stream)


def test_the_stream_is_chacha20(monkeypatch):
    """Against the cipher used in one piece, over several blocks and a change of key."""
    import hashlib

    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    from discreet.privacy import randomness

    monkeypatch.setattr(randomness, "BLOCK", 1024)
    monkeypatch.setattr(randomness, "REKEY_AFTER", 3000)

    def stream(key):
        return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    first = stream(hashlib.sha256(b"discreet: seeded, not private: 1").digest())
    expected = first.update(bytes(2048))
    second = stream(first.update(bytes(32)))
    expected += second.update(bytes(1952))
    assert Randomness(seed=1).words(500).tobytes() == expected
