"""``discreet serve`` as a process on loopback, and a small release for it."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import discreet as dc

SOURCE = Path(dc.__file__).parents[1]
RATINGS = dc.synthetic(users=200, items=80, ratings=4000, seed=3)
LONG = 120.0
"""Seconds after which something hangs. Nothing is timed otherwise."""


def released(place: Path, model=None) -> dc.Release:
    release = (model or dc.Almanac()).fit(dc.NoPrivacy(RATINGS))
    release.save(place)
    return release


class Server:
    """A service that runs; its log is kept in a file."""

    def __init__(self, release: Path, log: Path, *options: object, verify: object = True) -> None:
        command = [sys.executable, "-m", "discreet", "serve", release, "--port", "0", "--watch", "0.05", *options]
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen([str(word) for word in command], stderr=file, stdout=file, env=environment)
        self.url = self._url()
        self.port = int(self.url.rpartition(":")[2])
        self.client = httpx.Client(base_url=self.url, timeout=LONG, verify=verify, trust_env=False)

    def _url(self) -> str:
        for _ in range(int(LONG / 0.05)):
            lines = [line for line in self.log.read_text().splitlines() if line.startswith("Serving ")]
            if lines:
                return lines[0].rpartition(" ")[2]
            if self.process.poll() is not None:
                break
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError(self.log.read_text())

    def stop(self) -> int:
        self.client.close()
        self.process.terminate()
        return self.process.wait(LONG)


@pytest.fixture
def start(tmp_path):
    """Start services that end with the test."""
    running = []

    def started(release: Path, *options: object, **named: object) -> Server:
        running.append(Server(release, tmp_path / f"log-{len(running)}", *options, **named))
        return running[-1]

    yield started
    for server in running:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("served") / "release"
    released(place)
    return place


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """One service for a whole file of tests, without a limit on rates."""
    running = Server(folder, tmp_path_factory.mktemp("log") / "log", "--rate", "0", "--most-bytes", "20000")
    yield running
    running.stop()
