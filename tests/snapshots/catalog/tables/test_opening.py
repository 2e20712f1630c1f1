"""Tables are opened while others tidy their logs."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import ask_anew


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Return a table of nothing."""
    DeltaTable.create(str(tmp_path), pa.schema([("a", pa.string())]))
    return str(tmp_path)


def test_a_commit_that_was_removed_while_the_log_was_read(uri: str) -> None:
    """It is opened again, until it can be read."""
    problems = [DeltaError("File not found"), DeltaError("File not found")]

    def version(table: DeltaTable) -> int:
        if problems:
            raise problems.pop()
        return table.version()

    assert ask_anew(uri, version) == 0
    assert not problems


def test_damage_stays_damage(uri: str) -> None:
    """It is raised after some attempts."""
    tables = []

    def fail(table: DeltaTable) -> None:
        tables.append(table)
        raise DeltaError("broken")

    with pytest.raises(DeltaError, match="broken"):
        ask_anew(uri, fail)
    assert 1 < len(tables) < 10


def test_no_table(tmp_path: Path) -> None:
    """There is nothing to wait for."""
    with pytest.raises(TableNotFoundError):
        ask_anew(str(tmp_path), DeltaTable.version)
