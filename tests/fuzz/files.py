# ruff: noqa: E501
"""Hostile files: every way in which a file of ratings, of items, of a history or of wishes may be wrong.

``cases(folder)`` yields (kind, name, what to call); each call writes its file into the folder and reads it.
"""

import os
import socket
import stat
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

import discreet as dc
from discreet.data.tables import read_catalogue

from . import binary_tables, text_tables
from .outcome import Case

SEED = 20_26
SCALE = (1, 5)
CATALOGUE = dc.Catalogue.of(["tea", "milk"], dc.Scale(*SCALE), titles=["Tea (1999)", "Milk"])


def cases(folder: Path, *, seed: int = SEED, mutations: int = 150) -> Iterator[Case]:
    """All of them; ``mutations`` says how many random ones of each kind."""
    number = 0

    def placed(name: str, content: bytes, read: Callable[[Path], Any]) -> Callable[[], Any]:
        nonlocal number
        number += 1
        path = folder / f"{number}-{name}"

        def run() -> Any:
            path.write_bytes(content)
            try:
                return read(path)
            finally:
                path.unlink()

        return run

    for kind, name, content in (*text_tables.texts(), *text_tables.flipped(mutations, seed)):
        yield Case(kind, name, placed("a.csv", content, load))
    for kind, name, content in (*text_tables.layouts(), *text_tables.flipped(mutations // 3, seed + 1)):
        without_time = content.replace(b"time", b"when")
        yield Case(f"{kind}, as tsv", name, placed("a.tsv", without_time.replace(b",", b"\t"), load_without_times))
        yield Case("items", f"{kind}: {name}", placed("a.csv", content.replace(b"rating", b"title"), items))
        yield Case("history", f"{kind}: {name}", placed("a.csv", content, history))
        yield Case("wishes", f"{kind}: {name}", placed("a.csv", content, wishes))
    for kind, name, content in text_tables.packed():
        yield Case(kind, name, placed("a.csv.gz", content, load))
    for kind, name, content in (*binary_tables.files(), *binary_tables.damaged(mutations, seed + 2)):
        ending = kind.split()[0]
        yield Case(kind, name, placed(f"a.{ending}", content, load))
    for name, frame in binary_tables.frames():
        yield Case("frame", name, lambda frame=frame: dc.from_frame(frame, scale=SCALE, time="time"))
        yield Case(
            "frame of items", name, lambda frame=frame: dc.from_frame(RATED, scale=SCALE, items=described(frame))
        )
    for name, content in archives(seed):
        yield Case("archive", name, placed("a.zip", content, load_folder))
    yield from special_files(folder)
    yield from folders(folder, mutations, seed + 3)


RATED = pl.DataFrame({"user": ["ann"], "item": ["tea"], "rating": [5]})


def load(path: Path) -> dc.Ratings:
    return checked(dc.load(path, scale=SCALE, time="time"))


def load_without_times(path: Path) -> dc.Ratings:
    return checked(dc.load(path, scale=SCALE))


def load_folder(path: Path) -> dc.Ratings:
    return checked(dc.load(path))


def items(path: Path) -> dc.Catalogue:
    return read_catalogue(path, dc.Scale(*SCALE), "user")


def history(path: Path) -> dc.History:
    return dc.data.read_history(path, CATALOGUE)


def wishes(path: Path) -> dc.Wishes:
    return dc.Wishes.read(path, column="rating")


def checked(ratings: dc.Ratings) -> dc.Ratings:
    """What was read must be sound: every name once, every index and every value in its range."""
    users, names = ratings.users.names.tolist(), ratings.catalogue.items.names.tolist()
    assert len(set(users)) == len(users) and len(set(names)) == len(names) and "" not in users and "" not in names
    assert ratings.user_index.min() >= 0 and ratings.user_index.max() < len(users)
    assert ratings.item_index.min() >= 0 and ratings.item_index.max() < len(names)
    assert ratings.values.min() >= SCALE[0] and ratings.values.max() <= SCALE[1]
    return ratings


def described(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a table of ratings as those of a table of items."""
    names = {"user": "title", "rating": "genres", "time": "year"}
    frame = frame.rename({name: new for name, new in names.items() if name in frame.columns})
    text = "item" in frame.columns and frame["item"].dtype == pl.String and frame["item"].to_list()[:1] == ["tea"]
    return frame.with_columns(item=pl.Series(["tea", "milk", "coffee"])) if text else frame


def archives(seed: int) -> Iterator[tuple[str, bytes]]:
    """What may lie in a .zip."""

    def packed(members: dict[str, bytes], **options: Any) -> bytes:
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w", **options) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    dat = {
        "ratings.dat": b"1::1::5::10\n2::1::3::20\n",
        "movies.dat": b"1::Tea (1999)::Drama\n",
        "users.dat": b"1::F::1::10::1\n2::M::1::1::1\n",
    }
    whole = packed(dat)
    yield "sound", whole
    for cut in range(0, len(whole), 23):
        yield f"cut at {cut}", whole[:cut]
    for at in range(0, len(whole), 11):
        yield f"byte {at} changed", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
    yield "of nothing", packed({})
    yield "not an archive", b"hello"
    yield "empty", b""
    yield "other files", packed({"readme.txt": b"hello"})
    yield "only folders", packed({"ml/": b""})
    yield "names with dots", packed({f"../../{name}": content for name, content in dat.items()})
    yield "in a folder", packed({f"ml-1m/{name}": content for name, content in dat.items()})
    yield "twice", packed({**dat, **{f"a/{name}": content for name, content in dat.items()}})
    for name in dat:
        for what, content in (
            ("empty", b""), ("blank", b"\n\n"), ("one field", b"1\n"), ("too many", b"1::2::3::4::5::6::7\n"), ("zeros", bytes(100)),
            ("latin-1", "1::Amélie (2001)::Drama\n".encode("latin-1")), ("utf-16", "1::1::5::10\n".encode("utf-16")), ("cr", b"1::1::5::10\r2::1::5::10\r"),
            ("long", b"1::" + b"x" * 200_000 + b"::Drama\n"), ("huge numbers", b"9" * 400 + b"::1::5::10\n"), ("nan", b"1::1::nan::nan\n"),
            ("tabs", b"1\t1\t5\t10\n"), ("negative", b"-1::-1::-5::-10\n"), ("quotes", b'"1::1::5::10\n'), ("rubbish", os.urandom(0) + bytes(range(256))),
        ):  # fmt: skip
            yield f"{name} {what}", packed({**dat, name: content})
        yield f"without {name}", packed({other: content for other, content in dat.items() if other != name})
    yield "a bomb", packed({**dat, "ratings.dat": b"\n" * 30_000_000}, compression=zipfile.ZIP_DEFLATED)


def special_files(folder: Path) -> Iterator[Case]:
    """What is no plain file: folders, pipes, devices, sockets, links that lead nowhere."""
    place = folder / "special"
    place.mkdir(exist_ok=True)
    made: dict[str, Path] = {}
    for ending in ("csv", "tsv", "csv.gz", "parquet", "arrow", "zip"):
        made[f"a folder named .{ending}"] = place / f"folder.{ending}"
        made[f"a folder named .{ending}"].mkdir(exist_ok=True)
        made[f"a pipe named .{ending}"] = place / f"pipe.{ending}"
        if not made[f"a pipe named .{ending}"].exists():
            os.mkfifo(made[f"a pipe named .{ending}"])
        for name, target in (
            ("loop", f"loop.{ending}"), ("nowhere", "no such file"), ("zero", "/dev/zero"), ("null", "/dev/null"),
            ("random", "/dev/urandom"), ("tty", "/dev/tty"), ("full", "/dev/full"), ("proc", "/proc/self/mem"), ("self", "."),
        ):  # fmt: skip
            made[f"a link to {name}, .{ending}"] = place / f"{name}.{ending}"
            if not made[f"a link to {name}, .{ending}"].is_symlink():
                made[f"a link to {name}, .{ending}"].symlink_to(target)
        made[f"a name too long, .{ending}"] = place / ("x" * 300 + f".{ending}")
        made[f"a name with a zero byte, .{ending}"] = place / f"a\0b.{ending}"
        made[f"a file in a file, .{ending}"] = Path(__file__) / f"a.{ending}"
        hidden = made[f"a socket, .{ending}"] = place / f"socket.{ending}"
        if not hidden.exists():
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(os.path.relpath(hidden))
    for name, path in made.items():
        readers: tuple[tuple[str, Callable[[Path], Any]], ...] = (
            ("data", load), ("items", items), ("history", history), ("wishes", wishes), ("items of data", items_of_data),
            ("a part", lambda path: dc.data.RatingsInParts([path], scale=SCALE)), ("reports", dc.data.read_reports),
            ("netflix", dc.data.read_netflix_probe), ("movielens", lambda path: dc.data.read_movielens_split(path, "u1")),
        )  # fmt: skip
        for role, read in readers if name.endswith("csv") else readers[:5]:
            yield Case("special file", f"{name} as {role}", lambda read=read, path=path: read(path))
    yield Case("special file", "a pipe is left alone", lambda: _still_a_pipe(made["a pipe named .csv"]))


def _still_a_pipe(path: Path) -> None:
    assert stat.S_ISFIFO(path.stat().st_mode)


def items_of_data(path: Path) -> dc.Ratings:
    sound = path.parent / "sound.csv"
    if not sound.exists() and path.parent.is_dir():
        sound.write_bytes(text_tables.table().encode())
    return dc.load(sound, scale=SCALE, items=path)


def folders(folder: Path, mutations: int, seed: int) -> Iterator[Case]:
    """Folders in the formats of MovieLens 100K and of the Netflix Prize."""
    hundred = {
        "u.data": b"1\t1\t5\t10\n2\t1\t3\t20\n",
        "u.item": b"1|Tea (1999)|01-Jan-1999|||" + b"|".join([b"0"] * 19) + b"\n",
        "u.user": b"1|24|M|writer|85711\n2|30|F|other|94043\n",
        "u.genre": b"unknown|0\nDrama|1\n",
    }
    netflix = {
        "combined_data_1.txt": b"1:\n7,5,2005-09-06\n8,3,2005-09-07\n",
        "movie_titles.csv": b"1,2003,Tea\n",
        "probe.txt": b"1:\n7\n",
    }
    alphabet = b'|\t,:\n\r\x00 \xff-0159nae"'
    import random

    draw = random.Random(seed)
    number = 0
    for kind, files, read in (
        ("movielens folder", hundred, load_folder),
        ("netflix folder", netflix, load_folder),
        ("netflix folder", netflix, dc.data.read_netflix_probe),
    ):
        changed = [(name, b"") for name in files] + [(name, b"\n") for name in files]
        changed += [(name, content.replace(b"\n", b"\r")) for name, content in files.items()]
        changed += [(name, content * 2) for name, content in files.items()]
        for _ in range(mutations // 2):
            name = draw.choice(list(files))
            content = bytearray(files[name])
            for _ in range(draw.randint(1, 3)):
                at = draw.randrange(len(content))
                content[at : at + draw.randrange(2)] = bytes([draw.choice(alphabet)])
            changed.append((name, bytes(content)))
        for name, content in changed:
            number += 1
            place = folder / f"folder {number}"

            def run(place: Path = place, files: dict[str, bytes] = {**files, name: content}, read: Any = read) -> Any:  # noqa: B006
                place.mkdir()
                for file, own in files.items():
                    (place / file).write_bytes(own)
                return read(place)

            yield Case(kind, f"{name}, change {number}", run)
