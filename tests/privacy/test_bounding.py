"""Bounding: nobody exceeds the bound, and what is done to a user depends on that user alone."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InputError
from discreet.privacy.bounding import centre, clip_rows, hold_out, keep_at_most, user_tags
from discreet.privacy.randomness import Randomness, secret_key

KEY = secret_key(Randomness(seed=1))
FALSE_ALARM = 1e-9

# A data set: for every user (by name) a set of items.
users = st.dictionaries(st.sampled_from("abcdefgh"), st.sets(st.integers(0, 9), max_size=8), max_size=5)


def rows_of(data):
    indptr = np.cumsum([0] + [len(items) for items in data.values()])
    items = np.array([item for owned in data.values() for item in sorted(owned)], dtype=np.int32)
    return indptr, items, np.array(list(data), dtype=np.str_)


def capped(data, most, key=KEY, weights=None):
    """The data set that is left, as sets of items."""
    indptr, items, names = rows_of(data)
    keep = keep_at_most(indptr, items, user_tags(names, key), most, key, weights=weights)
    return {
        name: set(items[first:last][keep[first:last]].tolist())
        for name, first, last in zip(data, indptr[:-1], indptr[1:], strict=True)
    }


@given(data=users, most=st.integers(1, 5))
def test_nobody_keeps_more_and_nobody_loses_without_need(data, most):
    for name, kept in capped(data, most).items():
        assert kept <= data[name]
        assert len(kept) == min(most, len(data[name]))


@given(data=users.filter(len), most=st.integers(1, 5))
def test_removing_a_user_changes_nothing_for_the_others(data, most):
    """1-stable at user level, by brute force over all neighbours; the order of the users does not matter either."""
    whole = capped(data, most)
    for gone in data:
        left = capped({name: items for name, items in data.items() if name != gone}, most)
        assert left == {name: items for name, items in whole.items() if name != gone}
    assert capped(dict(reversed(data.items())), most) == whole


@given(data=users, most=st.integers(1, 5))
def test_removing_a_rating_moves_two_records_at_most(data, most):
    whole = capped(data, most)
    for name, items in data.items():
        for item in items:
            left = capped(data | {name: items - {item}}, most)
            moved = {other: len(whole[other] ^ left[other]) for other in data}
            assert moved.pop(name) <= 2
            assert not any(moved.values())


def test_every_subset_is_equally_likely_and_users_differ():
    """5 items of which 2 stay: 10 subsets, over many keys; and over many users with one key."""
    data = {f"user {number}": set(range(5)) for number in range(5_000)}
    for kept in (
        capped(data, 2).values(),
        [capped({"ann": set(range(5))}, 2, secret_key(Randomness(seed=seed)))["ann"] for seed in range(1_500)],
    ):
        counts = np.unique([min(one) * 5 + max(one) for one in kept], return_counts=True)[1]
        assert len(counts) == 10
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_weights_choose_in_proportion():
    """One of three stays, with odds 1 : 2 : 5."""
    data = {f"user {number}": {0, 1, 2} for number in range(8_000)}
    kept = capped(data, 1, weights=np.tile([1.0, 2.0, 5.0], len(data)))
    counts = np.bincount([next(iter(items)) for items in kept.values()])
    assert stats.chisquare(counts, len(data) * np.array([1, 2, 5]) / 8).pvalue > FALSE_ALARM
    assert stats.chisquare(counts, len(data) * np.array([1, 1, 1]) / 3).pvalue < 1e-20


def test_another_key_chooses_otherwise():
    data = {f"user {number}": set(range(10)) for number in range(50)}
    assert capped(data, 3) == capped(data, 3)
    assert capped(data, 3) != capped(data, 3, secret_key())


def test_tags_depend_on_the_name_alone_and_differ():
    names = np.array([f"user {number}" for number in range(20_000)])
    tags = user_tags(names, KEY)
    assert len(np.unique(tags)) == len(tags)
    longer = user_tags(np.append(names, "somebody with quite a long name"), KEY)
    np.testing.assert_array_equal(longer[:-1], tags)


@given(data=users, share=st.sampled_from([0.2, 0.5]))
def test_what_is_held_out_depends_on_the_rating_alone(data, share):
    def held(data):
        indptr, items, names = rows_of(data)
        out = hold_out(indptr, items, user_tags(names, KEY), share, KEY)
        owner = np.repeat(names, np.diff(indptr))
        return {(name, item): out[row] for row, (name, item) in enumerate(zip(owner, items, strict=True))}

    whole = held(data)
    for name, items in data.items():
        for item in items:
            left = held(data | {name: items - {item}})
            assert left == {pair: where for pair, where in whole.items() if pair != (name, item)}


def test_the_share_that_is_held_out():
    indptr, items = np.array([0, 20_000]), np.arange(20_000)
    out = hold_out(indptr, items, user_tags(np.array(["ann"]), KEY), 0.2, KEY)
    assert stats.binomtest(int(out.sum()), len(out), 0.2).pvalue > FALSE_ALARM


rows = st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), max_size=5)


@given(rows=rows, bound=st.floats(1e-3, 1e3), norm=st.sampled_from(["l1", "l2"]))
def test_no_row_is_longer_than_its_bound_in_exact_arithmetic(rows, bound, norm):
    indptr = np.cumsum([0] + [len(row) for row in rows])
    values = np.array([value for row in rows for value in row])
    clipped = clip_rows(indptr, values, bound, norm)
    for first, last, row in zip(indptr[:-1], indptr[1:], rows, strict=True):
        exact = [Fraction(value) for value in clipped[first:last]]
        if norm == "l1":
            assert sum(map(abs, exact)) <= Fraction(bound)
            length = sum(map(abs, row))
        else:
            assert sum(value * value for value in exact) <= Fraction(bound) ** 2
            length = float(np.linalg.norm(row))
        expected = np.array(row) * min(1.0, bound / length if length else 1.0)
        np.testing.assert_allclose(clipped[first:last], expected, rtol=1e-8, atol=1e-300)


def test_lengths_that_overflow_or_vanish():
    indptr = np.array([0, 2, 4, 4])
    clipped = clip_rows(indptr, np.array([1e308, 1e308, 1e-200, 1e-200]), 1.0, "l2")
    assert np.isfinite(clipped).all() and np.linalg.norm(clipped[:2]) <= 1
    np.testing.assert_array_equal(clipped[2:], 1e-200)
    with pytest.raises(InputError, match="finite"):
        clip_rows(indptr, np.array([1.0, np.nan, 1, 1]), 1.0, "l2")


def test_centring_about_public_constants():
    np.testing.assert_allclose(centre(np.array([0.5, 2.75, 5.0, 99.0]), 0.5, 5.0), [-1, 0, 1, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: centre(np.array([1.0]), 5, 1),
        lambda: clip_rows(np.array([0, 1]), np.array([1.0]), 0.0, "l1"),
        lambda: capped({"a": {1}}, 0),
        lambda: capped({"a": {1, 2}}, 1, weights=np.array([0.0, 1.0])),
        lambda: hold_out(np.array([0, 1]), np.array([0]), np.zeros(1, dtype=np.uint64), 1.0, KEY),
        lambda: capped({"a": {1, 2}}, 1, b"short"),
    ],
)
def test_impossible_bounds_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()
