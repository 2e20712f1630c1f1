"""The endpoint of feeds over a small catalog, without a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest

from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseCache, ResponseSender
from server.asgi.single_flight import SingleFlight
from server.feeds import FeedsEndpoint
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache
from snapshots.catalog.library import Library
from snapshots.demo import develop_history
from snapshots.recipes.commits import Commit, Recipes, RecipesOrigin
from tests.demo_histories import history
from tests.server.pages.recipes import REPOSITORY, import_recipes
from tests.server.servers import application
from tests.snapshots.changes.graphs import node
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.notes.atom.feed_readers import read_feed

SERIES = "/feeds/develop-DATE.atom"
SMALL = list(history(revisions=4, packages=4, specs=20))


class FeedsOf:
    """The endpoint over a catalog, without a server; ``queries`` are those of the history."""

    def __init__(self, folder: Path, public_url: str = "") -> None:
        self.catalog = Catalog(str(folder))
        self.catalog.refresh(missing_ok=True)
        self.library = Library(self.catalog)
        history = HistoryCache(self.catalog, self.library)
        self.queries = mock.Mock(wraps=history.get)
        history.get = self.queries  # type: ignore[method-assign]
        self.lanes = Lanes.of_server()
        self.responses = ResponseCache(1 << 24)
        self.endpoint = FeedsEndpoint(
            self.catalog,
            self.library,
            history,
            ResponseSender(self.responses, self.lanes.light),
            self.lanes,
            public_url,
            SingleFlight("feed", seconds=10, outlasts=True),
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Return a client; the lanes are closed with it."""
        transport = httpx.ASGITransport(self.endpoint)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                yield client
        finally:
            self.lanes.close()

    def get(self, path: str) -> httpx.Response:
        """Return the response to one request."""

        async def respond() -> httpx.Response:
            async with self.client() as client:
                return await client.get(path)

        return asyncio.run(respond())


# -- contents and caching


pytestmark = pytest.mark.anyio


def test_feed_of_a_series_has_all_revisions(demo_catalog: Path) -> None:
    """It is valid, with one entry per revision, and absolute links; no content is loaded."""
    feeds = FeedsOf(demo_catalog)
    answer = feeds.get(SERIES)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    feed = read_feed(answer.content)
    revisions = feeds.catalog.history.of_series("develop-DATE")
    assert [entry.tags[0].term for entry in feed.entries] == [each.tag for each in revisions]
    assert feeds.library.frames.num_bytes == 0
    assert "<li>" in feed.entries[0].content[0].value
    assert feed.feed.links[0].href == "http://test" + SERIES
    refs = [revision.ref for revision in revisions]
    paths = [f"compare/{old}...{new}/notes" for new, old in pairwise(refs)]
    links = [entry.links[0] for entry in feed.entries]
    expected = [f"http://test/{path}" for path in (*paths, f"r/{refs[-1]}")]
    assert [link.href for link in links] == expected
    assert {link.type for link in links} == {"text/html"}


async def test_links_begin_with_the_public_url(demo_catalog: Path) -> None:
    """Or with the address of the request, or with a slash if that is none."""
    public = "https://example.org/cache/"
    for feeds, headers, root in (
        (FeedsOf(demo_catalog, public), {"host": "elsewhere"}, public),
        (FeedsOf(demo_catalog), {"host": "one.example.org:8000"}, "http://one.example.org:8000/"),
        (FeedsOf(demo_catalog), {"host": "a b"}, "/"),
    ):
        async with feeds.client() as client:
            answer = await client.get(SERIES, headers=headers)
        feed = read_feed(answer.content)
        assert feed.feed.links[0].href == f"{root}feeds/develop-DATE.atom"
        assert all(entry.links[0].href.startswith(root) for entry in feed.entries)


def test_feed_of_a_package_has_its_changes(demo_catalog: Path) -> None:
    """One entry for each revision that changed it, without loading a revision."""
    feeds = FeedsOf(demo_catalog)
    newest, *_, oldest = feeds.catalog.history.of_series("develop-DATE")
    name = feeds.catalog.reader().frame(newest.digest).packages[0]
    answer = feeds.get(f"/feeds/develop-DATE/{name}.atom")
    feed = read_feed(answer.content)
    assert feeds.library.frames.num_bytes == 0
    url = httpx.URL(f"http://test/feeds/develop-DATE/{name}.atom")
    assert url.join(feed.feed.links[0].href) == url
    links = [url.join(entry.links[0].href) for entry in feed.entries]
    assert links[-1].path == f"/r/{oldest.ref}/packages/{name}"
    for link in links[:-1]:
        assert link.path.endswith("/specs")
        assert link.params["packages"] == name


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/feeds/develop-DAT.atom", "there is no series 'develop-DAT'; nearest: develop-DATE"),
        ("/feeds/%00%1b.atom", "there is no series "),
        ("/feeds/develop-DATE/hdf55.atom", "no revision of develop-DATE has a package 'hdf55'"),
        ("/feeds/develop-DATE/a%2Fb.atom", "'a/b' cannot be a package"),
        (f"/feeds/develop-DATE/{'x' * 201}.atom", "x' cannot be a package"),
        ("/feeds/.atom", "feeds are at "),
        ("/feeds/develop-DATE", "feeds are at "),
        (f"{SERIES}?after=nothing", "no entry of this feed follows that of such a revision"),
        (f"/feeds/{'x' * 5_000}.atom", "there is no series "),
    ],
)
def test_unknown_feed_is_not_found(demo_catalog: Path, path: str, text: str) -> None:
    """404 with the reason in one line, and the nearest names."""
    answer = FeedsOf(demo_catalog).get(path)
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    assert text in answer.text
    assert len(answer.text) < 700
    assert answer.text.rstrip("\n").isprintable()


