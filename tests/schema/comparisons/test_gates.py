"""Rules through GraphQL: the results of ``cachelog gate``, limits, and errors."""

from typing import Any

import pytest

from schema.comparisons.gates import MAX_RULES_IN_REQUEST, RuleInput, RuleKind
from schema.limits import Limits
from snapshots.catalog.library import rule_context
from snapshots.changes.rules.rules import KEYS, KINDS, Rule, judge, read_rule
from tests.schema import questions
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.default_api import api
from tests.schema.worlds import World
from tests.snapshots.factories import hash_of

REFS = {"base": "develop~1", "head": "develop"}
RULES: list[dict[str, Any]] = [
    {"name": "packages", "forbid": "package-removed"},
    {"name": "specs", "forbid": "spec-removed", "except": ["lone"], "level": "WARNING"},
    {"name": "hep", "forbid": "version-removed", "stack": "hep", "packages": ["l*", "hdf5"]},
    {"name": "cells", "forbid": "coverage-lost", "forEach": ["OPERATING_SYSTEM", "TARGET"]},
    {"name": "app", "require": "app ^zlib", "forEach": ["TARGET"]},
    {"name": "flood", "limit": "specs-rebuilt", "atMost": "0 %"},
    {"name": "new", "limit": "specs-added", "atMost": "1", "matching": "%gettext"},
]


def rule_of_file(rule: dict[str, Any]) -> Rule:
    """Return the equal rule of a rules file."""
    names = {"packages": "package", "forEach": "for-each", "atMost": "at-most"}
    values = {names.get(name, name): value for name, value in rule.items()}
    values["level"] = rule.get("level", "error").lower()
    if "forEach" in rule:
        values["for-each"] = [name.lower().replace("_", "-") for name in rule["forEach"]]
    return read_rule(values, lambda _title: ())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)


def check(world: World, *rules: dict[str, Any]) -> Any:
    """Return the results of rules."""
    data = world.data(questions.CHECK, **REFS, rules=list(rules))
    return data["compare"]["check"]


def fault(world: World, *rules: dict[str, Any]) -> str:
    """Return the error message of invalid rules."""
    error = world.error(questions.CHECK, **REFS, rules=list(rules))
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    return str(error["message"])


def test_results_equal_those_of_a_file(world: World) -> None:
    """Rule by rule, with each breach and the first of its specs."""
    base, head = map(world.catalog.history.resolve, REFS.values())
    expected = judge([*map(rule_of_file, RULES)], rule_context(world.library, base, head))
    result = check(world, *RULES)
    assert result["passed"] is expected.passed is False
    assert {*(rule["passed"] for rule in result["rules"])} == {True, False}
    for rule, judgement in zip(result["rules"], expected.results, strict=True):
        assert rule["passed"] == judgement.passed
        assert rule["name"] == judgement.rule.name
        assert rule["level"] == judgement.rule.level.name
        assert rule["message"] == judgement.message
        assert rule["numBreaches"] == len(judgement.breaches)
        for shown, breach in zip(rule["breaches"], judgement.breaches, strict=True):
            assert (shown["message"], shown["package"]) == (breach.message, breach.package)
            hashes = breach.hashes()
            assert shown["numSpecs"] == len(hashes)
            assert shown["spec"] == {"hash": hashes[0]}


ENUMS = {"forbid": "forbidden", "limit": "measure"}


def with_enums(rule: dict[str, Any]) -> dict[str, Any]:
    """Return the same rule with enums in place of strings."""
    return {
        ENUMS.get(key, key): value.upper().replace("-", "_") if key in ENUMS else value
        for key, value in rule.items()
    }


def test_kinds_are_enums(world: World) -> None:
    """Result and cost equal those of strings; each result has its kind."""
    result = check(world, *map(with_enums, RULES))
    assert result == check(world, *RULES)
    kinds = [rule["kind"] for rule in result["rules"]]
    assert kinds == ["FORBID", "FORBID", "FORBID", "FORBID", "REQUIRE", "LIMIT", "LIMIT"]
    for rule in [*RULES, {"name": "a", "forbid": "hole"}, {"name": "a", "limit": "twins"}]:
        assert cost(rule) == cost(with_enums(rule))
    literal = '{ compare(base: "a", head: "b") { check(rules: [{name: "a", %s}]) { passed } } }'
    texts = (literal % rule for rule in ('forbid: "hole"', "forbidden: HOLE"))
    assert len({api.cost(text, None, None) for text in texts}) == 1


