"""What all tests share: MovieLens 100K, where it can be had."""

import gc
import os
import sys
from collections.abc import Callable

if "PYTEST_XDIST_WORKER" in os.environ:  # a process for every core: with a thread for every core each, they would fight
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

import discreet as dc
from discreet.data.datasets import find_data_set, locate

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Thousands of collected tests are never garbage, and looking through them at each collection takes long."""
    gc.freeze()


@pytest.fixture(scope="session")
def ml_100k() -> dc.Ratings:
    """MovieLens 100K from ``DISCREET_DATA`` or the cache; it is fetched only if ``DISCREET_TEST_FETCH`` is 1."""
    if locate(find_data_set("ml-100k")) is None and os.environ.get("DISCREET_TEST_FETCH") != "1":
        pytest.skip("MovieLens 100K is not here; run `discreet data fetch ml-100k`, or set DISCREET_TEST_FETCH=1")
    return dc.load("ml-100k")


@pytest.fixture
def force_plan(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes every almanac ask for these parts of what is left after its first looks, of the 40 most rated items."""
    from discreet.models.almanac.planner import Noise, Plan, Planner

    def force(noise: Noise = "gaussian", *, factors: int = 0, **shares: float) -> None:
        def plan(self: Planner, purpose: str, known: object, left: float) -> Plan:
            pool = left if noise is None else self.gaussian(left)
            parts = {"items": 0.0} | {name: share * pool for name, share in shares.items()}
            return Plan(noise, 1.0, **parts, factors=factors, counted=40, rated=40, start=40)

        monkeypatch.setattr(Planner, "plan", plan)

    return force


@pytest.fixture(autouse=True)
def strangers() -> None:
    """What one test looked at is not known again in the next, as if each had a process of its own."""
    if accounts := sys.modules.get("discreet.populations.accounts"):
        accounts._LOOKED.clear()
        accounts._FITTED.clear()
