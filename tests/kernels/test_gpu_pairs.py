"""Sums over pairs by products of bytes: the integers of the other kernel, whatever the weights, classes and blocks."""

from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.engine import on_engine
from discreet.populations.population import exact_total

torch = pytest.importorskip("torch")
from discreet.kernels import gpu_pairs  # noqa: E402

RATINGS = dc.synthetic(users=700, items=60, ratings=15_000, seed=1)
BASE = np.random.default_rng(1).uniform(2, 4, 60).astype(np.float32)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def both(pairs, parts):
    own = sum(pairs.contribution.total(part) for part in parts)
    return own, pairs.contribution.on_torch(parts)


@pytest.mark.parametrize("weighting", ["user, l2", "rating, l2", "rating, l1"])
@pytest.mark.parametrize(("clip", "damping"), [*product([1.0, 0.3, np.inf], [None, 5.0])])
def test_integers_are_the_same(weighting, clip, damping):
    for listed in (np.arange(60, dtype=np.int32), np.arange(1, 60, 7, dtype=np.int32)):
        for relative_weight in (1.0, 0.3, 2.0**-8):
            pairs = PairSums(listed, BASE, clip, relative_weight, damping, weighting)
            numba, torch_ = both(pairs, [RATINGS])
            np.testing.assert_array_equal(numba, torch_)


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_strips_and_classes_change_nothing(monkeypatch, device):
    pairs = PairSums(np.arange(60, dtype=np.int32), BASE, 0.5, 0.5, None, "rating, l2")
    monkeypatch.setattr(gpu_pairs, "best_device", lambda: device)
    expected = pairs.contribution.total(RATINGS)
    for name, value in (("PART", 97), ("BLOCK_CELLS", 64 * 48), ("STRIP", 16), ("FEW", 1)):
        monkeypatch.setattr(gpu_pairs, name, value)
        np.testing.assert_array_equal(expected, pairs.contribution.on_torch([RATINGS]))


def test_parts_are_taken_one_by_one():
    """What is made of parts is the sum over all, and no part is read before it is wanted."""
    pairs = PairSums(np.arange(60, dtype=np.int32), BASE, 0.5, 0.5, None, "user, l2")
    parts = [RATINGS.select_users(np.arange(first, first + 100)) for first in range(0, 700, 100)]
    numba, torch_ = both(pairs, parts)
    np.testing.assert_array_equal(numba, torch_)

    class Parts:
        n_users = 700

        def parts(self):
            yield from parts

    wanted = exact_total(pairs.contribution, RATINGS)
    np.testing.assert_array_equal(wanted, exact_total(on_engine(pairs.contribution, "torch"), Parts()))


def test_nobody_adds_nothing():
    pairs = PairSums(np.arange(60, dtype=np.int32), BASE, 0.5, 0.5, None, "user, l2")
    none = dc.Ratings.of_history(dc.History(RATINGS.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))
    assert not pairs.contribution.on_torch([none]).any()


def test_bytes_with_signs():
    numbers = torch.tensor([0, 1, -127, 127, 128, -128, 127 * 257, 127 * 257 + 1, 2**31, -(2**38)])
    assert gpu_pairs._bytes_for(torch, numbers).tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 5, 5]
