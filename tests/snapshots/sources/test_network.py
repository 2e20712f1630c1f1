"""Connections within a boundary and a deadline; the addresses that an import reaches."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path

import httpx
import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from snapshots.errors import SourceError
from snapshots.sources.boundary import AddressRefused, Boundary, kind_of
from snapshots.sources.network import BoundedTransport
from snapshots.sources.reports import Report
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    send,
    serving,
    silence,
    status,
)
from tests.snapshots.sources.readings import QUICK

pytestmark = pytest.mark.usefixtures("no_proxies")

Connected = tuple[Server, httpx.Client]


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Create a certificate of 127.0.0.1; return the contexts of a server and of a client."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(certificate.public_bytes(Encoding.PEM) + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=file)


@pytest.fixture(params=["http", "https"])
def connected(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connected]:
    """Return a server, and a client that trusts it."""
    of_server, of_client = contexts(tmp_path)
    client = httpx.Client(transport=BoundedTransport(Boundary(["127.0.0.1"]), of_client), timeout=5)
    with serving(of_server if request.param == "https" else None) as server, client:
        yield server, client


def bounded(boundary: Boundary) -> httpx.Client:
    """Return a client within a boundary."""
    return httpx.Client(transport=BoundedTransport(boundary))


def test_responses(connected: Connected) -> None:
    """Responses are complete over new and reused connections; a silent server is given up."""
    server, client = connected
    server["/a"], server["/silent"] = content(b"data" * 100_000), silence(server)
    for _ in range(2):
        assert client.get(server.at("/a")).content == b"data" * 100_000
    with pytest.raises(httpx.ReadTimeout):
        client.get(server.at("/silent"), timeout=0.2)


def test_deadline(server: Server) -> None:
    """A response has to be complete before the deadline."""

    def drip(request: BaseHTTPRequestHandler) -> None:
        send(request, 200, b"", {"Content-Length": "1000"})
        while not server.closing.wait(0.02):
            try:
                request.wfile.write(b"x")
                request.wfile.flush()
            except OSError:
                return

    server["/slow"] = drip
    settings = msgspec.structs.replace(QUICK, deadline=0.3)
    with (
        Transport(settings, Report(), [server.url]) as transport,
        pytest.raises(SourceError, match=r"took longer than 0.3 s; try again later"),
    ):
        transport.read(server.at("/slow"))


def test_address_outside_the_boundary(connected: Connected) -> None:
    """No connection to such an address is opened."""
    server, client = connected
    client.get(server.at("/a"))
    with pytest.raises(AddressRefused):
        client.get("http://169.254.169.254/latest")


def test_proxy_outside_the_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections to a proxy are bounded too; hosts that bypass it are connected to directly."""
    monkeypatch.setenv("HTTP_PROXY", "169.254.169.254:80")
    monkeypatch.setenv("NO_PROXY", "direct.example")
    hosts = {"direct.example": "169.254.0.1"}
    boundary = Boundary(["cache.example"], lambda host, _: [hosts.get(host, host)])
    with bounded(boundary) as client:
        with pytest.raises(AddressRefused, match=r"leads to 169\.254\.169\.254"):
            client.get("http://192.0.2.1/a")
        with pytest.raises(AddressRefused, match=r"leads to direct\.example \(169\.254\.0\.1\)"):
            client.get("http://direct.example/a")


