"""One process that answers requests until it is asked to end."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits

from discreet.errors import InputError
from discreet.service.app import application
from discreet.service.counts import Counts
from discreet.service.patience import impatient
from discreet.service.settings import Service, is_loopback
from discreet.service.swapping import Current

SECONDS_TO_END = 10
"""What is at hand when the service ends has so long to be finished."""


def work(service: Service, bound: socket.socket, memory: Any, worker: int, started: Callable[[], None]) -> None:
    """Answer requests in this process until it is asked to end."""
    log_to_stderr(service)
    # One user's scores need no threads.
    with threadpool_limits(limits=1), asyncio.Runner(loop_factory=_quick_loop()) as runner:
        runner.run(_answer(service, bound, Counts(memory, worker), started))


async def _answer(service: Service, bound: socket.socket, counts: Counts, started: Callable[[], None]) -> None:
    current = Current(service.source, counts)
    secret = service.certificate is not None
    config = uvicorn.Config(
        application(
            current,
            service.limits,
            counts,
            behind_proxy=service.behind_proxy,
            strict_transport=secret and not is_loopback(service.host),
        ),
        http=impatient(service.limits.seconds_for_head),
        log_config=None,
        access_log=False,  # ours has no addresses and no queries
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=service.limits.seconds_idle,
        timeout_graceful_shutdown=SECONDS_TO_END,
        ssl_certfile=service.certificate,
        ssl_keyfile=service.key,
    )
    try:
        config.load()
    except OSError as error:
        raise InputError(f"the certificate and its key cannot be used: {error.strerror or error}") from None
    server = _Server(config)
    loop = asyncio.get_running_loop()

    def end() -> None:
        current.stopping = server.should_exit = True

    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on POSIX, or in a thread
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        loop.add_signal_handler(signal.SIGHUP, current.look_again)
    watching = asyncio.create_task(current.watch(service.watch))
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            started()
        await serving
    finally:
        watching.cancel()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the program's own."""
        yield


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def log_to_stderr(service: Service) -> None:
    """To stderr: what the service does, and a line for each request."""
    logger = logging.getLogger("discreet.service")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logging.getLogger("discreet.service.access").disabled = not service.access_log
