"""Hostile releases, as files: cards that are no cards, headers that lie, pipes for files, and text for terminals."""

import json
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.releases.arrays_file import read_table, strings
from discreet.releases.loading import ARRAYS, CARD, SIGNATURE

from .using import Case, card_of, case_of, checksum, members_of, remove, rewrite, write_card

# The card as bytes


def card_cases(original: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Cards that are no JSON, or more of it than anyone needs."""
    whole = (original / CARD).read_bytes()
    contents: dict[str, bytes] = {
        "empty": b"",
        "no JSON": b"card",
        "a list": b"[]",
        "a number": b"1",
        "text": b'"card"',
        "null": b"null",
        "two documents": whole + whole,
        "invalid UTF-8": whole.replace(b'"bias"', b'"\xff\xfe"'),
        "UTF-16": whole.decode().encode("utf-16"),
        "with a mark of byte order": b"\xef\xbb\xbf" + whole,
        "10^5 lists": b"[" * 100_000,
        "10^5 closed lists": b"[" * 100_000 + b"]" * 100_000,
        "10^5 tables": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "10^5 levels of settings": whole.replace(
            b'"settings": {', b'"settings": {"x": ' + b"[" * 900 + b"]" * 900 + b","
        ),
        "900 levels in a field": b'{"format": ' + b"[" * 900 + b"]" * 900 + b"}",
        "a number of 10^5 digits": whole.replace(b'"format": 2', b'"format": ' + b"9" * 100_000),
        "a number of 4000 digits": whole.replace(b'"format": 2', b'"format": ' + b"9" * 4000),
        "NaN": whole.replace(b'"format": 2', b'"format": NaN'),
        "Infinity": whole.replace(b'"format": 2', b'"format": Infinity'),
        "a field twice": whole.replace(b'"format": 2', b'"format": 2, "format": 2'),
        "10^5 fields": b"{" + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}",
        "10^5 fields of one name": b"{" + b",".join([b'"a":1'] * 100_000) + b"}",
        "100 MB": whole + b" " * 100_000_000,
        "of format 1": whole.replace(b'"format": 2', b'"format": 1'),
        "of format 99": whole.replace(b'"format": 2', b'"format": 99'),
    }
    for cut in np.linspace(1, len(whole) - 2, 24).astype(int):
        contents[f"cut after {cut} bytes"] = whole[:cut]
    for number in range(60):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), 1 + number % 4):
            changed[place] = rng.integers(0, 256)
        contents[f"with bytes changed, {number}"] = bytes(changed)
    for what, content in contents.items():
        yield case_of("cards", original, what, lambda folder, c=content: _write(folder / CARD, c))
    ledger = {"what": "x", "mechanism": "laplace", "norm": "l1", "sensitivity": 1, "scale": 2.0, "times": 10**12}
    for what, line, lines in (
        ("10^12 times Laplace", ledger, 1),
        ("10^12 times Gaussian", ledger | {"mechanism": "gaussian", "norm": "l2"}, 1),
        ("10^12 sampled steps", ledger | {"mechanism": "gaussian", "norm": "l2", "sampling_rate": 1e-9}, 1),
        ("50 sampled steps of tiny noise", ledger | {"mechanism": "gaussian", "norm": "l2", "sampling_rate": 0.5,
                                                     "scale": 1e-9, "times": 50}, 1),
        ("30,000 lines", ledger | {"times": 1}, 30_000),
        ("2,000 sampled lines", ledger | {"mechanism": "gaussian", "norm": "l2", "sampling_rate": 0.01, "times": 1},
         2000),
    ):  # fmt: skip
        yield case_of(
            "ledgers", original.parent / "almanac, private", what, lambda f, a=line, n=lines: _ledger(f, a, n)
        )


def _ledger(folder: Path, line: dict[str, Any], lines: int) -> None:
    card = card_of(folder)
    card["ledger"] = [line | {"what": f"look {place}"} for place in range(lines)]
    card["sources"] = {name: ["look 0"] for name in card["sources"]}
    write_card(folder, card)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


# The header of the arrays


def header_cases(original: Path) -> Iterator[Case]:
    """Files of arrays whose header says something impossible; checksum and card are mended where that can be."""
    whole = (original / ARRAYS).read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    name = "item_bias"

    def packed(changed: Any, content: bytes = data) -> bytes:
        text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        return struct.pack("<Q", len(text)) + text + content

    def entry(**change: Any) -> bytes:
        return packed({**header, name: {**header[name], **change}})

    begin, end = header[name]["data_offsets"]
    contents = {
        "empty": b"",
        "7 bytes": whole[:7],
        "8 bytes": whole[:8],
        "header of 2^64-1 bytes": b"\xff" * 8 + whole[8:],
        "header of 2^63 bytes": struct.pack("<Q", 2**63) + whole[8:],
        "header longer than the file": struct.pack("<Q", len(whole)) + whole[8:],
        "header of 0 bytes": struct.pack("<Q", 0) + whole[8:],
        "header a byte shorter": struct.pack("<Q", length - 1) + whole[8:],
        "header of 2 MB": packed(json.dumps(header).encode() + b" " * 2_000_000),
        "no JSON": packed(b"header"),
        "a list": packed([]),
        "empty table": packed({}),
        "empty table and no data": packed({}, b""),
        "invalid UTF-8": packed(b"\xff\xfe"),
        "10^5 lists": packed(b"[" * 100_000),
        "a name twice": packed(json.dumps(header)[:-1].encode() + b"," + json.dumps(header)[1:].encode()),
        "metadata": packed({**header, "__metadata__": {"format": "pt"}}),
        "a byte less": whole[:-1],
        "a byte more": whole + b"!",
        "a megabyte more": whole + bytes(1 << 20),
        "a zip archive": b"PK\x03\x04" + bytes(100),
        "unknown dtype": entry(dtype="BF16"),
        "dtype of numpy": entry(dtype="<f4"),
        "dtype of objects": entry(dtype="O"),
        "dtype no text": entry(dtype=4),
        "wider dtype": entry(dtype="F64"),
        "shape that overflows": entry(shape=[2**32, 2**32]),
        "shape that overflows to its size": entry(shape=[2**62, 4, 12]),
        "shape of 2^60 by 0": entry(shape=[2**60, 0], data_offsets=[begin, begin]),
        "negative shape": entry(shape=[-12]),
        "two negative axes": entry(shape=[-3, -4]),
        "fractional shape": entry(shape=[12.0]),
        "boolean shape": entry(shape=[True] * 12),
        "shape no list": entry(shape=12),
        "shape of 64 axes": entry(shape=[1] * 63 + [12]),
        "shape larger": entry(shape=[13]),
        "overlapping": entry(data_offsets=[begin - 4, end - 4]),
        "out of range": entry(data_offsets=[begin + 10**9, end + 10**9]),
        "beyond 2^64": entry(data_offsets=[2**64 + begin, 2**64 + end]),
        "backwards": entry(data_offsets=[end, begin]),
        "negative offsets": entry(data_offsets=[-48, 0]),
        "three offsets": entry(data_offsets=[begin, end, end]),
        "no offsets": packed({**header, name: {"dtype": "F32", "shape": [12]}}),
        "a field more": entry(pickle="cos\nsystem"),
        "an entry that is a list": packed({**header, name: []}),
        "a gap at the end": packed({key: value for key, value in header.items() if key != name}),
        "10^4 arrays": packed(
            {str(n): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(10_000)}, b""
        ),
    }

    def damage(folder: Path, content: bytes) -> None:
        _write(folder / ARRAYS, content)
        card = card_of(folder)
        card["arrays_sha256"] = checksum(folder / ARRAYS)
        with suppress(dc.DiscreetError):
            card["arrays"] = {key: entry.to_json() for key, entry in read_table(folder / ARRAYS).items()}
        write_card(folder, card)

    for what, content in contents.items():
        yield case_of("headers", original, what, lambda folder, c=content: damage(folder, c))

    def sparse(folder: Path) -> None:
        huge = {"weights": {"dtype": "F32", "shape": [2**19, 2**19], "data_offsets": [0, 2**40]}}
        _write(folder / ARRAYS, packed(huge, b""))
        with (folder / ARRAYS).open("r+b") as file:
            file.truncate(len(packed(huge, b"")) + 2**40)
        card = card_of(folder)
        card["arrays"] = {key: entry.to_json() for key, entry in read_table(folder / ARRAYS).items()}
        write_card(folder, card)

    yield case_of("headers", original, "10^12 bytes that are not there", sparse)
    yield case_of("headers", original.parent / "third party", "10^12 bytes of a third party", sparse)


# Other things than files


def file_cases(original: Path) -> Iterator[Case]:
    """Pipes, folders, sockets, devices and links in place of the files of a release, and of its folder."""

    def replaced(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
        def damage(folder: Path) -> None:
            remove(folder / name)
            make(folder / name)

        return damage

    def bound(path: Path) -> None:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        finally:
            os.chdir(here)

    things: dict[str, Callable[[Path], None]] = {
        "nothing": lambda path: None,
        "a pipe": os.mkfifo,
        "a folder": lambda path: path.mkdir(),
        "a socket": bound,
        "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
        "a link to /dev/null": lambda path: path.symlink_to("/dev/null"),
        "a link to a terminal": lambda path: path.symlink_to("/dev/tty"),
        "a link to itself": lambda path: path.symlink_to(path),
        "a link to nothing": lambda path: path.symlink_to("nowhere"),
        "a link to a pipe": lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe"))[1],
        "a link in a circle": lambda path: (path.with_name("a").symlink_to(path), path.symlink_to("a"))[1],
    }
    for name in (CARD, ARRAYS, SIGNATURE):
        for what, make in things.items():
            yield case_of("no files", original, f"{name} is {what}", replaced(name, make))
    for what, make in things.items():
        if "circle" in what or "a link to a pipe" in what:
            continue
        yield case_of("no files", original, f"its folder is {what}", lambda f, m=make: (remove(f), m(f))[1])
    for what, content in {
        "empty": b"",
        "no JSON": b"{",
        "deep": b"[" * 100_000,
        "a list": b"[]",
        "of 1 MB": b" " * 1_000_000,
        "of another algorithm": b'{"algorithm": "none", "public_key": "", "signature": ""}',
        "with wrong keys": b'{"algorithm": "ed25519", "public_key": "AA==", "signature": "AA=="}',
        "with numbers": b'{"algorithm": "ed25519", "public_key": 1, "signature": 2}',
    }.items():
        yield case_of("signatures", original, what, lambda folder, c=content: _write(folder / SIGNATURE, c))


# Text of the catalogue


def text_cases(original: Path) -> Iterator[Case]:
    """Titles and names that try to do something to a terminal, or are no text."""

    def changed(name: str, texts: Callable[[list[bytes]], list[bytes]], starts: Any = None) -> Callable[[Path], None]:
        def damage(folder: Path) -> None:
            members = members_of(folder)
            found = [text.encode() for text in strings(folder, dict(members), name)]
            found = texts(found)
            members[name + ".utf8"] = np.frombuffer(b"".join(found), dtype=np.uint8)
            lengths = np.cumsum([0, *map(len, found)]).astype(np.int64)
            members[name + ".starts"] = lengths if starts is None else starts(lengths)
            rewrite(folder, members)

        return damage

    for name in ("catalogue.items", "catalogue.titles"):
        for what, texts in {
            "escape sequences": lambda t: [b"\x1b]0;owned\x07\x1b[2J" + one for one in t],
            "C1 controls": lambda t: ["\x9b2J".encode() + one for one in t],
            "bidirectional marks": lambda t: ["\u202e\u2066".encode() + one for one in t],
            "line breaks": lambda t: [b"Title\nsigned by   the key SHA256:x\r" + one for one in t],
            "zero bytes": lambda t: [one + b"\x00" * (place % 3) for place, one in enumerate(t)],
            "empty": lambda t: [b""] * len(t),
            "all the same": lambda t: [b"same"] * len(t),
            "invalid UTF-8": lambda t: [b"\xff\xfe" + one for one in t],
            "surrogates": lambda t: [b"\xed\xa0\x80" + one for one in t],
            "one of 10 MB": lambda t: [b"x" * 10_000_000, *t[1:]],
            "one less": lambda t: t[1:],
            "one more": lambda t: [b"more", *t],
            "none": lambda t: [],
        }.items():
            yield case_of("text", original, f"{name} {what}", changed(name, texts))
        for what, starts in {
            "that begin later": lambda s: s + 1,
            "that go back": lambda s: s[::-1].copy(),
            "that end beyond": lambda s: np.append(s[:-1], s[-1] + 1000),
            "that are negative": lambda s: np.append(s[:-1], -1),
            "in the middle of a character": lambda s: np.append(s[:-1], s[-1] - 1),
            "of 2^62": lambda s: np.append(s[:-1], 2**62),
        }.items():
            yield case_of("text", original, f"{name} {what}", changed(name, lambda t: t, starts))
