"""The published splits, against pandas doing the same to files in GroupLens's formats."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InputError, UnknownNameError
from discreet.evaluation.published import _sampled
from discreet.evaluation.published_tables import TABLES, our_rows, published_table

HELD_OUT = 30


def gaps(count: int, rng: np.random.Generator) -> np.ndarray:
    """Increasing numbers with gaps, past 9 and 99: in order of value they are not in order of spelling."""
    return np.cumsum(rng.integers(1, 4, count))


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    """Ratings in halves, in the order of GroupLens's files: by user, then by item, both as numbers."""
    ratings = dc.synthetic(users=260, items=150, ratings=6000, scale=dc.Scale(0.5, 5), step=0.5, seed=4)
    rng = np.random.default_rng(0)
    users, items = gaps(260, rng), gaps(150, rng)
    return pd.DataFrame(
        {
            "userId": users[ratings.user_index],
            "movieId": items[ratings.item_index],
            "rating": ratings.values,
            "timestamp": ratings.times,
        }
    )


@pytest.fixture(scope="module")
def ml_10m(made, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "ml-10M100K"
    folder.mkdir()
    lines = [f"{u}::{i}::{r:g}::{t}\n" for u, i, r, t in made.itertuples(index=False)]
    (folder / "ratings.dat").write_text("".join(lines))
    films = [f"{item}::Film {item} (1990)::Drama|Comedy\n" for item in range(1, 600)]
    (folder / "movies.dat").write_text("".join(films))
    return folder


@pytest.fixture(scope="module")
def ml_20m(made, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "ml-20m"
    folder.mkdir()
    made.to_csv(folder / "ratings.csv", index=False)
    films = ["movieId,title,genres", *(f'{item},"Film, The {item} (1990)",Drama|Comedy' for item in range(1, 600))]
    (folder / "movies.csv").write_text("\n".join([*films, ""]))
    return folder


def triples(ratings: dc.Ratings) -> set[tuple[int, int, float]]:
    users = ratings.users.names[ratings.user_index].astype(int)
    items = ratings.catalogue.items.names[ratings.item_index].astype(int)
    return set(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


def rows_of(frame: pd.DataFrame) -> set[tuple[int, int, float]]:
    return set(frame[["userId", "movieId", "rating"]].itertuples(index=False, name=None))


class TestRatings:
    def test_pandas_draws_the_same(self, made, ml_10m):
        split = next(dc.evaluation.PublishedRatings().splits(dc.load(ml_10m)))
        train = made.sample(frac=0.8, random_state=1234)
        rest = made.drop(train.index)
        validation = rest.sample(frac=0.5, random_state=1234)
        test = rest.drop(validation.index)
        assert triples(split.train) == rows_of(train)
        assert triples(split.test) == rows_of(test)
        assert triples(split.histories) == rows_of(train) | rows_of(validation)

    @pytest.mark.parametrize("count", [1, 5, 7, 10, 15, 1001, 12_345])
    @pytest.mark.parametrize("share", [0.8, 0.5])
    def test_any_size_is_drawn_as_pandas_does(self, count, share):
        expected = pd.Series(np.arange(count)).sample(frac=share, random_state=1234)
        assert np.flatnonzero(_sampled(count, share, 1234)).tolist() == sorted(expected.tolist())

    def test_at_the_size_of_the_table(self):
        count = 10_000_054
        train = _sampled(count, 0.8, 1234)
        others = count - np.count_nonzero(train)
        validation = _sampled(others, 0.5, 1234)
        assert (np.count_nonzero(train), np.count_nonzero(validation)) == (8_000_043, 1_000_006)
        # numpy promises that this stream never changes; these are the first places that it gives.
        first = np.random.RandomState(1234).permutation(count)[:3]
        assert train[first].all()


class TestRanking:
    def expected(self, made: pd.DataFrame) -> tuple[set, set, set]:
        likes = made[made["rating"] > 3.5]
        likes = likes[likes.groupby("userId")["movieId"].transform("size") >= 5]
        people = np.unique(likes["userId"])
        people = people[np.random.RandomState(98765).permutation(len(people))]
        train = likes[likes["userId"].isin(people[: -2 * HELD_OUT])]
        test = likes[likes["userId"].isin(people[-HELD_OUT:]) & likes["movieId"].isin(train["movieId"])]
        history, foreseen = set(), set()
        stream = np.random.RandomState(98765)
        for _, own in test.groupby("userId"):
            drawn = stream.choice(len(own), size=int(0.2 * len(own)), replace=False) if len(own) >= 5 else []
            held = own.iloc[sorted(drawn)]
            foreseen |= rows_of(held)
            history |= rows_of(own.drop(held.index))
        return rows_of(train), history, foreseen

    def test_pandas_draws_the_same(self, made, ml_20m):
        split = next(dc.evaluation.PublishedRanking(held_out=HELD_OUT).splits(dc.load(ml_20m)))
        train, history, foreseen = self.expected(made)
        assert triples(split.train) == train
        assert triples(split.histories) == history
        assert triples(split.test) == foreseen
        assert foreseen and split.histories.n_users == HELD_OUT

    def test_some_user_is_too_short_to_be_tested(self, ml_20m):
        split = next(dc.evaluation.PublishedRanking(held_out=60, at_least=3).splits(dc.load(ml_20m)))
        known, held = np.diff(split.histories.indptr), np.diff(split.test.indptr)
        assert np.array_equal(held, np.where(known + held >= 3, (0.2 * (known + held)).astype(int), 0))
        assert (held == 0).any()

    def test_at_the_size_of_the_table(self):
        """The users of the table with five likings each: who is held out is drawn by numpy's frozen stream."""
        users, items = 136_677, 20_108
        order = np.arange(5 * users)
        ratings = dc.Ratings.of_columns(
            dc.Catalogue.of([str(item) for item in range(items)], dc.Scale(0.5, 5)),
            dc.data.Labels(np.arange(users).astype(np.str_), what="user"),
            order // 5,
            (order // 5 * 7 + 1000 * (order % 5)) % items,
            np.full(len(order), 4.0),
        )
        split = next(dc.evaluation.PublishedRanking().splits(ratings))
        assert (split.train.n_users, split.histories.n_users) == (116_677, 10_000)
        assert (len(split.histories), len(split.test)) == (40_000, 10_000)
        drawn = np.random.RandomState(98765).permutation(users)[-10_000:]
        assert set(split.test.users.names.astype(int).tolist()) == set(drawn.tolist())

    def test_too_few_users_is_said_without_telling_how_many(self):
        with pytest.raises(InputError, match="holds out 20,000 users with at least 5 ratings"):
            next(dc.evaluation.PublishedRanking().splits(dc.synthetic(users=50, items=30, ratings=600, seed=1)))


def test_every_row_has_what_it_reached():
    for name, table in TABLES.items():
        assert table.data == name and published_table(name) is table
        for row in table.rows:
            assert {1.0, 5.0, 10.0, 20.0} <= set(row.reached)
            private = [row.reached[epsilon] for epsilon in (1.0, 5.0, 10.0, 20.0)]
            assert private == sorted(private, reverse=table.metric == "rmse")  # more budget, better figures
    with pytest.raises(UnknownNameError, match="did you mean 'ml-10m'"):
        published_table("ml-100m")


def test_our_rows_are_private_for_users_at_the_delta_of_the_table():
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    results = our_rows({"bias": dc.Bias()}, ratings, published_table("ml-10m"), epsilons=[1.0, None])
    private, exact = results.rows
    assert "epsilon 1, delta 1e-05" in private.guarantee and private.unit == "user"
    assert exact.guarantee is None and exact["rmse"] < private["rmse"]
