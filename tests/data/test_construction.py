"""Bounds on contributions and filters: what they keep, that caps go by one's own ratings, and what is said of each."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.construction import bound_users, keep_popular_items
from discreet.errors import InputError
from discreet.populations.handled import doubts_on

RATINGS = dc.synthetic(users=60, items=30, ratings=900, seed=1)


def of_user(ratings, user):
    rows = slice(ratings.indptr[user], ratings.indptr[user + 1])
    return list(zip(ratings.item_index[rows].tolist(), ratings.values[rows].tolist(), strict=True))


@pytest.mark.parametrize("timed", [True, False])
def test_what_a_user_keeps_goes_by_their_own_ratings_alone(timed):
    from dataclasses import replace

    ratings = RATINGS if timed else replace(RATINGS, times=None)
    whole = bound_users(ratings, least=8, most=12)
    for left_out in (0, 31, 59):
        others = np.delete(np.arange(60), left_out)
        some = bound_users(ratings.select_users(others), least=8, most=12)
        for place, user in enumerate(others):
            assert of_user(some, place) == of_user(whole, user)


def test_the_latest_are_kept_and_floors_empty_a_user():
    found = bound_users(RATINGS, least=10, most=12)
    for user, count in enumerate(np.diff(RATINGS.indptr)):
        kept = of_user(found, user)
        assert len(kept) == (0 if count < 10 else min(count, 12))
        if kept and RATINGS.times is not None:
            rows = slice(RATINGS.indptr[user], RATINGS.indptr[user + 1])
            times = np.sort(RATINGS.times[rows])[::-1]
            own = slice(found.indptr[user], found.indptr[user + 1])
            assert np.array_equal(np.sort(found.times[own])[::-1], times[: len(kept)])
    assert found.n_users == RATINGS.n_users


def test_marks_add_up():
    twice = bound_users(bound_users(RATINGS, least=3, most=20), least=2, most=25).handling
    assert (twice.least, twice.most, twice.popular_items) == (3, 20, False)
    assert keep_popular_items(RATINGS, least=30).handling.popular_items
    plain = bound_users(RATINGS, least=2).handling
    assert (plain.least, plain.most) == (2, None)


def test_marks_do_not_depend_on_the_ratings():
    """Nobody has fewer than 1 rating or more than 30, and it is marked all the same."""
    assert bound_users(RATINGS, least=1, most=30).handling.most == 30


@pytest.mark.parametrize("settings", [{"least": 0}, {"least": 5, "most": 4}, {"most": 2.5}])
def test_bounds_that_make_no_sense_are_refused(settings):
    with pytest.raises(InputError, match="must be"):
        bound_users(RATINGS, **settings)


def proven(ratings, unit):
    ledger = dc.Ledger(1.0, 1e-6, unit)
    return dc.Popularity().fit(dc.TrustedServer(ratings, ledger)).guarantee


def test_bounds_are_free_for_users_and_void_the_promise_for_ratings():
    bounded = bound_users(RATINGS, least=5, most=10)
    assert proven(bounded, dc.User()).proven is not None
    found = proven(bounded, dc.Rating())
    assert found.proven is None and "take the unit user" in found.reason


def test_a_filter_of_items_by_popularity_voids_every_promise():
    filtered = keep_popular_items(RATINGS, least=30)
    for unit in (dc.User(), dc.Rating()):
        found = proven(filtered, unit)
        assert found.proven is None and "how many users rated them" in found.reason
    assert doubts_on(RATINGS.handling, dc.User()) == ()


def test_one_user_brings_back_ratings_of_others_through_a_filter():
    """The counter-example: without one user an item falls below the bar, and all others' ratings of it go too."""
    counts = np.bincount(RATINGS.item_index, minlength=30)
    item = int(np.argmin(np.where(counts > 5, counts, 99)))
    bar = int(counts[item])
    rater = int(RATINGS.user_index[RATINGS.item_index == item][0])
    others = np.delete(np.arange(60), rater)
    with_them = (keep_popular_items(RATINGS, least=bar).item_index == item).sum()
    without = (keep_popular_items(RATINGS.select_users(others), least=bar).item_index == item).sum()
    assert with_them == bar > 5 and without == 0


def test_several_ratings_of_one_item_are_weighted_by_recency():
    """The paper's 2t/(m(m+1)), against the formula."""
    catalogue = dc.Catalogue.of(["a"], dc.Scale(1, 5), declared=True)
    values, times = [1.0, 5.0, 2.0, 4.0], [30, 10, 40, 20]
    users = dc.data.Labels.of(["u"], what="user")
    several = dc.Ratings.of_columns(catalogue, users, [0] * 4, [0] * 4, values, times)
    in_order = np.array(values)[np.argsort(times)]
    expected = sum(2 * t / (4 * 5) * rating for t, rating in enumerate(in_order, start=1))
    assert several.merge("recency").values.tolist() == pytest.approx([expected])
