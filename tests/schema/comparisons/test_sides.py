"""Stacks as sides, and comparisons narrowed by stack, package and query, through GraphQL."""

from itertools import product
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from snapshots.models import Spec
from tests.model.changes import Causes, added_reasons, counterparts, removed_reasons
from tests.model.states import State, stacks_of
from tests.schema import questions
from tests.schema.comparisons.test_causes import BASE, EARLIER, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import ask

STATES = {"develop~1": BASE, "develop": HEAD}
STACKS = sorted(BASE.stacks | HEAD.stacks)
SIDES = [
    (ref, stack)
    for ref, state in STATES.items()
    for stack in (None, *STACKS)
    if stack is None or stack in state.stacks
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier state, of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


def written(ref: str, stack: str | None) -> str:
    """Return the words for a side."""
    return ref if stack is None else f"{ref}:{stack}"


def side_of(ref: str, stack: str | None) -> State:
    """Return what a side holds: of a stack its specs, which tell no stacks."""
    state = STATES[ref]
    if stack is None:
        return state
    plain = {key: replace(spec, stacks=()) for key, spec in state.nodes.items()}
    inside = {key for key, spec in state.specs.items() if stack in spec.stacks}
    return State(
        (plain[key] for key in inside),
        (spec for key, spec in plain.items() if key not in inside),
    )


PAIRS = [pair for pair in product(SIDES, SIDES) if pair[0][1] or pair[1][1]]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "...".join(written(*it) for it in pair))
def test_a_stack_is_a_side(world: World, pair: tuple[Any, Any]) -> None:
    """Whatever stands on the other: as if it held nothing but the specs of the stack."""
    base, head = side_of(*pair[0]), side_of(*pair[1])
    texts = {"base": written(*pair[0]), "head": written(*pair[1])}
    compare = world.data(questions.NARROWED, **texts)["compare"]
    specs = {(it["kind"], it["hash"]): it for it in compare["specs"]["nodes"]}
    added, removed = head.specs.keys() - base.specs.keys(), base.specs.keys() - head.specs.keys()
    assert specs.keys() == {("ADDED", it) for it in added} | {("REMOVED", it) for it in removed}
    reasons = {("ADDED", key): it for key, it in added_reasons(base, head).items()}
    reasons |= {("REMOVED", key): it for key, it in removed_reasons(base, head).items()}
    assert {key: it["reason"].lower() for key, it in specs.items()} == reasons
    replaced = counterparts(base, head)
    for key in added:
        counterpart = specs["ADDED", key]["counterpart"]
        assert (counterpart and counterpart["hash"]) == replaced.get(key)
    causes = Causes(base, head, replaced)
    assert [(it["numSpecs"], it["numInvolved"]) for it in compare["causes"]["nodes"]] == [
        (len(causes.specs(it)), len(causes.involved_in(it))) for it in causes.ordered()
    ]
    assert compare["summary"]["numSpecsAfter"] == len(head.specs)


def test_the_sides_are_named(world: World) -> None:
    """By the whole revision and the stack; the notes of it count the stack alone."""
    question = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
      base { tag numSpecs } head { digest } baseStack headStack releaseNotes(format: JSON)
      specs(first: 1) { nodes { after { id hash } } } } }"""
    compare = world.data(question, base="develop~1:e4s", head="develop")["compare"]
    assert compare["base"] == {"tag": "develop", "numSpecs": len(BASE.specs)}
    assert (compare["baseStack"], compare["headStack"]) == ("e4s", None)
    notes = orjson.loads(compare["releaseNotes"])
    assert notes["base"]["stack"] == "e4s"
    assert notes["base"]["num_specs"] == len(side_of("develop~1", "e4s").specs)
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
    inside = {
        key for state in STATES.values() for key, spec in state.specs.items() if scope(spec, only)
    }
    specs = [it for it in whole["specs"]["nodes"] if it["hash"] in inside]
    assert compare["specs"]["nodes"] == specs
    added = {it["hash"] for it in specs if it["kind"] == "ADDED" and it["counterpart"]}
    causes = Causes(BASE, HEAD, counterparts(BASE, HEAD))
    counts = {
        (len(main), len(involved))
        for it in causes.ordered()
        if (involved := causes.involved_in(it) & added)
        for main in [causes.specs(it) & added]
    }
    nodes = compare["causes"]["nodes"]
    assert {(it["numSpecs"], it["numInvolved"]) for it in nodes} == counts
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
    notes = ask(world, "notes", *refs.values(), *options, "--format", "json").json
    assert orjson.loads(compare["releaseNotes"]) == notes
    cells = ask(world, "diff", *refs.values(), *options, "--coverage", "stack,target", "--json")
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
