"""Server-sent events of the application, message by message, as its server receives them."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import AsyncMock, Mock
from urllib.parse import urlencode

import orjson
import pytest
from starlette.types import Message, Scope

from schema.api import API, OperationResult
from schema.node import node_id
from server import publications
from server.app import GRAPHQL_PATH, Application, create_app
from server.graphql.event_streams import EVENT_BYTES, SharedEvents
from server.graphql.execution import Executed
from server.graphql.requests import GraphQLRequest, ParsedRequest
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.demo import history
from snapshots.models import RevisionInfo
from tests.server.exchanges import scope
from tests.snapshots.factories import a_revision

pytestmark = pytest.mark.anyio

SUBSCRIPTION = "subscription S { revisionPublished { tag specs(first: 0) { totalCount } } }"
EVENTS = "text/event-stream"
DEMO = list(history(revisions=4, packages=12, specs=60))
SOON = 20.0


class Event(NamedTuple):
    """A server-sent event."""

    kind: str
    data: Any
    name: str | None


class Stream:
    """A request in execution, and the messages sent in response."""

    def __init__(self, app: Application, scope: Scope, body: bytes) -> None:
        self.messages: list[Message] = []
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.is_sending = False
        self._body: bytes | None = body
        self._has_hung_up = asyncio.Event()
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body}
        await self._has_hung_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.is_sending = True
        await self.may_send.wait()
        self.is_sending = False
        self.messages.append(message)

    async def hang_up(self) -> None:
        """Close the connection, as a client does, and wait for the end."""
        self._has_hung_up.set()
        await self.done()

    async def done(self) -> "Stream":
        """Wait for the end of the response."""
        await asyncio.wait_for(self.task, SOON)
        return self

    @property
    def status(self) -> int:
        """The status of the response."""
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers of the response."""
        return dict(self.messages[0]["headers"])

    @property
    def text(self) -> str:
        """The body so far."""
        return b"".join(message.get("body", b"") for message in self.messages[1:]).decode()

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        return [event_of(part) for part in self.text.split("\n\n") if part and part != ":"]

    async def until(self, condition: Callable[["Stream"], Any]) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(SOON):
            while not condition(self):
                assert not self.task.done() or condition(self), self.text
                await asyncio.sleep(0.005)

    async def ended(self) -> list[Event]:
        """Wait for the end of the response, and return its events."""
        await self.done()
        assert not self.messages[-1].get("more_body")
        return self.events


def event_of(text: str) -> Event:
    """Read an event."""
    lines = dict(line.split(": ", 1) for line in text.split("\n"))
    assert set(lines) <= {"event", "data", "id"}
    data = orjson.loads(lines["data"]) if lines["data"] else None
    return Event(lines["event"], data, lines.get("id"))


class World:
    """An application over a catalog that grows."""

    def __init__(self, app: Application, catalog: Catalog) -> None:
        self.app = app
        self.catalog = catalog
        self.drain: Any = app.drain
        self.publications: Any = app.drain.__self__  # type: ignore[union-attr]
        (route,) = (route for route in app.routes if getattr(route, "path", "") == GRAPHQL_PATH)
        streams: Any = route.app.streams  # type: ignore[attr-defined]
        self.events, self.outgoing = streams.events, streams.outgoing

    def publish(self, *snapshots: Snapshot) -> list[RevisionInfo]:
        """Publish, as an import in another process does."""
        return [snapshot.revision for snapshot in self.catalog.publish(snapshots)]

    async def announced(self, revision: RevisionInfo) -> None:
        """Wait until the application has announced a revision."""
        async with asyncio.timeout(SOON):
            while self.publications._order[-1:] != [revision]:
                await asyncio.sleep(0.005)

    def request(
        self, query: str = SUBSCRIPTION, method: str = "POST", accept: str = EVENTS, **headers: str
    ) -> Stream:
        """Begin a request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named |= {"accept": accept, "content-type": "application/json"}
        request = scope(
            method=method,
            query_string=b"" if method == "POST" else urlencode({"query": query}).encode(),
            headers=[(name.encode(), value.encode()) for name, value in named.items()],
        )
        return Stream(self.app, request, orjson.dumps({"query": query}))

    async def follow(self, *arguments: str, **headers: str) -> Stream:
        """Begin a subscription, and wait until the server has registered it."""
        stream = self.request(*arguments, **headers)
        await stream.until(lambda stream: stream.text.startswith(":\n\n"))
        return stream


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[World]:
    """Run an application over the catalog in a folder."""
    app = create_app(
        Settings(catalog=str(folder), refresh=0.01, metrics=False, access_log=False, **settings)
    )
    async with app.router.lifespan_context(app):
        yield World(app, Catalog(str(folder)))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of the oldest demo revision."""
    folder = tmp_path_factory.mktemp("catalog")
    Catalog(str(folder)).publish(DEMO[:1])
    return folder


