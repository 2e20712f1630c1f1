"""Stacks as sides, and comparisons filtered by stack, package and query, through GraphQL."""

from typing import Any

import pytest

from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World

STATES = {"develop~1": BASE, "develop": HEAD}
NARROWED = """query(
  $base: String!, $head: String!, $stack: String, $package: String, $matching: String
) {
  compare(base: $base, head: $head, stack: $stack, package: $package, matching: $matching) { %s }
}"""
CHANGES = (
    NARROWED
    % """id
  summary {
    numSpecsAdded numSpecsRemoved numSpecsChanged numSpecsRebuilt numSpecsReplaced numSpecsAfter
  }
  specs(first: 50) { nodes { kind hash reason counterpart { hash } mainCause { title } } }
  changes: specs(first: 50) { nodes { id } }
  causes(first: 20) {
    nodes { id title numSpecs numInvolved packageNames specs(first: 20) { nodes { hash } } }
  }
  causeKinds { kind numSpecs }"""
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier state, of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


PAIRS = [
    ("develop~1:hep", "develop"),
    ("develop~1", "develop:e4s"),
    ("develop~1:hep", "develop:e4s"),
]


@pytest.mark.parametrize(("base", "head"), PAIRS, ids=str)
def test_stack_is_a_side(world: World, base: str, head: str) -> None:
    """As if the side contained only the specs of the stack."""
    compare = world.data(CHANGES, base=base, head=head)["compare"]
    old, new = map(inside, (base, head))
    expected = {("ADDED", key) for key in new - old} | {("REMOVED", key) for key in old - new}
    assert {(node["kind"], node["hash"]) for node in compare["specs"]["nodes"]} == expected
    added = [node for node in compare["specs"]["nodes"] if node["kind"] == "ADDED"]
    replaced = [node for node in added if node["mainCause"]]
    assert sum(node["numSpecs"] for node in compare["causes"]["nodes"]) == len(replaced)
    assert compare["summary"]["numSpecsAfter"] == len(new)


def inside(side: str) -> set[str]:
    """Return the hashes of a revision, or of one of its stacks."""
    ref, _, stack = side.partition(":")
    specs = STATES[ref].specs.items()
    return {key for key, spec in specs if not stack or stack in spec.stacks}


def test_sides_are_named(world: World) -> None:
    """By the complete revision and the stack."""
    question = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
      base { id numSpecs } head { digest } baseStack headStack
      specs { nodes { before { revision { id numSpecs } package { revision { id numSpecs } } } } }
    } }"""
    compare = world.data(question, base="develop~1:e4s", head="develop")["compare"]
    base = world.data('{ revision(ref: "develop~1") { id numSpecs } }')["revision"]
    assert compare["base"] == base
    specs = [change["before"] for change in compare["specs"]["nodes"] if change["before"]]
    assert specs == [{"revision": base, "package": {"revision": base}}] * len(specs)
    assert specs
    assert (compare["baseStack"], compare["headStack"]) == ("e4s", None)


ONE = "query($id: ID!) { node(id: $id) { __typename id } }"


def test_ids_of_scopes_are_valid(world: World) -> None:
    """A comparison, a cause and a change in scope are returned by their ids."""
    narrowings: list[dict[str, Any]] = [
        {"base": "develop~1:e4s", "head": "develop:e4s"},
        {"base": "develop~1", "head": "develop", "package": "app"},
        {"base": "develop~1", "head": "develop", "matching": "hdf5 ^zlib"},
    ]
    ids = set()
    for names in narrowings:
        compare = world.data(CHANGES, **names)["compare"]
        changes = [*compare["causes"]["nodes"], *compare["changes"]["nodes"]]
        ids |= {compare["id"], *(change["id"] for change in changes)}
    assert len(ids) > len(narrowings)
    for text in ids:
        assert world.data(ONE, id=text)["node"]["id"] == text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"base": "develop~1:e5s"},
            "no revision 'develop~1:e5s': develop~1 has no stack 'e5s'; nearest: develop~1:e4s",
        ),
        (
            {"base": "./spack.lock"},
            "ref: './spack.lock' is a file, which only the command line can read",
        ),
        ({"stack": "e5s"}, "stack: neither revision has 'e5s'; nearest: e4s"),
        ({"package": "hdf"}, "package: neither revision has 'hdf'; nearest: hdf5"),
        ({"matching": "hdf"}, "no package 'hdf'"),
        ({"matching": "hdf5@@"}, "at character"),
    ],
)
def test_unknown_side_or_scope(world: World, names: dict[str, str], message: str) -> None:
    """The error names the argument and the nearest names; no file is read."""
    question = """query($base: String!, $stack: String, $package: String, $matching: String) {
      compare(base: $base, head: "develop", stack: $stack, package: $package, matching: $matching) {
        summary { numSpecsAdded } } }"""
    error = world.error(question, **{"base": "develop~1", **names})
    assert message in error["message"]
