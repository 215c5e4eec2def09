"""Around every route: rates, sizes, times, headers, counts, and a log line that says nothing about anybody."""

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.service.asked import RefusedError
from discreet.service.counts import Counts
from discreet.service.files import NOTHING
from discreet.service.limits import Limits
from discreet.service.rates import Rates

LOG = logging.getLogger("discreet.service.access")
ERRORS = logging.getLogger("discreet.service")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UNLIMITED = ("/health", "/ready", "/metrics")
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), browsing-topics=()"),
)
POLICY = (b"content-security-policy", NOTHING.encode())
TRANSPORT = (b"strict-transport-security", b"max-age=31536000")
SECONDS_TO_DRAIN, MOST_DRAINED = 1.0, 4
KEEP_NOTHING = (b"cache-control", b"no-store")


class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app
        The routes.
    limits, counts
        What is allowed, and where requests are counted.
    behind_proxy
        Whether the client's address is the last one of ``X-Forwarded-For``.
    strict_transport
        Whether browsers are told to come by TLS only.
    """

    def __init__(
        self, app: App, limits: Limits, counts: Counts, *, behind_proxy: bool = False, strict_transport: bool = False
    ) -> None:
        self._app, self._limits, self._counts, self._behind_proxy = app, limits, counts, behind_proxy
        self._rates = Rates(limits.rate, limits.burst)
        self._headers = (*HEADERS, TRANSPORT) if strict_transport else HEADERS
        self._at_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        began, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = self._with_ours(message.get("headers", ()))
            await send(message)

        self._at_hand += 1
        self._counts.add("in_flight", 1)
        try:
            refused = self._refused(scope, began)
            if refused is not None:
                await refuse(answer, *refused)
            else:
                await self._app(scope, receive, answer)
        except Exception as error:
            # Its words stay out of the log: they may hold a part of a history.
            where = traceback.extract_tb(error.__traceback__)[-1]
            ERRORS.error("%s at %s:%s", type(error).__name__, where.filename, where.lineno)
            if status == 0:
                await refuse(answer, 500, "something is wrong here, and it is written down")
        finally:
            self._at_hand -= 1
            self._counts.add("in_flight", -1)
            seconds, route = time.perf_counter() - began, route_of(scope)
            self._counts.answered(route, status or 499, seconds)
            LOG.info("%s %s %s %.1f ms", scope["method"], route, status or "left", 1000 * seconds)

    def _refused(self, scope: Scope, now: float) -> tuple[int, str, int] | None:
        if scope["path"] in UNLIMITED:
            return None
        if self._at_hand > self._limits.at_once:
            return 503, "too much is asked at once: try again in a second", 1
        wait = self._rates.wait(self._client(scope), now)
        if wait == 0:
            return None
        self._counts.add("limited", 1)
        return 429, f"too many requests: at most {self._limits.rate:g} a second", max(1, round(wait + 0.5))

    def _client(self, scope: Scope) -> str:
        if self._behind_proxy:
            told = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            if told:
                return str(told[-1].rsplit(b",", 1)[-1].strip().decode("latin-1"))
        client = scope.get("client")
        return client[0] if client else ""

    def _with_ours(self, headers: Any) -> list[tuple[bytes, bytes]]:
        own = list(headers)
        names = {name for name, _ in own}
        if b"content-security-policy" not in names:
            own.append(POLICY)
        if b"cache-control" not in names:
            own.append(KEEP_NOTHING)
        return [*own, *self._headers]


def route_of(scope: Scope) -> str:
    """The route of a request as it is written in the code: a path may hold what somebody looks for."""
    return str(scope.get("discreet.route", "other"))


async def refuse(send: Send, status: int, sentence: str, after: int | None = None) -> None:
    """Answer with one sentence, before the body was read: so the connection is closed."""
    content = b'{"error":"%s"}' % sentence.encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    if after is not None:
        headers.append((b"retry-after", str(after).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def body_of(receive: Receive, headers: Any, limits: Limits) -> bytes:
    """The body of a request, if it is small enough and comes in time."""
    length = headers.get("content-length")
    too_large = RefusedError(413, f"a body must have at most {limits.body:,} bytes")
    if length is not None and (not length.isdigit() or int(length) > limits.body):
        if "expect" not in headers:
            await _drain(receive, limits)
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds_for_body):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "the body ended too early")
                part = message.get("body", b"")
                size += len(part)
                if size > limits.body:
                    await _drain(receive, limits)
                    raise too_large
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise RefusedError(408, "the body took too long") from None


async def _drain(receive: Receive, limits: Limits) -> None:
    """Read on for a moment: a connection that is closed on what was not read takes the answer with it."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS_TO_DRAIN):
            while size <= MOST_DRAINED * limits.body:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
