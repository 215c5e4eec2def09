# ruff: noqa: E501, RUF001
"""Hostile tables of text: what may stand in a cell, a header or a line, and what may be wrong with the file itself."""

import gzip
import random
from collections.abc import Iterator

HEADER = "user,item,rating,time"
ROWS = ("ann,tea,5,10", "ann,milk,3,20", "bob,tea,1,30", "zoë,milk,2,40")

RATINGS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1e400", "-0", "0", "6", "5.0000001", "1e0", "+5", "5.", ".5", " 5 ",
    "0x5", "1_0", "5,0", '"5"', '"5,0"', "five", "5 stars", "true", "null", "None", "N/A", "５", "5\u00a0", "1e-400", "5e",
    "--5", "9" * 400, "0." + "1" * 5000, "x" * 131_073, "5\x00", "\x1b[31m5", "1/2", "=5", "½", "4.999999999999999999",
)  # fmt: skip
NAMES = (
    "", " ", "\t", '""', '" "', "-0", "0", "00", "1.0", "1", "inf", "nan", "NULL", "None", "1e3", "9" * 30, "a\x00",
    "\u0000", "\U0001f600", "\u202eevil", "a\u0301", "á", "x" * 131_071, "x" * 131_072, "x" * 1_000_000, '"a""b"', '"a,b"',
    '"a\nb"', "'a'", "a b", " a", "a ", "\ufeff", "\x1b]0;title\x07", "../../etc", "=cmd()", "\ud7ff", "\ufffe", "-1", "+1",
)  # fmt: skip
TIMES = (
    "", " ", "0", "-1", "1e30", "-1e30", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "nan", "inf",
    "1.5", "1e9", "1970-01-02", "1970-13-40", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00+02:00", "0001-01-01",
    "9999-12-31 23:59:59", "10000-01-01", "yesterday", "12:30", "20200101", "2e9", "1e18", "1e19", "true", "9" * 400,
)  # fmt: skip
HEADERS = (
    "", " ", ",", ",,,", "user", "user,item", "user,item,score", "item,rating,user,time", "User,Item,Rating,Time",
    " user , item , rating , time ", "user,item,rating,rating", "user,user,item,rating", "rating,rating,rating,rating",
    "user,item,rating,time,", ",user,item,rating", "user;item;rating;time", "user\titem\trating\ttime", "1,2,3,4",
    '"user","item","rating","time"', '"user,item,rating,time', 'user,item,"rating', "user,item,rating,time\x00",
    "user,item,rating," + "x" * 131_071, "user,item,rating," + "x" * 131_073, "user,item,rating," + "x" * 3_000_000,
    "user,item,rating," + ",".join(f"c{n}" for n in range(20_000)), "f0,f1,f2,f3", "\ufeffuser,item,rating,time",
    "\ufeff\ufeffuser,item,rating,time", "user,item,rating,time,time", "üser,item,rating,time", "user,item,rating,\x1b[2J",
    "user,item,ra\rting,time", "# user,item,rating,time", "user,item,rating,time # comment", "user item rating time",
)  # fmt: skip


def table(header: str = HEADER, rows: tuple[str, ...] = ROWS, end: str = "\n", last: bool = True) -> str:
    """A table with this header and these rows."""
    return end.join((header, *rows)) + (end if last else "")


def texts() -> Iterator[tuple[str, str, bytes]]:
    """Kind, name and content of tables with commas."""
    for place, rating in enumerate(RATINGS):
        yield "csv ratings", f"rating {place}", table(rows=(*ROWS, f"eve,tea,{rating},50")).encode(errors="replace")
    for place, name in enumerate(NAMES):
        yield "csv names", f"user {place}", table(rows=(*ROWS, f"{name},tea,5,50")).encode(errors="replace")
        yield "csv names", f"item {place}", table(rows=(*ROWS, f"eve,{name},5,50")).encode(errors="replace")
    for place, time in enumerate(TIMES):
        yield "csv times", f"time {place}", table(rows=(*ROWS, f"eve,tea,5,{time}")).encode()
        yield "csv times", f"all times {place}", table(rows=(f"ann,tea,5,{time}", f"bob,tea,5,{time}")).encode()
    for place, header in enumerate(HEADERS):
        yield "csv headers", f"header {place}", table(header).encode()
    yield from layouts()


