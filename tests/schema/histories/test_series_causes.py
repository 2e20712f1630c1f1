"""The largest causes of rebuilds in a series through GraphQL, compared with the domain."""

from collections import Counter
from typing import Any
from unittest import mock

import pytest

from schema.limits import Limits
from snapshots.catalog.history_tables import HistoryTables
from snapshots.errors import CatalogError
from snapshots.timelines.causes import SeriesCauseKey
from tests.model.builds import Build, Need, state_of
from tests.schema import questions
from tests.schema.comparisons.test_causes import published
from tests.schema.default_api import api
from tests.schema.worlds import World, shown

LINK = ("link",)


def state(version: str, recipe: str) -> Any:
    """Return a state of two packages that depend on a third."""
    return state_of(
        [
            Build("zlib", version, recipe=recipe),
            Build("png", needs=(Need(0, LINK),)),
            Build("tiff", version, needs=(Need(0, LINK),)),
        ]
    )


STATES = [state("1.2", "r1"), state("1.3", "r1"), state("1.3", "r2")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of the states, from March 1 on."""
    return published(tmp_path_factory.mktemp("catalog"), *STATES)


def test_main_changes(world: World) -> None:
    """The main cause of each revision and its share of the replacements, newest first."""
    text = '{ series(name: "develop") { revisions(first: 9) { nodes { mainChanges } } } }'
    nodes = world.data(text)["series"]["revisions"]["nodes"]
    assert [node["mainChanges"] for node in nodes] == [
        ["The recipe of zlib accounts for 3 of 3 replacements."],
        ["zlib 1.2 → 1.3 accounts for 2 of 3 replacements."],
        ["The first revision, with 3 specs."],
    ]


def test_all_fields(world: World) -> None:
    """Each cause with its points, oldest first; no commits are available."""
    series = world.data(questions.SERIES_CAUSES, of="develop")["series"]
    history = world.catalog.history
    every = world.library.history_queries.causes(history, "develop")
    expected = every.summed([SeriesCauseKey.PACKAGE, SeriesCauseKey.KIND])
    assert series["causes"]["totalCount"] == len(expected)
    assert series["byCommit"] == {"nodes": []}
    for node, cause in zip(series["causes"]["nodes"], expected, strict=True):
        assert node == shown(cause, "num_revisions num_specs num_involved size") | {
            "packageName": cause.package,
            "package": {"name": cause.package},
            "causeKind": cause.kind and cause.kind.name,
            "points": [
                shown(point, "num_specs num_involved")
                | {"revision": {"digest": point.revision.digest}}
                for point in cause.points
            ],
        }


BY_PACKAGE = """query($since: DateTime, $until: DateTime, $after: String) {
  series(name: "develop") {
    causes(since: $since, until: $until, first: 1, after: $after) {
      totalCount
      edges { cursor node { packageName causeKind numSpecs points(last: 1) { numSpecs } } }
    }
  }
}"""


def test_intervals_and_pages(world: World) -> None:
    """By package by default; both times are inclusive; pages continue by cursors."""

    def page(**arguments: str) -> Any:
        return world.data(BY_PACKAGE, **arguments)["series"]["causes"]

    first = page()
    (edge,) = first["edges"]
    points = [{"numSpecs": 3}]
    assert edge["node"] == {
        "packageName": "zlib",
        "causeKind": None,
        "numSpecs": 5,
        "points": points,
    }
    (second,) = page(after=edge["cursor"])["edges"]
    assert (second["node"]["packageName"], first["totalCount"]) == ("tiff", 2)
    (later,) = page(since="2025-03-03T00:00:00Z")["edges"]
    assert later["node"]["numSpecs"] == 3
    assert page(until="2025-03-01T00:00:00Z")["totalCount"] == 0
    error = world.error(BY_PACKAGE, after="nothing")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


CAUSES = """query($base: String!, $head: String!, $name: String!) {
  compare(base: $base, head: $head) {
    specs(filter: {packages: [$name]}, kinds: [ADDED]) { nodes { mainCause { title } } }
  }
}"""


@pytest.mark.parametrize("name", ["zlib", "png", "tiff"])
def test_main_causes_of_a_package(world: World, name: str) -> None:
    """Those of the comparison's specs; the first revision of the series has none."""
    package = world.data(questions.MAIN_CAUSES, name=name)["package"]
    *entries, first = package["seriesPackage"]["entries"]["nodes"]
    assert (first["comparison"], first["mainCauses"]) == (None, None)
    assert entries
    for entry in entries:
        pair = {side: entry["comparison"][side]["digest"] for side in ("base", "head")}
        compared = world.data(CAUSES, name=name, **pair)["compare"]
        titles = [spec["mainCause"]["title"] for spec in compared["specs"]["nodes"]]
        counts = {cause["title"]: cause["numSpecs"] for cause in entry["mainCauses"]}
        assert counts == dict(Counter(titles))
        assert {cause["packageName"] for cause in entry["mainCauses"]} <= {"zlib", "tiff"}


def test_failing_store_is_no_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Main causes that cannot be read are an error, which ends with the failure of the store."""
    error = CatalogError(world.catalog.location, "the store does not answer")
    # Another name than that of the tests above, so that no answer is kept.
    query = questions.MAIN_CAUSES.replace("mainCauses", "why: mainCauses")
    with monkeypatch.context() as patch:
        patch.setattr(HistoryTables, "comparisons", mock.Mock(side_effect=error))
        errors = world.ask(query, name="png")["errors"]
    codes = [error["extensions"]["code"] for error in errors]
    assert codes == ["CATALOG_UNAVAILABLE"] * (len(STATES) - 1)
    entries = world.data(query, name="png")["package"]["seriesPackage"]["entries"]["nodes"]
    assert all(entry["why"] for entry in entries[:-1])


def test_main_causes_are_affordable() -> None:
    """A page of a thousand entries costs less than the limit."""
    text = "query($name: String!) { package(name: $name) { seriesPackage { entries(first: 1000)"
    fields = "{ nodes { kind versionsAdded mainCauses { title numSpecs } } } } } }"
    assert api.cost(f"{text} {fields}", None, {"name": "a"}).units < Limits().max_cost
