"""Copies of a catalog: complete in spite of concurrent changes, and limited to new files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.copies import backup
from snapshots.catalog.locations import parse_location
from snapshots.catalog.storage import Storage
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError, InvalidArgument, NoCatalog
from tests.expensive import IS_QUICK
from tests.snapshots.removal_catalogs import (
    clean,
    drop,
    flip,
    hours_ago,
    loaded,
    publish,
    rows,
)


@pytest.fixture
def target(tmp_path: Path) -> str:
    """Return the location of the copy."""
    return str(tmp_path / "some" / "backup")


def files_of(location: str) -> dict[str, bytes]:
    """Return the bytes of the files of tables and of their logs, by path."""
    root = Path(location)
    files = {file.relative_to(root): file for file in root.rglob("*") if file.is_file()}
    return {str(path): file.read_bytes() for path, file in files.items() if path.name[0] != "_"}


def in_use(location: str) -> set[str]:
    """Return the paths of the files that the logs of a catalog name, and of these logs."""
    paths = set()
    for log in Path(location).glob("*/_delta_log"):
        table = log.parent
        paths |= {str(table / path) for path in DeltaTable(str(table)).file_uris()}
        paths |= {str(file) for file in log.iterdir() if file.name[0] != "_"}
    return {str(Path(path).relative_to(location)) for path in paths}


def assert_same(catalog: Catalog, target: str) -> None:
    """Check that a copy has the used files of the catalog, byte by byte, and none that it lacks."""
    files = files_of(target)
    assert in_use(catalog.location) == in_use(target)
    assert in_use(target) <= files.keys()
    assert files.items() <= files_of(catalog.location).items()


def test_only_new_files_are_copied(
    catalog: Catalog, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup copies the files since the previous one, also if no commit is left of that."""
    monkeypatch.setattr(delta, "CHECKPOINT_EVERY", 3)
    first = backup(catalog.location, target)
    assert first.num_revisions == 3
    assert first.num_files == sum("_delta_log" not in path for path in in_use(catalog.location))
    assert_same(catalog, target)
    assert files_of(target).keys() == in_use(catalog.location)
    assert backup(catalog.location, target).num_files == 0
    assert verify(target).findings == ()

    publish(catalog, 3, 3)
    second = backup(catalog.location, target)
    assert (second.num_revisions, second.num_removed) == (4, 0)
    assert 0 < second.num_files < first.num_files
    assert_same(catalog, target)

    for number in range(4, 9):
        publish(catalog, number, number)
    log = Path(catalog.location, "revisions", "_delta_log")
    checkpoint = max(int(file.name[:20]) for file in log.glob("*.checkpoint.parquet"))
    for file in log.glob("0*"):
        if int(file.name[:20]) < checkpoint:
            file.unlink()
    logs = [Path(root, "revisions", "_delta_log").glob("0*") for root in (target, catalog.location)]
    assert set.isdisjoint(*({file.name for file in log} for log in logs))
    assert backup(catalog.location, target).num_revisions == 9
    assert_same(catalog, target)


def test_restore(catalog: Catalog, target: str, tmp_path: Path) -> None:
    """A restored catalog can be published to and copied; no catalog is overwritten."""
    backup(catalog.location, target)
    again = Catalog(str(tmp_path / "again"))
    assert backup(target, again.location).num_revisions == 3
    assert_same(catalog, again.location)
    publish(again, 3, 3)
    backup(again.location, target)
    assert_same(again, target)
    with pytest.raises(
        CatalogError, match=r"are not earlier ones of .*catalog \(only the copy has revis.*; name"
    ):
        backup(catalog.location, target)
    publish(catalog, 4, 4)
    with pytest.raises(CatalogError, match="are not earlier ones"):
        backup(catalog.location, target)
    assert_same(again, target)