async def test_head_is_get_without_a_body(demo_catalog: Path) -> None:
    """With the same headers."""
    async with FeedsOf(demo_catalog).client() as client:
        head, response = await client.head(SERIES), await client.get(SERIES)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == response.headers


def test_other_methods_are_not_allowed(demo_catalog: Path) -> None:
    """405 with the allowed ones."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        refused = client.post(SERIES)
    assert refused.status_code == 405
    assert {*refused.headers["allow"].split(", ")} == {"GET", "HEAD"}


async def test_unmodified_feed_is_not_sent(demo_catalog: Path) -> None:
    """304 for its ETag, which differs by coding."""
    async with FeedsOf(demo_catalog).client() as client:
        etag = (await client.get(SERIES)).headers["etag"]
        plain = await client.get(SERIES, headers={"accept-encoding": "identity"})
        assert plain.headers["etag"] != etag
        for tag, status in ((etag, 304), ("*", 304), ('"x"', 200)):
            answer = await client.get(SERIES, headers={"if-none-match": tag})
            assert answer.status_code == status, tag
            assert bool(answer.content) == (status == 200)


async def test_feed_is_computed_once_per_revision(tmp_path: Path) -> None:
    """For all requests; a new revision changes it."""
    *earlier, newest = (snapshot for snapshot in SMALL if "-" in snapshot.tag)
    Catalog(str(tmp_path)).publish(earlier)
    feeds = FeedsOf(tmp_path)
    async with feeds.client() as client:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(20)))
        assert len({answer.headers["etag"] for answer in answers}) == 1
        assert feeds.queries.call_count == 1
        feeds.catalog.publish([newest])
        assert (await client.get(SERIES)).headers["etag"] != answers[0].headers["etag"]


# -- a real server


def test_commits_imported_later_update_entries(tmp_path: Path) -> None:
    """An entry gets their pull requests later, and a new modification time."""
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.publish(list(develop_history(revisions=2, packages=6, specs=30)))

    def newest() -> Any:
        feed = FeedsOf(tmp_path / "catalog").get("/feeds/develop.atom")
        return read_feed(feed.content).entries[0]

    before = newest()
    assert "/pull/" not in before.content[0].value
    import_recipes(catalog, sorted(catalog.package_names()))
    after = newest()
    assert f'<a href="{REPOSITORY}/pull/' in after.content[0].value
    moments = [datetime.fromisoformat(entry.updated) for entry in (before, after)]
    recorded = catalog.recipes.recorded_at
    revisions = catalog.history.of_series("develop")
    assert moments[0] < moments[1] == max(filter(None, map(recorded, revisions)))


@pytest.mark.parametrize(
    ("package", "cause"),
    [
        ("lib", "lib: fix an argument (spack-packages#12)"),
        ("app", "lib: fix an argument (spack-packages#12)"),
    ],
)
def test_feed_of_a_package_names_the_cause(tmp_path: Path, package: str, cause: str) -> None:
    """By the pull request, if one commit changed the recipe."""
    before, after = (
        [
            node(f"lib:{n}", package_hash=n * 32),
            node(f"app:{n}", f"lib:{n}"),
        ]
        for n in "ab"
    )
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot(before, "develop", day(0)), a_snapshot(after, "develop", day(1))])
    commits = [
        Commit("a" * 40, (), day(0), "lib: something before (#11)", ("lib",)),
        Commit("b" * 40, ("a" * 40,), day(1), "lib: fix an argument (#12)", ("lib",)),
    ]
    newest, oldest = catalog.history.revisions
    recipes = {
        revision: Recipes(REPOSITORY, commit.oid, RecipesOrigin.GIVEN)
        for revision, commit in zip((oldest, newest), commits, strict=True)
    }
    catalog.recipes.keep(recipes, {recipes[newest].source: commits})
    feed = read_feed(FeedsOf(tmp_path).get(f"/feeds/develop/{package}.atom").content)
    assert feed.entries[0].title.startswith(f"{package}: ")
    assert f" because of {cause}, in develop of " in feed.entries[0].title
    assert feed.entries[0].summary.endswith(f" Because of {cause}: 1 spec.")
