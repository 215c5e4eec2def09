import pytest

import discreet as dc
from discreet.cli.histories import read_history
from discreet.errors import InputError

CATALOGUE = dc.Catalogue.of(["10", "20", "30"], dc.Scale(1, 5), titles=["Amélie, again", "Brazil", "Casablanca"])


def read(folder, content):
    path = folder / "own.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_history(path, CATALOGUE)


@pytest.mark.parametrize(
    "content",
    [
        'item,rating\nCasablanca,4\n"Amélie, again",5\n',
        "rating\titem\n4\tCasablanca\n5\tAmélie, again\n",
        "item,when,rating\r\n30,monday,4.0\r\n10,tuesday,5\r\n\r\n",
        "\ufeffitem, rating\n30, 4\n10, 5",
    ],
)
def test_reads_titles_and_identifiers(tmp_path, content):
    history = read(tmp_path, content)
    assert history.items.tolist() == [0, 2]
    assert history.values.tolist() == [5, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "own.csv is empty: a history has the columns item and rating"),
        ("item,rating\n", "own.csv holds no ratings"),
        ("item,stars\nBrazil,4\n", "own.csv has no column 'rating': a history has the columns item and rating"),
        ("item,rating\nBrazil,4\nBrasil,5\n", "own.csv, row 3: there is no item 'Brasil'; did you mean 'Brazil'?"),
        ("item,rating\nBrazil,good\n", "own.csv, row 2: the rating is not a number"),
        ("item,rating\nBrazil,nan\n", "own.csv, row 2: the rating is not a number"),
        ("item,rating\nBrazil,6\n", "own.csv, row 2: the rating is outside the scale 1 to 5"),
        ("item,rating\nBrazil,inf\n", "own.csv, row 2: the rating is outside the scale 1 to 5"),
        ("item,rating\nBrazil,4\n20,4\n", "own.csv, row 3: the item was already rated in an earlier row"),
        ("item,rating\nBrazil\n", "own.csv, row 2: 1 cells under 2 column names"),
        ("item,rating\nAmélie, again,5\n", "own.csv, row 2: 3 cells under 2 column names"),
        ("item,rating\nAmélie,5\n".encode("latin-1"), "own.csv is not text in UTF-8"),
    ],
)
def test_says_what_is_wrong_and_where(tmp_path, content, message):
    with pytest.raises(InputError) as refused:
        read(tmp_path, content)
    assert str(refused.value) == f"{tmp_path}/{message}"


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_history(tmp_path / "nowhere.csv", CATALOGUE)
    with pytest.raises(InputError, match="cannot be read"):
        read_history(tmp_path, CATALOGUE)
