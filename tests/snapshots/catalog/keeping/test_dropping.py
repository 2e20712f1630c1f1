"""Rows are dropped from one table: what is counted, refused, and left alone."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.removal import Contents, drop_rows
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError
from snapshots.tables import COMPARISONS
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import specs_of
from tests.snapshots.keeping import publish, rows, stored


@pytest.fixture
def revisions(catalog: Catalog) -> tuple[Storage, CatalogTable]:
    """Return the table of revisions, and the storage that it is in."""
    found = Contents(catalog.location)
    return found.storage, found.revisions


def of_main(found: pa.Table) -> pa.ChunkedArray:
    """Let the rows of main go."""
    return pc.equal(found["tag"], "main")


def everything(found: pa.Table) -> pa.ChunkedArray:
    """Let all rows go."""
    return pa.chunked_array([pa.array([True] * len(found), pa.bool_())])


@pytest.fixture
def with_main(catalog: Catalog) -> Catalog:
    """Return the catalog after one more state, seen of two tags at once: one file has both."""
    catalog.publish([a_snapshot(specs_of(5), tag, day(5)) for tag in ("main", "other")])
    return catalog


def test_what_is_left_of_a_file_is_written_anew(
    with_main: Catalog, revisions: tuple[Storage, CatalogTable]
) -> None:
    """The other rows stay, and the files without a row that goes."""
    storage, table = revisions
    before = stored(with_main, "revisions")
    assert drop_rows(storage, table, of_main) == 1
    assert {it[:2] for it in rows(with_main)} == {
        *(("develop", number) for number in range(3)),
        ("other", 5),
    }
    new = stored(with_main, "revisions") - before
    files = {file.path for file in table.files()}
    assert len(new) == 1
    assert new < files
    assert len(files & before) == 3


def test_a_dry_run_counts_alone(catalog: Catalog, revisions: tuple[Storage, CatalogTable]) -> None:
    """It says how many rows would go; they stay, and no file is written."""
    before, files = rows(catalog), stored(catalog, "revisions")
    assert drop_rows(*revisions, everything, dry_run=True) == 3
    assert (rows(catalog), stored(catalog, "revisions")) == (before, files)


def test_nothing_goes_where_others_committed_since(
    catalog: Catalog, revisions: tuple[Storage, CatalogTable]
) -> None:
    """What was seen before is no ground to drop rows any more."""
    storage, table = revisions
    table.current()
    seen = table.mark()
    publish(catalog, 3, 3)
    assert drop_rows(storage, table, everything, seen=seen) == 0
    assert len(rows(catalog)) == 4
    assert drop_rows(storage, table, everything, seen=table.mark()) == 4
    assert rows(catalog) == set()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda file: file.write_bytes(b"nothing"), "does not have the bytes that were written"),
        (lambda file: file.unlink(), "No such file"),
    ],
)
def test_a_damaged_file_is_named(
    catalog: Catalog, revisions: tuple[Storage, CatalogTable], damage: object, reason: str
) -> None:
    """With what to do about it; nothing is dropped."""
    file = min(Path(catalog.location, "revisions").glob("*.parquet"))
    assert callable(damage)
    damage(file)
    with pytest.raises(CatalogError, match=f"{file.name}.*{reason}.*; restore it from a copy"):
        drop_rows(*revisions, everything)


def test_a_table_that_is_not_there_has_no_files(revisions: tuple[Storage, CatalogTable]) -> None:
    """Neither has a catalog of before, which a vacuum cleans all the same."""
    storage, _ = revisions
    assert CatalogTable(storage, "none", COMPARISONS).out_of_use(1) == []
