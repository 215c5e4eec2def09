"""Item sums by torch, by the compiled kernel and by numpy alone: the same numbers to the last bit."""

import numpy as np
import pytest

import discreet as dc
from discreet.kernels import item_sums
from discreet.models.sums import item_statistics
from discreet.models.sums.item_statistics import ItemStatistics

torch = pytest.importorskip("torch")

RATINGS = dc.synthetic(users=500, items=60, ratings=9_000, seed=1)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("scaling", ["rating", "user, l2", "user, l1"])
@pytest.mark.parametrize("c", [0.0, 0.8, 1.5])
def test_numbers_are_the_same(scaling, c, device, monkeypatch):
    monkeypatch.setattr(item_sums, "best_device", lambda: device)
    base = np.random.default_rng(1).uniform(2, 4, 60).astype(np.float32)
    about = ItemStatistics(base, RATINGS.catalogue.scale, scaling, c)
    by_numpy = about._small_total(RATINGS)
    monkeypatch.setattr(item_statistics, "MANY", 0)
    np.testing.assert_array_equal(by_numpy, about.contribution.total(RATINGS))
    parts = [RATINGS.select_users(np.arange(first, first + 100)) for first in range(0, 500, 100)]
    np.testing.assert_array_equal(by_numpy, about.contribution.on_torch(parts))
