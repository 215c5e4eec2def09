"""What a release is asked: by position, by name, for one user and for many; and what it refuses to answer."""

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.errors import InputError, UnknownNameError
from discreet.names import every_model
from discreet.releases import scorer as scorer_module

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=2)
RELEASE = dc.Cosine().fit(dc.NoPrivacy(RATINGS))
PREDICTING = [dc.Bias(), dc.Cosine(), dc.PNBM(), dc.ALS(factors=3, sweeps=2)]


@pytest.mark.parametrize("model", PREDICTING, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("users", "items", "message"),
    [
        ([0], [30], "some of the items are positions outside the catalogue"),
        ([0], [10**9], "some of the items are positions outside the catalogue"),
        ([0], [-1], "some of the items are positions outside the catalogue"),
        ([40], [0], "some of the users are positions outside the histories"),
        ([-1], [0], "some of the users are positions outside the histories"),
        ([2**40], [0], "some of the users are positions outside the histories"),
        (["7"], [0], "users must be positions in the histories, whole numbers from 0 on; predict_frame takes names"),
        ([0], ["7"], "items must be positions in the catalogue"),
        ([0.0], [0], "users must be positions in the histories"),
        ([0], [1.5], "items must be positions in the catalogue"),
        ([True], [0], "users must be positions"),
        ([None], [0], "users must be positions"),
        (0, 0, "users must be one list of positions"),
        ([[0, 1]], [[0, 1]], "users must be one list of positions"),
        ([[0], [0, 1]], [0], "users must be one list of positions"),
        ([0, 1], [0], "as many users as items"),
    ],
)
def test_positions_that_are_none_are_refused(model, users, items, message):
    with pytest.raises(InputError, match=message):
        model.fit(dc.NoPrivacy(RATINGS)).predict(RATINGS, users, items)


def test_messages_do_not_tell_how_many_users_there_are():
    for users in ([40], [-1]):
        with pytest.raises(InputError) as raised:
            RELEASE.predict(RATINGS, users, [0])
        assert "40" not in str(raised.value) and "39" not in str(raised.value)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, list])
def test_positions_of_any_whole_kind(kind):
    users = [3, 0] if kind is list else np.array([3, 0], dtype=kind)
    np.testing.assert_array_equal(
        RELEASE.predict(RATINGS, users, [1, 2]), RELEASE.predict(RATINGS, np.array([3, 0], np.int32), [1, 2])
    )
    assert RELEASE.predict(RATINGS, [], []).shape == (0,)


# ── By name ──


def test_predicting_by_name():
    users, items = np.array([3, 0, 39, 3]), np.array([29, 4, 0, 1])
    pairs = pl.DataFrame(
        {"user": RATINGS.users.names[users], "item": RATINGS.catalogue.items.names[items], "why": list("abcd")}
    )
    told = RELEASE.predict_frame(RATINGS, pairs)
    assert told.columns == ["user", "item", "why", "predicted"]
    assert told.drop("predicted").equals(pairs)
    np.testing.assert_array_equal(told["predicted"].to_numpy(), RELEASE.predict(RATINGS, users, items))
    renamed = pairs.rename({"user": "who", "item": "what"})
    assert RELEASE.predict_frame(RATINGS, renamed, user="who", item="what")["predicted"].equals(told["predicted"])
    assert RELEASE.predict_frame(RATINGS, pairs.to_pandas())["predicted"].equals(told["predicted"])


def test_a_name_is_not_a_position():
    """Users called 10, 11, …: the user called 11 is at position 1."""
    catalogue = dc.Catalogue.of(["7", "5"], dc.Scale(1, 5))
    users = Labels.of(["10", "11"], what="user")
    ratings = dc.Ratings.of_columns(catalogue, users, [0, 0, 1], [0, 1, 1], [5, 5, 1])
    release = dc.Bias().fit(dc.NoPrivacy(ratings))
    expected = release.predict(ratings, [1], [0])
    for pairs in ({"user": ["11"], "item": ["7"]}, {"user": [11], "item": [7]}):
        np.testing.assert_array_equal(release.predict_frame(ratings, pairs)["predicted"].to_numpy(), expected)


def test_no_pairs_no_predictions():
    assert RELEASE.predict_frame(RATINGS, {"user": [], "item": []}).shape == (0, 3)


def test_names_that_are_not_there():
    user, item = RATINGS.users[0], RATINGS.catalogue.items[0]
    with pytest.raises(UnknownNameError, match=r"^row 2 of the pairs names no user that is known$"):
        RELEASE.predict_frame(RATINGS, {"user": [user, "secret-name"], "item": [item, item]})
    with pytest.raises(UnknownNameError, match=r"^row 1 of the pairs: there is no item 'i-nowhere'"):
        RELEASE.predict_frame(RATINGS, {"user": [user], "item": ["i-nowhere"]})
    with pytest.raises(UnknownNameError, match="row 1 of the pairs names no item"):
        RELEASE.predict_frame(RATINGS, {"user": [user], "item": [None]})
    with pytest.raises(UnknownNameError, match="there is no column 'item'; did you mean 'items'"):
        RELEASE.predict_frame(RATINGS, {"user": [user], "items": [item]})
    with pytest.raises(InputError, match="the column 'item' must hold names, as text or whole numbers, not Float64"):
        RELEASE.predict_frame(RATINGS, {"user": [user], "item": [1.0]})
    for pairs in ("42", 42, object()):
        with pytest.raises(InputError, match="pairs must be a frame with the columns 'user' and 'item'"):
            RELEASE.predict_frame(RATINGS, pairs)
    with pytest.raises(InputError, match="ranks items and does not predict ratings"):
        dc.Popularity().fit(dc.NoPrivacy(RATINGS)).predict_frame(RATINGS, {"user": [user], "item": [item]})


