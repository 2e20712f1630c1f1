"""Rules through GraphQL: the results of ``cachelog gate``, limits, and errors."""

from typing import Any

import pytest

from schema.comparisons.gates import MAX_RULES_IN_REQUEST, RuleKind
from schema.limits import Limits
from snapshots.changes.rules.rules import KINDS, judge, read_rule
from snapshots.side_comparisons import SideComparison
from tests.schema import questions
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.default_api import api
from tests.schema.worlds import World
from tests.snapshots.factories import hash_of

REFS = {"base": "develop~1", "head": "develop"}
RULES: list[dict[str, Any]] = [
    {"name": "packages", "forbid": "package-removed"},
    {"name": "specs", "forbid": "spec-removed", "except": ["lone"], "level": "warning"},
    {"name": "hep", "forbid": "version-removed", "stack": "hep", "package": ["l*", "hdf5"]},
    {"name": "cells", "forbid": "coverage-lost", "for-each": ["operating-system", "target"]},
    {"name": "app", "require": "app ^zlib", "for-each": ["target"]},
    {"name": "flood", "limit": "specs-rebuilt", "at-most": "0 %"},
    {"name": "new", "limit": "specs-added", "at-most": 1, "matching": "%gettext"},
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)


def check(world: World, *rules: Any) -> Any:
    """Return the results of rules."""
    data = world.data(questions.CHECK, **REFS, rules=list(rules))
    return data["compare"]["check"]


def fault(world: World, *rules: Any) -> str:
    """Return the error message of invalid rules."""
    error = world.error(questions.CHECK, **REFS, rules=list(rules))
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    return str(error["message"])


def test_results_equal_those_of_a_file(world: World) -> None:
    """Rule by rule, with each breach and the first of its specs."""
    base, head = map(world.catalog.history.resolve, REFS.values())
    expected = judge(
        [read_rule(rule, lambda _title: ()) for rule in RULES],
        SideComparison(base, head, world.library).rule_context(world.library.package_names),
    )
    result = check(world, *RULES)
    assert result["hasPassed"] is expected.passed is False
    assert {*(rule["hasPassed"] for rule in result["rules"])} == {True, False}
    for rule, judgement in zip(result["rules"], expected.results, strict=True):
        assert rule["hasPassed"] == judgement.passed
        assert rule["name"] == judgement.rule.name
        assert rule["level"] == judgement.rule.level.name
        assert rule["message"] == judgement.message
        assert rule["numBreaches"] == len(judgement.breaches)
        for shown, breach in zip(rule["breaches"], judgement.breaches, strict=True):
            assert (shown["message"], shown["packageName"]) == (breach.message, breach.package)
            hashes = breach.hashes()
            assert shown["numSpecs"] == len(hashes)
            assert shown["spec"] == {"hash": hashes[0]}


def test_kinds(world: World) -> None:
    """Each result has the kind of its rule, and the enum a member for each kind."""
    kinds = [rule["kind"] for rule in check(world, *RULES)["rules"]]
    assert kinds == ["FORBID", "FORBID", "FORBID", "FORBID", "REQUIRE", "LIMIT", "LIMIT"]
    assert {kind.value for kind in RuleKind} == KINDS.keys()


def test_rules_in_a_document(world: World) -> None:
    """Result and cost equal those of variables; a variable that is not given leaves its key out."""
    written = """query($base: String!, $head: String!, $stack: JSON) {
      compare(base: $base, head: $head) {
        check(rules: [{name: "a", forbid: "hole", except: ["x"], stack: $stack}]) {
          hasPassed
          rules { name kind level hasPassed message numBreaches
            breaches(first: 10) { message packageName numSpecs spec { hash } } }
        }
      }
    }"""
    rule = {"name": "a", "forbid": "hole", "except": ["x"]}
    assert world.data(written, **REFS)["compare"]["check"] == check(world, rule)
    assert api.cost(written, None, REFS).units == cost(rule)
    assert api.cost(written, None, REFS | {"stack": "hep"}).units == cost(rule | {"stack": "hep"})


