"""Connections: endless headers, slow or idle clients, and invalid framing."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import orjson

from tests.hostile.attack import (
    HOST,
    JSON,
    PATIENCE,
    Answer,
    Attack,
    Target,
    about_revision,
    fresh,
    raw,
    raw_post,
)

_READ = 1 << 16
_BODY = orjson.dumps({"query": "{ tags { name } }"})


class _Sent(NamedTuple):
    """Bytes to send, and how many times ``more`` follows them."""

    head: bytes
    more: bytes = b""
    times: int = 0


def _post(target: Target, *headers: str, length: int | None = len(_BODY)) -> bytes:
    lengths = () if length is None else (f"Content-Length: {length}",)
    return raw(target, "POST /graphql", JSON, *lengths, *headers)


def _exchange(target: Target, sent: _Sent) -> Answer:
    """Send bytes and read the response, until one side closes the connection."""
    started, status, received = time.perf_counter(), None, 0
    try:
        with socket.create_connection((HOST, target.port), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent.head)
                for _ in range(sent.times):
                    connection.sendall(sent.more)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(_READ):
                if status is None and part.startswith(b"HTTP/"):
                    status = int(part.split(maxsplit=2)[1])
                received += len(part)
    except TimeoutError:
        return Answer(status, time.perf_counter() - started, received, in_time=False)
    except OSError:
        pass  # the server closed the connection, which is a valid answer
    seconds = time.perf_counter() - started
    return Answer(status, seconds, received, is_internal_error=status == 500)


def _each(make: Callable[[Target], Iterator[_Sent]]) -> Callable[[Target], list[Answer]]:
    return lambda target: [_exchange(target, sent) for sent in make(target)]


def _headers(target: Target) -> Iterator[_Sent]:
    """Send 100 MB in each part of the head of a request."""
    head, megabyte = f"GET /graphql HTTP/1.1\r\nHost: {target.host}\r\n".encode(), b"x" * (1 << 20)
    yield _Sent(b"GET /" + megabyte, megabyte, 100)
    yield _Sent(head + b"X-Long: ", megabyte, 100)
    yield _Sent(head + b"X-Long-" + megabyte, megabyte, 100)
    lines = b"".join(b"X-%05d: %s\r\n" % (number, b"y" * 1_000) for number in range(1_000))
    yield _Sent(head, lines, 100)
    yield _Sent(head, b"A:\r\n" * 100_000, 20)


def _bodies(target: Target) -> Iterator[_Sent]:
    """Send bodies that are too large."""
    megabyte = b" " * (1 << 20)
    yield _Sent(_post(target, length=100 << 20), megabyte, 100)
    yield _Sent(_post(target, length=10**18), megabyte, 60)
    chunked = _post(target, "Transfer-Encoding: chunked", length=None)
    yield _Sent(chunked, b"100000\r\n" + megabyte + b"\r\n", 60)
    yield _Sent(chunked, b"1\r\n \r\n" * 10_000, 60)
    yield _Sent(chunked, b"1;" + b"e" * 60_000 + b"\r\n \r\n", 200)


def _framing(target: Target) -> Iterator[_Sent]:
    """Break the rules of RFC 9112 one by one; the rest must not be handled as a request."""
    chunked = "Transfer-Encoding: chunked"
    smuggled = b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    yield _Sent(_post(target, chunked) + smuggled)
    yield _Sent(_post(target, "Content-Length: 1") + _BODY)
    yield _Sent(_post(target, chunked, "Transfer-Encoding: identity", length=None) + smuggled)
    yield _Sent(_post(target, chunked, length=None) + b"zz\r\n")
    yield _Sent(_post(target, chunked, length=None) + b"ffffffffffffffffff\r\n")
    yield _Sent(_post(target, length=-1) + _BODY)
    yield _Sent(b"POST /graphql HTTP/1.1\r\nContent-Length: 9x\r\n\r\n")
    yield _Sent(b"GET /graphql HTTP/9.9\r\n\r\n")
    yield _Sent(b"GET /graphql\r\n\r\n")
    yield _Sent(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500)
    yield _Sent(b"\x00" * 100_000)
    yield _Sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield _Sent(b"GET /\x00\x01 HTTP/1.1\r\nHost: \xff\r\nX\x00: \x7f\r\n\r\n")
    yield _Sent(b"GET / HTTP/1.1\r\n folded: x\r\n\r\n")
    yield _Sent(_post(target, "Expect: 100-continue"))
    yield _Sent(_post(target, "Upgrade: websocket", "Connection: Upgrade") + _BODY)
    yield _Sent(_post(target, "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings") + _BODY)


def _pipelined(target: Target) -> Iterator[_Sent]:
    """Send 2,000 requests before reading the first response."""
    yield _Sent(b"", (_post(target) + _BODY) * 100, 20)


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


def _large(target: Target) -> bytes:
    fields = "hash short variants stacks packageHash"
    selected = f"specs(first: 1000) {{ {fresh()}: nodes {{ {fields} }} }}"
    return raw_post(target, about_revision(target, selected))


def _half_head(target: Target) -> bytes:
    return raw(target, "GET /graphql", "X-Slow: ").removesuffix(b"\r\n\r\n")


ATTACKS = (
    Attack("sockets: headers", "100 MB in each part of the head", _each(_headers)),
    Attack("sockets: bodies", "100 MB where 1 MB is allowed", _each(_bodies)),
    Attack("sockets: framing", "requests within requests", _each(_framing)),
    Attack("sockets: pipelining", "2,000 requests in a row", _each(_pipelined)),
    Attack("sockets: slow headers", "500 connections", held(500, _half_head, b"x")),
    Attack(
        "sockets: slow bodies",
        "500 connections",
        held(500, lambda target: _post(target) + b"{", b" "),
    ),
    Attack("sockets: idle", "800 connections", held(800, lambda _target: b"", b"")),
    Attack("sockets: slow readers", "60 large answers, not read", held(60, _large, b"")),
)
