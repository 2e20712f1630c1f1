"""Following a catalog: publications are seen, and polling an idle catalog is cheap."""

from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog, Follower
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.removal_catalogs import publish

ROUND = 6
"""Number of calls of ``refresh`` that send each kind of request."""


def remove_tables(catalog: Catalog, *tables: str) -> None:
    """Remove all files of some tables."""
    for table in tables:
        for path in catalog.storage.find(table):
            catalog.storage.remove(f"{table}/{path}")


def test_catalog_in_a_bucket(bucket: Emulator) -> None:
    """A poll of an idle catalog is one request; the second one sees a publication."""
    publisher = Catalog("s3://bucket/followed")
    reader = Catalog(publisher.location)
    follower = Follower(reader)
    for _ in range(ROUND):
        with pytest.raises(NoCatalog):
            follower.refresh()
    publish(publisher, 0, 0)
    assert follower.refresh()
    for number in range(1, 3):
        for _ in range(ROUND + number):  # so that each kind has its turn after an import
            follower.refresh()
        before = bucket.num_requests()
        assert [follower.refresh() for _ in range(8)] == [False] * 8
        requests = bucket.requests()[before:]
        assert len(requests) == 8
        assert all(
            "/bucket/followed/" in request and "_delta_log/" in request for request in requests
        )
        publish(publisher, number, number)
        assert sorted(follower.refresh() for _ in range(2)) == [False, True]
        assert reader.history.revisions == publisher.history.revisions
        assert reader.changes.counts == publisher.changes.counts != {}
    state = reader.state
    remove_tables(publisher, *HISTORY_TABLES)
    for _ in range(ROUND):
        follower.refresh()
    assert reader.changes.counts == {}
    assert reader.state > state


def test_outage_and_replaced_catalog(bucket: Emulator) -> None:
    """Polls fail soon, and the history remains; a catalog that replaces another is seen."""
    first = Catalog("s3://bucket/replaced")
    publish(first, 0, 0)
    reader = Catalog(first.location, retry_seconds=0.2)
    follower = Follower(reader)
    for _ in range(ROUND):
        follower.refresh()
    history = reader.history
    with bucket.failing():
        assert httpx.get(bucket.url).status_code == 503
        for _ in range(ROUND):
            with pytest.raises(CatalogError, match=r"503 Service Unavailable|Out of order"):
                follower.refresh()
        with pytest.raises(CatalogError):
            reader.reader().frame(history.revisions[0].digest)
    assert reader.history is history
    before = first.storage.sizes("revisions/_delta_log")
    remove_tables(first, "revisions", "specs", *HISTORY_TABLES)
    second = Catalog(first.location)
    publish(second, 1, 1)
    assert second.storage.sizes("revisions/_delta_log") == before
    assert any(follower.refresh() for _ in range(ROUND))
    assert reader.history.revisions == second.history.revisions


def test_catalog_in_a_folder(tmp_path: Path) -> None:
    """Each poll is a complete refresh, as folders have no cost per request."""
    catalog = Catalog(str(tmp_path / "catalog"))
    follower = Follower(Catalog(catalog.location))
    with pytest.raises(NoCatalog):
        follower.refresh()
    publish(catalog, 0, 0)
    assert [follower.refresh(), follower.refresh()] == [True, False]
