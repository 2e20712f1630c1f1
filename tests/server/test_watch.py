"""Following a catalog: the log of outages, and of new revisions."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import orjson
import pytest
from starlette.requests import Request

from server import watch as watching
from server.watch import CatalogWatch, ready
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Run, RunKind, RunResult
from snapshots.errors import CatalogError
from tests.snapshots.factories import a_snapshot, a_spec, day


@pytest.fixture
def watch(demo_catalog: Path, caplog: pytest.LogCaptureFixture) -> CatalogWatch:
    """Return a watch of a catalog that only looks on demand; its log is captured."""
    caplog.set_level(logging.INFO, "cachelog")
    return CatalogWatch(Catalog(str(demo_catalog)), seconds=3_600)


def test_new_revisions_are_logged_once(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A look without new revisions logs nothing."""
    assert watch.problem == "the catalog has not been read yet"
    for _ in range(3):
        watch.look()
    assert watch.problem is None
    assert caplog.messages == ["the catalog has 5 revisions"]


def test_outage_is_logged_at_its_start_and_end(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at each look, although each message of a store has another request id."""
    requests = count(1)

    def fail(_catalog: Catalog, **_: object) -> bool:
        raise CatalogError("s3://bucket/x", f"connection refused (request {next(requests)})")

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "refresh", fail)
        for number in range(1, 4):
            watch.look()
            assert watch.problem == f"connection refused (request {number})"
    watch.look()
    assert watch.problem is None
    assert caplog.messages == [
        "catalog s3://bucket/x: connection refused (request 1)",
        "the catalog can be read again; it has 5 revisions",
    ]
    monkeypatch.setattr(Catalog, "refresh", fail)
    watch.look()
    assert len(caplog.messages) == 3


def test_unexpected_error_is_logged_once(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its details, under the id that clients see."""

    def fail(_catalog: Catalog, **_: object) -> bool:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr(Catalog, "refresh", fail)
    watch.look()
    problem = watch.problem
    watch.look()
    assert problem is not None
    assert watch.problem == problem
    assert "secret" not in problem
    (message,) = caplog.messages
    assert message.endswith("the secret of the house")


def test_looks_until_the_end(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first precedes the first request; none follows the end; failed preparation ends none."""
    looks: list[None] = []
    monkeypatch.setattr(CatalogWatch, "look", lambda _self: looks.append(None))
    monkeypatch.setattr(watching, "prepare", lambda _catalog: 1 / 0)

    async def run() -> None:
        async with CatalogWatch(Catalog(str(demo_catalog)), seconds=0.001).running():
            assert len(looks) == 1
            while len(looks) < 4:
                await asyncio.sleep(0.001)
        num_looks = len(looks)
        await asyncio.sleep(0.02)
        assert len(looks) == num_looks

    asyncio.run(run())
    (message,) = caplog.messages
    assert message.endswith("division by zero")


def test_failing_runs_are_listed(tmp_path: Path) -> None:
    """With those that are ready, until the next success."""
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot([a_spec("a")], "develop", day(0))])
    now = datetime.now(UTC)
    for hours in (3, 2):
        run = Run(
            kind=RunKind.IMPORT, subject="index.json", started_at=now - timedelta(hours=hours)
        )
        run.result = RunResult.FAILED
        catalog.runs.add(run)
    watch = CatalogWatch(Catalog(str(tmp_path)), seconds=3_600)
    watch.look()
    response = asyncio.run(ready(watch, Request({"type": "http"})))
    body = orjson.loads(response.body)
    assert body == {"status": "ready", "revisions": 1, "failing": ["import index.json"]}
