import zipfile

import numpy as np
import pytest

import discreet as dc
from discreet.data.movielens import read_movielens, read_movielens_split, year_of
from discreet.errors import DataError

ALL = ["ml-100k", "ml-1m", "ml-10m", "csv", "recbole"]


def triples(ratings):
    users, items = ratings.users.names, ratings.catalogue.items.names
    times = ratings.times.tolist()
    return [
        (str(users[u]), str(items[i]), v, t)
        for u, i, v, t in zip(ratings.user_index, ratings.item_index, ratings.values.tolist(), times, strict=True)
    ]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_every_format_gives_the_same(movielens, zipped, name, packed):
    folder = movielens(name)
    ratings = dc.load(zipped(folder) if packed else folder)
    # Users and items in order of their numbers, not of their spelling.
    assert ratings.users.names.tolist() == ["1", "2", "10"]
    assert ratings.catalogue.items.names.tolist() == ["1", "2", "10"]
    assert triples(ratings) == [
        ("1", "1", 5, 200),
        ("1", "2", 1, 400),
        ("2", "2", 2, 500),
        ("2", "10", 3, 100),
        ("10", "1", 4, 300),
    ]
    assert ratings.catalogue.titles.tolist() == ["Toy Story (1995)", "Amélie: the Film (2001)", "unknown"]
    assert ratings.catalogue.years.tolist() == [1995, 2001, 0]
    assert ratings.catalogue.genres == ("Action", "Comedy", "Drama")
    assert ratings.catalogue.item_genres.tolist() == [[True, True, False], [False, False, True], [False] * 3]
    halves = name in ("ml-10m", "csv")
    assert ratings.catalogue.scale == (dc.Scale(0.5, 5) if halves else dc.Scale(1, 5))
    assert ratings.user_index.dtype == ratings.item_index.dtype == np.int32
    assert ratings.values.dtype == np.float32 and ratings.times.dtype == np.int32


def test_facts_about_users(movielens):
    facts = read_movielens(movielens("ml-100k")).user_facts
    assert facts["age"].tolist() == [24, 53, 30]
    assert facts["occupation"].tolist() == ["technician", "other", "writer"]
    assert facts["gender"].tolist() == ["M", "F", "M"] and facts["zip_code"].tolist()[2] == "T8H1N"
    assert read_movielens(movielens("ml-1m")).user_facts["occupation"].tolist()[0] == "programmer"
    assert read_movielens(movielens("csv")).user_facts == {}


def test_the_reduced_copy_equals_the_original(movielens):
    original, copy = read_movielens(movielens("ml-100k")), read_movielens(movielens("recbole"))
    assert original.catalogue.fingerprint == copy.catalogue.fingerprint
    assert triples(original) == triples(copy)
    for name, column in original.user_facts.items():
        assert column.tolist() == copy.user_facts[name].tolist()


def test_half_stars(movielens):
    folder = movielens("csv")
    with (folder / "ratings.csv").open("a") as file:
        file.write("10,2,0.5,600\n")
    assert 0.5 in read_movielens(folder).values


def test_unrated_items_stay_in_the_catalogue_and_unlisted_ones_are_refused(movielens):
    folder = movielens("ml-1m")
    with (folder / "movies.dat").open("a") as file:
        file.write("3::Never Seen (1999)::Drama\n")
    catalogue = read_movielens(folder).catalogue
    assert catalogue.items.names.tolist() == ["1", "2", "3", "10"] and not catalogue.declared
    assert read_movielens(folder, items_public=True).catalogue.declared
    with (folder / "ratings.dat").open("a") as file:
        file.write("1::77::4::600\n")
    with pytest.raises(DataError, match=r"ratings\.dat, row 6: the item is not in the list of items"):
        read_movielens(folder)


def test_windows_line_ends(movielens):
    folder = movielens("ml-1m")
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    ratings = read_movielens(folder)
    assert len(ratings) == 5 and ratings.catalogue.genres == ("Action", "Comedy", "Drama")


@pytest.mark.parametrize(
    ("name", "file", "text", "message"),
    [
        ("ml-100k", "u.data", "1\t2\tfive\t1\n", r"u\.data, row 6: the rating is missing or not a number"),
        ("ml-100k", "u.data", "1\t2\tnan\t1\n", r"u\.data, row 6: the rating is missing or not a number"),
        ("ml-100k", "u.data", "1\t10\t6\t1\n", r"u\.data, row 6: the rating is outside the declared scale 1 to 5"),
        ("ml-100k", "u.data", "1\t10\t5\tnoon\n", r"u\.data, row 6: the time is missing"),
        ("ml-100k", "u.data", "1\t10\n", r"u\.data, row 6: there are 2 fields where 4 are expected"),
        ("ml-100k", "u.data", "1\t10\t5\t1\t7\n", r"u\.data, row 6: there are 5 fields where 4 are expected"),
        ("ml-100k", "u.data", "\t10\t5\t1\n", r"u\.data, row 6: the user is missing"),
        ("ml-100k", "u.item", "11|Short\n", r"u\.item, row 4: expected 9 fields, got 2"),
        ("ml-100k", "u.item", "1|A||||1|0|0|0\n", r"u\.item, row 4: the item '1' is listed twice"),
        ("ml-100k", "u.user", "3|old|M|x|1\n", r"u\.user, row 4: the age is not a whole number"),
        ("ml-1m", "ratings.dat", "1::10::0::1\n", r"ratings\.dat, row 6: the rating is outside"),
        ("ml-1m", "movies.dat", "4 no marks\n", r"movies\.dat, row 4: expected item::title::genres"),
        ("ml-1m", "users.dat", "3::M::25::99::1\n", r"users\.dat, row 4: the code of the occupation"),
        ("csv", "ratings.csv", "1,10,,1\n", r"ratings\.csv, row 7: the rating is missing"),
        (
            "csv",
            "ratings.csv",
            "1,10,0,1\n",
            r"ratings\.csv, row 7: the rating is outside the declared scale 0\.5 to 5",
        ),
        ("csv", "movies.csv", "7,x\n", r"movies\.csv, row 5: expected movieId, title and genres"),
    ],
)
def test_a_bad_row_is_named(movielens, name, file, text, message):
    folder = movielens(name)
    with (folder / file).open("a") as handle:
        handle.write(text)
    with pytest.raises(DataError, match=message):
        read_movielens(folder)


