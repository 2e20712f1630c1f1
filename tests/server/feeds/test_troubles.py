"""Feeds where something is missing, damaged, or too much."""

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.demo import history as demo
from snapshots.errors import CatalogError
from snapshots.history import History
from snapshots.timelines.growth import Growth
from tests.server.feeds.endpoints import SERIES, Served
from tests.snapshots.catalog.pasts import forget_stories
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.notes.atom.feed_readers import read_feed

pytestmark = pytest.mark.anyio


async def test_an_incomplete_history(demo_catalog: Path) -> None:
    """A series has the totals of its revisions; a package is refused for the moment."""
    async with Served(demo_catalog, is_missing=True).client() as client:
        feed = read_feed((await client.get(SERIES)).content)
        assert "before" in feed.entries[0].title
        refused = await client.get("/feeds/develop-DATE/hdf5.atom")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "cachelog history fill" in refused.text


async def test_a_content_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed has the numbers without the story, and is not kept, as that may get better."""
    snapshots = [it for it in demo(revisions=4, packages=4, specs=20) if "-" in it.tag]
    Catalog(str(tmp_path)).publish(snapshots)
    forget_stories(str(tmp_path))
    served = Served(tmp_path)
    points = served.chronicle.growth(served.catalog.history, "develop-DATE")
    monkeypatch.setattr(served.chronicle, "growth", lambda *_: points)
    files = {it: it.read_bytes() for it in (tmp_path / "specs").rglob("*.parquet")}

    async with served.client() as client:
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
    assert "no parquet" not in caplog.text
    assert caplog.records


async def test_a_series_that_returns_to_a_content(tmp_path: Path) -> None:
    """Two steps between the same contents are two entries with stories; the feed is complete."""
    contents = [a_spec("1")], [a_spec("2")]
    Catalog(str(tmp_path)).publish(
        [a_snapshot(contents[number % 2], taken_at=day(number)) for number in range(4)]
    )
    served = Served(tmp_path)
    async with served.client() as client:
        feed = read_feed((await client.get("/feeds/develop.atom")).content)
    assert ["<h3>" in it.content[0].value for it in feed.entries] == [True, True, True, False]
    assert served.responses.num_bytes > 0


def test_a_feed_of_kept_stories_is_that_of_made_ones(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And explains nothing; a catalog without stories has them made."""
    folder = shutil.copytree(demo_catalog, tmp_path / "catalog")
    with monkeypatch.context() as patched:
        patched.setattr(Library, "explain", None)
        kept = Served(folder).get(SERIES)
    assert "<h3>" in read_feed(kept.content).entries[0].content[0].value
    forget_stories(str(folder))
    assert Served(folder).get(SERIES).content == kept.content


async def test_changes_that_cannot_be_read(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A series has the totals of its revisions; a package is refused, without a location."""
    served = Served(demo_catalog)

    def fail(*_arguments: object) -> Any:
        raise CatalogError(str(demo_catalog), "the table changes is damaged")

    monkeypatch.setattr(served.chronicle, "growth", fail)
    monkeypatch.setattr(served.chronicle, "package_timeline", fail)
    async with served.client() as client:
        feed = read_feed((await client.get(SERIES)).content)
        assert "before" in feed.entries[0].title
        assert served.responses.num_bytes == 0
        refused = await client.get("/feeds/develop-DATE/hdf5.atom")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert refused.text == "the catalog cannot be read at the moment\n"


async def test_a_full_lane_refuses(demo_catalog: Path) -> None:
    """With status 503 and a time to come back."""
    served, release = Served(demo_catalog, queue_seconds=0.01), threading.Event()
    async with served.client() as client:
        loading = served.lanes.loading
        blocking = [asyncio.create_task(loading.run(lambda: release.wait(20))) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await client.get(SERIES)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        release.set()
        await asyncio.gather(*blocking)
        assert (await client.get(SERIES)).status_code == 200


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
async def test_feeds_count_as_other_requests(
    demo_catalog: Path, limits: dict[str, int], paths: list[str], statuses: list[int]
) -> None:
    """What is made costs as queries do that load as much; what is kept is free."""
    async with Served(demo_catalog, **limits).client() as client:  # type: ignore[arg-type]
        assert [(await client.get(path)).status_code for path in paths] == statuses


async def test_a_feed_that_takes_long_is_retried(demo_catalog: Path) -> None:
    """Clients come back while it is made, once for all of them."""
    served = Served(demo_catalog, seconds=0.1)
    growth = served.chronicle.growth
    release = threading.Event()

    def slow(history: History, series: str) -> Growth:
        release.wait(20)
        return growth(history, series)

    served.chronicle.growth = slow  # type: ignore[method-assign]
    async with served.client() as client:
        answers = await asyncio.gather(*(client.get(SERIES) for _ in range(3)))
        assert {it.status_code for it in answers} == {503}
        assert {it.headers["retry-after"] for it in answers} == {"2"}
        assert "still being made" in answers[0].text
        release.set()
        while (answer := await client.get(SERIES)).status_code == 503:
            await asyncio.sleep(0.01)
        assert read_feed(answer.content).entries
        assert served.chronicle.num_asked == 1
