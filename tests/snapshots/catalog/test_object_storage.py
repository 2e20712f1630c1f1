"""Catalogs on object storage: differences from those in a folder, with an S3 emulator."""

import os
from multiprocessing.context import ForkServerContext
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.locations import parse_location
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.factories import day
from tests.snapshots.importers import TAGS, publish_state, publish_together, specs_of
from tests.snapshots.removal_catalogs import loaded, publish, rows

HISTORY_REQUESTS = 12
"""Maximum number of requests for a timeline: the state of the table, and parts of two files."""


pytestmark = pytest.mark.usefixtures("bucket")


@pytest.fixture(scope="module")
def published() -> str:
    """Return a catalog of two states."""
    location = "s3://bucket/published"
    for number in range(2):
        publish(Catalog(location), number, number)
    paths = Storage(parse_location("s3://bucket")).find("published")
    tables = {"revisions", "specs", "comparisons", "changes", "hashes"}
    assert {path.partition("/")[0] for path in paths} == tables
    return location


def copy_objects(location: str, name: str) -> str:
    """Copy a catalog in the bucket to another name; return its location."""
    bucket, published = Storage(parse_location("s3://bucket")), location.rpartition("/")[2]
    for path in bucket.find(published):
        bucket.write(f"{name}/{path}", bucket.read(f"{published}/{path}"))
    return f"s3://bucket/{name}"


def test_few_requests_load_a_content(published: str, bucket: Emulator) -> None:
    """One request, regardless of the number of contents; the first one also reads the log."""
    reader = Catalog(published)
    reader.specs.refresh()
    for revision in reader.require_history().of_tag("develop"):
        before = bucket.num_requests()
        assert len(reader.reader().side(revision.digest).frame) == revision.num_specs
        (request,) = bucket.requests()[before:]
        assert f"digest={revision.digest}/" in request


def test_few_requests_read_the_history(published: str, bucket: Emulator) -> None:
    """Every pair is stored, and a timeline takes a limited number of requests."""
    reader = Catalog(published)
    library, history = Library(reader), reader.require_history()
    assert missing_pairs(reader, history) == []
    spec = library.history_queries.hash_history(history, specs_of(1)[0].hash)
    assert spec is not None
    assert [(span.series, span.first.taken_at) for span in spec.spans] == [("develop", day(1))]
    before = bucket.num_requests()
    timeline = library.history_queries.package_timeline(history, "develop", spec.name)
    assert timeline is not None
    assert len(timeline.entries) == 2
    assert bucket.num_requests() - before <= HISTORY_REQUESTS


def publish_in_bucket(variables: dict[str, str], *arguments: Any) -> None:
    """Publish to the store of the variables: forked processes inherit those of their server."""
    os.environ.update(variables)
    publish_together(*arguments)


def test_removal_during_an_import(bucket: Emulator, processes: ForkServerContext) -> None:
    """Conditional writes order the commits of two processes: no row of the import is lost."""
    catalog = Catalog("s3://bucket/beside")
    publish_state(catalog, 0)
    barrier, (received, sent) = processes.Barrier(2), processes.Pipe(duplex=False)
    arguments = (bucket.variables(), catalog.location, 10, barrier, sent)
    importer = processes.Process(target=publish_in_bucket, args=arguments)
    importer.start()
    barrier.wait()
    catalog.refresh()
    first = [revision for revision in catalog.history.revisions if revision.taken_at == day(0)]
    remove(catalog, plan(catalog, first))
    assert received.recv() is None
    importer.join()
    catalog.refresh()
    assert {row[:2] for row in rows(catalog)} == {(tag, 10) for tag in TAGS}
    assert set(loaded(catalog).values()) == {20}


def test_store_that_ignores_conditions(published: str, bucket: Emulator) -> None:
    """It is refused before anything is written, also if a catalog was copied to it."""
    refused = pytest.raises(CatalogError, match=r"ignores If-None-Match.*nothing is imported; use")
    with bucket.unconditional(), refused:
        publish(Catalog("s3://bucket/unconditional"), 0, 0)
    assert not Storage(parse_location("s3://bucket")).find("unconditional")
    location = copy_objects(published, "unconditional")
    before = Catalog(location).require_history()
    with bucket.unconditional(), pytest.raises(CatalogError, match="ignores If-None-Match"):
        publish(Catalog(location), 9, 9)
    assert Catalog(location).require_history().revisions == before.revisions


def test_no_catalog() -> None:
    """Without a catalog in it, a bucket has none; a missing bucket is named in one line."""
    location = "s3://bucket/nothing"
    with pytest.raises(NoCatalog, match=f"there is no catalog at {location}"):
        Catalog(location).refresh()
    with pytest.raises(
        CatalogError, match=r"^catalog s3://nobody/catalog: .*NoSuchBucket"
    ) as error:
        Catalog("s3://nobody/catalog").refresh()
    assert str(error.value).isprintable()
