"""Following a catalog: what is logged of an outage, and what is known of it."""

import asyncio
import logging
from itertools import count
from pathlib import Path

import pytest

from server import watch as watching
from server.watch import CatalogWatch
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError


@pytest.fixture
def watch(demo_catalog: Path, caplog: pytest.LogCaptureFixture) -> CatalogWatch:
    """Return a watch over a catalog, which is looked at by hand; its log is captured."""
    caplog.set_level(logging.INFO, "cachelog")
    return CatalogWatch(Catalog(str(demo_catalog)), seconds=3_600)


def test_new_revisions_are_logged_once(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A look that finds nothing new says nothing."""
    assert watch.problem == "not looked yet"
    for _ in range(3):
        watch.look()
    assert watch.problem is None
    assert caplog.messages == ["the catalog has 5 revisions"]


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at every look, though a store's text has another request id each time."""
    requests = count(1)

    def failing(_catalog: Catalog, **_: object) -> bool:
        raise CatalogError("s3://bucket/x", f"connection refused (request {next(requests)})")

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "refresh", failing)
        for number in range(1, 4):
            watch.look()
            assert watch.problem == f"connection refused (request {number})"
    watch.look()
    assert watch.problem is None
    assert caplog.messages == [
        "catalog s3://bucket/x: connection refused (request 1)",
        "the catalog can be read again; it has 5 revisions",
    ]
    monkeypatch.setattr(Catalog, "refresh", failing)
    watch.look()
    assert len(caplog.messages) == 3


def test_an_unexpected_fault_is_logged_once_too(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its details, under the id that is shown to others."""

    def failing(_catalog: Catalog, **_: object) -> bool:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr(Catalog, "refresh", failing)
    watch.look()
    shown = watch.problem
    watch.look()
    assert shown is not None
    assert watch.problem == shown
    assert "secret" not in shown
    (message,) = caplog.messages
    assert message.endswith("the secret of the house")


def test_looking_goes_on_until_the_end(demo_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look is over before anything is served; none comes after the end."""
    looks: list[None] = []
    monkeypatch.setattr(CatalogWatch, "look", lambda _self: looks.append(None))

    async def run() -> None:
        async with CatalogWatch(Catalog(str(demo_catalog)), seconds=0.001).running():
            assert len(looks) == 1
            while len(looks) < 4:
                await asyncio.sleep(0.001)
        at_the_end = len(looks)
        await asyncio.sleep(0.02)
        assert len(looks) == at_the_end

    asyncio.run(run())


def test_looking_goes_on_whatever_keeps_it_from_preparing(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Questions to the past would only be answered a little sooner."""
    looks: list[None] = []
    monkeypatch.setattr(CatalogWatch, "look", lambda _self: looks.append(None))
    monkeypatch.setattr(watching, "prepare", lambda _catalog: 1 / 0)
    watch = CatalogWatch(Catalog(str(demo_catalog)), seconds=0.001)

    async def run() -> None:
        async with watch.running():
            while len(looks) < 3:
                await asyncio.sleep(0.001)

    asyncio.run(run())
    (message,) = caplog.messages
    assert message.endswith("division by zero")
