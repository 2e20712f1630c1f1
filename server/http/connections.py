"""Connections whose sizes and times are bounded: uvicorn's protocol with limits.

uvicorn bounds neither what a client sends before its request is whole, nor the time that it takes
for it, nor the time that it takes to read an answer.
"""

import asyncio
from collections import OrderedDict
from enum import Enum, auto
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from httptools import parse_url
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from server.http.answering import AnswerCycle

if TYPE_CHECKING:
    from server.http.servers import ServerConfig

_MAX_HEADERS = 100
_MAX_PIPELINED = 32
"""How many requests of one connection may wait for the answer to an earlier one."""

_BODY_OVERHEAD = 8
"""How many bytes may be sent for each byte of a body: chunks have sizes, and trailers follow."""

_LINGER_SECONDS = 2.0
"""How long what a client still sends is thrown away, so that it can read why."""

_MIN_READ_RATE = 4_096
"""How many bytes a second a client reads at least."""

_RETRY_SECONDS = 1

_HEADERS = (
    b"content-type: text/plain; charset=utf-8\r\n"
    b"x-content-type-options: nosniff\r\n"
    b"connection: close\r\n"
)


class _Phase(Enum):
    """Which part of a request a connection waits for."""

    START = auto()
    HEAD = auto()
    BODY = auto()
    NONE = auto()
    """The last request was read to its end."""

    CLOSING = auto()
    """What the client still sends does not matter."""


class _Refused(Exception):
    """A request is not read further."""


