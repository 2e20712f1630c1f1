"""Events that are executed once for all who follow with the same question."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cachetools import LRUCache

from schema.errors import INTERNAL, incident
from schema.node import node_id
from server.asgi.cache import CacheKey
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.room import Place
from server.graphql.events import error_body, next_event
from server.graphql.execution import Executed, Execution, Weight
from server.graphql.outgoing import Outgoing
from server.graphql.parsed_requests import ParsedRequest
from server.graphql.requests import GraphQLRequest
from snapshots.catalog.catalog import Catalog
from snapshots.models import RevisionInfo

EVENT_BYTES = 16 << 20
"""How many bytes of events are kept for those who come to them later."""

_AT_ONCE = 1
"""How many events are executed at a time, so that they never take all threads of a lane."""

_ATTEMPTS = 3
"""How often an event is tried while the server is busy, before its client is told so."""

_OVERHEAD = 1_000

_Key = tuple[Any, ...]


class EventText:
    """An event as it is sent, to as many clients as like it."""

    __slots__ = ("num_bytes", "num_readers", "place", "text")

    def __init__(self, text: bytes, question: CacheKey) -> None:
        self.text = text
        self.num_bytes = len(text) + question.num_bytes + _OVERHEAD
        """What it takes where it is kept, with the ``question`` that a client has written."""

        self.num_readers = 0
        self.place: Place | None = None


class _Making:
    """An event that is being made, and how many wait for it."""

    __slots__ = ("num_waiting", "task")

    def __init__(self, task: "asyncio.Task[EventText]") -> None:
        self.task = task
        self.num_waiting = 0


class SharedEvents:
    """Executes subscriptions for revisions; equal ones once. All methods are the event loop's."""

    def __init__(self, catalog: Catalog, execution: Execution, outgoing: Outgoing) -> None:
        self._catalog = catalog
        self._execution = execution
        self._outgoing = outgoing
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._under_way: dict[_Key, _Making] = {}
        self._made: LRUCache[_Key, EventText] = LRUCache(EVENT_BYTES, lambda it: it.num_bytes)

    def kept(self, parsed: ParsedRequest, revision: RevisionInfo) -> EventText | None:
        """Return the event of a revision for a subscription where it is made already."""
        return self._made.get(self._key(parsed, revision))

    async def of(self, parsed: ParsedRequest, revision: RevisionInfo) -> EventText:
        """Return the event of a revision for a subscription, as soon as it is made."""
        key = self._key(parsed, revision)
        making = self._under_way.get(key)
        if making is None:
            making = _Making(asyncio.ensure_future(self._make(parsed, revision, key)))
            self._under_way[key] = making
        making.num_waiting += 1
        try:
            return await asyncio.shield(making.task)  # who hangs up does not end it for others
        finally:
            making.num_waiting -= 1
            if not making.num_waiting:
                making.task.cancel()  # nobody waits any more, or it is done
                if self._under_way.get(key) is making:
                    del self._under_way[key]

    @contextmanager
    def sending(self, event: EventText) -> Iterator[None]:
        """Count an event among the large answers on their way, once for all its clients.

        Raises BadRequest where there are too many.
        """
        if not event.num_readers:
            event.place = self._outgoing.begin_bytes(len(event.text), None)
        event.num_readers += 1
        try:
            yield
        finally:
            event.num_readers -= 1
            if event.place is not None and not event.num_readers:
                event.place.leave()

    def _key(self, parsed: ParsedRequest, revision: RevisionInfo) -> _Key:
        return parsed.permanent_key, revision.key, self._catalog.state

    async def _make(self, parsed: ParsedRequest, revision: RevisionInfo, key: _Key) -> EventText:
        request = parsed.request._replace(event=revision)
        async with self._free:
            try:
                body, is_good = await self._execute(request, parsed.weight)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next event may be good
                body, is_good = error_body(incident(error)["message"], INTERNAL), False
        text = next_event(body, node_id("Revision", revision.digest, revision.key))
        event = EventText(text, parsed.permanent_key)
        if is_good and event.num_bytes <= self._made.maxsize:
            self._made[key] = event
        return event

    async def _execute(self, request: GraphQLRequest, weight: Weight) -> tuple[bytes, bool]:
        """Return the result, and whether it has no errors."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                begun = self._execution.begin(request, weight)
                executed = begun if isinstance(begun, Executed) else await begun
            except BadRequest as error:
                if attempt == _ATTEMPTS:
                    return error_body(error.message, error.code), False
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return executed.body, executed.is_good
        raise AssertionError("the last attempt returns")
