"""A catalog on object storage: differences from one in a folder, tested with an S3 emulator."""

import os
from multiprocessing.context import ForkServerContext
from typing import Any

import pyarrow as pa
import pytest
from deltalake.fs import DeltaStorageHandler

from snapshots.catalog import storage
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.locations import parse_location
from snapshots.catalog.past import missing_pairs
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots import overlays
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.factories import day
from tests.snapshots.importers import TAGS, publish_state, publish_together, specs_of
from tests.snapshots.keeping import publish

HISTORY_REQUESTS = 8
"""How many requests a package's past may take: the state of the table, and a file of each run."""


pytestmark = pytest.mark.usefixtures("bucket")


@pytest.fixture(scope="module")
def published(bucket: Emulator) -> str:
    """Return the location of a catalog of two states, of which the newer one is an overlay.

    A store is probed once.
    """
    location = "s3://bucket/published"
    with overlays.laid_always():
        for number, is_probed in ((0, True), (1, False)):
            before = bucket.num_requests()
            publish(Catalog(location), number, number)
            assert any("_probe-" in it for it in bucket.requests()[before:]) == is_probed
    paths = Storage(parse_location("s3://bucket")).find("published")
    tables = {"revisions", "specs", "comparisons", "changes", "hashes"}
    assert {path.partition("/")[0] for path in paths} == tables
    return location


def copy_objects(location: str, name: str) -> str:
    """Copy a catalog in the bucket to another name; return its location."""
    bucket, published = Storage(parse_location("s3://bucket")), location.rpartition("/")[2]
    for path, file in bucket.find(published).items():
        bucket.write(f"{name}/{path}", bucket.read(f"{published}/{path}", file.size))
    return f"s3://bucket/{name}"


def test_few_requests_load_a_content(published: str, bucket: Emulator) -> None:
    """One for the file of each content that has its rows, however many contents there are."""
    reader = Catalog(published)
    newest, oldest = reader.require_history().of_tag("develop")
    assert [newest.num_specs, oldest.num_specs] == [11, 10]
    for revision, read in ((oldest, [oldest]), (newest, [oldest, newest])):
        before = bucket.num_requests()
        assert len(reader.load_side(revision.digest).frame) == revision.num_specs
        requests = bucket.requests()[before:]
        assert {it.partition("digest=")[2].partition("/")[0] for it in requests} == {
            it.digest for it in read
        }
        assert len(requests) == len(read)


def test_few_requests_read_the_history(published: str, bucket: Emulator) -> None:
    """Every pair is kept, and a package's timeline takes a bounded number of requests."""
    reader = Catalog(published)
    library, history = Library(reader), reader.require_history()
    assert missing_pairs(reader, history) == []
    spec = library.past.hash_history(history, specs_of(1)[0].hash)
    assert spec is not None
    assert [(it.series, it.first.taken_at) for it in spec.spans] == [("develop", day(1))]
    before = bucket.num_requests()
    timeline = library.past.package_timeline(history, "develop", spec.name)
    assert timeline is not None
    assert len(timeline.entries) == 2
    assert bucket.num_requests() - before <= HISTORY_REQUESTS