@pytest.fixture(scope="module")
async def unchanging(published: Path) -> AsyncIterator[World]:
    """Return an application for tests that publish nothing."""
    async with running(published) as world:
        yield world


@pytest.fixture
async def world(
    published: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    """Return an application over a copy of that catalog, with the settings of ``with_settings``."""
    folder = shutil.copytree(published, tmp_path / "catalog")
    async with running(folder, **getattr(request, "param", {})) as world:
        yield world


def with_settings(**settings: Any) -> pytest.MarkDecorator:
    """Return the mark of a test whose application has these settings."""
    return pytest.mark.parametrize("world", [settings], indirect=True, ids=str)


def shown(revision: RevisionInfo) -> Event:
    """Return the event of a revision."""
    data = {"tag": revision.tag, "specs": {"totalCount": revision.num_specs}}
    name = node_id("Revision", revision.digest, revision.key)
    return Event("next", {"data": {"revisionPublished": data}}, name)


END = Event("complete", None, None)


async def test_published_revisions_are_sent(world: World) -> None:
    """To every subscriber until it disconnects; earlier revisions are not sent."""
    first, second = await world.follow(), await world.follow(SUBSCRIPTION, "GET")
    assert first.status == 200
    assert first.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert first.headers[b"cache-control"] == b"no-store"
    (revision,) = world.publish(DEMO[1])
    for stream in (first, second):
        await stream.until(lambda stream: stream.events)
        assert stream.events == [shown(revision)]
    await first.hang_up()
    two, three = world.publish(*DEMO[2:])
    await second.until(lambda stream: len(stream.events) == 3)
    assert second.events == [shown(revision), shown(two), shown(three)]
    assert first.events == [shown(revision)]


async def test_subscription_resumes_after_the_last_event(world: World) -> None:
    """Given by Last-Event-ID, as browsers send it; in the order of publication."""
    seen, *missed = world.publish(*DEMO[1:])
    await world.announced(missed[-1])
    stream = await world.follow(last_event_id=shown(seen).name or "")
    await stream.until(lambda stream: len(stream.events) == 2)
    assert stream.events == [*map(shown, missed)]
    unknown = node_id("Revision", "0" * 64, "0" * 18)
    for name in ("", unknown, shown(missed[-1]).name or ""):
        assert (await world.follow(last_event_id=name)).events == []


@pytest.mark.parametrize("name", ["nope", "\xff", "VGFnOmRldmVsb3A=", "UmV2aXNpb24="])
async def test_invalid_last_event_is_an_error(unchanging: World, name: str) -> None:
    """And the stream ends."""
    first, end = await unchanging.request(last_event_id=name).ended()
    assert end == END
    (error,) = first.data["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["message"].startswith("Last-Event-ID is not an id")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{ tags { name } }", None),
        ("{", "GRAPHQL_PARSE_FAILED"),
        ('{ revision(ref: "nope") { tag } }', "REVISION_NOT_FOUND"),
        ("subscription { __typename }", "GRAPHQL_VALIDATION_FAILED"),
    ],
)
async def test_single_result_is_one_event(unchanging: World, query: str, code: str | None) -> None:
    """For a query, and for a document with errors: always with status 200."""
    for _ in range(2):
        stream = unchanging.request(query)
        first, end = await stream.ended()
        assert (stream.status, end) == (200, END)
        assert (first.kind, first.name) == ("next", None)
        if code is None:
            assert first.data == {"data": {"tags": [{"name": DEMO[0].tag}]}}
        else:
            assert [error["extensions"]["code"] for error in first.data["errors"]] == [code]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("TEXT/Event-Stream;q=1", EVENTS),
        ("text/event-stream, */*", EVENTS),
        ("application/json, text/event-stream, multipart/mixed", "application/json"),
        ("*/*", "application/json"),
    ],
)
async def test_query_is_answered_in_the_preferred_media_type(
    unchanging: World, accept: str, kind: str
) -> None:
    """JSON for clients that accept both, such as urql, which get events of subscriptions.

    Each media type is cached separately.
    """
    for other in (EVENTS, "application/json", accept):
        stream = await unchanging.request("{ tags { name } }", accept=other).done()
    assert stream.headers[b"content-type"].decode() == f"{kind}; charset=utf-8"
    assert stream.text.startswith("event: " if kind == EVENTS else '{"data"')
    if EVENTS in accept:
        await (await unchanging.follow(SUBSCRIPTION, "POST", accept)).hang_up()


