"""The stored difference between two adjacent revisions, and hashes as numbers."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given

from snapshots.changes.stored_changes import (
    StoredChanges,
    comparisons_table,
    counts_of,
    numbers_of,
    packages_of,
)
from snapshots.history import Pair
from snapshots.tables import COMPARISONS
from tests.expensive import examples
from tests.model.histories import HistoryQueries
from tests.snapshots.timelines.generated_histories import PASTS


@examples(35)
@given(PASTS)
def test_stored_changes(past: HistoryQueries) -> None:
    """Rows, counts, packages and numbers of adjacent revisions are those of the model."""
    for pair in past.history.pairs:
        stored = past.kept(pair)
        expected = past.rows([pair])
        names = ["name", "hash", "kind", "version", "reason"]
        assert stored.rows.select(names).to_pylist() == expected.select(names).to_pylist()
        assert stored.counts == past.counts(pair)
        table = comparisons_table([stored], "cachelog 1", datetime(2025, 1, 5, tzinfo=UTC))
        assert table.schema == COMPARISONS
        assert packages_of(table) == {pair: stored.packages}
        assert counts_of(table) == {pair: stored.counts}
        assert_packages(stored, expected.to_pylist(), past, pair)
        assert_numbers(stored, expected.to_pylist())


def assert_packages(
    stored: StoredChanges, rows: list[dict[str, Any]], past: HistoryQueries, pair: Pair
) -> None:
    """Assert that each changed package is stored once, with the counts of its rows."""
    assert {package.name for package in stored.packages} >= {row["name"] for row in rows}
    for package in stored.packages:
        own = [row for row in rows if row["name"] == package.name]
        kinds, reasons = (Counter(row[key] for row in own) for key in ("kind", "reason"))
        rebuilt, replaced = reasons["rebuilt"], reasons["replaces"]
        assert package.specs_added == kinds["added"]
        assert package.specs_removed == kinds["removed"]
        assert package.specs_changed == kinds["changed"]
        assert (package.specs_rebuilt, package.specs_replaced) == (rebuilt, replaced)
        assert package.specs_new == kinds["added"] - rebuilt - replaced
        before, after = (
            {spec.version for spec in past.contents[digest].values() if spec.name == package.name}
            for digest in pair
        )
        assert set(package.versions_added) == after - before
        assert set(package.versions_removed) == before - after


def assert_numbers(stored: StoredChanges, rows: list[dict[str, Any]]) -> None:
    """Assert that new hashes are stored as numbers with reasons, and removed ones as numbers."""
    (row,) = comparisons_table([stored], "cachelog 1", None).to_pylist()
    new = {row["hash"]: row["reason"] for row in rows if row["reason"].startswith("new_")}
    numbers = numbers_of(pa.chunked_array([pa.array(new, pa.string())])).view("int64").tolist()
    numbered = {entry["number"]: entry["reason"] for entry in row["new_specs"]}
    assert numbered == dict(zip(numbers, new.values(), strict=True))
    removed = [row["hash"] for row in rows if row["kind"] == "removed"]
    numbers = numbers_of(pa.chunked_array([pa.array(removed, pa.string())])).view("int64")
    assert sorted(row["removed_specs"]) == sorted(numbers.tolist())
