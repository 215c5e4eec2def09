"""What is wrong with a file is said as it is, with the option that would help; no message names a user."""

import os

import polars as pl
import pytest

import discreet as dc
from discreet.errors import InputError

SCALE = ("--scale", "1:5")
ROWS = [("u1", "i1", "5", "978300760"), ("u2", "i2", "3", "978302109")]


@pytest.fixture
def ratings(tmp_path):
    """Ratings with a header, and a column of times that no option names."""
    lines = [("user", "item", "rating", "time"), *ROWS]
    (tmp_path / "r.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    return tmp_path / "r.csv"


def refusal(outcome):
    assert outcome.code == 2 and "Traceback" not in outcome.err and outcome.err.count("\n") == 1
    assert "u1" not in outcome.err
    return outcome.err


def test_items_without_a_header(discreet, ratings, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("i1,Café,Drama|War,27.95\ni2,Tea,War,3\n")
    said = refusal(discreet("data", "describe", ratings, *SCALE, "--items", items))
    assert "or --items-columns must, as in --items-columns item,title,genres" in said and "bars" not in said
    items.write_text("i1,Café,Drama|War\ni2,Tea,War\n")
    said = refusal(discreet("data", "describe", ratings, *SCALE, "--items", items))
    assert "--items-columns names them all" in said and "bars" not in said


def test_items_with_another_name_for_the_item(discreet, ratings, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("sku,name,price\ni1,Tea,3\ni2,Milk,2\n")
    assert "--items-id-column NAME" in refusal(discreet("data", "describe", ratings, *SCALE, "--items", items))
    described = discreet("data", "describe", ratings, *SCALE, "--items", items, "--items-id-column", "sku")
    assert described.code == 0 and "--title-column name" in described.err
    titled = discreet(
        "data", "describe", ratings, *SCALE, "--items", items, "--items-id-column", "sku", "--title-column", "name"
    )
    assert titled.code == 0 and "--title-column" not in titled.err


def test_too_few_names_of_columns(discreet, tmp_path):
    (tmp_path / "r.dat").write_text("".join("::".join(row) + "\n" for row in ROWS))
    said = refusal(discreet("data", "describe", tmp_path / "r.dat", *SCALE, "--columns", "user,item,rating"))
    assert "there are 4 fields where 3 are expected: --columns must name every field" in said


def test_another_separator_than_that_of_the_file(discreet, ratings):
    said = refusal(discreet("data", "describe", ratings, *SCALE, "--separator", "::"))
    assert "it looks separated by commas, where double colons are expected" in said


def test_a_split_by_time_without_times(discreet, ratings):
    assert "--time-column NAME" in refusal(discreet("evaluate", "bias", ratings, *SCALE, "--split", "time"))


def test_a_column_that_is_called_otherwise(discreet, tmp_path):
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("user,item\nu1,i1\n")
    said = refusal(discreet("data", "describe", clicks, *SCALE))
    assert "the columns are user, item; --rating-column NAME" in said and "--implicit" in said
    clicks.write_text("who,item\nu1,i1\n")
    assert "--implicit" not in refusal(discreet("data", "describe", clicks, "--implicit"))


@pytest.mark.parametrize("how", [("--implicit",), SCALE])
@pytest.mark.parametrize("command", [("data", "describe"), ("fit", "popularity")])
def test_clicks_without_a_header_show_no_user(discreet, tmp_path, how, command):
    (tmp_path / "clicks.csv").write_text("u1,i1\nu2,i1\n")
    (tmp_path / "items.csv").write_text("item\ni1\n")
    data = (tmp_path / "clicks.csv", *how, "--items", tmp_path / "items.csv", "--items-public")
    planned = ("--epsilon", 1, "--dry-run", "-o", tmp_path / "out") if command[0] == "fit" else ()
    assert "--columns user,item" in refusal(discreet(*command, *data, *planned))


def test_what_is_no_data_is_not_said_to_have_a_format(discreet, tmp_path):
    (tmp_path / "items.csv").write_text("item\ni1\n")
    options = (*SCALE, "--items", tmp_path / "items.csv")
    said = refusal(discreet("data", "describe", tmp_path, *options))
    assert "holds neither MovieLens nor the Netflix Prize" in said and "name the file" in said
    assert "a device" in refusal(discreet("data", "describe", os.devnull, *options))


def test_columns_as_text_where_a_list_is_meant(ratings, tmp_path):
    (tmp_path / "items.csv").write_text("item,brand,price\ni1,a,3\ni2,b,2\n")
    frame, items = pl.read_csv(ratings), pl.read_csv(tmp_path / "items.csv")
    calls = {
        "features": [
            lambda: dc.from_frame(frame, scale=(1, 5), items=items, features="brand,price"),
            lambda: dc.load(ratings, scale=(1, 5), items=tmp_path / "items.csv", features="brand,price"),
        ],
        "columns": [lambda: dc.load(ratings, scale=(1, 5), columns="user,item,rating,time")],
    }
    for name, every in calls.items():
        for call in every:
            with pytest.raises(InputError, match=f"{name} must be a list of columns"):
                call()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [("--for", "bananas", "'bananas' is not one of 'ratings'"), ("--audience", "many", ""), ("--epsilon", "x", "")],
)
def test_values_of_options_are_refused_in_our_words(discreet, ratings, tmp_path, option, value, words):
    said = refusal(discreet("fit", ratings, *SCALE, option, value, "-o", tmp_path / "out"))
    assert f"invalid value for '{option}'" in said and words in said
    assert "Value error" not in said and "Input should" not in said and "parse string" not in said
