"""The endpoint of feeds: what it answers under which address, how often it is made, and 304."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest

from server.feeds.endpoint import FeedsEndpoint
from server.feeds.making import FeedMaker
from server.graphql.allowances import Allowances
from server.graphql.cache import ResponseCache
from server.graphql.lanes import Lanes
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.demo import history as demo
from snapshots.errors import CatalogError
from snapshots.history import History
from snapshots.timelines.growth import GrowthPoint
from tests.server.feeds.chronicles import PlainChronicle
from tests.snapshots.notes.atom.reading import read_feed

Ask = Callable[[httpx.AsyncClient], Awaitable[None]]

SERIES = "/feeds/develop-DATE.atom"


class Served:
    """The endpoint over a catalog, without a server."""

    def __init__(
        self,
        folder: Path,
        *,
        is_missing: bool = False,
        requests: int = 0,
        cost: int = 0,
        seconds: float = 10,
        **settings: float,
    ) -> None:
        self.catalog = Catalog(str(folder))
        self.catalog.refresh(missing_ok=True)
        self.library = Library(self.catalog)
        self.chronicle = PlainChronicle(self.catalog, is_missing=is_missing)
        self.lanes = Lanes.of(Settings(**settings))  # type: ignore[arg-type]
        self.maker = FeedMaker(self.library, self.chronicle, self.lanes)
        self.responses = ResponseCache(1 << 24)
        allowances = Allowances(requests=requests, cost=cost, is_trusted=None)
        self.endpoint = FeedsEndpoint(
            self.catalog, self.maker, self.responses, self.lanes, allowances, seconds=seconds
        )

    def asked(self, ask: Ask) -> None:
        """Let something be asked in an event loop."""

        async def asking() -> None:
            transport = httpx.ASGITransport(self.endpoint)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                await ask(client)

        try:
            asyncio.run(asking())
        finally:
            self.lanes.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Return the answer to one request."""
        found: list[httpx.Response] = []

        async def ask(client: httpx.AsyncClient) -> None:
            found.append(await client.get(path, headers=headers))

        self.asked(ask)
        return found[0]


def test_the_feed_of_a_series(demo_catalog: Path) -> None:
    """Valid, one entry a revision, the newest with its story, links relative to its address."""
    served = Served(demo_catalog)
    answer = served.get(SERIES)
    assert (answer.status_code, answer.headers["content-type"]) == (
        200,
        "application/atom+xml; charset=utf-8",
    )
    assert answer.headers["cache-control"] == "no-cache"
    feed = read_feed(answer.content)
    revisions = served.catalog.history.of_series("develop-DATE")
    assert [it.tags[0].term for it in feed.entries] == [it.tag for it in revisions]
    assert "<h3>" in feed.entries[0].content[0].value
    assert "<h3>" not in feed.entries[-1].content[0].value
    url = httpx.URL("http://test" + SERIES)
    assert url.join(feed.feed.links[0].href) == url
    for entry in feed.entries:
        (link,) = entry.links
        question = url.join(link.href)
        assert (question.path, {*question.params}) == ("/graphql", {"query", "variables"})


def test_the_feed_of_a_package(demo_catalog: Path) -> None:
    """One entry for each revision that touched it, made without loading a revision."""
    served = Served(demo_catalog)
    name = served.catalog.load(served.catalog.history.of_series("develop-DATE")[0].digest).packages[
        0
    ]
    answer = served.get(f"/feeds/develop-DATE/{name}.atom")
    feed = read_feed(answer.content)
    assert feed.entries[-1].title.startswith(f"{name}: added, ")
    assert served.library.frames.num_kept == 0
    url = httpx.URL(f"http://test/feeds/develop-DATE/{name}.atom")
    assert url.join(feed.feed.links[0].href) == url
    assert url.join(feed.entries[0].links[0].href).path == "/graphql"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/feeds/develop-DAT.atom", "there is no series 'develop-DAT'; nearest: develop-DATE"),
        ("/feeds/%00%1b.atom", "there is no series "),
        ("/feeds/develop-DATE/hdf55.atom", "no revision of develop-DATE has a package 'hdf55'"),
        ("/feeds/develop-DATE/a%2Fb.atom", "'a/b' can be no package"),
        (f"/feeds/develop-DATE/{'x' * 201}.atom", "x' can be no package"),
        ("/feeds/develop-DATE/.atom", "feeds are at /feeds/SERIES.atom and "),
        ("/feeds/.atom", "feeds are at "),
        ("/feeds/", "feeds are at "),
        ("/feeds/develop-DATE", "feeds are at "),
        (f"{SERIES}?after=nothing", "no entry of this feed is that of such a revision"),
        (f"/feeds/{'x' * 5_000}.atom", "there is no series "),
    ],
)
def test_what_is_not_there(demo_catalog: Path, path: str, text: str) -> None:
    """404 with the reason in a line, and the names that are near."""
    answer = Served(demo_catalog).get(path)
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    assert text in answer.text
    assert len(answer.text) < 700
    assert answer.text.rstrip("\n").isprintable()


