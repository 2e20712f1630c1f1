"""Attacks: requests to a server on 127.0.0.1, and their responses."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import orjson

HOST = "127.0.0.1"
PATIENCE = 60.0
"""Seconds without a response after which a client of an attack disconnects."""

LONGEST = 20.0
"""Seconds after which an attack sends no more requests, by default."""

LARGEST = 512 << 20
"""The maximum number of bytes to read of a response."""

_TRACEBACK = b"Traceback (most recent call last)"
_CODE = re.compile(rb'"code": ?"([A-Z_]+)"')
_INTERNAL = "INTERNAL_SERVER_ERROR"


@dataclass(frozen=True)
class Target:
    """The attacked server, and information that any client can request from it."""

    port: int
    digests: tuple[str, ...]
    """The revisions' digests, the newest first."""

    tags: tuple[str, ...]
    packages: tuple[str, ...]
    """Names of packages of the newest revision."""

    hashes: tuple[str, ...]
    """Hashes of specs of the newest revision."""

    ids: tuple[str, ...]
    """Opaque ids of those specs."""

    longest: float = LONGEST
    """Seconds after which an attack sends no more requests, or closes its connections."""

    @property
    def host(self) -> str:
        """The value of the Host header."""
        return f"{HOST}:{self.port}"


class Request(NamedTuple):
    """One HTTP request."""

    body: bytes
    method: str = "POST"
    path: str = "/graphql"
    headers: Mapping[str, str] = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """The response to a request; ``status`` is None if the connection ended without one.

    ``in_time`` is whether there was a response, or an end, before the client disconnected. ``code``
    is that of the first error. ``is_kept_out`` is whether an attack by others caused a refusal.
    """

    status: int | None
    seconds: float
    num_bytes: int = 0
    in_time: bool = True
    is_internal_error: bool = False
    code: str = ""
    is_kept_out: bool = False


@dataclass(frozen=True)
class Attack:
    """A named attack; short runs omit ``long`` ones, which send very many requests."""

    name: str
    tries: str
    run: Callable[[Target], list[Answer]] = field(repr=False)
    long: bool = False


JSON = "Content-Type: application/json"


def raw(target: Target, line: str, *headers: str, body: bytes = b"") -> bytes:
    """Return the bytes of a request, from a method with a path, header lines and a body."""
    head = [f"{line} HTTP/1.1", f"Host: {target.host}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def raw_post(target: Target, request: Request, *headers: str) -> bytes:
    """Return the bytes of a POST request with a JSON body."""
    length = f"Content-Length: {len(request.body)}"
    return raw(target, f"POST {request.path}", JSON, length, *headers, body=request.body)


def get(path: str, headers: Mapping[str, str] | None = None) -> Request:
    """Return a GET request."""
    return Request(b"", "GET", path, headers or {})


def query(text: str, variables: Any = None, **others: Any) -> Request:
    """Return the request of a GraphQL document."""
    body = {"query": text} | ({} if variables is None else {"variables": variables}) | others
    return Request(orjson.dumps(body))


def about_revision(_target: Target, selected: str) -> Request:
    """Select fields of the newest revision; no such request has a cached response."""
    return query(f"query {fresh()} {{ revision {{ {selected} }} }}")


def about_pair(target: Target, selected: str, base: int = -1, head: int = 0) -> Request:
    """Select fields of a comparison, by default of the oldest revision with the newest."""
    refs = f'base:"{target.digests[base]}",head:"{target.digests[head]}"'
    return query(f"query {fresh()} {{ compare({refs}) {{ {selected} }} }}")


def about_catalog(_target: Target, selected: str) -> Request:
    """Select fields of the catalog."""
    return query(f"query {fresh()} {{ {selected} }}")


def sending(
    make: Request | Callable[[Target], Request | Iterable[Request]], *, at_once: int = 1
) -> Callable[[Target], list[Answer]]:
    """Return a ``run`` that sends the requests for a target over ``at_once`` connections."""

    def run(target: Target) -> list[Answer]:
        made = make if isinstance(make, Request) else make(target)
        return send_all(target, [made] if isinstance(made, Request) else made, at_once=at_once)

    return run


def send_all(target: Target, requests: Iterable[Request], *, at_once: int = 1) -> list[Answer]:
    """Send requests over ``at_once`` connections, until one has no response."""
    waiting, lock, answers = iter(requests), Lock(), list[Answer]()
    deadline = time.perf_counter() + target.longest

    def work() -> None:
        connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
        try:
            while time.perf_counter() < deadline and all(it.in_time for it in answers):
                with lock:
                    request = next(waiting, None)
                if request is None:
                    return
                answers.append(send(connection, request))
        finally:
            connection.close()

    with ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(work) for _ in range(at_once)]:
            done.result()
    return answers


def send(connection: HTTPConnection, request: Request) -> Answer:
    """Send a request, and read its response."""
    started = time.perf_counter()
    try:
        connection.request(
            request.method, request.path, request.body or None, dict(request.headers)
        )
        response = connection.getresponse()
        content = response.read(LARGEST)
    except TimeoutError:
        connection.close()
        return Answer(None, time.perf_counter() - started, in_time=False)
    except (OSError, HTTPException):
        connection.close()
        return Answer(None, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    codes = {code.decode() for code in _CODE.findall(content)}
    is_internal = response.status == 500 or _INTERNAL in codes or _TRACEBACK in content
    first = _CODE.search(content)
    code = first[1].decode() if first else ""
    return Answer(response.status, seconds, len(content), True, is_internal, code)


def aliased(times: int, selected: str) -> str:
    """Return a selection repeated under different aliases."""
    return " ".join(f"a{number}:{selected}" for number in range(times))


_numbers = count()


def fresh() -> str:
    """Return a name that no earlier request had, so that no response is cached."""
    return f"n{next(_numbers)}"
