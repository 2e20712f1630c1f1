"""deploy/nginx.conf: nginx runs it in front of two servers of one catalog."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.deploy.files import DEPLOY, PORT
from tests.server.servers import PATIENCE, Server, free_port, serving, until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
TAGS = "{ tags { name } }"
BY_POST = {"query": TAGS}

pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("CI"), reason="nginx is not installed"
)


@contextmanager
def two_servers(
    catalog: Path, folder: Path, replacements: Mapping[str, str] | None = None, **settings: object
) -> Iterator[tuple[Sequence[Server], httpx.Client]]:
    """Run nginx, with texts of its configuration replaced, in front of two servers of a catalog."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(catalog, folder / str(number), **settings))
            for number in (1, 2)
        ]
        port, file = free_port(), folder / "nginx.conf"
        text = (DEPLOY / "nginx.conf").read_text("utf-8")
        for old, new in {
            "listen 8080": f"listen 127.0.0.1:{port}",
            "/tmp/": f"{folder}/",  # noqa: S108
            "/var/cache/nginx/": f"{folder}/",
            f"server-1:{PORT}": servers[0].url.removeprefix("http://"),
            f"server-2:{PORT}": servers[1].url.removeprefix("http://"),
            **(replacements or {}),
        }.items():
            assert old in text, f"deploy/nginx.conf does not contain {old}"
            text = text.replace(old, new)
        file.write_text(text, "utf-8")
        # If root starts nginx, its workers run as a user who may not write to the folder.
        directives = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
        command = [str(NGINX), "-c", str(file), "-p", str(folder), "-e", "stderr", "-g", directives]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        client = stack.enter_context(
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)
        )

        def is_ready() -> bool:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                return client.get("/health/ready").is_success
            except httpx.TransportError:
                return False

        try:
            until(is_ready, "nginx responds")
            yield servers, client
        finally:
            process.terminate()
            process.wait(20)