def test_other_methods_are_refused(demo_catalog: Path) -> None:
    """405 with those that are allowed; HEAD is answered as GET is, without a body."""
    served = Served(demo_catalog)

    async def ask(client: httpx.AsyncClient) -> None:
        refused = await client.post(SERIES)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        head, whole = await client.head(SERIES), await client.get(SERIES)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers == whole.headers

    served.asked(ask)


def test_a_client_that_has_it_gets_304(demo_catalog: Path) -> None:
    """By the ETag, in each coding, else by the very moment; another one of either gets it whole."""
    served = Served(demo_catalog)

    async def ask(client: httpx.AsyncClient) -> None:
        first = await client.get(SERIES)
        etag, modified = first.headers["etag"], first.headers["last-modified"]
        assert modified.endswith(" GMT")
        plain = await client.get(SERIES, headers={"accept-encoding": "identity"})
        assert plain.headers["etag"] != etag
        for headers, status in (
            ({"if-none-match": etag}, 304),
            ({"if-none-match": "*"}, 304),
            ({"if-none-match": '"x"'}, 200),
            ({"if-none-match": '"x"', "if-modified-since": modified}, 200),
            ({"if-modified-since": modified}, 304),
            ({"if-modified-since": "Sun, 06 Nov 2044 08:49:37 GMT"}, 200),
            ({"if-modified-since": "x"}, 200),
        ):
            answer = await client.get(SERIES, headers=headers)
            assert answer.status_code == status, headers
            assert bool(answer.content) == (status == 200)
            assert answer.headers["last-modified"] == modified

    served.asked(ask)


def test_a_feed_is_made_once_until_the_catalog_changes(tmp_path: Path) -> None:
    """However many ask at once; a revision that is published makes another one of it."""
    *earlier, newest = (it for it in demo(revisions=4, packages=4, specs=20) if "-" in it.tag)
    Catalog(str(tmp_path)).publish(earlier)
    served = Served(tmp_path)

    async def ask(client: httpx.AsyncClient) -> None:
        path = SERIES
        answers = await asyncio.gather(*(client.get(path) for _ in range(20)))
        assert len({it.headers["etag"] for it in answers}) == 1
        assert served.chronicle.num_asked == 1
        served.catalog.publish([newest])
        again = await client.get(path)
        assert again.headers["etag"] != answers[0].headers["etag"]
        assert served.chronicle.num_asked == 2

    served.asked(ask)


def test_a_history_that_is_not_whole(demo_catalog: Path) -> None:
    """A series is told by the totals of its revisions; a package must wait, and is told so."""
    served = Served(demo_catalog, is_missing=True)

    async def ask(client: httpx.AsyncClient) -> None:
        feed = read_feed((await client.get(SERIES)).content)
        assert "before" in feed.entries[0].title
        refused = await client.get("/feeds/develop-DATE/hdf5.atom")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "cachelog history fill" in refused.text

    served.asked(ask)


