"""Server-sent events of the application, message by message, as its server would see them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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
        await self.may_send.wait()
        self.messages.append(message)

    def hang_up(self) -> None:
        """Close the connection, as a client does."""
        self._has_hung_up.set()

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
        await asyncio.wait_for(self.task, SOON)
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

    async def known(self, revision: RevisionInfo) -> None:
        """Wait until the application knows a revision, and has told of it."""
        drain: Any = self.app.drain
        async with asyncio.timeout(SOON):
            while drain.__self__._order[-1:] != [revision]:
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
        """Begin a subscription, and wait until it is heard."""
        following = self.ask(*arguments, **headers)
        await following.until(lambda it: it.text.startswith(":\n\n"))
        return following


def run(folder: Path, test: Callable[[World], Awaitable[None]], **settings: Any) -> None:
    """Run a test over an application whose catalog has the oldest of the made-up revisions."""
    catalog = Catalog(str(folder))
    catalog.publish(MADE_UP[:1])
    fast = {"refresh": 0.01, "metrics": False, "access_log": False} | settings

    @asynccontextmanager
    async def running() -> AsyncIterator[World]:
        app = create_app(Settings(catalog=str(folder), **fast))
        async with app.router.lifespan_context(app):
            yield World(app, catalog)

    async def inner() -> None:
        async with running() as world:
            await test(world)

    asyncio.run(inner())


def shown(revision: RevisionInfo) -> Event:
    """Return the event of a revision."""
    data = {"tag": revision.tag, "specs": {"totalCount": revision.num_specs}}
    name = node_id("Revision", revision.digest, revision.key)
    return Event("next", {"data": {"revisionPublished": data}}, name)


END = Event("complete", None, None)


def test_a_revision_is_sent_when_it_is_published(tmp_path: Path) -> None:
    """To all who follow, until they hang up; what was there before is not sent."""

    async def test(world: World) -> None:
        first, second = await world.follow(), await world.follow(SUBSCRIPTION, "GET")
        assert (first.status, first.headers[b"content-type"]) == (
            200,
            b"text/event-stream; charset=utf-8",
        )
        assert first.headers[b"cache-control"] == b"no-store"
        (one,) = world.publish(MADE_UP[1])
        for following in (first, second):
            await following.until(lambda it: it.events)
            assert following.events == [shown(one)]
        first.hang_up()
        await asyncio.wait_for(first.task, SOON)
        two, three = world.publish(*MADE_UP[2:])
        await second.until(lambda it: len(it.events) == 3)
        assert second.events == [shown(one), shown(two), shown(three)]
        assert first.events == [shown(one)]

    run(tmp_path, test)


def test_a_subscription_goes_on_after_the_last_event_that_was_seen(tmp_path: Path) -> None:
    """With its id as Last-Event-ID, as browsers send it; the order is that of publication."""

    async def test(world: World) -> None:
        seen, *missed = world.publish(*MADE_UP[1:])
        await world.known(missed[-1])
        following = await world.follow(last_event_id=shown(seen).name or "")
        await following.until(lambda it: len(it.events) == 2)
        assert following.events == [*map(shown, missed)]
        unknown = node_id("Revision", "0" * 64, "0" * 18)
        for name in ("", unknown, shown(missed[-1]).name or ""):
            assert (await world.follow(last_event_id=name)).events == []

    run(tmp_path, test)


@pytest.mark.parametrize("name", ["nope", "\xff", "VGFnOmRldmVsb3A=", "UmV2aXNpb24="])
def test_a_last_event_that_is_none_is_an_error(tmp_path: Path, name: str) -> None:
    """It is told, and the stream ends."""

    async def test(world: World) -> None:
        events = await world.ask(last_event_id=name).ended()
        assert [it.kind for it in events] == ["next", "complete"]
        (error,) = events[0].data["errors"]
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["message"].startswith("Last-Event-ID is no id")

    run(tmp_path, test)


ONE_RESULT = {
    "a query": ("{ tags { name } }", {"data": {"tags": [{"name": MADE_UP[0].tag}]}}),
    "an unknown field": ("{ nope }", "GRAPHQL_VALIDATION_FAILED"),
    "no document": ("{", "GRAPHQL_PARSE_FAILED"),
    "a mutation": ("mutation { __typename }", "GRAPHQL_VALIDATION_FAILED"),
    "a field that fails": ('{ revision(ref: "nope") { tag } }', "REVISION_NOT_FOUND"),
    "a subscription that is none": ("subscription { nope }", "GRAPHQL_VALIDATION_FAILED"),
    "an unknown type of event": ("subscription { __typename }", "GRAPHQL_VALIDATION_FAILED"),
    "too high a cost": (
        "subscription { revisionPublished { packages(first: 1000) { nodes "
        "{ specs(first: 1000) { nodes { hash } } } } } }",
        "QUERY_TOO_LARGE",
    ),
}


@pytest.mark.parametrize("name", ONE_RESULT)
def test_a_single_result_is_one_event_and_the_end(tmp_path: Path, name: str) -> None:
    """Queries are answered so, and so is what is wrong with a document: with status 200."""
    query, expected = ONE_RESULT[name]

    async def test(world: World) -> None:
        for _ in range(2):
            following = world.ask(query)
            first, end = await following.ended()
            assert (following.status, end) == (200, END)
            assert (first.kind, first.name) == ("next", None)
            if isinstance(expected, str):
                (error,) = first.data["errors"]
                assert error["extensions"]["code"] == expected
            else:
                assert first.data == expected

    run(tmp_path, test)


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
def test_a_query_is_answered_as_its_client_likes_best(
    tmp_path: Path, accept: str, kind: str
) -> None:
    """Clients that take both, such as urql, get JSON; what is kept of one is not for the other."""

    async def test(world: World) -> None:
        for other in (EVENTS, "application/json", accept):
            following = world.ask("{ tags { name } }", accept=other)
            await asyncio.wait_for(following.task, SOON)
        assert following.headers[b"content-type"].decode() == f"{kind}; charset=utf-8"
        assert following.text.startswith("event: " if kind == EVENTS else '{"data"')

    run(tmp_path, test)


@pytest.mark.parametrize(
    "accept", ["application/json, text/event-stream, multipart/mixed", "*/*, text/event-stream"]
)
def test_a_subscription_is_answered_by_events_wherever_they_are_taken(
    tmp_path: Path, accept: str
) -> None:
    """There is no other way to answer it."""

    async def test(world: World) -> None:
        following = await world.follow(SUBSCRIPTION, "POST", accept)
        assert following.headers[b"content-type"].startswith(EVENTS.encode())

    run(tmp_path, test)


@pytest.mark.parametrize("accept", ["application/json", "*/*", "", "text/event-stream;q=0, */*"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_elsewhere_it_is_refused(tmp_path: Path, accept: str, method: str) -> None:
    """With what to do about it."""

    async def test(world: World) -> None:
        for _ in range(2):
            following = world.ask(SUBSCRIPTION, method, accept)
            await asyncio.wait_for(following.task, SOON)
            assert following.status == 406
            assert "text/event-stream" in following.text

    run(tmp_path, test)


def test_head_follows_nothing(tmp_path: Path) -> None:
    """It has the headers alone."""

    async def test(world: World) -> None:
        following = world.ask(SUBSCRIPTION, "HEAD")
        await asyncio.wait_for(following.task, SOON)
        assert following.headers[b"content-type"].startswith(EVENTS.encode())

    run(tmp_path, test)


def test_silence_is_broken_by_signs_of_life(tmp_path: Path) -> None:
    """Comments, every so many seconds, which no client takes for events."""

    async def test(world: World) -> None:
        following = await world.follow()
        await following.until(lambda it: it.text.count(":\n\n") > 3)
        assert following.events == []

    run(tmp_path, test, heartbeat=0.02)


def test_one_subscription_too_many_is_refused(tmp_path: Path) -> None:
    """With status 503 and when to come again; queries go on, and who leaves makes room."""

    async def test(world: World) -> None:
        held = [await world.follow() for _ in range(2)]
        refused = world.ask()
        await asyncio.wait_for(refused.task, SOON)
        assert (refused.status, refused.headers[b"retry-after"]) == (503, b"2")
        assert orjson.loads(refused.text)["errors"][0]["extensions"]["code"] == "OVERLOADED"
        assert (await world.ask("{ tags { name } }").ended())[-1] == END
        held[0].hang_up()
        await asyncio.wait_for(held[0].task, SOON)
        assert (await world.follow()).status == 200

    run(tmp_path, test, max_subscriptions=2)


def test_half_of_the_connections_are_left_for_others(tmp_path: Path) -> None:
    """However many subscriptions there may be."""

    async def test(world: World) -> None:
        for _ in range(2):
            await world.follow()
        refused = world.ask()
        await asyncio.wait_for(refused.task, SOON)
        assert refused.status == 503

    run(tmp_path, test, max_subscriptions=50, max_connections=5)


def test_equal_events_are_executed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all who ask with the same document and variables."""
    executed: list[str] = []
    execute = API.execute

    def counted(api: API, query: str, *arguments: Any, **options: Any) -> OperationResult:
        answer = execute(api, query, *arguments, **options)
        executed.append(query)
        return answer

    async def test(world: World) -> None:
        other = SUBSCRIPTION.replace("tag", "tag digest")
        many = [await world.follow() for _ in range(20)] + [await world.follow(other)]
        monkeypatch.setattr(API, "execute", counted)
        world.publish(MADE_UP[1])
        for following in many:
            await following.until(lambda it: it.events)
        assert sorted(executed) == sorted([SUBSCRIPTION, other])

    run(tmp_path, test)