def test_a_duplicate_is_named_and_a_repetition_is_kept(movielens):
    folder = movielens("ml-100k")
    with (folder / "u.data").open("a") as file:
        file.write("1\t1\t3\t900\n")
    twice = read_movielens(folder)
    assert len(twice) == 6 and twice.has_repeats
    assert dc.load(folder, repeats="last").history("1").values.tolist() == [3, 1]
    assert dc.load(folder, repeats="mean").history("1").values.tolist() == [4, 1]
    with (folder / "u.data").open("a") as file:
        file.write("1\t1\t2\t200\n")
    with pytest.raises(DataError, match=r"u\.data, row 7: .* at the same time before, at .*u\.data, row 2"):
        read_movielens(folder)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_file(movielens, name):
    folder = movielens(name)
    file = next(
        file for file in folder.iterdir() if file.name in ("u.data", "ratings.dat", "ratings.csv", "ml-100k.inter")
    )
    file.write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_movielens(folder)


def test_missing_columns_and_files(movielens, tmp_path):
    folder = movielens("csv")
    (folder / "ratings.csv").write_text("userId,movieId,stars\n1,1,5\n")
    with pytest.raises(DataError, match=r"ratings\.csv, row 1: there is no column 'rating'; the columns are userId"):
        read_movielens(folder)
    folder = movielens("ml-100k")
    (folder / "u.item").unlink()
    with pytest.raises(DataError, match=r"has no file u\.item"):
        read_movielens(folder)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match="does not hold MovieLens"):
        read_movielens(tmp_path / "nothing")


def test_a_truncated_or_damaged_archive(movielens, zipped):
    archive = zipped(movielens("ml-1m"))
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="is not a whole zip archive"):
        read_movielens(archive)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as made:
        made.writestr("a/ratings.dat", "1::1::5::100\n")
        made.writestr("a/movies.dat", "1::A (1990)::Drama\n")
    archive.write_bytes(archive.read_bytes().replace(b"1::1::5::100", b"1::1::4::100"))  # the checksum is wrong now
    with pytest.raises(DataError, match="is not a whole zip archive"):
        read_movielens(archive)


def test_wrong_encoding(movielens):
    folder = movielens("csv")
    text = (folder / "ratings.csv").read_text()
    (folder / "ratings.csv").write_bytes(text.replace("2,10", "é,10").encode("latin-1"))
    with pytest.raises(DataError, match=r"ratings\.csv, row 2: this is not text in UTF-8"):
        read_movielens(folder)
    (folder / "ratings.csv").write_text(text)
    (folder / "movies.csv").write_text("movieId,title,genres\n1,A,B\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"movies\.csv, row 1: this is not text"):
        read_movielens(folder)


def test_official_splits(movielens):
    folder = movielens("ml-100k")
    lines = (folder / "u.data").read_text().splitlines(keepends=True)
    (folder / "u1.base").write_text("".join(lines[:3]))
    (folder / "u1.test").write_text("".join(lines[3:]))
    train, test = read_movielens_split(folder, "u1")
    assert sorted(t[3] for t in triples(train)) == [100, 200, 300] and sorted(t[3] for t in triples(test)) == [400, 500]
    assert train.catalogue is test.catalogue and train.users is test.users
    with pytest.raises(DataError, match=r"has no file u9\.base"):
        read_movielens_split(folder, "u9")


def test_years():
    assert year_of("Film, The (1999)") == 1999
    assert year_of("Series (2006-2010)") == 2006
    assert year_of("2001: A Space Odyssey") == 0


def test_the_real_one(ml_100k):
    assert (len(ml_100k), ml_100k.n_users, ml_100k.n_items) == (100_000, 943, 1_682)
    assert ml_100k.catalogue.find("Toy Story (1995)") == 0
    assert np.bincount(ml_100k.values.astype(int)).tolist() == [0, 6110, 11370, 27145, 34174, 21201]
    assert len(ml_100k.catalogue.genres) == 18 and not ml_100k.has_repeats
