"""Following a catalog: publications are seen, and polling an idle catalog is cheap."""

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


def remove_tables(catalog: Catalog, *tables: str) -> None:
    """Remove all files of some tables."""
    for table in tables:
        for path in catalog.storage.find(table):
            catalog.storage.remove(f"{table}/{path}")


def test_a_catalog_in_a_bucket(bucket: Emulator) -> None:
    """Each look says that there is none, until there is; then a look is one request.

    What is published is seen at the second one, and what is kept of revisions that were there
    before when the log of the history has its turn.
    """
    publisher = Catalog("s3://bucket/followed")
    reader = Catalog(publisher.location)
    follower = Follower(reader)
    for _ in range(ROUND):
        with pytest.raises(NoCatalog):
            follower.refresh()
    publish(publisher, 0, 0)
    assert follower.refresh()
    for number in range(1, 3):
        for _ in range(ROUND + number):  # so that each has its turn after an import
            follower.refresh()
        before = bucket.num_requests()
        assert [follower.refresh() for _ in range(8)] == [False] * 8
        requests = bucket.requests()[before:]
        assert len(requests) == 8
        assert all("GET /bucket/followed/" in it and "_delta_log/" in it for it in requests)
        publish(publisher, number, number)
        assert sorted(follower.refresh() for _ in range(2)) == [False, True]
        assert reader.history.revisions == publisher.history.revisions
        assert reader.counts == publisher.counts != {}
    state = reader.state
    remove_tables(publisher, *HISTORY_TABLES)
    for _ in range(ROUND):
        follower.refresh()
    assert reader.counts == {}
    assert reader.state > state


def test_an_outage_and_another_catalog(bucket: Emulator) -> None:
    """A look fails soon, with the store's own reason; what was known stays, and it goes on.

    A catalog in the place of another is seen, though its commits have the same versions and sizes.
    """
    first = Catalog("s3://bucket/replaced")
    publish(first, 0, 0)
    reader = Catalog(first.location, retry_seconds=0.2)
    follower = Follower(reader)
    for _ in range(ROUND):
        follower.refresh()
    known = reader.history
    with bucket.failing():
        assert httpx.get(bucket.url).status_code == 503
        for _ in range(ROUND):
            with pytest.raises(CatalogError, match=r"503 Service Unavailable|Out of order"):
                follower.refresh()
        with pytest.raises(CatalogError):
            reader.load(known.revisions[0].digest)
    assert reader.history is known
    before = first.storage.sizes("revisions/_delta_log")
    remove_tables(first, "revisions", "specs", *HISTORY_TABLES)
    second = Catalog(first.location)
    publish(second, 1, 1)
    assert second.storage.sizes("revisions/_delta_log") == before
    assert any(follower.refresh() for _ in range(ROUND))
    assert reader.history.revisions == second.history.revisions


def test_a_folder(tmp_path: Path) -> None:
    """Each look is a whole one: there is no store to spare."""
    catalog = Catalog(str(tmp_path / "catalog"))
    follower = Follower(Catalog(catalog.location))
    with pytest.raises(NoCatalog):
        follower.refresh()
    publish(catalog, 0, 0)
    assert [follower.refresh(), follower.refresh()] == [True, False]
