# ruff: noqa: E501
"""Hostile Parquet and Arrow files and frames: every kind of column in every role, and files with changed bytes."""

import random
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO

import polars as pl

FRAME = pl.DataFrame(
    {"user": ["ann", "ann", "bob"], "item": ["tea", "milk", "tea"], "rating": [5.0, 3, 1], "time": [1, 2, 3]}
)
ROLES = ("user", "item", "rating", "time")


def columns() -> Iterator[tuple[str, pl.Series]]:
    """Columns of three entries, of every type that a file can hold."""
    for kind in (
        pl.Int8,
        pl.Int16,
        pl.Int32,
        pl.Int64,
        pl.UInt8,
        pl.UInt16,
        pl.UInt32,
        pl.UInt64,
        pl.Float32,
        pl.Float64,
    ):
        yield str(kind), pl.Series([1, 2, 3], dtype=kind)
    yield "large signed", pl.Series([2**63 - 1, -(2**63), 0], dtype=pl.Int64)
    yield "large unsigned", pl.Series([2**64 - 1, 2**63, 1], dtype=pl.UInt64)
    yield "Int128", pl.Series([2**100, -(2**100), 1], dtype=pl.Int128)
    for name, values in (
        ("nan", [1.0, float("nan"), 2.0]), ("inf", [1.0, float("inf"), 2.0]), ("-inf", [1.0, float("-inf"), 2.0]),
        ("1e300", [1.0, 1e300, 2.0]), ("2**63", [1.0, 2.0**63, 2.0]), ("-0.0", [1.0, -0.0, 2.0]), ("0.0 and -0.0", [0.0, -0.0, 2.0]),
        ("halves", [0.5, 1.5, 2.5]), ("tiny", [5e-324, 1.0, 2.0]), ("all nan", [float("nan")] * 3), ("2**53", [2.0**53, 2.0**53 + 2, 1.0]),
    ):  # fmt: skip
        yield name, pl.Series(values, dtype=pl.Float64)
        yield f"{name} in 32 bits", pl.Series(values, dtype=pl.Float32)
    for name, texts in (
        ("text", ["a", "b", "c"]), ("empty text", ["", "b", "c"]), ("spaces", [" ", "b", "c"]), ("zero bytes", ["a", "a\0", "a\0\0"]),
        ("numbers as text", ["1", "2", "3"]), ("one number in two ways", ["1", "1.0", "3"]), ("long text", ["x" * 2_000_000, "b", "c"]),
        ("missing text", [None, "b", "c"]), ("line breaks", ["a\nb", "b\r", "c"]), ("escapes", ["\x1b[31m", "b", "c"]),
        ("dates as text", ["2020-01-01", "2021-01-01", "2022-02-30"]), ("mixed text", ["1", "2020-01-01", "x"]), ("nan as text", ["nan", "inf", "1e400"]),
    ):  # fmt: skip
        yield name, pl.Series(texts, dtype=pl.String)
    yield "bool", pl.Series([True, False, True])
    yield "missing", pl.Series([None, None, None], dtype=pl.Null)
    yield "missing numbers", pl.Series([1, None, 3], dtype=pl.Int64)
    yield "binary", pl.Series([b"a", b"\xff", b""], dtype=pl.Binary)
    yield "category", pl.Series(["a", "b", "a"], dtype=pl.Categorical)
    yield "enum", pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"]))
    yield "list", pl.Series([[1], [2, 3], []], dtype=pl.List(pl.Int64))
    yield "list of text", pl.Series([["a"], ["b"], []], dtype=pl.List(pl.String))
    yield "array", pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int64, 2))
    yield "struct", pl.Series([{"a": 1}, {"a": 2}, {"a": 3}])
    yield "date", pl.Series([date(1970, 1, 2), date(1, 1, 1), date(9999, 12, 31)])
    yield "datetime", pl.Series([datetime(1970, 1, 2), datetime(2020, 1, 1), None])
    yield (
        "datetime ns",
        pl.Series([datetime(1970, 1, 2), datetime(2020, 1, 1), datetime(2262, 1, 1)], dtype=pl.Datetime("ns")),
    )
    yield "datetime zone", pl.Series([datetime(1970, 1, 2)] * 3).dt.replace_time_zone("UTC")
    yield "datetime far", pl.Series([2**62, -(2**62), 0], dtype=pl.Int64).cast(pl.Datetime("us"))
    yield "datetime ms far", pl.Series([2**62, -(2**62), 0], dtype=pl.Int64).cast(pl.Datetime("ms"))
    yield "duration", pl.Series([timedelta(1), timedelta(2), timedelta(3)])
    yield "clock", pl.Series([time(1), time(2), time(3)])
    yield "decimal", pl.Series([Decimal("1.5"), Decimal("2"), Decimal("3")])
    yield "decimal whole", pl.Series([Decimal("1"), Decimal("2"), Decimal("3")], dtype=pl.Decimal(38, 0))


def frames() -> Iterator[tuple[str, pl.DataFrame]]:
    """A sound table with one column of another kind, and tables that are wrong as a whole."""
    for role in ROLES:
        for name, column in columns():
            yield f"{role} as {name}", FRAME.with_columns(column.alias(role))
    yield "no rows", FRAME.clear()
    yield "no columns", pl.DataFrame()
    yield "one column", FRAME.select("user")
    yield "odd names", FRAME.rename({"user": "us\x1b[31mer", "item": "", "rating": "x" * 100_000})
    yield "many columns", FRAME.with_columns(pl.lit(n).alias(f"c{n}") for n in range(3000))
    yield "numbers as names", FRAME.rename({"user": "1", "item": "2", "rating": "3"})


def files() -> Iterator[tuple[str, str, bytes]]:
    """Kind (``parquet`` or ``arrow``), name and content."""
    for name, frame in frames():
        for kind in ("parquet", "arrow"):
            content = written(frame, kind)
            if content is not None:
                yield kind, name, content


def damaged(count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Sound files cut off, or with some bytes changed."""
    draw = random.Random(seed)
    for kind in ("parquet", "arrow"):
        whole = written(FRAME, kind)
        assert whole is not None
        for cut in sorted(
            {0, 1, 4, 8, len(whole) - 1, len(whole) - 4, *range(0, len(whole), max(1, len(whole) // 20))}
        ):
            yield f"{kind} damaged", f"cut at {cut}", whole[:cut]
        yield f"{kind} damaged", "rubbish behind", whole + b"rubbish"
        yield f"{kind} damaged", "twice", whole + whole
        yield f"{kind} damaged", "text", b"user,item,rating\na,b,5\n"
        for number in range(count):
            content = bytearray(whole)
            for _ in range(draw.randint(1, 3)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            yield f"{kind} damaged", f"seed {seed} number {number}", bytes(content)


def written(frame: pl.DataFrame, kind: str) -> bytes | None:
    """The file, or None where the format cannot hold such a column."""
    buffer = BytesIO()
    try:
        frame.write_parquet(buffer) if kind == "parquet" else frame.write_ipc(buffer, compression="uncompressed")
    except (pl.exceptions.PolarsError, BaseException) as error:  # a panic of polars is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    return buffer.getvalue()
