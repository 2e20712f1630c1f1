"""Connections that keep to a boundary and a deadline, encrypted or not."""

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpcore
import httpx
import pytest

from snapshots.sources.boundary import AddressRefused, Boundary
from snapshots.sources.network import BoundedBackend, Overdue, keep_within
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    send,
    serving,
    silence,
)
from tests.snapshots.sources.certificates import contexts


@pytest.fixture(params=["http", "https"])
def asking(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Server, httpx.Client, BoundedBackend]]:
    """Return a server, a client that trusts it, and what bounds the client."""
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


Asking = tuple[Server, httpx.Client, BoundedBackend]


def test_what_is_asked_for_comes(asking: Asking) -> None:
    """Within a deadline as without one, over new connections and over kept ones."""
    server, client, backend = asking
    server["/a"] = content(b"data" * 100_000)
    for _ in range(2):
        assert client.get(server.at("/a")).content == b"data" * 100_000
        with backend.deadline(5):
            assert client.get(server.at("/a")).content == b"data" * 100_000
    assert server.url.startswith(str(client.get(server.at("/a")).url)[:8])


def test_a_deadline(asking: Asking) -> None:
    """However often something comes, all of it must have come by then; later requests may ask."""
    server, client, backend = asking

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
    with backend.deadline(0.4), pytest.raises(Overdue):
        client.get(server.at("/slow"))
    assert 0.3 < time.monotonic() - started < 4
    assert client.get(server.at("/quick")).content == b"quick"


def test_a_server_that_says_nothing(asking: Asking) -> None:
    """The shorter of its own timeout and the deadline ends a request; after it none is sent."""
    server, client, backend = asking
    server["/silent"] = silence(server)
    with backend.deadline(0.2), pytest.raises(Overdue):
        client.get(server.at("/silent"))
    with backend.deadline(5), pytest.raises(httpx.ReadTimeout):
        client.get(server.at("/silent"), timeout=0.2)
    server.asked.clear()
    with backend.deadline(0), pytest.raises(Overdue):
        client.get(server.at("/silent"))
    assert server.asked == []


def test_an_address_outside_the_boundary(asking: Asking) -> None:
    """It is not connected to."""
    server, client, _ = asking
    client.get(server.at("/a"))
    with pytest.raises(AddressRefused):
        client.get("http://169.254.169.254/latest")


def test_connections_to_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are bounded as others are."""
    backend = BoundedBackend(Boundary(["cache.example"], lambda host, _: [host]))
    monkeypatch.setenv("HTTP_PROXY", "http://169.254.169.254:80")
    with httpx.Client() as client:
        keep_within(client, backend)
        with pytest.raises(AddressRefused, match=r"leads to 169\.254\.169\.254"):
            client.get("http://192.0.2.1/a")


def test_another_version_of_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose connections cannot be bounded opens none."""
    with httpx.Client() as client:
        pool = client._transport._pool  # type: ignore[attr-defined]
        monkeypatch.delattr(pool, "_network_backend")
        with pytest.raises(RuntimeError, match=r"httpx [0-9.]+ and httpcore [0-9.]+ have no"):
            keep_within(client, BoundedBackend(found()))


def found(*addresses: str) -> Boundary:
    """Return a boundary for a host that has some addresses."""
    return Boundary(["cache.example"], lambda *_: addresses)


def test_the_next_address_is_tried() -> None:
    """Where the first one of a host does not answer."""
    with serving() as server:
        port = int(server.url.rpartition(":")[2])
        backend = BoundedBackend(found("127.0.0.9", "127.0.0.1"))
        stream = backend.connect_tcp("cache.example", port, 5)
        try:
            assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
            assert stream.get_extra_info("nothing") is None
        finally:
            stream.close()


def test_no_address_answers() -> None:
    """The error is that of the last one, or says that there is none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(httpcore.ConnectError, match="refused"):
            BoundedBackend(found("127.0.0.9", "127.0.0.1")).connect_tcp("cache.example", port, 5)
    with pytest.raises(httpcore.ConnectError, match=r"cache\.example has no address"):
        BoundedBackend(found()).connect_tcp("cache.example", 443)