def test_cover(world: World) -> None:
    """A missing spec is in neither revision."""
    spec = next(spec for spec in HEAD.specs.values() if spec.name == "app")
    specs = [{"hash": spec.hash, "name": "app"}, {"hash": hash_of("none"), "name": "none"}]
    parts: list[Any] = [{}, {"at-least": "50 %"}, {"at-least": 1}, {"package": "app"}]
    result = check(world, *({"name": "a", "cover": specs, **part} for part in parts))
    assert [rule["hasPassed"] for rule in result["rules"]] == [False, True, True, True]
    (breach,) = result["rules"][0]["breaches"]
    assert (breach["packageName"], breach["numSpecs"], breach["spec"]) == ("none", 1, None)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "rules[1]: the rule asks for nothing: each rule has exactly one of forbid"),
        ({"forbid": "x"}, "rules[1].forbid: 'x' is not one of package-removed"),
        ({"limit": "x", "at-most": "x"}, "(and 1 more)"),
        ({"forbid": "hole", "level": "ERROR"}, "rules[1].level: 'ERROR' is not one of error, "),
        ({"forbid": ["hole"]}, "rules[1].forbid: a list is not one of package-removed"),
        ({"forbid": "hole", "stack": None}, "rules[1].stack: null is not a text of 1 to 200"),
        ({"limit": "specs-added"}, "rules[1].at-most: is missing"),
        ({"limit": "specs-added", "at-most": -1}, "rules[1].at-most: -1 is not a number (100)"),
        ({"limit": "specs-added", "atMost": 1}, "rules[1].atMost: is not a key of a rule; nearest"),
        ({"x" * 99: 1, "forbid": "hole"}, f"rules[1].{'x' * 18}...{'x' * 18}: is not a key"),
        (dict.fromkeys(map(str, range(99))), "rules[1]: has 100 keys; there are"),
        ({"cover": "spack.lock"}, "rules[1].cover: 'spack.lock' is not a list of concrete specs"),
        ({"cover": [1]}, "rules[1].cover: specs[0]: is not an object"),
        ({"cover": [{"hash": "x"}]}, "rules[1].cover: specs[0]: "),
        ({"cover": [{"hash": 1, "name": "a"}]}, "rules[1].cover: specs[0]: Expected `str`, got"),
        ({"cover": [{"Hash": "x"}]}, "rules[1].cover: specs[0]: 'Hash' is not one of hash, name"),
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


@pytest.mark.parametrize("value", [1, "a", ["a"], [[{"name": "a"}]], True, 1.5])
def test_rules_are_objects(world: World, value: Any) -> None:
    """Any other JSON is refused by its place."""
    assert "rules[0]: " in fault(world, value)
    assert "is not an object with the keys of a rule" in fault(world, value)


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


def test_each_rule_has_a_cost() -> None:
    """And each value in its lists; as many rules as are allowed do not cost too much."""
    plain = {"name": "a", "forbid": "spec-removed"}
    assert cost(plain) + 5_000 < cost(plain, plain) < cost(plain) + 6_000
    covering = {"name": "a", "cover": [{"hash": hash_of("a"), "name": "a"}] * 100}
    assert cost(covering) == cost({"name": "a", "cover": []}) + 30_000
    assert cost(*[plain | {"except": ["a*"] * 5}] * MAX_RULES_IN_REQUEST) < Limits().max_cost


def test_response_for_refs_is_permanent(world: World) -> None:
    """Unless a rule looks up the packages of other revisions."""
    refs = {side: world.catalog.history.resolve(ref).ref for side, ref in REFS.items()}
    assert world.is_permanent(questions.CHECK, **refs, rules=RULES)
    context = world.context()
    variables = refs | {"rules": [{"name": "a", "require": "apq"}]}
    api.execute(questions.CHECK, variables, context=context)
    assert not context.is_permanent
