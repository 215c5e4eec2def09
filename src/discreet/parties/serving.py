"""How both servers answer: bodies of bounded size, refusals in one sentence, and an end that is clean."""

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from discreet.errors import InputError, require
from discreet.protocol.wire import RefusedError

LOG = logging.getLogger("discreet.parties")
SECONDS_FOR_A_BODY = 60.0
"""Whoever is slower is cut off, and may try again."""

SECONDS_IDLE = 75
"""So long a connection without requests is kept: longer than clients keep theirs, who then never meet a closed one."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server listens, and by which certificate it is known.

    >>> Address.parse("127.0.0.1:8001").url
    'http://127.0.0.1:8001'
    """

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        require((self.certificate is None) == (self.key is None), "a certificate and its key go together: give both")
        for path in (self.certificate, self.key):
            require(path is None or path.is_file(), f"{path} is no file: `discreet party certificates` makes a pair")
        secret = self.certificate is not None or is_loopback(self.host)
        require(secret, f"{self.host} is open to others: give --certificate and --certificate-key")

    @classmethod
    def parse(cls, text: str, certificate: Path | None = None, key: Path | None = None) -> "Address":
        """Read HOST:PORT."""
        host, _, port = text.rpartition(":")
        fine = bool(host) and port.isascii() and port.isdigit() and int(port) < 2**16
        require(fine, f"an address is written HOST:PORT, for example 127.0.0.1:8001, got {text!r}")
        return cls(host=host.strip("[]"), port=int(port), certificate=certificate, key=key)

    @property
    def url(self) -> str:
        """As users write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'' if self.certificate is None else 's'}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine is reached.

    >>> is_loopback("localhost"), is_loopback("10.0.0.1")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def body_of(request: Request, most: int) -> bytes:
    """The body, if it says how long it is and is no longer than that; nothing is read before."""
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 20):
        raise _refusal(411, "a message must say how many bytes it has")
    if int(length) > most:
        raise _refusal(413, f"a message has at most {most} bytes here")
    found, size = [], 0
    try:
        async with asyncio.timeout(SECONDS_FOR_A_BODY):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise _refusal(413, f"a message has at most {most} bytes here")
                found.append(piece)
    except TimeoutError:
        raise _refusal(408, "the message took too long") from None
    except ClientDisconnect:
        raise _refusal(400, "the message ended too early") from None
    return b"".join(found)


@contextlib.contextmanager
def malformed() -> Iterator[None]:
    """Within, what cannot be read is answered with 400."""
    try:
        yield
    except RefusedError as error:
        raise _refusal(400, str(error)) from None


@contextlib.contextmanager
def unfitting() -> Iterator[None]:
    """Within, what does not fit the state of the server is answered with 409: replayed, out of order, mis-labelled."""
    try:
        yield
    except InputError as error:
        raise _refusal(409, str(error), close=False) from None


def forbidden(status: int, sentence: str) -> HTTPException:
    """An answer to someone without the right to ask."""
    return _refusal(status, sentence)


def _refusal(status: int, sentence: str, close: bool = True) -> HTTPException:
    # A body that was not read must not be taken for the next request.
    return HTTPException(status, sentence, headers={"connection": "close"} if close else None)


def binary(content: bytes) -> Response:
    """A message as an answer."""
    return Response(content, media_type="application/octet-stream")


async def _said(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Response(error.detail, error.status_code, headers=error.headers, media_type="text/plain; charset=utf-8")


def application(routes: list[Any]) -> Starlette:
    """An application whose refusals are plain sentences."""
    app = Starlette(routes=routes, exception_handlers={HTTPException: _said})
    app.router.redirect_slashes = False  # nothing is made of what a client says its host is
    return app


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the program's own."""
        yield


@contextlib.asynccontextmanager
async def listening(app: Starlette, address: Address) -> AsyncIterator[str]:
    """Answer requests while the block runs; gives the address under which it is reached."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        bound = socket.create_server((address.host, address.port), family=family, backlog=4096)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {address.host}:{address.port}: {reason}") from None
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # addresses of users are nobody's business
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=SECONDS_IDLE,
        timeout_graceful_shutdown=2,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    try:
        config.load()
    except OSError as error:
        bound.close()
        raise InputError(f"{address.certificate} and {address.key} are no pair: {error}") from None
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if serving.done():
            await serving
        yield f"{address.url.rpartition(':')[0]}:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        bound.close()


def quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop of uvloop, where there is one; None for that of Python."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def run_program(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run a program until it is done; Ctrl-C and a request to terminate end it after the message at hand."""

    async def until_asked_to_end() -> Any:
        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on POSIX, or in a thread
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await main()

    try:
        with asyncio.Runner(loop_factory=quick_loop()) as runner:
            return runner.run(until_asked_to_end())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
