"""What all tests share: MovieLens 100K, where it can be had."""

import os

import pytest
from hypothesis import settings

import discreet as dc
from discreet.data.datasets import find_data_set, locate

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def ml_100k() -> dc.Ratings:
    """MovieLens 100K from ``DISCREET_DATA`` or the cache; it is fetched only if ``DISCREET_TEST_FETCH`` is 1."""
    if locate(find_data_set("ml-100k")) is None and os.environ.get("DISCREET_TEST_FETCH") != "1":
        pytest.skip("MovieLens 100K is not here; run `discreet data fetch ml-100k`, or set DISCREET_TEST_FETCH=1")
    return dc.load("ml-100k")
