"""Columns that become tags: how each was read is said before anything is spent, and one that gives none is refused."""

import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import split_values, tags_of


@pytest.fixture
def odd(tmp_path):
    """Ratings, and items with columns of which not much can be made."""
    (tmp_path / "r.csv").write_text(
        "user,item,rating\n" + "".join(f"u{u},{i},{1 + (u + i) % 5}\n" for u in range(9) for i in range(6))
    )
    lines = ["item,genres,about,empty,const,mixed,tags"]
    lines += [f"{i},{'A|B' if i else 'B'},a fine thing,,same,{i or 'x'},\"['Action', 'Drama']\"" for i in range(6)]
    (tmp_path / "items.csv").write_text("\n".join(lines))
    return (tmp_path / "r.csv", "--scale", "1:5", "--items", tmp_path / "items.csv", "--items-public")


@pytest.mark.parametrize(
    ("feature", "why"),
    [
        ("about:number", "there is no number in it"),
        ("empty", "it is empty"),
        ("mixed:text", "there is no word of three letters"),
    ],
)
def test_a_column_that_gives_no_tags_is_refused_before_anything_is_spent(discreet, odd, tmp_path, feature, why):
    private = ("--epsilon", 1, "--unit", "user", "-o", tmp_path / "out")
    refused = discreet("fit", "bias", *odd, "--features", feature, *private)
    assert refused.code == 2 and f"column '{feature.partition(':')[0]}' gives no tags: {why}" in refused.err
    assert "items.csv" in refused.err and not (tmp_path / "out").exists()
    assert "r.csv" not in discreet("budget").out
    planned = discreet("fit", "bias", *odd, "--features", feature, *private, "--dry-run")
    assert planned.code == 2 and why in planned.err


@pytest.mark.parametrize("command", [("data", "describe"), ("fit", "bias")])
def test_how_each_column_was_read_is_said(discreet, odd, tmp_path, command):
    out = ("-o", tmp_path / "out") if command[0] == "fit" else ()
    outcome = discreet(*command, *odd, "--features", "about:text,const,mixed,tags", *out)
    assert outcome.code == 0, outcome.err
    for words in (
        "genres as a list by bars, 2 tags;",
        "about as text, words in 1 bucket, the same for all items: it tells nothing of them;",
        "const as a list, 1 tag, the same for all items",
        "mixed as a list, 6 tags (most are numbers: mixed:number makes ranges of them);",
        "tags as a list in brackets, 2 tags",
    ):
        assert words in outcome.err


def test_numbers_among_which_is_a_word(discreet, odd):
    outcome = discreet("data", "describe", *odd, "--features", "mixed:number")
    assert "mixed as numbers, 5 ranges, none for 1 item." in outcome.err


def test_genres_are_not_made_tags_twice(discreet, odd, tmp_path):
    assert discreet("fit", "bias", *odd, "--features", "genres,const", "-o", tmp_path / "out").code == 0
    assert dc.Release.load(tmp_path / "out").catalogue.genres == ("A", "B", "const: same")
    outcome = discreet("data", "describe", *odd, "--features", "genres:text")
    assert outcome.code == 2 and "'genres' gives no tags" in outcome.err  # A and B are no words


def test_tags_of_columns_are_not_called_genres(discreet, odd):
    assert "genres   A 5, B 6" in discreet("data", "describe", *odd).out
    described = discreet("data", "describe", *odd, "--features", "const").out
    assert "tags     A 5, B 6, const: same 6" in described and "genres" not in described


def test_lists_as_python_numpy_and_json_write_them():
    texts = ["['Drama', \"It's War\"]", '["Caf\\u00e9", "a, b"]', "['Drama' 'War']", "[Drama, War]", "[]", "", None]
    assert split_values(pl.Series("genres", texts)) == [
        ["Drama", "It's War"],
        ["Café", "a, b"],
        ["Drama", "War"],
        ["Drama", "War"],
        [],
        [],
        [],
    ]
    assert split_values(pl.Series("x", ["[a], b", "c"])) == [["[a]", "b"], ["c"]]
    lists = pl.Series("x", [["blue"], ["red", "blue"], None])
    assert tags_of(lists).how == "x as a list, 2 tags, none for 1 item"
    assert tags_of(lists, "text").how == "x as text, words in 2 buckets, none for 1 item"
    assert not any(tags_of(lists, "number").rows)


def test_in_python_the_catalogue_says_how_its_tags_came_about():
    frame = pl.DataFrame({"user": ["u"], "item": ["a"], "rating": [4]})
    items = pl.DataFrame({"item": ["a", "b"], "price": [1.0, 2.5], "none": ["", None]})
    found = dc.from_frame(frame, scale=(1, 5), items=items, features=["price"])
    assert found.catalogue.tags_from == ("price as numbers, 2 ranges",)
    with pytest.raises(dc.errors.DataError, match="the frame of items: the column 'none' gives no tags: it is empty"):
        dc.from_frame(frame, scale=(1, 5), items=items, features=["none"])
