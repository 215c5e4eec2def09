"""A release says what it is for, what was chosen on the way, and why."""

import numpy as np
import pytest

import discreet as dc
from discreet.releases.choices import choices_of
from discreet.releases.contents import NOTHING, described

RATINGS = dc.synthetic(users=4000, items=200, ratings=200_000, seed=3, like="movielens")


def fitted(epsilon, purpose="both", **terms):
    return dc.Almanac(purpose=purpose).fit(dc.Terms(epsilon=epsilon, **terms).population(RATINGS))


@pytest.mark.parametrize("unit", ["user", "rating"])
def test_pairs_are_asked_for_where_noise_lets_them_be_seen(unit):
    drowned, clear = (choices_of(fitted(epsilon, unit=unit, delta=1e-6)) for epsilon in (0.01, 5.0))
    assert drowned[0] == "It is for ratings and rankings." and "were not asked for" in drowned[1]
    assert "stand out of the noise" in clear[1] and "items have factors" in clear[1]
    assert any("sweeps" in said for said in clear) == (unit == "user")


@pytest.mark.parametrize("purpose", ["ratings", "ranking"])
def test_it_says_what_was_expected_of_the_plan_and_how_users_weighed_it(purpose):
    release = fitted(5.0, purpose, unit="user", delta=1e-6)
    said = " ".join(choices_of(release))
    before, after = release.arrays["plan"].sum(axis=0)
    assert f"Expected to gain {before - after:.3f} nats" in said and before > after
    assert ("Weighed by users" in said) == (purpose == "ratings")
    for term, part in (("who rates what", "ranking"), ("item biases", "ratings")):
        assert part != purpose or term in said


def test_other_models_choose_nothing():
    assert choices_of(dc.Bias().fit(dc.Terms(epsilon=1.0).population(RATINGS))) == ()


def test_weights_of_nobody_are_no_matrix():
    words = described({"neighbours": np.ones((3, 2), np.int32), "neighbour_weights": np.zeros((3, 2), np.float32)})
    assert set(words.values()) == {NOTHING}
