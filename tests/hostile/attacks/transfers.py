"""Large transfers: lock files, and clients that read slowly."""

import contextlib
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection

from tests.hostile.attack import (
    HOST,
    PATIENCE,
    Answer,
    Attack,
    Request,
    Target,
    about_revision,
    fresh,
    raw_post,
    send,
    sending,
)

ELSEWHERE = "127.0.0.2"
"""The address of the attacker, other than that of its victims."""

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _other(target: Target, request: Request) -> list[Answer]:
    """Send a request as another client, which the attacker must not keep out."""
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        answer = send(connection, request)
    return [answer._replace(is_kept_out=answer.status != 200)]


def _opened(held: contextlib.ExitStack, target: Target, request: bytes) -> None:
    """Send a request over a connection that stays open, without reading."""
    connection = held.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.bind((ELSEWHERE, 0))
    connection.settimeout(PATIENCE)
    with contextlib.suppress(OSError):
        connection.connect((HOST, target.port))
        connection.sendall(request)


def _answers_not_read(target: Target) -> list[Answer]:
    """Request as many large responses as the server has capacity for; then others request one."""

    def large() -> Request:
        fields = " ".join(f"{fresh()}: variants" for _ in range(15))
        return about_revision(target, f"specs(first: 1000) {{ nodes {{ {fields} }} }}")

    with contextlib.ExitStack() as held:
        for _ in range(60):
            _opened(held, target, raw_post(target, large()))
        time.sleep(1.0)
        return _other(target, large())


def _lists_of_numbers(_target: Target) -> Iterator[Request]:
    """Send 7.6 MB of millions of numbers, objects or keys."""
    size = 7_600_000
    for text in (b"[" + b"1," * (size // 2) + b"1]", b"[" + b"{}," * (size // 3) + b"1]"):
        yield Request(b"text=" + text, path="/check", headers=_FORM)
        yield Request(b"text=" + b'{"_meta":%s}' % text, path="/check", headers=_FORM)
    yield Request(b"text=" + b"1 " * (size // 2), path="/check", headers=_FORM)
    keys = b",".join(b'"%d":1' % number for number in range(size // 10))
    yield Request(b"text=" + b"{%s}" % keys, path="/check", headers=_FORM)
    environment = b'{"_meta":{"lockfile-version":6},"roots":[],"concrete_specs":{%s}}' % keys
    yield Request(b"text=" + environment, path="/check", headers=_FORM)


ATTACKS = (
    Attack("transfers: answers not read", "60 large ones", _answers_not_read),
    Attack("transfers: millions of values", "lock files that are none", sending(_lists_of_numbers)),
)
