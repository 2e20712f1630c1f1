"""Servers that share a catalog in a bucket: equal answers, and outages of the store."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx
import pytest
from msgspec.structs import replace

from server import app, watch
from server.settings import Settings
from snapshots.catalog import storage
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from tests.demo_histories import history
from tests.server.pages.tour import tour
from tests.server.servers import application, until
from tests.snapshots.catalog.emulators import Emulator

MADE_UP = list(develop_history(revisions=6, packages=12, specs=60))
FIRST = 8
"""Number of revisions published before the servers start: two tags of each week."""

OWN_HEADERS = {"date", "x-request-id"}
"""Headers that differ between any two responses."""

SPECS = """query Page($ref: String!, $first: Int!) { revision(ref: $ref) { id digest
  specs(first: $first) { totalCount nodes { id hash name } pageInfo { hasNextPage endCursor } }
} }"""
HISTORY = (
    '{series(name:"develop"){growth{numSpecsAdded} package(name:"%s"){firstSeen{id tagName}}}}'
)
COMPARED = '{compare(base:"%s",head:"%s"){specs(first:9){totalCount nodes{kind}}}}'


PAGES = ("home", "series", "revision", "package", "spec", "search", "compare", "cause", "missing")
"""Pages of the tour with each kind of content."""


class Replicas(NamedTuple):
    """Two servers of one catalog, the importer of new revisions, and the store."""

    first: httpx.Client
    second: httpx.Client
    importer: Catalog
    store: Emulator


@pytest.fixture(scope="module")
def replicas(bucket: Emulator) -> Iterator[Replicas]:
    """Return two running servers that look for new revisions 20 times a second."""
    location = "s3://bucket/shared"
    with ExitStack() as stack:
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        patched.setattr(app, "CATALOG_RETRY_SECONDS", 0.2)
        patched.setattr(watch, "SILENT_SECONDS", 0.5)
        patched.setattr(watch, "STORE_SECONDS", 0.2)
        patched.setattr(storage, "SILENT_SECONDS", 1.0)
        importer = Catalog(location)
        importer.publish(MADE_UP[:FIRST])
        settings = Settings(catalog=location, refresh=0.05, access_log=False)
        first, second = (stack.enter_context(application(settings)) for _ in range(2))
        yield Replicas(first, second, importer, bucket)


def ask(client: httpx.Client, query: str, **variables: object) -> httpx.Response:
    """Send a query by POST."""
    return client.post("/graphql", json={"query": query, "variables": variables})


def data(response: httpx.Response) -> Any:
    """Return the data of a response without errors."""
    body = response.raise_for_status().json()
    assert "errors" not in body, body
    return body["data"]


def reproducible(response: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """Return the parts of a response that are equal on all servers."""
    headers = {name: text for name, text in response.headers.items() if name not in OWN_HEADERS}
    return response.status_code, headers, response.content


def has_revisions(client: httpx.Client, num_revisions: int) -> Callable[[], bool]:
    """Return a function that returns whether a server is ready and has this many revisions."""
    expected = {"status": "ready", "revisions": num_revisions}
    return lambda: bool(client.get("/health/ready").json() == expected)


def test_servers_send_equal_responses(replicas: Replicas) -> None:
    """After an import, responses, also their cursors, pages and feeds are equal byte by byte."""
    replicas.importer.publish(MADE_UP[FIRST : FIRST + 2])
    newest, before = (info.digest for info in replicas.importer.history.of_tag("develop")[:2])
    for client in replicas[:2]:
        until(has_revisions(client, FIRST + 2), "the new revision is known")
    name = data(ask(replicas.first, SPECS, ref=newest, first=1))["revision"]["specs"]["nodes"][0]
    queries = (SPECS, HISTORY % name["name"], COMPARED % (before, newest))
    for query in queries:
        first, second = (ask(client, query, ref=newest, first=5) for client in replicas[:2])
        assert data(first)
        assert reproducible(first) == reproducible(second)
    addresses = tour(replicas.first)
    paths = [*(addresses[name] for name in PAGES), "/feeds/develop.atom", "/schema.graphql"]
    for path in paths:
        # Links of feeds begin with the address that was asked.
        first, second = (client.get(path, headers={"Host": "a.example"}) for client in replicas[:2])
        assert first.status_code in (200, 404)
        assert reproducible(first) == reproducible(second), path
    tag = replicas.first.get("/r/develop").headers["etag"]
    revalidated = replicas.second.get("/r/develop", headers={"If-None-Match": tag})
    assert (revalidated.status_code, revalidated.content) == (304, b"")


def test_outage_of_the_store(replicas: Replicas) -> None:
    """During an outage, requests are answered from memory; afterwards, all requests are."""
    replicas.importer.publish(MADE_UP[-2:])
    known, unknown = MADE_UP[0].tag, MADE_UP[-2].tag
    num_revisions = len(replicas.importer.history.revisions)
    with httpx.Client(base_url=replicas.first.base_url, timeout=60) as client:
        until(has_revisions(client, num_revisions), "all revisions are known")
        paths = [f"/r/{known}", "/", f"/search?q=*&in={known}"]
        pages = {path: client.get(path).raise_for_status().content for path in paths}
        specs = ask(client, SPECS, ref=known, first=5).content

        def load(_: object) -> httpx.Response:
            return ask(client, SPECS, ref=unknown, first=5)

        with replicas.store.failing(), ThreadPoolExecutor(8) as pool:
            waiting = pool.map(load, range(8))
            until(lambda: "503" in client.get("/health/ready").text, "the outage is reported")
            ready = client.get("/health/ready")
            assert (ready.status_code, ready.json()["status"]) == (200, "stale")
            assert client.get("/health/live").is_success
            for first in range(1, 8):  # not cached, but executed on the revision in memory
                page = data(ask(client, SPECS, ref=known, first=first))
                assert len(page["revision"]["specs"]["nodes"]) == first
            assert ask(client, SPECS, ref=known, first=5).content == specs
            assert {path: client.get(path).content for path in pages} == pages
            for response in waiting:
                (error,) = response.json()["errors"]
                assert error["extensions"]["code"] == "CATALOG_UNAVAILABLE"
            assert client.get(f"/r/{unknown}/specs").status_code in (404, 503)
        replicas.importer.publish([replace(MADE_UP[1], tag="afterwards")])
        until(has_revisions(client, num_revisions + 1), "the new revision is known")
        assert len(data(load(None))["revision"]["specs"]["nodes"]) == 5


def test_store_without_responses(replicas: Replicas) -> None:
    """The server reports the outage, answers from memory, and soon stops waiting."""
    client = replicas.second
    (unread,) = history(revisions=1, packages=5, specs=20)
    replicas.importer.publish([replace(unread, tag="unread")])
    num_revisions = len(replicas.importer.history.revisions)
    until(has_revisions(client, num_revisions), "all revisions are known")
    page = client.get("/r/develop").raise_for_status().content
    with replicas.store.silent():
        until(lambda: "stale" in client.get("/health/ready").text, "the silence is reported")
        reason = client.get("/health/ready").json()["reason"]
        assert reason.startswith("the store has not answered for ")
        assert client.get("/r/develop").content == page
        with httpx.Client(base_url=client.base_url, timeout=20) as patient:
            (error,) = ask(patient, SPECS, ref="unread", first=5).json()["errors"]
        assert error["extensions"]["code"] == "CATALOG_UNAVAILABLE"
    until(lambda: "stale" not in client.get("/health/ready").text, "the server is ready again")
