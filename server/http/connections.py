"""Connections whose sizes and times are bounded: uvicorn's protocol with limits, made quicker.

uvicorn bounds neither what a client sends before its request is whole, nor the time that it takes
for it, nor the time that it takes to read an answer. It makes a task for each request as soon as
its head is read, and sets a timer after each answer: for a small answer from memory, that takes
longer than all that the application does.
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

from server.http.cycles import MAX_AT_ONCE, AnswerCycle, Held, ReadyAnswer, Work, refusal
from server.http.limits import (
    DROP,
    MAX_HEADERS,
    Phase,
    Refused,
    why_head_is_refused,
    why_reading_ends,
)

if TYPE_CHECKING:
    from server.http.servers import ServerConfig


class Deadline:
    """Calls ``end`` when a time is over.

    A timer that runs is left to run, and looks when it is due whether the time is over: to set one
    anew for each request would take longer than to find a small answer.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
        self._loop = loop
        self._end = end
        self._timer: asyncio.TimerHandle | None = None
        self._at: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return self._at is not None

    def set(self, seconds: float) -> None:
        """Set the time anew, from now on."""
        self._at = at = self._loop.time() + seconds
        timer = self._timer
        if timer is None or timer.when() > at:
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(at, self._look)

    def cancel(self) -> None:
        """Let it never be over."""
        self._at = None

    def close(self) -> None:
        """Forget the connection: it is gone."""
        self._at = None
        self._end = _nothing  # the two would hold each other in memory otherwise
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer, at = None, self._at
        if at is None:
            return
        if at > self._loop.time():
            self._timer = self._loop.call_at(at, self._look)
        else:
            self._at = None
            self._end()


def _nothing() -> None:
    pass


_MIN_READ_RATE = 4_096
"""How many bytes a second a client reads at least."""

_NUMBER = struct.Struct("i")


class ReaderWatch:
    """Looks every so many ``seconds`` how much of what was written to a client has been read.

    What the system has taken over counts until the client has received it: that can be megabytes,
    and the system takes more only when a good part of them is gone.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._next_look: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch until all has been read; a client that is too slow is dropped."""
        size = self._transport.get_write_buffer_size()
        if size and self._next_look is None:
            size += self._num_sent()
            self._next_look = self._loop.call_later(self._seconds, self._look, size)

    def stop(self) -> None:
        """Watch no longer: the client has read, or is gone."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _look(self, size_before: int) -> None:
        self._next_look = None
        read = size_before - self._transport.get_write_buffer_size() - self._num_sent()
        if read < _MIN_READ_RATE * self._seconds and read < size_before:
            self._transport.abort()
        else:
            self.start()

    def _num_sent(self) -> int:
        """Return how many bytes the system has that the client has not received (tcp(7), SIOCOUTQ).

        0 where the system does not tell.
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
    """Return the head of a request as if it had made no such offer; None where it makes none.

    A server may ignore the offer (RFC 9110, 7.8), and must read the body then, if there is one. The
    parser takes what follows the head for the other protocol, so it has to be given another head.
    """
    kept = [(name, value) for name, value in headers if name != _UPGRADE]
    if len(kept) == len(headers):
        return None
    lines = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    lines += [b"%b: %b" % header for header in kept]
    return b"\r\n".join([*lines, b"\r\n"])


_MAX_PIPELINED = 32
"""How many requests of one connection may wait for the answer to an earlier one."""

_LINGER_SECONDS = 2.0
"""How long what a client still sends is thrown away, so that it can read why."""


