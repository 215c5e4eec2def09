from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.handling import Handling
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.data.sorting import sorting_order, stable_order
from discreet.errors import InputError, UnknownNameError

N_USERS, N_ITEMS = 5, 4
CATALOGUE = dc.Catalogue.of([f"i{item}" for item in range(N_ITEMS)], dc.Scale(1, 5))
USERS = Labels.of([f"u{user}" for user in range(N_USERS)], what="user")
ROW = st.tuples(st.integers(0, N_USERS - 1), st.integers(0, N_ITEMS - 1), st.integers(1, 5), st.integers(0, 3))
SEEDS = st.integers(0, 2**32 - 1)


def make(rows, *, timed=True) -> Ratings:
    user, item, value, time = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    facts = {"age": np.arange(N_USERS)}
    times = time if timed else None
    return Ratings.of_columns(CATALOGUE, USERS, user, item, value, times, facts, handling=Handling())


def rows_of(ratings):
    users = [ratings.users[int(user)] for user in ratings.user_index]
    return list(zip(users, ratings.item_index.tolist(), ratings.values.tolist(), ratings.times.tolist(), strict=True))


def distinct(rows):
    return list({row[:2]: row for row in rows}.values())


@given(st.lists(ROW, max_size=40))
def test_columns_are_sorted_stably(rows):
    ratings = make(rows)
    expected = sorted(rows, key=lambda row: row[:2])
    assert [(USERS.index(u), i, int(v), t) for u, i, v, t in rows_of(ratings)] == expected
    assert ratings.has_repeats == (len(distinct(rows)) < len(rows))


@given(st.lists(ROW, max_size=40))
def test_views_agree(rows):
    ratings = make(distinct(rows))
    dense = np.zeros((N_USERS, N_ITEMS))
    for user, item, value, _ in distinct(rows):
        dense[user, item] = value
    assert np.array_equal(ratings.csr.toarray(), dense)
    assert len(rows) == 0 or np.shares_memory(ratings.csr.data, ratings.values)
    by_item = ratings.by_item
    for item in range(N_ITEMS):
        part = slice(by_item.indptr[item], by_item.indptr[item + 1])
        assert by_item.users[part].tolist() == np.flatnonzero(dense[:, item]).tolist()
        assert by_item.values[part].tolist() == dense[:, item][dense[:, item] > 0].tolist()
    for user in range(N_USERS):
        history = ratings.history(f"u{user}")
        assert history.items.tolist() == np.flatnonzero(dense[user]).tolist()


@given(st.lists(ROW, min_size=2, max_size=40), st.floats(0.05, 0.95), SEEDS)
def test_a_split_loses_nothing(rows, share, seed):
    ratings = make(rows)
    train, test = ratings.split(test=share, seed=seed)
    assert len(test) == round(share * len(rows))
    assert sorted(rows_of(train) + rows_of(test)) == sorted(rows_of(ratings))
    again = ratings.split(test=share, seed=seed)[1]
    assert rows_of(again) == rows_of(test)
    assert train.users is ratings.users and train.catalogue is ratings.catalogue


@given(st.lists(ROW, min_size=2, max_size=40), st.integers(2, 7), SEEDS)
def test_every_rating_is_tested_in_one_fold(rows, count, seed):
    ratings = make(rows)
    tested = []
    sizes = []
    for train, test in ratings.folds(count, seed=seed):
        assert sorted(rows_of(train) + rows_of(test)) == sorted(rows_of(ratings))
        tested += rows_of(test)
        sizes.append(len(test))
    assert sorted(tested) == sorted(rows_of(ratings)) and len(sizes) == count
    assert max(sizes) - min(sizes) <= 1


def test_many_folds():
    ratings = dc.synthetic(users=30, items=30, ratings=600, seed=1)
    assert [len(test) for _, test in ratings.folds(300, seed=1)] == [2] * 300


