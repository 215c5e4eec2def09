"""Parquet read a few pages at a time is what polars reads as a whole, and what does not fit is left to polars."""

import datetime
import io
import random
import subprocess
import sys

import polars as pl
import pytest

from discreet.data import parquet_pages
from discreet.data.tables import table_batches
from discreet.data.thrift import Field, Reader, written
from discreet.errors import DataError

ROWS = 3000
ROLES = {"user": "who", "item": "what", "rating": "stars", "time": "when"}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    for name, size in {"PIECE": 2**12, "MOST_ROWS": 500, "TEXT": 2**11, "HEADER": 16}.items():
        monkeypatch.setattr(parquet_pages, name, size)


def frame(rows=ROWS, *, holes=False):
    rng = random.Random(1)
    names = [f"{rng.getrandbits(80):020x}" for _ in range(rows)]
    names[rows // 3 : rows // 3 + 2] = ["x" * 20_000, "ü" * 30]
    columns = {
        "who": names,
        "what": [f"item {rng.randrange(40)}" for _ in range(rows)],
        "stars": [float(rng.randrange(1, 6)) for _ in range(rows)],
        "when": [datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=rng.randrange(10**8)) for _ in range(rows)],
    }
    made = pl.DataFrame(columns)
    holed = pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.all()).name.keep()
    return made.select(holed) if holes else made


def pieces_of(path):
    kinds = pl.scan_parquet(path).collect_schema()
    return list(parquet_pages.batches(path, {name: name for name in kinds}, kinds))


WRITERS = {
    "as polars writes it": {},
    "uncompressed": {"compression": "uncompressed"},
    "small pages": {"compression": "uncompressed", "data_page_size": 1000},
    "many row groups": {"row_group_size": 250},
    "gzip": {"compression": "gzip", "data_page_size": 1000, "statistics": "full"},
}


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("options", WRITERS.values(), ids=WRITERS)
def test_pieces_of_a_file_of_polars_are_the_whole(tmp_path, options, holes):
    written_as, path = frame(holes=holes), tmp_path / "it.parquet"
    written_as.write_parquet(path, **options)
    parts = pieces_of(path)
    assert pl.concat(parts).equals(written_as)
    assert len(parts) > 5 and max(part.height for part in parts) <= 500


ARROW_WRITERS = {
    "as pyarrow writes it": {},
    "version 2 of pages": {"data_page_version": "2.0"},
    "pages after a dictionary that is full": {"dictionary_pagesize_limit": 2000, "data_page_size": 1000},
    "no dictionary": {"use_dictionary": False, "data_page_size": 1000, "compression": "none"},
    "differences": {
        "use_dictionary": False,
        "column_encoding": {
            "who": "DELTA_BYTE_ARRAY",
            "what": "DELTA_LENGTH_BYTE_ARRAY",
            "when": "DELTA_BINARY_PACKED",
        },
    },
    "no type of Arrow": {"store_schema": False},
    "brotli": {"compression": "brotli"},
}


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("options", ARROW_WRITERS.values(), ids=ARROW_WRITERS)
def test_pieces_of_a_file_of_pyarrow_are_the_whole(tmp_path, options, holes):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "it.parquet"
    parquet.write_table(frame(holes=holes).to_arrow(), path, **options)
    assert pl.concat(pieces_of(path)).equals(pl.read_parquet(path))


def test_other_columns_do_not_matter_and_what_is_no_plain_column_is_left_to_polars(tmp_path):
    path = tmp_path / "it.parquet"
    made = frame().with_columns(
        pl.struct("who", "stars").alias("nested"), pl.concat_list("stars", "stars").alias("lists"), kind=pl.col("what")
    )
    made.with_columns(pl.col("kind").cast(pl.Categorical)).select(
        "nested", "who", "lists", "what", "kind", "stars", "when"
    ).write_parquet(path)
    kinds = pl.scan_parquet(path).collect_schema()
    plain = list(parquet_pages.batches(path, {"a": "who", "b": "stars"}, kinds))
    assert pl.concat(plain).equals(made.select(a="who", b="stars"))
    for name in ("nested", "lists", "kind"):
        with pytest.raises(parquet_pages.NotPlain):
            list(parquet_pages.batches(path, {"a": "who", "b": name}, kinds))
    read = [batch for batch, _ in table_batches(path, {"user": "who", "item": "kind"})]
    assert pl.concat(read)["item"].cast(pl.String).equals(made["what"])


def read(path):
    """What is read of a file, or None if it is refused; every batch says where it begins."""
    parts, first = [], 1
    try:
        for batch, where in table_batches(path, ROLES):
            assert where(0) == f"{path}, row {first}"
            parts, first = [*parts, batch], first + batch.height
    except DataError as error:
        assert "damaged" in str(error) or "column" in str(error)
        return None
    return pl.concat(parts)


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_a_damaged_file_is_refused_or_has_all_its_rows(tmp_path, compression):
    sound = io.BytesIO()
    frame(400).write_parquet(sound, compression=compression, row_group_size=150, data_page_size=500)
    content, path, refused = sound.getvalue(), tmp_path / "it.parquet", 0
    rng = random.Random(2)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for case in range(60):
        place = rng.randrange(footer, len(content)) if case % 2 else rng.randrange(4, footer)
        path.write_bytes(content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :])
        found = read(path)
        refused += found is None
        assert found is None or found.height == 400, place
    assert refused > 5


def changed_page(content, field, value):
    """A file in which the first page of its first column says something else, in as many bytes."""
    footer = parquet_pages._footer(io.BytesIO(content))
    at = footer[4].value.values[0][1].value.values[0][3].value[9].value
    reader = Reader(content, at)
    header = reader.record()
    (header[5].value if field == 1 else header)[field] = Field(5, value)
    changed = written(header)
    assert len(changed) == reader.at - at
    return content[:at] + changed + content[reader.at :]


@pytest.mark.parametrize(("field", "value"), [(1, -150), (1, 151), (1, 149), (2, -23_000), (3, -23_000), (3, 23_600)])
def test_a_page_that_contradicts_its_file_is_refused(tmp_path, field, value):
    """With -150 values polars asked for 2^61 bytes and ended the process: so it runs in one of its own."""
    sound, path = io.BytesIO(), tmp_path / "it.parquet"
    frame(150).write_parquet(sound, compression="uncompressed")
    path.write_bytes(changed_page(sound.getvalue(), field, value))
    names = {role: name for role, name in ROLES.items() if role != "time"}
    loading = f"import discreet as dc; dc.load({str(path)!r}, scale=(1, 5), **{names})"
    ran = subprocess.run([sys.executable, "-c", loading], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "DataError" in ran.stderr and "cut off or damaged" in ran.stderr


def test_records_that_are_none_are_refused_after_little_work():
    deep = b"\x1c" * 1000
    long = b"\x19\xf5" + b"\xff" * 8 + b"\x7f"
    for content in (
        b"",
        b"\x15",
        b"\x18\x7f",
        deep,
        long,
        b"\x15" + b"\xff" * 20,
        b"\x1b\x00",
        b"\x19\xf1\xff\xff\x7f" * 3,
    ):
        with pytest.raises(ValueError):
            Reader(content).record()
    record = {3: Field(6, 2**40), 40: Field(8, b"x" * 300), 41: Field(1, True), 42: Field(7, b"12345678")}
    assert Reader(written(record)).record() == record