def test_an_event_that_nobody_waits_for_is_not_made(tmp_path: Path) -> None:
    """Who hangs up leaves nothing to do; another one who waits for it gets it all the same."""

    async def test(world: World) -> None:
        events = streams_of(world.app)
        async with events._free:
            leaving, staying = await world.follow(), await world.follow()
            alone = await world.follow(SUBSCRIPTION.replace("tag", "digest"))
            world.publish(MADE_UP[1])
            async with asyncio.timeout(SOON):
                while len(events._flights._flights) < 2:
                    await asyncio.sleep(0.005)
            for following in (leaving, alone):
                following.hang_up()
                await asyncio.wait_for(following.task, SOON)
            assert len(events._flights._flights) == 1
        await staying.until(lambda it: it.events)
        assert not events._flights._flights

    run(tmp_path, test)


def test_an_event_that_takes_long_holds_up_nothing(tmp_path: Path) -> None:
    """Signs of life are sent while it is made, and a server that stops does not wait for it."""

    async def test(world: World) -> None:
        events = streams_of(world.app)
        async with events._free:
            following = await world.follow()
            world.publish(MADE_UP[1])
            async with asyncio.timeout(SOON):
                while not events._flights._flights:
                    await asyncio.sleep(0.005)
            beats = following.text.count(":\n\n")
            await following.until(lambda it: it.text.count(":\n\n") > beats + 2)
            assert world.app.drain is not None
            world.app.drain()
            assert await following.ended() == [END]
            assert not events._flights._flights

    run(tmp_path, test, heartbeat=0.02)


