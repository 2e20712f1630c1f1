"""Plans through GraphQL: the specs to build, and why."""

from typing import Any

import pytest
from strawberry.utils.str_converters import to_camel_case

from tests.schema.questions import PLAN
from tests.schema.worlds import State, World
from tests.snapshots.factories import hash_of

FACTS = ("hash", "name", "version", "platform", "operating_system", "target", "package_hash")


def as_input(spec: Any, stack: str | None, **facts: Any) -> dict[str, Any]:
    """Return a spec as an input of the API."""
    values = {name: getattr(spec, name) for name in FACTS}
    edges = [
        {
            "name": edge.name,
            "hash": edge.hash,
            "types": [name.upper() for name in edge.types],
            "virtuals": list(edge.virtuals),
        }
        for edge in spec.dependencies or ()
    ]
    named = {to_camel_case(name): value for name, value in values.items() if value is not None}
    more = {"variants": list(spec.variants), "dependencies": edges, "stack": stack}
    return named | more | facts


def planned(world: World, base: State, specs: list[dict[str, Any]], **more: Any) -> Any:
    """Return the plan for specs against a state."""
    ref = f"{base.info.tag}@{base.info.taken_at:%Y-%m-%dT%H:%M:%S.%fZ}"
    return world.data(PLAN, base=ref, planned=specs, **more)["plan"]


def stacks_of(state: State) -> list[str]:
    """Return the stacks of a state except root."""
    return sorted({stack for spec in state.specs for stack in spec.stacks} - {"root"})


def test_specs_to_build(world: World) -> None:
    """Every hash that base lacks, per stack."""
    for base in world.states[::2]:
        there = {spec.hash for spec in base.specs}
        stacks = stacks_of(world.newest)[:2]
        specs = [
            as_input(spec, stack)
            for stack in stacks
            for spec in world.newest.specs
            if stack in spec.stacks
        ]
        planned_hashes = {spec["hash"] for spec in specs}
        plan = planned(world, base, specs)
        assert plan["numSpecs"] == len(planned_hashes)
        assert plan["numReused"] == len(planned_hashes & there)
        assert plan["numToBuild"] == len(planned_hashes - there) == plan["toBuild"]["totalCount"]
        assert {node["hash"] for node in plan["toBuild"]["nodes"]} == planned_hashes - there
        assert plan["numExternal"] == 0
        paired = [node for node in plan["toBuild"]["nodes"] if node["counterpart"]]
        causes = plan["comparison"]["causes"]["nodes"]
        assert sum(cause["numSpecs"] for cause in causes) == len(paired)
        assert plan["unknownStacks"] == sorted({*stacks} - {*stacks_of(base)})
        for stack in stacks:
            own = planned(world, base, specs, stack=stack)["toBuild"]["nodes"]
            assert {node["hash"] for node in own} == {
                spec["hash"] for spec in specs if spec["stack"] == stack
            } - there


@pytest.mark.parametrize("stacks", [None, ["e4s", "hep"]])
def test_lock_file_without_specs(world: World, stacks: list[str] | None) -> None:
    """All specs of its stacks are removed; without a stack, all of the revision."""
    document = """query($stacks: [String!]) { plan(base: "develop", specs: [], stacks: $stacks) {
      numSpecs unknownStacks comparison { summary { numSpecsRemoved } } } }"""
    specs = world.newest.specs
    gone = [spec for spec in specs if stacks is None or {*stacks} & {*spec.stacks}]
    summary = {"summary": {"numSpecsRemoved": len(gone)}}
    plan = world.data(document, stacks=stacks)["plan"]
    assert plan == {"numSpecs": 0, "unknownStacks": [], "comparison": summary}


def test_stacks_without_specs(world: World) -> None:
    """They count beside those that specs name; an invalid name is refused."""
    plan = planned(world, world.newest, [GOOD | {"stack": "e4s"}], planned_stacks=["none", "e4s"])
    assert plan["unknownStacks"] == ["none"]
    error = world.error(PLAN, base="develop", planned=[], planned_stacks=["e4s", "a b"])
    assert "stacks[1]: 'a b' is not a name" in error["message"]


def test_external_specs_are_counted_separately(world: World) -> None:
    """External specs are not built."""
    new = GOOD | {"isRoot": True, "stack": "e4s"}
    external = {"name": "gcc", "hash": hash_of("gcc"), "version": "13", "isExternal": True}
    plan = planned(world, world.newest, [external | {"stack": "e4s"}, new])
    assert (plan["numExternal"], plan["numToBuild"]) == (1, 1)
    (node,) = plan["toBuild"]["nodes"]
    assert node["reason"] == "NEW_PACKAGE"
    assert node["after"] == {"version": "1", "stackNames": ["e4s"]}


def test_patches_of_a_lock_file(world: World) -> None:
    """A lock file has the complete checksum of a patch, the catalog a prefix."""
    old = next(
        spec
        for spec in world.newest.specs
        if spec.dependencies and any(variant.startswith("patches=") for variant in spec.variants)
    )
    rest = "0" * 57
    variants = [
        f"{variant.replace(',', f'{rest},')}{rest}" if variant.startswith("patches=") else variant
        for variant in old.variants
    ]
    new = as_input(old, None, hash=hash_of("other patches"), variants=variants)
    (built,) = planned(world, world.newest, [new])["toBuild"]["nodes"]
    assert "patches" not in built["mainCause"]["title"]


GOOD = {"name": "a", "hash": hash_of("a"), "version": "1"}
EDGE = {"name": "a", "hash": hash_of("a")}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"hash": "a"}, "specs[1]: 'a' is not a hash"),
        ({"stack": "a/b"}, "specs[1]: 'a/b' is not a name"),
        ({"target": "x y"}, "specs[1]: 'x y' is not a single word"),
        ({"dependencies": [EDGE | {"hash": "b"}]}, "specs[1]: 'b' is not a hash"),
        ({"dependencies": [EDGE | {"virtuals": ["a b"]}]}, "specs[1]: 'a b' is not a name"),
        ({"dependencies": [EDGE] * 1_001}, "specs[1]: dependencies: there are more than 1,000"),
        ({"dependencies": [EDGE]}, "depends on itself, which no spec can"),
    ],
)
def test_bad_specs(world: World, spec: dict[str, Any], message: str) -> None:
    """The error names the position and the reason."""
    specs = [GOOD | {"hash": hash_of("other")}, GOOD | spec]
    error = world.error(PLAN, base="develop", planned=specs)
    assert message in error["message"]


def test_plan_is_a_comparison(world: World) -> None:
    """Its head is not a revision, and it is not stored; rules apply as to any other."""
    document = """query($specs: [ConcreteSpecInput!]!, $rule: JSON!) {
      plan(base: "develop", specs: $specs) {
      comparison {
        id releaseNotes base { tagName } head { tagName numSpecs }
        check(rules: [$rule]) { hasPassed }
      }
    } }"""
    rule = {"name": "a", "limit": "specs-added", "at-most": 0}
    comparison = world.data(document, specs=[GOOD], rule=rule)["plan"]["comparison"]
    node = world.data("query($id: ID!) { node(id: $id) { id } }", id=comparison.pop("id"))
    assert node == {"node": None}
    assert comparison.pop("releaseNotes").startswith("# Spack build cache: ")
    assert comparison == {
        "base": {"tagName": "develop"},
        "head": {"tagName": "plan", "numSpecs": 1},
        "check": {"hasPassed": False},
    }
