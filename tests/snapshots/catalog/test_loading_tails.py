"""A catalog's contents are loaded from the tails of their files: what is read, and what is told."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.storage import Storage
from snapshots.catalog.verification import verify
from snapshots.contents import Content
from snapshots.errors import CatalogError
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.tables import FileTail, StoredFile
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.keeping import clean, drop, grow_old

pytestmark = pytest.mark.usefixtures("laid_always")

Read = tuple[str, int]
"""The path of a file, and the first byte of it that was read."""


def state(number: int) -> list[Spec]:
    """Return the specs of a state."""
    return [a_spec(f"kept {row}") for row in range(10)] + [a_spec(f"new {number}", name="zlib")]


def publish(catalog: Catalog, number: int, on: int | None = None) -> None:
    """Publish a state as of a day, by default its own."""
    catalog.publish([a_snapshot(state(number), "develop", day(number if on is None else on))])


def opened(catalog: Catalog) -> Catalog:
    """Return the catalog as another process finds it."""
    reader = Catalog(catalog.location)
    reader.refresh()
    return reader


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog of two states of develop, the second laid over the first."""
    made = Catalog(str(tmp_path / "catalog"))
    publish(made, 0)
    publish(made, 1)
    return opened(made)


@pytest.fixture
def newest(catalog: Catalog) -> str:
    """Return the content that is laid over the other."""
    return catalog.history.resolve("develop").digest


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Read]:
    """Return what is read of the files of contents from now on."""
    found: list[Read] = []
    read_whole, read_end = Storage.read, Storage.read_end

    def whole(self: Storage, path: str, size: int | None = None) -> pa.Buffer:
        if path.startswith("specs/digest="):
            found.append((path.partition("/")[2], 0))
        return read_whole(self, path, size)

    def end(self: Storage, path: str, size: int, start: int) -> pa.Buffer:
        if path.startswith("specs/digest="):
            found.append((path.partition("/")[2], start))
        return read_end(self, path, size, start)

    monkeypatch.setattr(Storage, "read", whole)
    monkeypatch.setattr(Storage, "read_end", end)
    return found


def tails(catalog: Catalog, digest: str) -> list[Read]:
    """Return what a load of a content is to read: the tails of its files, its own first."""
    files = catalog.files_of(digest)[::-1]
    assert all(file.tail for file in files)
    return [(file.path, file.tail.start) for file in files if file.tail]


def whole_files(catalog: Catalog, digest: str) -> list[Read]:
    """Return what is to be read where all of it is needed."""
    return [(file.path, 0) for file in catalog.files_of(digest)[::-1]]


def assert_loaded(catalog: Catalog, number: int) -> None:
    """Load a state, and compare the frame with that of its records."""
    content = Content.of(state(number))
    frame, expected = catalog.load(content.digest), Frame(content.table(), content.digest)
    rows = range(len(expected))
    assert [frame.spec(row) for row in rows] == [expected.spec(row) for row in rows]


def change_byte(catalog: Catalog, file: StoredFile, place: int) -> None:
    """Change a byte of a file where it stands."""
    found = Path(catalog.location, "specs", file.path)
    data = bytearray(found.read_bytes())
    data[place] ^= 0xFF
    found.write_bytes(data)


def rewrite_rows(catalog: Catalog, rows: pa.Table) -> Catalog:
    """Put rows in the place of those of ``revisions``, and open the catalog."""
    write_deltalake(f"{catalog.location}/revisions", rows, mode="overwrite")
    return opened(catalog)


def revision_rows(catalog: Catalog) -> pa.Table:
    """Return the rows of ``revisions``."""
    return pa.table(DeltaTable(f"{catalog.location}/revisions").to_pyarrow_table())


def test_what_is_read(catalog: Catalog, newest: str, read: list[Read]) -> None:
    """A frame takes the tails, each once; only what needs the dependencies takes more."""
    assert_loaded(catalog, 1)
    assert read == tails(catalog, newest)
    read.clear()
    catalog.load_hash_set(newest)
    assert read == tails(catalog, newest)
    for load in (catalog.load_side, catalog.load_dependencies):
        read.clear()
        load(newest)
        assert read == whole_files(catalog, newest)


