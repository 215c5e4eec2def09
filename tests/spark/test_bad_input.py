"""What is wrong with a data frame is said in one sentence, before anything is spent."""

import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError

from .conftest import RATINGS

ROWS = RATINGS.to_frame().drop("time").head(300)


@pytest.fixture
def frame_of(spark, tmp_path):
    def written(*tables):
        for number, table in enumerate(tables):
            table.write_parquet(tmp_path / f"{number}.parquet")
        return spark.read.parquet(str(tmp_path))

    return written


def read(frame, **settings):
    return dc.from_spark(frame, scale=(1, 5), items=RATINGS.catalogue, partitions=2, **settings)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (pl.col("rating").cast(pl.String), "the column 'rating' of the data frame is of the type string"),
        (pl.col("user").cast(pl.Float64), "the column 'user' of the data frame is of the type double"),
        (pl.col("item").map_elements(lambda one: [one], return_dtype=pl.List(pl.String)), "of the type array<string>"),
    ],
    ids=["rating", "user", "item"],
)
def test_a_column_of_another_type(frame_of, change, sentence):
    with pytest.raises(DataError) as caught:
        read(frame_of(ROWS.with_columns(change)))
    assert sentence in str(caught.value)


def test_a_column_that_is_not_there(frame_of):
    with pytest.raises(DataError, match="the data frame has no column 'stars'; it has user, item, rating"):
        read(frame_of(ROWS), rating="stars")


@pytest.mark.parametrize(
    ("column", "sentence"),
    [("user", "the user is missing"), ("item", "the item is missing"), ("rating", "the rating is missing or not")],
)
def test_nulls(frame_of, column, sentence):
    hole = pl.when(pl.int_range(pl.len()) == 17).then(None).otherwise(pl.col(column)).alias(column)
    with pytest.raises(DataError, match=sentence) as caught:
        read(frame_of(ROWS.with_columns(hole)))
    assert str(caught.value).count(".") <= 1


def test_duplicates_across_files(frame_of):
    frame = frame_of(ROWS, ROWS.tail(1))
    with pytest.raises(DataError, match="this user rated this item before"):
        read(frame)
    assert len(read(frame, repeats="mean")) == len(ROWS)
    with pytest.raises(dc.InputError, match="goes by time, and rows of a data frame have no order"):
        read(frame, repeats="last")


def test_a_rating_outside_the_scale_and_an_item_that_is_not_listed(frame_of):
    with pytest.raises(DataError, match="outside the declared scale 1 to 5"):
        read(frame_of(ROWS.with_columns(pl.lit(9.0).alias("rating"))))
    with pytest.raises(DataError, match="not in the list of items"):
        read(frame_of(ROWS.with_columns(pl.lit("what").alias("item"))))


def test_users_in_two_partitions(frame_of):
    by_item = frame_of(ROWS).repartition(3, "item")
    with pytest.raises(dc.InputError, match="some user has ratings in two partitions of the data frame"):
        read(by_item, shuffle=False)
    by_user = frame_of(ROWS).repartition(3, "user")
    assert len(read(by_user, shuffle=False)) == len(ROWS)


def test_one_user_in_two_spellings(frame_of):
    text = ROWS.with_columns(pl.col("user").cast(pl.String))
    other = text.head(1).with_columns(pl.col("user") + ".0", pl.lit(RATINGS.catalogue.items[79]).alias("item"))
    with pytest.raises(DataError, match=r"written as 1 and as 1\.0"):
        read(frame_of(text, other))


def test_what_is_no_data_frame_and_what_is_empty(spark, frame_of):
    with pytest.raises(dc.InputError, match="dataframe must be a DataFrame of Spark, got Ratings"):
        dc.from_spark(RATINGS, scale=(1, 5))
    with pytest.raises(DataError, match="it holds no rating"):
        read(frame_of(ROWS.clear()))


def test_without_a_list_of_items_nothing_is_proven(frame_of):
    ratings = dc.from_spark(frame_of(ROWS), scale=(1, 5), partitions=2)
    here = dc.from_frame(ROWS, scale=(1, 5))
    assert ratings.catalogue.items.names.tolist() == here.catalogue.items.names.tolist()
    assert not ratings.catalogue.declared
    assert dc.TrustedServer(ratings, dc.Ledger(1.0)).guarantee.proven is None


def test_a_column_called_handling_may_be_somebodys_own(frame_of):
    said = RATINGS.split(test=0.5, seed=1)[0].to_frame()["handling"][0]
    for column, split in (([1], False), ("express", False), (said, True)):
        ratings = read(frame_of(ROWS.with_columns(pl.lit(column).alias("handling"))))
        assert ratings.handling.split == split and len(ratings) == len(ROWS)
