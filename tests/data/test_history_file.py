import pytest

import discreet as dc
from discreet.data.history_file import read_history
from discreet.errors import DataError

CATALOGUE = dc.Catalogue.of(
    ["1", "2", "3"], dc.Scale(1, 5), titles=["Toy Story (1995)", "Good, the Bad, The (1966)", "Up"]
)


def read(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_text(content)
    return read_history(path, CATALOGUE)


def test_by_title_and_by_identifier(tmp_path):
    history = read(tmp_path, 'title,rating\nUp,2\n"Good, the Bad, The (1966)",5\n')
    assert history.items.tolist() == [1, 2] and history.values.tolist() == [5, 2]
    assert read(tmp_path, "rating,item\n4,3\n3,1\n").items.tolist() == [0, 2]
    assert read(tmp_path, "item, rating\n3, 4\n").values.tolist() == [4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r" is empty: it needs the columns item or title, and rating"),
        ("title,rating\n", r" holds no rating"),
        ("title,stars\nUp,2\n", r", row 1: .* the columns item or title, and rating; the columns are title, stars$"),
        ("Up,2\n", r", row 1: it needs the columns item or title, and rating; the first row must name the columns$"),
        ("title;rating\nUp;2\n", r", row 1: it needs .*; it looks separated by semicolons, where commas are expected$"),
        ("Up;2\n", r", row 1: it needs .*; it looks separated by semicolons, where commas are expected$"),
        (
            "title,rating\nUp,2\nToy Stry (1995),3\n",
            r", row 3: there is no item .* did you mean 'Toy Story \(1995\)'",
        ),
        ("title,rating\nUp,two\n", r", row 2: the rating is missing or not a number"),
        ("title,rating\nUp,nan\n", r", row 2: the rating is outside the scale 1 to 5"),
        ("title,rating\nUp,9\n", r", row 2: the rating is outside the scale 1 to 5"),
        ("title,rating\nUp,1\n3,2\n", r", row 3: this item was rated before"),
        ("title,rating\nGood, the Bad, The (1966),1\n", r", row 2: expected 2 fields, got 4; quote titles"),
    ],
)
def test_a_bad_row_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=r"mine\.csv" + message):
        read(tmp_path, content)
