"""The boundary of an import: public addresses, and addresses of the kinds at which it begins.

Otherwise, an external list of tags or a redirect could make cachelog send requests to services of
its own machine or network. The special ranges are those of the IANA registries, as implemented by
Python's ``ipaddress``, and those that some versions of it lack.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Lock
from urllib.parse import urlsplit
from urllib.request import getproxies

_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
_NOT_GLOBAL = tuple(
    ip_network(network)
    for network in (
        "192.88.99.0/24",  # relays of 6to4, deprecated by RFC 7526
        "64:ff9b:1::/48",  # translation within a network, RFC 8215
        "3fff::/20",  # documentation, RFC 9637
        "fec0::/10",  # site-local, deprecated by RFC 3879
    )
)

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port; raises OSError or UnicodeError if it has none."""


def hosts_of(*urls: str) -> list[str]:
    """Return the hosts of URLs, without those of invalid URLs."""
    named = []
    for url in urls:
        with suppress(ValueError):
            named.append(urlsplit(url).hostname)
    return [host for host in named if host]


class AddressRefused(Exception):
    """A host has an address that the import must not reach."""


def kind_of(address: str) -> str | None:
    """Return loopback, link-local, private or reserved; None for a public address.

    An IPv6 address that represents an IPv4 address has the kind of that address.
    """
    literal = ip_address(address.partition("%")[0])
    ip = _represented(literal)
    if ip.is_loopback or ip.is_unspecified:  # Linux connects 0.0.0.0 to the machine itself
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    if ip.is_multicast or ip.is_reserved:
        return "reserved"
    is_global = ip.is_global and not any(literal in net or ip in net for net in _NOT_GLOBAL)
    return None if is_global else "private"


def _represented(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(ip, IPv4Address) or ip.is_loopback:
        return ip
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip.teredo is not None:
        return ip.teredo[1]
    if any(ip in network for network in _TRANSLATED):
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host from the system's resolver."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


class Boundary:
    """Decides which addresses may be connected to; thread-safe.

    ``trusted`` are the hosts at which the import begins. If such a host has special addresses when
    it is first resolved, all addresses of their kinds are allowed. ``configured`` are URLs from
    settings: their hosts, and the system's proxies, may have any addresses, but do not allow any
    others.
    """

    def __init__(
        self, trusted: Iterable[str], resolve: Resolve = resolve, *, configured: Iterable[str] = ()
    ) -> None:
        self._trusted = {_normal(host) for host in trusted}
        self._configured = {*map(_normal, hosts_of(*configured, *getproxies().values()))}
        self._resolve = resolve
        self._kinds: dict[str, set[str | None]] = {}
        """The kinds of addresses that each trusted host had when it was first resolved."""

        self._lock = Lock()

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, all of which may be reached.

        Raises AddressRefused if one must not be reached, and the errors of the resolver.
        """
        addresses, name = self._resolve(host, port), _normal(host)
        if name in self._configured:
            return addresses
        with self._lock:
            for trusted in self._trusted - self._kinds.keys():
                with suppress(OSError, ValueError):
                    found = addresses if trusted == name else self._resolve(trusted, port)
                    # Only once: later, the name may resolve to other addresses, which the user did
                    # not choose.
                    self._kinds[trusted] = {*map(kind_of, found)}
            allowed = {None}.union(*self._kinds.values())
        for address in addresses:
            if (kind := kind_of(address)) not in allowed:
                reason = f"leads to {host} ({address}), a {kind} address"
                raise AddressRefused(f"{reason}; only an import that begins there may go there")
        return addresses


def _normal(host: str) -> str:
    return host.lower().rstrip(".").strip("[]")