@given(
    st.lists(ROW, max_size=40), st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (0.1, 0.9), (0.4, 0.3, 0.2, 0.1)]), SEEDS
)
def test_each_user_is_split_by_the_same_shares(rows, shares, seed):
    ratings = make(distinct(rows))
    parts = ratings.split_each_user(shares, seed=seed)
    assert sorted(row for part in parts for row in rows_of(part)) == sorted(rows_of(ratings))
    sizes = np.diff(ratings.indptr)
    left = sizes.copy()
    for part, share in list(zip(parts, shares, strict=True))[:0:-1]:
        expected = np.minimum(np.rint(sizes * share), left).astype(int)
        assert np.diff(part.indptr).tolist() == expected.tolist()
        left = left - expected
    assert np.diff(parts[0].indptr).tolist() == left.tolist()


def test_splits_within_a_user_are_random():
    ratings = dc.synthetic(users=1, items=40, ratings=40, seed=1)
    first, second = (ratings.split_each_user((0.5, 0.5), seed=seed)[1].item_index.tolist() for seed in (1, 2))
    assert first != second and first != list(range(20)) and len(first) == 20


@given(st.lists(ROW, max_size=40), st.integers(1, N_USERS - 1), SEEDS)
def test_whole_users_are_held_out(rows, count, seed):
    ratings = make(rows)
    train, test = ratings.split_users(count, seed=seed)
    assert (train.n_users, test.n_users) == (N_USERS - count, count)
    assert sorted(rows_of(train) + rows_of(test)) == sorted(rows_of(ratings))
    assert not set(train.users) & set(test.users)
    for part in (train, test):
        assert [f"u{age}" for age in part.user_facts["age"]] == list(part.users)
        assert len(part) == 0 or part.user_index.max() < part.n_users


def test_a_share_of_users():
    assert make([]).split_users(0.4, seed=1)[1].n_users == 2


@given(st.lists(ROW, max_size=40), st.sampled_from(["last", "mean", "recency"]), st.booleans())
def test_merging(rows, rule, timed):
    ratings = make(rows, timed=timed)
    merged = ratings.merge(rule)
    expected = {}
    for user, item, value, time in rows:
        expected.setdefault((user, item), []).append((time if timed else 0, value))
    assert len(merged) == len(expected) and not merged.has_repeats
    for row, (user, item) in enumerate(zip(merged.user_index.tolist(), merged.item_index.tolist(), strict=True)):
        given_values = [value for _, value in sorted(expected[user, item], key=lambda pair: pair[0])]
        m = len(given_values)
        answer = {
            "last": given_values[-1],
            "mean": sum(given_values) / m,
            "recency": sum(2 * t * value for t, value in enumerate(given_values, start=1)) / (m * (m + 1)),
        }[rule]
        assert merged.values[row] == pytest.approx(answer, rel=1e-6)
        if timed:
            assert merged.times[row] == max(time for time, _ in expected[user, item])


def test_nothing_to_merge_is_no_copy():
    ratings = make([(0, 0, 1, 0)])
    merged = ratings.merge("mean")
    assert merged.values is ratings.values and merged.item_index is ratings.item_index
    assert merged.handling.merged == "mean" and merged.merge("last").handling.merged == "mean"


def test_a_history_needs_single_ratings():
    with pytest.raises(InputError, match=r"call ratings\.merge\('last'\) first"):
        make([(0, 0, 1, 0), (0, 0, 2, 1)]).history("u0")


