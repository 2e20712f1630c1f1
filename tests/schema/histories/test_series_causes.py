"""What rebuilt most in a series, through GraphQL, beside what the domain sums up."""

from typing import Any

import pytest

from snapshots.timelines.causes import SeriesCauseKey
from tests.model.builds import Build, Need, state_of
from tests.schema import questions
from tests.schema.comparisons.test_causes import published
from tests.schema.worlds import World

LINK = ("link",)


def state(version: str, recipe: str) -> Any:
    """Return a state of two packages above one."""
    return state_of(
        [
            Build("zlib", version, recipe=recipe),
            Build("png", needs=(Need(0, LINK),)),
            Build("tiff", version, needs=(Need(0, LINK),)),
        ]
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of three states, from the first of March on."""
    states = [state("1.2", "r1"), state("1.3", "r1"), state("1.3", "r2")]
    return published(tmp_path_factory.mktemp("catalog"), *states)


def test_all_fields(world: World) -> None:
    """Each cause with its points, oldest first; no commits are known."""
    series = world.data(questions.SERIES_CAUSES, of="develop")["series"]
    history = world.catalog.history
    every = world.library.past.causes(history, "develop")
    expected = every.summed([SeriesCauseKey.PACKAGE, SeriesCauseKey.KIND])
    assert series["causes"]["totalCount"] == len(expected)
    assert series["byCommit"] == {"nodes": []}
    for node, cause in zip(series["causes"]["nodes"], expected, strict=True):
        assert node == {
            "package": cause.package,
            "kind": cause.kind.name if cause.kind else None,
            "numRevisions": cause.num_revisions,
            "numSpecs": cause.num_specs,
            "numInvolved": cause.num_involved,
            "size": None,
            "points": [
                {
                    "revision": {"digest": point.revision.digest},
                    "numSpecs": point.num_specs,
                    "numInvolved": point.num_involved,
                }
                for point in cause.points
            ],
        }


ASKED = """query($since: DateTime, $until: DateTime, $after: String) {
  series(name: "develop") {
    causes(since: $since, until: $until, first: 1, after: $after) {
      totalCount edges { cursor node { package kind numSpecs points(last: 1) { numSpecs } } }
    }
  }
}"""


def test_times_and_pages(world: World) -> None:
    """By package unless said otherwise; both moments count; a cursor leads on."""
    causes = world.data(ASKED)["series"]["causes"]
    (edge,) = causes["edges"]
    assert edge["node"] == {
        "package": "zlib",
        "kind": None,
        "numSpecs": 5,
        "points": [{"numSpecs": 3}],
    }
    (second,) = world.data(ASKED, after=edge["cursor"])["series"]["causes"]["edges"]
    assert second["node"]["package"] == "tiff"
    assert causes["totalCount"] == 2
    later = world.data(ASKED, since="2025-03-03T00:00:00Z")["series"]["causes"]["edges"]
    assert [it["node"]["numSpecs"] for it in later] == [3]
    assert world.data(ASKED, until="2025-03-01T00:00:00Z")["series"]["causes"]["totalCount"] == 0
    error = world.error(ASKED, after="nothing")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
