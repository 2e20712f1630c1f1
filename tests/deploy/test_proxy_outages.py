"""deploy/nginx.conf as nginx runs it, while servers behind it end."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.deploy.proxies import NGINX, UNLIMITED, nginx
from tests.server.servers import PATIENCE, Server, serving, until

pytestmark = [
    pytest.mark.skipif(NGINX is None and not os.environ.get("CI"), reason="nginx is not installed"),
    pytest.mark.long,
]

QUERY = "{ tags { name } }"
SILENCE = 0.3
"""Who has got nothing for so many seconds waits for a server that does nothing."""
PAUSE = 0.005
"""For so many seconds a client rests before it asks again."""
AT_LEAST = 20
"""So many answers each client has before something happens, and again after it."""


class Running(NamedTuple):
    """Two servers of one catalog, and the address of nginx before them."""

    one: Server
    two: Server
    url: str


@pytest.fixture
def running(demo_catalog: Path, tmp_path: Path) -> Iterator[Running]:
    """Start them for one test, as it ends them."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(serving(demo_catalog, tmp_path / str(n))) for n in (1, 2))
        folder = tmp_path / "nginx"
        folder.mkdir()
        proxy = stack.enter_context(nginx([one.url, two.url], folder, UNLIMITED))
        yield Running(one, two, proxy.url)


class Client:
    """Asks again and again, by one method, and notes the statuses, until it is told to stop."""

    def __init__(self, url: str, method: str, stopping: threading.Event) -> None:
        self._url = f"{url}/graphql"
        self.method = method
        self._stopping = stopping
        self.statuses: list[int] = []

    def run(self) -> None:
        """Ask; raises where a connection is broken."""
        with httpx.Client(timeout=PATIENCE) as client:
            while not self._stopping.wait(PAUSE):
                if self.method == "GET":
                    answer = ask(client, QUERY, self._url)
                else:
                    answer = client.post(self._url, json={"query": QUERY})
                self.statuses.append(answer.status_code)


def stop(server: Server, _clients: list[Client]) -> None:
    """End a server as an operating system does."""
    server.process.send_signal(signal.SIGTERM)


def kill(server: Server, clients: list[Client]) -> None:
    """End a server when each client waits for its answer to a request."""
    server.process.send_signal(signal.SIGSTOP)
    before: list[int] = []
    while (now := [len(it.statuses) for it in clients]) != before:
        before = now
        time.sleep(SILENCE)
    server.process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("end", [stop, kill])
def test_who_loses_a_server_is_answered_by_the_other(
    running: Running, end: Callable[[Server, list[Client]], None]
) -> None:
    """No request fails when a server is stopped or killed in the midst of many, GET or POST.

    When the other one has ended, too, answers that hold for ever are still there; others are 502.
    """
    stopping = threading.Event()
    clients = [Client(running.url, method, stopping) for method in ("GET", "POST") * 2]
    with ThreadPoolExecutor(len(clients)) as pool:
        futures = [pool.submit(it.run) for it in clients]
        try:
            wait_for_more(clients, futures)
            end(running.one, clients)
            running.one.process.wait(PATIENCE)
            wait_for_more(clients, futures)
        finally:
            stopping.set()
        for it in futures:
            it.result()
    assert {status for it in clients for status in it.statuses} == {200}
    check_that_answers_outlive(running.two, running.url)


def wait_for_more(clients: list[Client], futures: "list[Future[None]]") -> None:
    """Wait until each client has some more answers, or one has broken off."""
    numbers = [len(it.statuses) + AT_LEAST for it in clients]

    def have() -> bool:
        had = (len(it.statuses) >= number for it, number in zip(clients, numbers, strict=True))
        return any(it.done() for it in futures) or all(had)

    until(have, "all clients were answered")


def check_that_answers_outlive(server: Server, url: str) -> None:
    """Kill the last server; what it has answered for ever is there without any."""
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        revisions = ask(client, "{ revisions(first: 2) { nodes { digest } } }").json()
        head, base = (it["digest"] for it in revisions["data"]["revisions"]["nodes"])
        query = f'{{ compare(base: "{base}", head: "{head}") {{ summary {{ specsAdded }} }} }}'
        before = ask(client, query)
        assert before.headers["X-Cache-Status"] == "MISS"
        server.process.kill()
        server.process.wait(PATIENCE)
        after = ask(client, query)
        assert (after.status_code, after.headers["X-Cache-Status"]) == (200, "HIT")
        assert after.content == before.content
        assert ask(client, QUERY).status_code == 502


def ask(client: httpx.Client, query: str, url: str = "/graphql") -> httpx.Response:
    """Ask by GET."""
    return client.get(url, params={"query": query})
