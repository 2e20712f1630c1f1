"""Allowances per minute, and the address of a client behind proxies."""

from pathlib import Path
from typing import Any

import pytest

from server.asgi.allowances import MAX_ADDRESSES, Allowances, client_address
from server.asgi.errors import BadRequest
from server.graphql.endpoint import proxy_reader
from server.settings import Settings
from tests.server.asgi.test_room import Clock
from tests.server.servers import application


def scope(client: str | None, *forwarded: str) -> dict[str, Any]:
    """Return the scope of a request from an address, with headers X-Forwarded-For."""
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    address = (client, 1) if client else None
    return {"type": "http", "client": address, "headers": [(b"host", b"x"), *headers]}


def retry_after(call: Any) -> int:
    """Return the Retry-After of the refusal that a call raises, in seconds."""
    with pytest.raises(BadRequest) as caught:
        call()
    assert (caught.value.status, caught.value.code) == (429, "RATE_LIMITED")
    return int(dict(caught.value.headers)[b"retry-after"])


def test_requests_per_minute_are_limited() -> None:
    """A burst of six, then one every ten seconds; each client has its own allowance."""
    clock = Clock()
    allowed = Allowances(requests=6, cost=0, clock=clock)
    for _ in range(6):
        allowed.count_request(scope("192.0.2.1"))
    assert retry_after(lambda: allowed.count_request(scope("192.0.2.1"))) == 10
    allowed.count_request(scope("192.0.2.2"))
    clock.now = 4.0
    assert retry_after(lambda: allowed.count_request(scope("192.0.2.1"))) == 6
    clock.now = 10.0
    allowed.count_request(scope("192.0.2.1"))
    assert retry_after(lambda: allowed.count_request(scope("192.0.2.1"))) == 10
    clock.now = 1_000.0
    for _ in range(6):
        allowed.count_request(scope("192.0.2.1"))


def test_cost_per_minute_is_limited() -> None:
    """A request may cost more than is left: its client waits correspondingly longer."""
    clock = Clock()
    allowed = Allowances(requests=0, cost=600, clock=clock)
    allowed.charge(scope("192.0.2.1"), 1_200)
    assert retry_after(lambda: allowed.charge(scope("192.0.2.1"), 1)) == 61
    clock.now = 61.0
    allowed.charge(scope("192.0.2.1"), 1)
    allowed.count_request(scope("192.0.2.1"))


def test_number_of_addresses_is_bounded() -> None:
    """The least recently seen addresses are dropped."""
    allowed = Allowances(requests=1, cost=0)
    for number in range(MAX_ADDRESSES + 10):
        allowed.count_request(scope(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))
    assert len(allowed._asked) == MAX_ADDRESSES


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.7, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.7", "203.0.113.9,10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, nonsense, 10.0.0.2"], "nonsense"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::/64"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("10.0.0.1", ["x" * 5_000], "x" * 64),
        (None, ["203.0.113.9"], ""),
    ],
)
def test_client_address(client: str | None, forwarded: list[str], address: str) -> None:
    """Only addresses that trusted proxies appended count, read from the end."""
    behind_proxies = proxy_reader(("10.0.0.0/24",))
    assert client_address(behind_proxies(scope(client, *forwarded))) == address


def test_cached_responses_cost_nothing(demo_catalog: Path) -> None:
    """Others are refused once the allowance is used up."""
    tags = {"query": "{ tags { name } }"}
    with application(Settings(catalog=str(demo_catalog), cost_per_minute=1)) as client:
        for _ in range(4):
            assert client.post("/graphql", json=tags).status_code == 200
        other = client.post("/graphql", json={"query": "{ revision { numSpecs } }"})
        assert other.status_code == 429