def test_input_and_kinds_are_complete() -> None:
    """The input has a field for each key (two for enums), and the enum a member for each kind."""
    definition: Any = RuleInput.__strawberry_definition__  # type: ignore[attr-defined]
    names = {"except" if field.graphql_name else field.python_name for field in definition.fields}
    keys = {name.replace("-", "_") for name in KEYS} - {"package"}
    assert names == keys | {"packages", "forbidden", "measure"}
    assert {kind.value for kind in RuleKind} == KINDS.keys()


def test_cover(world: World) -> None:
    """A missing spec is in neither revision."""
    spec = next(spec for spec in HEAD.specs.values() if spec.name == "app")
    specs = [{"hash": spec.hash, "name": "app"}, {"hash": hash_of("none"), "name": "none"}]
    parts: list[Any] = [{}, {"atLeast": "50 %"}, {"atLeast": "1"}, {"packages": ["app"]}]
    result = check(world, *({"name": "a", "cover": specs, **part} for part in parts))
    assert [rule["passed"] for rule in result["rules"]] == [False, True, True, True]
    (breach,) = result["rules"][0]["breaches"]
    assert (breach["package"], breach["numSpecs"], breach["spec"]) == ("none", 1, None)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "rules[1]: the rule asks for nothing: each rule has exactly one of forbid"),
        ({"forbid": "x"}, "rules[1].forbid: 'x' is not one of package-removed"),
        ({"limit": "x", "atMost": "x"}, "(and 1 more)"),
        ({"forbid": "hole", "forbidden": "HOLE"}, "rules[1].forbid: is replaced by forbidden"),
        ({"measure": "SPECS_ADDED"}, "rules[1].atMost: is missing"),
        (
            {"cover": [{"hash": "x", "name": "a"}]},
            "rules[1].cover: specs[0]: hash: 'x' is not a hash",
        ),
        ({"forbid": "spec-removed", "stack": "hpe"}, "rule 'b', stack: neither revision has 'hpe'"),
    ],
)
def test_errors_name_rule_and_key(world: World, rule: dict[str, Any], message: str) -> None:
    """As errors of the field."""
    good = {"name": "a", "forbid": "spec-removed"}
    assert message in fault(world, good, {"name": "b", **rule})


def test_number_of_rules_is_limited(world: World) -> None:
    """Per request."""
    rule = {"name": "a", "forbid": "spec-removed"}
    assert len(check(world, *[rule] * MAX_RULES_IN_REQUEST)["rules"]) == MAX_RULES_IN_REQUEST
    assert (
        fault(world, *[rule] * (MAX_RULES_IN_REQUEST + 1)) == "rules: there are 51; there may be 50"
    )


def cost(*rules: dict[str, Any]) -> int:
    """Return the cost of judging by rules, in units."""
    return api.cost(questions.CHECK, None, {**REFS, "rules": list(rules)}).units


def test_each_part_of_a_rule_has_a_cost() -> None:
    """Twenty typical rules are allowed; hundreds of expensive parts are not."""
    plain = {"name": "a", "forbid": "spec-removed"}
    base = cost(plain)
    for part in ({"stack": "e4s"}, {"except": ["a*"]}, {"matching": "a"}, {"forbid": "hole"}):
        assert cost(plain | part) > base + 10_000, part
    assert cost(plain | {"matching": "a ^b"}) > cost(plain | {"matching": "a"}) + 9_000
    assert cost(plain, plain) > base
    covering = {"name": "a", "cover": [{"hash": hash_of("a"), "name": "a"}] * 100}
    assert cost(covering) > cost({"name": "a", "cover": []}) + 1_000
    of_stacks = [plain | {"stack": stack} for stack in ("e4s", "hep")] * 3
    queries = [{"name": "a", "require": "a ^b"}] * 4
    assert cost(*[plain] * 10, *of_stacks, *queries) < Limits().max_cost
    scopes = (plain | {"matching": f"^a ^b ^c{number}"} for number in range(20))
    assert cost(*scopes) > Limits().max_cost
    assert cost(plain | {"except": ["a*"] * 400}) > Limits().max_cost


def test_response_for_refs_is_permanent(world: World) -> None:
    """Unless a rule looks up the packages of other revisions."""
    refs = {side: world.catalog.history.resolve(ref).ref for side, ref in REFS.items()}
    assert world.is_permanent(questions.CHECK, **refs, rules=RULES)
    context = world.context()
    variables = refs | {"rules": [{"name": "a", "require": "apq"}]}
    api.execute(questions.CHECK, variables, context=context)
    assert not context.is_permanent
