"""Numpy serves few users and kernels many: which of them computes a contribution must not depend on who is there."""

import numpy as np
import pytest

import discreet as dc
from discreet.kernels.compiling import FEW_USERS, by_numpy
from discreet.models.home.fold_in import fold_in
from discreet.populations.population import exact_total

pytestmark = pytest.mark.doors


def test_one_user_more_does_not_move_the_rounding_of_the_others(door):
    ratings = dc.synthetic(users=FEW_USERS + 1, items=40, ratings=300, seed=1)
    rng = np.random.default_rng(1)
    factors, base = rng.normal(size=(40, 6)).astype(np.float32), np.full(40, 3.0, dtype=np.float32)
    penalty = np.full(6, 0.1, dtype=np.float32)

    def total(some):
        own = fold_in(some, factors, base, np.zeros(6, dtype=np.float32), penalty)
        return own[:FEW_USERS].astype(np.float64) if some.n_users >= FEW_USERS else np.zeros((FEW_USERS, 6))

    asked = dc.Contribution("users' own factors", (FEW_USERS, 6), total)
    fewer = ratings.select_users(np.arange(FEW_USERS))
    apart = np.abs(total(ratings) - total(fewer)).max()
    asked_apart = np.abs(exact_total(asked, ratings) - exact_total(asked, fewer)).max()
    assert by_numpy(FEW_USERS) and not by_numpy(FEW_USERS + 1)
    assert asked_apart == 0
    door(
        "user 17 adds at most the bound to a sum",
        f"the other 16 users' factors moved too, by up to {apart:.0e}, as numpy gave way to a kernel",
        "sums and mechanisms are always computed by kernels: not a bit moves",
    )
