"""Connections with limits on sizes and times, based on uvicorn's protocol, and faster.

uvicorn does not limit the size of a request while it is received, nor the time in which a client
sends a request or reads a response. It creates a task for each request as soon as its head is read:
for a small response from memory, that takes longer than the application itself.
"""

import asyncio
import fcntl
import struct
import termios
from collections import OrderedDict
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.http import limits
from server.http.cycles import MAX_AT_ONCE, AnswerCycle, ReadyAnswer, answer_bytes, refusal

if TYPE_CHECKING:
    from server.http.servers import ServerConfig


_MIN_READ_RATE = 4_096
"""Minimum rate at which a client has to read, in bytes per second."""

_NUMBER = struct.Struct("i")


class ReaderWatch:
    """Checks every ``seconds`` how much of the data written to a client has been received.

    Data in the system's send buffer counts as unread until the client has received it: the buffer
    can have megabytes, and accepts more only when a large part of them has been sent.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._next_check: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch until all data is read; close the connection of a client that is too slow."""
        size = self._transport.get_write_buffer_size()
        if size and self._next_check is None:
            size += self._num_sent()
            self._next_check = self._loop.call_later(self._seconds, self._check, size)

    def stop(self) -> None:
        """Stop watching."""
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None

    def _check(self, size_before: int) -> None:
        self._next_check = None
        read = size_before - self._transport.get_write_buffer_size() - self._num_sent()
        if read < _MIN_READ_RATE * self._seconds and read < size_before:
            self._transport.abort()
        else:
            self.start()

    def _num_sent(self) -> int:
        """Return the number of unacknowledged bytes in the send buffer (tcp(7), SIOCOUTQ).

        Returns 0 if the system does not support it.
        """
        try:
            packed = fcntl.ioctl(
                self._transport.get_extra_info("socket").fileno(),
                termios.TIOCOUTQ,  # the same number
                bytes(_NUMBER.size),
            )
        except OSError:
            return 0
        size: int = _NUMBER.unpack(packed)[0]
        return size


_UPGRADE = b"upgrade"


def head_without_upgrade(
    method: bytes, url: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]
) -> bytes | None:
    """Return the head of a request without its Upgrade header; None if it has none.

    A server may ignore the header (RFC 9110, 7.8), and must then read the body, if there is one.
    The parser takes the bytes after the head for the other protocol, so it needs a head without it.
    """
    others = [(name, value) for name, value in headers if name != _UPGRADE]
    if len(others) == len(headers):
        return None
    lines = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    lines += [b"%b: %b" % header for header in others]
    return b"\r\n".join([*lines, b"\r\n"])


_MAX_PIPELINED = 32
"""Maximum number of requests of one connection that wait for the response to an earlier one."""

_LINGER_SECONDS = 2.0
"""Seconds in which data from a refused client is discarded, so that it can read the response."""


