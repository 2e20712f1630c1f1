"""A stored content is read as the frame of its records, by cachelog and by other engines."""

from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable
from hypothesis import given
from msgspec.structs import replace

from snapshots.catalog.locations import parse_location
from snapshots.catalog.specs_table import ContentReader, SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.contents import Content, ContentRows
from snapshots.errors import CatalogError
from snapshots.frames.columns import Column
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo, Source, Spec
from snapshots.tables import SPEC_ROWS
from tests.expensive import examples
from tests.snapshots.factories import (
    SPECS,
    a_revision,
    a_spec,
    full_spec,
)
from tests.snapshots.removal_catalogs import flip

CODED = ("name", "version", "compiler", "target")


def written(folder: Path, *contents: Content) -> ContentReader:
    """Write contents into a folder, and return a reader of them."""
    specs = SpecsTable(Storage(parse_location(str(folder))))
    rows = [ContentRows(content.digest, content.table()) for content in contents]
    specs.write(rows)
    return ContentReader(str(folder), specs, History())


def assert_equal(first: Frame, second: Frame) -> None:
    """Compare the rows in order, and the distinct values of columns."""
    assert len(first) == len(second)
    assert [first.spec(row) for row in range(len(first))] == [
        second.spec(row) for row in range(len(second))
    ]
    for name in CODED:
        one, other = first.columns[name], second.columns[name]
        assert isinstance(one, Column)
        assert isinstance(other, Column)
        assert one.values == other.values
        assert np.array_equal(one.codes, other.codes)
    assert {*first.stacks.values} == {*second.stacks.values}


@examples(20)
@given(specs=SPECS)
def test_frame_does_not_depend_on_storage(
    tmp_path_factory: pytest.TempPathFactory, specs: list[Spec]
) -> None:
    """It has the same order and values, also if another engine has rewritten the content."""
    content = Content.of(specs or [full_spec("a")])
    folder = tmp_path_factory.mktemp("catalog")
    reader, expected = written(folder, content), Frame(content.table(), content.digest)
    assert_equal(reader.frame(content.digest), expected)
    table = DeltaTable(folder / "specs")
    table.optimize.z_order(["hash"])
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(table.file_uris()) == 1
    assert table.file_uris() != [*map(str, folder.rglob("digest=*/0*.parquet"))]
    assert_equal(reader.frame(content.digest), expected)


def test_content_is_a_partition(tmp_path: Path) -> None:
    """Other engines read it by its digest, and those outside the cache by ``in_cache``."""
    first, second = Content.of([a_spec("a")], [full_spec("gcc")]), Content.of([a_spec("b")])
    written(tmp_path, first, second)
    table = DeltaTable(tmp_path / "specs")
    rows = table.to_pyarrow_table(filters=[("digest", "=", first.digest)])
    assert rows.select(SPEC_ROWS.names).to_pylist() == first.table().to_pylist()
    assert rows["in_cache"].to_pylist() == [True, False]
    assert table.to_pyarrow_table().num_rows == 3


@pytest.mark.parametrize("missing", ["namespace", "size", "patches", "spec_format"])
def test_file_without_a_column(tmp_path: Path, missing: str) -> None:
    """A fact that is newer than the file is unknown."""
    content = Content.of([full_spec("a")])
    specs = SpecsTable(Storage(parse_location(str(tmp_path))))
    rows = content.table().drop_columns([missing])
    specs.write([ContentRows(content.digest, rows)])
    (spec,) = specs.opened(content.digest)(SPEC_ROWS.names).to_pylist()
    assert spec[missing] is None
    assert spec["hash"] == full_spec("a").hash


def test_damaged_file(tmp_path: Path) -> None:
    """The error names the content and the file."""
    content = Content.of([a_spec("1")])
    reader = written(tmp_path, content)
    (file,) = tmp_path.rglob("digest=*/*.parquet")
    flip(file)
    with pytest.raises(CatalogError, match=f"{content.digest[:12]} is damaged: .*{file.name}"):
        reader.frame(content.digest)


def revision(number: int, label: str, kind: str) -> RevisionInfo:
    """Return a row of develop with a kind of source."""
    source = Source(kind=kind, location="pages.git", version=f"{number}f" * 20, importer="x 1")
    return replace(a_revision("develop", number, label), source=source)
