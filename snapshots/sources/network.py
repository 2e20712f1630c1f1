"""HTTP clients with a boundary and a deadline."""

import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from snapshots.sources.boundary import Boundary


class DeadlineExceeded(Exception):
    """A request exceeds the deadline for its entire duration."""


class BoundedBackend(httpcore.NetworkBackend):
    """Connects only to addresses within the boundary, and aborts requests that take too long.

    Host names are resolved here, once per connection, so that the address that was checked is the
    one that is connected to.
    """

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        self._inner = httpcore.SyncBackend()
        self._of_thread = threading.local()

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Limit this thread's requests within the block to ``seconds`` in total."""
        self._of_thread.end = time.monotonic() + seconds
        try:
            yield
        finally:
            self._of_thread.end = None

    def remaining(self, timeout: float | None) -> float | None:
        """Return the timeout, or the time to the deadline if less.

        Raises DeadlineExceeded after the deadline.
        """
        end = getattr(self._of_thread, "end", None)
        if end is None:
            return timeout
        remaining: float = end - time.monotonic()
        if remaining <= 0:
            raise DeadlineExceeded
        return remaining if timeout is None else min(timeout, remaining)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts. Raises AddressRefused."""
        try:
            addresses = self._boundary.addresses(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from None
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                stream = self._inner.connect_tcp(
                    address, port, self.remaining(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _BoundedStream(stream, self)
        raise failure


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, backend: BoundedBackend) -> None:
        self._stream = stream
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._limited(timeout) as remaining:
            return self._stream.read(max_bytes, remaining)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with self._limited(timeout) as remaining:
            self._stream.write(buffer, remaining)

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        remaining = self._backend.remaining(timeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, remaining)
        return _BoundedStream(stream, self._backend)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    @contextmanager
    def _limited(self, timeout: float | None) -> Iterator[float | None]:
        remaining = self._backend.remaining(timeout)
        try:
            yield remaining
        except httpcore.TimeoutException:
            self._backend.remaining(timeout)  # raises if the deadline caused the timeout
            raise


# -- clients

_KEEPALIVE_SECONDS = 5.0
_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


@contextmanager
def _translated() -> Iterator[None]:
    """Translate the errors of httpcore into those of httpx, which have the same names."""
    try:
        yield
    except _ERRORS as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


class BoundedTransport(httpx.BaseTransport):
    """Sends requests through a backend, directly or to the proxies of the environment.

    Raises the errors of httpx, AddressRefused, and DeadlineExceeded.
    """

    def __init__(
        self,
        backend: BoundedBackend,
        authorities: ssl.SSLContext | None = None,
        max_connections: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "ssl_context": authorities,
            "max_connections": max_connections,
            "keepalive_expiry": _KEEPALIVE_SECONDS,
            "network_backend": backend,
        }
        self._proxies = getproxies()
        self._pools: dict[str | None, httpcore.ConnectionPool] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read yet."""
        url = request.url
        with _translated():
            response = self._pool(url).handle_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def _pool(self, url: httpx.URL) -> httpcore.ConnectionPool:
        """Return the connections to the servers of a URL, or to its proxy."""
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        if proxy is not None and proxy_bypass(url.host):
            proxy = None
        with self._lock:
            if proxy not in self._pools:
                self._pools[proxy] = self._opened(proxy)
            return self._pools[proxy]

    def _opened(self, proxy: str | None) -> httpcore.ConnectionPool:
        if proxy is None:
            return httpcore.ConnectionPool(**self._options)
        url = httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
        if url.scheme not in ("http", "https"):
            raise httpx.ProxyError(f"{url.scheme}:// proxies are not supported")
        login = (url.username, url.password) if url.username else None
        place = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=b"/")
        return httpcore.HTTPProxy(place, login, **self._options)

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _translated():
            yield from self._response.iter_stream()

    def close(self) -> None:
        with _translated():
            self._response.close()


def bounded_client(
    boundary: Boundary,
    authorities: ssl.SSLContext | None = None,
    *,
    max_connections: int | None = None,
    **options: Any,
) -> tuple[httpx.Client, BoundedBackend]:
    """Return a client with these options within a boundary, and the backend for its deadlines."""
    backend = BoundedBackend(boundary)
    transport = BoundedTransport(backend, authorities or system_authorities(), max_connections)
    return httpx.Client(transport=transport, **options), backend


@cache
def system_authorities() -> ssl.SSLContext:
    """Return the authorities that certificates are verified against; loading them is slow."""
    return httpx.create_ssl_context()
