"""Subscribers to published revisions, each with its own connection to a real server."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from snapshots.models import RevisionInfo
from tests.server import npm
from tests.server.http.test_servers import wait_for_workers, workers_of
from tests.server.servers import PATIENCE, Server, serving, until

MADE_UP = list(history(revisions=6, packages=12, specs=60))
QUERY = "subscription { revisionPublished { tag } }"
BODY = json.dumps({"query": QUERY}).encode()
HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(BODY)
)
FAST: dict[str, Any] = {"refresh": 0.05, "heartbeat": 0.2}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog with one revision."""
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.publish(MADE_UP[:1])
    return catalog


class Shared(NamedTuple):
    """A server for several tests, each of which closes its connections, and its catalog."""

    server: Server
    catalog: Catalog


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Return a shared server with short time limits and few connections."""
    folder = tmp_path_factory.mktemp("shared")
    catalog = Catalog(str(folder / "catalog"))
    catalog.publish(MADE_UP[:1])
    little = FAST | {"head_timeout": 0.2, "send_timeout": 0.3, "max_connections": 6}
    with serving(folder / "catalog", folder / "log", **little) as server:
        yield Shared(server, catalog)


def published(catalog: Catalog, *numbers: int) -> list[RevisionInfo]:
    """Publish some of the revisions; return them."""
    publications = catalog.publish([MADE_UP[number] for number in numbers])
    return [publication.revision for publication in publications]


def connect(server: Server) -> socket.socket:
    """Return a connection to a server."""
    return socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), PATIENCE)


@contextmanager
def following(server: Server, head: bytes = HEAD) -> Iterator[socket.socket]:
    """Subscribe over a socket, and wait for the first heartbeat."""
    with connect(server) as connection:
        connection.sendall(head + BODY)
        read_until(connection, b":\n\n")
        yield connection


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Read up to ``end``; fail if the connection is closed first."""
    text = b""
    while end not in text:
        part = connection.recv(65_536)
        assert part, text
        text += part
    return text


def open_subscriptions(server: Server) -> int:
    """Return the number of open subscriptions according to the metrics."""
    return int(total(server, "cachelog_subscriptions "))


def total(server: Server, name: str) -> float:
    """Return the sum of an instrument over all its labels."""
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(name))


