import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data import sources, text
from discreet.data.tables import read_catalogue, read_table
from discreet.errors import DataError, InputError

SCALE = dc.Scale(1, 5)
FRAME = pl.DataFrame(
    {
        "who": ["bob", "ann", "ann", "cyd"],
        "what": [10, 9, 10, 9],
        "stars": [3.0, 5.0, 1.5, 4.0],
        "when": [30, 20, 10, 40],
        "note": ["a,b", 'say "x"', "two\nlines", ""],
    }
)
COLUMNS = {"user": "who", "item": "what", "rating": "stars"}
ITEMS = pl.DataFrame(
    {
        "what": [9, 10, 11],
        "title": ["Nine (1999)", "Ten", "Eleven"],
        "genres": ["Drama|War", "(no genres listed)", "War"],
    }
)


def check(ratings, *, timed=True):
    assert ratings.users.names.tolist() == ["ann", "bob", "cyd"]
    assert ratings.catalogue.items.names.tolist()[:2] == ["9", "10"]
    assert ratings.user_index.tolist() == [0, 0, 1, 2] and ratings.item_index.tolist() == [0, 1, 1, 0]
    assert ratings.values.tolist() == [5, 1.5, 3, 4]
    assert (ratings.times.tolist() if timed else ratings.times) == ([20, 10, 30, 40] if timed else None)


@pytest.fixture(params=["csv", "tsv", "csv.gz", "parquet", "arrow", "feather"])
def file(request, tmp_path):
    path = tmp_path / f"ratings.{request.param}"
    match request.param:
        case "csv":
            FRAME.write_csv(path)
        case "tsv":
            FRAME.write_csv(path, separator="\t")
        case "csv.gz":
            path.write_bytes(gzip.compress(FRAME.write_csv().encode()))
        case "parquet":
            FRAME.write_parquet(path)
        case _:
            FRAME.write_ipc(path)
    return path


def test_files(file):
    check(dc.load(file, scale=SCALE, time="when", **COLUMNS))
    check(dc.load(str(file), scale=(1, 5), **COLUMNS), timed=False)


def test_small_blocks_give_the_same(tmp_path, monkeypatch):
    path = tmp_path / "ratings.csv"
    FRAME.write_csv(path)
    for size in (1, 7, 30):
        monkeypatch.setattr(
            text,
            "record_blocks",
            lambda f, label, quoted, n=size: sources.record_blocks(f, label, quoted=quoted, size=n),
        )
        check(read_table(path, scale=SCALE, time="when", **COLUMNS))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_of_items(tmp_path, ending):
    FRAME.write_csv(tmp_path / "ratings.csv")
    path = tmp_path / f"items.{ending}"
    if ending in ("csv", "tsv"):
        ITEMS.write_csv(path, separator="," if ending == "csv" else "\t")
    else:
        (ITEMS.write_parquet if ending == "parquet" else ITEMS.write_ipc)(path)
    ratings = dc.load(tmp_path / "ratings.csv", scale=SCALE, time="when", items=path, **COLUMNS)
    check(ratings)
    catalogue = ratings.catalogue
    assert catalogue.items.names.tolist() == ["9", "10", "11"] and catalogue.titles.tolist()[0] == "Nine (1999)"
    assert catalogue.genres == ("Drama", "War") and catalogue.years.tolist() == [1999, 0, 0]
    assert catalogue.item_genres.tolist() == [[True, True], [False, False], [False, True]]


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pandas object", "pandas category", "pyarrow", "batch"])
def test_frames(kind):
    frames = {
        "polars": lambda: FRAME,
        "lazy": FRAME.lazy,
        "pandas": lambda: pd.DataFrame({name: FRAME[name].to_list() for name in FRAME.columns}),
        "pandas object": lambda: pd.DataFrame({name: FRAME[name].to_list() for name in FRAME.columns}, dtype=object),
        "pandas category": lambda: pd.DataFrame({name: FRAME[name].to_list() for name in FRAME.columns}).astype(
            {"who": "category", "when": "datetime64[s]"}
        ),
        "pyarrow": lambda: pa.table(FRAME.to_arrow()),
        "batch": lambda: pa.table(FRAME.to_arrow()).combine_chunks().to_batches()[0],
    }
    check(dc.from_frame(frames[kind](), scale=SCALE, time="when", **COLUMNS))


