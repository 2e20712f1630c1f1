"""An import reaches public addresses, and special ones only if it begins at such an address."""

import json
import socket
from http.server import BaseHTTPRequestHandler

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources import boundary as addresses
from snapshots.sources.boundary import AddressRefused, Boundary, BoundaryState, kind_of
from snapshots.sources.reports import Report
from snapshots.sources.settings import S3Access
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    send,
    silence,
    status,
)
from tests.snapshots.sources.buildcache.readings import QUICK, snapshots

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


@given(st.ip_addresses(v=4))
def test_mapped_addresses(address: object) -> None:
    """An IPv4 address in IPv6 form has the same kind."""
    assert kind_of(f"::ffff:{address}") == kind_of(str(address))


def boundary(trusted: list[str], **hosts: list[str]) -> Boundary:
    """Return a boundary with a resolver of these hosts."""
    return Boundary(trusted, lambda host, _: hosts.get(host, [host]))


def test_trusted_special_address() -> None:
    """Special addresses of the user's host, and others of that kind, are allowed."""
    inside = boundary(["mirror"], mirror=["10.0.0.1"], other=["10.0.0.2"])
    assert inside.addresses("mirror", 80) == ["10.0.0.1"]
    assert inside.addresses("other", 80) == ["10.0.0.2"]
    assert inside.addresses(PUBLIC, 80) == [PUBLIC]
    for address in ("127.0.0.1", "169.254.169.254"):
        with pytest.raises(AddressRefused, match="only an import that begins there"):
            inside.addresses(address, 80)


def test_trusted_public_address() -> None:
    """A host with one special address among several is refused."""
    outside = boundary(["cache"], cache=[PUBLIC], evil=[PUBLIC, "127.0.0.1"])
    assert outside.addresses("cache", 443) == [PUBLIC]
    for host in ("evil", "127.0.0.1", "192.168.1.1", "::1"):
        with pytest.raises(AddressRefused):
            outside.addresses(host, 443)
    with pytest.raises(AddressRefused):
        boundary([]).addresses("127.0.0.1", 80)


def test_dns_rebinding() -> None:
    """A later address of a trusted host does not extend the boundary."""
    answers = [[PUBLIC], ["127.0.0.1"]]
    rebinding = Boundary(["cache"], lambda *_: answers.pop(0))
    assert rebinding.addresses("cache", 443) == [PUBLIC]
    with pytest.raises(AddressRefused, match=r"leads to cache \(127.0.0.1\), a loopback address"):
        rebinding.addresses("cache", 443)


def test_boundary_of_another_process() -> None:
    """A boundary in another process allows exactly the same addresses."""
    first = boundary(["mirror"], mirror=["10.0.0.1"])
    assert first.addresses("mirror", 80) == ["10.0.0.1"]
    second = Boundary(["mirror"], lambda *_: ["127.0.0.1"], first.reached)
    assert second.reached == first.reached
    with pytest.raises(AddressRefused):
        second.addresses("mirror", 80)
    other = Boundary(["mirror"], lambda *_: ["10.0.0.2"], first.reached)
    assert other.addresses("beside", 80) == ["10.0.0.2"]


def test_endpoint_and_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint and a proxy may be reached at their first addresses, others may not."""
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    hosts = {"store": "10.0.0.1", "proxy": "10.0.0.2", "inside": "10.0.0.3", "cache": PUBLIC}
    configured = Boundary(
        ["cache"], lambda host, _: [hosts[host]], configured=["http://store:9000", ""]
    )
    for host in ("store", "proxy", "cache"):
        assert configured.addresses(host, 80) == [hosts[host]]
    for host, address in (("inside", "10.0.0.3"), ("store", "127.0.0.1"), ("cache", "10.0.0.3")):
        hosts[host] = address
        with pytest.raises(AddressRefused):
            configured.addresses(host, 80)
    assert configured.reached == BoundaryState(frozenset(["cache"]))


@pytest.fixture
def as_if_public(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Treat the server's own address as public, and refuse connections to others."""
    special = kind_of
    monkeypatch.setattr(
        addresses, "kind_of", lambda address: None if address == "127.0.0.1" else special(address)
    )
    connect = socket.create_connection

    def connect_to_it(address: tuple[str, int], *options: object, **more: object) -> socket.socket:
        assert address[0] == "127.0.0.1", f"connects to {address}"
        return connect(address, *options, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", connect_to_it)
    return server.url


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2:9/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/a.json"],
)
def test_redirects(server: Server, as_if_public: str, target: str) -> None:
    """Redirects to a special address are refused for every kind of request."""
    server["/a.json"] = status(302, Location=target)
    with Transport(QUICK, Report(), [f"{as_if_public}/a.json"]) as transport:
        for ask in (transport.read, transport.fetch, transport.exists):
            with pytest.raises(SourceError, match="only an import that begins there") as caught:
                ask(f"{as_if_public}/a.json")
            assert caught.value.location == f"{as_if_public}/a.json"


def test_endpoint_does_not_extend_the_boundary(
    server: Server, as_if_public: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public list may name the endpoint, but no other host of its network."""
    connect = socket.create_connection

    def refuse_endpoint(address: tuple[str, int], *more: object, **named: object) -> socket.socket:
        if address[0] == "10.0.0.1":
            raise ConnectionRefusedError
        return connect(address, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", refuse_endpoint)
    urls = {"a": "s3://bucket/index.json", "b": "http://10.0.0.2/index.json"}
    listed = [{"label": label, "url": url} for label, url in urls.items()]
    server["/tags.json"] = content(json.dumps({"develop": listed}).encode())
    access = S3Access(endpoint="http://10.0.0.1:9000", allows_http=True)
    settings = msgspec.structs.replace(QUICK, s3=access, workers=1)
    report = Report(skip_bad=True)
    assert snapshots(f"{as_if_public}/tags.json", settings=settings, report=report) == []
    reasons = [error.reason for error in report.skipped]
    assert "connection failed" in reasons[0]
    assert "only an import that begins there may go there" in reasons[1]


def test_deadline(server: Server) -> None:
    """The deadline includes the header and the body of a response."""

    def no_body(request: BaseHTTPRequestHandler) -> None:
        send(request, 200, b"", {"Content-Length": "1000"})
        server.closing.wait()

    settings = msgspec.structs.replace(QUICK, deadline=0.2)
    for path, reply in (("/head.json", silence(server)), ("/body.json", no_body)):
        server[path] = reply
        with Transport(settings, Report(), [server.url]) as transport:
            for ask in (transport.read, transport.fetch):
                with pytest.raises(SourceError, match=r"took longer than 0\.2 s"):
                    ask(server.at(path))


def test_invalid_host_name(server: Server) -> None:
    """An invalid name is an error like that of an unknown host."""
    with (
        Transport(QUICK, Report(), [server.url]) as transport,
        pytest.raises(SourceError, match=r"the connection failed|is not a URL"),
    ):
        transport.read(f"http://{'a' * 70}.example/a.json")
    assert not server.requests
