"""HTTP clients of httpx with a boundary and a deadline."""

import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

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


def keep_within(client: httpx.Client, backend: BoundedBackend) -> None:
    """Route all connections of a client, including those to proxies, through the backend.

    Raises RuntimeError if these versions of httpx and httpcore store their connections elsewhere.
    """
    # httpx accepts no backend, and with a custom transport it would ignore the proxies of the
    # environment. Written for httpx 0.27 and 0.28 with httpcore 1.0.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if isinstance(transport, httpx.HTTPTransport):
            pool: Any = transport._pool  # noqa: SLF001
            if not isinstance(getattr(pool, "_network_backend", None), httpcore.NetworkBackend):
                versions = f"httpx {httpx.__version__} and httpcore {httpcore.__version__}"
                raise RuntimeError(f"{versions} have no backend that can be bounded")
            pool._network_backend = backend  # noqa: SLF001


def bounded_client(
    boundary: Boundary, *, max_connections: int | None = None, **options: Any
) -> tuple[httpx.Client, BoundedBackend]:
    """Return a client with these options within a boundary, and the backend for its deadlines.

    Their creation is slow. Raises RuntimeError like ``keep_within``.
    """
    limits = httpx.Limits(max_connections=max_connections)
    client, backend = httpx.Client(limits=limits, **options), BoundedBackend(boundary)
    keep_within(client, backend)
    return client, backend


@cache
def authorities() -> ssl.SSLContext:
    """Return the authorities that certificates are verified against; loading them is slow."""
    return httpx.create_ssl_context()