def test_frames_of_items():
    for items in (ITEMS, pd.DataFrame({name: ITEMS[name].to_list() for name in ITEMS.columns}), ITEMS.to_arrow()):
        catalogue = dc.from_frame(FRAME, scale=SCALE, items=items, **COLUMNS).catalogue
        assert catalogue.titles.tolist() == ["Nine (1999)", "Ten", "Eleven"] and catalogue.genres == ("Drama", "War")
    listed = ITEMS.with_columns(pl.col("genres").str.split("|"), year=pl.Series([2001, None, 7]))
    catalogue = dc.from_frame(FRAME, scale=SCALE, items=listed, **COLUMNS).catalogue
    assert catalogue.genres == ("Drama", "War") and catalogue.years.tolist() == [2001, 0, 7]


def test_whole_numbers_that_pandas_made_floating_point():
    frame = pd.DataFrame({"user": [1.0, 2.0], "item": [7, 7], "rating": [1, 2]})
    assert dc.from_frame(frame, scale=SCALE).users.names.tolist() == ["1", "2"]
    frame.loc[1, "user"] = np.nan
    with pytest.raises(DataError, match="the frame, row 2: the user is missing"):
        dc.from_frame(frame, scale=SCALE)


def test_times_as_dates():
    frame = {"user": ["a"], "item": ["b"], "rating": [1]}
    for times in (
        ["1970-01-02"],
        ["1970-01-02 00:00:00"],
        pl.Series(["1970-01-02"]).str.to_date(),
        ["86400.0"],
        [86400],
    ):
        ratings = dc.from_frame(pl.DataFrame(frame | {"t": times}), scale=SCALE, time="t")
        assert ratings.times.tolist() == [86400]
    late = dc.from_frame(pl.DataFrame(frame | {"t": [2**40]}), scale=SCALE, time="t")
    assert late.times.dtype == np.int64


def test_names_that_look_like_numbers_keep_their_zeros(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n007,1,5\n7,1,4\n")
    assert dc.load(tmp_path / "r.csv", scale=SCALE).users.names.tolist() == ["007", "7"]


def test_neither_pandas_nor_pyarrow_is_imported():
    code = (
        "import discreet as dc, polars as pl, sys;"
        "dc.from_frame(pl.DataFrame({'user': [1], 'item': [1], 'rating': [1]}), scale=dc.Scale(1, 5));"
        "assert not {'pandas', 'pyarrow', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("user,item,rating\n", "is empty: it holds no rating"),
        ("user,item,stars\na,b,1\n", "row 1: there is no column 'rating'; the columns are user, item, stars"),
        ("user,item,rating\na,b,1\na,c,good\n", "row 3: the rating is missing or not a number"),
        ("user,item,rating\na,b,NaN\n", "row 2: the rating is missing or not a number"),
        ("user,item,rating\na,b,inf\n", "row 2: the rating is missing or not a number"),
        ("user,item,rating\na,b,1\n\na,c,\n", "row 4: the rating is missing or not a number"),
        ("user,item,rating\na,b,1\na,c,5.5\n", "row 3: the rating is outside the declared scale 1 to 5"),
        (
            "user,item,rating\na,b,1\nc,b,2\na,b,3\n",
            "row 4: this user rated this item before, at .*, row 2; .*repeats='last'$",
        ),
        ("user,item,rating\na,b,1,2\n", "row 2: there are 4 fields where 3 are expected"),
        ("user,item,rating\n,b,1\n", "row 2: the user is missing"),
        ("user,item,rating\na,,1\n", "row 2: the item is missing"),
        ('user,item,rating\na,"b,1\nc,d,2\n', "row [23]"),
    ],
)
def test_a_bad_row_is_named(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=r"bad\.csv.*" + message) as caught:
        dc.load(path, scale=SCALE)
    assert "\n" not in str(caught.value)


