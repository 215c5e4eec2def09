"""A population answers sums, checks what it answers, and refuses what it cannot sum."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError

RATINGS = dc.synthetic(users=30, items=20, ratings=300, seed=1)


def test_answers_the_exact_sum():
    asked = dc.Contribution("sum of values", (1,), lambda ratings: np.array([ratings.values.sum()]))
    assert dc.NoPrivacy(RATINGS).sum(asked)[0] == pytest.approx(RATINGS.values.sum())


def test_a_total_of_another_shape_is_an_error():
    asked = dc.Contribution("too long", (1,), lambda ratings: np.zeros(2))
    with pytest.raises(InputError, match=r"'too long' declares shape \(1,\) but its total has shape \(2,\)"):
        dc.NoPrivacy(RATINGS).sum(asked)


def test_repeated_ratings_must_be_merged_first():
    catalogue = dc.Catalogue.of(["a"], dc.Scale(1, 5))
    twice = dc.Ratings.of_columns(catalogue, RATINGS.users, [0, 0], [0, 0], [2, 5], [100, 200])
    with pytest.raises(InputError, match="merge"):
        dc.NoPrivacy(twice)
    assert dc.NoPrivacy(twice.merge("last")).catalogue is catalogue


def test_takes_ratings_only():
    with pytest.raises(InputError, match="NoPrivacy takes Ratings, got list"):
        dc.NoPrivacy([1, 2, 3])


def test_promises_nothing_and_says_why():
    assert str(dc.NoPrivacy(RATINGS).guarantee) == "No privacy: exact sums over the users were released."
