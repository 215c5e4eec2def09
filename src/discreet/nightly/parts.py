"""Where a night's work lies until it is done: a folder beside the output, with one file for each chunk of users.

    .recs.parquet.parts/
        manifest.json       what is computed: a fingerprint of the release, the ratings and the settings
        ratings/            the ratings of each chunk, where they were laid down
        part-000000.parquet …

A part appears whole or not at all, so whoever starts the same work again goes on with the first that is missing. The
output appears in one step, and after it ``recs.parquet.json``, which says what it was made from: by that the next run
knows that there is nothing to do.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import InputError
from discreet.files import hold, let_go, sync_folder, write_whole

FORMAT = 1
FORMATS = (".parquet", ".csv", ".jsonl")
ROW_GROUP = 1 << 18
"""Rows of a group in a Parquet file, fixed so that the same table always has the same bytes."""
MANIFEST, RATINGS = "manifest.json", "ratings"


@dataclass(frozen=True)
class Manifest:
    """What a folder of parts is about.

    Parameters
    ----------
    fingerprint
        Of everything that the result depends on.
    chunks
        How many parts there will be; 0 while that is not known.
    laid_down
        Whether the ratings lie in the folder, so that they need not be read again.
    incomplete
        Whether ratings of items that the release does not know were left out.
    """

    fingerprint: str
    chunks: int = 0
    laid_down: bool = False
    incomplete: bool = False

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """That of a folder; None where there is none that this version can read."""
        try:
            data = json.loads((folder / MANIFEST).read_text())
            if data.pop("format") != FORMAT:
                return None
            return cls(**data)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, folder: Path) -> None:
        """Put it into the folder."""
        write_whole(folder / MANIFEST, json.dumps({"format": FORMAT} | self.__dict__, indent=2).encode())


@contextmanager
def parts_of(output: Path) -> Iterator[Path]:
    """The folder of parts beside an output, for one process at a time; what is in it stays."""
    folder = output.with_name(f".{output.name}.parts")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = hold(folder)
    except OSError as error:
        raise InputError(f"cannot write to {folder.parent}: {error.strerror}; nothing was written") from None
    if lock is None:
        raise InputError(f"another process is writing {output}: wait for it, or name another file")
    try:
        yield folder
    finally:
        with suppress(OSError):  # it is empty when all is done
            folder.rmdir()
        let_go(lock)


def cleared(folder: Path) -> None:
    """Remove what is in a folder of parts."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def part_of(folder: Path, number: int, kind: str) -> Path:
    """Where a part is, or will be."""
    return folder / f"part-{number:06}{kind}"


def write_part(path: Path, table: pl.DataFrame, *, header: bool) -> None:
    """Write a part whole or not at all; only the first of a CSV file has a ``header``."""
    temporary = path.with_name(f"{path.name}.tmp")
    if path.suffix == ".parquet":
        table.write_parquet(temporary, row_group_size=ROW_GROUP)
    elif path.suffix == ".csv":
        table.write_csv(temporary, include_header=header)
    else:
        table.write_ndjson(temporary)
    temporary.replace(path)


def join(parts: list[Path], output: Path, folder: Path) -> str:
    """Make one file of all parts, in order, and let it appear in one step; returns its checksum."""
    whole = folder / f"whole{output.suffix}"
    if output.suffix == ".parquet":
        tables = pl.scan_parquet(parts, glob=False)
        tables.sink_parquet(whole, row_group_size=ROW_GROUP, maintain_order=True)
    else:
        with whole.open("wb") as file:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
    with whole.open("rb+") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    whole.replace(output)
    sync_folder(output.parent)
    return checksum


# ── What is written beside the output ──


def note_of(output: Path) -> Path:
    """The file beside an output that says what it was made from."""
    return output.with_name(f"{output.name}.json")


def is_done(output: Path, fingerprint: str) -> dict[str, Any] | None:
    """What is noted of an output that was made from exactly this, and has not been changed; None for any other."""
    try:
        noted = json.loads(note_of(output).read_text())
        if noted["fingerprint"] != fingerprint:
            return None
        with output.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == noted["sha256"]
        return noted if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_note(output: Path, noted: dict[str, Any]) -> None:
    """Say what an output was made from. It holds nothing of any user, and no time: the same work has the same bytes."""
    write_whole(note_of(output), (json.dumps(noted, indent=2, ensure_ascii=False) + "\n").encode())
