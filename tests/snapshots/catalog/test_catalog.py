"""The catalog: published states are stored completely, once, and in order."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import time

import pytest
from deltalake import DeltaTable
from msgspec.structs import asdict

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, NoCatalog
from snapshots.models import Dependency, Spec
from snapshots.tables import REVISIONS, SPECS
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, day, full_spec

A = [a_spec("1"), a_spec("2", name="zlib", compiler=None, variants=(), stacks=("root",))]
B = [a_spec("1"), a_spec("3", name="zlib")]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog in a folder that does not exist yet."""
    return Catalog(str(tmp_path / "new" / "catalog"))


def publish(catalog: Catalog, specs: list[Spec], tag: str = "develop", taken: int = 0) -> str:
    """Publish one state and return its digest."""
    (made,) = catalog.publish([a_snapshot(specs, tag, day(taken))])
    return made.revision.digest


def loaded(catalog: Catalog, digest: str) -> list[Spec]:
    """Return the records of a content, by package and hash."""
    frame = catalog.reader().frame(digest)
    return sorted(map(frame.spec, range(len(frame))), key=lambda spec: (spec.name, spec.hash))


def test_no_catalog(catalog: Catalog) -> None:
    """It is an error, except for importers, which see an empty history."""
    for ask in (catalog.refresh, catalog.require_history):
        with pytest.raises(NoCatalog, match=r"^there is no catalog at .*cachelog import") as caught:
            ask()
        assert catalog.location in str(caught.value)
        assert caught.value.reason == "does not exist"
    assert catalog.refresh(missing_ok=True) is False
    assert (catalog.generation, catalog.history.revisions) == (-1, [])
    assert not Path(catalog.location).exists()


def test_facts_of_a_revision(catalog: Catalog) -> None:
    """It has counts, times and a source, also after reopening the catalog."""
    before = datetime.now(UTC)
    (made,) = catalog.publish([a_snapshot([full_spec("1"), *A[1:]], taken_at=day(3))])
    revision = made.revision
    assert made.is_new
    assert before <= revision.published_at <= datetime.now(UTC)
    assert asdict(revision) == {
        "tag": "develop",
        "digest": a_snapshot([full_spec("1"), *A[1:]]).content.digest,
        "taken_at": day(3),
        "published_at": revision.published_at,
        "num_packages": 2,
        "num_specs": 2,
        "num_stacks": 1,  # root is none
        "total_size": 7_000_000_000,
        "source": SOURCE,
        "num_proven": None,
        "unproven": None,
    }
    assert catalog.history.revisions == [revision]
    reopened = Catalog(catalog.location)
    assert reopened.require_history().resolve("develop") == revision
    assert reopened.history.revisions[0].ref == revision.ref


def test_package_names(catalog: Catalog) -> None:
    """They are those of the newest revision of each tag, also of specs outside the cache."""
    gcc = a_spec("gcc", name="gcc")
    edge = Dependency("gcc", gcc.hash, ("build",))
    content = Content.of([a_spec(dependencies=(edge,))], [gcc])
    catalog.publish([Snapshot(tag="develop", content=content, source=SOURCE)])
    publish(catalog, [a_spec("b", name="zlib")], tag="v1.0")
    publish(catalog, [a_spec("c", name="bzip2")], tag="v1.1")
    publish(catalog, [a_spec("d", name="xz")], tag="v1.1", taken=1)
    catalog.refresh()
    assert catalog.package_names() == {"gcc", "hdf5", "xz", "zlib"}


def test_same_content_is_stored_once(catalog: Catalog) -> None:
    """A later state with the same content confirms the revision; other tags share its rows."""
    publish(catalog, A, taken=0)
    generation, state = catalog.generation, catalog.state
    (made,) = catalog.publish([a_snapshot(A, taken_at=day(5))])
    assert catalog.generation == generation != -1
    assert catalog.state > state
    (revision,) = catalog.history.revisions
    assert (made.is_new, made.revision) == (False, revision)
    publish(catalog, B, taken=3)
    assert catalog.generation == catalog.state > generation
    publish(catalog, A, "v0.22.1", taken=2)
    rows = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert rows.num_rows == len(A) + len(B)


def test_all_or_nothing(catalog: Catalog) -> None:
    """One invalid tag among several states: none is published, and no catalog is created."""
    assert (catalog.publish([]), catalog.generation) == ([], -1)
    publish(catalog, A)
    generation = catalog.generation
    snapshots = [a_snapshot(B, "develop", day(1)), a_snapshot(B, "../main"), a_snapshot(A, "main")]
    with pytest.raises(InvalidArgument, match=r"'\.\./main' is not a tag"):
        catalog.publish(snapshots)
    assert catalog.refresh() is False
    assert (catalog.generation, catalog.history.tags) == (generation, ["develop"])


def test_logs_are_trimmed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of days ago before a checkpoint are removed, and readers do not need them."""
    monkeypatch.setattr(delta, "CHECKPOINT_EVERY", 2)
    days_ago = time() - 3 * 86_400
    reader = Catalog(catalog.location)
    contents = {}
    for number in range(6):
        specs = [a_spec(str(number))]
        contents[publish(catalog, specs, taken=number)] = specs
        if number == 0:
            assert reader.refresh() is True
        for file in Path(catalog.location).glob("*/_delta_log/*"):
            os.utime(file, (days_ago, days_ago))
    for table in ("revisions", "specs"):
        log = sorted(Path(catalog.location, table, "_delta_log").glob("*.json"))
        assert 1 <= len(log) <= 4
        assert int(log[0].stem) >= 2
    assert reader.refresh() is True
    for each in (reader, Catalog(catalog.location)):
        each.refresh()
        assert each.history.revisions == catalog.history.revisions
        assert {digest: loaded(each, digest) for digest in contents} == contents
    publish(reader, A, taken=30)
    assert catalog.refresh() is True
    assert len(catalog.history.revisions) == 7


def test_snapshots_are_written_one_by_one(catalog: Catalog) -> None:
    """States may come from a generator; each is written before the next is created."""
    folder = Path(catalog.location, "specs")
    states = [[a_spec(str(each)) for each in range(number)] for number in range(1, 7)]
    written = []

    def snapshots() -> Iterator[Snapshot]:
        for specs in states:
            written.append(len(list(folder.rglob("*.parquet"))))
            yield a_snapshot(specs, taken_at=day(len(specs)))

    made = catalog.publish(snapshots())
    assert written == list(range(6))
    assert DeltaTable(str(folder)).version() == 1
    for specs, publication in zip(states, made, strict=True):
        in_order = sorted(specs, key=lambda spec: spec.hash)
        assert loaded(catalog, publication.revision.digest) == in_order


def test_tables_are_readable_by_other_tools(catalog: Catalog) -> None:
    """Readers of Delta tables find the columns, and one partition per digest."""
    digest = publish(catalog, A)
    specs = DeltaTable(f"{catalog.location}/specs")
    assert specs.to_pyarrow_table().schema.names == SPECS.names
    comments = {field.name: field.metadata["comment"] for field in specs.schema().fields}
    assert comments.keys() == set(SPECS.names)
    assert comments["platform"] == "The platform it was built for: linux, darwin ..."
    assert specs.metadata().partition_columns == ["digest"]
    assert [uri.split("/")[-2] for uri in specs.file_uris()] == [f"digest={digest}"]
    revisions = DeltaTable(f"{catalog.location}/revisions").to_pyarrow_table()
    assert revisions.schema.equals(REVISIONS)
    assert revisions["digest"].to_pylist() == [digest]
