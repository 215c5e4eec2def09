"""How often one client may ask: a bucket for each, that fills at the allowed rate."""

import ipaddress
from collections import OrderedDict

MOST_CLIENTS = 100_000
"""Whoever has not asked for longest is forgotten, and starts afresh."""


class Rates:
    """Token buckets. Clients are known by a hash with a secret of the process, so that no address is kept.

    Examples
    --------
    >>> rates = Rates(rate=1.0, burst=2)
    >>> [rates.wait("10.0.0.1", now) for now in (0.0, 0.0, 0.5, 2.0)]
    [0.0, 0.0, 0.5, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[int, tuple[float, float]] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """Seconds until the client may ask again; 0 where this request is fine, and is then counted."""
        if self._rate == 0:
            return 0.0
        client = hash(network(address))
        left, last = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - last) * self._rate)
        fine = left >= 1
        self._buckets[client] = (left - 1 if fine else left), now
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if fine else (1 - left) / self._rate


def network(address: str) -> str:
    """Whom an address belongs to: of IPv6 the first half, since a client has all of the other.

    >>> network("2001:db8::1") == network("2001:db8::2"), network("10.0.0.1")
    (True, '10.0.0.1')
    """
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
