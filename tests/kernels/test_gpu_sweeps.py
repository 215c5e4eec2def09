"""Sweeps of private ALS by torch: the numbers of the processor, bit by bit, whatever the blocks and parts."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.factor_sums import FactorSums

torch = pytest.importorskip("torch")
from discreet.kernels import gpu_pairs, gpu_sweeps  # noqa: E402
from discreet.kernels.device import root  # noqa: E402

RATINGS = dc.synthetic(users=400, items=60, ratings=6_000, seed=1)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def asked(weighting="adaptive", listed=None, factors=3, spread=1.0, clip=1.4, exponent=0.25):
    rng, size = np.random.default_rng(1), 60
    base = rng.uniform(2, 4, size).astype(np.float32)
    rows = np.concatenate([np.ones((size, 1)), spread * rng.normal(size=(size, 4 + factors))], axis=1)
    known = UserRegression(base, rows.astype(np.float32), rng.uniform(0.2, 1, size).astype(np.float32), 0.7)
    listed = np.arange(size) if listed is None else listed
    counts = rng.uniform(0, 200, size)
    return FactorSums(
        known, base, factors, np.asarray(listed, np.int32), counts, weighting, 5, exponent, clip, 0.7, 0.1, 0.6
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighting", ["adaptive", "uniform", "tail"])
@pytest.mark.parametrize("factors", [0, 1, 3])
def test_numbers_are_the_same(weighting, factors, device, monkeypatch):
    monkeypatch.setattr(gpu_sweeps, "best_device", lambda: device)
    for listed in (None, np.arange(1, 60, 7)):
        for spread, exponent in ((1.0, 0.25), (1e-6, 0.25), (1e4, 1.0)):
            found = asked(weighting, listed, factors, spread, exponent=exponent).contribution
            np.testing.assert_array_equal(found.total(RATINGS), found.on_torch([RATINGS]))


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_and_parts_change_nothing(monkeypatch, device):
    monkeypatch.setattr(gpu_sweeps, "best_device", lambda: device)
    contribution = asked().contribution
    expected = contribution.total(RATINGS)
    parts = [RATINGS.select_users(np.arange(first, min(first + 150, 400))) for first in range(0, 400, 150)]
    np.testing.assert_array_equal(expected, contribution.on_torch(parts))
    for module, name, value in ((gpu_pairs, "PART", 97), (gpu_sweeps, "BYTES", 8 * 20 * 200)):
        monkeypatch.setattr(module, name, value)
        np.testing.assert_array_equal(expected, contribution.on_torch(parts))


@pytest.mark.parametrize("device", DEVICES)
def test_ratings_that_stay_on_a_device_are_the_same(monkeypatch, device):
    monkeypatch.setattr(gpu_sweeps, "best_device", lambda: device)
    contribution, few = asked().contribution, RATINGS.select_users(np.arange(150))
    with gpu_pairs.ratings_stay():
        for ratings in (RATINGS, few, RATINGS, few.select_users(np.arange(9))):
            np.testing.assert_array_equal(contribution.total(ratings), contribution.on_torch([ratings]))


@pytest.mark.parametrize("device", DEVICES)
def test_roots_are_rounded_correctly(device):
    numbers = np.random.default_rng(1).uniform(0, 50, 100_000)
    np.testing.assert_array_equal(root(torch.tensor(numbers, device=device)).cpu().numpy(), np.sqrt(numbers))


def test_nobody_says_nothing():
    none = dc.Ratings.of_history(dc.History(RATINGS.catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32)))
    assert not asked().contribution.on_torch([none]).any()


def test_numbers_out_of_range_count_nothing():
    sums = asked()
    known = replace(sums.known, base=np.full(60, np.nan, np.float32))
    contribution = replace(sums, known=known).contribution
    found = contribution.total(RATINGS)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, contribution.on_torch([RATINGS]))
