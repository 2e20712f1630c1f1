"""Server-sent events: subscriptions, and answers to clients that accept only events.

The events follow GraphQL over SSE, in its distinct connections mode:
https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache
from starlette.types import Receive, Scope, Send

from schema.errors import BAD_USER_INPUT, INTERNAL, bounded, incident
from schema.node import node_id, parse_node_id
from server.asgi import exchanges
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.responses import EVENT_STREAM, Headers, send_in_pieces
from server.asgi.room import Outgoing
from server.asgi.single_flight import SingleFlight
from server.graphql.answers import Answers, Charge
from server.graphql.execution import Execution
from server.graphql.requests import GraphQLRequest, ParsedRequest, RequestBytes, Weight
from server.publications import MAX_WAITING, Publications, Subscriber
from snapshots.catalog.catalog import Catalog
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo

HEADERS: Headers = [
    (b"content-type", f"{EVENT_STREAM}; charset=utf-8".encode()),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-accel-buffering", b"no"),  # disables buffering in nginx
]

SIGN_OF_LIFE = b":\n\n"
"""A comment, which clients ignore."""

COMPLETE = b"event: complete\ndata: \n\n"
"""The last event. Browsers ignore events without a line of data."""


def next_event(body: bytes, name: str | None = None) -> bytes:
    """Return the event of a result, JSON on one line; ``name`` is the event's id for resuming."""
    line = b"" if name is None else b"id: %b\n" % name.encode()
    return b"event: next\n%bdata: %b\n\n" % (line, body)


def error_body(message: str, code: str) -> bytes:
    """Return the body of a result with a single error and no data."""
    return orjson.dumps({"errors": [{"message": message, "extensions": {"code": code}}]})


EVENT_BYTES = 16 << 20
"""Size of the cache of events, in bytes, for clients that receive them later."""

_CONCURRENCY = 1
"""Number of events that are executed concurrently, so that they never occupy a complete lane."""

_ATTEMPTS = 3
"""Number of attempts to execute an event while the server is busy, before it becomes an error."""

_OVERHEAD = 1_000

_Key = tuple[Any, ...]


class EventText(msgspec.Struct, frozen=True):
    """The text of an event, which any number of clients may share."""

    text: bytes
    num_bytes: int
    """Memory in the cache, in bytes, including the document of the subscription."""


class SharedEvents:
    """Executes each distinct subscription once per revision, and caches the events.

    All methods must be called in the event loop.
    """

    def __init__(self, catalog: Catalog, execution: Execution) -> None:
        self._catalog = catalog
        self._execution = execution
        self._free = asyncio.Semaphore(_CONCURRENCY)
        self._flights: SingleFlight[EventText] = SingleFlight()
        self._made: LRUCache[_Key, EventText] = LRUCache(EVENT_BYTES, lambda event: event.num_bytes)

    async def of(self, parsed: ParsedRequest, revision: RevisionInfo) -> EventText:
        """Return the event of a revision for a subscription; execute it if it is not cached."""
        key = parsed.permanent_key, revision.key, self._catalog.state
        if (event := self._made.get(key)) is not None:
            return event
        return await self._flights.value(key, lambda: self._make(parsed, revision, key))

    async def _make(self, parsed: ParsedRequest, revision: RevisionInfo, key: _Key) -> EventText:
        request = msgspec.structs.replace(parsed.request, event=revision)
        async with self._free:
            try:
                body, is_good = await self._execute(request, parsed.weight)
            except Exception as error:  # noqa: BLE001 - the next event may succeed
                body, is_good = error_body(incident(error)["message"], INTERNAL), False
        text = next_event(body, node_id("Revision", revision.digest, revision.key))
        event = EventText(text, len(text) + parsed.permanent_key.num_bytes + _OVERHEAD)
        if is_good and event.num_bytes <= self._made.maxsize:
            self._made[key] = event
        return event

    async def _execute(self, request: GraphQLRequest, weight: Weight) -> tuple[bytes, bool]:
        """Return the result, and whether it has no errors."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                executed = await self._execution.execute(request, weight)
            except BadRequest as error:
                if attempt == _ATTEMPTS:
                    return error_body(error.message, error.code), False
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return executed.body, executed.is_good
        raise AssertionError("the last attempt returns")


_TOO_SLOW = (
    f"More than {MAX_WAITING:,} revisions wait for this client to read them. Subscribe again, with "
    "the id of the last event as Last-Event-ID to get what came after it."
)

_DOCUMENT_CODES = "PERSISTED_QUERY"
"""Prefix of the error codes that concern the document instead of the HTTP request."""


Write = Callable[[bytes], Awaitable[None]]
"""Sends a part of a response that is continued."""


class AsgiRequest(msgspec.Struct, frozen=True, eq=False):
    """The arguments of an ASGI application; ``charge`` counts the client's cost, if limited."""

    scope: Scope
    receive: Receive
    send: Send
    charge: Charge | None


