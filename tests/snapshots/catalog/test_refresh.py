"""Following a catalog: publications are seen, also those of a catalog that replaces another."""

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.removal_catalogs import publish


def remove_tables(catalog: Catalog, *tables: str) -> None:
    """Remove all files of some tables."""
    for table in tables:
        for path in catalog.storage.find(table):
            catalog.storage.remove(f"{table}/{path}")


def test_catalog_in_a_bucket(bucket: Emulator) -> None:
    """A refresh of an idle catalog takes a few requests; it sees what was published."""
    publisher = Catalog("s3://bucket/followed")
    reader = Catalog(publisher.location)
    with pytest.raises(NoCatalog):
        reader.refresh()
    for number in range(3):
        publish(publisher, number, number)
        assert [reader.refresh(), reader.refresh()] == [True, False]
        assert reader.history.revisions == publisher.history.revisions
        assert reader.changes.counts == publisher.changes.counts
        before = bucket.num_requests()
        reader.refresh()
        assert bucket.num_requests() - before <= 8
    assert reader.changes.counts != {}
    state = reader.state
    remove_tables(publisher, *HISTORY_TABLES)
    reader.refresh()
    assert reader.changes.counts == {}
    assert reader.state > state


def test_outage_and_replaced_catalog(bucket: Emulator) -> None:
    """A refresh fails soon, and the history remains; a catalog that replaces another is seen."""
    first = Catalog("s3://bucket/replaced")
    publish(first, 0, 0)
    reader = Catalog(first.location, retry_seconds=0.2)
    reader.refresh()
    history = reader.history
    with bucket.failing():
        assert httpx.get(bucket.url).status_code == 503
        with pytest.raises(CatalogError, match=r"503 Service Unavailable|Out of order"):
            reader.refresh()
        with pytest.raises(CatalogError):
            reader.reader().frame(history.revisions[0].digest)
    assert reader.history is history
    before = first.storage.sizes("revisions/_delta_log")
    remove_tables(first, "revisions", "specs", *HISTORY_TABLES)
    second = Catalog(first.location)
    publish(second, 1, 1)
    assert second.storage.sizes("revisions/_delta_log") == before
    assert reader.refresh()
    assert reader.history.revisions == second.history.revisions
