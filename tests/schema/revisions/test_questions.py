"""Holes, impacts and twins of a revision, compared with the model."""

from pathlib import Path
from typing import Any

import pytest

from tests.model import questions
from tests.model.builds import Build, Need, state_of
from tests.model.states import State
from tests.schema.questions import HOLES, IMPACT, TWINS
from tests.schema.worlds import World, published, snapshots_of
from tests.snapshots.factories import a_snapshot, a_spec, day


def tree_of(*places: str) -> State:
    """Return a tree in which each build needs the two before it, with a place for each build."""
    return state_of(
        [
            Build(
                name=f"p{number}",
                place=place,
                needs=tuple(Need(number - step, ("link",)) for step in (1, 2) if number >= step),
            )
            for number, place in enumerate(places)
        ]
    )


COMPLETE = tree_of("cache", "cache", "cache", "cache", "cache")
NOW = tree_of("named", "stated", "cache", "named", "cache")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of a complete state, one with holes, and one without dependencies."""
    folder = tmp_path_factory.mktemp("catalog")
    pages = a_snapshot([a_spec()], "pages", day(0))
    return published(folder, *snapshots_of(COMPLETE, NOW), pages)


def holes_of(world: World, ref: str, **variables: Any) -> Any:
    """Return a page of the holes of a revision."""
    return world.data(HOLES, ref=ref, **{"first": 10} | variables)["revision"]["holes"]


def test_holes(world: World) -> None:
    """Page by page, with the affected specs and the revision that removed each."""
    expected = questions.holes(NOW)
    first = holes_of(world, "develop")
    assert first["totalCount"] == len(expected) == 3
    assert first["pageInfo"]["hasNextPage"]
    affected = set().union(*expected.values())
    assert (first["numAffected"], first["numUnknown"]) == (len(affected), 0)
    assert first["numWhole"] == len(NOW.specs) - len(affected)
    second = holes_of(world, "develop", after=first["pageInfo"]["endCursor"])
    nodes = first["nodes"] + second["nodes"]
    assert {node["hash"]: {spec["hash"] for spec in node["affected"]} for node in nodes} == expected
    assert [node["numAffected"] for node in nodes] == [2, 2, 1]
    versions = {node["name"]: node["version"] for node in nodes}
    assert versions == {"p0": None, "p1": "1.0", "p3": None}
    newest = world.catalog.history.resolve("develop")
    assert {node["goneIn"]["tagName"] for node in nodes} == {newest.tag}
    assert len(holes_of(world, "develop", first=1)["nodes"][0]["affected"]) == 1


def test_no_holes(world: World) -> None:
    """A complete revision has none; null without dependencies."""
    whole = holes_of(world, "develop~1")
    assert whole["totalCount"] == whole["numAffected"] == whole["numUnknown"] == 0
    assert whole["numWhole"] == len(COMPLETE.specs)
    assert holes_of(world, "pages") is None


@pytest.mark.parametrize("name", ["p2", "p4"])
def test_impact(world: World, name: str) -> None:
    """All specs that reach a spec of the package, including itself."""
    expected = [NOW.specs[digest] for digest in questions.rebuilt(NOW, {name})]
    revision = world.data(IMPACT, ref="develop", name=name)["revision"]
    assert revision["impact"] == {"numSpecs": len(expected)}
    assert revision["package"]["impact"] == {
        "numSpecs": len(expected),
        "numPackages": len({spec.name for spec in expected}),
        "size": None,
        "sizeLabel": "1-10",
        "stackCounts": [{"value": "e4s", "numSpecs": len(expected)}],
        "targetCounts": [{"value": "zen4", "numSpecs": len(expected)}],
        "outcome": None,
    }


def test_outcome_of_a_change(tmp_path: Path) -> None:
    """The first later revision with the change, its causes and their specs; otherwise null."""
    spec = a_spec("old", name="a", version="1", dependencies=())
    later = a_spec("new", name="a", version="2", dependencies=())
    states = [[spec], [spec, a_spec("b", name="b", dependencies=())], [later]]
    snapshots = [a_snapshot(specs, "develop", day(n)) for n, specs in enumerate(states)]
    world = published(tmp_path, *snapshots)
    for ref in ("develop~2", "develop~1"):
        package = world.data(IMPACT, ref=ref, name="a")["revision"]["package"]
        outcome = package["impact"]["outcome"]
        assert (outcome["numSpecs"], outcome["causes"]["nodes"]) == (1, [{"title": "a 1 → 2"}])
        assert outcome["comparison"]["head"]["takenAt"].startswith(f"{day(2):%Y-%m-%d}")
    package = world.data(IMPACT, ref="develop", name="a")["revision"]["package"]
    assert package["impact"]["outcome"] is None


def test_unknown_impact(world: World) -> None:
    """Null without dependencies."""
    package = world.data(IMPACT, ref="pages", name=a_spec().name)["revision"]["package"]
    assert package == {"impact": None}


# -- twins

LINK = ("link",)
TWICE = state_of(
    [
        Build(name="zlib", version="1.2"),
        Build(name="zlib", version="1.3"),
        Build(name="png", needs=(Need(0, LINK),)),
        Build(name="png", needs=(Need(1, LINK),), stacks=("e4s", "hep", "root")),
        Build(name="vtk", needs=(Need(2, LINK),)),
        Build(name="vtk", needs=(Need(3, LINK),), stacks=("hep", "root")),
    ]
)


def twins_of(world: World, **variables: Any) -> Any:
    """Return a page of the groups of twins of a revision."""
    return world.data(TWINS, **{"ref": "twice"} | variables)["revision"]["twins"]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of a revision with twins."""
    snapshot = a_snapshot(TWICE.specs.values(), "twice", day(0))
    return published(tmp_path_factory.mktemp("twice"), snapshot)


