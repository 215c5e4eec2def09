"""A ledger that cannot be kept is refused in one sentence."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy.ledger import Ledger
from discreet.privacy.unit import Rating, User


@pytest.mark.parametrize("value", ["1", None, True, [1.0], 1j])
def test_limits_are_numbers(value):
    with pytest.raises(InputError, match="epsilon must be a number, got "):
        Ledger(epsilon=value)
    with pytest.raises(InputError, match="delta must be a number, got "):
        Ledger(1.0, delta=value)


@pytest.mark.parametrize(("unit", "came"), [(User, "the class User"), ("user", "str"), (3, "int")])
def test_a_unit_is_a_unit(unit, came):
    with pytest.raises(InputError, match=rf"unit must be Rating\(\) or User\(\), got {came}"):
        Ledger(1.0, unit=unit)


def test_numbers_of_numpy_will_do():
    assert Ledger(np.float32(0.5), np.float64(0), Rating()).epsilon == 0.5
