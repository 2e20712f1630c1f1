"""What every question to the past needs: made once, and anew where more is kept."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import Past, fill, missing_pairs, prepare
from snapshots.errors import CatalogError
from tests.snapshots.catalog.pasts import TABLES, forget, pairs, states
from tests.snapshots.factories import hash_of


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog of two states, as a server finds it."""
    Catalog(str(tmp_path)).publish(states("ab", "bc"))
    reader = Catalog(str(tmp_path))
    reader.refresh()
    return reader


def test_the_first_question_opens_no_table(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where somebody has prepared for it."""
    prepare(catalog)
    monkeypatch.setattr(delta, "ask_anew", None)
    found = Past(catalog).hash_history(catalog.history, hash_of("c"))
    assert found is not None
    assert not missing_pairs(catalog, catalog.history)


def test_nothing_is_wrong_until_somebody_asks(catalog: Catalog) -> None:
    """A table that cannot be opened is told to who asks; so is a catalog without history."""
    log = Path(catalog.location) / "hashes" / "_delta_log"
    for file in log.iterdir():
        file.write_text("{")
    prepare(catalog)
    with pytest.raises(CatalogError, match="hashes"):
        Past(catalog).hash_history(catalog.history, hash_of("c"))
    prepare(Catalog(catalog.location))


def test_what_is_missing_is_as_of_now(catalog: Catalog) -> None:
    """It is looked for again where more is kept, and told of each series by itself."""
    expected = [*pairs(states("ab", "bc"))]
    forget(catalog, *TABLES)
    older = Catalog(catalog.location)
    older.refresh()
    history = older.history
    for _ in range(2):
        assert sorted(missing_pairs(older, history)) == sorted(expected)
        assert missing_pairs(older, history, "nothing") == []
    fill(older, expected[:1])
    assert missing_pairs(older, history) == expected[1:]
    assert missing_pairs(older, history, "develop") == expected[1:]


@pytest.mark.parametrize("lost", ["all of it", "an item"])
def test_a_list_that_another_tool_left_out(catalog: Catalog, lost: str) -> None:
    """The table and the column are named."""
    uri = f"{catalog.location}/comparisons"
    rows = DeltaTable(uri).to_pyarrow_table()
    value = None if lost == "all of it" else [None]
    lists = pa.array([value] * len(rows), pa.list_(pa.int64()))
    place = rows.column_names.index("removed_specs")
    write_deltalake(uri, rows.set_column(place, "removed_specs", lists), mode="overwrite")
    reader = Catalog(catalog.location)
    reader.refresh()
    with pytest.raises(CatalogError, match="comparisons lacks values of removed_specs; remove"):
        list(reader.changes.comparisons(reader.counts, ["removed_specs"]))