@pytest.mark.parametrize("accept", ["application/json", "", "text/event-stream;q=0, */*"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_subscription_without_events_is_not_acceptable(
    unchanging: World, accept: str, method: str
) -> None:
    """The error names the required media type, each time; HEAD begins no subscription."""
    await unchanging.request(SUBSCRIPTION, "HEAD").done()
    for _ in range(2):
        stream = await unchanging.request(SUBSCRIPTION, method, accept).done()
        assert stream.status == 406
        assert "text/event-stream" in stream.text


@pytest.mark.parametrize(
    "world",
    [{"max_subscriptions": 2}, {"max_subscriptions": 50, "max_connections": 5}],
    indirect=True,
    ids=["subscriptions", "half of the connections"],
)
async def test_number_of_subscriptions_is_limited(world: World) -> None:
    """503 with Retry-After; queries are answered, and a disconnect frees a slot."""
    first, _ = await world.follow(), await world.follow()
    refused = await world.request().done()
    assert (refused.status, refused.headers[b"retry-after"]) == (503, b"2")
    assert orjson.loads(refused.text)["errors"][0]["extensions"]["code"] == "OVERLOADED"
    assert (await world.request("{ tags { name } }").ended())[-1] == END
    await first.hang_up()
    assert (await world.follow()).status == 200


async def test_equal_events_are_executed_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all subscriptions with the same document and variables."""
    executed, execute = list[str](), API.execute

    def counted(api: API, query: str, *arguments: Any, **options: Any) -> OperationResult:
        answer = execute(api, query, *arguments, **options)
        executed.append(query)
        return answer

    other = SUBSCRIPTION.replace("tag", "tag digest")
    many = [await world.follow() for _ in range(20)] + [await world.follow(other)]
    monkeypatch.setattr(API, "execute", counted)
    world.publish(DEMO[1])
    for stream in many:
        await stream.until(lambda stream: stream.events)
    assert sorted(executed) == sorted([SUBSCRIPTION, other])


async def test_event_without_subscribers_is_not_executed(world: World) -> None:
    """A client that disconnects does not affect the events of others."""
    async with world.events._free:
        leaving, staying = await world.follow(), await world.follow()
        alone = await world.follow(SUBSCRIPTION.replace("tag", "digest"))
        world.publish(DEMO[1])
        await staying.until(lambda _: len(world.events._flights._flights) == 2)
        for stream in (leaving, alone):
            await stream.hang_up()
        assert len(world.events._flights._flights) == 1
    await staying.until(lambda stream: stream.events)
    assert not world.events._flights._flights


@with_settings(heartbeat=0.02)
async def test_slow_event_blocks_nothing(world: World) -> None:
    """Heartbeats, which are comments, are sent meanwhile.

    A server that stops ends all subscriptions immediately, and no other begins.
    """
    async with world.events._free:
        stream = await world.follow()
        world.publish(DEMO[1])
        await stream.until(lambda _: world.events._flights._flights)
        beats = stream.text.count(":\n\n")
        await stream.until(lambda stream: stream.text.count(":\n\n") > beats + 2)
        assert stream.events == []
        world.drain()
        assert await stream.ended() == [END]
        assert not world.events._flights._flights
    assert (await world.request().done()).status == 503


async def test_slow_subscriber_is_disconnected_with_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If more events are queued for it than the server allows."""
    monkeypatch.setattr(publications, "MAX_WAITING", 1)
    stream = await world.follow()
    stream.may_send.clear()
    (revision,) = world.publish(DEMO[1])
    await stream.until(lambda stream: stream.is_sending)
    await world.announced(world.publish(*DEMO[2:4])[-1])
    stream.may_send.set()
    first, error, end = await stream.ended()
    assert (first, end) == (shown(revision), END)
    assert error.data["errors"][0]["extensions"]["code"] == "SUBSCRIBER_TOO_SLOW"


async def test_large_event_counts_as_a_large_response(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client can be disconnected if others need the capacity."""
    monkeypatch.setattr("server.asgi.room._LARGE_ANSWER", 1)
    stream = await world.follow()
    stream.may_send.clear()
    world.publish(DEMO[1])
    await stream.until(lambda stream: stream.is_sending)
    (claim,) = world.outgoing._claims
    assert claim.client == "10.0.0.1"


async def test_failing_event_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream continues with the next event; the log has the reason."""
    failing = Mock(side_effect=ZeroDivisionError("inner detail"))
    stream = await world.follow()
    with monkeypatch.context() as patched:
        patched.setattr(API, "execute", failing)
        (revision,) = world.publish(DEMO[1])
        await stream.until(lambda stream: stream.events)
    two, three = world.publish(*DEMO[2:])
    await stream.until(lambda stream: len(stream.events) == 3)
    failed, *others = stream.events
    assert failed.name == shown(revision).name
    assert failed.data["errors"][0]["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
    assert others == [shown(two), shown(three)]
    assert "inner detail" not in stream.text
    assert "inner detail" in caplog.text


async def test_error_is_not_cached(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event is executed again for a client that resumes after an earlier one."""
    query = SUBSCRIPTION.replace("(first: 0)", "(first: 0, filter: {})")
    result = OperationResult({"revisionPublished": None}, ({"message": "no"},), executed=True)
    revision, two = world.publish(*DEMO[1:3])
    await world.announced(two)
    name = shown(revision).name or ""
    with monkeypatch.context() as patched:
        patched.setattr(API, "execute", Mock(return_value=result))
        stream = await world.follow(query, last_event_id=name)
        await stream.until(lambda stream: stream.events)
        assert stream.events[0].data["errors"] == [{"message": "no"}]
    stream = await world.follow(query, last_event_id=name)
    await stream.until(lambda stream: stream.events)
    assert stream.events == [shown(two)]


@with_settings(cost_per_minute=1)
async def test_subscriptions_are_charged_like_queries(world: World) -> None:
    """A subscription requires an allowance to begin, and ends if its next event exceeds it."""
    stream = await world.follow()
    refused = await world.request().done()
    assert refused.status == 429
    assert b"retry-after" in refused.headers
    world.publish(DEMO[1])
    event, end = await stream.ended()
    assert event.data["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert end == END


async def test_cached_events_are_bounded_with_their_documents() -> None:
    """Many long documents for one revision do not fill memory."""
    revision, longest = a_revision("develop", 0), 64_000
    result = Executed(body=b"{}", tag=b"", started=True, is_good=True, is_permanent=True)
    execution = Mock(execute=AsyncMock(return_value=result))
    events = SharedEvents(Mock(state=1), execution)
    texts = [f"subscription {{ a{n}: revisionPublished {{ id }} }}" for n in range(400)]
    requests = [
        ParsedRequest.of(GraphQLRequest(text.ljust(longest), None, None), EVENTS, 0)
        for text in texts
    ]
    for request in requests:
        await events.of(request, revision)
    cached = [key for key, *_ in events._made]
    assert 100 < len(cached) <= EVENT_BYTES // longest
    assert cached == [request.permanent_key for request in requests[-len(cached) :]]
    again = [await events.of(requests[-1], revision) for _ in range(2)]
    assert again[0] is again[1]
