"""Bad requests: a status of the client's, one sentence, nothing repeated; and logs and metrics that say nothing."""

import contextlib
import json
import os
import socket

import pytest

SECRET = "Xyzzy Plugh 77"
"""A title that no sentence, log line or metric may repeat."""

BODIES = {
    "nothing": b"",
    "no JSON": b"{" + SECRET.encode(),
    "a list": json.dumps([SECRET]).encode(),
    "a number": b"1",
    "null": b"null",
    "no history": b"{}",
    "a history of null": b'{"history": null}',
    "text for a history": json.dumps({"history": SECRET}).encode(),
    "numbers for names": b'{"history": [1, 2]}',
    "ratings as text": json.dumps({"history": {SECRET: "5"}}).encode(),
    "ratings as booleans": json.dumps({"history": {SECRET: True}}).encode(),
    "NaN": b'{"history": {"1": NaN}}',
    "Infinity": b'{"history": {"1": Infinity}}',
    "huge numbers": b'{"history": {"1": 1e999}}',
    "outside the scale": b'{"history": {"1": 99}}',
    "unknown items": json.dumps({"history": [SECRET]}).encode(),
    "twice the same": b'{"history": ["1", "1"]}',
    "unknown fields": json.dumps({"history": [], SECRET: 1}).encode(),
    "k 0": b'{"history": [], "k": 0}',
    "k large": b'{"history": [], "k": 100000}',
    "k huge": b'{"history": [], "k": 1' + b"0" * 400 + b"}",
    "k half": b'{"history": [], "k": 1.5}',
    "k text": b'{"history": [], "k": "10"}',
    "exclude text": json.dumps({"history": [], "exclude": SECRET}).encode(),
    "only numbers": b'{"history": [], "only": [1]}',
    "explain text": b'{"history": [], "explain": "yes"}',
    "facts of lists": b'{"history": [], "facts": {"age": [1]}}',
    "deeply nested": b'{"history": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "lone surrogates": b'{"history": ["\\ud800"]}',
    "bad UTF-8": b'{"history": ["\xff\xfe"]}',
    "a NUL": b'{"history": ["\\u0000"]}',
    "long names": json.dumps({"history": [SECRET * 100]}).encode(),
    "long histories": json.dumps({"history": [str(place) for place in range(2500)]}).encode(),
    "too large": b'{"history": []' + b" " * 30_000 + b"}",
}


@pytest.mark.parametrize("path", ["/recommend", "/predict"])
@pytest.mark.parametrize("what", BODIES)
def test_bad_bodies_are_refused_in_one_sentence(server, path, what):
    answer = server.client.post(path, content=BODIES[what], headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    sentence = answer.json()["error"]
    assert set(answer.json()) == {"error"} and "\n" not in sentence and 10 < len(sentence) < 200
    assert SECRET not in answer.text and "Xyzzy" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/recommend", 404),  # the page's own files answer to GET
        ("PUT", "/recommend", 405),
        ("DELETE", "/", 405),
        ("GET", "/nothing", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/items?limit=-1", 422),
        ("GET", "/items?limit=100000", 422),
        ("GET", "/items/1/similar?k=none", 422),
        ("GET", "/certificate?format=pdf", 422),
    ],
)
def test_other_paths_and_methods(server, method, path, status):
    answer = server.client.request(method, path)
    assert answer.status_code == status and set(answer.json()) == {"error"}
    assert answer.headers["x-content-type-options"] == "nosniff"


def raw(port: int, content: bytes, *, leave: bool = False) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        found = b""
        with contextlib.suppress(ConnectionError):  # closed while we were still sending
            connection.sendall(content)
            if leave:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                found += piece
    return found


def test_what_is_no_http(server):
    for content in (b"\x16\x03\x01\x02\x00", os.urandom(300), b"GET\r\n\r\n", b"POST /recommend HTTP/9.9\r\n\r\n"):
        found = raw(server.port, content, leave=True)
        assert not found or found.startswith(b"HTTP/1.1 4"), found[:100]
    assert server.client.get("/health").status_code == 200


def test_sizes_that_are_said_or_not(server):
    head = b"POST /recommend HTTP/1.1\r\nhost: x\r\n"
    assert raw(server.port, head + b"content-length: 99999999999\r\n\r\n").startswith(b"HTTP/1.1 413")
    pieces = b"".join(b"1000\r\n" + b" " * 4096 + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"
    chunks = head + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    assert raw(server.port, chunks + pieces).startswith(b"HTTP/1.1 413")
    small = b'{"history": []}'
    assert raw(server.port, chunks + b"%x\r\n%s\r\n0\r\n\r\n" % (len(small), small)).startswith(b"HTTP/1.1 200")
    long_head = b"GET /health HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 500_000 + b"\r\n\r\n"
    assert raw(server.port, long_head)[:12] in (b"HTTP/1.1 400", b"")
    assert server.client.get("/health").status_code == 200


def test_nothing_about_anybody_is_logged_or_counted(server):
    query = {"q": SECRET}
    server.client.post("/recommend", json={"history": [SECRET]})
    server.client.post("/recommend", json={"history": {"13": 4.0, "14": 5.0}, "exclude": [SECRET]})
    server.client.get("/items", params=query)
    server.client.get(f"/items/{SECRET}/similar")
    server.client.get(f"/{SECRET}", headers={"user-agent": SECRET, "cookie": SECRET, "x-forwarded-for": "203.0.113.9"})
    metrics, log = server.client.get("/metrics"), server.log.read_text()
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    for text in (metrics.text, log):
        assert "Xyzzy" not in text and "203.0.113.9" not in text and "127.0.0.1" not in text.partition("\n")[2]
    assert "POST /recommend 200" in log and "POST /recommend 422" in log and "GET /items 200" in log
    assert "GET /items/{item}/similar 404" in log and "?" not in log and "history" not in log
    for line in metrics.text.splitlines():
        assert line.startswith(("# HELP discreet_", "# TYPE discreet_", "discreet_"))
        assert not line.startswith("discreet_") or float(line.rpartition(" ")[2]) >= 0
    assert 'discreet_requests_total{route="/recommend",status="2xx"}' in metrics.text


def test_whoever_is_too_slow_is_cut_off(start, folder):
    server = start(folder, "--timeout", "0.3")
    head = b"POST /recommend HTTP/1.1\r\nhost: x\r\n"
    assert raw(server.port, b"") == b""  # nothing at all
    assert raw(server.port, head) == b""  # a head that does not end
    assert raw(server.port, head + b"content-length: 50\r\n\r\n{").startswith(b"HTTP/1.1 408")
    whole = head + b'content-length: 15\r\n\r\n{"history": []}'
    assert raw(server.port, whole + head).startswith(b"HTTP/1.1 200")  # and a second one that does not end
    assert server.client.get("/health").status_code == 200


def test_whoever_asks_too_often_is_told_to_wait(start, folder):
    server = start(folder, "--rate", "0.01")
    statuses = [server.client.get("/release").status_code for _ in range(3)]
    assert statuses == [200, 429, 429]
    answer = server.client.post("/recommend", json={"history": []})
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 0 and "at most" in answer.json()["error"]
    assert server.client.get("/health").status_code == 200  # whoever runs it may always look
    assert "discreet_requests_limited_total 3" in server.client.get("/metrics").text