def test_graphql_sse(catalog: Catalog, tmp_path: Path) -> None:
    """The reference client gets the revisions of a series, and resumes after lost connections."""
    folder = npm.installed(Path(__file__).with_name("clients"), tmp_path)
    one, release, two, three = range(1, 5)  # all but the release belong to the series
    with serving(tmp_path / "catalog", tmp_path / "log", "--workers", "2", **FAST) as server:
        wait_for_workers(server, 2)
        with running_client(folder, server, {"series": "develop-DATE"}, count=3) as lines:
            assert next(lines) == {"connected": True, "isRetry": False}
            published(catalog, one, release)
            assert next(lines)["tag"] == MADE_UP[one].tag
            for worker in workers_of(server):
                os.kill(worker, signal.SIGKILL)
            published(catalog, two)
            assert next(lines) == {"connected": True, "isRetry": True}
            assert next(lines)["tag"] == MADE_UP[two].tag
            published(catalog, three)
            assert next(lines)["tag"] == MADE_UP[three].tag
            assert next(lines)["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
            assert [*lines] == [{"data": {"__typename": "Query"}}]


@contextmanager
def running_client(
    folder: Path, server: Server, variables: Any, *, count: int
) -> Iterator[Iterator[Any]]:
    """Run the client for ``count`` events; yield the lines of its output as they arrive."""
    command = ["node", "sse.mjs", server.graphql, json.dumps(variables), str(count)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            yield map(json.loads, program.stdout)
            assert program.wait(PATIENCE) == 0
        finally:
            program.kill()


def test_heartbeats_and_the_last_event(catalog: Catalog, tmp_path: Path) -> None:
    """It is not closed as idle; a stopping server ends it, over HTTP/1.0 without chunks."""
    log = tmp_path / "log"
    short = FAST | {"keep_alive": 0.1, "head_timeout": 0.1, "send_timeout": 0.1}
    old = HEAD.replace(b"HTTP/1.1", b"HTTP/1.0")
    with serving(tmp_path / "catalog", log, **short) as server:
        with (
            following(server) as leaving,
            following(server, old) as without_chunks,
            following(server) as connection,
        ):
            until(lambda: open_subscriptions(server) == 3, "all subscriptions are counted")
            leaving.close()
            for _ in range(2):
                assert read_until(connection, b":\n\n") == b"3\r\n:\n\n\r\n"
            until(lambda: open_subscriptions(server) == 2, "the closed subscription is not counted")
            published(catalog, 1)
            event = read_until(connection, b"}}}\n\n")
            assert MADE_UP[1].tag.encode() in event
            event = read_until(without_chunks, b"}}}\n\n")
            assert event.replace(b":\n\n", b"").startswith(b"event: next\nid: ")
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            rest = read_until(connection, b"0\r\n\r\n")
            last = b"".join(iter(lambda: without_chunks.recv(65_536), b""))
        assert rest.endswith(b"event: complete\ndata: \n\n\r\n0\r\n\r\n")
        assert last.endswith(b"event: complete\ndata: \n\n")
        server.process.wait(PATIENCE)
        assert time.monotonic() - began < 5
    lines = [line for line in log.read_text().splitlines() if "POST /graphql 200" in line]
    assert len(lines) == 3  # one for each subscription, at its end


def test_subscriptions_are_not_closed_as_idle(shared: Shared) -> None:
    """Above the limit of connections, idle connections are closed, but no subscriptions."""
    server = shared.server
    with following(server) as first, following(server) as second, ExitStack() as opened:
        for _ in range(12):
            opened.enter_context(connect(server))
        assert open_subscriptions(server) == 2
        for connection in (first, second):
            read_until(connection, b":\n\n")
    until(lambda: open_subscriptions(server) == 0, "the subscriptions are closed")


def test_duration_is_not_in_the_metrics(shared: Shared) -> None:
    """Subscriptions are counted as requests, but their duration is only logged."""
    server = shared.server
    count, seconds = (f"cachelog_request_seconds_{name}" for name in ("count", "sum"))
    before = {name: total(server, name) for name in (count, seconds)}
    with following(server):
        published(shared.catalog, 1)
    until(lambda: open_subscriptions(server) == 0, "the subscription is closed")
    assert total(server, count) > before[count]
    assert total(server, seconds) - before[seconds] < 0.5


def test_later_requests_on_the_connection_wait(shared: Shared) -> None:
    """Complete or not, they neither end nor delay the subscription; closing the connection does."""
    server = shared.server
    for more in (HEAD + BODY, b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /"):
        with following(server) as connection:
            connection.sendall(more)
            for _ in range(2):
                read_until(connection, b":\n\n")
            assert open_subscriptions(server) == 1
        until(lambda: open_subscriptions(server) == 0, "the subscription is closed")


def test_client_that_does_not_read_is_disconnected(shared: Shared) -> None:
    """The connection is closed if the client does not read for too long."""
    (large,) = history(revisions=1, packages=60, specs=1_000)
    aliases = " ".join(f"a{number}: id" for number in range(100))
    # Some 10 MB, more than a socket buffers.
    fields = f"specs(first: 1000) {{ nodes {{ {aliases} }} }}"
    wide = json.dumps({"query": f"subscription {{ revisionPublished {{ {fields} }} }}"}).encode()
    head = HEAD.replace(b"%d" % len(BODY), b"%d" % len(wide))
    server = shared.server
    with connect(server) as connection:
        connection.sendall(head + wide)
        until(lambda: open_subscriptions(server) == 1, "the subscription is open")
        shared.catalog.publish([replace(large, tag="large")])
        until(lambda: open_subscriptions(server) == 0, "the client is disconnected")
    assert httpx.post(server.graphql, json={"query": "{ tags { name } }"}).is_success
