"""Connections: slow or idle clients, and invalid framing."""

import contextlib
import socket
import time
from collections.abc import Callable

import orjson

from tests.hostile.attack import (
    HOST,
    JSON,
    PATIENCE,
    Answer,
    Attack,
    Target,
    raw,
)

_BODY = orjson.dumps({"query": "{ tags { name } }"})


def _post(target: Target, *headers: str, length: int | None = len(_BODY)) -> bytes:
    lengths = () if length is None else (f"Content-Length: {length}",)
    return raw(target, "POST /graphql", JSON, *lengths, *headers)


def _exchange(target: Target, sent: bytes) -> Answer:
    """Send bytes and read the response, until one side closes the connection."""
    started, status, received = time.perf_counter(), None, 0
    try:
        with socket.create_connection((HOST, target.port), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                if status is None and part.startswith(b"HTTP/"):
                    status = int(part.split(maxsplit=2)[1])
                received += len(part)
    except TimeoutError:
        return Answer(status, time.perf_counter() - started, received, in_time=False)
    except OSError:
        pass  # the server closed the connection, which is a valid answer
    seconds = time.perf_counter() - started
    return Answer(status, seconds, received, is_internal_error=status == 500)


def _framing(target: Target) -> list[Answer]:
    """Break the rules of RFC 9112 one by one; the rest must not be handled as a request."""
    chunked = "Transfer-Encoding: chunked"
    smuggled = b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    broken = (
        _post(target, chunked) + smuggled,
        _post(target, "Content-Length: 1") + _BODY,
        _post(target, chunked, "Transfer-Encoding: identity", length=None) + smuggled,
        _post(target, chunked, length=None) + b"zz\r\n",
        _post(target, chunked, length=None) + b"ffffffffffffffffff\r\n",
        _post(target, length=-1) + _BODY,
        b"POST /graphql HTTP/1.1\r\nContent-Length: 9x\r\n\r\n",
        b"GET /graphql HTTP/9.9\r\n\r\n",
        b"GET /graphql\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
        b"\x00" * 100_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\x00\x01 HTTP/1.1\r\nHost: \xff\r\nX\x00: \x7f\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        _post(target, "Expect: 100-continue"),
        _post(target, "Upgrade: websocket", "Connection: Upgrade") + _BODY,
        _post(target, "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings") + _BODY,
    )
    return [_exchange(target, sent) for sent in broken]


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
    Attack(
        "sockets: framing",
        "requests within requests",
        _framing,
    ),
    Attack("sockets: slow headers", "500 connections", held(500, _half_head, b"x")),
    Attack(
        "sockets: slow bodies",
        "500 connections",
        held(500, lambda target: _post(target) + b"{", b" "),
    ),
    Attack("sockets: idle", "800 connections", held(800, lambda _target: b"", b"")),
)
