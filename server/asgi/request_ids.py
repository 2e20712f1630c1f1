"""The id of each request, by which its line in the log is found again."""

import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import count

from starlette.types import Scope

from snapshots.errors import InvalidArgument

HEADER = b"x-request-id"

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered."""

_GIVEN = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
"""What may stand in a header and in a line of a log as it is."""

IsTrusted = Callable[[str], bool]


def trusted_among(networks: tuple[str, ...]) -> IsTrusted:
    """Return what tells whether an address is in one of the networks; raises InvalidArgument."""
    parsed: list[IPv4Network | IPv6Network] = []
    for text in networks:
        try:
            parsed.append(ip_network(text))
        except ValueError:
            reason = f"{text!r} is not an address or a network such as 10.0.0.0/8"
            raise InvalidArgument("CACHELOG_TRUSTED_PROXIES", reason) from None

    def is_trusted(host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in parsed)

    return is_trusted


class RequestIds:
    """Makes ids, and takes those that a trusted proxy has given in X-Request-ID.

    Without ``is_trusted`` there is no such proxy.
    """

    def __init__(self, is_trusted: IsTrusted | None) -> None:
        self._is_trusted = is_trusted
        self._prefix = secrets.token_hex(6)
        self._numbers = count(1)

    def of(self, scope: Scope) -> str:
        """Return the id of a request."""
        given = _given(scope, self._is_trusted) if self._is_trusted else None
        return given or f"{self._prefix}-{next(self._numbers):x}"


def _given(scope: Scope, is_trusted: IsTrusted) -> str | None:
    client = scope.get("client")
    for name, value in scope["headers"]:
        if name == HEADER:
            is_taken = client and is_trusted(client[0]) and _GIVEN.fullmatch(value)
            return str(value, "ascii") if is_taken else None
    return None
