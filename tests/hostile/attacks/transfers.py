"""What is large on its way: files, uploads that stall, readers that read little."""

import contextlib
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection

import orjson

from tests.hostile.attack import HOST, PATIENCE, Answer, Ask, Attack, Target, asking, fresh, query
from tests.hostile.attack import send as send_one

ELSEWHERE = "127.0.0.2"
"""The address of an attacker who is another client than those that it hurts."""

_FILE = "/static/vendor/graphiql.js"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_LARGEST_FORM = 8 << 20
_READERS = 520
_SETTLE = 0.3
_STALLS = 1.2
"""For how many seconds an upload stalls before others need the room."""


def _files(_target: Target) -> Iterator[Ask]:
    for _ in range(2_000):
        yield Ask(b"", "GET", _FILE, {"Accept-Encoding": "gzip"})


def _others(target: Target, *asks: Ask) -> list[Answer]:
    """Ask as a client that no attacker may keep out."""
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        answers = [send_one(connection, ask) for ask in asks]
    return [it._replace(is_kept_out=it.status != 200) for it in answers]


def _opened(held: contextlib.ExitStack, target: Target, request: bytes) -> None:
    """Send a request over a connection that stays open, and read nothing."""
    connection = held.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.bind((ELSEWHERE, 0))
    connection.settimeout(PATIENCE)
    with contextlib.suppress(OSError):
        connection.connect((HOST, target.port))
        connection.sendall(request)


def _files_not_read(target: Target) -> list[Answer]:
    """Ask for a file so often that as many open files were too many, and for pages meanwhile."""
    request = f"GET {_FILE} HTTP/1.1\r\nHost: {target.host}\r\n\r\n".encode()
    with contextlib.ExitStack() as held:
        for _ in range(_READERS):
            _opened(held, target, request)
        time.sleep(_SETTLE)
        pages = ("/", "/search", "/graphql?query={tags{name}}")
        return _others(target, *(Ask(b"", "GET", path, {}) for path in pages))


def _form(target: Target) -> bytes:
    head = f"POST /check HTTP/1.1\r\nHost: {target.host}\r\nContent-Length: {_LARGEST_FORM}\r\n"
    return f"{head}Content-Type: {_FORM['Content-Type']}\r\n\r\n".encode()


def _stalled_upload(target: Target) -> list[Answer]:
    """Send all but 100 bytes of the largest form, then see whether others can send theirs."""
    with contextlib.ExitStack() as held:
        _opened(held, target, _form(target) + b"text=" + b"[" * (_LARGEST_FORM - 105))
        time.sleep(_STALLS)
        return _others(target, *_large_requests())


def _greedy_upload(target: Target) -> list[Answer]:
    """Do so with many forms of which a little more comes all the time."""
    with contextlib.ExitStack() as held:
        for _ in range(20):
            _opened(held, target, _form(target) + b"text=" + b"[" * 1_040_000)
        time.sleep(_SETTLE)
        return _others(target, *_large_requests())


def _large_requests() -> Iterator[Ask]:
    for _ in range(3):
        yield query("{ tags { name } }", {fresh(): "x" * 100_000})


def _answers_not_read(target: Target) -> list[Answer]:
    """Ask for as many large answers as there is room for, then see whether others get one."""

    def body() -> bytes:
        fields = " ".join(f"{fresh()}: variants" for _ in range(15))
        text = f"{{ revision {{ specs(first: 1000) {{ nodes {{ {fields} }} }} }} }}"
        return orjson.dumps({"query": text})

    head = f"POST /graphql HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\n"
    with contextlib.ExitStack() as held:
        for _ in range(60):
            content = body()
            lines = f"{head}Content-Length: {len(content)}\r\n\r\n"
            _opened(held, target, lines.encode() + content)
        time.sleep(1.0)
        return _others(target, Ask(body()))


def _lists_of_numbers(_target: Target) -> Iterator[Ask]:
    """Send 7.6 MB that are millions of values; and what is nested, and what are objects."""
    size = 7_600_000
    for text in (b"[" + b"1," * (size // 2) + b"1]", b"[" + b"{}," * (size // 3) + b"1]"):
        yield Ask(b"text=" + text, path="/check", headers=_FORM)
        yield Ask(b"text=" + b'{"_meta":%s}' % text, path="/check", headers=_FORM)
    yield Ask(b"text=" + b"1 " * (size // 2), path="/check", headers=_FORM)
    keys = b",".join(b'"%d":1' % number for number in range(size // 10))
    yield Ask(b"text=" + b"{%s}" % keys, path="/check", headers=_FORM)
    environment = b'{"_meta":{"lockfile-version":6},"roots":[],"concrete_specs":{%s}}' % keys
    yield Ask(b"text=" + environment, path="/check", headers=_FORM)


ATTACKS = (
    Attack("transfers: files", "50 at a time, to be compressed", asking(_files, at_once=50)),
    Attack("transfers: files not read", f"by {_READERS} clients", _files_not_read),
    Attack("transfers: an upload that stalls", "100 bytes before its end", _stalled_upload),
    Attack("transfers: greedy uploads", "20 of the largest", _greedy_upload),
    Attack("transfers: answers not read", "60 large ones", _answers_not_read),
    Attack("transfers: millions of values", "lock files that are none", asking(_lists_of_numbers)),
)
