"""Values as words and back: exact, signed, and never wrapped around."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.protocol.encoding import FixedPoint
from discreet.protocol.masks import expand, sum_of_masks

MOST = 57


@pytest.mark.parametrize("bits", [32, 64])
@given(values=st.lists(st.lists(st.floats(-100, 100), min_size=3, max_size=3), min_size=1, max_size=MOST))
def test_sums_are_within_half_a_step_for_each_user(bits, values):
    points = FixedPoint(step=2.0**-10, most_users=MOST, bits=bits)
    total = sum((points.encode(np.array(own)) for own in values), np.zeros(3, points.encode(np.zeros(1)).dtype))
    assert np.abs(points.decode(total) - np.sum(values, axis=0)).max() <= len(values) * points.step / 2 + 1e-9


@pytest.mark.parametrize("bits", [32, 64])
def test_the_largest_values_of_everybody_do_not_wrap_around(bits):
    points = FixedPoint(step=1.0, most_users=MOST, bits=bits)
    for sign in (-1, 1):
        total = np.zeros(1, points.encode(np.zeros(1)).dtype)
        for _ in range(MOST):
            total = total + points.encode(np.array([sign * 1e300]))
        assert np.sign(points.decode(total)[0]) == sign
        assert abs(points.decode(total)[0]) <= 2.0 ** (bits - 1) * 0.75
    assert points.whole(np.array([np.nan, np.inf, -np.inf])).tolist() == [0, 0, 0]


def test_noise_that_does_not_fit_and_users_that_do_not_are_refused():
    points = FixedPoint(step=1.0, most_users=10, bits=32)
    points.check_noise(2.0**20)
    with pytest.raises(InputError, match="does not fit into words of 32 bits"):
        points.check_noise(2.0**27)
    with pytest.raises(InputError, match="power of two"):
        FixedPoint(step=0.3, most_users=10)
    with pytest.raises(InputError, match="32 or 64"):
        FixedPoint(step=1.0, most_users=10, bits=16)
    with pytest.raises(InputError, match="take 64 bits"):
        FixedPoint(step=1.0, most_users=2**31, bits=32)


@pytest.mark.parametrize("bits", [32, 64])
@given(seeds=st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=5), count=st.integers(1, 70_000))
def test_masks_cancel_and_depend_on_seed_and_label(bits, seeds, count):
    total = sum_of_masks([(seed, b"round") for seed in seeds], count, bits)
    for seed in seeds:
        total -= expand(seed, b"round", count, bits)
    assert not total.any()
    other = expand(seeds[0], b"another", 8, bits)
    assert (expand(seeds[0], b"round", 8, bits) != other).any()
    assert (expand(seeds[0], b"another", count, bits)[:8] == other[:count]).all()