def layouts() -> Iterator[tuple[str, str, bytes]]:
    """Line ends, encodings, quotes, widths: what is wrong with the file as a whole."""
    for name, end in (("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r"), ("lfcr", "\n\r"), ("crcrlf", "\r\r\n"), ("ff", "\f"),
                      ("nel", "\x85"), ("ls", "\u2028"), ("nul", "\x00"), ("rs", "\x1e"), ("vt", "\v")):  # fmt: skip
        for last in (True, False):
            yield "csv lines", f"{name} {'at the end too' if last else 'between'}", table(end=end, last=last).encode()
    yield "csv lines", "mixed", (HEADER + "\r\n" + "\n".join(ROWS[:2]) + "\r" + "\r\n".join(ROWS[2:])).encode()
    for name, content in (
        ("nothing", b""), ("newline", b"\n"), ("newlines", b"\n" * 1_000_000), ("crs", b"\r" * 100_000), ("spaces", b" " * 5000),
        ("header only", HEADER.encode()), ("header and newlines", HEADER.encode() + b"\n" * 500_000),
        ("blank lines between", table(end="\n\n\n").encode()), ("commas", b"," * 100_000), ("quote", b'"'), ("quotes", b'"' * 99_999),
        ("zero bytes", bytes(5000)), ("0xff", b"\xff" * 5000), ("bom", b"\xef\xbb\xbf"), ("png", b"\x89PNG\r\n\x1a\n" + bytes(99)),
        ("parquet in front", b"PAR1" + table().encode()), ("json", b'[{"user": 1, "item": 2, "rating": 3}]'), ("pickle", b"\x80\x04K\x01."),
        ("html", b"<!doctype html><title>404</title>"), ("one long line", b"x" * 20_000_000),
        ("comment first", b"# made by hand\n" + table().encode()), ("spaces around", table().replace(",", " , ").encode()),
        ("blank cells", table(rows=(",,,", " , , , ")).encode()), ("trailing commas", table(rows=tuple(row + "," for row in ROWS)).encode()),
        ("short row", table(rows=(*ROWS, "eve,tea")).encode()), ("long row", table(rows=(*ROWS, "eve,tea,5,50,60")).encode()),
        ("only in one row a comma more", table(rows=("ann,tea,5,10,", *ROWS[1:])).encode()), ("same row twice", table(rows=(*ROWS, ROWS[0])).encode()),
        ("quote opens in the last row", table(rows=(*ROWS, 'eve,"tea,5,50')).encode()),
        ("quote opens in the first row", table(rows=('"ann,tea,5,10', *ROWS[1:])).encode()),
        ("quote inside", table(rows=(*ROWS, 'e"ve,tea,5,50')).encode()), ("after the quote", table(rows=(*ROWS, '"eve"x,tea,5,50')).encode()),
        ("quoted everything", table(rows=tuple('"' + row.replace(",", '","') + '"' for row in ROWS)).encode()),
        ("quoted newlines", table(rows=tuple('"' + row.replace(",", '\n","', 1) + '"' for row in ROWS)).encode()),
        ("many columns", ("user,item,rating" + ",x" * 50_000 + "\nann,tea,5" + ",1" * 50_000 + "\n").encode()),
    ):  # fmt: skip
        yield "csv layout", name, content
    for coding in (
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "utf-32-le",
        "utf-7",
        "latin-1",
        "cp1252",
        "cp037",
        "utf-8-sig",
        "mac-roman",
    ):
        yield "csv encoding", coding, table().encode(coding)


def flipped(count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """A sound table with some bytes changed, cut out, doubled or moved."""
    draw = random.Random(seed)
    alphabet = b'",\n\r\t\x00;|: \xff\xef-+.eE0159naif\\/' + "é".encode()
    for number in range(count):
        content = bytearray(table(end=draw.choice(("\n", "\r\n"))).encode())
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(content) + 1)
            change = draw.randrange(4)
            if change == 0 and at < len(content):
                content[at] = draw.choice(alphabet)
            elif change == 1:
                content[at:at] = bytes(draw.choices(alphabet, k=draw.randint(1, 3)))
            elif change == 2:
                del content[at : at + draw.randint(1, 6)]
            else:
                content[at:at] = content[draw.randrange(len(content) + 1) :][:20]
        yield "csv mutated", f"seed {seed} number {number}", bytes(content)


def packed() -> Iterator[tuple[str, str, bytes]]:
    """What may lie in a file that ends in .csv.gz."""
    whole = gzip.compress(table().encode())
    yield "gzip", "sound", whole
    for cut in range(0, len(whole), 7):
        yield "gzip", f"cut at {cut}", whole[:cut]
    for at in range(0, len(whole), 5):
        yield "gzip", f"byte {at} changed", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
    yield "gzip", "two members", whole + whole
    yield "gzip", "rubbish behind", whole + b"rubbish"
    yield "gzip", "zeros behind", whole + bytes(100)
    yield "gzip", "packed twice", gzip.compress(whole)
    yield "gzip", "not packed", table().encode()
    yield "gzip", "of nothing", gzip.compress(b"")
    yield "gzip", "a bomb of newlines", gzip.compress(table().encode() + b"\n" * 50_000_000)
    yield "gzip", "a bomb in one line", gzip.compress(b"x" * 100_000_000)