def test_columns_cannot_be_written():
    ratings = make([(0, 0, 1, 0)])
    for column in (ratings.user_index, ratings.item_index, ratings.values, ratings.times, ratings.user_facts["age"]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ratings: ratings.split(test=0, seed=1), "test must be a share between 0 and 1, got 0"),
        (lambda ratings: next(ratings.folds(1, seed=1)), "folds must be at least 2, got 1"),
        (lambda ratings: ratings.split_each_user((0.8, 0.1), seed=1), "shares must be .* sum to 1"),
        (
            lambda ratings: ratings.split_users(9, seed=1),
            "^test must hold out at least one user, and not all of them, got 9$",
        ),
        (lambda ratings: ratings.merge("first"), "merge takes 'last', 'mean' or 'recency', got 'first'"),
        (lambda ratings: Ratings.of_histories([]), "at least one history"),
        (lambda ratings: ratings.history_at(-1), "^there is no user at that position$"),
        (lambda ratings: ratings.history_at(N_USERS), "^there is no user at that position$"),
        (lambda ratings: ratings.history_at(0.0), "^there is no user at that position$"),
        (
            lambda ratings: ratings.history(7),
            'the name of a user is text, got int: write it in quotes, for example "42"',
        ),
        (lambda ratings: ratings.history(np.int64(7)), "the name of a user is text, got int64"),
        (lambda ratings: ratings.history(None), "the name of a user is text, got NoneType"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call(make([(0, 0, 1, 0)]))


def test_an_unknown_user_is_not_told_who_is_there():
    with pytest.raises(UnknownNameError, match=r"^there is no user of that name$"):
        make([]).history("u99")


@given(st.lists(st.integers(0, 6), max_size=50))
def test_counting_sort(keys):
    assert stable_order(np.array(keys, dtype=np.int32), 7).tolist() == np.argsort(keys, kind="stable").tolist()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_sorting_order(pairs):
    user, item = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    order = sorting_order(user, item, 4, 4)
    expected = np.lexsort((item, user))
    assert (np.arange(len(pairs)) if order is None else order).tolist() == expected.tolist()


def test_histories_become_users():
    ratings = make([(0, 1, 5, 0), (0, 2, 3, 0), (2, 0, 1, 0)])
    several = Ratings.of_histories([ratings.history("u2"), ratings.history("u0"), ratings.history("u1")])
    assert (
        several.n_users == 3
        and several.item_index.tolist() == [0, 1, 2]
        and np.diff(several.indptr).tolist() == [1, 2, 0]
    )
    assert repr(several) == "Ratings(3 ratings, 3 users, 4 items, scale 1 to 5)"


def test_tags_and_handling_go_with_the_users():
    ratings = make([(0, 1, 5, 0), (1, 2, 3, 0), (2, 0, 1, 0)]).merge("last")
    tagged = replace(ratings, tags=np.arange(ratings.n_users, dtype=np.uint64))
    for positions in ([0, 2], [1, 2], [1]):
        some = tagged.select_users(np.array(positions))
        assert some.tags.tolist() == positions and some.handling.merged == "last"
    assert tagged.select(tagged.values > 2).tags is tagged.tags
    assert tagged.with_users([*ratings.users, "new"]).tags is None  # for other users other tags are due


def test_one_of_each_is_not_called_many():
    one = Ratings.of_columns(dc.Catalogue.of(["a"], dc.Scale(1, 5)), Labels.of(["u"], what="user"), [0], [0], [2])
    assert repr(one) == "Ratings(1 rating, 1 user, 1 item, scale 1 to 5)"


@given(st.lists(ROW, max_size=40), st.booleans())
def test_a_table_holds_all_that_the_ratings_do(rows, timed):
    frame = make(rows, timed=timed).to_frame()
    width = 4 if timed else 3
    assert frame.columns == ["user", "item", "rating", "time"][:width]
    named = sorted(rows, key=lambda row: row[:2])
    assert frame.rows() == [(f"u{user}", f"i{item}", value, time)[:width] for user, item, value, time in named]


def test_a_table_can_be_read_again():
    ratings = dc.synthetic(users=20, items=30, ratings=200, seed=1)
    items = pl.DataFrame({"item": list(ratings.catalogue.items)})
    again = dc.from_frame(ratings.to_frame(), scale=(1, 5), time="time", items=items)
    assert list(again.users) == list(ratings.users)
    for column in ("user_index", "item_index", "values", "times"):
        assert np.array_equal(getattr(again, column), getattr(ratings, column))