def test_refused_locations(catalog: Catalog, target: str, tmp_path: Path) -> None:
    """They are the catalog's own, that of another catalog, and one without a catalog."""
    other = Catalog(str(tmp_path / "other"))
    publish(other, 7, 7)
    before = rows(other)
    with pytest.raises(CatalogError, match="are not earlier ones"):
        backup(catalog.location, other.location)
    assert rows(other) == before
    with pytest.raises(InvalidArgument, match="is where the catalog is"):
        backup(catalog.location, f"file://{catalog.location}/")
    with pytest.raises(InvalidArgument, match="is neither a folder nor a URL"):
        backup(catalog.location, "s3:bucket")
    with pytest.raises(NoCatalog):
        backup(str(tmp_path / "nothing"), target)
    (tmp_path / "file").touch()
    with pytest.raises(CatalogError, match="is not a folder"):
        backup(catalog.location, str(tmp_path / "file"))


@pytest.mark.parametrize("has_copy", [True, False])
def test_interrupted_copy(catalog: Catalog, target: str, *, has_copy: bool) -> None:
    """Until its last file is written, the copy is an earlier state or no catalog."""
    earlier = rows(catalog) if has_copy else set()
    if has_copy:
        backup(catalog.location, target)
    publish(catalog, 3, 3)
    write = Storage.write
    num_writes = num_left = 0

    def limited(storage: Storage, path: str, data: pa.Buffer) -> None:
        nonlocal num_left, num_writes
        if not num_left:
            raise OSError(28, "No space left on device", path)
        num_left -= 1
        num_writes += 1
        write(storage, path, data)

    is_done = False
    with mock.patch.object(Storage, "write", limited):
        while not is_done:
            num_left = 3
            with suppress(CatalogError):
                backup(catalog.location, target)
                is_done = True
            try:
                copied = rows(Catalog(target))
            except CatalogError:
                assert not earlier
            else:
                assert earlier <= copied <= rows(catalog)
                loaded(Catalog(target))
    assert num_writes > 3
    assert_same(catalog, target)


# -- damage


@contextmanager
def damaged(location: str, path: str, damage: Callable[[Path], None]) -> Iterator[None]:
    """Damage a file of a catalog within the context."""
    file = Path(location, path)
    data = file.read_bytes()
    damage(file)
    yield
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [Path.unlink, flip])
def test_a_backup_of_a_damaged_catalog_keeps_the_copy(
    catalog: Catalog, target: str, damage: Callable[[Path], None]
) -> None:
    """Whichever file is damaged, it is named, and the earlier copy of it remains as it was.

    The suite damages one file of each kind.
    A flipped bit of a file that the copy has already is not read, and so not found.
    """
    backup(catalog.location, target)
    sound = files_of(target)
    kinds = {(path.partition("/")[0], "_delta_log" in path): path for path in sound}
    for path in kinds.values() if IS_QUICK else sound:
        is_read = "_delta_log" in path or path.startswith("revisions/")
        named = f"{path}|the table {path.partition('/')[0]}(:| cannot be read:) "
        if damage is flip and "_delta_log" in path:  # for example, a file has another name now
            named = path.partition("/")[0]
        with damaged(catalog.location, path, damage):
            if damage is flip and not is_read:
                assert backup(catalog.location, target).num_files == 0
            else:
                with pytest.raises(CatalogError, match=named):
                    backup(catalog.location, target)
        assert files_of(target) == sound, path
    assert backup(catalog.location, target).num_files == 0


# -- concurrent changes


@pytest.mark.usefixtures("bucket")
def test_copy_in_a_bucket(catalog: Catalog, tmp_path: Path) -> None:
    """A folder is copied to object storage and back, file by file."""
    bucket = "s3://bucket/copies/of"
    backup(catalog.location, bucket)
    with hours_ago():
        drop(catalog, "develop~1")
    clean(catalog, timedelta(hours=1))
    publish(catalog, 5, 5)
    assert backup(catalog.location, bucket).num_removed
    again = str(tmp_path / "again")
    backup(bucket, again)
    assert_same(catalog, again)
    assert not Storage(parse_location("s3://bucket")).find("copies/of/revisions/_probe")