WIDE = "user,item,note,rating,other\n"  # two columns that nobody asks for


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ann,tea,nice,5,x,y\n", "there are 6 fields where 5 are expected"),
        ("ann,tea,so,nice,5,x\n", "there are 6 fields where 5 are expected"),  # a comma without quotes: a rating moved
        ("ann,tea,1,5,x,\n", "there are 6 fields where 5 are expected"),
        ("tea,nice,5,1\n", "there are 4 fields where 5 are expected"),  # all of it one column to the left
        ('"a\n,n",tea,nice,5\n', "there are 4 fields where 5 are expected"),
        ("ann\n", "there is 1 field where 5 are expected"),
        (",,,,x\n", "the user is missing"),
    ],
)
@pytest.mark.parametrize("more", ["", "bob,tea,,4,\n"])
@pytest.mark.parametrize("break_", ["\n", "\r\n"])
def test_a_row_of_another_width_is_refused_also_beside_columns_that_are_not_used(tmp_path, row, message, more, break_):
    path = tmp_path / "wide.csv"
    rows = f'{WIDE}bob,milk,"a, ""b""\nc",1,\n\n{row}{more}'
    path.write_text(rows.replace("\n", break_), newline="")
    with pytest.raises(DataError, match=rf"wide\.csv, row 4: {message}$"):
        dc.load(path, scale=SCALE)


def test_empty_fields_and_empty_rows_are_no_fault(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(f'{WIDE}bob,milk,,1,\n\n,,,,\nann,"a, b\n",,2,\n\n\n')
    ratings = dc.load(path, scale=SCALE)
    assert ratings.values.tolist() == [2, 1] and list(ratings.catalogue.items) == ["a, b\n", "milk"]


@pytest.mark.parametrize("name", ["r.csv", "r.tsv"])
def test_a_first_row_that_is_a_rating_is_in_no_message(tmp_path, name):
    mark = "," if name == "r.csv" else "\t"
    for row in (["ann-secret", "tea", "5"], ["ann-secret", "tea", " 4.5"], ["ann-secret", "tea", "-1"]):
        (tmp_path / name).write_text(mark.join(row) + "\n")
        with pytest.raises(DataError, match=r"row 1: there is no column 'user'; the first row must name the columns$"):
            dc.load(tmp_path / name, scale=SCALE)
    frame = pd.read_csv(tmp_path / name, sep=mark)
    with pytest.raises(DataError, match=r"the frame: there is no column 'user'; the first row must name the columns$"):
        dc.from_frame(frame, scale=SCALE)
    pl.DataFrame({"ann-secret": [1], "5": [2]}).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match=r"r\.parquet: there is no column 'user'; the first row must name the columns$"):
        dc.load(tmp_path / "r.parquet", scale=SCALE)


def test_the_first_row_tells_the_separator(tmp_path):
    for mark in (";", "|", "\t", "::", ","):
        for name in ("r.csv", "r.dat", "r.txt", "r.tsv"):
            (tmp_path / name).write_text(f"user{mark}item{mark}rating\nann{mark}tea{mark}5\n")
            assert len(dc.load(tmp_path / name, scale=SCALE)) == 1
    for first in ("ann;tea;5", "ann;tea;4,5"):
        (tmp_path / "r.csv").write_text(f"{first}\nann;tea;5\n")
        with pytest.raises(
            DataError, match=r"row 1: there is no column 'user'; (it looks separated by|the first)"
        ) as got:
            dc.load(tmp_path / "r.csv", scale=SCALE)
        assert "ann" not in str(got.value)


def test_spaces_after_commas(tmp_path):
    (tmp_path / "r.csv").write_text("user, item, rating, time\nann, tea, 5, 7\nbob, milk, 4, 8\n")
    (tmp_path / "items.csv").write_text("item, title\ntea, Green Tea\nmilk, Milk\n")
    ratings = dc.load(tmp_path / "r.csv", scale=SCALE, time="time", items=tmp_path / "items.csv")
    assert list(ratings.catalogue.items) == ["tea", "milk"] and list(ratings.catalogue.titles) == ["Green Tea", "Milk"]
    assert ratings.values.tolist() == [5, 4] and ratings.times.tolist() == [7, 8]


