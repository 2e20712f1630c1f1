"""Server-sent events of the application, message by message, as its server would see them."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from starlette.types import Message, Scope

from schema.api import API, OperationResult
from schema.node import node_id
from server.app import GRAPHQL_PATH, Application, create_app
from server.publications import MAX_WAITING
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.demo import history
from snapshots.models import RevisionInfo

pytestmark = pytest.mark.anyio

SUBSCRIPTION = "subscription S { revisionPublished { tag specs(first: 0) { totalCount } } }"
EVENTS = "text/event-stream"
MADE_UP = list(history(revisions=4, packages=12, specs=60))
SOON = 20.0


class Event(NamedTuple):
    """A server-sent event."""

    kind: str
    data: Any
    name: str | None


class Following:
    """A request under way, and what was sent to it."""

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

    async def done(self) -> "Following":
        """Wait for the end of the answer."""
        await asyncio.wait_for(self.task, SOON)
        return self

    @property
    def status(self) -> int:
        """The status of the answer."""
        status: int = self.messages[0]["status"]
        return status

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers of the answer."""
        return dict(self.messages[0]["headers"])

    @property
    def text(self) -> str:
        """What was sent so far."""
        return b"".join(it.get("body", b"") for it in self.messages[1:]).decode()

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        return [event_of(it) for it in self.text.split("\n\n") if it and it != ":"]

    async def until(self, holds: Callable[["Following"], Any]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(SOON):
            while not holds(self):
                assert not self.task.done() or holds(self), self.text
                await asyncio.sleep(0.005)

    async def ended(self) -> list[Event]:
        """Wait for the end of the answer, and return its events."""
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

    def publish(self, *snapshots: Snapshot) -> list[RevisionInfo]:
        """Publish, as an import of another process does."""
        return [it.revision for it in self.catalog.publish(snapshots)]

    @property
    def drain(self) -> Any:
        """What ends all subscriptions."""
        return self.app.drain

    @property
    def publications(self) -> Any:
        """What announces revisions within the application."""
        return self.drain.__self__

    @property
    def _streams(self) -> Any:
        endpoint: Any = next(
            route for route in self.app.routes if getattr(route, "path", "") == GRAPHQL_PATH
        )
        return endpoint.app.streams

    @property
    def events(self) -> Any:
        """What makes the events of all subscriptions."""
        return self._streams.events

    @property
    def outgoing(self) -> Any:
        """The room of large responses on their way."""
        return self._streams.outgoing

    async def known(self, revision: RevisionInfo) -> None:
        """Wait until the application has announced a revision."""
        async with asyncio.timeout(SOON):
            while self.publications._order[-1:] != [revision]:
                await asyncio.sleep(0.005)

    def ask(
        self, query: str = SUBSCRIPTION, method: str = "POST", accept: str = EVENTS, **headers: str
    ) -> Following:
        """Begin a request."""
        named = {name.replace("_", "-"): it for name, it in headers.items()}
        given = {"accept": accept, "content-type": "application/json", **named}
        scope = {
            "type": "http",
            "method": method,
            "path": "/graphql",
            "query_string": b"",
            "client": ("127.0.0.1", 9),
            "headers": [(name.encode(), it.encode()) for name, it in given.items()],
        }
        if method != "POST":
            quoted = "".join(f"%{it:02x}" for it in query.encode())
            scope["query_string"] = b"query=" + quoted.encode()
        return Following(self.app, scope, orjson.dumps({"query": query}))

    async def follow(self, *arguments: str, **headers: str) -> Following:
        """Begin a subscription, and wait until the server follows."""
        following = self.ask(*arguments, **headers)
        await following.until(lambda it: it.text.startswith(":\n\n"))
        return following


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
    """Return a catalog of the oldest of the made-up revisions."""
    folder = tmp_path_factory.mktemp("catalog")
    Catalog(str(folder)).publish(MADE_UP[:1])
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


async def test_revisions_are_sent_when_they_are_published(world: World) -> None:
    """To every subscriber until they hang up; what was there before is not sent."""
    first, second = await world.follow(), await world.follow(SUBSCRIPTION, "GET")
    assert first.status == 200
    assert first.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert first.headers[b"cache-control"] == b"no-store"
    (one,) = world.publish(MADE_UP[1])
    for following in (first, second):
        await following.until(lambda it: it.events)
        assert following.events == [shown(one)]
    await first.hang_up()
    two, three = world.publish(*MADE_UP[2:])
    await second.until(lambda it: len(it.events) == 3)
    assert second.events == [shown(one), shown(two), shown(three)]
    assert first.events == [shown(one)]


async def test_a_subscription_resumes_after_the_last_event(world: World) -> None:
    """Whose id is Last-Event-ID, as browsers send it; the order is that of publication."""
    seen, *missed = world.publish(*MADE_UP[1:])
    await world.known(missed[-1])
    following = await world.follow(last_event_id=shown(seen).name or "")
    await following.until(lambda it: len(it.events) == 2)
    assert following.events == [*map(shown, missed)]
    unknown = node_id("Revision", "0" * 64, "0" * 18)
    for name in ("", unknown, shown(missed[-1]).name or ""):
        assert (await world.follow(last_event_id=name)).events == []


@pytest.mark.parametrize("name", ["nope", "\xff", "VGFnOmRldmVsb3A=", "UmV2aXNpb24="])
async def test_an_invalid_last_event_is_an_error(unchanging: World, name: str) -> None:
    """And the stream ends."""
    first, end = await unchanging.ask(last_event_id=name).ended()
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
async def test_a_single_result_is_one_event(
    unchanging: World, query: str, code: str | None
) -> None:
    """Of a query, and of a document with errors: with status 200, each time."""
    for _ in range(2):
        following = unchanging.ask(query)
        first, end = await following.ended()
        assert (following.status, end) == (200, END)
        assert (first.kind, first.name) == ("next", None)
        if code is None:
            assert first.data == {"data": {"tags": [{"name": MADE_UP[0].tag}]}}
        else:
            assert [it["extensions"]["code"] for it in first.data["errors"]] == [code]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/event-stream", EVENTS),
        ("TEXT/Event-Stream;q=1", EVENTS),
        ("text/event-stream, */*", EVENTS),
        ("text/event-stream, application/json;q=0.9", EVENTS),
        ("application/json, text/event-stream, multipart/mixed", "application/json"),
        ("application/json, text/event-stream;q=0", "application/json"),
        ("*/*", "application/json"),
    ],
)
async def test_a_query_is_answered_in_the_preferred_media_type(
    unchanging: World, accept: str, kind: str
) -> None:
    """JSON for clients that take both, such as urql; answers in cache are of one media type."""
    for other in (EVENTS, "application/json", accept):
        following = await unchanging.ask("{ tags { name } }", accept=other).done()
    assert following.headers[b"content-type"].decode() == f"{kind}; charset=utf-8"
    assert following.text.startswith("event: " if kind == EVENTS else '{"data"')


