import numpy as np
import pytest

import discreet as dc
from discreet.data import netflix, sources
from discreet.data.netflix import read_netflix, read_netflix_probe
from discreet.errors import DataError

MOVIES = {
    "1": "1488844,3,2005-09-06\n822109,5,2005-05-13\n7,4,2005-01-01\n",
    "2": "7,1,1999-11-11\n",
    "30": "822109,2,2003-02-03\n",
}
TITLES = "1,2003,Dinosaur Planet\n2,NULL,Café, Bar, and More\n30,1999,Other\n"
PROBE = "1:\n7\n822109\n30:\n822109\n"


@pytest.fixture(params=["films", "combined", "folder inside"])
def folder(request, tmp_path):
    if request.param == "combined":
        texts = [f"{movie}:\n{rows}" for movie, rows in MOVIES.items()]
        (tmp_path / "combined_data_1.txt").write_text("".join(texts[:2]))
        (tmp_path / "combined_data_2.txt").write_text("".join(texts[2:]))
    else:
        place = tmp_path / "training_set" if request.param == "folder inside" else tmp_path
        place.mkdir(exist_ok=True)
        for movie, rows in MOVIES.items():
            (place / f"mv_{int(movie):07}.txt").write_text(f"{movie}:\n{rows}")
    (tmp_path / "movie_titles.csv").write_text(TITLES, encoding="latin-1")
    (tmp_path / "probe.txt").write_text(PROBE)
    return tmp_path


def test_reading(folder, zipped):
    for place in (folder, zipped(folder)):
        ratings = dc.load(place)
        assert ratings.users.names.tolist() == ["7", "822109", "1488844"]
        assert ratings.catalogue.items.names.tolist() == ["1", "2", "30"]
        assert ratings.catalogue.titles.tolist() == ["Dinosaur Planet (2003)", "Café, Bar, and More", "Other (1999)"]
        assert ratings.catalogue.years.tolist() == [2003, 0, 1999]
        assert ratings.user_index.tolist() == [0, 0, 1, 1, 2]
        assert ratings.item_index.tolist() == [0, 1, 0, 2, 0]
        assert ratings.values.tolist() == [4, 1, 5, 2, 3]
        day = np.datetime64("2005-01-01", "s").astype(int)
        assert ratings.times[0] == day and ratings.times.dtype == np.int32


def test_the_list_of_films_is_declared_only_if_there_is_one(folder):
    assert read_netflix(folder, items_public=True).catalogue.declared
    assert not read_netflix(folder).catalogue.declared
    (folder / "movie_titles.csv").write_text("1,2003,Dinosaur Planet\n2,NULL,Other\n")
    with pytest.raises(DataError, match=r"\.txt, row 2: the item is not in the list of items"):
        read_netflix(folder)
    (folder / "movie_titles.csv").unlink()
    assert not read_netflix(folder).catalogue.declared


def test_a_film_may_span_blocks(folder, monkeypatch):
    whole = read_netflix(folder)
    monkeypatch.setattr(netflix, "BLOCK", 8)
    monkeypatch.setattr(
        netflix, "record_blocks", lambda file, label, quoted: sources.record_blocks(file, label, quoted=quoted, size=25)
    )
    parts = read_netflix(folder)
    for column in ("user_index", "item_index", "values", "times"):
        assert getattr(whole, column).tolist() == getattr(parts, column).tolist()


def test_the_probe(folder):
    train, probe = read_netflix_probe(folder)
    assert probe.user_index.tolist() == [0, 1, 1] and probe.item_index.tolist() == [0, 0, 2]
    assert probe.values.tolist() == [4, 5, 2] and train.values.tolist() == [1, 3]
    assert train.users is probe.users and train.catalogue is probe.catalogue


def test_a_probe_that_does_not_fit(folder):
    (folder / "probe.txt").write_text(PROBE + "999\n")
    with pytest.raises(DataError, match=r"probe\.txt, row 6: this pair is not among the ratings"):
        read_netflix_probe(folder)
    (folder / "probe.txt").unlink()
    with pytest.raises(DataError, match=r"has no file probe\.txt"):
        read_netflix_probe(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3:\n1,6,2000-01-01\n", r"mv_0000003\.txt, row 2: the rating is outside the declared scale 1 to 5"),
        ("3:\n1,5,2000-01-01\n1,x,2000-01-01\n", r"mv_0000003\.txt, row 3: the rating is missing or not a number"),
        ("3:\n1,5,yesterday\n", r"mv_0000003\.txt, row 2: the time is missing"),
        ("3:\n1,5,2000-01-01,7\n", r"mv_0000003\.txt, row 2: expected user,rating,date"),
        ("3:\n1,5,2000-01-01\n1,4,2000-01-01\n", r"mv_0000003\.txt, row 3: .*before, at .*mv_0000003\.txt, row 2"),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, message):
    (tmp_path / "mv_0000001.txt").write_text("1:\n" + MOVIES["1"])
    (tmp_path / "mv_0000003.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_netflix(tmp_path)


def test_ratings_without_a_heading_and_nothing_at_all(tmp_path):
    (tmp_path / "mv_0000001.txt").write_text("1,5,2000-01-01\n")
    with pytest.raises(DataError, match=r"mv_0000001\.txt, row 1: a rating comes before the first heading"):
        read_netflix(tmp_path)
    (tmp_path / "mv_0000001.txt").write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_netflix(tmp_path)
    (tmp_path / "mv_0000001.txt").unlink()
    with pytest.raises(DataError, match="does not hold the Netflix Prize"):
        read_netflix(tmp_path)


def test_titles_that_are_wrong(folder):
    (folder / "movie_titles.csv").write_text("1,2003,A\nx\n")
    with pytest.raises(DataError, match=r"movie_titles\.csv, row 2: expected movie,year,title"):
        read_netflix(folder)
