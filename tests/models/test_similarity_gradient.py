"""The clipped gradient of similarities: its bound, by brute force, and what would break it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InputError
from discreet.models.denoise.item_lists import constant_lists
from discreet.models.home.lists import home_of
from discreet.models.sums.similarity_gradient import SimilarityGradient, gradient_residuals

ITEMS = 4
CATALOGUE = dc.Catalogue.of(list("abcd"), dc.Scale(1, 5), declared=True, genres=[["x"], ["x", "y"], ["y"], []])


def gradient(clip=0.4, floor=0.5, seed=0):
    rng = np.random.default_rng(seed)
    arrays = {
        "mean": np.array([3.5], dtype=np.float32),
        "item_bias": rng.uniform(-1.5, 1.5, ITEMS).astype(np.float32),
        "unknown": np.full(ITEMS, 0.1, dtype=np.float32),
        "counts": rng.uniform(1, 50, ITEMS).astype(np.float32),
    }
    neighbours = constant_lists(arrays["counts"], ITEMS - 1)
    home = home_of(arrays, CATALOGUE, features=True)
    return SimilarityGradient(neighbours, home, floor, clip, steps=1), rng


def similarities(rng, signed=False):
    return (rng.uniform(0.01, 1, (ITEMS, ITEMS - 1)) * (rng.choice([-1, 1]) if signed else 1)).astype(np.float32)


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
@pytest.mark.parametrize("floor", [0.01, 1.0])
def test_the_bound_holds_for_users_and_ratings(neighbours, floor):
    """Every way in which 1 user rates 4 items with 1, 3 and 5, and 300 ways for 2 users."""
    asked, rng = gradient(floor=floor)
    question = asked.contribution(similarities(rng))
    (user, _) = dc.audit.check_sensitivity(question, CATALOGUE, [1, 3, 5], users=1, neighbours=neighbours)
    assert user.exhaustive and user.share > 0.99  # the clip is reached
    dc.audit.check_sensitivity(question, CATALOGUE, [1, 3, 5], users=2, neighbours=neighbours, most=300)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), clip=st.sampled_from([0.05, 0.5, 5.0]), floor=st.sampled_from([1e-6, 0.3, 3.0]))
def test_the_bound_holds_at_any_similarities(seed, clip, floor):
    asked, rng = gradient(clip, floor, seed)
    question = asked.contribution(similarities(rng, signed=True))
    dc.audit.check_sensitivity(question, CATALOGUE, [1, 5], users=1, most=300, seed=seed)


def test_one_rating_moves_it_further_than_the_clip():
    """So a rating needs the second bound: the clip alone would not hide one."""
    asked, rng = gradient(clip=0.1, floor=0.01)
    question = asked.contribution(similarities(rng))
    lying = replace(question, bounds=(dc.Bound("rating", "l2", 0.1),))
    with pytest.raises(InputError, match="one rating moves 'gradients of similarities'"):
        dc.audit.check_sensitivity(lying, CATALOGUE, [1, 3, 5], users=1)


def test_without_the_clip_a_user_moves_it_further():
    asked, rng = gradient(clip=1e6, floor=0.01)
    values = similarities(rng)
    lying = replace(asked.contribution(values), bounds=(dc.Bound("user", "l2", 0.4),))
    with pytest.raises(InputError, match="beyond its declared bound"):
        dc.audit.check_sensitivity(lying, CATALOGUE, [1, 3, 5], users=1)


def test_who_else_is_there_changes_no_bit_of_a_users_residuals():
    """Few users are served by numpy and many by compiled kernels, which round differently: not here."""
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=2)
    release = dc.NeighbourList().fit(dc.NoPrivacy(ratings))
    home = home_of(release.arrays, release.catalogue, features=True)
    together = gradient_residuals(home, ratings)
    for users in ([0], [7, 8, 9], list(range(40))):
        alone = gradient_residuals(home, ratings.select_users(users))
        np.testing.assert_array_equal(alone, together[np.isin(ratings.user_index, users)])
