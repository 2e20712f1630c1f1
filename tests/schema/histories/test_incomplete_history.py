"""Incomplete histories: an error counts the missing changes."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from tests.schema.model_histories import History
from tests.schema.worlds import World, opened
from tests.snapshots.catalog.expected_histories import TABLES, forget

GROWTH = '{ series(name: "%s") { growth { numSpecs } } }'


@pytest.fixture
def without_changes(history: History, tmp_path: Path) -> World:
    """Return a catalog of an earlier version, without the table of changes."""
    shutil.copytree(history.world.catalog.location, tmp_path, dirs_exist_ok=True)
    forget(Catalog(str(tmp_path)), *TABLES)
    return opened(tmp_path)


def test_error_counts_missing_changes(without_changes: World) -> None:
    """With a code and numbers, until they are stored."""
    response = without_changes.ask(GROWTH % "develop")
    (error,) = response["errors"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 5, "numPairs": 5}
    assert error["path"] == ["series", "growth"]
    assert "5 of 5 pairs" in error["message"]
    assert "cachelog upkeep" in error["message"]
    assert response["data"] == {"series": {"growth": None}}
    catalog = without_changes.catalog
    catalog.fill(missing_pairs(catalog, catalog.history))
    assert "errors" not in without_changes.ask(GROWTH % "develop")


def test_other_fields_are_not_affected(without_changes: World) -> None:
    """Tags, and a series that is complete."""
    catalog = without_changes.catalog
    catalog.fill(missing_pairs(catalog, catalog.history, "once"))
    response = without_changes.ask(
        '{ a: series(name: "develop") { growth { numSpecs } } tags { name } '
        'b: series(name: "once") { growth { numSpecs } } packages { totalCount } '
        'package(name: "zlib") { name } }'
    )
    assert len(response["data"]["b"]["growth"]) == 1
    assert response["data"]["tags"]
    paths = [error["path"] for error in response["errors"]]
    assert paths == [["a", "growth"], ["packages"], ["package"]]


def test_number_of_histories_is_limited(history: History) -> None:
    """To twenty of any kind; equal ones count once."""

    def packages(names: Iterable[str]) -> dict[str, Any]:
        fields = (f'p{n}: package(name: "{name}") {{ name }}' for n, name in enumerate(names))
        return history.world.ask(f'{{ series(name: "develop") {{ {" ".join(fields)} }} }}')

    assert "errors" not in packages(f"p{number}" for number in range(20))
    (error,) = packages(f"p{number}" for number in range(21))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 20 hashes" in error["message"]
    assert "errors" not in packages(["zlib"] * 60)
