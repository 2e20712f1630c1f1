"""Admission: which requests begin, and the limits on their bodies and on large responses."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from server.asgi import admission as limits
from server.asgi.admission import LARGE_BODY, MAX_PIECES, MAX_UPLOADS, Admission, Bodies, Outgoing
from server.asgi.errors import BadRequest, Disconnected
from server.asgi.exchanges import Exchange, Exchanges, RequestIds
from tests.server.exchanges import scope

pytestmark = pytest.mark.anyio

MAX_BODY = 1 << 20


def message(content: bytes, *, more_body: bool = False) -> Message:
    """Return the message of a part of a body."""
    return {"type": "http.request", "body": content, "more_body": more_body}


def received(*messages: Message, hangs: bool = False) -> Receive:
    """Return a function that receives messages, and then that the client is gone, or nothing."""
    rest = iter(messages)

    async def receive() -> Message:
        following = next(rest, None)
        if following is None and hangs:
            await asyncio.Event().wait()
        return following or {"type": "http.disconnect"}

    return receive


GONE = received()


class Crowd:
    """Sends requests to an application of which at most ``most`` are processed concurrently."""

    def __init__(self, most: int) -> None:
        self.begun: list[str] = []
        self.observed: list[Exchange] = []
        self.may_end = asyncio.Event()
        self.admission = Admission(most)
        self.bodies = Bodies(MAX_BODY, self.admission)
        self._application = Exchanges(
            self._answer,
            ids=RequestIds(),
            observers=[self.observed.append],
            failure=lambda error: PlainTextResponse(repr(error), 500),
            admission=self.admission,
        )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "POST":
                with self.bodies.body() as body:
                    await body.read(receive)
            self.begun.append(scope["path"])
            if scope["path"] == "/long":
                await self.may_end.wait()
        except BadRequest as error:
            headers = {name.decode(): value.decode() for name, value in error.headers}
            await PlainTextResponse("", error.status, headers)(scope, receive, send)
        else:
            await PlainTextResponse("done")(scope, receive, send)

    async def request(self, path: str, receive: Receive, method: str) -> list[Message]:
        """Send a request; return the messages of the response."""
        messages: list[Message] = []

        async def send(message: Message) -> None:
            messages.append(message)

        await self._application(scope(path, method=method), receive, send)
        return messages

    async def status(self, path: str, receive: Receive = GONE, method: str = "GET") -> int:
        """Send a request; return the status of the response."""
        messages = await self.request(path, receive, method)
        status: int = messages[0]["status"]
        headers = dict(messages[0]["headers"])
        assert (headers.get(b"retry-after") == b"2") is (status == 503)
        assert b"x-content-type-options" in headers
        return status

    def send(self, *paths: str) -> "list[asyncio.Task[int]]":
        """Send requests at once."""
        return [asyncio.create_task(self.status(path)) for path in paths]


async def test_further_requests_are_refused_before_any_work() -> None:
    """With 503 and Retry-After, until others have ended; they are observed with a code."""
    crowd = Crowd(2)
    long = crowd.send("/long", "/long")
    await asyncio.sleep(0)
    assert await asyncio.gather(*crowd.send("/a", "/b")) == [503, 503]
    assert crowd.begun == ["/long"] * 2
    assert {(it.status, it.code) for it in crowd.observed} == {(503, "OVERLOADED")}
    crowd.may_end.set()
    assert await asyncio.gather(*long) == [200, 200]
    await asyncio.sleep(0)
    assert await crowd.status("/c") == 200


async def test_health_and_metrics_are_always_answered() -> None:
    """Also by a server that is overloaded."""
    crowd = Crowd(0)
    paths = ("/health/live", "/health/ready", "/metrics", "/")
    assert [await crowd.status(path) for path in paths] == [200, 200, 200, 503]


async def test_quick_requests_of_one_iteration_are_a_crowd() -> None:
    """Although each has ended when the next one begins: an iteration has a bounded duration."""
    crowd = Crowd(3)
    assert await asyncio.gather(*crowd.send(*"abcde")) == [200] * 3 + [503] * 2
    assert await asyncio.gather(*crowd.send(*"abc")) == [200] * 3


async def test_clients_that_send_slowly_do_not_count() -> None:
    """Until their bodies are complete; then there may be too many requests."""
    crowd = Crowd(1)
    ends: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    async def slow(end: asyncio.Event) -> int:
        async def receive() -> Message:
            await end.wait()
            return message(b"x")

        return await crowd.status("/long", receive, "POST")

    early, late = [asyncio.create_task(slow(end)) for end in ends]
    await asyncio.sleep(0)
    assert await crowd.status("/quick") == 200
    for end in ends:
        end.set()
        await asyncio.sleep(0.01)
    assert await late == 503
    crowd.may_end.set()
    assert await early == 200


async def test_clients_that_leave_at_once_are_no_crowd() -> None:
    """A request that arrives with their ends is answered."""
    crowd, end = Crowd(1), asyncio.Event()

    async def leave() -> Message:
        await end.wait()
        return {"type": "http.disconnect"}

    leaving = [asyncio.create_task(crowd.request("/long", leave, "POST")) for _ in range(5)]
    await asyncio.sleep(0)
    end.set()
    await asyncio.sleep(0)
    assert await crowd.status("/quick") == 200
    assert await asyncio.gather(*leaving) == [[]] * 5


# -- bodies


async def read(receive: Receive, bodies: Bodies | None = None, max_body: int | None = None) -> Any:
    """Return a body, or the status of its refusal."""
    bodies = bodies or Bodies(MAX_BODY, Admission())
    bodies.admission.begin()
    with bodies.body() as body:
        try:
            return await body.read(receive, max_body)
        except BadRequest as error:
            return error.status


@pytest.mark.parametrize("parts", [[b""], [b"ab"], [b"a", b"", b"b"], [b"x" * 40_000] * 20])
async def test_body_is_read_from_its_parts(parts: Sequence[bytes]) -> None:
    """In their order."""
    messages = [message(part, more_body=True) for part in parts[:-1]]
    assert await read(received(*messages, message(parts[-1]))) == b"".join(parts)


async def test_long_body_is_refused() -> None:
    """As soon as it exceeds the maximum size, which a form may raise."""
    part = message(b"x" * MAX_BODY, more_body=True)
    assert await read(received(part, message(b"x"), hangs=True)) == 413
    assert len(await read(received(part, message(b"x")), max_body=2 * MAX_BODY)) == MAX_BODY + 1


async def test_body_in_too_many_pieces_is_refused() -> None:
    """However small they are."""
    pieces = [message(b"x", more_body=True)] * (MAX_PIECES - 1)
    assert await read(received(*pieces, message(b"x"))) == b"x" * MAX_PIECES
    pieces.append(message(b"x", more_body=True))
    assert await read(received(*pieces, hangs=True)) == 413


async def test_slow_body_is_refused() -> None:
    """After the time for sending a body."""
    bodies = Bodies(MAX_BODY, Admission(), seconds=0.01)
    assert await read(received(message(b"x", more_body=True), hangs=True), bodies) == 408


async def test_disconnected_client_has_no_body() -> None:
    """Whether it leaves before or within the body."""
    for messages in ([], [message(b"x", more_body=True)]):
        with pytest.raises(Disconnected):
            await read(received(*messages))


async def test_uploads_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large body beyond their number is refused after a while; small ones are still read."""
    monkeypatch.setattr(limits, "UPLOAD_PATIENCE", 0.01)
    bodies = Bodies(MAX_BODY, Admission())
    large = message(b"x" * (LARGE_BODY + 1), more_body=True)
    reading = [
        asyncio.create_task(read(received(large, hangs=True), bodies)) for _ in range(MAX_UPLOADS)
    ]
    await asyncio.sleep(0.005)
    assert await read(received(large, hangs=True), bodies) == 503
    assert await read(received(message(b"small")), bodies) == b"small"
    reading[0].cancel()
    await asyncio.gather(reading[0], return_exceptions=True)
    assert await read(received(message(large["body"])), bodies) == large["body"]
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


# -- large responses


async def test_large_responses_share_memory() -> None:
    """One that does not fit is refused; a single one may be larger."""
    outgoing = Outgoing(Admission(), 100)
    with outgoing.room(300):
        with pytest.raises(BadRequest) as caught, outgoing.room(1):
            pass
        assert caught.value.status == 503
    with outgoing.room(60), outgoing.room(40):
        assert outgoing.num_bytes == 100
    assert outgoing.num_bytes == 0


async def test_client_that_does_not_read_is_dropped() -> None:
    """After the time for a piece."""
    outgoing = Outgoing(Admission(), seconds=0.01)

    async def send(_message: Message) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Disconnected):
        await outgoing.send(send, b"x")
