"""deploy/nginx.conf: nginx runs it in front of two servers of one catalog."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.deploy.files import DEPLOY, PORT
from tests.server.servers import PATIENCE, Server, free_port, serving, until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
TAGS = "{ tags { name } }"

Running = tuple[Sequence[Server], httpx.Client]
"""Two servers, and a client of nginx in front of them."""

pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("CI"), reason="nginx is not installed"
)


@contextmanager
def two_servers(catalog: Path, folder: Path, **settings: object) -> Iterator[Running]:
    """Run nginx in front of two servers of a catalog."""
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
def running(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run two servers that trust nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    with two_servers(demo_catalog, folder, trusted_proxies="127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def proxy(running: Running) -> httpx.Client:
    """Return the client of nginx."""
    return running[1]


def test_immutable_responses_are_cached(proxy: httpx.Client) -> None:
    """In each coding; conditional requests get 304 without replacing the cached response."""
    query = immutable_query(proxy)
    for coding in ("zstd", "gzip"):
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


def test_both_servers_receive_requests(running: Running) -> None:
    """With the request id that nginx assigns."""
    servers, proxy = running
    ids = [get(proxy, TAGS).headers["X-Request-ID"] for _ in range(4)]
    logs = [server.log for server in servers]
    until(lambda: all(any(it in log.read_text() for log in logs) for it in ids), "all are logged")
    assert all(any(it in log.read_text() for it in ids) for log in logs)


def test_metrics_are_forbidden(proxy: httpx.Client) -> None:
    """Prometheus requests them from the servers themselves."""
    assert proxy.get("/metrics").status_code == 403


# -- outages


def test_no_request_fails_if_a_server_ends(running: Running) -> None:
    """The other answers GET and POST; without any, cached immutable responses remain."""
    (first, second), proxy = running
    query = immutable_query(proxy).replace("numSpecsAdded", "numSpecsRemoved")
    first.process.kill()
    first.process.wait(PATIENCE)
    for _ in range(4):
        assert get(proxy, TAGS).status_code == 200
        assert proxy.post("/graphql", json={"query": TAGS}).status_code == 200
    before = get(proxy, query)
    assert before.headers["X-Cache-Status"] == "MISS"
    second.process.kill()
    second.process.wait(PATIENCE)
    after = get(proxy, query)
    assert (after.status_code, after.headers["X-Cache-Status"]) == (200, "HIT")
    assert after.content == before.content
    assert get(proxy, TAGS).status_code == 502
