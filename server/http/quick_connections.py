"""Connections that answer without a task what the application has ready: uvicorn's, made quicker.

uvicorn makes a task for each request as soon as its head is read, and sets a timer after each
answer. For a small answer from memory, that takes longer than all that the application does.
"""

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.http.answering import AnswerCycle
from server.http.at_once import MAX_AT_ONCE, ReadyAnswer
from server.http.keeping_alive import KeepAlive
from server.http.upgrades import head_without_upgrade

if TYPE_CHECKING:
    from server.http.servers import ServerConfig


class QuickConnection(HttpToolsProtocol):
    """A connection that answers a request at once where it has come whole and that can be.

    Any other request has a task of its own, as with uvicorn.
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
        self._keep_alive = KeepAlive(
            self.loop, config.limits.keep_alive_seconds, self.timeout_keep_alive_handler
        )
        self._held: list[bytes] | None = None
        """What has come of the body of a request that may be answered at once; else None."""

        self._answered: Any = None
        """The scope of the last request that was answered at once."""

        self._num_at_once = 0
        self._running: Any = None
        """The request that is being answered: of several that came together not the last."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell the request under way that its client is gone."""
        self._keep_alive.close()
        running, self._running = self._running, None
        if running is not None and not running.response_complete:
            running.disconnected = True  # uvicorn tells the last request alone
            running.message_event.set()
        super().connection_lost(exc)

    # -- reading

    def data_received(self, data: bytes) -> None:
        """Parse what the client has sent, and answer what is whole."""
        self._num_at_once = 0
        self._keep_alive.stop()
        try:
            self._feed(data)
        except HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("")
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

    def on_headers_complete(self) -> None:
        """Begin to answer the request, or wait for its body."""
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
            if answer is not None:
                self._write_at_once(answer)
                return
            self._begin_held()
        super().on_message_complete()

    def drop_held(self) -> None:
        """Forget a request that is not going to be answered."""
        self._held = None

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

    # -- answering

    def _write_at_once(self, answer: ReadyAnswer) -> None:
        self._held = None
        self._num_at_once += 1
        self._answered, self.cycle = self.scope, None  # type: ignore[assignment]
        keeps_alive = self._keeps_alive()
        headers = self.server_state.default_headers
        self.transport.write(self._server.bytes_of(answer, headers, keeps_alive=keeps_alive))
        if not keeps_alive:
            self.transport.close()
        self.on_response_complete()

    def _begin_held(self) -> None:
        """Have the request answered by a task after all."""
        parts, self._held = self._held, None
        self.expect_100_continue = False  # or it would not have been held: a trailer said so
        self._begin()
        if parts:
            super().on_body(b"".join(parts))

    def _begin(self) -> None:
        """Have the application answer the request, now or after those before it."""
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
            keep_alive=self._keeps_alive(),
            on_response=self.on_response_complete,
        )
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

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
        """Answer the next request, or wait for it."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._keep_alive.begin()

    def _unset_keepalive_if_required(self) -> None:
        """Wait no longer: something has come. uvicorn calls this of its own methods then."""
        self._keep_alive.stop()
