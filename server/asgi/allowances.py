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


class Bucket:
    """The remaining allowance of one client; an empty bucket is full again after a minute."""

    __slots__ = ("_at", "_left", "_size")

    def __init__(self, size: int, now: float) -> None:
        self._size = size
        self._left = float(size)
        self._at = now

    def take(self, amount: int, now: float) -> float:
        """Take an amount and return 0; if the bucket is empty, return the seconds until it is not.

        The amount may exceed the remaining allowance; the client then has to wait longer.
        """
        rate = self._size / _SECONDS
        self._left = min(self._size, self._left + (now - self._at) * rate)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / rate
        self._left -= amount
        return 0.0


class Allowances:
    """Limits the requests and units of cost of each client per minute; 0 is no limit."""

    def __init__(
        self, *, requests: int, cost: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._requests = requests
        self._cost = cost
        self._clock = clock
        self._asked: LRUCache[str, Bucket] = LRUCache(MAX_ADDRESSES)
        self._spent: LRUCache[str, Bucket] = LRUCache(MAX_ADDRESSES)
        self.is_limited = bool(requests or cost)

    def count_request(self, scope: Scope) -> None:
        """Count a request; raise BadRequest with status 429 if there are too many."""
        if self._requests:
            self._take(self._asked, scope, self._requests, 1, "requests")

    def charge(self, scope: Scope, units: int) -> None:
        """Count the cost of a request in advance; raise BadRequest as ``count_request``."""
        if self._cost:
            self._take(self._spent, scope, self._cost, units, "units of cost")

    def _take(
        self, buckets: LRUCache[str, Bucket], scope: Scope, size: int, amount: int, what: str
    ) -> None:
        address = client_address(scope)
        now = self._clock()
        bucket = buckets.get(address)
        if bucket is None:
            bucket = buckets[address] = Bucket(size, now)
        seconds = math.ceil(bucket.take(amount, now))
        if seconds:
            raise BadRequest(
                f"{size:,} {what} a minute are allowed. Try again in {seconds} seconds.",
                status=429,
                code="RATE_LIMITED",
                headers=((b"retry-after", str(seconds).encode()),),
            )


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