class EventStreams(msgspec.Struct, frozen=True, eq=False):
    """Answers requests of clients that accept server-sent events.

    A subscription without events for ``heartbeat`` seconds is sent a comment.
    """

    answers: Answers
    execution: Execution
    events: SharedEvents
    publications: Publications
    outgoing: Outgoing
    heartbeat: float

    async def answer(self, request: RequestBytes, asgi: AsgiRequest, *, events_only: bool) -> bool:
        """Answer a request by events; return False if it has to be answered by a single body.

        The latter applies to a query without ``events_only``. Raises BadRequest for errors of the
        HTTP request; errors of the document are sent as an event.
        """
        try:
            parsed = await self.answers.read(request)
            if parsed.is_subscription:
                await self._follow(parsed, asgi)
            elif events_only:
                await self._send_answer(request, asgi)
            else:
                return False
        except BadRequest as error:
            if not error.code.startswith(_DOCUMENT_CODES):
                raise
            asgi.scope[exchanges.CODE] = error.code
            await _send_one(asgi.send, error_body(error.message, error.code))
        return True

    async def _send_answer(self, request: RequestBytes, asgi: AsgiRequest) -> None:
        """Send the answer to a query: the event with its result, and the last event."""
        making = self.answers.answer(request, asgi.charge)
        answer = await exchanges.unless_disconnected(asgi.receive, making)
        exchanges.note_answer(asgi.scope, answer)
        with self.outgoing.begin(answer.response, asgi.scope):
            await _send_one(asgi.send, answer.response.body)

    async def _follow(self, parsed: ParsedRequest, asgi: AsgiRequest) -> None:
        """Send the events of a subscription until either side ends it."""
        if asgi.scope["method"] == "HEAD":
            await _send_one(asgi.send, b"")
            return
        with self.publications.subscriber() as subscriber:
            if asgi.charge is not None:
                asgi.charge(parsed.units)
            refused = self.execution.subscribe(parsed.request, subscriber.follow)
            refused = refused or self._resume(asgi.scope, subscriber)
            if refused is not None:
                exchanges.note_error(asgi.scope, refused)
                await _send_one(asgi.send, refused)
                return
            asgi.scope[exchanges.IS_OPEN_ENDED] = True
            asgi.scope[exchanges.OPERATION] = parsed.request.operation_name or ""
            await exchanges.unless_disconnected(
                asgi.receive, self._send_events(parsed, subscriber, asgi)
            )

    def _resume(self, scope: Scope, subscriber: Subscriber) -> bytes | None:
        """Resume after Last-Event-ID; return the body of an error if that is not a valid id."""
        headers = dict(scope["headers"])
        name = headers.get(b"last-event-id", b"").decode("latin-1")
        if not name:
            return None
        try:
            match parse_node_id(name):
                case "Revision", [_, key]:
                    self.publications.resume(subscriber, key)
                    return None
        except InvalidArgument:
            pass
        message = f"Last-Event-ID is not an id of a revision: {bounded(name)}"
        return error_body(message, BAD_USER_INPUT)

    async def _send_events(
        self, parsed: ParsedRequest, subscriber: Subscriber, asgi: AsgiRequest
    ) -> None:
        write = partial(send_in_pieces, asgi.send, more_body=True)
        await asgi.send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await write(SIGN_OF_LIFE)  # shows the client immediately that it is subscribed
        try:
            while True:
                event = await self._next_event(parsed, subscriber, asgi.charge, write)
                with self.outgoing.begin_bytes(len(event.text), asgi.scope):
                    await write(event.text)
        except StopAsyncIteration:
            if subscriber.fell_behind:
                await write(next_event(error_body(_TOO_SLOW, "SUBSCRIBER_TOO_SLOW")))
        except BadRequest as error:
            await write(next_event(error_body(error.message, error.code)))
        await send_in_pieces(asgi.send, COMPLETE)

    async def _next_event(
        self, parsed: ParsedRequest, subscriber: Subscriber, charge: Charge | None, write: Write
    ) -> EventText:
        """Wait for the next event, and send comments in the meantime.

        Raises StopAsyncIteration if the subscription ends first, and BadRequest if the client has
        used up its cost.
        """

        async def make() -> EventText:
            revision = await anext(subscriber)
            if charge is not None:
                charge(parsed.units)
            return await self.events.of(parsed, revision)

        making = asyncio.ensure_future(make())
        ending = asyncio.ensure_future(subscriber.ended.wait())
        try:
            while not making.done():
                if ending.done():
                    raise StopAsyncIteration
                done, _ = await asyncio.wait(
                    (making, ending), timeout=self.heartbeat, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    await write(SIGN_OF_LIFE)
            return making.result()
        finally:
            making.cancel()
            ending.cancel()


async def _send_one(send: Send, body: bytes) -> None:
    """Send a response with a single result, if any, and the last event."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    if body:
        await send_in_pieces(send, next_event(body), more_body=True)
    await send_in_pieces(send, COMPLETE)
