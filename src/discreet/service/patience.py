"""Uvicorn's connections, with a limit on how long and how large the head of a request may be."""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.service.guard import HEADERS, POLICY

MOST_HEAD = 1 << 16
"""Bytes of all headers and the path."""


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """The class of connections that wait no longer than this for the head of a request."""

    class Connection(HttpToolsProtocol):
        _waiting: TimerHandle | None = None
        _head, _in_head = 0, True

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._begin_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._in_head:
                self._head += len(data)
                if self._head > MOST_HEAD + len(data):
                    self.send_400_response("the head of a request must have at most 65,536 bytes")
                    return
            super().data_received(data)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_head, self._head = True, 0
            self._begin_waiting()

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._stop_waiting()
            super().on_headers_complete()

        def send_400_response(self, msg: str) -> None:
            self._stop_waiting()
            content = b'{"error":"%s"}' % msg.rstrip(".").replace("Invalid HTTP", "this is no HTTP").encode()
            ours = b"".join(b"%s: %s\r\n" % line for line in (*HEADERS, POLICY))
            self.transport.write(
                b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
                b"%scontent-length: %d\r\n\r\n%s" % (ours, len(content), content)
            )
            self.transport.close()

        def _begin_waiting(self) -> None:
            self._stop_waiting()
            self._waiting = self.loop.call_later(seconds, self._cut)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _cut(self) -> None:
            if self.transport is not None and not self.transport.is_closing():
                self.transport.close()

    return Connection
