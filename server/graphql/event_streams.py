"""Answers as server-sent events: subscriptions, and queries of clients that read events alone."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.types import Receive, Scope, Send

from schema.errors import BAD_USER_INPUT, bounded
from schema.node import parse_node_id
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE, IS_OPEN_ENDED, OPERATION, note_answer, note_error
from server.asgi.hang_ups import GONE, unless_gone
from server.asgi.sending import send_head, send_in_pieces
from server.graphql.answers import Answer, Answers, Charge
from server.graphql.events import (
    COMPLETE,
    HEADERS,
    SIGN_OF_LIFE,
    error_body,
    next_event,
    next_event_parts,
)
from server.graphql.execution import Execution
from server.graphql.outgoing import Outgoing
from server.graphql.parsed_requests import ParsedRequest, RequestBytes
from server.graphql.shared_events import EventText, SharedEvents
from server.publications import MAX_WAITING, Publications, Subscriber
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo

_FELL_BEHIND = (
    f"More than {MAX_WAITING:,} revisions wait for this client to read them. Subscribe again, with "
    "the id of the last event as Last-Event-ID to get what came after it."
)

_ABOUT_DOCUMENTS = "PERSISTED_QUERY"
"""How the codes of those refusals begin that are about a document, and not the HTTP request."""


Write = Callable[[bytes], Awaitable[None]]
"""Sends a part of an answer that goes on."""


class EventStreams:
    """Answers requests of clients that take server-sent events.

    A subscription that is silent for ``heartbeat`` seconds is sent a sign of life.
    """

    def __init__(
        self,
        answers: Answers,
        execution: Execution,
        events: SharedEvents,
        publications: Publications,
        outgoing: Outgoing,
        *,
        heartbeat: float,
    ) -> None:
        self._answers = answers
        self._execution = execution
        self._events = events
        self._publications = publications
        self._outgoing = outgoing
        self._heartbeat = heartbeat

    async def answer(
        self,
        asked: RequestBytes,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        charge: Charge | None,
        events_only: bool,
    ) -> bool:
        """Answer a request by events; return False where it is to be answered by one body.

        That is a query of a client that does not want ``events_only``. Raises BadRequest for what
        is wrong with the HTTP request; what is wrong with its document is an event.
        """
        try:
            read = self._answers.read(asked)
            parsed = read if isinstance(read, ParsedRequest) else await read
            if parsed.is_subscription:
                await self._follow(parsed, scope, receive, send, charge)
            elif events_only:
                await self._send_answer(asked, scope, receive, send, charge)
            else:
                return False
        except BadRequest as error:
            if not error.code.startswith(_ABOUT_DOCUMENTS):
                raise
            scope[CODE] = error.code
            await _send_one(send, error_body(error.message, error.code))
        return True

    async def _send_answer(
        self,
        asked: RequestBytes,
        scope: Scope,
        receive: Receive,
        send: Send,
        charge: Charge | None,
    ) -> None:
        """Send the answer to a query: the event of its result, and the end."""
        begun = self._answers.begin(asked, charge)
        answer = begun if isinstance(begun, Answer) else await unless_gone(receive, begun)
        if answer is not None:
            note_answer(scope, answer)
            with self._outgoing.begin(answer.response, scope):
                await _send_one(send, answer.response.body)
        else:
            await send_head(send, GONE, [])  # for the log: nobody receives it

    async def _follow(
        self,
        parsed: ParsedRequest,
        scope: Scope,
        receive: Receive,
        send: Send,
        charge: Charge | None,
    ) -> None:
        """Send the events of a subscription until either side ends it."""
        if scope["method"] == "HEAD":
            await _send_one(send, b"")
            return
        with self._publications.subscriber() as subscriber:
            if charge is not None:
                charge(parsed.units)
            refused = self._execution.subscribe(parsed.request, subscriber.follow)
            refused = refused or self._resume(scope, subscriber)
            if refused is not None:
                note_error(scope, refused)
                await _send_one(send, refused)
                return
            scope[IS_OPEN_ENDED] = True
            scope[OPERATION] = parsed.request.operation_name or ""
            await unless_gone(receive, self._send_events(parsed, subscriber, send, charge))

    def _resume(self, scope: Scope, subscriber: Subscriber) -> bytes | None:
        """Offer what the client has missed; return the body of an error for an id that is none."""
        headers = dict(scope["headers"])
        name = headers.get(b"last-event-id", b"").decode("latin-1")
        if not name:
            return None
        try:
            match parse_node_id(name):
                case "Revision", [_, key]:
                    self._publications.resume(subscriber, key)
                    return None
        except InvalidArgument:
            pass
        message = f"Last-Event-ID is no id of a revision: {bounded(name)}"
        return error_body(message, BAD_USER_INPUT)

    async def _send_events(
        self, parsed: ParsedRequest, subscriber: Subscriber, send: Send, charge: Charge | None
    ) -> None:
        write = partial(send_in_pieces, send, more_body=True)
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await write(SIGN_OF_LIFE)  # so that the client sees at once that it is heard
        try:
            while True:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        revision = await anext(subscriber)
                except TimeoutError:
                    await write(SIGN_OF_LIFE)
                    continue
                if charge is not None:
                    charge(parsed.units)
                event = self._events.kept(parsed, revision)
                if event is None:
                    event = await self._made(parsed, revision, subscriber, write)
                with self._events.sending(event):
                    await write(event.text)
        except StopAsyncIteration:
            if subscriber.fell_behind:
                await write(next_event(error_body(_FELL_BEHIND, "SUBSCRIBER_TOO_SLOW")))
        except BadRequest as error:
            await write(next_event(error_body(error.message, error.code)))
        await send_in_pieces(send, COMPLETE)

    async def _made(
        self, parsed: ParsedRequest, revision: RevisionInfo, subscriber: Subscriber, write: Write
    ) -> EventText:
        """Wait for an event, with signs of life meanwhile.

        Raises StopAsyncIteration where the subscriber is ended before.
        """
        making = asyncio.ensure_future(self._events.of(parsed, revision))
        ending = asyncio.ensure_future(subscriber.ended.wait())
        try:
            while True:
                done, _ = await asyncio.wait(
                    (making, ending),
                    timeout=self._heartbeat,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if making in done:
                    return making.result()
                if ending in done:
                    raise StopAsyncIteration
                await write(SIGN_OF_LIFE)
        finally:
            making.cancel()
            ending.cancel()


async def _send_one(send: Send, body: bytes) -> None:
    """Send a single result, if any, and the end."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    for part in next_event_parts(body) if body else ():
        await send_in_pieces(send, part, more_body=True)
    await send_in_pieces(send, COMPLETE)