class BoundedConnection(HttpToolsProtocol):
    """A connection that enforces the limits of its server's configuration.

    A request that exceeds a limit is answered with its status (408, 413, 414, 431), and the
    connection is closed. A process with the maximum number of connections closes the one that has
    waited for its client longest, to accept a new one.

    A request that has been received completely is answered without a task if possible. All others
    have their own tasks, as with uvicorn.
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
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._held: list[bytes] | None = None
        """The body received so far of a request that may be answered without a task; else None."""

        self._answered: Any = None
        """The scope of the last request that was answered without a task."""

        self._num_at_once = 0
        self._running: Any = None
        """The cycle that is being answered: of pipelined requests, not necessarily the last."""

        self._release_unsent: Callable[[], None] | None = None
        """Releases the last response, once its client has read nearly all of it."""

        self._is_closing = False
        self._must_count = False
        self._waits_for: limits.Phase | None = None
        """The part of a request that the deadline applies to; None for the entire next request."""

        self._status = HTTPStatus.BAD_REQUEST
        self._bytes_over_reads = 0
        self._extensions = {limits.DROP: self.drop}

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a new connection; close an old one if the maximum number is exceeded."""
        super().connection_made(transport)
        self._readers = ReaderWatch(transport, self.loop, self._limits.send_timeout)
        if len(self.connections) > self._limits.max_connections:
            if not self._waiting:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
                return
            oldest, _ = self._waiting.popitem(last=False)
            self.connections.discard(oldest)
            oldest.transport.abort()
        self._waiting[self] = None
        self._set_deadline(self._limits.head_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection, and notify the current request of the disconnection."""
        if self._timer is not None:
            self._timer.cancel()
        self._extensions.clear()  # scopes would keep the connection in memory otherwise
        self.resume_writing()
        self._waiting.pop(self, None)
        running, self._running = self._running, None
        if running is not None and not running.response_complete:
            running.disconnected = True  # uvicorn notifies only the last request
            running.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection as soon as the current request is answered."""
        if self._phase in (limits.Phase.HEAD, limits.Phase.CLOSING):
            return  # its response closes the connection, or a deadline does
        super().shutdown()

    # -- reading

    def data_received(self, data: bytes) -> None:
        """Parse data from the client, and set or remove the deadline for more."""
        if self._is_closing:
            return
        scope, cycle = self.scope, self.cycle
        is_between = scope is self._answered or (
            cycle is not None and cycle.scope is scope and not cycle.more_body
        )
        self._must_count = not is_between or len(data) > self._limits.max_headers
        answered = self._answered
        self._parse(data)
        if self._answered is not answered and self._answered is self.scope:
            return
        cycle = self.cycle
        is_whole = cycle is not None and cycle.scope is self.scope and not cycle.more_body
        if is_whole and not cycle.response_complete:
            self._waiting.pop(self, None)
            self._deadline = None
        elif not self._is_closing and not self.transport.is_closing():
            self._wait_for_more(len(data), is_new=scope is not self.scope)

    def _parse(self, data: bytes) -> None:
        """Parse data from the client, and answer complete requests that need no task."""
        self._num_at_once = 0
        try:
            self._feed(data)
        except HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(self._status)
            return
        if self._held is not None:
            self._start_task()

    def _feed(self, data: bytes) -> None:
        """Feed data to the parser; raise HttpParserError if it is not HTTP/1.1.

        After a request with an Upgrade header, uvicorn parses the following bytes as another
        request, even if they are the body.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except HttpParserUpgrade as offered:
                method, version = self.parser.get_method(), self.parser.get_http_version()
                head = head_without_upgrade(method, self.url, version, self.headers)
                if head is None:  # CONNECT
                    raise HttpParserError from None
                self.parser = HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                data = head + data[offered.args[0] :]
            else:
                return

    @property
    def _phase(self) -> limits.Phase:
        if self._is_closing:
            return limits.Phase.CLOSING
        if self.scope is None:
            return limits.Phase.START
        if self.scope is self._answered:
            return limits.Phase.NONE
        if "path" not in self.scope or self.cycle is None:
            return limits.Phase.HEAD
        return limits.Phase.BODY if self.cycle.more_body else limits.Phase.NONE

    def _wait_for_more(self, num_bytes: int, *, is_new: bool) -> None:
        """Set the deadline for the rest of a request, or for the next one."""
        phase = self._phase
        if phase is not self._waits_for or is_new:
            self._waits_for = phase
            self._bytes_over_reads = 0
            self._deadline = None
        else:
            self._bytes_over_reads += num_bytes  # no callback reports them
            status = limits.why_reading_ends(self._bytes_over_reads, phase, self.url, self._limits)
            if status is not None:
                self._refuse(status)
                if self._is_closing or self.transport.is_closing():
                    return
        if self._deadline is None:
            own, is_body = self._limits, phase is limits.Phase.BODY
            self._set_deadline(own.body_timeout if is_body else own.head_timeout)
            self._waiting.setdefault(self, None)

    def on_headers_complete(self) -> None:
        """Begin to answer the request, or wait for its body."""
        if self._must_count or len(self.headers) > limits.MAX_HEADERS:
            status = limits.why_head_is_refused(self.url, self.headers, self._limits)
            if status is not None:
                self._status = status
                raise limits.Refused
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise limits.Refused
        if self.parser.should_upgrade():
            return  # the same head is parsed again without Upgrade
        self._complete_scope()
        # Trailers must not be taken for headers (RFC 9110, 6.5.1): a client could add headers that
        # only a proxy may set, or that determine how a body is read. uvicorn appends them to this
        # list.
        self.headers = []
        if self._may_skip_task():
            self._held = []
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """Answer a request that is now complete, without a task if possible."""
        if self.parser.should_upgrade():
            return
        if self._held is not None:
            answer = self._server.answer_at_once(self.scope, b"".join(self._held))
            if answer is not None:
                self._held = None
                self._num_at_once += 1
                self._answered, self.cycle = self.scope, None  # type: ignore[assignment]
                self._write(answer, keeps_alive=self._keeps_alive())
                return
            self._start_task()
        super().on_message_complete()

    def _complete_scope(self) -> None:
        """Set the items of the ASGI scope that depend on the head."""
        scope, parser = self.scope, self.parser
        scope["http_version"] = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        address = parse_url(self.url)
        path = address.path.decode("ascii")
        scope["raw_path"] = address.path
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = address.query or b""
        scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def _may_skip_task(self) -> bool:
        """Return whether the request may be answered without a task once its body is complete."""
        earlier = self.cycle
        return (
            self._server.at_once is not None
            and self._num_at_once < MAX_AT_ONCE
            and (earlier is None or earlier.response_complete)
            and not self.expect_100_continue
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _set_deadline(self, seconds: float) -> None:
        """Set the deadline of the client in place of the previous one, in seconds from now."""
        self._deadline = deadline = self.loop.time() + seconds
        # A timer for each request would take longer than looking up a small response.
        if self._timer is None or self._timer.when() > deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_at(deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        """End the connection if its client has exceeded the deadline, which may have moved."""
        self._timer, deadline = None, self._deadline
        if deadline is None or self.transport.is_closing():
            return
        if deadline > self.loop.time():
            self._timer = self.loop.call_at(deadline, self._check_deadline)
            return
        self._deadline = None
        if self._phase in (limits.Phase.START, limits.Phase.NONE, limits.Phase.CLOSING):
            self.transport.close()  # there is no request to respond to
            self._readers.start()
        elif self.flow.read_paused:
            self._set_deadline(self._limits.head_timeout)  # the server itself has paused reading
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    # -- answering

    def _write(self, answer: ReadyAnswer, *, keeps_alive: bool) -> None:
        """Write a response; data that the client does not read yet is buffered by the transport."""
        self._release_unsent = answer.release  # first: writing may end the connection
        lines = self._server.default_lines
        for part in answer_bytes(answer, lines, keeps_alive=keeps_alive):
            self.transport.write(part)
        if not self.flow.write_paused:
            self._leave_unsent()
        if not keeps_alive:
            self.transport.close()
        self.on_response_complete()

    def _leave_unsent(self) -> None:
        release, self._release_unsent = self._release_unsent, None
        if release is not None:
            release()

    def _start_task(self) -> None:
        """Start a task for a request that was to be answered without."""
        parts, self._held = self._held, None
        self.expect_100_continue = False  # it can only be one of a trailer
        self._begin()
        if parts:
            super().on_body(b"".join(parts))

    def _begin(self) -> None:
        """Start the application's task for the request, or queue it after earlier requests."""
        earlier = self.cycle
        # uvicorn has no option for the class of the cycle.
        self.cycle = cycle = AnswerCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=self._keeps_alive(),
            on_response=self.on_response_complete,
        )
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _keeps_alive(self) -> bool:
        return (
            self.scope["http_version"] != "1.0"
            and bool(self.parser.should_keep_alive())
            and not self._server.is_draining
        )

    def on_response_complete(self) -> None:
        """Answer the next request, or wait for it, or until the client has read the response."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._readers.start()  # a closing connection stays open until its last byte is read
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        if self._phase is limits.Phase.NONE:
            self._waits_for = None
            self._set_deadline(self._limits.keep_alive)
            if self._release_unsent is None:
                self._waiting[self] = None
                self._waiting.move_to_end(self)

    def pause_writing(self) -> None:
        """Watch a client that reads more slowly than responses are written."""
        super().pause_writing()
        self._readers.start()

    def resume_writing(self) -> None:
        """Resume writing after the client has read; release the reservation."""
        if self.flow is not None:
            super().resume_writing()
        self._readers.stop()
        if self._release_unsent is not None:
            self._leave_unsent()
            if self._phase is limits.Phase.NONE and not self.transport.is_closing():
                self._waiting.setdefault(self, None)

    # -- refusing

    def drop(self) -> None:
        """End the current request to free its memory for others.

        A client that is still sending the request gets status 503.
        """
        if self._phase is limits.Phase.BODY and self._running is self.cycle:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        """Respond with a status if that is still possible, and close the connection."""
        self._held = None
        cycle, running = self.cycle, self._running
        if cycle is not None and not cycle.response_complete:
            is_behind = (
                running is not None and running is not cycle and not running.response_complete
            )
            if self._phase is not limits.Phase.BODY or is_behind:
                # Earlier requests are being answered: the last of them closes the connection.
                if self._phase is limits.Phase.BODY:
                    self.pipeline.popleft()  # the newest, which will not be started
                    self.cycle = cycle = self.pipeline[0][0] if self.pipeline else running
                cycle.keep_alive = False
                self.flow.pause_reading()
                self._deadline = None
                self._is_closing = True
                return
            if cycle.response_started:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        lines = self._server.default_lines
        self.transport.write(b"".join(answer_bytes(refusal(status), lines, keeps_alive=False)))
        self.close_gently()

    def close_gently(self) -> None:
        """Close the connection so that the client can read the response.

        If the socket were closed while the client sends, the client would lose the response, too.
        """
        if self.transport.is_closing():
            return
        self._is_closing = True
        self._waiting.pop(self, None)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._set_deadline(_LINGER_SECONDS)


Waiting = OrderedDict[BoundedConnection, None]
"""The connections that wait for their clients, in the order of waiting, the longest first."""
