"""Damage to stored files: it is detected, reported, and repaired by importing again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError
from snapshots.models import Spec
from tests.snapshots.removal_catalogs import flip, publish
from tests.snapshots.templates import reopened


def stored_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a catalog, or of one table, without those of logs."""
    return sorted(file for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts)


def states(catalog: Catalog) -> list[tuple[object, list[Spec]]]:
    """Return each revision with its specs."""
    result: list[tuple[object, list[Spec]]] = []
    for revision in catalog.history.revisions:
        frame = catalog.reader().frame(revision.digest)
        catalog.reader().dependencies(revision.digest)
        result.append((revision, [frame.spec(row) for row in range(len(frame))]))
    return result


def content_file(catalog: Catalog, number: int) -> tuple[str, Path]:
    """Return the digest of a state, and its file."""
    (digest,) = {
        revision.digest
        for revision in catalog.history.revisions
        if revision.num_specs == number + 10
    }
    (file,) = stored_files(Path(catalog.location, "specs", f"digest={digest}"))
    return digest, file


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a flipped bit": flip,
    "missing": Path.unlink,
    "missing table": lambda file: shutil.rmtree(file.parent.parent),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_content_is_replaced(catalog: Catalog, damage: str) -> None:
    """The error names the content, others can be read, and the same import repairs it."""
    whole = states(catalog)
    digest, file = content_file(catalog, 1)
    DAMAGES[damage](file)
    reader = reopened(catalog)
    with pytest.raises(CatalogError, match=f"{digest[:12]} is (damaged|missing).* import the same"):
        reader.reader().frame(digest)
    if damage != "missing table":
        assert len(reader.reader().frame(content_file(catalog, 0)[0])) == 10
    for number in range(3) if damage == "missing table" else [1]:
        publish(Catalog(catalog.location), number, number)
    for each in (reader, reopened(catalog)):
        assert states(each) == whole
    rows = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert rows.num_rows == 10 + 11 + 12
