"""Capacity for large requests and responses, and what each client may use per minute."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from starlette.types import Scope

from server.asgi.allowances import MAX_ADDRESSES, Allowances, client_address
from server.asgi.errors import BadRequest, Disconnected
from server.asgi.responses import Response
from server.asgi.room import INCOMING_PATIENCE, LARGE_BODY, Claim, Incoming, MemoryLimit, Outgoing
from server.graphql.endpoint import proxy_reader
from server.http.limits import DROP
from server.settings import Settings
from tests.server.servers import application

PATIENCE = 10.0


class Requests:
    """Requests by client address; ``dropped`` lists those that were dropped."""

    def __init__(self) -> None:
        self.clock = Mock(return_value=0.0)
        self.room = MemoryLimit(100, "requests", patience=PATIENCE, clock=self.clock)
        self.dropped: list[str] = []

    def holding(self, client: str, num_bytes: int, *, name: str = "") -> Claim:
        """Return the claim of a request that holds `num_bytes`; raises BadRequest."""
        scope: dict[str, Any] = {
            "client": (client, 1),
            "headers": [],
            "extensions": {DROP: lambda: self.dropped.append(name or client)},
        }
        claim = self.room.claim(scope)
        claim.hold(num_bytes)
        return claim


def test_request_beyond_the_capacity_is_refused() -> None:
    """With 503; a single request always fits, and capacity is released."""
    requests = Requests()
    with requests.holding("10.0.0.1", 500), pytest.raises(BadRequest) as refused:
        requests.holding("10.0.0.1", 1)
    assert refused.value.status == 503
    assert "too many large requests" in refused.value.message
    assert requests.room.num_bytes == 0
    requests.holding("10.0.0.1", 60).hold(100)
    assert requests.room.num_bytes == 100
    assert requests.dropped == []


def test_idle_requests_are_dropped() -> None:
    """The idlest first, of any client, and no more than necessary; not those that progress."""
    requests = Requests()
    for number in range(4):
        requests.clock.return_value = number
        last = requests.holding("10.0.0.1", 25, name=str(number))
    requests.clock.return_value = PATIENCE + 1.5
    requests.holding("10.0.0.1", 50)
    assert requests.dropped == ["0", "1"]
    assert requests.room.num_bytes == 100
    last.note_progress()
    requests.clock.return_value = PATIENCE + 3.5
    requests.holding("10.0.0.2", 25)
    assert requests.dropped == ["0", "1", "2"]
    with pytest.raises(BadRequest):
        requests.holding("10.0.0.2", 26)
    assert requests.dropped == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("held", "needed", "dropped"),
    [(50, 50, []), (60, 50, ["greedy"]), (60, 51, None), (500, 50, ["greedy"]), (500, 51, None)],
)
def test_client_holding_more_than_half_is_dropped(
    held: int, needed: int, dropped: list[str] | None
) -> None:
    """For another client that would not hold as much; otherwise the other is refused."""
    requests = Requests()
    requests.holding("10.0.0.1", held, name="greedy")
    if dropped is None:
        with pytest.raises(BadRequest):
            requests.holding("10.0.0.2", needed)
        assert requests.room.num_bytes == held
    else:
        requests.holding("10.0.0.2", needed)
        assert requests.dropped == dropped


def test_requests_in_execution_are_not_dropped() -> None:
    """Nor those without a client address, nor those that the server cannot drop."""
    requests = Requests()
    requests.holding("10.0.0.1", 40).may_end = False
    requests.room.claim(None).hold(40)
    requests.room.claim({"client": None, "headers": []}).hold(20)
    requests.clock.return_value = 2 * PATIENCE
    with pytest.raises(BadRequest):
        requests.holding("10.0.0.2", 1)
    assert requests.dropped == []


MAX = 4 * LARGE_BODY
SCOPE: Scope = {"client": ("10.0.0.1", 1), "headers": []}


async def read(incoming: Incoming, *sizes: int, hangs_up: bool = False) -> int:
    """Read a body in pieces of these sizes and end its request; return its number of bytes."""
    with incoming.claim(SCOPE) as claim:
        return len(await incoming.read(claim, _receive(sizes, hangs_up=hangs_up)))


def _receive(sizes: Sequence[int], *, hangs_up: bool = False) -> AsyncMock:
    def messages() -> Iterator[dict[str, Any]]:
        for left, size in zip(reversed(range(len(sizes))), sizes, strict=True):
            more = left > 0 or hangs_up
            yield {"type": "http.request", "body": b"a" * size, "more_body": more}
        yield {"type": "http.disconnect"}

    return AsyncMock(side_effect=messages())


@pytest.mark.anyio
async def test_bodies_are_read_completely() -> None:
    """In one piece or several; the capacity is released afterwards."""
    incoming = Incoming(MAX, MAX)
    assert await read(incoming, 0) == 0
    assert await read(incoming, 10, 0, 20) == 30
    assert await read(incoming, LARGE_BODY, LARGE_BODY, 2 * LARGE_BODY) == MAX
    with pytest.raises(Disconnected):
        await read(incoming, LARGE_BODY + 1, 1, hangs_up=True)
    assert incoming.num_bytes == 0


@pytest.mark.parametrize("max_body", [10, MAX])
@pytest.mark.anyio
async def test_body_that_is_too_long_is_refused(max_body: int) -> None:
    """With 413, as soon as it exceeds the limit; its capacity is released."""
    incoming = Incoming(max_body, MAX)
    with pytest.raises(BadRequest) as refused:
        await read(incoming, max_body, 1, 10**9)
    assert (refused.value.status, refused.value.code) == (413, "PAYLOAD_TOO_LARGE")
    assert incoming.num_bytes == 0


@pytest.mark.anyio
async def test_large_bodies_share_a_capacity() -> None:
    """Without it they are refused with 503; small bodies and a single large one always fit."""
    incoming = Incoming(MAX, 2 * LARGE_BODY)
    with incoming.claim(SCOPE) as claim:
        await incoming.read(claim, _receive([LARGE_BODY + 1]))
        assert incoming.num_bytes == LARGE_BODY + 1
        await read(incoming, LARGE_BODY)
        with pytest.raises(BadRequest) as refused:
            await read(incoming, LARGE_BODY + 1)
        assert refused.value.status == 503
    assert incoming.num_bytes == 0
    assert await read(incoming, MAX) == MAX


@pytest.mark.anyio
@pytest.mark.parametrize("size", [2 * LARGE_BODY - 1, 2 * LARGE_BODY])
async def test_stalled_body_is_dropped(size: int) -> None:
    """If others need its capacity, unless it received the size of a small body meanwhile."""
    incoming, clock = Incoming(MAX, MAX), Mock(return_value=0.0)
    incoming.clock = clock
    is_stalled, dropped = asyncio.Event(), asyncio.Event()
    sizes = [LARGE_BODY + 1, size - LARGE_BODY - 1]

    async def receive() -> dict[str, Any]:
        clock.return_value += 0.8 * INCOMING_PATIENCE
        if not sizes:
            is_stalled.set()
            await dropped.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"a" * sizes.pop(0), "more_body": True}

    async def stall() -> bytes:
        with incoming.claim({**SCOPE, "extensions": {DROP: dropped.set}}) as claim:
            return await incoming.read(claim, receive)

    stalled = asyncio.create_task(stall())
    await is_stalled.wait()
    if size < 2 * LARGE_BODY:
        assert await read(incoming, MAX) == MAX
    else:
        with pytest.raises(BadRequest):
            await read(incoming, MAX)
        dropped.set()
    with pytest.raises(Disconnected):
        await stalled
    assert incoming.num_bytes == 0


def response(num_bytes: int) -> Response:
    """Return a response of `num_bytes`."""
    return Response(200, b"x" * num_bytes, b"text/plain", b"no-store")


def test_large_responses_are_counted_while_they_are_sent() -> None:
    """Twice, as each may also be compressed; small ones are not counted."""
    outgoing = Outgoing(10 << 20)
    claims = [outgoing.begin(response(size), SCOPE) for size in (1 << 20, 2 << 20, 1_000)]
    assert [claim.num_bytes for claim in claims] == [2 << 20, 4 << 20, 0]
    assert outgoing.num_bytes == 6 << 20
    for claim in claims:
        claim.leave()
    assert outgoing.num_bytes == 0


# -- allowances per minute


def request_from(client: str | None, *forwarded: str) -> dict[str, Any]:
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
    clock = Mock(return_value=0.0)
    allowed = Allowances(requests=6, cost=0, clock=clock)
    for _ in range(6):
        allowed.count_request(request_from("192.0.2.1"))
    assert retry_after(lambda: allowed.count_request(request_from("192.0.2.1"))) == 10
    allowed.count_request(request_from("192.0.2.2"))
    clock.return_value = 4.0
    assert retry_after(lambda: allowed.count_request(request_from("192.0.2.1"))) == 6
    clock.return_value = 10.0
    allowed.count_request(request_from("192.0.2.1"))
    assert retry_after(lambda: allowed.count_request(request_from("192.0.2.1"))) == 10
    clock.return_value = 1_000.0
    for _ in range(6):
        allowed.count_request(request_from("192.0.2.1"))


def test_cost_per_minute_is_limited() -> None:
    """A request may cost more than is left: its client waits correspondingly longer."""
    clock = Mock(return_value=0.0)
    allowed = Allowances(requests=0, cost=600, clock=clock)
    allowed.charge(request_from("192.0.2.1"), 1_200)
    assert retry_after(lambda: allowed.charge(request_from("192.0.2.1"), 1)) == 61
    clock.return_value = 61.0
    allowed.charge(request_from("192.0.2.1"), 1)
    allowed.count_request(request_from("192.0.2.1"))


def test_number_of_addresses_is_bounded() -> None:
    """The least recently seen addresses are dropped."""
    allowed = Allowances(requests=1, cost=0)
    for number in range(MAX_ADDRESSES + 10):
        allowed.count_request(request_from(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))
    assert len(allowed._requests._left) == MAX_ADDRESSES


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
    assert client_address(behind_proxies(request_from(client, *forwarded))) == address


def test_cached_responses_cost_nothing(demo_catalog: Path) -> None:
    """Others are refused once the allowance is used up."""
    tags = {"query": "{ tags { name } }"}
    with application(Settings(catalog=str(demo_catalog), cost_per_minute=1)) as client:
        for _ in range(4):
            assert client.post("/graphql", json=tags).status_code == 200
        other = client.post("/graphql", json={"query": "{ revision { numSpecs } }"})
        assert other.status_code == 429