def test_connections_are_kept(published: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads objects is made once for each table, not for each refresh and timeline."""
    reader = Catalog(published)
    library, name = Library(reader), specs_of(0)[0].name
    assert library.past.package_timeline(reader.require_history(), "develop", name) is not None
    publish(Catalog(published), 7, 7, "main")
    handlers: list[object] = []

    class Recording(DeltaStorageHandler):
        def __init__(self, *arguments: Any) -> None:
            handlers.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(storage, "DeltaStorageHandler", Recording)
    assert reader.refresh()
    assert library.past.package_timeline(reader.history, "develop", name) is not None
    assert not handlers
    reader.load(reader.history.resolve("develop").digest)
    assert handlers  # to load a content, the table of contents is not opened


def publish_in_bucket(variables: dict[str, str], *arguments: Any) -> None:
    """Publish to the store of the given variables: a fork inherits those of its server."""
    os.environ.update(variables)
    publish_together(*arguments)


def test_a_removal_beside_an_import(bucket: Emulator, processes: ForkServerContext) -> None:
    """Conditional writes order the commits of two processes: no row of the import is lost."""
    catalog = Catalog("s3://bucket/beside")
    publish_state(catalog, 0)
    barrier, (received, sent) = processes.Barrier(2), processes.Pipe(duplex=False)
    arguments = (bucket.variables(), catalog.location, 10, barrier, sent)
    importer = processes.Process(target=publish_in_bucket, args=arguments)
    importer.start()
    barrier.wait()
    catalog.refresh()
    remove(
        catalog, plan(catalog, [it for it in catalog.history.revisions if it.taken_at == day(0)])
    )
    assert received.recv() is None
    importer.join()
    catalog.refresh()
    taken = {(it.tag, it.taken_at) for it in catalog.history.revisions}
    assert taken == {(tag, day(10)) for tag in TAGS}
    assert all(len(catalog.load(it.digest)) == it.num_specs for it in catalog.history.revisions)


def test_a_store_that_ignores_conditions(published: str, bucket: Emulator) -> None:
    """It is refused before anything is written, also where a catalog was copied to it.

    A catalog that was written before is probed once the store is another one.
    """
    refused = pytest.raises(CatalogError, match=r"ignores If-None-Match.*nothing is imported; use")
    with bucket.unconditional(), refused:
        publish(Catalog("s3://bucket/unconditional"), 0, 0)
    assert not Storage(parse_location("s3://bucket")).find("unconditional")
    location = copy_objects(published, "unconditional")
    before = Catalog(location).require_history()
    with bucket.unconditional(), pytest.raises(CatalogError, match="ignores If-None-Match"):
        publish(Catalog(location), 9, 9)
    assert Catalog(location).require_history().revisions == before.revisions
    for is_probed in (True, False):
        start = bucket.num_requests()
        table = RevisionsTable(Storage(parse_location(location)))
        table.refresh()
        table.require_conditional_writes()
        assert any("_probe-" in it for it in bucket.requests()[start:]) == is_probed


def test_no_catalog() -> None:
    """A bucket without a catalog has none; a bucket that is missing is named in one line."""
    location = "s3://bucket/nothing"
    with pytest.raises(NoCatalog, match=f"there is no catalog at {location}"):
        Catalog(location).refresh()
    with pytest.raises(
        CatalogError, match=r"^catalog s3://nobody/catalog: .*NoSuchBucket"
    ) as error:
        Catalog("s3://nobody/catalog").refresh()
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("AWS_ALLOW_HTTP", "URL scheme is not allowed"),
        ("AWS_SECRET_ACCESS_KEY", "S3 needs AWS_SECRET_ACCESS_KEY in the"),
    ],
)
def test_variables(missing: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that S3 needs and that is missing is named."""
    monkeypatch.delenv(missing)
    with pytest.raises(CatalogError, match=reason):
        Catalog("s3://bucket/variables").refresh()


def test_objects() -> None:
    """Their bytes and their ends are read; an object of another size than expected is named."""
    files = Storage(parse_location("s3://bucket/objects"))
    files.write("table/object", pa.py_buffer(b"0123456789"))
    files.write("table/empty", pa.py_buffer(b""))
    assert files.sizes("table") == {"object": 10, "empty": 0}
    assert [files.exists(f"table/{it}") for it in ("object", "empty", "none")] == [
        True,
        True,
        False,
    ]
    assert files.read("table/object").to_pybytes() == b"0123456789"
    assert files.read("table/object", 10, 6).to_pybytes()[6:] == b"6789"
    assert files.read("table/object", 12, 6).to_pybytes()[6:] == b"6789"
    with pytest.raises(pa.ArrowInvalid, match="table/empty has 0 bytes instead of 12"):
        files.read("table/empty", 12)
    with pytest.raises(FileNotFoundError):
        files.read("table/none")


def test_damage(published: str) -> None:
    """An empty object is named, to readers and to importers."""
    location = copy_objects(published, "damaged")
    reader, files = Catalog(location), Storage(parse_location(location))
    digest = reader.require_history().of_tag("develop")[-1].digest
    (name,) = files.sizes(f"specs/digest={digest}")
    files.write(f"specs/digest={digest}/{name}", pa.py_buffer(b""))
    with pytest.raises(CatalogError, match=f"{digest[:12]} is damaged.*import the same again"):
        reader.load(digest)
    name, *_ = files.sizes("revisions")
    files.write(f"revisions/{name}", pa.py_buffer(b""))
    for use in (Catalog(location).refresh, lambda: publish(Catalog(location), 20, 20)):
        with pytest.raises(CatalogError, match=f"{name}.*; restore it from a copy"):
            use()