def test_files_that_are_not_large(tmp_path: Path, read: list[Read]) -> None:
    """Without a tail they are read whole."""
    made = Catalog(str(tmp_path / "small"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snapshots.catalog.parquet.LEAST_SPARED", 1 << 16)
        publish(made, 0)
    read.clear()
    assert_loaded(opened(made), 0)
    digest = made.history.resolve("develop").digest
    assert [file.tail for file in made.files_of(digest)] == [None]
    assert read == whole_files(made, digest)


def test_a_catalog_that_is_older_than_tails(
    catalog: Catalog, newest: str, read: list[Read]
) -> None:
    """Its rows say of none, and its files are read whole. What is published next has one."""
    rows = revision_rows(catalog).drop_columns(["file_tails"])
    table = DeltaTable(f"{catalog.location}/revisions")
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite")
    old = opened(catalog)
    assert_loaded(old, 1)
    assert read == whole_files(old, newest)
    publish(old, 2)
    new = opened(old)
    for number in (0, 1, 2):
        assert_loaded(new, number)
    base, own = new.files_of(new.history.resolve("develop").digest)
    assert (base.tail, own.tail is not None) == (None, True)
    assert verify(new.location).is_sound


def test_rows_that_follow_keep_the_tails(catalog: Catalog, read: list[Read]) -> None:
    """So do those that confirm a state, and the base's where its own revision is gone."""
    publish(catalog, 0, on=2)
    publish(catalog, 0, on=3)
    publish(catalog, 4)
    drop(catalog, "develop~3")
    drop(catalog, "develop~2")
    grow_old(catalog)
    clean(catalog)
    reader = opened(catalog)
    for number in (0, 4):
        read.clear()
        assert_loaded(reader, number)
        assert read == tails(reader, Content.of(state(number)).digest)


@pytest.mark.parametrize("is_base", [False, True])
def test_damage_in_a_tail(catalog: Catalog, newest: str, is_base: bool) -> None:
    """The load tells it as of a file that is read whole; who imports it mends it."""
    file = catalog.files_of(newest)[0 if is_base else 1]
    change_byte(catalog, file, file.size - 20)
    damage = f"is damaged: specs/{file.path} does not have the bytes that were written"
    with pytest.raises(CatalogError, match=damage):
        catalog.load(newest)
    publish(catalog, 0 if is_base else 1)
    assert_loaded(opened(catalog), 1)
    assert verify(catalog.location).is_sound


@pytest.mark.parametrize("is_base", [False, True])
def test_damage_before_a_tail(catalog: Catalog, newest: str, is_base: bool) -> None:
    """The frame is whole; what needs the dependencies tells, ``verify`` too. It can be mended."""
    file = catalog.files_of(newest)[0 if is_base else 1]
    change_byte(catalog, file, 4)
    assert_loaded(catalog, 1)
    for load in (catalog.load_side, catalog.load_dependencies):
        with pytest.raises(CatalogError, match="does not have the bytes that were written"):
            load(newest)
    assert not verify(catalog.location).is_sound
    publish(catalog, 0 if is_base else 1)
    assert verify(catalog.location).is_sound
    assert_loaded(opened(catalog), 1)


@pytest.mark.parametrize("cut", [5, 1 << 20])
def test_a_file_that_is_cut_off(catalog: Catalog, newest: str, cut: int) -> None:
    """Where its tail begins, or behind that: it is damaged."""
    file = catalog.files_of(newest)[1]
    found = Path(catalog.location, "specs", file.path)
    found.write_bytes(found.read_bytes()[: -min(cut, file.size)])
    with pytest.raises(CatalogError, match="is damaged"):
        catalog.load(newest)


@pytest.mark.parametrize(
    "tail", [{"start": 8}, {"start": -1}, {"start": 1 << 40}, {"checksum": "0" * 16}]
)
def test_a_tail_that_a_row_says_wrong(
    catalog: Catalog, newest: str, tail: dict[str, int | str]
) -> None:
    """The file is read whole, as its own checksum is right."""
    rows = revision_rows(catalog)
    said = [[{**it, **tail} for it in row] for row in rows["file_tails"].to_pylist()]
    place = rows.schema.get_field_index("file_tails")
    wrong = rows.set_column(place, rows.field(place), pa.array(said, rows.field(place).type))
    reader = rewrite_rows(catalog, wrong)
    named = reader.files_of(newest)[0].tail
    assert isinstance(named, FileTail)
    assert named != catalog.files_of(newest)[0].tail
    assert_loaded(reader, 1)


def test_files_that_another_tool_rewrote(catalog: Catalog) -> None:
    """They are found by the table's log."""
    table = DeltaTable(f"{catalog.location}/specs")
    write_deltalake(table, table.to_pyarrow_table(), mode="overwrite")
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    for number in (0, 1):
        assert_loaded(opened(catalog), number)


def test_a_state_that_two_imports_wrote(catalog: Catalog) -> None:
    """Both name the same file with the same tail."""
    first, second = opened(catalog), opened(catalog)
    publish(first, 2)
    publish(second, 2)
    digest = Content.of(state(2)).digest
    assert first.files_of(digest) == second.files_of(digest) == opened(catalog).files_of(digest)
    assert_loaded(opened(catalog), 2)