# ── Recommending to many ──


@pytest.mark.parametrize("cells", [1, 7 * 30, 10**9])
def test_many_are_served_as_one_by_one(monkeypatch, cells):
    monkeypatch.setattr(scorer_module, "BATCH_CELLS", cells)
    table = RELEASE.recommend_many(RATINGS, k=4)
    assert table.columns == ["user", "rank", "item", "title", "score"]
    expected = [
        (RATINGS.users[position], *row)
        for position in range(RATINGS.n_users)
        for row in RELEASE.recommend(RATINGS.history_at(position), k=4).to_frame().rows()
    ]
    assert [row[:4] for row in table.rows()] == [row[:4] for row in expected]
    np.testing.assert_allclose(table["score"].to_numpy(), [row[4] for row in expected], rtol=1e-5)


def test_who_has_rated_nearly_everything_gets_fewer():
    catalogue = dc.Catalogue.of(["a", "b", "c"], dc.Scale(1, 5), titles=["A", "B", "C"])
    users = Labels.of(["all", "two", "none"], what="user")
    ratings = dc.Ratings.of_columns(catalogue, users, [0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [5, 4, 3, 5, 4])
    table = dc.Popularity().fit(dc.NoPrivacy(ratings)).recommend_many(ratings, k=2)
    assert table["user"].to_list() == ["two", "none", "none"]
    assert table["title"].to_list() == ["B", "A", "C"]
    assert table["rank"].to_list() == [1, 1, 2]
    nobody = (
        dc.Popularity()
        .fit(dc.NoPrivacy(ratings))
        .recommend_many(ratings.select_users(np.zeros(0, dtype=np.int32)), k=2)
    )
    assert nobody.height == 0 and nobody.schema == table.schema


def test_recommendations_as_a_table():
    explained = RELEASE.recommend(RATINGS.history_at(0), k=3, explain=True)
    table = explained.to_frame()
    assert table.columns == ["rank", "item", "title", "score", "because"]
    assert table["because"].to_list() == [[reason.title for reason in row.because] for row in explained]
    assert RELEASE.recommend(RATINGS.history_at(0), k=3).to_frame().columns == ["rank", "item", "title", "score"]


# ── What cannot be asked ──


@pytest.mark.parametrize(("k", "message"), [(0, "at least 1, got 0"), (2.5, "a whole number"), ("3", "a whole number")])
def test_k_is_a_whole_number(k, message):
    with pytest.raises(InputError, match=f"k must be {message}"):
        RELEASE.recommend(RATINGS.history_at(0), k=k)
    with pytest.raises(InputError, match=f"k must be {message}"):
        RELEASE.recommend_many(RATINGS, k=k)


@pytest.mark.parametrize("wrong", ["42", 42, None, {"a": 3}, RATINGS])
def test_recommend_takes_a_history(wrong):
    with pytest.raises(InputError, match=r"recommend takes the History of one user, .*, got \w+$"):
        RELEASE.recommend(wrong)
    with pytest.raises(InputError, match=r"score takes the History of one user, .*, got \w+$"):
        RELEASE.score(wrong)


@pytest.mark.parametrize("wrong", ["ml-100k", None, RATINGS.history_at(0)])
def test_many_histories_are_ratings(wrong):
    ask = [
        lambda: RELEASE.scores(wrong),
        lambda: RELEASE.predict(wrong, [0], [0]),
        lambda: RELEASE.predict_frame(wrong, {"user": [], "item": []}),
        lambda: RELEASE.recommend_many(wrong),
        lambda: next(RELEASE.batches(wrong)),
    ]
    for question in ask:
        with pytest.raises(InputError, match=r"histories must be Ratings, .*, got \w+$"):
            question()


def test_repeated_ratings_are_no_history():
    catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5))
    twice = dc.Ratings.of_columns(catalogue, Labels.of(["u"], what="user"), [0, 0], [0, 0], [1, 2])
    release = dc.Popularity().fit(dc.NoPrivacy(twice.merge("last")))
    with pytest.raises(InputError, match="merge"):
        release.recommend_many(twice)


def test_every_model_serves_many():
    for name in ("bias", "popularity", "cosine", "mf", "ease"):
        model = every_model()[name]()
        release = model.fit(RATINGS if getattr(model, "raw_ratings", False) else dc.NoPrivacy(RATINGS))
        table = release.recommend_many(RATINGS, k=2)
        seen = set(zip(RATINGS.users.names[RATINGS.user_index], RATINGS.item_index.tolist(), strict=True))
        positions = RATINGS.catalogue.items.indices(table["item"].to_list())
        assert not seen & set(zip(table["user"].to_list(), positions.tolist(), strict=True))
