"""The service as a program: one process, or several that share a port, until somebody ends it."""

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.service.counts import WIDTH
from discreet.service.settings import Service
from discreet.service.worker import SECONDS_TO_END, log_to_stderr, work

SECONDS_BEFORE_RESTART = 1.0
STARTED = "started"


def serve(service: Service, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; SIGHUP takes up the release anew. Raises where the release cannot be read."""
    sockets = bound(service)
    started_at = service.url(sockets[0].getsockname()[1])
    try:
        if service.workers == 1:
            work(service, sockets[0], bytearray(8 * WIDTH), 0, lambda: started(started_at))
        else:
            _supervise(service, sockets, lambda: started(started_at))
    finally:
        for one in sockets:
            one.close()


def bound(service: Service) -> list[socket.socket]:
    """A socket for each worker, on one port: the system deals connections out evenly, and none is lost with a worker.

    Where the system cannot, all workers get the same one.
    """
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    several = service.workers > 1 and sys.platform == "linux"
    sockets: list[socket.socket] = []
    try:
        for _ in range(service.workers if several else 1):
            port = sockets[0].getsockname()[1] if sockets else service.port
            sockets.append(socket.create_server((service.host, port), family=family, backlog=2048, reuse_port=several))
    except (OSError, UnicodeError) as error:
        for one in sockets:
            one.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {service.host}:{service.port}: {reason}") from None
    return sockets


# ── Several workers ──


@dataclass
class _Worker:
    process: Any
    news: Connection
    began: float


def _supervise(service: Service, sockets: list[socket.socket], started: Callable[[], None]) -> None:
    """Start workers, start those again that die, pass signals on, and end them all."""
    context = multiprocessing.get_context("spawn")
    memory = context.RawArray("d", service.workers * WIDTH)
    ending = False
    log_to_stderr(service)

    def start(place: int) -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_child, args=(service, sockets[place % len(sockets)], memory, place, theirs), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours, time.monotonic())

    workers: list[_Worker] = []

    def end(_number: int, _frame: object) -> None:
        nonlocal ending
        ending = True
        tell(signal.SIGTERM)

    def tell(number: int) -> None:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError, TypeError):
                os.kill(worker.process.pid, number)

    with _signals(
        {signal.SIGINT: end, signal.SIGTERM: end, signal.SIGHUP: lambda _number, _frame: tell(signal.SIGHUP)}
    ):
        try:
            workers.extend(start(place) for place in range(service.workers))
            try:
                for worker in workers:
                    _wait_until_started(worker)
            except InputError:
                if not ending:  # one that is stopped while it starts is no failure
                    raise
            if not ending:
                started()
            while not ending:
                wait([worker.process.sentinel for worker in workers], timeout=0.5)
                for place, worker in enumerate(workers):
                    if not ending and not worker.process.is_alive():
                        logging.getLogger("discreet.service").error("a worker ended by itself, and is started again")
                        time.sleep(max(0.0, SECONDS_BEFORE_RESTART - (time.monotonic() - worker.began)))
                        workers[place] = start(place)
        finally:
            tell(signal.SIGTERM)
            for worker in workers:
                worker.process.join(SECONDS_TO_END + 5)
                if worker.process.is_alive():
                    worker.process.kill()


def _wait_until_started(worker: _Worker) -> None:
    try:
        news = worker.news.recv()
    except EOFError:
        news = "a worker ended before it began"
    if news != STARTED:
        raise InputError(news)


@contextlib.contextmanager
def _signals(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _child(service: Service, bound: socket.socket, memory: Any, worker: int, news: Connection) -> None:
    """A worker process: it tells when it has begun or why it cannot, and ends with the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all, and the supervisor passes it on
    try:
        work(_watched(service), bound, memory, worker, lambda: news.send(STARTED))
    except DiscreetError as error:
        with contextlib.suppress(OSError):
            news.send(str(error))
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(2)


def _watched(service: Service) -> Service:
    """End this process when the supervisor is gone: nobody else would."""
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait_for_parent, daemon=True).start()
    return service
