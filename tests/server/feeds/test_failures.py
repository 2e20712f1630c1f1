"""Feeds with missing or damaged data, and under load."""

import asyncio
import shutil
import threading
from pathlib import Path
from unittest import mock

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.demo import history as demo
from snapshots.errors import CatalogError, IncompleteHistory
from tests.server.feeds.endpoints import SERIES, FeedsOf
from tests.snapshots.catalog.expected_histories import forget_stories
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.notes.atom.feed_readers import read_feed

pytestmark = pytest.mark.anyio


async def test_unreadable_content_has_no_story(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The feed has numbers but no story, and is not cached, as the content may be repaired."""
    snapshots = [
        snapshot for snapshot in demo(revisions=4, packages=4, specs=20) if "-" in snapshot.tag
    ]
    Catalog(str(tmp_path)).publish(snapshots)
    forget_stories(str(tmp_path))
    feeds = FeedsOf(tmp_path)
    files = {path: path.read_bytes() for path in (tmp_path / "specs").rglob("*.parquet")}

    async with feeds.client() as client:
        for file in files:
            file.write_bytes(b"no parquet")
        damaged = read_feed((await client.get(SERIES)).content)
        assert feeds.responses.num_bytes == 0
        for file, content in files.items():
            file.write_bytes(content)
        repaired = read_feed((await client.get(SERIES)).content)
        assert feeds.responses.num_bytes > 0
        titles, others = ([entry.title for entry in feed.entries] for feed in (damaged, repaired))
        assert titles == others
        assert "<h3>" in repaired.entries[0].content[0].value
        assert "<h3>" not in damaged.entries[0].content[0].value
    assert "no parquet" not in caplog.text
    assert caplog.records


async def test_repeated_contents_have_their_own_stories(tmp_path: Path) -> None:
    """Two steps between the same contents are two entries with stories; the feed is complete."""
    contents = [a_spec("1")], [a_spec("2")]
    Catalog(str(tmp_path)).publish(
        [a_snapshot(contents[number % 2], taken_at=day(number)) for number in range(4)]
    )
    feeds = FeedsOf(tmp_path)
    async with feeds.client() as client:
        feed = read_feed((await client.get("/feeds/develop.atom")).content)
    assert ["<h3>" in entry.content[0].value for entry in feed.entries] == [True, True, True, False]
    assert feeds.responses.num_bytes > 0


def test_stored_stories_equal_computed_ones(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They yield the same feed as computed ones, without an explanation."""
    folder = shutil.copytree(demo_catalog, tmp_path / "catalog")
    with monkeypatch.context() as patched:
        patched.setattr(Library, "explain", None)
        stored = FeedsOf(folder).get(SERIES)
    assert "<h3>" in read_feed(stored.content).entries[0].content[0].value
    forget_stories(str(folder))
    assert FeedsOf(folder).get(SERIES).content == stored.content


@pytest.mark.parametrize(
    ("error", "message", "is_cached"),
    [
        (IncompleteHistory(2, 5), "cachelog history fill", True),
        (CatalogError("/private", "is damaged"), "the catalog cannot be read at the moment", False),
    ],
)
async def test_unavailable_changes_leave_totals(
    demo_catalog: Path, error: Exception, message: str, is_cached: bool
) -> None:
    """The feed of a series has totals; that of a package is an error without a location."""
    feeds = FeedsOf(demo_catalog)
    feeds.queries.side_effect = error
    async with feeds.client() as client:
        feed = read_feed((await client.get(SERIES)).content)
        assert "before" in feed.entries[0].title
        assert bool(feeds.responses.num_bytes) is is_cached
        rejected = await client.get("/feeds/develop-DATE/hdf5.atom")
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "2")
        assert message in rejected.text
        assert "/private" not in rejected.text


@pytest.mark.parametrize(
    ("limits", "paths", "statuses"),
    [
        ({"requests": 2}, ["/feeds/x.atom"] * 3, [404, 404, 429]),
        (
            {"cost": 150_000},
            [SERIES, SERIES, "/feeds/develop.atom", SERIES, "/feeds/vX.Y.Z.atom"],
            [200, 200, 200, 200, 429],
        ),
    ],
    ids=["requests", "cost"],
)
async def test_feeds_count_toward_rate_limits(
    demo_catalog: Path, limits: dict[str, int], paths: list[str], statuses: list[int]
) -> None:
    """A computed feed costs as much as a query that loads as much; a cached one is free."""
    async with FeedsOf(demo_catalog, **limits).client() as client:
        assert [(await client.get(path)).status_code for path in paths] == statuses


async def test_slow_feed_is_computed_once(demo_catalog: Path) -> None:
    """Clients get 503 while it is computed once for all of them."""
    feeds = FeedsOf(demo_catalog, seconds=0.1)
    release = threading.Event()
    feeds.queries.side_effect = lambda _: release.wait(20) and mock.DEFAULT
    async with feeds.client() as client:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(3)))
        assert {answer.status_code for answer in answers} == {503}
        assert {answer.headers["retry-after"] for answer in answers} == {"2"}
        assert "still being made" in answers[0].text
        release.set()
        while (response := await client.get(SERIES)).status_code == 503:
            await asyncio.sleep(0.01)
        assert read_feed(response.content).entries
        assert feeds.queries.call_count == 1
