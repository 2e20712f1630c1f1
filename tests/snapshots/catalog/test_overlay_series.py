"""Overlays in a series: read, repaired, stored and removed."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from msgspec.structs import replace

from snapshots.catalog import specs_table
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import plan
from snapshots.catalog.verification import verify
from snapshots.contents import Content, Snapshot
from snapshots.errors import CatalogError
from snapshots.models import Spec
from snapshots.tables import SPEC_ROWS, SPECS
from tests.snapshots import overlays
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.removal_catalogs import clean, drop, grow_old, hours_ago, listed, stored

pytestmark = pytest.mark.usefixtures("laid_always")


def state(number: int) -> list[Spec]:
    """Return the specs of a state: each lacks one of the first state, and has one of its own."""
    shared = [a_spec(f"kept {row}", name=f"package-{row % 3}") for row in range(10)]
    return [*shared[:number], *shared[number + 1 :], a_spec(f"new {number}", name="zlib")]


def publish(catalog: Catalog, *numbers: int, tag: str = "develop") -> list[str]:
    """Publish states at once, one per day; return their digests."""
    made = catalog.publish([a_snapshot(state(number), tag, day(number)) for number in numbers])
    return [publication.revision.digest for publication in made]


def loaded(location: str) -> dict[str, set[Spec]]:
    """Return the specs of each content that another process loads, without dependencies."""
    catalog = Catalog(location)
    catalog.refresh()
    frames = {digest: catalog.reader().frame(digest) for digest in catalog.history.digests}
    return {
        digest: {frame.spec(row) for row in range(len(frame))} for digest, frame in frames.items()
    }


def assert_sound(catalog: Catalog, *numbers: int) -> None:
    """Check that another process reads these states, and that nothing is damaged."""
    contents = [Content.of(state(number)) for number in numbers]
    bare = {
        content.digest: {replace(spec, dependencies=None) for spec in content.specs()}
        for content in contents
    }
    assert loaded(catalog.location) == bare
    assert verify(catalog.location).is_sound


def own_file(catalog: Catalog, digest: str) -> Path:
    """Return the file of a content's own rows."""
    return Path(catalog.location, "specs", catalog.files_of(digest)[-1].path)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish four states of develop: the first has all rows, the others are overlays."""
    folder = tmp_path_factory.mktemp("template")
    template = Catalog(str(folder))
    with overlays.laid_always():
        publish(template, 0)
        publish(template, 1, 2)
        publish(template, 3)
    return folder


@pytest.fixture
def digests(catalog: Catalog) -> list[str]:
    """Return the contents, oldest first."""
    return [revision.digest for revision in catalog.history.revisions[::-1]]


def test_first_content_is_the_base(catalog: Catalog, digests: list[str]) -> None:
    """All later contents are overlays of it, none of another: two files are read at most."""
    first = catalog.files_of(digests[0])
    assert [catalog.files_of(digest)[:-1] for digest in digests] == [(), *[(first[0],)] * 3]
    assert len(stored(catalog)) == 4
    rows = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert rows.num_rows == 10 + 3 * (2 + 2)  # two that are added, and two that are removed
    assert_sound(catalog, 0, 1, 2, 3)
    assert catalog.package_names() >= {"zlib", "package-0"}


def test_base_depends_on_the_predecessor(catalog: Catalog, digests: list[str]) -> None:
    """It is the predecessor's base, or none for the first of a series."""
    releases = publish(catalog, 5, 6, tag="v0.1.0")
    assert [len(catalog.files_of(digest)) for digest in releases] == [1, 2]
    (between,) = catalog.publish([a_snapshot(state(7), "develop", day(1).replace(hour=20))])
    files = catalog.files_of(between.revision.digest)
    assert files[0] == catalog.files_of(digests[0])[0]
    (first,) = catalog.publish([a_snapshot(state(8), "develop", day(-9))])
    assert len(catalog.files_of(first.revision.digest)) == 1
    assert_sound(catalog, 0, 1, 2, 3, 5, 6, 7, 8)