def test_a_content_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed tells the numbers without the story; it is not kept, as that may get better."""
    snapshots = [it for it in demo(revisions=4, packages=4, specs=20) if "-" in it.tag]
    Catalog(str(tmp_path)).publish(snapshots)
    served = Served(tmp_path)
    points = served.chronicle.growth(served.catalog.history, "develop-DATE")
    monkeypatch.setattr(served.chronicle, "growth", lambda *_: points)
    files = {it: it.read_bytes() for it in (tmp_path / "specs").rglob("*.parquet")}

    async def ask(client: httpx.AsyncClient) -> None:
        for file in files:
            file.write_bytes(b"no parquet")
        damaged = read_feed((await client.get(SERIES)).content)
        assert served.responses.num_bytes == 0
        for file, content in files.items():
            file.write_bytes(content)
        mended = read_feed((await client.get(SERIES)).content)
        assert served.responses.num_bytes > 0
        assert [it.title for it in damaged.entries] == [it.title for it in mended.entries]
        assert "<h3>" in mended.entries[0].content[0].value
        assert "<h3>" not in damaged.entries[0].content[0].value

    served.asked(ask)
    assert "no parquet" not in caplog.text
    assert caplog.records


def test_changes_that_cannot_be_read(demo_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series is told by the totals of its revisions; a package is refused, without a place."""
    served = Served(demo_catalog)

    def fail(*_arguments: object) -> Any:
        raise CatalogError(str(demo_catalog), "the table changes is damaged")

    monkeypatch.setattr(served.chronicle, "growth", fail)
    monkeypatch.setattr(served.chronicle, "package_timeline", fail)

    async def ask(client: httpx.AsyncClient) -> None:
        feed = read_feed((await client.get(SERIES)).content)
        assert "before" in feed.entries[0].title
        assert served.responses.num_bytes == 0
        refused = await client.get("/feeds/develop-DATE/hdf5.atom")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert refused.text == "the catalog cannot be read at the moment\n"

    served.asked(ask)


def test_a_full_lane_refuses(demo_catalog: Path) -> None:
    """With status 503, and when to come back; later it is made."""
    served = Served(demo_catalog, queue_seconds=0.01)

    async def ask(client: httpx.AsyncClient) -> None:
        release = asyncio.Event()
        blocking = [
            asyncio.create_task(served.lanes.loading.run(lambda: _wait(release))) for _ in range(2)
        ]
        await asyncio.sleep(0)
        refused = await client.get(SERIES)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        release.set()
        await asyncio.gather(*blocking)
        assert (await client.get(SERIES)).status_code == 200

    served.asked(ask)


def _wait(release: asyncio.Event) -> None:
    while not release.is_set():
        sleep(0.01)


def test_clients_may_ask_so_often(demo_catalog: Path) -> None:
    """Feeds count as other requests do."""
    served = Served(demo_catalog, requests=2)

    async def ask(client: httpx.AsyncClient) -> None:
        statuses = [(await client.get("/feeds/x.atom")).status_code for _ in range(3)]
        assert statuses == [404, 404, 429]

    served.asked(ask)


def test_what_has_to_be_made_costs(demo_catalog: Path) -> None:
    """As queries do that load as much; what is kept is free."""
    served = Served(demo_catalog, cost=150_000)

    async def ask(client: httpx.AsyncClient) -> None:
        paths = (SERIES, SERIES, "/feeds/develop.atom", SERIES, "/feeds/vX.Y.Z.atom")
        statuses = [(await client.get(path)).status_code for path in paths]
        assert statuses == [200, 200, 200, 200, 429]

    served.asked(ask)


def test_nobody_waits_for_longer_than_is_sensible(demo_catalog: Path) -> None:
    """They are told to come back, while it is made; then it is there, made once."""
    served = Served(demo_catalog, seconds=0.1)
    growth = served.chronicle.growth
    release = threading.Event()

    def slow(history: History, series: str) -> list[GrowthPoint]:
        release.wait(20)
        return growth(history, series)

    served.chronicle.growth = slow  # type: ignore[method-assign]

    async def ask(client: httpx.AsyncClient) -> None:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(3)))
        assert {it.status_code for it in answers} == {503}
        assert {it.headers["retry-after"] for it in answers} == {"2"}
        assert "still being made" in answers[0].text
        release.set()
        while (answer := await client.get(SERIES)).status_code == 503:
            await asyncio.sleep(0.01)
        assert read_feed(answer.content).entries
        assert served.chronicle.num_asked == 1

    served.asked(ask)
