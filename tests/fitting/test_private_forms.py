"""Which models can keep which promises."""

from dataclasses import dataclass

import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.fitting.private_forms import check_private


@dataclass(frozen=True)
class Either(dc.Popularity):
    """Asks for sums where it is told to, and otherwise for the ratings themselves."""

    by_sums: bool = False

    @property
    def raw_ratings(self):
        return not self.by_sums


def test_a_model_is_private_by_its_settings():
    check_private(Either(by_sums=True), dc.Terms(epsilon=1.0))
    with pytest.raises(InputError, match="Either has no private form"):
        check_private(Either(), dc.Terms(epsilon=1.0))
