"""Stacks as sides, and comparisons narrowed by stack, package and query, through GraphQL."""

from typing import Any

import orjson
import pytest

from snapshots.models import Spec
from tests.model.states import stacks_of
from tests.schema import questions
from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import run_in

STATES = {"develop~1": BASE, "develop": HEAD}
STACKS = sorted(BASE.stacks | HEAD.stacks)


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
def test_a_stack_is_a_side(world: World, base: str, head: str) -> None:
    """Whatever stands on the other: as if it held nothing but the specs of the stack."""
    compare = world.data(questions.NARROWED, base=base, head=head)["compare"]
    old, new = map(inside, (base, head))
    expected = {("ADDED", it) for it in new - old} | {("REMOVED", it) for it in old - new}
    assert {(it["kind"], it["hash"]) for it in compare["specs"]["nodes"]} == expected
    replaced = [it for it in compare["specs"]["nodes"] if it["kind"] == "ADDED" if it["cause"]]
    assert sum(it["numSpecs"] for it in compare["causes"]["nodes"]) == len(replaced)
    assert compare["summary"]["numSpecsAfter"] == len(new)


def inside(side: str) -> set[str]:
    """Return the hashes of a revision, or of a stack of it."""
    ref, _, stack = side.partition(":")
    specs = STATES[ref].specs.items()
    return {key for key, spec in specs if not stack or stack in spec.stacks}


def test_the_sides_are_named(world: World) -> None:
    """By the whole revision and the stack; the notes of it count the stack alone."""
    question = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
      base { id numSpecs } head { digest } baseStack headStack releaseNotes(format: JSON)
      specs { nodes { before { revision { id numSpecs } package { revision { id numSpecs } } } } }
    } }"""
    compare = world.data(question, base="develop~1:e4s", head="develop")["compare"]
    base = world.data('{ revision(ref: "develop~1") { id numSpecs } }')["revision"]
    assert compare["base"] == base
    specs = [change["before"] for change in compare["specs"]["nodes"] if change["before"]]
    assert specs == [{"revision": base, "package": {"revision": base}}] * len(specs)
    assert specs
    assert (compare["baseStack"], compare["headStack"]) == ("e4s", None)
    notes = orjson.loads(compare["releaseNotes"])
    assert notes["base"]["stack"] == "e4s"
    assert notes["base"]["num_specs"] == len(inside("develop~1:e4s"))
    assert "stack" not in notes["head"]


ONE = "query($id: ID!) { node(id: $id) { __typename id } }"


def test_ids_of_stacks_and_scopes_are_good(world: World) -> None:
    """A comparison, a cause and a change in scope come back by their ids."""
    narrowings: list[dict[str, Any]] = [
        {"base": "develop~1:e4s", "head": "develop:e4s"},
        {"base": "develop~1", "head": "develop", "package": "app"},
        {"base": "develop~1", "head": "develop", "matching": "hdf5 ^zlib"},
    ]
    ids = set()
    for names in narrowings:
        compare = world.data(questions.NARROWED, **names)["compare"]
        changes = [*compare["causes"]["nodes"], *compare["changes"]["nodes"]]
        ids |= {compare["id"], *(it["id"] for it in changes)}
    assert len(ids) > len(narrowings)
    for text in ids:
        assert world.data(ONE, id=text)["node"]["id"] == text


def scope(spec: Spec, only: dict[str, str]) -> bool:
    """Tell whether a spec is in scope."""
    return (
        ("stack" not in only or only["stack"] in stacks_of(spec))
        and spec.name == only.get("package", spec.name)
        and spec.name in only.get("matching", spec.name).split("@")[0]
    )


ONLY: list[dict[str, str]] = [
    {"stack": "hep"},
    {"stack": "e4s"},
    {"package": "app"},
    {"matching": "hdf5"},
    {"stack": "e4s", "package": "lone"},
    {"stack": "hep", "matching": "lone"},
    {"package": "old"},
]


@pytest.mark.parametrize("only", ONLY, ids=str)
def test_a_narrowed_comparison(world: World, only: dict[str, str]) -> None:
    """Specs in scope on either side; counterparts, reasons and main causes are of the whole."""
    refs = {"base": "develop~1", "head": "develop"}
    whole = world.data(questions.NARROWED, **refs)["compare"]
    compare = world.data(questions.NARROWED, **refs, **only)["compare"]
    chosen = {
        key for state in STATES.values() for key, spec in state.specs.items() if scope(spec, only)
    }
    specs = [it for it in whole["specs"]["nodes"] if it["hash"] in chosen]
    assert compare["specs"]["nodes"] == specs
    added = {it["hash"] for it in specs if it["kind"] == "ADDED" and it["counterpart"]}
    nodes = compare["causes"]["nodes"]
    assert sum(it["numSpecs"] for it in nodes) == len(added)
    assert sum(it["numSpecs"] for it in compare["causeKinds"]) == len(added)
    for it in nodes:
        own = {spec["hash"] for spec in it["specs"]["nodes"]}
        assert len(own) == it["numSpecs"]
        assert own <= added
        assert set(it["packages"]) == {HEAD.specs[key].name for key in own}
    summary = compare["summary"]
    assert summary["specsRebuilt"] + summary["specsReplaced"] == len(added)


@pytest.mark.parametrize("only", [ONLY[1], ONLY[2], ONLY[5]], ids=str)
def test_narrowed_notes_are_those_of_the_command(world: World, only: dict[str, str]) -> None:
    """And lost and gained cells are those of ``diff --coverage``."""
    refs = {"base": "develop~1", "head": "develop"}
    compare = world.data(questions.NARROWED_NOTES, **refs, **only)["compare"]
    options = [text for name, value in only.items() for text in (f"--{name}", value)]
    notes = run_in(world, "notes", *refs.values(), *options, "--format", "json").json
    assert orjson.loads(compare["releaseNotes"]) == notes
    cells = run_in(world, "diff", *refs.values(), *options, "--coverage", "stack,target", "--json")
    compare = world.data(questions.NARROWED_COVERAGE, **refs, **only)["compare"]
    assert compare["commits"] is None
    assert [
        (it["kind"].lower(), it["package"], it["values"]) for it in compare["coverage"]["nodes"]
    ] == [(it["kind"], it["package"], it["values"]) for it in cells.json["coverage"]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"base": "develop~1:e5s"},
            "no revision 'develop~1:e5s': develop~1 has no stack 'e5s'; nearest: develop~1:e4s",
        ),
        ({"base": "/etc/passwd"}, "no revision '/etc/passwd'"),
        ({"base": "./spack.lock"}, "no revision './spack.lock'"),
        ({"stack": "e5s"}, "stack: neither revision has 'e5s'; nearest: e4s"),
        ({"stack": "xyz"}, "stack: neither revision has 'xyz'; nearest: "),
        ({"package": "hdf"}, "package: neither revision has 'hdf'; nearest: hdf5"),
        ({"matching": "hdf"}, "no package 'hdf'"),
        ({"matching": "hdf5@@"}, "at character"),
    ],
)
def test_what_names_no_side_or_scope(world: World, names: dict[str, str], message: str) -> None:
    """The error says which word, and what is near; no file is ever looked at."""
    question = """query($base: String!, $stack: String, $package: String, $matching: String) {
      compare(base: $base, head: "develop", stack: $stack, package: $package, matching: $matching) {
        summary { specsAdded } } }"""
    error = world.error(question, **{"base": "develop~1", **names})
    assert message in error["message"]