def streams_of(app: Application) -> Any:
    """Return what shares the events of an application."""
    endpoint: Any = next(
        route for route in app.routes if getattr(route, "path", "") == GRAPHQL_PATH
    )
    return endpoint.app.streams.events


def test_a_client_that_does_not_read_is_told_why_it_ends(tmp_path: Path) -> None:
    """As soon as it reads: what came in the meantime was too much to be kept for it."""

    async def test(world: World) -> None:
        following = await world.follow()
        following.may_send.clear()
        (one,) = world.publish(MADE_UP[1])
        await world.known(one)
        await asyncio.sleep(0.05)  # the event is taken, and waits to be sent
        publications_of(world.app).tell([one] * (MAX_WAITING + 1), [one])
        following.may_send.set()
        events = await following.ended()
        assert events[0] == shown(one)
        assert events[1].data["errors"][0]["extensions"]["code"] == "SUBSCRIBER_TOO_SLOW"
        assert events[2:] == [END]

    run(tmp_path, test)


def publications_of(app: Application) -> Any:
    """Return what tells an application of revisions."""
    drain: Any = app.drain
    return drain.__self__


def test_all_ends_when_the_server_is_stopped(tmp_path: Path) -> None:
    """At once, with the event that says so; nobody can begin any more."""

    async def test(world: World) -> None:
        held = [await world.follow() for _ in range(3)]
        assert world.app.drain is not None
        world.app.drain()
        for following in held:
            assert await following.ended() == [END]
        late = world.ask()
        await asyncio.wait_for(late.task, SOON)
        assert late.status == 503

    run(tmp_path, test)


def test_an_event_that_cannot_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on: the next may be good. The log has what it was."""

    def failing(*_: Any, **__: Any) -> OperationResult:
        raise ZeroDivisionError("inner detail")

    async def test(world: World) -> None:
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

    run(tmp_path, test)
    assert "inner detail" in caplog.text


def test_an_error_is_not_kept_for_those_who_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is made anew for a client that goes on after an earlier one."""
    query = SUBSCRIPTION.replace("(first: 0)", "(first: 0, filter: {})")

    def failing(*_: Any, **__: Any) -> OperationResult:
        return OperationResult({"revisionPublished": None}, ({"message": "no"},), executed=True)

    async def test(world: World) -> None:
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

    run(tmp_path, test)


def test_subscriptions_are_charged_as_queries_are(tmp_path: Path) -> None:
    """One begins only where something is left, and each event costs; without it ends."""

    async def test(world: World) -> None:
        following = await world.follow()
        refused = world.ask()
        await asyncio.wait_for(refused.task, SOON)
        assert refused.status == 429
        assert b"retry-after" in refused.headers
        world.publish(MADE_UP[1])
        (event, end) = await following.ended()
        assert event.data["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
        assert end == END

    run(tmp_path, test, cost_per_minute=1)


def test_documents_may_be_persisted(tmp_path: Path) -> None:
    """What is not in the manifest is refused by an event, as what is wrong with a document."""
    manifest = tmp_path / "documents.json"
    manifest.write_bytes(orjson.dumps({"known": SUBSCRIPTION}))

    async def test(world: World) -> None:
        assert (await world.follow()).status == 200
        first, end = await world.ask("subscription { revisionPublished { tag } }").ended()
        assert first.data["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_IN_LIST"
        assert end == END

    run(tmp_path / "catalog", test, documents=str(manifest))
