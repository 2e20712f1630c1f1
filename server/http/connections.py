"""Connections whose sizes and times are bounded: uvicorn's protocol with limits.

uvicorn bounds neither what a client sends before its request is whole, nor the time that it takes
for it, nor the time that it takes to read an answer.
"""

import asyncio
from collections import OrderedDict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from uvicorn.server import ServerState

from server.http.limits import DROP
from server.http.phases import Phase
from server.http.quick_connections import QuickConnection
from server.http.refusals import (
    Refused,
    has_too_many,
    refusal,
    why_head_is_refused,
    why_reading_ends,
)
from server.http.slow_readers import ReaderWatch

if TYPE_CHECKING:
    from server.http.servers import ServerConfig

_MAX_PIPELINED = 32
"""How many requests of one connection may wait for the answer to an earlier one."""

_LINGER_SECONDS = 2.0
"""How long what a client still sends is thrown away, so that it can read why."""


class BoundedConnection(QuickConnection):
    """A connection that keeps within the limits of its server's configuration.

    A request that goes over one of them is answered with its status (408, 413, 414, 431), and the
    connection is closed. A process that holds all the connections that it may closes the one that
    has waited for its client longest, to make room for a new one.
    """

    def __init__(
        self,
        config: "ServerConfig",
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self._waiting = config.waiting
        self._is_closing = False
        self._must_count = False
        self._waits_for: Phase | None = None
        self._status = HTTPStatus.BAD_REQUEST
        self._deadline: asyncio.TimerHandle | None = None
        self._bytes_over_reads = 0
        self._is_answered_early = False
        self._extensions = {DROP: self.drop}

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection, in place of an old one where there are enough."""
        super().connection_made(transport)
        self._readers = ReaderWatch(transport, self.loop, self._limits.send_seconds)
        if len(self.connections) > self._limits.connections:
            if not self._waiting:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
                return
            oldest, _ = self._waiting.popitem(last=False)
            oldest.make_room()
        self._waiting[self] = None
        self._set_deadline(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._waiting.pop(self, None)
        self._cancel_deadline()
        self._extensions.clear()  # scopes would hold the connection in memory otherwise
        self.resume_writing()
        super().connection_lost(exc)

    def make_room(self) -> None:
        """Close a connection that waits for its client, now."""
        self.connections.discard(self)
        self.transport.abort()

    def shutdown(self) -> None:
        """Close the connection as soon as the request under way is answered."""
        if self._phase in (Phase.HEAD, Phase.CLOSING):
            return  # the answer to it closes the connection, or a deadline does
        super().shutdown()

    # -- reading

    def data_received(self, data: bytes) -> None:
        """Parse what the client has sent."""
        if self._is_closing:
            return
        scope, cycle = self.scope, self.cycle
        is_between = scope is self._answered or (
            cycle is not None and cycle.scope is scope and not cycle.more_body
        )
        self._must_count = not is_between or len(data) > self._limits.head_bytes
        answered = self._answered
        super().data_received(data)
        if self._answered is not answered and self._answered is self.scope:
            if self._deadline is not None:
                self._cancel_deadline()
            return
        cycle = self.cycle
        is_whole = cycle is not None and cycle.scope is self.scope and not cycle.more_body
        if is_whole and not cycle.response_complete:
            self._waiting.pop(self, None)
            if self._deadline is not None:
                self._cancel_deadline()
        elif not self._is_closing and not self.transport.is_closing():
            self._wait_for_more(len(data), is_new=scope is not self.scope)

    @property
    def _phase(self) -> Phase:
        if self._is_closing:
            return Phase.CLOSING
        if self.scope is None:
            return Phase.START
        if self.scope is self._answered:
            return Phase.NONE
        if "path" not in self.scope or self.cycle is None:
            return Phase.HEAD
        return Phase.BODY if self.cycle.more_body else Phase.NONE

    def _wait_for_more(self, num_bytes: int, *, is_new: bool) -> None:
        """Wait for the rest of a request, or for the next, until a deadline."""
        phase = self._phase
        if phase is not self._waits_for or is_new:
            self._waits_for = phase
            self._bytes_over_reads = 0
            self._cancel_deadline()
        else:
            self._count_over_reads(num_bytes, phase)
            if self._is_closing or self.transport.is_closing():
                return
        if phase is Phase.BODY and not self._is_answered_early:
            self._close_after_early_answer()
        if self._deadline is None:
            limits, is_body = self._limits, phase is Phase.BODY
            self._set_deadline(limits.body_seconds if is_body else limits.head_seconds)
            self._waiting.setdefault(self, None)

    def on_headers_complete(self) -> None:
        """Begin to answer the request."""
        if self._must_count or has_too_many(self.headers):
            status = why_head_is_refused(self.url, self.headers, self._limits)
            if status is not None:
                self._status = status
                raise Refused
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise Refused
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        super().on_message_complete()
        # Another request may follow in what has been read already.
        if self._is_answered_early and not self.cycle.more_body:
            self._answer_as_usual()

    def _count_over_reads(self, num_bytes: int, phase: Phase) -> None:
        """Count what has come since this part of the request began, as no callback tells of it."""
        self._bytes_over_reads += num_bytes
        status = why_reading_ends(self._bytes_over_reads, phase, self.url, self._limits)
        if status is not None:
            self._refuse(status)

    # -- deadlines

    def _set_deadline(self, seconds: float) -> None:
        self._deadline = self.loop.call_later(seconds, self._too_late)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._phase in (Phase.START, Phase.NONE):
            self.transport.close()  # nothing was asked, so nothing is answered
        elif self.flow.read_paused:
            self._set_deadline(self._limits.head_seconds)  # the client is not to blame
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    # -- answering

    def on_response_complete(self) -> None:
        """Answer the next request, or wait for it, or for the client to read the last answer."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._readers.start()  # a closed connection stays until its last byte is read
        elif self._phase is Phase.NONE and not self.pipeline:
            self._waiting[self] = None
            self._waiting.move_to_end(self)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has waited too long for its next request."""
        super().timeout_keep_alive_handler()
        self._readers.start()

    def pause_writing(self) -> None:
        """Watch a client that does not read as fast as it is answered."""
        super().pause_writing()
        self._readers.start()

    def resume_writing(self) -> None:
        """Write on: the client has read."""
        if self.flow is not None:
            super().resume_writing()
        self._readers.stop()

    def _begin(self) -> None:
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]
        super()._begin()

    # -- refusing

    def drop(self) -> None:
        """End the request under way, as others need the room that it takes.

        A client that is still sending it is told so.
        """
        if self._phase is Phase.BODY and self._running is self.cycle:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the status says it
        """Refuse what the parser, or one of the methods that it calls, did not accept."""
        self._refuse(self._status)

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with a status, where that is still possible, and close the connection."""
        self.drop_held()
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self._phase is not Phase.BODY:
                # Requests before this one are being answered: the last of them closes.
                cycle.keep_alive = False
                self.flow.pause_reading()
                self._is_closing = True
                return
            if cycle.response_started:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(refusal(status, self.server_state.default_headers))
        self.close_gently()

    def _close_after_early_answer(self) -> None:
        """Have an answer that is sent before the request is whole close the connection.

        The rest of the body would have to be read otherwise, however long it is.
        """
        self._is_answered_early = True
        self.cycle.keep_alive = False
        self.cycle.transport = _Closing(self)  # type: ignore[assignment]

    def _answer_as_usual(self) -> None:
        """Keep the connection after all: the request is whole before its answer has begun."""
        self._is_answered_early = False
        cycle = self.cycle
        if not cycle.response_started:
            cycle.transport = self.transport
            cycle.keep_alive = self._keeps_alive()

    def close_gently(self) -> None:
        """Close the connection so that the client can read what was written.

        Were the socket closed while the client sends, it would lose the answer with it.
        """
        if self.transport.is_closing():
            return
        self._is_closing = True
        self._cancel_deadline()
        self._waiting.pop(self, None)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(_LINGER_SECONDS, self._end)

    def _end(self) -> None:
        self._deadline = None
        self.transport.close()
        self._readers.start()


class _Closing:
    """The transport of an answer to a request that is not whole yet: it closes gently."""

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def close(self) -> None:
        self._connection.close_gently()


Waiting = OrderedDict[BoundedConnection, None]
"""The connections that wait for their clients, first the one that has waited longest."""
