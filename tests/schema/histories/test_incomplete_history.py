"""Incomplete histories: missing changes are computed on request, or an error counts them."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache
from snapshots.catalog.history_queries import missing_pairs
from snapshots.errors import CatalogError
from tests.schema.default_api import api
from tests.schema.model_histories import HASHES, History
from tests.schema.worlds import World, opened, plain
from tests.snapshots.catalog.expected_histories import TABLES, forget

GROWTH = '{ series(name: "%s") { growth { numSpecs } } }'
ALL = (
    '{ develop: series(name: "develop") { growth { numSpecs } package(name: "zlib") { name } } '
    f'hash(hash: "{HASHES[0]}") {{ hash }} releases: series(name: "vX.Y.Z") '
    "{ growth { numSpecs } latest { tagName } } }"
)


@pytest.fixture
def without_changes(history: History, tmp_path: Path) -> World:
    """Return a catalog of an earlier version, without the table of changes."""
    shutil.copytree(history.world.catalog.location, tmp_path, dirs_exist_ok=True)
    forget(Catalog(str(tmp_path)), *TABLES)
    return opened(tmp_path)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list with the number of pairs that each call of ``Catalog.keep`` stores."""
    numbers: list[int] = []
    keep: Callable[..., None] = Catalog.keep

    def counted(catalog: Catalog, changes: Any) -> None:
        numbers.append(len(changes))
        keep(catalog, changes)

    monkeypatch.setattr(Catalog, "keep", counted)
    return numbers


def answered_within(world: World, text: str, fill_seconds: float) -> dict[str, Any]:
    """Return the response to a query that may compute missing changes for some seconds."""
    answers = HistoryCache(world.catalog, world.library, fill_seconds=fill_seconds)
    context = Context(world.catalog, world.library, answers=answers)
    return plain(api.execute(text, context=context))


def test_missing_changes_are_computed_on_request(without_changes: World) -> None:
    """The response is complete immediately, and so is the history from then on."""
    assert missing_pairs(without_changes.catalog, without_changes.catalog.history)
    data = without_changes.data(ALL)
    assert len(data["develop"]["growth"]) == 5
    assert data["hash"]["hash"] == HASHES[0]
    assert missing_pairs(without_changes.catalog, without_changes.catalog.history) == []


def test_error_counts_missing_changes(without_changes: World, stored: list[int]) -> None:
    """With a code and numbers; each further request computes one more pair."""
    response = answered_within(without_changes, GROWTH % "develop", 0)
    (error,) = response["errors"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 4, "numPairs": 5}
    assert error["path"] == ["series", "growth"]
    assert "4 of 5 pairs" in error["message"]
    assert "cachelog upkeep" in error["message"]
    assert error["message"].endswith("Try again: each request computes some of them.")
    assert response["data"] == {"series": {"growth": None}}
    for _ in range(4):
        response = answered_within(without_changes, GROWTH % "develop", 0)
    assert "errors" not in response
    assert stored == [1] * 5


def test_other_fields_are_not_affected(without_changes: World) -> None:
    """Tags, and a series that is complete."""
    answered_within(without_changes, GROWTH % "once", 0)
    text = (
        '{ a: series(name: "develop") { growth { numSpecs } } tags { name } '
        'b: series(name: "once") { growth { numSpecs } } packages { totalCount } '
        'package(name: "zlib") { name } }'
    )
    response = answered_within(without_changes, text, -1)
    assert len(response["data"]["b"]["growth"]) == 1
    assert response["data"]["tags"]
    paths = [error["path"] for error in response["errors"]]
    assert paths == [["a", "growth"], ["packages"], ["package"]]


def test_read_only_catalog(without_changes: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error neither suggests another request nor contains the location of the catalog."""
    refusal = CatalogError(without_changes.catalog.location, "may not be written")
    monkeypatch.setattr(Catalog, "keep", Mock(side_effect=refusal))
    (error,) = answered_within(without_changes, GROWTH % "develop", 20)["errors"]
    assert error["extensions"]["code"] == "HISTORY_INCOMPLETE"
    assert "the catalog is read-only to it" in error["message"]
    assert "Try again" not in error["message"]
    assert without_changes.catalog.location not in error["message"]


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
