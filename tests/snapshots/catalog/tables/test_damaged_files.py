"""Damage to stored files: it is detected, reported, and repaired by importing again."""

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError, NoCatalog
from snapshots.models import Spec
from tests.expensive import cases
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.removal_catalogs import flip, publish
from tests.snapshots.templates import reopened

FLIPS = cases(40)


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


def test_flipped_bits(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flipped bit of a stored file is detected, also in merged files."""
    monkeypatch.setattr(delta, "MIN_FILES", 3)
    publish(catalog, 3, 3)
    listed = DeltaTable(f"{catalog.location}/revisions").file_uris()
    files = [*stored_files(Path(catalog.location, "specs")), *map(Path, listed)]
    random = Random(0)
    for _ in range(FLIPS):
        file = random.choice(files)
        whole = file.read_bytes()
        flip(file, random.randrange(len(whole)), random.randrange(8))
        with pytest.raises(CatalogError, match=file.name):
            states(reopened(catalog))
        file.write_bytes(whole)
    assert len(states(reopened(catalog))) == 4


TABLES = ("revisions", "specs")

DAMAGES: dict[str, Callable[[Path], None]] = {
    "a flipped bit": flip,
    "cut": lambda file: os.truncate(file, file.stat().st_size - 9),
    "empty": lambda file: os.truncate(file, 0),
    "missing": Path.unlink,
    "missing folder": lambda file: shutil.rmtree(file.parent),
    "missing table": lambda file: shutil.rmtree(file.parent.parent),
}


@pytest.mark.parametrize(
    ("damage", "same_bytes"), [*((name, True) for name in DAMAGES), ("empty", False)]
)
def test_damaged_content_is_replaced(
    catalog: Catalog, damage: str, *, same_bytes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the content, others can be read, and the same import repairs it."""
    whole = states(catalog)
    digest, file = content_file(catalog, 1)
    DAMAGES[damage](file)
    reader = reopened(catalog)
    with pytest.raises(CatalogError, match=f"{digest[:12]} is (damaged|missing).* import the same"):
        reader.reader().frame(digest)
    if damage != "missing table":
        assert len(reader.reader().frame(content_file(catalog, 0)[0])) == 10
    if not same_bytes:
        monkeypatch.setattr("snapshots.catalog.parquet._DICTIONARY_BYTES", 1)
    for number in range(3) if damage == "missing table" else [1]:
        publish(Catalog(catalog.location), number, number)
    for each in (reader, reopened(catalog)):
        assert states(each) == whole
    rows = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert rows.num_rows == 10 + 11 + 12
    monkeypatch.undo()
    publish(Catalog(catalog.location), 1, 1)
    assert states(reopened(catalog)) == whole


def test_emptied_log(catalog: Catalog) -> None:
    """It is damage: no state with fewer revisions, and no table to start again."""
    for file in Path(catalog.location, "revisions", "_delta_log").glob("*.json"):
        file.unlink()
    for each in (Catalog(catalog.location), catalog):
        for use in (each.refresh, partial(publish, each, 3, 3)):
            with pytest.raises(CatalogError, match="revisions/_delta_log is empty; restore it"):
                use()


@pytest.mark.parametrize(("num_states", "tables"), [(1, None), (3, None), (5, TABLES[:2])])
def test_catalog_that_replaces_another(
    catalog: Catalog, tmp_path: Path, num_states: int, tables: Sequence[str] | None
) -> None:
    """The next refresh notices it, whether it is shorter, longer or has as many commits."""
    other = Catalog(str(tmp_path / "other"))
    for number in range(num_states):
        other.publish([a_snapshot([a_spec(f"other {number}")], "other", day(number))])
    generation, folder = catalog.generation, Path(catalog.location)
    for removed in [folder] if tables is None else [folder / name for name in tables]:
        shutil.rmtree(removed)
    if num_states == 1:
        with pytest.raises(NoCatalog):
            catalog.refresh()
        assert (catalog.generation, catalog.state, catalog.history.revisions) == (-1, -1, [])
    shutil.copytree(other.location, folder, dirs_exist_ok=True)
    assert catalog.refresh() is True
    assert catalog.history.revisions == other.history.revisions
    assert catalog.generation not in (generation, -1)
    assert catalog.refresh() is False
    assert len(states(catalog)) == num_states
    publish(catalog, 7, 7)
    assert len(states(reopened(catalog))) == num_states + 1