def get(
    client: httpx.Client, query: str, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Send a query by GET."""
    return client.get("/graphql", params={"query": query}, headers=headers)


def immutable_query(client: httpx.Client) -> str:
    """Return a query whose response is immutable, as it names revisions by their refs."""
    revisions = get(client, "{ revisions(first: 2) { nodes { ref } } }").json()
    head, base = (revision["ref"] for revision in revisions["data"]["revisions"]["nodes"])
    return f'{{ compare(base: "{base}", head: "{head}") {{ summary {{ numSpecsAdded }} }} }}'


# -- caching and forwarding


@pytest.fixture(scope="module")
def running(
    demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Sequence[Server], httpx.Client]]:
    """Run two servers that trust nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    with two_servers(demo_catalog, folder, trusted_proxies="127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def proxy(running: tuple[Sequence[Server], httpx.Client]) -> httpx.Client:
    """Return the client of nginx."""
    return running[1]


def test_immutable_responses_are_cached(proxy: httpx.Client) -> None:
    """In each coding; conditional requests get 304 without replacing the cached response."""
    query = immutable_query(proxy)
    for coding in ("zstd", "br", "gzip"):
        headers = {"Accept-Encoding": coding}
        first, second = (get(proxy, query, headers) for _ in range(2))
        assert [it.headers["X-Cache-Status"] for it in (first, second)] == ["MISS", "HIT"]
        assert first.headers.get("Content-Encoding") == second.headers.get("Content-Encoding")
        assert first.headers["X-Request-ID"] != second.headers["X-Request-ID"]
        unchanged = get(proxy, query, {**headers, "If-None-Match": second.headers["ETag"]})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        complete = get(proxy, query, headers)
        assert (complete.status_code, complete.json()) == (200, first.json())


def test_mutable_responses_are_not_cached(proxy: httpx.Client) -> None:
    """A server answers each request, with 304 if its response is unchanged."""
    first = get(proxy, TAGS)
    assert first.headers["Cache-Control"] == "no-cache"
    assert get(proxy, TAGS).headers["X-Cache-Status"] == "MISS"
    unchanged = get(proxy, TAGS, {"If-None-Match": first.headers["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_both_servers_receive_requests(running: tuple[Sequence[Server], httpx.Client]) -> None:
    """With the request id that nginx assigns."""
    servers, proxy = running
    ids = [get(proxy, TAGS).headers["X-Request-ID"] for _ in range(4)]
    logs = [server.log for server in servers]
    until(lambda: all(any(it in log.read_text() for log in logs) for it in ids), "all are logged")
    assert all(any(it in log.read_text() for it in ids) for log in logs)


def test_metrics_are_forbidden(proxy: httpx.Client) -> None:
    """Prometheus requests them from the servers themselves."""
    assert proxy.get("/metrics").status_code == 403


# -- clients that are slow or many


def test_slow_and_excessive_clients_are_limited(demo_catalog: Path, tmp_path: Path) -> None:
    """One that does not send its request is disconnected; others of its address get 429."""
    impatient = {"client_header_timeout 10s": "client_header_timeout 1s"}
    few = {"limit_conn connections 50": "limit_conn connections 2"}
    with two_servers(demo_catalog, tmp_path, impatient | few) as (_, client), ExitStack() as stack:
        address = (client.base_url.host, client.base_url.port or 80)

        def opened(head: bytes) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(address, PATIENCE))
            connection.sendall(head)
            return connection

        slow = opened(b"GET / HTTP/1.1\r\nHost: a\r\n")
        with pytest.raises(ConnectionResetError):
            slow.recv(100)
        whole = b"POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
        for _ in range(2):
            opened(whole)  # whose body does not come
        until(lambda: get(client, TAGS).status_code == 429, "a third connection is refused")


# -- outages

UNLIMITED = {"limit_req zone=clients burst=60 nodelay;": ""}
"""Disables the rate limit, as one client sends the requests of many."""

SILENCE = 0.3
"""Seconds without a response after which every client waits for the stopped server."""
PAUSE = 0.005
"""Seconds between two requests of a client."""
AT_LEAST = 20
"""Number of responses that each client receives before and after the outage."""


def load(url: str, method: str, stopping: threading.Event, statuses: list[int]) -> None:
    """Send requests until ``stopping`` is set; raises TransportError if a connection fails."""
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        while not stopping.wait(PAUSE):
            is_get = method == "GET"
            response = get(client, TAGS) if is_get else client.post("/graphql", json=BY_POST)
            statuses.append(response.status_code)


def stop(server: Server, _clients: list[list[int]]) -> None:
    """End a server as an operating system does."""
    server.process.send_signal(signal.SIGTERM)


def kill(server: Server, clients: list[list[int]]) -> None:
    """Kill a server while each client waits for its response to a request."""
    server.process.send_signal(signal.SIGSTOP)
    before: list[int] = []
    while (now := [*map(len, clients)]) != before:
        before = now
        time.sleep(SILENCE)
    server.process.send_signal(signal.SIGKILL)


@pytest.mark.long
@pytest.mark.parametrize("end", [stop, kill])
def test_no_request_fails_if_a_server_ends(
    end: Callable[[Server, list[list[int]]], None], demo_catalog: Path, tmp_path: Path
) -> None:
    """The other answers GET and POST; without any, cached immutable responses remain."""
    with two_servers(demo_catalog, tmp_path, UNLIMITED) as ((first, second), proxy):
        stopping, url = threading.Event(), str(proxy.base_url)
        clients: list[list[int]] = [[] for _ in range(4)]
        methods = ("GET", "POST") * 2
        with ThreadPoolExecutor(len(clients)) as pool:
            futures = [
                pool.submit(load, url, method, stopping, statuses)
                for method, statuses in zip(methods, clients, strict=True)
            ]
            try:
                wait_for_responses(clients, futures)
                end(first, clients)
                first.process.wait(PATIENCE)
                wait_for_responses(clients, futures)
            finally:
                stopping.set()
            for future in futures:
                future.result()
        assert {status for statuses in clients for status in statuses} == {200}
        query = immutable_query(proxy)
        before = get(proxy, query)
        assert before.headers["X-Cache-Status"] == "MISS"
        second.process.kill()
        second.process.wait(PATIENCE)
        after = get(proxy, query)
        assert (after.status_code, after.headers["X-Cache-Status"]) == (200, "HIT")
        assert after.content == before.content
        assert get(proxy, TAGS).status_code == 502


def wait_for_responses(clients: list[list[int]], futures: "list[Future[None]]") -> None:
    """Wait until each client has received AT_LEAST more responses, or one has failed."""
    before = [*map(len, clients)]
    until(
        lambda: (
            all(len(now) - number >= AT_LEAST for now, number in zip(clients, before, strict=True))
            or any(future.done() for future in futures)
        ),
        "all clients have responses",
    )
