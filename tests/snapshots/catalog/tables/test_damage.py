"""Damage to stored files: it is detected, named, and repaired by importing again."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from snapshots.catalog import whole_table
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError, NoCatalog
from snapshots.models import Spec
from tests.expensive import cases
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.keeping import publish

FLIPS = cases(40)


def stored_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a catalog, or of one table, without those of logs."""
    return sorted(it for it in folder.rglob("*.parquet") if "_delta_log" not in it.parts)


def states(catalog: Catalog) -> list[tuple[object, list[Spec]]]:
    """Return each revision with its specs."""
    found: list[tuple[object, list[Spec]]] = []
    for revision in catalog.history.revisions:
        frame = catalog.load(revision.digest)
        catalog.reader().dependencies(revision.digest)
        found.append((revision, [frame.spec(row) for row in range(len(frame))]))
    return found


def reopened(catalog: Catalog) -> Catalog:
    """Return the same catalog as another process would open it."""
    other = Catalog(catalog.location)
    other.refresh()
    return other


def content_file(catalog: Catalog, number: int) -> tuple[str, Path]:
    """Return the digest of a state, and its file."""
    (digest,) = {it.digest for it in catalog.history.revisions if it.num_specs == number + 10}
    (file,) = stored_files(Path(catalog.location, "specs", f"digest={digest}"))
    return digest, file


@pytest.mark.untraced
def test_flipped_bits(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flipped bit of a stored file is noticed, merged files among them."""
    monkeypatch.setattr(whole_table, "_MAX_FILES", 3)
    publish(catalog, 3, 3)
    listed = DeltaTable(f"{catalog.location}/revisions").file_uris()
    files = [*stored_files(Path(catalog.location, "specs")), *map(Path, listed)]
    random = Random(0)
    for _ in range(FLIPS):
        file = random.choice(files)
        whole = file.read_bytes()
        data = bytearray(whole)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        file.write_bytes(data)
        with pytest.raises(CatalogError, match=file.name):
            states(reopened(catalog))
        file.write_bytes(whole)
    assert len(states(reopened(catalog))) == 4


def flip(file: Path) -> None:
    """Flip one bit."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    """Remove the end of a file."""
    file.write_bytes(file.read_bytes()[:-9])


def make_empty(file: Path) -> None:
    """Truncate a file to zero bytes."""
    file.write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a flipped bit": flip,
    "cut": cut,
    "empty": make_empty,
    "gone": Path.unlink,
    "its folder is gone": lambda file: shutil.rmtree(file.parent),
    "its table is gone": lambda file: shutil.rmtree(file.parent.parent),
}


@pytest.mark.parametrize(
    ("damage", "written_alike"), [*((it, True) for it in DAMAGES), ("empty", False)]
)
def test_a_damaged_content_is_replaced(
    catalog: Catalog, damage: str, *, written_alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused by name, the others are read, and the same import again mends it.

    Also where another version of a library writes the same rows as other bytes.
    """
    whole = states(catalog)
    digest, file = content_file(catalog, 1)
    DAMAGES[damage](file)
    reader = reopened(catalog)
    with pytest.raises(CatalogError, match=f"{digest[:12]} is (damaged|missing).* import the same"):
        reader.load(digest)
    if damage != "its table is gone":
        assert len(reader.load(content_file(catalog, 0)[0])) == 10
    if not written_alike:
        monkeypatch.setattr("snapshots.catalog.parquet._DICTIONARY_BYTES", 1)
    for number in range(3) if damage == "its table is gone" else [1]:
        publish(Catalog(catalog.location), number, number)
    for each in (reader, reopened(catalog)):
        assert states(each) == whole
    rows = DeltaTable(f"{catalog.location}/specs").to_pyarrow_table()
    assert rows.num_rows == 10 + 11 + 12
    monkeypatch.undo()
    publish(Catalog(catalog.location), 1, 1)
    assert states(reopened(catalog)) == whole


def test_what_is_intact_is_not_written_again(catalog: Catalog) -> None:
    """An import of what is there leaves every file as it is."""
    folder = Path(catalog.location)
    before = {file: file.stat().st_mtime_ns for file in stored_files(folder)}
    for number in range(3):
        publish(Catalog(catalog.location), number, number)
    assert before == {
        file: file.stat().st_mtime_ns for file in stored_files(Path(catalog.location))
    }


@pytest.mark.parametrize("position", [0, -1])
def test_an_empty_commit(catalog: Catalog, position: int) -> None:
    """A commit that holds nothing is damage, not a state with fewer revisions."""
    log = sorted(Path(catalog.location, "revisions", "_delta_log").glob("*.json"))
    log[position].write_bytes(b"")
    # Who has read the others already does not read them again.
    for each in [Catalog(catalog.location), *([catalog] if position == -1 else [])]:
        with pytest.raises(CatalogError, match=log[position].name):
            each.refresh()
        with pytest.raises(CatalogError, match=log[position].name):
            publish(each, 3, 3)


def test_an_empty_log(catalog: Catalog) -> None:
    """A table without its log is damaged; nobody starts a new one over its files."""
    for file in Path(catalog.location, "revisions", "_delta_log").iterdir():
        file.unlink()
    for each in (Catalog(catalog.location), catalog):
        with pytest.raises(CatalogError, match=r"revisions/_delta_log is empty; restore it"):
            each.refresh()
        with pytest.raises(CatalogError, match=r"revisions/_delta_log is empty; restore it"):
            publish(each, 3, 3)


def move(other: Path, place: Path) -> None:
    """Replace a catalog by moving another to its location."""
    shutil.rmtree(place)
    other.rename(place)


def copy(other: Path, place: Path) -> None:
    """Replace a catalog by a copy of another."""
    shutil.rmtree(place)
    shutil.copytree(other, place)


def copy_tables(other: Path, place: Path) -> None:
    """Replace the tables of a catalog by copies of another's."""
    for name in ("revisions", "specs"):
        shutil.rmtree(place / name)
    shutil.copytree(other, place, dirs_exist_ok=True)


@pytest.mark.parametrize(("swap", "num_states"), [(copy, 1), (move, 3), (copy_tables, 5)])
def test_a_catalog_in_the_place_of_another(
    catalog: Catalog, tmp_path: Path, swap: Callable[[Path, Path], None], num_states: int
) -> None:
    """It is noticed by the next refresh, whether it is shorter, longer or has as many commits."""
    other = Catalog(str(tmp_path / "other"))
    for number in range(num_states):
        other.publish([a_snapshot([a_spec(f"other {number}")], "other", day(number))])
    expected = other.history.revisions
    generation = catalog.generation
    swap(tmp_path / "other", tmp_path / "catalog")
    assert catalog.refresh() is True
    assert catalog.history.revisions == expected
    assert catalog.generation not in (generation, -1)
    assert catalog.refresh() is False
    assert len(states(catalog)) == num_states
    publish(catalog, 7, 7)
    assert len(states(reopened(catalog))) == num_states + 1


def test_a_catalog_that_is_made_anew(catalog: Catalog) -> None:
    """One that was missing for a while has another generation, though it has as many commits."""
    seen = {catalog.generation}
    shutil.rmtree(catalog.location)
    with pytest.raises(NoCatalog):
        catalog.refresh()
    assert (catalog.generation, catalog.history.revisions) == (-1, [])
    other = Catalog(catalog.location)
    for number in range(3):
        publish(other, number + 5, number + 5)
    assert catalog.refresh() is True
    assert catalog.generation not in seen
    assert catalog.history.revisions == other.history.revisions
