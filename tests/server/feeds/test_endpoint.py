"""The endpoint of feeds: contents by URL, caching, and 304."""

import asyncio
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history as demo
from tests.server.feeds.endpoints import SERIES, FeedsOf
from tests.snapshots.notes.atom.feed_readers import read_feed


def test_feed_of_a_series_has_all_revisions(demo_catalog: Path) -> None:
    """It is valid, with one entry per revision, stories, and links relative to its URL."""
    feeds = FeedsOf(demo_catalog)
    answer = feeds.get(SERIES)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    feed = read_feed(answer.content)
    revisions = feeds.catalog.history.of_series("develop-DATE")
    assert [entry.tags[0].term for entry in feed.entries] == [
        revision.tag for revision in revisions
    ]
    assert "<h3>" in feed.entries[0].content[0].value
    assert "<h3>" not in feed.entries[-1].content[0].value
    url = httpx.URL("http://test" + SERIES)
    assert url.join(feed.feed.links[0].href) == url
    digests = [revision.digest for revision in revisions]
    paths = [f"/compare/{old}...{new}/notes" for new, old in pairwise(digests)]
    links = [entry.links[0] for entry in feed.entries]
    assert [url.join(link.href).path for link in links] == [*paths, f"/r/{digests[-1]}"]
    assert {link.type for link in links} == {"text/html"}


def test_feed_of_a_package_has_its_changes(demo_catalog: Path) -> None:
    """One entry for each revision that changed it, without loading a revision."""
    feeds = FeedsOf(demo_catalog)
    newest, *_, oldest = feeds.catalog.history.of_series("develop-DATE")
    name = feeds.catalog.reader().frame(newest.digest).packages[0]
    answer = feeds.get(f"/feeds/develop-DATE/{name}.atom")
    feed = read_feed(answer.content)
    assert feed.entries[-1].title.startswith(f"{name}: added, ")
    assert feeds.library.frames.num_cached == 0
    url = httpx.URL(f"http://test/feeds/develop-DATE/{name}.atom")
    assert url.join(feed.feed.links[0].href) == url
    links = [url.join(entry.links[0].href) for entry in feed.entries]
    assert links[-1].path == f"/r/{oldest.digest}/packages/{name}"
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
        (f"{SERIES}?after=nothing", "no entry of this feed is that of such a revision"),
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


@pytest.mark.anyio
async def test_other_methods_are_not_allowed(demo_catalog: Path) -> None:
    """405 with the allowed ones; HEAD is GET without the body."""
    async with FeedsOf(demo_catalog).client() as client:
        rejected = await client.post(SERIES)
        assert (rejected.status_code, rejected.headers["allow"]) == (405, "GET, HEAD")
        head, response = await client.head(SERIES), await client.get(SERIES)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers == response.headers


@pytest.mark.anyio
async def test_unmodified_feed_is_not_sent(demo_catalog: Path) -> None:
    """304 for its ETag, which differs by coding, or else for its exact time."""
    async with FeedsOf(demo_catalog).client() as client:
        first = await client.get(SERIES)
        etag, modified = first.headers["etag"], first.headers["last-modified"]
        assert modified.endswith(" GMT")
        plain = await client.get(SERIES, headers={"accept-encoding": "identity"})
        assert plain.headers["etag"] != etag
        for headers, status in (
            ({"if-none-match": etag}, 304),
            ({"if-none-match": "*"}, 304),
            ({"if-none-match": '"x"', "if-modified-since": modified}, 200),
            ({"if-modified-since": modified}, 304),
            ({"if-modified-since": "Sun, 06 Nov 2044 08:49:37 GMT"}, 200),
            ({"if-modified-since": "x"}, 200),
        ):
            answer = await client.get(SERIES, headers=headers)
            assert answer.status_code == status, headers
            assert bool(answer.content) == (status == 200)
            assert answer.headers["last-modified"] == modified


@pytest.mark.anyio
async def test_feed_is_computed_once_per_revision(tmp_path: Path) -> None:
    """For all requests; a new revision changes it."""
    *earlier, newest = (
        snapshot for snapshot in demo(revisions=4, packages=4, specs=20) if "-" in snapshot.tag
    )
    Catalog(str(tmp_path)).publish(earlier)
    feeds = FeedsOf(tmp_path)
    async with feeds.client() as client:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(20)))
        assert len({answer.headers["etag"] for answer in answers}) == 1
        assert feeds.queries.call_count == 1
        feeds.catalog.publish([newest])
        second = await client.get(SERIES)
        assert second.headers["etag"] != answers[0].headers["etag"]
        assert feeds.queries.call_count == 2


@pytest.mark.anyio
async def test_cached_feeds_are_measured_in_all_codings(demo_catalog: Path) -> None:
    """A feed that is compressed for a client takes more bytes from then on."""
    feeds = FeedsOf(demo_catalog)
    async with feeds.client() as client:
        await client.get(SERIES, headers={"accept-encoding": "identity"})
        plain = feeds.responses.num_bytes
        for _ in range(2):
            compressed = await client.get(SERIES, headers={"accept-encoding": "gzip"})
            size = int(compressed.headers["content-length"])
            assert feeds.responses.num_bytes == plain + size
