"""One process that serves: uvicorn, with bounded connections, and an end that cuts nobody off."""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from server.http.at_once import AnswerBytes, AnswersAtOnce, ReadyAnswer
from server.http.connections import BoundedConnection, Waiting
from server.http.draining import refuse_newcomers
from server.http.heartbeats import Heartbeat
from server.http.limits import ConnectionLimits

_log = logging.getLogger("cachelog.server")

GRACE_SECONDS = 10
"""How long requests under way may take after a server is asked to stop."""

_DRAIN_SECONDS = 0.5
"""How long a server that stops takes requests of those who have just connected.

Who uses a kept connection is told in this time, with an answer, that it will be closed.
"""


class ServerConfig(uvicorn.Config):
    """How an application is served, and what the connections of one process share.

    ``factory`` makes the application; it may be named as MODULE:FUNCTION. ``owns_socket`` says that
    no other process accepts from the socket. A ``heartbeat`` tells another one that this one runs.
    """

    def __init__(
        self,
        factory: str | Callable[[], ASGIApp],
        limits: ConnectionLimits,
        *,
        owns_socket: bool,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        super().__init__(
            factory,
            factory=True,
            http=BoundedConnection,
            ws="none",
            access_log=False,
            log_config=None,  # the application says how the log looks
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # the application knows which proxies it trusts
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self.limits = limits
        self.owns_socket = owns_socket
        self.heartbeat = heartbeat
        self.waiting: Waiting = Waiting()
        self.is_draining = False
        self.at_once: AnswersAtOnce | None = None
        """What answers some requests at once: the application's attribute of that name, if any."""

        self.drain: Callable[[], None] | None = None
        """Ends the answers that have no end of their own: the application's attribute, if any."""

        self.bytes_of = AnswerBytes().of

    def load(self) -> None:
        """Make the application."""
        super().load()
        self.at_once = getattr(self.loaded_app, "at_once", None)
        self.drain = getattr(self.loaded_app, "drain", None)

    def answer_at_once(self, scope: Any, body: bytes) -> ReadyAnswer | None:
        """Return the answer to a request where the application has it ready."""
        try:
            return self.at_once(scope, body) if self.at_once else None
        except Exception:  # noqa: BLE001 - in the midst of parsing it would pass for a bad request
            _log.exception("an answer could not be looked up")
            return None  # asked by way of ASGI, the application answers the error as any other


class DrainingServer(uvicorn.Server):
    """A server that answers all that was asked before it was told to stop."""

    config: ServerConfig

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal ends this process."""
        heartbeat = self.config.heartbeat
        async with heartbeat.beating() if heartbeat else nullcontext():
            await super().serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: take no new connections, answer all requests, then close."""
        self.config.is_draining = True
        if self.config.drain is not None:
            self.config.drain()
        if self.config.owns_socket:
            for listening in sockets or []:
                refuse_newcomers(listening)
        await asyncio.sleep(_DRAIN_SECONDS)
        await super().shutdown(sockets)
        # Those that linger after a refusal have what they were told: a loop ends without them.
        for connection in [*self.server_state.connections]:
            connection.transport.abort()
        await asyncio.sleep(0)


def run_server(config: ServerConfig, listening: socket.socket) -> bool:
    """Serve until a signal ends it; return whether it could start. Why not is logged."""
    server = DrainingServer(config)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return True
    except SystemExit:
        return False  # with a code of uvicorn's own
    return server.started