class BoundedConnection(HttpToolsProtocol):
    """A connection that keeps within the limits of its server's configuration.

    A request that goes over one of them is answered with its status (408, 413, 414, 431), and the
    connection is closed. A process that holds all the connections that it may closes the one that
    has waited for its client longest, to make room for a new one.

    A request that has come whole is answered at once where that can be. Any other one has a task of
    its own, as with uvicorn.
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
        self._deadline = Deadline(self.loop, self._too_late)
        self._held: list[bytes] | None = None
        """What has come of the body of a request that may be answered at once; else None."""

        self._answered: Any = None
        """The scope of the last request that was answered at once."""

        self._num_at_once = 0
        self._running: Any = None
        """The request that is being answered: of several that came together not the last."""

        self._unsent: Held | None = None
        """What the last answer holds until its client has read nearly all of it."""

        self._is_closing = False
        self._must_count = False
        self._waits_for: Phase | None = None
        """The part of a request that the deadline is for; None for the next request as a whole."""

        self._status = HTTPStatus.BAD_REQUEST
        self._bytes_over_reads = 0
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
            self.connections.discard(oldest)
            oldest.transport.abort()
        self._waiting[self] = None
        self._deadline.set(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell the request under way that its client is gone."""
        self._deadline.close()
        self._extensions.clear()  # scopes would hold the connection in memory otherwise
        self.resume_writing()
        self._waiting.pop(self, None)
        running, self._running = self._running, None
        if running is not None and not running.response_complete:
            running.disconnected = True  # uvicorn tells the last request alone
            running.message_event.set()
        super().connection_lost(exc)

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
        self._parse(data)
        if self._answered is not answered and self._answered is self.scope:
            return
        cycle = self.cycle
        is_whole = cycle is not None and cycle.scope is self.scope and not cycle.more_body
        if is_whole and not cycle.response_complete:
            self._waiting.pop(self, None)
            self._deadline.cancel()
        elif not self._is_closing and not self.transport.is_closing():
            self._wait_for_more(len(data), is_new=scope is not self.scope)

    def _parse(self, data: bytes) -> None:
        """Parse what the client has sent, and answer at once what is whole."""
        self._num_at_once = 0
        try:
            self._feed(data)
        except HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(self._status)
            return
        if self._held is not None:
            self._begin_held()

    def _feed(self, data: bytes) -> None:
        """Have data parsed; raises HttpParserError for what is not HTTP/1.1.

        uvicorn parses what follows an offer to upgrade as if it were another request, even where it
        is the body.
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
            self._deadline.cancel()
        else:
            self._bytes_over_reads += num_bytes  # no callback tells of them
            status = why_reading_ends(self._bytes_over_reads, phase, self.url, self._limits)
            if status is not None:
                self._refuse(status)
                if self._is_closing or self.transport.is_closing():
                    return
        if not self._deadline.is_set:
            limits, is_body = self._limits, phase is Phase.BODY
            self._deadline.set(limits.body_seconds if is_body else limits.head_seconds)
            self._waiting.setdefault(self, None)

    def on_headers_complete(self) -> None:
        """Begin to answer the request, or wait for its body."""
        if self._must_count or len(self.headers) > MAX_HEADERS:
            status = why_head_is_refused(self.url, self.headers, self._limits)
            if status is not None:
                self._status = status
                raise Refused
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise Refused
        if self.parser.should_upgrade():
            return  # the same head follows without that
        self._complete_scope()
        # Trailers must not pass for headers (RFC 9110, 6.5.1): a client could add what only a proxy
        # may say, or what decides how a body is read. uvicorn puts them into this list.
        self.headers = []
        if self._can_be_held():
            self._held = []
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """Answer the request at once where that can be; it is whole now."""
        if self.parser.should_upgrade():
            return
        if self._held is not None:
            answer = self._server.answer_at_once(self.scope, b"".join(self._held))
            if answer is not None and not isinstance(answer, ReadyAnswer):
                if not self._server.turns.take():
                    self._wait_for_turn(answer)
                    return
                answer = self._server.answer_of(answer)
            if answer is not None:
                self._held = None
                self._num_at_once += 1
                self._answered, self.cycle = self.scope, None  # type: ignore[assignment]
                self._write(answer, keeps_alive=self._keeps_alive())
                return
            self._begin_held()
        super().on_message_complete()

    def _complete_scope(self) -> None:
        """Write into the scope what the head says, as ASGI has it."""
        scope, parser = self.scope, self.parser
        scope["http_version"] = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        address = parse_url(self.url)
        path = address.path.decode("ascii")
        scope["raw_path"] = address.path
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = address.query or b""
        scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def _can_be_held(self) -> bool:
        """Tell whether the request may wait for its body, to be answered at once then."""
        earlier = self.cycle
        return (
            self._server.at_once is not None
            and self._num_at_once < MAX_AT_ONCE
            and (earlier is None or earlier.response_complete)
            and not self.expect_100_continue
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _too_late(self) -> None:
        """End a connection whose client took too long for what is awaited of it."""
        if self.transport.is_closing():
            return
        if self._phase in (Phase.START, Phase.NONE, Phase.CLOSING):
            self.transport.close()  # nothing was asked, so nothing is answered
            self._readers.start()
        elif self.flow.read_paused:
            self._deadline.set(self._limits.head_seconds)  # the client is not to blame
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    # -- answering

    def _write(self, answer: ReadyAnswer, *, keeps_alive: bool) -> None:
        """Write an answer; what its client does not read at once waits in the transport."""
        headers = self.server_state.default_headers
        if answer.held is not None:
            self._unsent = answer.held  # first: whatever ends the connection leaves it
        for part in self._server.bytes_of(answer, headers, keeps_alive=keeps_alive):
            self.transport.write(part)
        if answer.held is not None and not self.flow.write_paused:
            self._leave_unsent()
        if not keeps_alive:
            self.transport.close()
        self.on_response_complete()

    def _leave_unsent(self) -> None:
        unsent, self._unsent = self._unsent, None
        if unsent is not None:
            unsent.leave()

    def _wait_for_turn(self, work: Work) -> None:
        """Answer a whole request in its turn; those that follow wait behind it."""
        self._running = cycle = self._begin_held(is_waiting=True)
        super().on_message_complete()

        def answer_in_turn() -> None:
            # Whose client is gone is not answered; the application notes it.
            cycle.disconnected = cycle.disconnected or self.transport.is_closing()
            answer = None if cycle.disconnected else self._server.answer_of(work)
            if answer is None:
                self._start_asgi_task(cycle, self.app)
            else:
                cycle.response_started = cycle.response_complete = True
                keeps_alive = cycle.keep_alive and not self._server.is_draining
                self._write(answer, keeps_alive=keeps_alive)

        self._server.turns.wait(answer_in_turn)

    def _begin_held(self, *, is_waiting: bool = False) -> AnswerCycle:
        """Have the request answered by a task after all; return its cycle, which may wait."""
        parts, self._held = self._held, None
        self.expect_100_continue = False  # or it would not have been held: a trailer said so
        cycle = self._begin(is_waiting=is_waiting)
        if parts:
            super().on_body(b"".join(parts))
        return cycle

    def _begin(self, *, is_waiting: bool = False) -> AnswerCycle:
        """Have the application answer the request, now or after those before it.

        Of one that ``is_waiting`` only the cycle is made.
        """
        earlier = self.cycle
        # uvicorn has no way to say which class makes it.
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
        if is_waiting:
            return cycle
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))
        return cycle

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
        """Answer the next request, or wait for it, or for the client to read the last answer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._readers.start()  # a closed connection stays until its last byte is read
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        if self._phase is Phase.NONE:
            self._waits_for = None
            self._deadline.set(self._limits.keep_alive_seconds)
            if self._unsent is None:
                self._waiting[self] = None
                self._waiting.move_to_end(self)

    def pause_writing(self) -> None:
        """Watch a client that does not read as fast as it is answered."""
        super().pause_writing()
        self._readers.start()

    def resume_writing(self) -> None:
        """Write on: the client has read."""
        if self.flow is not None:
            super().resume_writing()
        self._readers.stop()
        if self._unsent is not None:
            self._leave_unsent()
            if self._phase is Phase.NONE and not self.transport.is_closing():
                self._waiting.setdefault(self, None)

    # -- refusing

    def drop(self) -> None:
        """End the request under way, as others need the room that it takes.

        A client that is still sending it is told so.
        """
        if self._phase is Phase.BODY and self._running is self.cycle:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with a status, where that is still possible, and close the connection."""
        self._held = None
        cycle, running = self.cycle, self._running
        if cycle is not None and not cycle.response_complete:
            is_behind = (
                running is not None and running is not cycle and not running.response_complete
            )
            if self._phase is not Phase.BODY or is_behind:
                # Requests before this one are being answered: the last of them closes.
                if self._phase is Phase.BODY:
                    self.pipeline.popleft()  # the newest, which is never begun
                    self.cycle = cycle = self.pipeline[0][0] if self.pipeline else running
                cycle.keep_alive = False
                self.flow.pause_reading()
                self._deadline.cancel()
                self._is_closing = True
                return
            if cycle.response_started:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        headers = self.server_state.default_headers
        self.transport.write(self._server.bytes_of(refusal(status), headers, keeps_alive=False)[0])
        self.close_gently()

    def close_gently(self) -> None:
        """Close the connection so that the client can read what was written.

        Were the socket closed while the client sends, it would lose the answer with it.
        """
        if self.transport.is_closing():
            return
        self._is_closing = True
        self._waiting.pop(self, None)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline.set(_LINGER_SECONDS)


Waiting = OrderedDict[BoundedConnection, None]
"""The connections that wait for their clients, first the one that has waited longest."""
