"""Sweeps of ALS without privacy by torch: the sums of the processor up to rounding."""

import numpy as np
import pytest

import discreet as dc

torch = pytest.importorskip("torch")
from discreet.kernels import gpu_als  # noqa: E402

RATINGS = dc.synthetic(users=300, items=60, ratings=5_000, seed=1)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("biased", [True, False])
def test_sums_are_the_same_up_to_rounding(biased, device, monkeypatch):
    monkeypatch.setattr(gpu_als, "best_device", lambda: device)
    rng = np.random.default_rng(1)
    factors, bias = rng.normal(0, 0.5, (60, 5)).astype("f4"), rng.normal(0, 0.3, 60).astype("f4")
    asked = dc.ALS(biased=biased)._contribution(factors, np.float32(3.5 if biased else 0), bias * biased)
    ratings = RATINGS.with_users([*RATINGS.users.names.tolist(), "nobody"])
    wanted = asked.total(ratings)
    np.testing.assert_allclose(asked.on_torch([ratings]), wanted, rtol=1e-3, atol=1e-3)
    monkeypatch.setattr(gpu_als, "BYTES", 4000)
    monkeypatch.setattr(gpu_als, "USERS", 97)
    np.testing.assert_allclose(asked.on_torch([ratings]), wanted, rtol=1e-3, atol=1e-3)


def test_releases_predict_the_same():
    found = [dc.ALS(factors=4, sweeps=4).fit(dc.NoPrivacy(RATINGS, engine=name)) for name in ("numba", "torch")]
    pairs = np.arange(50), np.arange(50)
    one, other = (release.predict(RATINGS, *pairs) for release in found)
    np.testing.assert_allclose(one, other, atol=1e-3)