def test_catalog_without_overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older contents are no bases: their rows have no places. The next content has all rows."""
    catalog = Catalog(str(tmp_path))
    with monkeypatch.context() as patch:
        of_before = pa.schema([SPECS.field("digest"), *SPEC_ROWS])
        patch.setattr(specs_table, "SPECS", of_before)
        patch.setattr("snapshots.catalog.overlays.whole", lambda rows: rows.select(SPEC_ROWS.names))
        publish(Catalog(catalog.location), 0)
    assert DeltaTable(tmp_path / "specs").to_pyarrow_table().schema.names == of_before.names
    (second,) = publish(catalog, 1)
    (third,) = publish(catalog, 2)
    assert [len(catalog.files_of(digest)) for digest in (second, third)] == [1, 2]
    assert_sound(catalog, 0, 1, 2)


def test_files_that_another_tool_rewrote(catalog: Catalog) -> None:
    """Rows of revisions name removed files; the log lists their replacements, also of the base."""
    table = DeltaTable(f"{catalog.location}/specs")
    write_deltalake(table, table.to_pyarrow_table(), mode="overwrite")
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert_sound(catalog, 0, 1, 2, 3)
    publish(catalog, 4)
    assert_sound(catalog, 0, 1, 2, 3, 4)


def test_damaged_base(catalog: Catalog, digests: list[str]) -> None:
    """Every content that needs it is reported; an import of the base repairs them all."""
    file = own_file(catalog, digests[0])
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(
        CatalogError,
        match=f"{digests[2][:12]} is based on {digests[0][:12]}, which is damaged: .*{file.name}",
    ):
        catalog.reader().frame(digests[2])
    damaged = {
        finding.place.removeprefix("content "): finding
        for finding in verify(catalog.location).findings
    }
    assert damaged.keys() == {digest[:12] for digest in digests}
    assert damaged[digests[0][:12]].reason.startswith("is damaged: ")
    for digest in digests[1:]:
        finding = damaged[digest[:12]]
        assert finding.reason.startswith(f"is based on {digests[0][:12]}, which is damaged: ")
        assert finding.advice == "import the same again to replace it"
    (new,) = publish(catalog, 4)
    assert len(catalog.files_of(new)) == 1
    (mended,) = catalog.publish([a_snapshot(state(0), "develop", day(0))])
    assert mended.is_repaired
    assert_sound(catalog, 0, 1, 2, 3, 4)
    assert listed(catalog) == {*digests, new}


def test_damaged_base_without_a_revision(catalog: Catalog, digests: list[str]) -> None:
    """Its overlays are imported again, with all rows."""
    drop(catalog, "develop~3")
    file = own_file(catalog, digests[1]).parent.parent / catalog.files_of(digests[1])[0].path
    file.write_bytes(b"")
    assert len([finding for finding in verify(catalog.location).findings if finding.is_damage]) == 3
    for number in (1, 2, 3):
        (mended,) = catalog.publish([a_snapshot(state(number), "develop", day(number))])
        assert mended.is_repaired
    assert_sound(catalog, 1, 2, 3)


def test_damaged_overlay(catalog: Catalog, digests: list[str]) -> None:
    """It alone is refused; the same import replaces it by all of its rows."""
    own_file(catalog, digests[2]).write_bytes(b"")
    findings = verify(catalog.location).findings
    assert [finding.place for finding in findings] == [f"content {digests[2][:12]}"]
    publish(catalog, 2)
    assert_sound(catalog, 0, 1, 2, 3)
    table = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert table["digest"].to_pylist().count(digests[2]) == 10


def test_bases_are_kept_while_they_have_overlays(catalog: Catalog, digests: list[str]) -> None:
    """Removing the revision of a base frees no space; the base is deleted with its last overlay."""
    catalog.refresh()
    planned = plan(catalog, [catalog.history.resolve("develop~3")])
    assert (planned.contents, planned.num_bytes) == ((), 0)
    with hours_ago():
        done = drop(catalog, "develop~3")
    assert (done.contents, done.num_bytes) == ((), 0)
    grow_old(catalog)
    assert not clean(catalog).files["specs"]
    assert listed(catalog) == set(digests)
    assert_sound(catalog, 1, 2, 3)
    sizes = {digest: own_file(catalog, digest).stat().st_size for digest in digests[1:]}
    base = catalog.files_of(digests[1])[0].size
    with hours_ago():
        first = drop(catalog, "develop~1", "develop~2")
        last = drop(catalog, "develop")
    assert (first.contents, first.num_bytes) == (
        tuple(sorted(digests[1:3])),
        sizes[digests[1]] + sizes[digests[2]],
    )
    assert (last.contents, last.num_bytes) == (
        tuple(sorted([digests[0], digests[3]])),
        base + sizes[digests[3]],
    )
    assert clean(catalog).num_bytes["specs"] == first.num_bytes + last.num_bytes
    assert stored(catalog) == set()


@pytest.mark.parametrize("is_deleted", [False, True])
def test_base_that_is_removed_during_an_import(
    catalog: Catalog, digests: list[str], *, is_deleted: bool
) -> None:
    """It is listed again; if it is deleted already, the import fails."""
    other = Catalog(catalog.location)

    def importing() -> Iterator[Snapshot]:
        yield a_snapshot(state(4), "develop", day(4))
        with hours_ago():
            drop(other, *(f"develop~{number}" for number in range(4)))
        if is_deleted:
            grow_old(other)
            clean(other)

    if is_deleted:
        with pytest.raises(CatalogError, match="was removed while this import ran; import again"):
            catalog.publish(importing())
    else:
        (made,) = catalog.publish(importing())
        assert listed(catalog) == {digests[0], made.revision.digest}
        assert_sound(catalog, 4)
