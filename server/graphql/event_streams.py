"""Answers as server-sent events: subscriptions, and queries of clients that read events alone.

The events are those of GraphQL over SSE, in its distinct connections mode:
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
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import (
    CODE,
    GONE,
    IS_OPEN_ENDED,
    OPERATION,
    note_answer,
    note_error,
    unless_gone,
)
from server.asgi.responses import EVENT_STREAM, Headers, send_head, send_in_pieces
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
    (b"x-accel-buffering", b"no"),  # nginx sends on what it gets, then
]

SIGN_OF_LIFE = b":\n\n"
"""A comment: clients pass over it."""

COMPLETE = b"event: complete\ndata: \n\n"
"""The last event. Browsers would not tell of it without the line of data."""


def next_event(body: bytes, name: str | None = None) -> bytes:
    """Return the event of a result: JSON in one line. ``name`` is its id, to go on after it."""
    line = b"" if name is None else b"id: %b\n" % name.encode()
    return b"event: next\n%bdata: %b\n\n" % (line, body)


def error_body(message: str, code: str) -> bytes:
    """Return a result that is an error alone."""
    return orjson.dumps({"errors": [{"message": message, "extensions": {"code": code}}]})


EVENT_BYTES = 16 << 20
"""How many bytes of events are kept for those who come to them later."""

_AT_ONCE = 1
"""How many events are executed at a time, so that they never take all threads of a lane."""

_ATTEMPTS = 3
"""How often an event is tried while the server is busy, before its client is told so."""

_OVERHEAD = 1_000

_Key = tuple[Any, ...]


class EventText(msgspec.Struct, frozen=True):
    """An event as it is sent, to as many clients as like it."""

    text: bytes
    num_bytes: int
    """What it takes where it is kept, with the question that a client has written."""


class SharedEvents:
    """Executes subscriptions for revisions; equal ones once. All methods are the event loop's."""

    def __init__(self, catalog: Catalog, execution: Execution) -> None:
        self._catalog = catalog
        self._execution = execution
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._flights: SingleFlight[EventText] = SingleFlight()
        self._made: LRUCache[_Key, EventText] = LRUCache(EVENT_BYTES, lambda event: event.num_bytes)

    async def of(self, parsed: ParsedRequest, revision: RevisionInfo) -> EventText:
        """Return the event of a revision for a subscription, as soon as it is made."""
        key = parsed.permanent_key, revision.key, self._catalog.state
        if (event := self._made.get(key)) is not None:
            return event
        return await self._flights.value(key, lambda: self._make(parsed, revision, key))

    async def _make(self, parsed: ParsedRequest, revision: RevisionInfo, key: _Key) -> EventText:
        request = msgspec.structs.replace(parsed.request, event=revision)
        async with self._free:
            try:
                body, is_good = await self._execute(request, parsed.weight)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next event may be good
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


_FELL_BEHIND = (
    f"More than {MAX_WAITING:,} revisions wait for this client to read them. Subscribe again, with "
    "the id of the last event as Last-Event-ID to get what came after it."
)

_ABOUT_DOCUMENTS = "PERSISTED_QUERY"
"""How the codes of those refusals begin that are about a document, and not the HTTP request."""


Write = Callable[[bytes], Awaitable[None]]
"""Sends a part of an answer that goes on."""


class AsgiRequest(msgspec.Struct, frozen=True, eq=False):
    """A request as ASGI has it; ``charge`` counts what it costs its client, if that is limited."""

    scope: Scope
    receive: Receive
    send: Send
    charge: Charge | None


class EventStreams(msgspec.Struct, frozen=True, eq=False):
    """Answers requests of clients that take server-sent events.

    A subscription that is silent for ``heartbeat`` seconds is sent a sign of life.
    """

    answers: Answers
    execution: Execution
    events: SharedEvents
    publications: Publications
    outgoing: Outgoing
    heartbeat: float

    async def answer(self, request: RequestBytes, asgi: AsgiRequest, *, events_only: bool) -> bool:
        """Answer a request by events; return False where it is to be answered by one body.

        That is a query of a client that does not want ``events_only``. Raises BadRequest for what
        is wrong with the HTTP request; what is wrong with its document is an event.
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
            if not error.code.startswith(_ABOUT_DOCUMENTS):
                raise
            asgi.scope[CODE] = error.code
            await _send_one(asgi.send, error_body(error.message, error.code))
        return True

    async def _send_answer(self, request: RequestBytes, asgi: AsgiRequest) -> None:
        """Send the answer to a query: the event of its result, and the end."""
        making = self.answers.answer(request, asgi.charge)
        answer = await unless_gone(asgi.receive, making)
        if answer is not None:
            note_answer(asgi.scope, answer)
            with self.outgoing.begin(answer.response, asgi.scope):
                await _send_one(asgi.send, answer.response.body)
        else:
            await send_head(asgi.send, GONE, [])  # for the log: nobody receives it

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
                note_error(asgi.scope, refused)
                await _send_one(asgi.send, refused)
                return
            asgi.scope[IS_OPEN_ENDED] = True
            asgi.scope[OPERATION] = parsed.request.operation_name or ""
            await unless_gone(asgi.receive, self._send_events(parsed, subscriber, asgi))

    def _resume(self, scope: Scope, subscriber: Subscriber) -> bytes | None:
        """Offer what the client has missed; return the body of an error for an id that is none."""
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
        await write(SIGN_OF_LIFE)  # so that the client sees at once that it is heard
        try:
            while True:
                event = await self._next_event(parsed, subscriber, asgi.charge, write)
                with self.outgoing.begin_bytes(len(event.text), asgi.scope):
                    await write(event.text)
        except StopAsyncIteration:
            if subscriber.fell_behind:
                await write(next_event(error_body(_FELL_BEHIND, "SUBSCRIBER_TOO_SLOW")))
        except BadRequest as error:
            await write(next_event(error_body(error.message, error.code)))
        await send_in_pieces(asgi.send, COMPLETE)

    async def _next_event(
        self, parsed: ParsedRequest, subscriber: Subscriber, charge: Charge | None, write: Write
    ) -> EventText:
        """Wait for an event, with signs of life meanwhile.

        Raises StopAsyncIteration where the subscriber is ended before, and BadRequest where its
        client may not ask for more.
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
                    (making, ending),
                    timeout=self.heartbeat,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not done:
                    await write(SIGN_OF_LIFE)
            return making.result()
        finally:
            making.cancel()
            ending.cancel()


async def _send_one(send: Send, body: bytes) -> None:
    """Send a single result, if any, and the end."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    if body:
        await send_in_pieces(send, next_event(body), more_body=True)
    await send_in_pieces(send, COMPLETE)