def test_requests_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy of the environment is sent the whole URL, and its login."""
    with serving() as proxy:
        proxy.otherwise = content(b"from the proxy")
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("://", "://me:word@"))
        with bounded(Boundary([])) as client:
            assert client.get("http://192.0.2.1/a").content == b"from the proxy"
        assert proxy.requests == ["GET http://192.0.2.1/a"]
        assert proxy.headers[0]["Proxy-Authorization"] == "Basic bWU6d29yZA=="
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:9")
    with (
        bounded(Boundary([])) as client,
        pytest.raises(httpx.ProxyError, match="socks5:// proxies are not supported"),
    ):
        client.get("http://192.0.2.1/a")


# -- the boundary of an import


PUBLIC = "93.184.216.34"


KINDS = {
    None: [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946", "3fff:1000::1"],
    "loopback": [
        *("127.0.0.1", "127.255.0.9", "0.0.0.0", "::1", "::"),  # noqa: S104 - nothing is bound
        *("::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::"),
        *("64:ff9b::7f00:1", "64:ff9b:1::7f00:1"),
    ],
    "link-local": ["169.254.169.254", "fe80::1%eth0", "::ffff:169.254.169.254"],
    "private": [
        *("10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "192.88.99.1"),
        *("fd00:ec2::254", "fec0::1", "feff::1", "3fff::1", "3fff:fff:ffff::1"),
        *("64:ff9b::a01:203", "64:ff9b:1::5db8:d822", "::ffff:192.88.99.1", "2002:c058:6301::"),
    ],
    "reserved": ["5f00::1", "100:0:0:1::1", "224.0.0.1", "255.255.255.255", "ff02::1"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_addresses(kind: str | None) -> None:
    """Addresses that embed others have the kind of those."""
    assert {address: kind_of(address) for address in KINDS[kind]} == dict.fromkeys(
        KINDS[kind], kind
    )


def resolving(trusted: list[str], **hosts: list[str]) -> Boundary:
    """Return a boundary with a resolver of these hosts."""
    return Boundary(trusted, lambda host, _: hosts.get(host, [host]))


def test_trusted_special_address() -> None:
    """Special addresses of the user's host, and others of that kind, are allowed."""
    inside = resolving(["mirror"], mirror=["10.0.0.1"], other=["10.0.0.2"])
    assert inside.addresses("mirror", 80) == ["10.0.0.1"]
    assert inside.addresses("other", 80) == ["10.0.0.2"]
    assert inside.addresses(PUBLIC, 80) == [PUBLIC]
    for address in ("127.0.0.1", "169.254.169.254"):
        with pytest.raises(AddressRefused, match="only an import that begins there"):
            inside.addresses(address, 80)


def test_trusted_public_address() -> None:
    """A host with one special address among several is refused."""
    outside = resolving(["cache"], cache=[PUBLIC], evil=[PUBLIC, "127.0.0.1"])
    assert outside.addresses("cache", 443) == [PUBLIC]
    for host in ("evil", "127.0.0.1", "192.168.1.1", "::1"):
        with pytest.raises(AddressRefused):
            outside.addresses(host, 443)
    with pytest.raises(AddressRefused):
        resolving([]).addresses("127.0.0.1", 80)


def test_dns_rebinding() -> None:
    """A later address of a trusted host does not extend the boundary."""
    answers = [[PUBLIC], ["127.0.0.1"]]
    rebinding = Boundary(["cache"], lambda *_: answers.pop(0))
    assert rebinding.addresses("cache", 443) == [PUBLIC]
    with pytest.raises(AddressRefused, match=r"leads to cache \(127.0.0.1\), a loopback address"):
        rebinding.addresses("cache", 443)


def test_endpoint_and_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint and a proxy may be reached at any address, others may not."""
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    hosts = {"store": "10.0.0.1", "proxy": "10.0.0.2", "inside": "10.0.0.3", "cache": PUBLIC}
    configured = Boundary(
        ["cache"], lambda host, _: [hosts[host]], configured=["http://store:9000", ""]
    )
    for host in ("store", "proxy", "cache"):
        assert configured.addresses(host, 80) == [hosts[host]]
    hosts["cache"] = "10.0.0.3"
    for host in ("inside", "cache"):
        with pytest.raises(AddressRefused):
            configured.addresses(host, 80)


def test_host_that_is_resolved_first() -> None:
    """A host inside may be reached before the one at which the import begins."""
    inside = resolving(["mirror", "gone"], mirror=["10.0.0.1"], other=["10.0.0.2"])
    assert inside.addresses("other", 80) == ["10.0.0.2"]


@pytest.fixture
def connected_to(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that are connected to; only the server's own one accepts."""
    addresses: list[str] = []
    connect = socket.create_connection

    def connect_to(address: tuple[str, int], *more: object, **named: object) -> socket.socket:
        addresses.append(address[0])
        if address[0] != "127.0.0.1":
            raise ConnectionRefusedError
        return connect(address, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", connect_to)
    return addresses


@pytest.mark.usefixtures("as_if_public")
@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2:9/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/a.json"],
)
def test_redirects(server: Server, connected_to: list[str], target: str) -> None:
    """Redirects to a special address are refused for every kind of request."""
    url = server.at("/a.json")
    server["/a.json"] = status(302, Location=target)
    with Transport(QUICK, Report(), [url]) as transport:
        for ask in (transport.read, transport.fetch, transport.exists):
            with pytest.raises(SourceError, match="only an import that begins there") as caught:
                ask(url)
            assert caught.value.location == url
    assert set(connected_to) == {"127.0.0.1"}
