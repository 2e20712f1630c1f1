"""deploy/nginx.conf as nginx runs it, before two servers of one catalog."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.deploy.proxies import NGINX, nginx
from tests.server.servers import Server, serving, until

pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("CI"), reason="nginx is not installed"
)


@pytest.fixture(scope="module")
def servers(
    demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Return two servers that trust the proxy, and send a sign of life twice a second."""
    logs = tmp_path_factory.mktemp("logs")
    with ExitStack() as running:
        one, two = (
            running.enter_context(
                serving(demo_catalog, logs / str(n), trusted_proxies="127.0.0.1", heartbeat=0.5)
            )
            for n in range(2)
        )
        yield one, two


@pytest.fixture(scope="module")
def proxy(
    servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Return a client of nginx, which has the file of deploy/ with other addresses and folders."""
    one, two = servers
    with (
        nginx([one.url, two.url], tmp_path_factory.mktemp("nginx")) as running,
        httpx.Client(base_url=running.url, timeout=20) as client,
    ):
        yield client


def asked(
    client: httpx.Client, query: str, headers: dict[str, str] | None = None
) -> httpx.Response:
    """Return the answer to a query that is asked by GET."""
    return client.get("/graphql", params={"query": query}, headers=headers)


@pytest.fixture(scope="module")
def permanent(proxy: httpx.Client) -> str:
    """Return a query whose answer holds for ever: it names its revisions by digest."""
    answer = asked(proxy, "{ revisions(first: 2) { nodes { digest } } }").json()
    head, base = (it["digest"] for it in answer["data"]["revisions"]["nodes"])
    return f'{{ compare(base: "{base}", head: "{head}") {{ summary {{ specsAdded }} }} }}'


def test_what_holds_for_ever_is_kept(proxy: httpx.Client, permanent: str) -> None:
    """Each coding once; who has it is told so by a server, and others get it whole afterwards."""
    for coding in ("zstd", "br", "gzip"):
        headers = {"Accept-Encoding": coding}
        first, again = (asked(proxy, permanent, headers) for _ in range(2))
        assert [it.headers["X-Cache-Status"] for it in (first, again)] == ["MISS", "HIT"]
        assert first.headers.get("Content-Encoding") == again.headers.get("Content-Encoding")
        assert first.headers["X-Request-ID"] != again.headers["X-Request-ID"]
        unchanged = asked(proxy, permanent, {**headers, "If-None-Match": again.headers["ETag"]})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        whole = asked(proxy, permanent, headers)
        assert (whole.status_code, whole.json()) == (200, first.json())


def test_what_may_change_is_asked_for_each_time(proxy: httpx.Client) -> None:
    """It is not kept, and 304 says that it is the same as before."""
    query = "{ tags { name } }"
    first = asked(proxy, query)
    assert first.headers["Cache-Control"] == "no-cache"
    again = asked(proxy, query)
    assert again.headers["X-Cache-Status"] == "MISS"
    unchanged = asked(proxy, query, {"If-None-Match": first.headers["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_both_servers_are_asked(proxy: httpx.Client, servers: tuple[Server, Server]) -> None:
    """With the id that the proxy has given to the request."""
    ids = [asked(proxy, "{ tags { name } }").headers["X-Request-ID"] for _ in range(4)]
    logs = [it.log for it in servers]
    until(lambda: all(any(it in log.read_text() for log in logs) for it in ids), "all is logged")
    assert all(any(it in log.read_text() for it in ids) for log in logs)


def test_events_are_sent_on_at_once(proxy: httpx.Client) -> None:
    """Signs of life come while the stream is open, also where two listen to the same."""
    query = "subscription { revisionPublished { tag } }"
    headers = {"Accept": "text/event-stream"}
    waiting = threading.Barrier(2, timeout=20)

    def listen(heard: list[bytes]) -> None:
        with proxy.stream("GET", "/graphql", params={"query": query}, headers=headers) as stream:
            heard.append(next(stream.iter_raw()))
            waiting.wait()  # neither has ended before both have heard something

    lists: tuple[list[bytes], list[bytes]] = ([], [])
    threads = [threading.Thread(target=listen, args=(it,)) for it in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert all(heard and heard[0].startswith(b":") for heard in lists)


def test_numbers_are_for_prometheus_alone(proxy: httpx.Client) -> None:
    """It asks the servers themselves."""
    assert proxy.get("/metrics").status_code == 403
