"""Connections within a boundary and a deadline, encrypted or not."""

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpcore
import httpx
import pytest

from snapshots.sources.boundary import AddressRefused, Boundary
from snapshots.sources.network import BoundedBackend, DeadlineExceeded, keep_within
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    send,
    serving,
    silence,
)
from tests.snapshots.sources.certificates import contexts


@pytest.fixture(params=["http", "https"])
def connected(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Server, httpx.Client, BoundedBackend]]:
    """Return a server, a client that trusts it, and the client's network backend."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    of_server, of_client = contexts(tmp_path)
    backend = BoundedBackend(Boundary(["127.0.0.1"]))
    with (
        serving(of_server if request.param == "https" else None) as server,
        httpx.Client(verify=of_client, timeout=5) as client,
    ):
        keep_within(client, backend)
        yield server, client, backend


Connected = tuple[Server, httpx.Client, BoundedBackend]


def test_responses(connected: Connected) -> None:
    """Responses are complete with and without a deadline, over new and reused connections."""
    server, client, backend = connected
    server["/a"] = content(b"data" * 100_000)
    for _ in range(2):
        assert client.get(server.at("/a")).content == b"data" * 100_000
        with backend.deadline(5):
            assert client.get(server.at("/a")).content == b"data" * 100_000
    assert server.url.startswith(str(client.get(server.at("/a")).url)[:8])


def test_deadline(connected: Connected) -> None:
    """A response has to be complete before the deadline; later requests are not affected."""
    server, client, backend = connected

    def drip(request: BaseHTTPRequestHandler) -> None:
        send(request, 200, b"", {"Content-Length": "1000"})
        while not server.closing.wait(0.02):
            try:
                request.wfile.write(b"x")
                request.wfile.flush()
            except OSError:
                return

    server["/slow"], server["/quick"] = drip, content(b"quick")
    started = time.monotonic()
    with backend.deadline(0.4), pytest.raises(DeadlineExceeded):
        client.get(server.at("/slow"))
    assert 0.3 < time.monotonic() - started < 4
    assert client.get(server.at("/quick")).content == b"quick"


def test_silent_server(connected: Connected) -> None:
    """The timeout or the deadline ends a request; after the deadline none is sent."""
    server, client, backend = connected
    server["/silent"] = silence(server)
    with backend.deadline(0.2), pytest.raises(DeadlineExceeded):
        client.get(server.at("/silent"))
    with backend.deadline(5), pytest.raises(httpx.ReadTimeout):
        client.get(server.at("/silent"), timeout=0.2)
    server.requests.clear()
    with backend.deadline(0), pytest.raises(DeadlineExceeded):
        client.get(server.at("/silent"))
    assert server.requests == []


def test_address_outside_the_boundary(connected: Connected) -> None:
    """No connection to such an address is opened."""
    server, client, _ = connected
    client.get(server.at("/a"))
    with pytest.raises(AddressRefused):
        client.get("http://169.254.169.254/latest")


def test_proxy_outside_the_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections to a proxy are bounded too."""
    backend = BoundedBackend(Boundary(["cache.example"], lambda host, _: [host]))
    monkeypatch.setenv("HTTP_PROXY", "http://169.254.169.254:80")
    with httpx.Client() as client:
        keep_within(client, backend)
        with pytest.raises(AddressRefused, match=r"leads to 169\.254\.169\.254"):
            client.get("http://192.0.2.1/a")


def test_unknown_version_of_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version whose connections cannot be bounded opens none."""
    with httpx.Client() as client:
        pool = client._transport._pool  # type: ignore[attr-defined]
        monkeypatch.delattr(pool, "_network_backend")
        with pytest.raises(RuntimeError, match=r"httpx [0-9.]+ and httpcore [0-9.]+ have no"):
            keep_within(client, BoundedBackend(boundary_of()))


def boundary_of(*addresses: str) -> Boundary:
    """Return a boundary for a host with these addresses."""
    return Boundary(["cache.example"], lambda *_: addresses)


def test_next_address_is_tried() -> None:
    """If the first address of a host does not respond, the next one is used."""
    with serving() as server:
        port = int(server.url.rpartition(":")[2])
        backend = BoundedBackend(boundary_of("127.0.0.9", "127.0.0.1"))
        stream = backend.connect_tcp("cache.example", port, 5)
        try:
            assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
            assert stream.get_extra_info("nothing") is None
        finally:
            stream.close()


def test_no_address_responds() -> None:
    """The error is that of the last address, or states that there is none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        backend = BoundedBackend(boundary_of("127.0.0.9", "127.0.0.1"))
        with pytest.raises(httpcore.ConnectError, match="refused"):
            backend.connect_tcp("cache.example", port, 5)
    with pytest.raises(httpcore.ConnectError, match=r"cache\.example has no address"):
        BoundedBackend(boundary_of()).connect_tcp("cache.example", 443)