# ── The list of items: declared, or read off the ratings ──


def test_the_catalogue_says_whether_it_was_read_off_the_ratings(tmp_path):
    FRAME.write_csv(tmp_path / "r.csv")
    ITEMS.write_csv(tmp_path / "items.csv")
    assert not dc.load(tmp_path / "r.csv", scale=SCALE, **COLUMNS).catalogue.declared
    assert not dc.from_frame(FRAME, scale=SCALE, **COLUMNS).catalogue.declared
    for said in (False, True):  # that a list is public cannot be seen from it: whoever made it has to say so
        listed = {"items_public": said, **COLUMNS}
        loaded = dc.load(tmp_path / "r.csv", scale=SCALE, items=tmp_path / "items.csv", **listed)
        assert loaded.catalogue.declared is said
        assert dc.from_frame(FRAME, scale=SCALE, items=ITEMS, **listed).catalogue.declared is said
        assert read_catalogue(tmp_path / "items.csv", SCALE, "what", items_public=said).declared is said
    assert dc.synthetic(users=5, items=8, ratings=20, seed=1).catalogue.declared
    parts = dc.from_frame(FRAME, scale=SCALE, **COLUMNS).split(test=0.5, seed=1)
    assert not any(part.catalogue.declared for part in parts)


def test_a_rating_of_an_item_that_is_not_listed_is_refused(tmp_path):
    FRAME.write_csv(tmp_path / "r.csv")
    ITEMS.filter(pl.col("what") != 9).write_csv(tmp_path / "items.csv")
    with pytest.raises(DataError, match=r"r\.csv, row 3: the item is not in the list of items; add it there, or"):
        dc.load(tmp_path / "r.csv", scale=SCALE, items=tmp_path / "items.csv", **COLUMNS)
    for items in (ITEMS.filter(pl.col("what") != 9), ITEMS.head(0)):
        with pytest.raises(DataError, match=r"the frame, row [12]: the item is not in the list of items"):
            dc.from_frame(FRAME, scale=SCALE, items=items, **COLUMNS)


@pytest.mark.parametrize("who", ["ann", "bob", "cyd"])
def test_no_user_changes_a_catalogue_that_was_declared(who):
    everyone = dc.from_frame(FRAME, scale=SCALE, items=ITEMS, **COLUMNS)
    others = dc.from_frame(FRAME.filter(pl.col("who") != who), scale=SCALE, items=ITEMS, **COLUMNS)
    assert others.catalogue.fingerprint == everyone.catalogue.fingerprint
    assert others.n_items == everyone.n_items == len(ITEMS)
    for name, column in everyone.catalogue.columns().items():
        assert np.array_equal(column, others.catalogue.columns()[name])


def test_a_quote_that_never_closes_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_RECORD", 100)
    path = tmp_path / "bad.csv"
    path.write_text('user,item,rating\na,"b,1\n' + "a,c,1\n" * 50)
    with pytest.raises(
        DataError, match=r"bad\.csv, row 2: a quote that is opened here or further down is never closed"
    ):
        dc.load(path, scale=SCALE)


