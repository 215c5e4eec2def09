"""Numbers for names, beside a dictionary: whatever bytes they are made of."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import name_table
from discreet.data.growing import Growing
from discreet.data.name_table import NameTable
from discreet.data.numbering import Numbering
from discreet.errors import DataError
from discreet.kernels import naming

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
ALIKE = st.builds(lambda length, end: "x" * length + end, st.integers(0, 40), st.sampled_from(["", "\0", "\0\0", "a"]))
DIGITS = st.builds(lambda value, width: str(value).zfill(width), st.integers(0, 60), st.integers(1, 19))
ENDS = st.sampled_from(["", ".0", ".00", ".", ".5"])
FLOATS = st.builds(lambda value, end: f"{value}{end}", st.integers(0, 20), ENDS)
NAMES = st.sampled_from([TEXT, ALIKE, DIGITS, FLOATS]).flatmap(lambda kind: st.lists(kind, max_size=120))


@given(
    names=NAMES,
    known=NAMES,
    pieces=st.integers(1, 50),
    joined=st.sampled_from([1, 30, 2**20]),
    short=st.sampled_from([0, 200, name_table.SHORT]),
)
def test_numbers_are_those_of_a_dictionary(names, known, pieces, joined, short):
    """Also where a table grows, 4 bytes are too few for where a name begins, names come in pieces, and move to their
    places a slice at a time."""
    known = list(dict.fromkeys(known))
    expected = {name: number for number, name in enumerate(known)}
    table, few = NameTable(), Numbering(known)
    table._slots = np.zeros(2, dtype=np.int32)
    whole = name_table.JOINED, name_table.SHORT
    name_table.JOINED, name_table.SHORT = joined, short
    try:
        table.encode(pl.Series(known, dtype=pl.String))
        for first in range(0, len(names), pieces):
            some = pl.Series(names[first : first + pieces], dtype=pl.String)
            found = table.encode(some)
            assert found.tolist() == [expected.setdefault(name, len(expected)) for name in some]
            assert few.encode(some).tolist() == found.tolist()
        asked = pl.Series([*names, "nobody", ""], dtype=pl.String)
        assert table.find(asked).tolist() == [expected.get(name, -1) for name in asked]
        assert few.knows(asked).tolist() == [name in expected for name in asked]
        try:
            few.refuse_two_spellings("user", "it")
            assert not table.has_two_spellings()
        except DataError:
            assert table.has_two_spellings()
        ordered, renumber = table.finish(len(known))
    finally:
        name_table.JOINED, name_table.SHORT = whole
    by_polars, places = few.finish()
    assert ordered.equals(by_polars)
    np.testing.assert_array_equal(renumber, places)
    new = list(expected)[len(known) :]
    digits = all(1 <= len(name) <= 18 and name.isascii() and name.isdigit() for name in new)
    new.sort(key=lambda name: (int(name) if digits else 0, name.encode()))
    assert ordered.tolist() == [*known, *new]
    assert [ordered[int(place)] for place in renumber] == list(expected)


@given(names=st.lists(st.binary(max_size=60), unique=True), key=st.binary(min_size=16, max_size=16))
def test_any_bytes_get_their_own_number_whatever_the_key(names, key):
    """Neither the key nor whether bytes are text changes a number."""
    rows = np.frombuffer(b"".join(names) or b"\0", dtype=np.uint8)
    bounds = np.cumsum([0, *map(len, names)], dtype=np.int64)
    table = np.zeros(256, dtype=np.int32)
    content, starts = np.zeros(len(rows), dtype=np.uint8), np.zeros(len(names) + 1, dtype=np.int64)
    numbers = np.full(len(names), -1, dtype=np.int32)
    words = np.frombuffer(key, dtype=np.uint64)
    row, size = naming.number(rows, bounds, 0, table, content, starts, 0, words, numbers)
    assert (row, size) == (len(names), len(names))
    assert numbers.tolist() == list(range(len(names)))
    np.testing.assert_array_equal(starts, bounds)
    order = np.arange(len(names), dtype=np.int32)
    naming.sort_names(content, starts, order, False, words[:1] | np.uint64(1))
    assert [names[place] for place in order] == sorted(names)


@pytest.mark.parametrize("count", [3, 5000])
def test_names_that_differ_far_behind_are_in_order(count):
    names = [f"{'same ' * 200}{number * 7919 % count}" for number in range(count)]
    table = NameTable()
    table.encode(pl.Series(names))
    ordered, _ = table.finish(0)
    assert ordered.tolist() == sorted(names)


def test_the_hash_is_siphash():
    """With the key of its authors, of 0 to 8 bytes; the first is the value of an empty text in their list."""
    key = np.arange(16, dtype=np.uint8).view(np.uint64)
    content = np.arange(64, dtype=np.uint8)
    assert int(naming.siphash(content, 0, 0, key)) == 0xABAC0158050FC4DC
    assert len({int(naming.siphash(content, 0, size, key)) for size in range(64)}) == 64
    assert naming.siphash(content, 8, 20, key) == naming.siphash(content[8:].copy(), 0, 12, key)


def test_a_column_grows_and_shrinks_beside_whoever_looks_at_it():
    column = Growing(np.int32)
    column.append(np.arange(40_000, dtype=np.int32))
    seen = column.array
    column.append(np.arange(40_000, dtype=np.int32))
    assert column.array.tolist() == [*range(40_000)] * 2
    assert seen.tolist() == [*range(40_000)]
    column.append(np.array([2**40]))
    assert column.kind == np.int64
    assert column.array[-1] == 2**40
    column.shrink(5)
    assert column.array.tolist() == [0, 1, 2, 3, 4]
