"""Questions to a history that is not whole: it is filled, or the error says what is left."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.past import missing_pairs
from snapshots.errors import CatalogError
from tests.schema.pasts import HASHES, LINES, known_past
from tests.schema.usual import api
from tests.schema.worlds import World, opened, plain

GROWTH = '{ series(name: "%s") { growth { numSpecs } } }'
ALL = (
    '{ develop: series(name: "develop") { growth { numSpecs } package(name: "zlib") { name } } '
    f'hash(hash: "{HASHES[0]}") {{ hash }} releases: series(name: "vX.Y.Z") '
    "{ growth { numSpecs } latest { tag } } }"
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish a past, once for all tests; none of its changes are kept, as before."""
    folder = tmp_path_factory.mktemp("template")
    known_past(folder, LINES)
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(folder / table)
    return folder


@pytest.fixture
def older(template: Path, tmp_path: Path) -> World:
    """Return a catalog as those of before: none of its changes are kept."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return opened(tmp_path)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return, each time that something was kept, how many pairs."""
    numbers: list[int] = []
    keep: Callable[..., None] = Catalog.keep

    def counted(catalog: Catalog, made: Any) -> None:
        numbers.append(len(made))
        keep(catalog, made)

    monkeypatch.setattr(Catalog, "keep", counted)
    return numbers


def asked(world: World, text: str, fill_seconds: float) -> dict[str, Any]:
    """Return the response to a question that may be held up for so long."""
    answers = HistoryAnswers(world.catalog, world.library, fill_seconds=fill_seconds)
    context = Context(world.catalog, world.library, answers=answers)
    return plain(api.execute(text, context=context))


def test_an_older_catalog_is_filled_by_who_asks(older: World) -> None:
    """The answer is there with the first question."""
    assert missing_pairs(older.catalog, older.catalog.history)
    data = older.data(ALL)
    assert len(data["develop"]["growth"]) == 5
    assert data["hash"]["hash"] == HASHES[0]
    assert missing_pairs(older.catalog, older.catalog.history) == []


def test_a_revision_tells_what_is_kept_of_its_growth(older: World, kept: list[int]) -> None:
    """What is not there is null, and an error says why; nobody is held up by making it."""
    text = '{ series(name: "develop") { latest { tag growth { specsAdded } } } }'
    response = asked(older, text, 60)
    (error,) = response["errors"]
    assert error["path"] == ["series", "latest", "growth"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 5, "numPairs": 5}
    assert response["data"]["series"]["latest"] == {"tag": "develop", "growth": None}
    assert kept == []
    older.data(GROWTH % "develop")
    assert older.data(text)["series"]["latest"]["growth"] == {"specsAdded": 1}


def test_what_is_left_is_told(older: World, kept: list[int]) -> None:
    """The error has a code of its own, and numbers for programs; another try gets further."""
    response = asked(older, GROWTH % "develop", 0)
    (error,) = response["errors"]
    assert error["extensions"] == {"code": "HISTORY_INCOMPLETE", "numMissing": 4, "numPairs": 5}
    assert error["path"] == ["series", "growth"]
    assert "4 of 5 pairs" in error["message"]
    assert "cachelog history fill" in error["message"]
    assert error["message"].endswith("Ask again: each request makes some of them.")
    assert response["data"] == {"series": None}
    assert kept == [1]
    for _ in range(4):
        response = asked(older, GROWTH % "develop", 0)
    assert "errors" not in response
    assert kept == [1] * 5


def test_a_request_waits_in_vain_only_once(older: World, kept: list[int]) -> None:
    """Its other questions are told at once what is missing; what needs nothing is answered."""
    response = asked(older, ALL, 0)
    errors = {tuple(it["path"]): it["extensions"]["code"] for it in response["errors"]}
    assert (
        errors
        == dict.fromkeys(
            [("develop", "growth"), ("hash",), ("releases", "growth")], "HISTORY_INCOMPLETE"
        )
        | {}
    )
    assert kept == [1]
    text = '{ develop: series(name: "develop") { growth { numSpecs } } tags { name } }'
    response = asked(older, text, 0)
    assert [tag["name"] for tag in response["data"]["tags"]]


def test_a_series_that_is_whole_is_answered_beside_one_that_is_not(older: World) -> None:
    """Only what a question needs has to be there."""
    asked(older, GROWTH % "once", 0)
    text = (
        '{ a: series(name: "develop") { growth { numSpecs } } '
        'b: series(name: "once") { growth { numSpecs } } }'
    )
    response = asked(older, text, 0)
    assert len(response["data"]["b"]["growth"]) == 1
    (error,) = response["errors"]
    assert error["path"] == ["a", "growth"]


def test_a_catalog_that_may_not_be_written_says_so(
    older: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To ask again does not help then, and where the catalog is is nobody's business."""

    def refused(catalog: Catalog, _made: Any) -> None:
        raise CatalogError(catalog.location, "may not be written")

    monkeypatch.setattr(Catalog, "keep", refused)
    (error,) = asked(older, GROWTH % "develop", 20)["errors"]
    assert error["extensions"]["code"] == "HISTORY_INCOMPLETE"
    assert "may not write to the catalog" in error["message"]
    assert "Ask again" not in error["message"]
    assert older.catalog.location not in error["message"]


def test_revisions_that_cannot_be_read_are_told_beside_the_data(older: World) -> None:
    """Once, however many fields are told without them."""
    broken = older.catalog.history.of_series("develop")[1]
    shutil.rmtree(Path(older.catalog.location) / "specs" / f"digest={broken.digest}")
    response = asked(older, ALL, 20)
    named = f"develop@{broken.digest[:12]}"
    (error,) = response["errors"]
    assert error["extensions"] == {
        "code": "HISTORY_INCOMPLETE",
        "revisions": [named, f"v0.22.0@{broken.digest[:12]}"],
    }
    assert "path" not in error
    assert f"told without revisions whose contents cannot be read: {named}" in error["message"]
    left = older.catalog.history.without([broken.digest]).of_series("develop")
    assert len(response["data"]["develop"]["growth"]) == len(left) > 0
    assert response["data"]["hash"]["hash"] == HASHES[0]


def test_the_number_of_histories_is_limited(older: World) -> None:
    """Twenty questions of one kind or another; the same one counts once."""

    def packages(number: int) -> str:
        fields = (f'p{it}: package(name: "p{it}") {{ name }}' for it in range(number))
        return f'{{ series(name: "develop") {{ {" ".join(fields)} }} }}'

    assert "errors" not in older.ask(packages(20))
    (error,) = older.ask(packages(21))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 20 hashes" in error["message"]
    same = " ".join(f'p{it}: package(name: "zlib") {{ name }}' for it in range(60))
    assert "errors" not in older.ask(f'{{ series(name: "develop") {{ {same} }} }}')