class BoundedConnection(HttpToolsProtocol):
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
        self._server = config
        self._limits = config.limits
        self._waiting = config.waiting
        self.timeout_keep_alive = config.limits.keep_alive_seconds  # type: ignore[assignment]
        self._is_closing = False
        self._must_count = False
        self._waits_for: _Phase | None = None
        self._status = HTTPStatus.BAD_REQUEST
        self._deadline: asyncio.TimerHandle | None = None
        self._slow: asyncio.TimerHandle | None = None
        self._bytes_over_reads = 0
        self._is_answered_early = False

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection, in place of an old one where there are enough."""
        super().connection_made(transport)
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
        self.resume_writing()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def make_room(self) -> None:
        """Close a connection that waits for its client, now."""
        self.connections.discard(self)
        self.transport.abort()

    def shutdown(self) -> None:
        """Close the connection as soon as the request under way is answered."""
        if self._phase in (_Phase.HEAD, _Phase.CLOSING):
            return  # the answer to it closes the connection, or a deadline does
        super().shutdown()

    # -- reading

    def data_received(self, data: bytes) -> None:
        """Parse what the client has sent."""
        if self._is_closing:
            return
        scope, cycle = self.scope, self.cycle
        is_between = cycle is None or (cycle.scope is scope and not cycle.more_body)
        self._must_count = not is_between or len(data) > self._limits.head_bytes
        super().data_received(data)
        cycle = self.cycle
        is_whole = cycle is not None and cycle.scope is self.scope and not cycle.more_body
        if is_whole and self._is_answered_early:
            self._answer_as_usual()
        if is_whole and not cycle.response_complete:
            self._waiting.pop(self, None)
            if self._deadline is not None:
                self._cancel_deadline()
        elif not self._is_closing and not self.transport.is_closing():
            self._wait_for_more(len(data), is_new=scope is not self.scope)

    @property
    def _phase(self) -> _Phase:
        if self._is_closing:
            return _Phase.CLOSING
        if self.scope is None:
            return _Phase.START
        if "path" not in self.scope:
            return _Phase.HEAD
        return _Phase.BODY if self.cycle.more_body else _Phase.NONE

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
        if phase is _Phase.BODY and not self._is_answered_early:
            self._close_after_early_answer()
        if self._deadline is None:
            limits, is_body = self._limits, phase is _Phase.BODY
            self._set_deadline(limits.body_seconds if is_body else limits.head_seconds)
            self._waiting.setdefault(self, None)

    def on_headers_complete(self) -> None:
        """Begin to answer the request."""
        if self._must_count or len(self.headers) > _MAX_HEADERS:
            self._check_head()
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused
        version = self._complete_scope()
        earlier = self.cycle
        # uvicorn has no way to say which class makes it.
        self.cycle = AnswerCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0"
            and self.parser.should_keep_alive()
            and not self._server.is_draining,
            on_response=self.on_response_complete,
        )
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _complete_scope(self) -> str:
        """Write into the scope what the head says, as ASGI has it; return HTTP's version."""
        scope, parser = self.scope, self.parser
        version: str = parser.get_http_version()
        scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        address = parse_url(self.url)
        path = address.path.decode("ascii")
        scope["raw_path"] = address.path
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = address.query or b""
        return version

    def _check_head(self) -> None:
        """Raise _Refused for a head that is too large; a short one that came at once is not."""
        num_bytes = len(self.url)
        self._status = HTTPStatus.REQUEST_URI_TOO_LONG
        if num_bytes > self._limits.head_bytes:
            raise _Refused
        self._status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        num_bytes += sum(len(name) + len(value) + 4 for name, value in self.headers)
        if num_bytes > self._limits.head_bytes or len(self.headers) > _MAX_HEADERS:
            raise _Refused
        self._status = HTTPStatus.BAD_REQUEST

    def _count_over_reads(self, num_bytes: int, phase: _Phase) -> None:
        """Count what has come since this part of the request began, as no callback tells of it."""
        self._bytes_over_reads += num_bytes
        if phase is _Phase.BODY:
            allowed = _BODY_OVERHEAD * self._limits.body_bytes + self._limits.head_bytes
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        else:
            allowed = self._limits.head_bytes
            is_address = phase is _Phase.HEAD and len(self.url) > allowed // 2
            status = (
                HTTPStatus.REQUEST_URI_TOO_LONG
                if is_address
                else HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            )
        if self._bytes_over_reads > allowed:
            self._refuse(status)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the request is answered over HTTP/1.1, as the client must expect."""

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
        if self._phase in (_Phase.START, _Phase.NONE):
            self.transport.close()  # nothing was asked, so nothing is answered
        elif self.flow.read_paused:
            self._set_deadline(self._limits.head_seconds)  # the client is not to blame
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    # -- answering

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the client to read the last answer."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()  # a closed connection stays until its last byte is read
        elif self._phase is _Phase.NONE and not self.pipeline:
            self._waiting[self] = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has waited too long for its next request."""
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def pause_writing(self) -> None:
        """Watch a client that does not read as fast as it is answered."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Write on: the client has read."""
        if self.flow is not None:
            super().resume_writing()
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _watch_reader(self) -> None:
        size = self.transport.get_write_buffer_size()
        if size and self._slow is None:
            self._slow = self.loop.call_later(
                self._limits.send_seconds, self._drop_slow_reader, size
            )

    def _drop_slow_reader(self, size_before: int) -> None:
        self._slow = None
        read = size_before - self.transport.get_write_buffer_size()
        if read < _MIN_READ_RATE * self._limits.send_seconds and read < size_before:
            self.transport.abort()
        else:
            self._watch_reader()

    # -- refusing

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the status says it
        """Refuse what the parser, or one of the methods that it calls, did not accept."""
        self._refuse(self._status)

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with a status, where that is still possible, and close the connection."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self._phase is not _Phase.BODY:
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
        self.transport.write(_refusal(status, self.server_state.default_headers))
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
            cycle.keep_alive = self.parser.should_keep_alive() and not self._server.is_draining

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
        self._watch_reader()


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


def _refusal(status: HTTPStatus, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of an answer that says no more than its status."""
    text = status.phrase.encode()
    retry = b"retry-after: %d\r\n" % _RETRY_SECONDS if status.value == 503 else b""
    return b"".join(
        [
            STATUS_LINE[status.value],
            *(b"%b: %b\r\n" % header for header in default_headers),
            _HEADERS,
            retry,
            b"content-length: %d\r\n\r\n" % len(text),
            text,
        ]
    )