def test_encodings(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes("user,item,rating\na,b,1\né,b,1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"bad\.csv, row 3: this is not text in UTF-8"):
        dc.load(path, scale=SCALE)
    path.write_text("user,item,rating\na,b,1\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"bad\.csv, row 1: this is not text in UTF-8"):
        dc.load(path, scale=SCALE)
    path.write_text("user,item,rating\né,b,1\n", encoding="utf-8-sig")
    assert dc.load(path, scale=SCALE).users.names.tolist() == ["é"]


def test_repeats_without_times_can_be_merged(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("user,item,rating\na,b,1\na,b,4\na,b,4\n")
    assert dc.load(path, scale=SCALE, repeats="last").values.tolist() == [4]
    assert dc.load(path, scale=SCALE, repeats="mean").values.tolist() == [3]
    assert dc.load(path, scale=SCALE, repeats="recency").values.tolist() == [3.5]
    with pytest.raises(InputError, match="repeats must be 'keep', 'last', 'mean' or 'recency', got 'first'"):
        dc.load(path, scale=SCALE, repeats="first")


def test_damaged_files_and_other_endings(tmp_path):
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_bytes(b"no such thing" * 9)
        with pytest.raises(DataError, match=f"{name} cannot be read as"):
            dc.load(tmp_path / name, scale=SCALE)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match=f"{name} is empty"):
            dc.load(tmp_path / name, scale=SCALE)
    FRAME.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: there is no column 'user'; the columns are who, what"):
        dc.load(tmp_path / "b.parquet", scale=SCALE)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"user,item,rating\na,b,1\n" * 99)[:-20])
    with pytest.raises(DataError, match=r"c\.csv\.gz is damaged or cut off"):
        dc.load(tmp_path / "c.csv.gz", scale=SCALE)
    (tmp_path / "d.xls").write_text("x")
    with pytest.raises(DataError, match=r"d\.xls is in no format"):
        dc.load(tmp_path / "d.xls", scale=SCALE)
    with pytest.raises(DataError, match=r"there is no file or folder .*e\.csv"):
        dc.load(tmp_path / "e.csv", scale=SCALE)


def test_the_scale_must_be_declared(tmp_path):
    FRAME.write_csv(tmp_path / "r.csv")
    with pytest.raises(InputError, match=r"does not say its rating scale: declare it, for example scale=Scale\(1, 5\)"):
        dc.load(tmp_path / "r.csv")
    with pytest.raises(InputError, match="scale must be declared as a Scale"):
        dc.from_frame(FRAME, scale="1:5")


def test_frames_that_are_wrong():
    with pytest.raises(InputError, match="takes a frame of polars, pandas or pyarrow, got list"):
        dc.from_frame([1, 2], scale=SCALE)
    with pytest.raises(DataError, match="the frame: there is no column 'user'; the columns are who, what"):
        dc.from_frame(FRAME, scale=SCALE)
    with pytest.raises(DataError, match="the frame is empty"):
        dc.from_frame(FRAME.head(0), scale=SCALE, **COLUMNS)
    with pytest.raises(DataError, match="the frame, row 2: the rating is missing or not a number"):
        dc.from_frame(FRAME.with_columns(stars=pl.Series([1.0, None, 2.0, 3.0])), scale=SCALE, **COLUMNS)
    with pytest.raises(DataError, match="the frame of items, row 2: this item is listed twice"):
        dc.from_frame(FRAME, scale=SCALE, items=pl.DataFrame({"what": [9, 9]}), **COLUMNS)
    with pytest.raises(DataError, match="the frame of items: there is no column 'what'"):
        dc.from_frame(FRAME, scale=SCALE, items=pl.DataFrame({"id": [9, 9]}), **COLUMNS)


@pytest.mark.parametrize(
    "own",
    [[[1], [2], [3], [4]], [b"\xff", b"a", b"b", b"c"], [{"a": 1}] * 4, pl.Series([1, 2, 3, 4]).cast(pl.Duration)],
    ids=["lists", "bytes", "structs", "durations"],
)
def test_a_column_called_handling_of_any_kind_may_be_somebodys_own(tmp_path, own):
    frame = FRAME.with_columns(handling=pl.Series(own))
    frame.write_parquet(tmp_path / "r.parquet")
    check(dc.load(tmp_path / "r.parquet", scale=SCALE, **COLUMNS, time="when"))
    for kind in (frame, frame.to_arrow(), frame.to_pandas()):
        check(dc.from_frame(kind, scale=SCALE, **COLUMNS, time="when"))


def test_of_two_columns_called_handling_nobody_knows_which_is_meant():
    twice = FRAME.with_columns(pl.lit("discreet: split=True").alias("handling")).to_arrow()
    twice = twice.append_column("handling", twice["handling"])
    rows = zip(*(column.to_pylist() for column in twice.columns), strict=True)
    for kind in (twice, pd.DataFrame(list(rows), columns=twice.column_names)):
        ratings = dc.from_frame(kind, scale=SCALE, **COLUMNS)
        assert ratings.handling.unmarked and not ratings.handling.split
