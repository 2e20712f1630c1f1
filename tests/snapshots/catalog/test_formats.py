"""The format number of a catalog: older versions of cachelog refuse newer formats."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from deltalake import DeltaTable
from deltalake.table import TableAlterer

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import Contents
from snapshots.catalog.verification import verify
from snapshots.errors import NewerCatalog
from tests.snapshots.removal_catalogs import publish

FORMAT = "cachelog.format"


def table(catalog: Catalog) -> DeltaTable:
    """Open the table of revisions as other tools do."""
    return DeltaTable(f"{catalog.location}/revisions")


def without_format(catalog: Catalog) -> None:
    """Convert the catalog to the form before formats."""
    for commit in Path(catalog.location, "revisions", "_delta_log").glob("*.json"):
        actions = [orjson.loads(line) for line in commit.read_bytes().splitlines()]
        for action in actions:
            action.get("metaData", {}).get("configuration", {}).pop(FORMAT, None)
        commit.write_bytes(b"\n".join(map(orjson.dumps, actions)))
    assert FORMAT not in table(catalog).metadata().configuration


@pytest.mark.parametrize("number", ["2", "1.5", "\x1b[1m"])
def test_newer_format(catalog: Catalog, number: str) -> None:
    """It is refused in one sentence, by readers and writers."""
    assert table(catalog).metadata().configuration[FORMAT] == "1"
    table(catalog).alter.set_table_properties({FORMAT: number}, raise_if_not_exists=False)
    reader = Catalog(catalog.location)
    for use in (
        catalog.refresh,
        reader.refresh,
        lambda: publish(reader, 1, 1),
        lambda: verify(catalog.location, repair=True),
        Contents(catalog.location).named,
    ):
        with pytest.raises(NewerCatalog) as caught:
            use()
        text = str(caught.value)
        assert text.startswith(f"catalog {catalog.location}: its format is ")
        assert text.endswith("this cachelog reads formats up to 1: it needs a newer cachelog")
        assert text.isprintable()
    assert table(catalog).to_pyarrow_table().num_rows == 3


def test_catalog_without_a_format(catalog: Catalog) -> None:
    """It has the first format, which its next import records."""
    without_format(catalog)
    reader = Catalog(catalog.location)
    assert len(reader.require_history().revisions) == 3
    publish(reader, 3, 3)
    assert table(catalog).metadata().configuration[FORMAT] == "1"
    assert len(Catalog(catalog.location).require_history().revisions) == 4


def test_concurrent_imports_record_the_format(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two imports that record the format at the same time succeed."""
    without_format(catalog)
    set_properties, others = TableAlterer.set_table_properties, iter([3])

    def set_late(alterer: TableAlterer, *arguments: Any, **options: Any) -> None:
        for number in others:
            publish(Catalog(catalog.location), number, number)
        set_properties(alterer, *arguments, **options)

    monkeypatch.setattr(TableAlterer, "set_table_properties", set_late)
    publish(Catalog(catalog.location), 4, 4)
    assert len(Catalog(catalog.location).require_history().revisions) == 5
    assert table(catalog).metadata().configuration[FORMAT] == "1"
