"""HTTP clients with a boundary."""

import ssl
import threading
from functools import cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx

from snapshots.sources.boundary import Boundary

_KEEPALIVE_SECONDS = 5.0
_PORTS = {"http": 80, "https": 443}


class BoundedTransport(httpx.BaseTransport):
    """Sends requests to addresses within a boundary, directly or to the proxies of the environment.

    Host names are resolved here, once per request, so that the address that was checked is the one
    that is connected to. Raises the errors of httpx, and AddressRefused.
    """

    def __init__(
        self,
        boundary: Boundary,
        authorities: ssl.SSLContext | None = None,
        max_connections: int | None = None,
    ) -> None:
        self._boundary = boundary
        self._options: dict[str, Any] = {
            "verify": authorities or system_authorities(),
            "limits": httpx.Limits(
                max_connections=max_connections, keepalive_expiry=_KEEPALIVE_SECONDS
            ),
            "trust_env": False,
        }
        self._proxies = getproxies()
        # One for each host, because connections to one address are shared, and hosts may share it.
        self._transports: dict[str, httpx.HTTPTransport] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read yet."""
        url = request.url
        if url.scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"{url.scheme}:// is neither http:// nor https://")
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        if proxy is not None and not proxy_bypass(url.host):
            return self._through(proxy if "://" in proxy else f"http://{proxy}", request)
        transport, extensions = self._transport(url.host), {**request.extensions}
        extensions["sni_hostname"] = url.host
        failure: httpx.TransportError = httpx.ConnectError(f"{url.host} has no address")
        for address in self._addresses(url):
            own = url.copy_with(host=address.partition("%")[0])
            stream, headers = request.stream, request.headers
            try:
                return transport.handle_request(
                    httpx.Request(
                        request.method, own, headers=headers, stream=stream, extensions=extensions
                    )
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        raise failure

    def _through(self, proxy: str, request: httpx.Request) -> httpx.Response:
        url = httpx.URL(proxy)
        if url.scheme not in _PORTS:
            raise httpx.ProxyError(f"{url.scheme}:// proxies are not supported")
        self._addresses(url)
        return self._transport(proxy, httpx.Proxy(url)).handle_request(request)

    def _addresses(self, url: httpx.URL) -> list[str]:
        try:
            return [*self._boundary.addresses(url.host, url.port or _PORTS[url.scheme])]
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from None

    def _transport(self, key: str, proxy: httpx.Proxy | None = None) -> httpx.HTTPTransport:
        with self._lock:
            if key not in self._transports:
                self._transports[key] = httpx.HTTPTransport(proxy=proxy, **self._options)
            return self._transports[key]

    def close(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            transport.close()


@cache
def system_authorities() -> ssl.SSLContext:
    """Return the authorities that certificates are verified against; loading them is slow."""
    return httpx.create_ssl_context()
