"""How much one request may ask for, and how much one client."""

from dataclasses import dataclass

from discreet.errors import require_settings


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is refused with a sentence rather than tried.

    Parameters
    ----------
    body
        Bytes of a request's body.
    history, k
        Ratings of a history, and items that are asked for.
    rate, burst
        Requests that one client may make in a second, on average, and at once; a rate of 0 for no limit. Every worker
        process counts for itself.
    at_once
        Requests that a worker holds at a time; more are told to come back.
    seconds_for_head, seconds_for_body, seconds_idle
        How long a client may take to send the head of a request and its body, and keep a silent connection.

    Examples
    --------
    >>> Limits(k=50).k
    50
    """

    body: int = 1 << 20
    history: int = 2000
    k: int = 200
    rate: float = 50.0
    burst: int = 200
    at_once: int = 256
    seconds_for_head: float = 10.0
    seconds_for_body: float = 10.0
    seconds_idle: int = 75

    def __post_init__(self) -> None:
        require_settings(self, "body", "history", "k", "burst", "at_once", "seconds_idle", least=1)
        require_settings(self, "rate", least=0)
        require_settings(self, "seconds_for_head", "seconds_for_body", above=0)
