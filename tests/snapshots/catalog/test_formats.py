"""The format number of a catalog: older versions of cachelog refuse newer formats."""

from pathlib import Path

import orjson
import pytest
from deltalake import DeltaTable

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.verification import verify
from snapshots.errors import NewerCatalog, OlderCatalog
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


@pytest.mark.parametrize("number", ["3", "1.5", "\x1b[1m"])
def test_newer_format(catalog: Catalog, number: str) -> None:
    """It is refused in one sentence, by readers and writers."""
    assert table(catalog).metadata().configuration[FORMAT] == "2"
    table(catalog).alter.set_table_properties({FORMAT: number}, raise_if_not_exists=False)
    reader = Catalog(catalog.location)
    for use in (
        catalog.refresh,
        reader.refresh,
        lambda: publish(reader, 1, 1),
        lambda: verify(catalog.location),
    ):
        with pytest.raises(NewerCatalog) as caught:
            use()
        text = str(caught.value)
        assert text.startswith(f"catalog {catalog.location}: its format is ")
        assert text.endswith("this cachelog reads formats up to 2: it needs a newer cachelog")
        assert text.isprintable()
    assert table(catalog).to_pyarrow_table().num_rows == 3


def test_older_format(catalog: Catalog) -> None:
    """It is refused in one sentence that names the way to the present format."""
    without_format(catalog)
    reader = Catalog(catalog.location)
    for use in (reader.refresh, lambda: publish(reader, 3, 3), lambda: verify(catalog.location)):
        with pytest.raises(OlderCatalog, match=r"import its sources again"):
            use()