def test_twins(twice: World) -> None:
    """Page by page, with causes, whose counts add up; joining png also joins vtk."""
    groups = questions.twins(TWICE)
    first = twins_of(twice)
    second = twins_of(twice, after=first["pageInfo"]["endCursor"])
    assert (first["totalCount"], first["numSaved"], first["sizeSaved"]) == (2, 2, None)
    assert not second["pageInfo"]["hasNextPage"]
    nodes = first["nodes"] + second["nodes"]
    facts = [(node["name"], node["numSpecs"], node["numSaved"]) for node in nodes]
    assert facts == [("png", 2, 2), ("vtk", 2, 1)]
    for node in nodes:
        ours, *others = (spec["hash"] for spec in node["specs"]["nodes"])
        assert groups[ours] == others
        assert node["version"] == "1.0"
        assert node["causes"]["nodes"]
    group = (
        "query($id: ID!) { node(id: $id) { ... on TwinGroup { name specs { nodes { hash } } } } }"
    )
    scoped = 'twins(package: "png") { nodes { id name specs { nodes { hash } } } }'
    (png,) = twice.data(f'{{ revision(ref: "twice") {{ {scoped} }} }}')["revision"]["twins"][
        "nodes"
    ]
    for node in (*nodes, png):
        again = twice.data(group, id=node["id"])["node"]
        assert again == {name: node[name] for name in ("name", "specs")}
    causes = first["causes"]["nodes"]
    assert {(cause["kind"], cause["packageName"]) for cause in causes} == {("VERSION", "zlib")}
    assert sum(cause["numSpecs"] for cause in causes) == 2
    assert {cause["commits"] for cause in causes} == {None}
    for cause in causes:
        for spec in cause["specs"]["nodes"]:
            assert (spec["kind"], spec["reason"]) == ("ADDED", "REBUILT")
            assert spec["hash"] in groups[spec["counterpart"]["hash"]]
            assert spec["path"][-1]["name"] == "zlib"
            query = "query($id: ID!) { node(id: $id) { ... on SpecChange { hash reason } } }"
            again = twice.data(query, id=spec["id"])["node"]
            assert again == {name: spec[name] for name in ("hash", "reason")}
        query = "query($id: ID!) { node(id: $id) { ... on Cause { title numSpecs } } }"
        node = twice.data(query, id=cause["id"])["node"]
        assert node == {name: cause[name] for name in ("title", "numSpecs")}
