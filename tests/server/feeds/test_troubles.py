"""Feeds where something is missing, damaged, or too much: told as far as that goes."""

import asyncio
import shutil
import threading
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.demo import history as demo
from snapshots.errors import CatalogError
from snapshots.history import History
from snapshots.timelines.growth import Growth
from tests.server.feeds.endpoints import SERIES, Served
from tests.snapshots.catalog.pasts import forget_stories
from tests.snapshots.notes.atom.reading import read_feed


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
    forget_stories(str(tmp_path))
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


def test_a_feed_of_what_is_kept_is_that_of_what_is_made(
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

    def slow(history: History, series: str) -> Growth:
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
