"""The endpoint of feeds: what it answers under which address, how often it is made, and 304."""

import asyncio
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history as demo
from tests.server.feeds.endpoints import SERIES, Served
from tests.snapshots.notes.atom.feed_readers import read_feed


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
    digests = [it.digest for it in revisions]
    paths = [f"/compare/{old}...{new}/notes" for new, old in pairwise(digests)]
    links = [it.links[0] for it in feed.entries]
    assert [url.join(it.href).path for it in links] == [*paths, f"/r/{digests[-1]}"]
    assert {it.type for it in links} == {"text/html"}


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
    links = [url.join(it.links[0].href) for it in feed.entries]
    assert (
        links[-1].path
        == f"/r/{served.catalog.history.of_series('develop-DATE')[-1].digest}/packages/{name}"
    )
    assert all(it.path.endswith("/specs") and it.params["packages"] == name for it in links[:-1])


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
def test_an_unknown_feed_is_not_found(demo_catalog: Path, path: str, text: str) -> None:
    """404 with the reason in a line, and the names that are near."""
    answer = Served(demo_catalog).get(path)
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    assert text in answer.text
    assert len(answer.text) < 700
    assert answer.text.rstrip("\n").isprintable()


@pytest.mark.anyio
async def test_other_methods_are_refused(demo_catalog: Path) -> None:
    """405 with those that are allowed; HEAD is answered as GET is, without a body."""
    async with Served(demo_catalog).client() as client:
        refused = await client.post(SERIES)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        head, whole = await client.head(SERIES), await client.get(SERIES)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers == whole.headers


@pytest.mark.anyio
async def test_a_known_feed_is_not_sent_again(demo_catalog: Path) -> None:
    """304 for its ETag, which each coding has of its own, else for its exact moment."""
    async with Served(demo_catalog).client() as client:
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
async def test_a_feed_is_made_once_until_the_catalog_changes(tmp_path: Path) -> None:
    """For all requests; after a new revision it is another one."""
    *earlier, newest = (it for it in demo(revisions=4, packages=4, specs=20) if "-" in it.tag)
    Catalog(str(tmp_path)).publish(earlier)
    served = Served(tmp_path)
    async with served.client() as client:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(20)))
        assert len({it.headers["etag"] for it in answers}) == 1
        assert served.chronicle.num_asked == 1
        served.catalog.publish([newest])
        again = await client.get(SERIES)
        assert again.headers["etag"] != answers[0].headers["etag"]
        assert served.chronicle.num_asked == 2


@pytest.mark.anyio
async def test_kept_feeds_are_counted_in_every_coding(demo_catalog: Path) -> None:
    """A feed that was compressed for a client takes more bytes from then on."""
    served = Served(demo_catalog)
    async with served.client() as client:
        await client.get(SERIES, headers={"accept-encoding": "identity"})
        plain = served.responses.num_bytes
        for _ in range(2):
            packed = await client.get(SERIES, headers={"accept-encoding": "gzip"})
            size = int(packed.headers["content-length"])
            assert served.responses.num_bytes == plain + size
