"""Comparisons of two specs through GraphQL, compared with the domain."""

from typing import Any

import pytest

from snapshots.changes.sides import Side
from snapshots.changes.spec_pairs import SpecPair, variant_changes
from snapshots.models import Spec
from tests.model.builds import Build, Need, state_of
from tests.schema import questions
from tests.schema.comparisons.test_causes import BUILDS, published
from tests.schema.worlds import World

LATER = (
    Build("gettext", "0.23", recipe="r2"),
    Build("zlib", "1.3.2", needs=(Need(0, ("build",)),)),
    Build("aec"),
    Build(
        "hdf5",
        "1.14.6",
        variants=("~mpi", "api=v2"),
        needs=(Need(1, ("link",)), Need(2, ("link",), ("sz",))),
    ),
    Build("lone", "1.0", is_told=False),
)
BASE, HEAD = state_of(BUILDS), state_of(LATER)


NODES = """query($ids: [ID!]!) {
  nodes(ids: $ids) {
    id
    ... on Cause { title commits { nodes { level } } specs { nodes { id hash } } }
  }
}"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of two states."""
    return published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)


def spec(state: Any, name: str) -> Spec:
    """Return the first spec of a package."""
    first: Spec = state.of_package(name)[0]
    return first


def compared(world: World, before: str, after: str, **refs: str) -> Any:
    """Return the comparison of two hashes."""
    document = questions.TWO_SPECS.replace("$hash: String!", "$hash: String!, $other: String!")
    document = document.replace("head: $hash", "head: $other")
    return world.data(document, hash=before, other=after, **refs)["compareSpecs"]


def digests_of(world: World) -> list[str]:
    """Return the digests of both revisions."""
    return [revision.digest for revision in world.catalog.history.revisions[::-1]]


def pair_of(world: World, before: Spec, after: Spec) -> SpecPair:
    """Return the domain's comparison."""
    places: list[Any] = []
    for digest, one in zip(digests_of(world), (before, after), strict=True):
        side = Side(world.library.frames.get(digest), world.library.dependencies.get(digest))
        places += [side, side.frame.hashes.find(one.hash)]
    return SpecPair(*places)


def test_all_fields(world: World) -> None:
    """Their own differences, those of dependencies, further below, and the causes."""
    before, after = spec(BASE, "hdf5"), spec(HEAD, "hdf5")
    shown, pair = compared(world, before.hash[:9], f"/{after.hash}"), pair_of(world, before, after)
    assert [shown[side]["hash"] for side in ("base", "head")] == [before.hash, after.hash]
    sides = [shown[side]["revision"]["digest"] for side in ("base", "head")]
    assert sides == digests_of(world)
    for name, changes in (
        ("facts", pair.facts),
        ("variants", variant_changes(pair.variants)),
        ("differences", pair.nested_changes),
    ):
        assert shown[name] == [
            {"path": change.path, "before": change.before, "after": change.after}
            for change in changes
        ]
    assert [shown["variantsRemoved"], shown["variantsAdded"]] == [["+mpi"], ["api=v2", "~mpi"]]
    aec, zlib = shown["dependencies"]
    assert [aec[name] for name in ("before", "path", "typesBefore")] == [None, [], []]
    assert (aec["typesAfter"], aec["virtualsAfter"]) == (["LINK"], ["sz"])
    assert zlib["before"]["version"] == "1.3.1"
    assert [step["name"] for step in zlib["path"]] == ["zlib"]
    titles = [cause["title"] for cause in shown["causes"]["nodes"]]
    assert titles == ["hdf5 1.14.5 → 1.14.6", "recipe of gettext changed", "zlib 1.3.1 → 1.3.2"]
    assert shown["causes"]["totalCount"] == 3
    assert [[step["name"] for step in cause["path"]] for cause in shown["causes"]["nodes"]] == [
        ["hdf5"],
        ["hdf5", "zlib", "gettext"],
        ["hdf5", "zlib"],
    ]
    counts = ("numSharedBelow", "numDifferingBelow", "numOnlyBelowBase", "numOnlyBelowHead")
    assert [shown[name] for name in counts] == [0, 2, 0, 1]


def test_refs_select_revisions(world: World) -> None:
    """Also a revision that is not the newest with the spec."""
    (older, newer), before = digests_of(world), spec(BASE, "hdf5").hash
    shown = compared(world, before[:10], before, base=older, head=older)
    assert shown["base"]["revision"]["digest"] == shown["head"]["revision"]["digest"] == older
    assert (shown["causes"]["nodes"], shown["facts"], shown["differences"]) == ([], [], [])
    assert compared(world, before, before, base=newer) is None


def test_causes_are_found_by_id(world: World) -> None:
    """Each cause of two specs has an id other than that of the revisions' cause."""
    shown = compared(world, spec(BASE, "app").hash, spec(HEAD, "zlib").hash)
    ids = [cause["id"] for cause in shown["causes"]["nodes"]]
    nodes = world.data(NODES, ids=ids)["nodes"]
    for node, cause in zip(nodes, shown["causes"]["nodes"], strict=True):
        assert (node["id"], node["title"]) == (cause["id"], cause["title"])
    (change,) = nodes[0]["specs"]["nodes"]
    assert change["hash"] == spec(HEAD, "zlib").hash
    assert world.data(NODES, ids=[change["id"]])["nodes"] == [{"id": change["id"]}]
    assert nodes[0]["commits"] is None


def test_unknown_values(world: World) -> None:
    """Dependencies are null if a source lists none; a hash can be unknown or ambiguous."""
    lone = spec(HEAD, "lone")
    assert compared(world, spec(BASE, "lone").hash, lone.hash)["dependencies"] is None
    assert compared(world, "zzzzzzz", lone.hash) is None
    one = '{ compareSpecs(base: "%s", head: "%s", baseRef: "develop") { %s } }'
    error = world.error(one % ("", lone.hash, "numSharedBelow"))
    assert error["extensions"]["code"] == "AMBIGUOUS_HASH"
    assert world.error(one % (lone.hash, lone.hash, "causes(first: 2000) { nodes { id } }"))
