"""Reading one's own ratings without the heavy libraries."""

import pytest

import discreet as dc
from discreet.collect.client import read_own_ratings
from discreet.errors import DataError

SCALE = dc.Scale(1, 5)


def written(folder, text: str, name: str = "history.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("history.csv", 'title,rating\n"Good, the Bad (1966)",5\n\nAlien (1979),2.5\n'),
        ("history.csv", '\ufeffRating, Title \n5,"Good, the Bad (1966)"\n2.5,Alien (1979)\n'),
        ("history.tsv", "title\trating\nGood, the Bad (1966)\t5\nAlien (1979)\t2.5\n"),
    ],
)
def test_titles_and_ratings(tmp_path, name, text):
    own = read_own_ratings(written(tmp_path, text, name), SCALE)
    names = [own.catalogue.items[position] for position in own.items]
    assert dict(zip(names, own.values.tolist(), strict=True)) == {"Good, the Bad (1966)": 5, "Alien (1979)": 2.5}


def test_the_public_list_is_the_catalogue(tmp_path):
    items = written(tmp_path, "item,title\n1,A\n2,B\n3,C\n", "items.csv")
    own = read_own_ratings(written(tmp_path, "item,rating\n2,4\n"), SCALE, items)
    assert (len(own.catalogue), own.items.tolist()) == (3, [1])
    with pytest.raises(DataError, match="row 2: the item is not in"):
        read_own_ratings(written(tmp_path, "item,rating\n9,4\n"), SCALE, items)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "row 1: it needs the columns item or title, and rating; it has none"),
        ("item,stars\na,3\n", "row 1: it needs the columns item or title, and rating; it has item, stars"),
        ("item,rating\n", "holds no rating"),
        ("item,rating\na,6\n", "row 2: the rating is outside the scale 1 to 5"),
        ("item,rating\na,nan\n", "row 2: the rating is outside the scale 1 to 5"),
        ("item,rating\na,three\n", "row 2: the rating is missing or not a number"),
        ("item,rating\na,3\n\na,3\n", "row 4: this item was rated before in the same file"),
        ("item,rating\n,3\n", "row 2: the item has no name"),
        ("item,rating\nGood, Bad,3\n", "row 2: expected 2 fields, got 3; quote titles with commas"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_row_without_the_rating(tmp_path, text, sentence):
    with pytest.raises(DataError) as refused:
        read_own_ratings(written(tmp_path, text), SCALE)
    assert sentence in str(refused.value)
    assert "three" not in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "history.csv"))


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_own_ratings(tmp_path / "nowhere.csv", SCALE)
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_own_ratings(tmp_path, SCALE)
    (tmp_path / "latin.csv").write_bytes("item,rating\nAmélie,3\n".encode("latin-1"))
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_own_ratings(tmp_path / "latin.csv", SCALE)
