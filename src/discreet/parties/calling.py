"""How a party asks a server: over TLS, with answers of bounded size, and in one sentence where that fails."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from discreet.errors import InputError, require
from discreet.parties.serving import SECONDS_IDLE, is_loopback
from discreet.protocol.wire import RefusedError

MOST_SENTENCE = 300


class UnreachableError(InputError):
    """No answer, or none that means anything: it may be better later."""


class DeclinedError(RefusedError):
    """The server understood and said no to this message, at this moment; another may be in time."""


class Caller:
    """One server, and a pool of connections to it.

    Parameters
    ----------
    url
        Where it is: https, or http on this machine.
    name
        What it is called in messages.
    trust
        Certificates that are trusted for this server, and no others; by default those of the operating system. Each
        server needs its own: a self-signed certificate can vouch for any host, so a recommender whose certificate were
        trusted for the third party too could pass for it, and be given the seeds of all masks.
    seconds
        How long an answer may take.
    connections
        How many there are at most.
    transport
        What carries requests, in tests.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        trust: Sequence[Path] = (),
        seconds: float = 60.0,
        connections: int = 64,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.path in ("", "/")
        require(known, f"the address of the {name} is written https://HOST:PORT, got {url!r}")
        secret = parts.scheme == "https" or is_loopback(parts.hostname or "")
        require(secret, f"the {name} is on another machine, so its address must begin with https://")
        self.name = name
        # A client for each connection: one with many looks at all of them for every request.
        self._room, self._free = asyncio.Semaphore(connections), list[httpx.AsyncClient]()
        self._client = partial(
            httpx.AsyncClient,
            base_url=url,
            verify=_trusting(trust) if parts.scheme == "https" else False,
            timeout=httpx.Timeout(seconds, connect=10.0),
            limits=httpx.Limits(max_connections=1, keepalive_expiry=SECONDS_IDLE / 2),
            trust_env=False,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._free:
            await client.aclose()

    async def get(self, path: str, most: int, params: Mapping[str, str] | None = None) -> bytes:
        """What is under a path."""
        return await self._ask("GET", path, most, params=params)

    async def post(self, path: str, body: bytes, most: int, headers: Mapping[str, str] | None = None) -> bytes:
        """What is answered to a message."""
        return await self._ask("POST", path, most, content=body, headers=headers)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[httpx.AsyncClient]:
        async with self._room:
            client = self._free.pop() if self._free else self._client()
            try:
                yield client
            finally:
                self._free.append(client)

    async def _ask(self, method: str, path: str, most: int, **request: object) -> bytes:
        try:
            async with self._connection() as client, client.stream(method, path, **request) as answer:  # type: ignore[arg-type]
                accepted = answer.status_code in (200, 204)
                limit = most if accepted else MOST_SENTENCE * 4
                found = bytearray()
                async for piece in answer.aiter_raw():
                    found += piece
                    if len(found) > limit:
                        raise RefusedError(f"the {self.name} answers with more than {limit} bytes")
                if accepted:
                    return bytes(found)
                if answer.status_code >= 500:
                    raise UnreachableError(f"the {self.name} has failed (status {answer.status_code})")
                said = f"the {self.name} refuses: {printable(bytes(found)) or answer.status_code}"
                raise DeclinedError(said) if answer.status_code in (408, 409) else RefusedError(said)
        except httpx.TransportError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY" in str(error):
                raise RefusedError(
                    f"the certificate of the {self.name} is not trusted: give the right one with --trust-…"
                ) from None
            raise UnreachableError(f"the {self.name} cannot be reached") from None
        except httpx.HTTPError:
            raise UnreachableError(f"the {self.name} answers nothing that can be read") from None


async def until_reached(ask, seconds: float):  # type: ignore[no-untyped-def]
    """The answer of ``ask()``, which is asked again while the server cannot be reached, for so long."""
    loop, pause = asyncio.get_running_loop(), 0.05
    end = loop.time() + seconds
    while True:
        try:
            return await ask()
        except UnreachableError as error:
            if loop.time() > end:
                raise UnreachableError(
                    f"{error}; nothing is lost: start the same command again when it is there"
                ) from None
        await asyncio.sleep(pause)
        pause = min(2 * pause, 1.0)


def printable(text: bytes) -> str:
    r"""What a server said, as far as a terminal should see it.

    >>> printable(b"too\x1b[2J late\n")
    'too?[2J late?'
    """
    said = text[:MOST_SENTENCE].decode("utf-8", errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in said)


def _trusting(certificates: Sequence[Path]) -> ssl.SSLContext:
    if not certificates:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks certificates and host names, and trusts nobody yet
    context.verify_flags |= ssl.create_default_context().verify_flags
    for path in certificates:
        try:
            context.load_verify_locations(cafile=path)
        except (OSError, ssl.SSLError):
            raise InputError(f"{path} is no certificate: give the certificate.pem of the server") from None
    return context
