"""What polars prints when it panics at a damaged file stays off stderr, and nothing else does."""

import os
import subprocess
import sys
import textwrap
import threading

import polars as pl
import pytest

from discreet.data.panics import without_panics

READING = """
    import os, sys, threading, time
    import discreet as dc
    from discreet.errors import DataError

    folder = sys.argv[1]
    dc.load(f"{folder}/sound.parquet", scale=(1, 5))
    done = threading.Event()

    def talk():
        number = 0
        while not done.is_set() or number < 200:
            os.write(2, f"line {number} of thread 'talk'\\n".encode())
            number += 1
            time.sleep(0.0002)
        os.write(2, b"no end of a line")

    other = threading.Thread(target=talk)
    other.start()
    refused = 0
    for name in sorted(os.listdir(folder)):
        try:
            dc.load(f"{folder}/{name}", scale=(1, 5))
        except DataError:
            refused += 1
    done.set()
    other.join()
    print(refused)
"""


def damaged(content: bytes) -> list[bytes]:
    """The file with single bytes changed: among so many places some send polars out of the file."""
    return [
        content[:place] + bytes([content[place] ^ 0x7F]) + content[place + 1 :] for place in range(4, len(content), 7)
    ]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_panics_stay_off_stderr_and_all_else_arrives(tmp_path, ending):
    frame = pl.DataFrame({"user": ["ann", "bob"] * 20, "item": [*map(str, range(40))], "rating": [3.0, 4.0] * 20})
    frame.write_parquet(tmp_path / "sound.parquet")
    sound = tmp_path / f"sound.{ending}"
    frame.write_parquet(sound) if ending == "parquet" else frame.write_ipc(sound)
    for number, content in enumerate(damaged(sound.read_bytes())):
        (tmp_path / f"{number}.{ending}").write_bytes(content)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READING), str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"RUST_BACKTRACE": "0"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert int(ran.stdout) > 10
    lines = ran.stderr.splitlines()
    assert "no end of a line" in lines
    told = [f"line {number} of thread 'talk'" for number in range(len(lines) - 1)]
    assert sorted(lines) == sorted([*told, "no end of a line"])  # what is written as a reading ends may come late


def test_a_report_asked_for_is_seen(tmp_path, monkeypatch):
    """Whoever sets RUST_BACKTRACE wants to see them."""
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    before = os.fstat(2)
    with without_panics():
        assert os.path.samestat(os.fstat(2), before)


def test_reading_in_two_threads_gives_stderr_back():
    before = os.fstat(2)

    def read() -> None:
        for _ in range(50):
            with without_panics(), without_panics():
                pass

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.path.samestat(os.fstat(2), before)
