"""What is served, where, and by how many processes."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import require, require_number, require_whole
from discreet.service.limits import Limits
from discreet.service.ready import Source

MOST_WORKERS = 256


@dataclass(frozen=True, kw_only=True)
class Service:
    """What is served, where, and by how many processes.

    Parameters
    ----------
    source
        Where the release is.
    host, port
        Where to listen; port 0 for any that is free.
    certificate, key
        For TLS: files in PEM.
    behind_proxy
        That TLS ends at a proxy in front, which writes the client's address into ``X-Forwarded-For``.
    workers
        How many processes.
    watch
        Every how many seconds to look for a new release.
    limits
        What is refused.
    access_log
        Whether each request is a line of the log: method, route, status and time.
    """

    source: Source
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    workers: int = 1
    watch: float = 1.0
    limits: Limits = field(default_factory=Limits)
    access_log: bool = True

    def __post_init__(self) -> None:
        require_whole("port", self.port, 0)
        require(self.port < 2**16, f"port must be below 65,536, got {self.port}")
        require_whole("workers", self.workers, 1)
        require(self.workers <= MOST_WORKERS, f"workers must be at most {MOST_WORKERS}, got {self.workers}")
        require_number("watch", self.watch, above=0)
        require((self.certificate is None) == (self.key is None), "a certificate and its key go together: give both")
        for path in (self.certificate, self.key):
            require(path is None or path.is_file(), f"{path} is no file: `discreet party certificates` makes a pair")
        hidden = self.certificate is not None or self.behind_proxy or is_loopback(self.host)
        require(
            hidden,
            f"{self.host} is open to others, and histories would cross the network in the clear: give --certificate "
            "and --key, or --behind-proxy where TLS ends before this service",
        )

    def url(self, port: int) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'' if self.certificate is None else 's'}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine is reached.

    >>> is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
