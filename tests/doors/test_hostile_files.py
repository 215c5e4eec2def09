"""Hostile files end in a sound result or in one clear sentence: no traceback, no hang, no endless memory."""

import csv
import gzip
import itertools
import os

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.strings import Strings

from ..fuzz import files, text_tables
from ..fuzz.outcome import wrong


def test_every_hostile_file_is_read_or_refused_in_a_sentence(tmp_path):
    bad, counts = wrong(files.cases(tmp_path))
    assert not bad, f"{len(bad)} of {counts.total()}:\n" + "\n".join(bad[:20])
    assert counts.total() > 3000


def test_line_ends_do_not_matter(tmp_path):
    read = []
    for number, end in enumerate(("\n", "\r\n", "\r")):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(text_tables.table(end=end).encode())
        read.append(dc.load(path, scale=(1, 5), time="time"))
    for other in read[1:]:
        assert other.users.names.equals(read[0].users.names) and np.array_equal(other.values, read[0].values)


def test_a_carriage_return_at_the_end_of_a_block(monkeypatch, tmp_path):
    """Blocks of every size, so that a line end falls on every border: none is lost, none counts twice."""
    from discreet.data import sources

    content = ('user,item,rating\r\nann,"te\ra",5\rbob,tea,1\n\r\nzoë,tea,2\r').encode()
    path = tmp_path / "mixed.csv"
    path.write_bytes(content)
    for size in range(1, len(content) + 1):
        monkeypatch.setitem(sources.record_blocks.__kwdefaults__, "size", size)
        ratings = dc.load(path, scale=(1, 5))
        assert ratings.users.names.tolist() == ["ann", "bob", "zoë"]
        assert ratings.catalogue.items.names.tolist() == ["te\ra", "tea"] and ratings.values.tolist() == [5, 1, 2]


def test_rows_are_numbered_behind_empty_lines(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("user,item,rating\n\n\nann,tea,5\n\n\nbob,tea,9\n\n\n\n")
    with pytest.raises(DataError, match="row 7: the rating is outside") as error:
        dc.load(path, scale=(1, 5))
    assert error.value.place == f"{path}, row 7"


def test_no_limit_of_the_library_for_csv_was_raised_for_everybody(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("user,item,rating," + "x" * 200_000 + "\n" + "u" * 200_000 + ",tea,5,1\n")
    assert len(dc.load(path, scale=(1, 5)).users[0]) == 200_000
    assert csv.field_size_limit() == 131_072


def test_a_million_columns_are_refused(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("user,item,rating" + ",x" * 10**6 + "\nann,tea,5" + "," * 10**6 + "\n")
    with pytest.raises(DataError, match="1,000,003 columns"):
        dc.load(path, scale=(1, 5))


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("user,item,rating,rating\nann,tea,5,1\n")
    with pytest.raises(DataError, match="2 columns are named 'rating'"):
        dc.load(path, scale=(1, 5))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([["ann", "tea", 5, 1]], columns=["user", "item", "rating", "rating"])
    with pytest.raises(DataError, match="2 columns are named 'rating'"):
        dc.from_frame(frame, scale=(1, 5))


def test_a_wrong_column_of_items_names_those_that_are_there():
    frame = pl.DataFrame({"user": ["a"], "item": ["b"], "rating": [1]})
    with pytest.raises(DataError, match="no column 'item'; the columns are id, title"):
        dc.from_frame(frame, scale=(1, 5), items=pl.DataFrame({"id": ["b"], "title": ["B"]}))


def test_times_of_every_kind_of_number_are_the_same():
    frame = {"user": ["a", "b"], "item": ["t", "t"], "rating": [1, 2]}
    whole = [86_400, 172_800]
    for kind in (pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Decimal(38, 0), pl.String):
        times = pl.Series(whole).cast(kind)
        assert dc.from_frame(pl.DataFrame(frame | {"t": times}), scale=(1, 5), time="t").times.tolist() == whole
    for unit, per_second in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        times = (pl.Series(whole) * per_second).cast(pl.Datetime(unit))
        assert dc.from_frame(pl.DataFrame(frame | {"t": times}), scale=(1, 5), time="t").times.tolist() == whole


def test_a_zero_byte_at_the_end_makes_another_name(tmp_path):
    names = ["ann", "ann\0", "ann\0\0", "\0"]
    path = tmp_path / "zeros.parquet"
    pl.DataFrame({"user": names, "item": ["t"] * 4, "rating": [1, 2, 3, 4]}).write_parquet(path)
    ratings = dc.load(path, scale=(1, 5))
    assert sorted(ratings.users) == sorted(names)
    assert [ratings.history(name).values.tolist() for name in names] == [[1], [2], [3], [4]]
    assert ratings.to_frame()["user"].to_list() == ratings.users.names.tolist()


def test_memory_follows_the_text_of_names(tmp_path):
    """One name of 1 MB among 200,000 of 30 bytes: what is kept is less than twice the file, and not 200 GB."""
    path = tmp_path / "names.csv"
    with path.open("w") as file:
        file.write("user,item,rating\n")
        file.writelines(f"{number:030d},{number % 50},3\n" for number in range(200_000))
        file.write("x" * 1_000_000 + ",1,5\n")
    ratings = dc.load(path, scale=(1, 5))
    kept = ratings.users.names.nbytes + sum(c.nbytes for c in (ratings.user_index, ratings.item_index, ratings.values))
    assert ratings.n_users == 200_001 and kept < 2 * path.stat().st_size
    capped = dc.Popularity().fit(
        dc.TrustedServer(ratings, dc.Ledger(epsilon=1, delta=1e-6, unit=dc.User(max_ratings=1)))
    )
    assert len(capped.arrays) > 0


@pytest.mark.parametrize("make", [gzip.compress, bytes])
def test_what_is_called_gz_is_unpacked_whatever_the_case(tmp_path, make):
    path = tmp_path / "a.csv.GZ"
    path.write_bytes(make(text_tables.table().encode()))
    if make is gzip.compress:
        assert len(dc.load(path, scale=(1, 5))) == 4
    else:
        with pytest.raises(DataError, match="cannot be unpacked"):
            dc.load(path, scale=(1, 5))


def test_pipes_are_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="a pipe, a socket or a device"):
        dc.load(pipe, scale=(1, 5))


def test_strings_behave_like_an_array_of_them():
    texts = ["ann", "", "zoë", "ann\0", "x" * 3000, "日本"]
    strings, array = Strings.of(texts), np.array(texts, dtype=object)
    rng = np.random.default_rng(1)
    for places in (
        slice(1, 4),
        slice(None, None, -1),
        slice(4, 1),
        np.array([5, 0, 0, 2]),
        rng.random(6) < 0.5,
        [1, 2],
    ):
        assert strings[places].tolist() == array[places].tolist()
    assert strings[-1] == "日本" and strings[np.int32(2)] == "zoë" and len(strings[:0]) == 0
    assert (strings == "ann").tolist() == (array == "ann").tolist()
    assert (strings[::-1] == texts).tolist() == (array[::-1] == array).tolist()
    assert strings.joined(strings[2:4]).tolist() == [*texts, "zoë", "ann\0"]
    again = Strings.of_buffers(strings[1:].bytes, strings[1:].offsets)
    assert again.equals(strings[1:]) and not again.equals(strings)
    letters, starts = strings.code_points()
    assert ["".join(map(chr, letters[a:b])) for a, b in itertools.pairwise(starts)] == texts
