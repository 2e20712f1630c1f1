"""Incomplete histories: missing changes are made on request, or an error counts them."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.past import missing_pairs
from snapshots.errors import CatalogError
from tests.schema.pasts import HASHES, Known
from tests.schema.usual import api
from tests.schema.worlds import World, opened, plain
from tests.snapshots.catalog.pasts import TABLES, forget

GROWTH = '{ series(name: "%s") { growth { numSpecs } } }'
ALL = (
    '{ develop: series(name: "develop") { growth { numSpecs } package(name: "zlib") { name } } '
    f'hash(hash: "{HASHES[0]}") {{ hash }} releases: series(name: "vX.Y.Z") '
    "{ growth { numSpecs } latest { tag } } }"
)


@pytest.fixture
def older(known: Known, tmp_path: Path) -> World:
    """Return a catalog of an earlier version, which has no table of changes."""
    shutil.copytree(known.world.catalog.location, tmp_path, dirs_exist_ok=True)
    forget(Catalog(str(tmp_path)), *TABLES)
    return opened(tmp_path)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many pairs each call of ``Catalog.keep`` keeps."""
    numbers: list[int] = []
    keep: Callable[..., None] = Catalog.keep

    def counted(catalog: Catalog, made: Any) -> None:
        numbers.append(len(made))
        keep(catalog, made)

    monkeypatch.setattr(Catalog, "keep", counted)
    return numbers


def answered_within(world: World, text: str, fill_seconds: float) -> dict[str, Any]:
    """Return the response to a question that may make missing changes for some seconds."""
    answers = HistoryAnswers(world.catalog, world.library, fill_seconds=fill_seconds)
    context = Context(world.catalog, world.library, answers=answers)
    return plain(api.execute(text, context=context))


def test_missing_changes_are_made_on_request(older: World) -> None:
    """The answer is complete at once, and so is the history from then on."""
    assert missing_pairs(older.catalog, older.catalog.history)
    data = older.data(ALL)
    assert len(data["develop"]["growth"]) == 5
    assert data["hash"]["hash"] == HASHES[0]
    assert missing_pairs(older.catalog, older.catalog.history) == []


def test_the_growth_of_a_revision_is_not_made(older: World, kept: list[int]) -> None:
    """Missing growth is null with an error, until another question has it made."""
    text = '{ series(name: "develop") { latest { tag growth { specsAdded } } } }'
    response = answered_within(older, text, 60)
    (error,) = response["errors"]
    assert error["path"] == ["series", "latest", "growth"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 5, "numPairs": 5}
    assert response["data"]["series"]["latest"] == {"tag": "develop", "growth": None}
    assert kept == []
    older.data(GROWTH % "develop")
    assert older.data(text)["series"]["latest"]["growth"] == {"specsAdded": 1}


def test_an_error_counts_what_is_missing(older: World, kept: list[int]) -> None:
    """With a code and numbers for programs; each further request makes one more pair."""
    response = answered_within(older, GROWTH % "develop", 0)
    (error,) = response["errors"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 4, "numPairs": 5}
    assert error["path"] == ["series", "growth"]
    assert "4 of 5 pairs" in error["message"]
    assert "cachelog history fill" in error["message"]
    assert error["message"].endswith("Try again: each request computes some of them.")
    assert response["data"] == {"series": None}
    for _ in range(4):
        response = answered_within(older, GROWTH % "develop", 0)
    assert "errors" not in response
    assert kept == [1] * 5


def test_a_request_makes_changes_for_one_field_only(older: World, kept: list[int]) -> None:
    """Its other fields fail immediately."""
    response = answered_within(older, ALL, 0)
    errors = {tuple(it["path"]): it["extensions"]["code"] for it in response["errors"]}
    paths = [("develop", "growth"), ("hash",), ("releases", "growth")]
    assert errors == dict.fromkeys(paths, "HISTORY_INCOMPLETE")
    assert kept == [1]


def test_fields_that_need_no_missing_changes_are_answered(older: World) -> None:
    """Tags, and a series that is complete."""
    answered_within(older, GROWTH % "once", 0)
    text = (
        '{ a: series(name: "develop") { growth { numSpecs } } tags { name } '
        'b: series(name: "once") { growth { numSpecs } } packages { totalCount } '
        'packageOf(query: "zlib") { name } }'
    )
    response = answered_within(older, text, -1)
    assert len(response["data"]["b"]["growth"]) == 1
    assert response["data"]["tags"]
    paths = [error["path"] for error in response["errors"]]
    assert paths == [["a", "growth"], ["packages"], ["packageOf"]]


def test_a_catalog_that_cannot_be_written(older: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error does not suggest another request, and does not show the catalog's location."""

    def refused(catalog: Catalog, _made: Any) -> None:
        raise CatalogError(catalog.location, "may not be written")

    monkeypatch.setattr(Catalog, "keep", refused)
    (error,) = answered_within(older, GROWTH % "develop", 20)["errors"]
    assert error["extensions"]["code"] == "HISTORY_INCOMPLETE"
    assert "may not write to the catalog" in error["message"]
    assert "Try again" not in error["message"]
    assert older.catalog.location not in error["message"]


def test_revisions_that_cannot_be_read_are_left_out(older: World) -> None:
    """One error beside the data names them, however many fields are affected."""
    broken = older.catalog.history.of_series("develop")[1]
    shutil.rmtree(Path(older.catalog.location) / "specs" / f"digest={broken.digest}")
    response = answered_within(older, ALL, 20)
    name = f"develop@{broken.digest[:12]}"
    (error,) = response["errors"]
    assert error["extensions"] == {
        "code": "HISTORY_INCOMPLETE",
        "revisions": [name, f"v0.22.0@{broken.digest[:12]}"],
    }
    assert "path" not in error
    assert f"leaves out revisions whose contents cannot be read: {name}" in error["message"]
    readable = older.catalog.history.without([broken.digest]).of_series("develop")
    assert len(response["data"]["develop"]["growth"]) == len(readable) > 0
    assert response["data"]["hash"]["hash"] == HASHES[0]


def test_the_number_of_histories_is_limited(known: Known) -> None:
    """To twenty of any kind; the same one counts once."""

    def packages(names: Iterable[str]) -> dict[str, Any]:
        fields = (f'p{n}: package(name: "{name}") {{ name }}' for n, name in enumerate(names))
        return known.world.ask(f'{{ series(name: "develop") {{ {" ".join(fields)} }} }}')

    assert "errors" not in packages(f"p{number}" for number in range(20))
    (error,) = packages(f"p{number}" for number in range(21))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 20 hashes" in error["message"]
    assert "errors" not in packages(["zlib"] * 60)
