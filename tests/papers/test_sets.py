"""Given test sets, and the most rated items."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.papers.frame.outcome import Data
from discreet.papers.frame.sets import Sets

RATINGS = dc.synthetic(users=40, items=20, ratings=500, seed=1)


def pairs(ratings):
    return {
        (ratings.users[user], ratings.catalogue.items[item], value)
        for user, item, value in zip(
            ratings.user_index.tolist(), ratings.item_index.tolist(), ratings.values.tolist(), strict=True
        )
    }


def test_two_files_become_one():
    """Other users and items in either file, in another order: every rating stays what it was."""
    train = RATINGS.select_users(np.arange(30))
    test = dc.synthetic(users=40, items=25, ratings=300, seed=2).select_users(np.arange(20, 40))
    sets = Sets.with_test(train, test)
    assert sets.given is not None
    assert sets.ratings.catalogue is sets.given.catalogue and sets.ratings.users is sets.given.users
    assert pairs(sets.ratings) == pairs(train) and pairs(sets.given) == pairs(test)
    assert (sets.ratings.n_users, sets.ratings.n_items) == (40, 25)
    assert sets.split(test=0.2, seed=1) == (sets.ratings, sets.given)
    found = Data.of("two", sets)
    assert (found.ratings, sum(found.counts.values()), found.test_given) == (len(train) + len(test),) * 2 + (True,)


def test_sets_over_the_same_users_stay_as_they_are():
    train, test = RATINGS.split(test=0.2, seed=1)
    sets = Sets.with_test(train, test)
    assert sets.ratings is train and sets.given is test


def test_scales_must_agree():
    other = dc.synthetic(users=40, items=20, ratings=100, seed=1, scale=dc.Scale(1, 10))
    with pytest.raises(InputError, match="the test set has the scale 1 to 10, and the ratings 1 to 5"):
        Sets.with_test(RATINGS, other)


def test_keeps_the_most_rated_items_of_what_is_learned_from():
    train, test = RATINGS.split(test=0.5, seed=1)
    sets = Sets.with_test(train, test).keep_most_rated(5)
    assert sets.given is not None
    counts = np.bincount(train.item_index, minlength=20)
    least = np.sort(counts)[-5]
    names = sets.ratings.catalogue.items.names.tolist()
    assert len(names) == 5 == sets.most_rated and sets.given.n_items == 5
    assert all(counts[train.catalogue.items.index(name)] >= least for name in names)
    assert pairs(sets.ratings) == {pair for pair in pairs(train) if pair[1] in names}
    assert pairs(sets.given) == {pair for pair in pairs(test) if pair[1] in names}
    assert sets.ratings.n_users == 40  # everyone stays


def test_more_items_than_there_are_is_all_of_them():
    assert Sets(RATINGS).keep_most_rated(20) == Sets(RATINGS) and Sets(RATINGS).keep_most_rated(99).most_rated is None
    with pytest.raises(InputError, match="at least 1, got 0"):
        Sets(RATINGS).keep_most_rated(0)


def test_what_is_published_follows_the_items():
    """Every matrix is as large as the items that are kept, and not as the catalogue was."""
    release = dc.papers.HybridKNN().fit(Sets(RATINGS).keep_most_rated(5).ratings)
    assert {array.shape for array in release.arrays.values()} == {(1,), (5,), (5, 5)}
