"""An attack: a name, what it tries, and the requests it makes of one server on 127.0.0.1."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import orjson

HOST = "127.0.0.1"
PATIENCE = 10.0
"""After how many seconds without an answer a client of an attack gives up, and hangs up."""

LONGEST = 20.0
"""For how many seconds an attack goes on with new requests, unless its target says otherwise."""

LARGEST = 512 << 20
"""How many bytes of one answer are read."""

_TRACEBACK = b"Traceback (most recent call last)"
_CODE = re.compile(rb'"code": ?"([A-Z_]+)"')
_INTERNAL = "INTERNAL_SERVER_ERROR"


@dataclass(frozen=True)
class Target:
    """The server under attack, and what anybody can learn from it by asking."""

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
    """For how many seconds an attack on it goes on with new requests, or holds connections open."""

    @property
    def host(self) -> str:
        """What a Host header says."""
        return f"{HOST}:{self.port}"


class Ask(NamedTuple):
    """One HTTP request."""

    body: bytes
    method: str = "POST"
    path: str = "/graphql"
    headers: Mapping[str, str] = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """What became of a request: ``status`` is None where the connection ended without an answer.

    ``in_time`` tells that there was an answer, or an end, before the client gave up.
    ``code`` is that of the first error. A client ``is_kept_out`` where somebody else's attack
    denies it what it may ask for.
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
    """``run`` makes the requests and returns what became of them; it ends by itself.

    It returns nothing where it only holds connections open. A ``long`` attack makes very many
    requests, and is left out of short runs.
    """

    name: str
    tries: str
    run: Callable[[Target], list[Answer]] = field(repr=False)
    long: bool = False


def query(text: str, variables: Any = None, **others: Any) -> Ask:
    """Return the request that asks a GraphQL document."""
    body = {"query": text} | ({} if variables is None else {"variables": variables}) | others
    return Ask(orjson.dumps(body))


def about_revision(_target: Target, selected: str) -> Ask:
    """Ask of the newest revision; nothing kept answers this, nor the following."""
    return query(f"query {fresh()} {{ revision {{ {selected} }} }}")


def about_pair(target: Target, selected: str, base: int = -1, head: int = 0) -> Ask:
    """Ask of a comparison of two revisions: of the oldest and the newest by default."""
    refs = f'base:"{target.digests[base]}",head:"{target.digests[head]}"'
    return query(f"query {fresh()} {{ compare({refs}) {{ {selected} }} }}")


def about_series(_target: Target, selected: str) -> Ask:
    """Ask of the series develop."""
    return query(f'query {fresh()} {{ series(name:"develop") {{ {selected} }} }}')


def selecting(
    make: Callable[[Target, str], Ask], tries: str, selections: Mapping[str, str]
) -> Iterator["Attack"]:
    """Yield an attack for each selection, by its name."""
    for name, selected in selections.items():
        yield Attack(name, tries, asking(lambda target, it=selected: make(target, it)))  # type: ignore[misc]


def asking(
    make: Callable[[Target], Ask | Iterable[Ask]], *, at_once: int = 1
) -> Callable[[Target], list[Answer]]:
    """Return a ``run`` that sends the requests made for a target, some of them ``at_once``."""

    def run(target: Target) -> list[Answer]:
        made = make(target)
        return send_all(target, [made] if isinstance(made, Ask) else made, at_once=at_once)

    return run


def send_all(target: Target, asks: Iterable[Ask], *, at_once: int = 1) -> list[Answer]:
    """Send requests over ``at_once`` connections; the first that is not answered ends it."""
    waiting, lock, answers = iter(asks), Lock(), list[Answer]()
    deadline = time.perf_counter() + target.longest

    def work() -> None:
        connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
        try:
            while time.perf_counter() < deadline and all(it.in_time for it in answers):
                with lock:
                    ask = next(waiting, None)
                if ask is None:
                    return
                answers.append(send(connection, ask))
        finally:
            connection.close()

    with ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(work) for _ in range(at_once)]:
            done.result()
    return answers


def send(connection: HTTPConnection, ask: Ask) -> Answer:
    """Send one request and read its whole answer."""
    started = time.perf_counter()
    try:
        connection.request(ask.method, ask.path, ask.body or None, dict(ask.headers))
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
    """Return a selection made several times, under as many aliases."""
    return " ".join(f"a{number}:{selected}" for number in range(times))


_numbers = count()


def fresh() -> str:
    """Return a name that no earlier request had, so that nothing kept can answer it."""
    return f"n{next(_numbers)}"
