"""A catalog under bad conditions: foreign tables, full disks, racing or killed imports."""

import re
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.contents import Content
from snapshots.errors import CatalogError
from tests.expensive import IS_QUICK
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import TAGS, publish_state, specs_of
from tests.snapshots.removal_catalogs import file_size_limit, publish_killed
from tests.snapshots.templates import copied


def assert_is_sound(catalog: Catalog) -> list[int]:
    """Check that all tags have the same complete states; return their numbers, oldest first."""
    states = [[line.num_specs - 10 for line in catalog.history.of_tag(tag)] for tag in TAGS]
    assert all(numbers == states[0] for numbers in states)
    for line in catalog.history.of_tag(TAGS[0]):
        number = line.num_specs - 10
        assert line.taken_at == day(number)
        frame = catalog.reader().frame(line.digest)
        specs = list(map(frame.spec, range(len(frame))))
        assert Content.of(specs).digest == line.digest == Content.of(specs_of(number)).digest
    return states[0][::-1]


def test_import_that_is_killed_between_its_commits(tmp_path: Path) -> None:
    """Specs and changes without a revision are invisible; the same import later reuses them."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    publish_killed(catalog, 1, RevisionsTable, "append")
    assert catalog.refresh() is False
    assert assert_is_sound(catalog) == [0]
    assert len(catalog.changes.counts) == 2
    new = specs_of(1)[0].hash
    assert Library(catalog).history_queries.hash_history(catalog.history, new) is None
    publish_state(catalog, 1)
    assert assert_is_sound(catalog) == [0, 1]
    assert missing_pairs(catalog, catalog.history) == []
    assert DeltaTable(str(tmp_path / "specs")).to_pyarrow_table().num_rows == 10 + 11


@pytest.mark.parametrize("method", ["merge", "read"])
def test_nothing_fails_after_the_publication(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are there, so the import succeeds; the next one merges the files."""
    catalog = Catalog(str(tmp_path))
    publish_state(catalog, 0)
    real = delta.CatalogTable.append

    def append_last(table: delta.CatalogTable, rows: pa.Table) -> None:
        real(table, rows)
        if table.name == "revisions":
            failing = mock.Mock(side_effect=OSError(28, "No space left on device"))
            monkeypatch.setattr(delta.CatalogTable, method, failing)

    monkeypatch.setattr(delta.CatalogTable, "append", append_last)
    made = catalog.publish([a_snapshot(specs_of(1), tag, day(1)) for tag in TAGS])
    assert [(it.is_new, it.not_stored) for it in made] == [(True, None)] * 2
    assert assert_is_sound(catalog) == [0, 1]
    monkeypatch.undo()
    publish_state(catalog, 2)
    assert assert_is_sound(catalog) == [0, 1, 2]
    assert missing_pairs(catalog, catalog.history) == []


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file that cannot be written, and published states remain."""
    monkeypatch.setattr(delta, "CHECKPOINT_EVERY", 2)
    full = tmp_path / "full"
    for number in range(2):
        publish_state(Catalog(str(full)), number)
    failures = set()
    for limit in (0, 700, 4_500, 9_000, 12_000, 17_000, 19_000)[:: 2 if IS_QUICK else 1]:
        catalog = copied(full, tmp_path / str(limit))
        failure = None
        with file_size_limit(limit):
            try:
                publish_state(catalog, 2)
            except CatalogError as error:
                failure = str(error)
        catalog.refresh()
        expected = [0, 1] if failure else [0, 1, 2]
        assert assert_is_sound(catalog) == expected
        assert not list(Path(catalog.location).rglob("*.tmp"))
        publish_state(catalog, 3)
        assert assert_is_sound(catalog) == [*expected, 3]
        failures.add(failure)
    assert None in failures
    assert all(
        message is None or re.search(r"\.parquet: File too large$", message) for message in failures
    )


@pytest.mark.parametrize(("conflicts", "is_refused"), [(3, False), (99, True)])
def test_conflicts(
    conflicts: int, *, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that conflicts with another import is repeated, up to a limit."""
    failures = iter(range(conflicts))

    commit = DeltaTable.create_write_transaction

    def fail_first(*arguments: Any, **named: Any) -> None:
        if next(failures, None) is not None:
            raise CommitFailedError("another import committed")
        commit(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", fail_first)
    catalog = Catalog(str(tmp_path))
    if is_refused:
        with pytest.raises(
            CatalogError, match=f"^catalog {tmp_path}: other processes kept writing"
        ):
            publish_state(catalog, 0)
        assert not catalog.history.revisions
    else:
        publish_state(catalog, 0)
        assert assert_is_sound(catalog) == [0]