@pytest.mark.parametrize(
    "accept", ["application/json, text/event-stream, multipart/mixed", "*/*, text/event-stream"]
)
async def test_a_subscription_is_answered_by_events(unchanging: World, accept: str) -> None:
    """Wherever the client takes them."""
    following = await unchanging.follow(SUBSCRIPTION, "POST", accept)
    assert following.headers[b"content-type"].startswith(EVENTS.encode())
    await following.hang_up()


@pytest.mark.parametrize("accept", ["application/json", "", "text/event-stream;q=0, */*"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_without_events_is_refused(
    unchanging: World, accept: str, method: str
) -> None:
    """With the media type that is needed, each time."""
    for _ in range(2):
        following = await unchanging.ask(SUBSCRIPTION, method, accept).done()
        assert following.status == 406
        assert "text/event-stream" in following.text


async def test_head_has_the_headers_alone(unchanging: World) -> None:
    """No subscription begins."""
    following = await unchanging.ask(SUBSCRIPTION, "HEAD").done()
    assert following.headers[b"content-type"].startswith(EVENTS.encode())


@with_settings(heartbeat=0.02)
async def test_heartbeats_break_silence(world: World) -> None:
    """Comments, which no client takes for events."""
    following = await world.follow()
    await following.until(lambda it: it.text.count(":\n\n") > 3)
    assert following.events == []


@with_settings(max_subscriptions=2)
async def test_one_subscription_too_many_is_refused(world: World) -> None:
    """With status 503 and a time; queries are answered, and a client that leaves makes room."""
    first, _ = await world.follow(), await world.follow()
    refused = await world.ask().done()
    assert (refused.status, refused.headers[b"retry-after"]) == (503, b"2")
    assert orjson.loads(refused.text)["errors"][0]["extensions"]["code"] == "OVERLOADED"
    assert (await world.ask("{ tags { name } }").ended())[-1] == END
    await first.hang_up()
    assert (await world.follow()).status == 200


@with_settings(max_subscriptions=50, max_connections=5)
async def test_half_of_the_connections_are_left_for_queries(world: World) -> None:
    """However many subscriptions there may be."""
    for _ in range(2):
        await world.follow()
    assert (await world.ask().done()).status == 503


async def test_equal_events_are_executed_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all subscriptions with the same document and variables."""
    executed: list[str] = []
    execute = API.execute

    def counted(api: API, query: str, *arguments: Any, **options: Any) -> OperationResult:
        answer = execute(api, query, *arguments, **options)
        executed.append(query)
        return answer

    other = SUBSCRIPTION.replace("tag", "tag digest")
    many = [await world.follow() for _ in range(20)] + [await world.follow(other)]
    monkeypatch.setattr(API, "execute", counted)
    world.publish(MADE_UP[1])
    for following in many:
        await following.until(lambda it: it.events)
    assert sorted(executed) == sorted([SUBSCRIPTION, other])


async def test_an_event_without_subscribers_is_not_made(world: World) -> None:
    """A client that hangs up takes the event from no other."""
    async with world.events._free:
        leaving, staying = await world.follow(), await world.follow()
        alone = await world.follow(SUBSCRIPTION.replace("tag", "digest"))
        world.publish(MADE_UP[1])
        await staying.until(lambda _: len(world.events._flights._flights) == 2)
        for following in (leaving, alone):
            await following.hang_up()
        assert len(world.events._flights._flights) == 1
    await staying.until(lambda it: it.events)
    assert not world.events._flights._flights


@with_settings(heartbeat=0.02)
async def test_an_event_that_takes_long_blocks_nothing(world: World) -> None:
    """Heartbeats are sent meanwhile, and a server that stops does not wait for the event."""
    async with world.events._free:
        following = await world.follow()
        world.publish(MADE_UP[1])
        await following.until(lambda _: world.events._flights._flights)
        beats = following.text.count(":\n\n")
        await following.until(lambda it: it.text.count(":\n\n") > beats + 2)
        world.drain()
        assert await following.ended() == [END]
        assert not world.events._flights._flights


async def test_a_slow_reader_is_ended_with_a_reason(world: World) -> None:
    """Where more events wait for it than the server keeps."""
    following = await world.follow()
    following.may_send.clear()
    (one,) = world.publish(MADE_UP[1])
    await following.until(lambda it: it.is_sending)
    world.publications.tell([one] * (MAX_WAITING + 1), [one])
    following.may_send.set()
    first, error, end = await following.ended()
    assert (first, end) == (shown(one), END)
    assert error.data["errors"][0]["extensions"]["code"] == "SUBSCRIBER_TOO_SLOW"


async def test_a_large_event_takes_room_of_its_client(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a large response does, so that it can be cut off where others need the room."""
    monkeypatch.setattr("server.asgi.room._LARGE_ANSWER", 1)
    following = await world.follow()
    following.may_send.clear()
    world.publish(MADE_UP[1])
    await following.until(lambda it: it.is_sending)
    (place,) = world.outgoing._places
    assert place.client == "127.0.0.1"


async def test_subscriptions_end_when_the_server_stops(world: World) -> None:
    """At once, with a final event; no other begins."""
    held = [await world.follow() for _ in range(3)]
    world.drain()
    for following in held:
        assert await following.ended() == [END]
    assert (await world.ask().done()).status == 503


async def test_an_event_that_cannot_be_made_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on with the next event; the log has the reason."""

    def failing(*_: Any, **__: Any) -> OperationResult:
        raise ZeroDivisionError("inner detail")

    following = await world.follow()
    with monkeypatch.context() as patched:
        patched.setattr(API, "execute", failing)
        (one,) = world.publish(MADE_UP[1])
        await following.until(lambda it: it.events)
    two, three = world.publish(*MADE_UP[2:])
    await following.until(lambda it: len(it.events) == 3)
    failed, *others = following.events
    assert failed.name == shown(one).name
    assert failed.data["errors"][0]["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
    assert others == [shown(two), shown(three)]
    assert "inner detail" not in following.text
    assert "inner detail" in caplog.text


async def test_an_error_is_not_cached(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event is made again for a client that resumes after an earlier one."""
    query = SUBSCRIPTION.replace("(first: 0)", "(first: 0, filter: {})")

    def failing(*_: Any, **__: Any) -> OperationResult:
        return OperationResult({"revisionPublished": None}, ({"message": "no"},), executed=True)

    one, two = world.publish(*MADE_UP[1:3])
    await world.known(two)
    name = shown(one).name or ""
    with monkeypatch.context() as patched:
        patched.setattr(API, "execute", failing)
        following = await world.follow(query, last_event_id=name)
        await following.until(lambda it: it.events)
        assert following.events[0].data["errors"] == [{"message": "no"}]
    following = await world.follow(query, last_event_id=name)
    await following.until(lambda it: it.events)
    assert following.events == [shown(two)]


@with_settings(cost_per_minute=1)
async def test_subscriptions_are_charged_as_queries_are(world: World) -> None:
    """To begin one needs an allowance; one whose next event has none ends."""
    following = await world.follow()
    refused = await world.ask().done()
    assert refused.status == 429
    assert b"retry-after" in refused.headers
    world.publish(MADE_UP[1])
    event, end = await following.ended()
    assert event.data["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert end == END


async def test_documents_may_be_persisted(published: Path, tmp_path: Path) -> None:
    """What is not in the manifest is refused by an event."""
    manifest = tmp_path / "documents.json"
    manifest.write_bytes(orjson.dumps({"known": SUBSCRIPTION}))
    async with running(published, documents=str(manifest)) as world:
        assert (await world.follow()).status == 200
        first, end = await world.ask("subscription { revisionPublished { tag } }").ended()
        assert first.data["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_IN_LIST"
        assert end == END
