"""Following a catalog: what is published is seen, and an idle catalog costs next to nothing."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog, Follower
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.keeping import publish

ROUND = 6
"""So many calls of ``refresh`` send each kind of request."""


@pytest.fixture(scope="module")
def store(emulator: Emulator) -> Iterator[Emulator]:
    """Return a running emulator, which is found by the environment."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in emulator.variables().items():
            patched.setenv(name, value)
        yield emulator


def test_an_idle_catalog_in_a_bucket(store: Emulator) -> None:
    """A look is one request; what is published is seen at the second one."""
    publisher = Catalog("s3://bucket/idle")
    publish(publisher, 0, 0)
    reader = Catalog(publisher.location)
    follower = Follower(reader)
    assert follower.refresh()
    for number in range(1, 3):
        for _ in range(ROUND + number):  # so that each has its turn after an import
            follower.refresh()
        before = store.num_requests()
        assert [follower.refresh() for _ in range(8)] == [False] * 8
        requests = store.requests()[before:]
        assert len(requests) == 8
        assert all(it.startswith("GET /bucket/idle/") and "_delta_log/" in it for it in requests)
        publish(publisher, number, number)
        assert sorted(follower.refresh() for _ in range(2)) == [False, True]
        assert reader.history.revisions == publisher.history.revisions
        assert reader.counts == publisher.counts


@pytest.mark.usefixtures("store")
def test_history_alone() -> None:
    """What is kept of revisions that were there before is seen when its log has its turn."""
    publisher = Catalog("s3://bucket/filled")
    for number in range(2):
        publish(publisher, number, number)
    reader = Catalog(publisher.location)
    follower = Follower(reader)
    for _ in range(ROUND):
        follower.refresh()
    state, known = reader.state, dict(reader.counts)
    made = [it for it in publisher.history.pairs if it in known]
    assert made
    for table in HISTORY_TABLES:
        remove_table(publisher, table)
    for _ in range(ROUND):
        follower.refresh()
    assert reader.counts == {}
    assert reader.state > state


def remove_table(catalog: Catalog, table: str) -> None:
    """Remove all files of a table."""
    for path in catalog.storage.find(table):
        catalog.storage.remove(f"{table}/{path}")


@pytest.mark.usefixtures("store")
def test_a_catalog_in_the_place_of_another() -> None:
    """It is seen, though its commits have the same versions, names and sizes."""
    first = Catalog("s3://bucket/replaced")
    publish(first, 0, 0)
    reader = Catalog(first.location)
    follower = Follower(reader)
    for _ in range(ROUND):
        follower.refresh()
    before = first.storage.sizes("revisions/_delta_log")
    for table in ("revisions", "specs", *HISTORY_TABLES):
        remove_table(first, table)
    second = Catalog(first.location)
    publish(second, 1, 1)
    assert second.storage.sizes("revisions/_delta_log") == before
    assert any(follower.refresh() for _ in range(ROUND))
    assert reader.history.revisions == second.history.revisions


def test_an_outage(store: Emulator) -> None:
    """A look fails soon, with the store's own reason; what was known stays, and it goes on."""
    publisher = Catalog("s3://bucket/outage")
    publish(publisher, 0, 0)
    reader = Catalog(publisher.location, retry_seconds=0.2)
    follower = Follower(reader)
    for _ in range(ROUND):
        follower.refresh()
    known = reader.history
    with store.failing():
        assert httpx.get(store.url).status_code == 503
        for _ in range(ROUND):
            with pytest.raises(CatalogError, match=r"503 Service Unavailable|Out of order"):
                follower.refresh()
        with pytest.raises(CatalogError):
            reader.load(known.revisions[0].digest)
    assert reader.history is known
    publish(publisher, 1, 1)
    assert any([follower.refresh(), follower.refresh()])
    assert len(reader.history.of_tag("develop")) == 2


def test_a_folder(tmp_path: Path) -> None:
    """Each look is a whole one: there is no store to spare."""
    catalog = Catalog(str(tmp_path / "catalog"))
    follower = Follower(Catalog(catalog.location))
    with pytest.raises(NoCatalog):
        follower.refresh()
    publish(catalog, 0, 0)
    assert [follower.refresh(), follower.refresh()] == [True, False]


@pytest.mark.usefixtures("store")
def test_no_catalog_yet() -> None:
    """In a bucket without a catalog each look says so, until there is one."""
    catalog = Catalog("s3://bucket/nothing-yet")
    follower = Follower(Catalog(catalog.location))
    for _ in range(ROUND):
        with pytest.raises(NoCatalog):
            follower.refresh()
    publish(catalog, 0, 0)
    assert follower.refresh()
