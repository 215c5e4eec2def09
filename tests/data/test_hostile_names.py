"""Names that make a reader slow or wrong: a long prefix in common, letters of Latin-1, files without a header."""

import gzip
import random

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.sources import record_blocks
from discreet.kernels import compiling

PREFIX = "p" * 1024
ENDINGS = ("csv", "csv.gz", "parquet", "arrow")


@pytest.fixture(autouse=True)
def kernels_for_few_rows(monkeypatch):
    monkeypatch.setattr(compiling, "FEW_ROWS", 100)


def rows_of(name, users=600, each=3):
    rng = random.Random(1)
    rows = [(name(user), f"Straße {user % 7 + turn}", turn + 1) for user in range(users) for turn in range(each)]
    rng.shuffle(rows)
    return rows


def expected(rows):
    """What is to be read: from a user and an item to the rating."""
    return {(user, item): float(rating) for user, item, rating in rows}


def read(ratings):
    users, items = ratings.users.names.tolist(), list(ratings.catalogue.items.names)
    assert users == sorted(users, key=str.encode)
    order = np.lexsort((ratings.item_index, ratings.user_index))
    assert np.array_equal(order, np.arange(len(ratings)))
    pairs = zip(ratings.user_index.tolist(), ratings.item_index.tolist(), ratings.values.tolist(), strict=True)
    return {(users[user], items[item]): value for user, item, value in pairs}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "name", [lambda user: f"{PREFIX}{user:06d}", lambda user: PREFIX[: user + 1]], ids=["end", "length"]
)
def test_names_with_a_long_beginning_in_common(tmp_path, ending, name):
    rows, path = rows_of(name), tmp_path / f"it.{ending}"
    frame = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "arrow":
        frame.write_ipc(path)
    else:
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    assert read(dc.load(path, scale=(1, 5))) == expected(rows)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_latin_1_without_a_header(tmp_path, ending, end, monkeypatch):
    # Blocks end within names and line ends.
    monkeypatch.setitem(record_blocks.__kwdefaults__, "size", 1000)
    rows, path = rows_of(lambda user: f"Zoë Müller {user} ÿ"), tmp_path / f"it.{ending}"
    content = "".join(f"{user};{item};{rating}{end}" for user, item, rating in rows).encode("latin-1")
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    made = dc.load(path, scale=(1, 5), encoding="latin-1", columns=["user", "item", "rating"])
    assert read(made) == expected(rows)
