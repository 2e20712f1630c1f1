"""Connections: slow or idle clients."""

import contextlib
import socket
import time
from collections.abc import Callable

from tests.hostile.attack import HOST, PATIENCE, Answer, Attack, Target, raw


def held(
    count: int, opening: Callable[[Target], bytes], drip: bytes
) -> Callable[[Target], list[Answer]]:
    """Return a run that holds connections open for up to 0.8 s, and sends a few bytes on each."""

    def run(target: Target) -> list[Answer]:
        with contextlib.ExitStack() as held:
            opened = []
            for _ in range(count):
                with contextlib.suppress(OSError):
                    connection = socket.create_connection((HOST, target.port), PATIENCE)
                    opened.append(held.enter_context(connection))
                    connection.sendall(opening(target))
            for _ in range(2):
                time.sleep(min(0.4, target.longest / 2))
                for connection in opened:
                    with contextlib.suppress(OSError):
                        connection.sendall(drip)
        return []

    return run


def _half_head(target: Target) -> bytes:
    return raw(target, "GET /graphql", "X-Slow: ").removesuffix(b"\r\n\r\n")


ATTACKS = (
    Attack("sockets: slow headers", "500 connections", held(500, _half_head, b"x")),
    Attack("sockets: idle", "800 connections", held(800, lambda _target: b"", b"")),
)
