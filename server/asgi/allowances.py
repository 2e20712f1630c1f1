"""Rate limits for requests and their cost, per minute: a token bucket for each client address.

https://en.wikipedia.org/wiki/Token_bucket
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

from cachetools import LRUCache
from starlette.types import Scope

from server.asgi.errors import BadRequest

MAX_ADDRESSES = 10_000
"""Maximum number of addresses whose usage is recorded; the least recently used are evicted."""

_SECONDS = 60.0
_MAX_ADDRESS_LENGTH = 64
"""Longer addresses are truncated: a careless proxy may pass on text that its client invented."""


class _Limit:
    """A limit of ``size`` per minute for each client; 0 is no limit.

    A client that has used up its allowance has all of it again after a minute.
    """

    def __init__(self, size: int, what: str, clock: Callable[[], float]) -> None:
        self._size = size
        self._what = what
        self._clock = clock
        self._left: LRUCache[str, tuple[float, float]] = LRUCache(MAX_ADDRESSES)
        """What each client has left, and the time of its last request."""

    def take(self, scope: Scope, amount: int) -> None:
        """Take an amount from the allowance of a client; raise BadRequest if it is used up.

        The amount may exceed what is left; the client then has to wait longer.
        """
        if not self._size:
            return
        address, now, rate = client_address(scope), self._clock(), self._size / _SECONDS
        left, at = self._left.get(address, (self._size, now))
        left = min(self._size, left + (now - at) * rate)
        if left >= 1:
            self._left[address] = left - amount, now
            return
        self._left[address] = left, now
        seconds = math.ceil((1 - left) / rate)
        raise BadRequest(
            f"{self._size:,} {self._what} a minute are allowed. Try again in {seconds} seconds.",
            status=429,
            code="RATE_LIMITED",
            headers=((b"retry-after", str(seconds).encode()),),
        )


class Allowances:
    """Limits the requests and units of cost of each client per minute; 0 is no limit."""

    def __init__(
        self, *, requests: int, cost: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._requests = _Limit(requests, "requests", clock)
        self._cost = _Limit(cost, "units of cost", clock)
        self.is_limited = bool(requests or cost)

    def count_request(self, scope: Scope) -> None:
        """Count a request; raise BadRequest with status 429 if there are too many."""
        self._requests.take(scope, 1)

    def charge(self, scope: Scope, units: int) -> None:
        """Count the cost of a request in advance; raise BadRequest as ``count_request``."""
        self._cost.take(scope, units)


def client_address(scope: Scope) -> str:
    """Return the address of a request's client; for IPv6, its network (/64).

    For a client behind trusted proxies, the scope already contains the client's address.
    """
    client = scope.get("client")
    return _network(client[0][:_MAX_ADDRESS_LENGTH] if client else "")


@lru_cache(maxsize=1_024)
def _network(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed) >> 64 << 64, 64)))
