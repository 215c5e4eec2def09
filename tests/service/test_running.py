"""Swaps under load, signals, workers that die, TLS, and starts that fail."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

import discreet as dc
from discreet.parties.certificates import make_certificate

from .conftest import LONG, SOURCE, released


def until(condition, what: str) -> None:
    for _ in range(int(LONG / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def point(link, target) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.rename(link)


@pytest.mark.parametrize("workers", [1, 2])
def test_twenty_swaps_under_load_lose_no_request(start, tmp_path, workers):
    """By a link that is pointed elsewhere, and by a folder that is saved over; every answer is of one release."""
    releases = {}
    for name in ("a", "b"):
        released(tmp_path / name, dc.Almanac(factors=5 if name == "a" else 6))
        card = json.loads((tmp_path / name / "card.json").read_text())
        releases[name] = card["arrays_sha256"][:16]
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "a")
    server = start(link, "--rate", "0", "--workers", workers, "--no-page")
    done, failures, seen = threading.Event(), [], set()

    def keep_asking() -> None:
        with httpx.Client(base_url=server.url, timeout=LONG, trust_env=False) as client:
            while not done.is_set():
                try:
                    answer = client.post("/recommend", json={"history": {"1": 5.0, "2": 3.0}})
                    seen.add(answer.json()["release"])
                    if answer.status_code != 200 or len(answer.json()["items"]) != 10:
                        failures.append(answer.status_code)
                except Exception as error:
                    failures.append(type(error).__name__)

    askers = [threading.Thread(target=keep_asking) for _ in range(3)]
    for asker in askers:
        asker.start()

    def swaps() -> int:
        lines = server.client.get("/metrics").text.splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("discreet_release_swaps_total"))

    try:
        for number in range(1, 21):
            if number <= 10:
                point(link, tmp_path / "ba"[number % 2 == 0])
            else:
                dc.Release.load(tmp_path / "a").save(link.resolve(), replace=True)
            until(lambda number=number: swaps() >= workers * number, f"swap {number}")
    finally:
        done.set()
        for asker in askers:
            asker.join()
    assert failures == [] and seen == set(releases.values())
    assert server.stop() == 0
    assert "Error" not in server.log.read_text()


def test_a_damaged_release_is_not_taken_up(start, tmp_path):
    released(tmp_path / "good")
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    (tmp_path / "bad/arrays.safetensors").write_bytes(b"nothing")
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "good")
    server = start(link)
    name = server.client.get("/release").json()["release"]
    point(link, tmp_path / "bad")
    until(lambda: "discreet_release_swaps_failed_total 1" in server.client.get("/metrics").text, "refusal")
    assert server.client.post("/recommend", json={"history": ["1"]}).json()["release"] == name
    assert "was not taken up" in server.log.read_text()
    link.unlink()
    assert server.client.post("/recommend", json={"history": ["1"]}).json()["release"] == name
    point(link, tmp_path / "good")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "discreet_release_swaps_total 1" in server.client.get("/metrics").text, "SIGHUP")


def test_a_worker_that_dies_is_started_again(start, folder):
    server = start(folder, "--workers", "2", "--rate", "0")
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(server.process.pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    workers = [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    for _ in range(20):  # on fresh connections, some of which wait for the worker that is started again
        with httpx.Client(base_url=server.url, timeout=LONG, trust_env=False) as client:
            assert client.post("/recommend", json={"history": ["1"]}).status_code == 200
    assert server.stop() == 0


def test_stopping_workers_that_are_still_starting_is_no_failure(folder, tmp_path):
    command = [sys.executable, "-m", "discreet", "serve", folder, "--port", "0", "--workers", "2"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, stderr=log, stdout=log, env=os.environ | {"PYTHONPATH": str(SOURCE)})
    listed = ["ps", "-ww", "-o", "args=", "--ppid", str(server.pid)]
    while subprocess.run(listed, capture_output=True, text=True).stdout.count("spawn_main") < 2:
        assert server.poll() is None
    server.terminate()
    assert server.wait(LONG) == 0, (tmp_path / "log").read_text()


def test_tls_by_files(start, folder, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    import ssl

    server = start(
        folder, "--certificate", certificate, "--key", key, verify=ssl.create_default_context(cafile=certificate)
    )
    assert server.url.startswith("https://")
    assert server.client.post("/recommend", json={"history": ["1"]}).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url, trust_env=False, timeout=LONG)  # nobody vouches for it


def test_a_release_must_be_signed_where_asked(start, tmp_path):
    key = dc.privacy.SigningKey.new()
    public = key.save(tmp_path / "key")
    release = released(tmp_path / "unsigned")
    release.save(tmp_path / "signed", sign=key)
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "signed")
    server = start(link, "--signed-by", public)
    assert server.client.get("/certificate").json()["signed_by"]
    point(link, tmp_path / "unsigned")
    until(lambda: "discreet_release_swaps_failed_total 1" in server.client.get("/metrics").text, "refusal")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere"], "does not hold a release"),
        (["nowhere", "--workers", "2"], "does not hold a release"),
        (["RELEASE", "--host", "0.0.0.0"], "--behind-proxy"),
        (["RELEASE", "--certificate", "nowhere.pem"], "go together"),
        (["RELEASE", "--certificate", "card", "--key", "card"], "cannot be used"),
        (["RELEASE", "--workers", "0"], "workers must be at least 1"),
        (["RELEASE", "--port", "70000"], "below 65,536"),
        (["RELEASE", "--rate", "-1"], "rate must not be negative"),
    ],
)
def test_what_cannot_start_says_why(folder, tmp_path, options, words):
    (tmp_path / "card").write_text("no certificate")
    meant = {"RELEASE": str(folder), "card": str(tmp_path / "card")}
    options = [meant.get(word, word) for word in options]
    port = [] if "--port" in options else ["--port", "0"]
    said = subprocess.run(
        [sys.executable, "-m", "discreet", "serve", *options, *port],
        capture_output=True,
        text=True,
        timeout=LONG,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    assert said.returncode == 2 and said.stderr.count("\n") == 1 and words in said.stderr, said.stderr


def test_security_headers_are_on_everything(server):
    for path in ("/health", "/metrics", "/certificate", "/certificate?format=html", "/", "/nothing", "/openapi.json"):
        headers = server.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["referrer-policy"] == "no-referrer" and headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] in ("no-store", "no-cache") and "server" not in headers
