"""What users say of themselves: tables of users, vectors of words, and what is said of files that are wrong."""

import gzip

import numpy as np
import pytest

import discreet as dc
from discreet.data.history import History
from discreet.data.user_file import LARGEST_FIELD, read_users
from discreet.data.word_vectors import (
    FIELDS,
    VOCABULARY,
    WordVectors,
    embed,
    embed_facts,
    hashed_vector,
    installed_glove,
    read_glove,
    word_vectors,
    words_of,
)
from discreet.errors import DataError

RATINGS = dc.synthetic(users=4, items=8, ratings=16, seed=1)


def written(folder, text, name="users.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ── Tables of users ──


def test_facts_go_to_their_users_and_others_have_none(tmp_path):
    path = written(tmp_path, "user,age,gender,occupation\n3,31,F,writer\n1,,M,\n9,20,M,lawyer\n")
    ratings = read_users(path).of(RATINGS)
    assert ratings.user_facts["age"].tolist() == [0, 0, 31, 0]
    assert ratings.user_facts["gender"].tolist() == ["M", "", "F", ""]
    assert ratings.history("3").facts == {"age": 31, "gender": "F", "occupation": "writer"}


def test_tabs_compression_marks_and_other_names_of_columns_are_read(tmp_path):
    text = "\ufeffwho\tage\n1\t20\n\n2\t30\n".encode()
    path = written(tmp_path, gzip.compress(text), "users.tsv.gz")
    facts = read_users(path, user="who")
    assert facts.users == ("1", "2") and facts.columns["age"].tolist() == [20, 30]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty: the first row must name the columns"),
        ("name,age\nann,20\n", "there is no column 'user'; the columns are name, age"),
        ("user;age\nann;20\n", "it looks separated by semicolons"),
        ("1,24\n2,30\n", "the first row must name the columns"),
        ("user,age,age\nann,20,20\n", "row 1: two columns have the same name"),
        ("user,age\nann,20\nann,30\n", "row 3: this user is listed twice"),
        ("user,age\nann,20,5\n", "row 2: expected 2 fields, got 3"),
        ("user,age\n,20\n", "row 2: the user has no name"),
        ("user,age\nann,old\n", "row 2: the age is not a whole number up to 150"),
        ("user,age\nann,-3\n", "row 2: the age is not a whole number"),
        ("user,age\nann,1000\n", "row 2: the age is not a whole number"),
        ("user,age\nann,٣\n", "row 2: the age is not a whole number"),
        (f"user,job\nann,{'x' * (LARGEST_FIELD + 1)}\n", "row 2: a field is longer than 1000 characters"),
        ('user,job\nann,"writer\n', "a quotation mark is not closed"),
        (b"user,job\nann,\xff\xfe\n", "is not UTF-8 text"),
    ],
)
def test_a_bad_table_of_users_is_one_clear_sentence(tmp_path, text, says):
    with pytest.raises(DataError) as raised:
        read_users(written(tmp_path, text))
    message = str(raised.value)
    assert says in message and "\n" not in message
    assert "ann" not in message and "old" not in message  # nothing of anybody's row


def test_a_file_that_is_no_table_is_refused(tmp_path):
    for name, says in (("users.json", "no table of users"), ("none.csv", "no such file")):
        with pytest.raises(DataError, match=says):
            read_users(tmp_path / name)
    with pytest.raises(DataError, match="cannot be read"):
        read_users(written(tmp_path, b"no gzip", "users.csv.gz"))
    with pytest.raises(DataError, match="cannot be read"):
        (tmp_path / "folder.csv").mkdir()
        read_users(tmp_path / "folder.csv")


def test_facts_of_histories_travel_into_ratings():
    catalogue = RATINGS.catalogue
    both = dc.Ratings.of_histories(
        [History.of(catalogue, {}, {"age": 31, "occupation": "writer"}), History.of(catalogue, {"1": 5})]
    )
    assert both.user_facts["age"].tolist() == [31, 0] and both.user_facts["occupation"].tolist() == ["writer", ""]


# ── Words ──


def test_words_of_facts():
    assert words_of("technician/engineer") == ("technician", "engineer") and words_of("K-12 student")[0] == "k"
    assert words_of("M") == ("male",) and words_of(24) == ("24",) and words_of("") == () and words_of(0) == ()


def test_every_word_of_movielens_is_in_the_vocabulary():
    from discreet.data.movielens import OCCUPATIONS

    words = {word for occupation in OCCUPATIONS for word in words_of(occupation) if not word.isdigit()}
    assert words <= set(VOCABULARY) and len(set(VOCABULARY)) == len(VOCABULARY)


def test_vectors_are_in_the_unit_cube_and_depend_on_the_word_alone():
    glove = WordVectors({"writer": np.array([5.0, -3.0, 0.1], dtype=np.float32)}, "GloVe")
    for words in (glove, WordVectors()):
        table = words.table(7)
        assert table.shape == (len(VOCABULARY), 7) and table.min() >= 0 and table.max() <= 1
        assert np.array_equal(table, words.table(7))
    found = embed(["writer", "unheard", ""], glove.table(7))
    assert np.array_equal(found[1], hashed_vector("unheard", 7)) and (found[2] == 0.5).all()
    assert not np.array_equal(found[0], hashed_vector("writer", 7))


def test_the_vector_of_several_words_is_their_mean():
    table = WordVectors().table(5)
    both = embed(["technician/engineer", "technician", "engineer"], table)
    assert both[0] == pytest.approx((both[1] + both[2]) / 2, abs=1e-6)


def test_a_fact_that_nobody_told_is_in_the_middle():
    found = embed_facts({"age": np.array([0, 24], dtype=np.int16)}, 2, WordVectors().table(3))
    assert found.shape == (2, len(FIELDS), 3) and (found[0] == 0.5).all() and not (found[1, 0] == 0.5).all()


def test_glove_is_read_as_text_or_compressed(tmp_path):
    text = b"writer 0.5 -1\nfemale 1 0\n"
    for path in (written(tmp_path, text, "g.txt"), written(tmp_path, gzip.compress(text), "g.txt.gz")):
        found = read_glove(path)
        assert found.name == "GloVe" and found.vectors["writer"].tolist() == [0.5, -1.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is empty: it holds no word"),
        (b"writer 1 2\nfemale 1\n", "row 2: expected 2 numbers after the word, got 1"),
        (b"writer 1 two\n", "row 1: expected a word and numbers"),
        (b"writer\n", "row 1: expected 1 to 4096 finite numbers"),
        (b"writer nan\n", "row 1: expected 1 to 4096 finite numbers"),
        (b"\n", "row 1: expected a word and numbers"),
        (b"\xff\xfe 1 2\n", "row 1: expected a word and numbers"),
    ],
)
def test_a_bad_file_of_words_is_one_clear_sentence(tmp_path, text, says):
    with pytest.raises(DataError) as raised:
        read_glove(written(tmp_path, text, "glove.txt"))
    assert says in str(raised.value) and "\n" not in str(raised.value)


def test_a_missing_or_damaged_file_of_words_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_glove(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_glove(written(tmp_path, gzip.compress(b"writer 1\n" * 999)[:-9], "cut.txt.gz"))


def test_a_file_beside_the_data_sets_is_found(tmp_path, monkeypatch):
    (tmp_path / "glove").mkdir()
    written(tmp_path / "glove", "writer 1 2\n", "glove.6B.50d.txt")
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert word_vectors().name == "GloVe"
    monkeypatch.delenv("DISCREET_DATA")
    assert word_vectors().name == ("hashed" if installed_glove() is None else "GloVe")
