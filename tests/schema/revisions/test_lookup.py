"""Lookups of specs in one revision and in all."""

from typing import Any

import orjson
import pytest
from strawberry.utils.str_converters import to_camel_case

from schema.limits import Limits
from snapshots.models import ConcreteSpec, Spec
from tests.schema.default_api import api
from tests.schema.worlds import State, World

FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]
COUNTS = "{ numWanted numFound numRootsWanted numRootsFound }"
LOOKUP = (
    "query($ref: String!, $specs: [ConcreteSpecInput!]!) "
    "{ revision(ref: $ref) { lookup(specs: $specs) %s } }"
)
BEST = (
    "query($specs: [ConcreteSpecInput!]!, $series: String, $first: Int! = 10) "
    "{ bestCovering(specs: $specs, series: $series, first: $first) %s }"
)


def as_input(spec: Spec, *, is_root: bool = False, **facts: Any) -> dict[str, Any]:
    """Return a spec as an input of the API; ``facts`` replace its own."""
    values = ({name: getattr(spec, name) for name in FACTS} | facts).items()
    stated = {to_camel_case(name): value for name, value in values if value is not None}
    return stated | {"isRoot": is_root}


def looked_up(world: World, state: State, specs: list[dict[str, Any]], fields: str) -> Any:
    """Return fields of a lookup in a revision."""
    ref = f"{state.info.tag}@{state.info.taken_at:%Y-%m-%dT%H:%M:%S.%fZ}"
    return world.data(LOOKUP % fields, ref=ref, specs=specs)["revision"]["lookup"]


def test_lookup_in_a_revision(world: World) -> None:
    """Specs of the newest revision in others: counts, found and missing specs."""
    inputs = [
        as_input(spec, is_root=number % 3 == 0) for number, spec in enumerate(world.newest.specs)
    ]
    hashes = {spec["hash"] for spec in inputs}
    roots = {spec["hash"] for spec in inputs if spec["isRoot"]}
    for state in world.states[-2:]:
        fields = COUNTS[:-1] + "revision { digest } found(first: 1000) { nodes { hash } } "
        fields += "missing(first: 1000) { totalCount nodes { hash isRoot } edges { cursor } } }"
        answer = looked_up(world, state, inputs, fields)
        present = hashes & {spec.hash for spec in state.specs}
        assert answer["revision"] == {"digest": state.info.digest}
        assert (answer["numWanted"], answer["numFound"]) == (len(inputs), len(present))
        num_roots = (len(roots), len(roots & present))
        assert (answer["numRootsWanted"], answer["numRootsFound"]) == num_roots
        assert sorted(spec["hash"] for spec in answer["found"]["nodes"]) == sorted(present)
        missing = {spec["hash"]: spec["isRoot"] for spec in answer["missing"]["nodes"]}
        assert answer["missing"]["totalCount"] == len(missing) == len(answer["missing"]["edges"])
        assert missing == {digest: digest in roots for digest in hashes - present}
        assert [*missing.values()] == sorted(missing.values(), reverse=True), "roots are first"


MISSING = (
    "{ missing { nodes { hash name version isRoot lastSeen { tagName takenAt } reason "
    "goneIn { digest } nearest { hash version } differences { path before after } } } }"
)


def test_missing_specs(world: World) -> None:
    """The last revision with each, the reason, the nearest spec and the differences."""
    newest, before = world.states[-1], world.states[-2]
    there = {spec.hash for spec in newest.specs}
    names = {spec.name for spec in newest.specs}
    removed = [spec for spec in before.specs if spec.hash not in there and spec.name in names]
    assert removed
    answer = looked_up(world, newest, [as_input(spec) for spec in removed], MISSING)["missing"][
        "nodes"
    ]
    for missing in answer:
        assert missing["lastSeen"]["tagName"] == before.info.tag
        assert missing["reason"].endswith(("GONE", "REPLACED"))
        assert missing["goneIn"] == {"digest": newest.info.digest}
        nearest = next(spec for spec in newest.specs if spec.hash == missing["nearest"]["hash"])
        assert nearest.name == missing["name"]
        differing = {difference["path"] for difference in missing["differences"]}
        (spec,) = (spec for spec in removed if spec.hash == missing["hash"])
        assert ("version" in differing) == (nearest.version != spec.version)


def test_best_revisions_are_first(world: World) -> None:
    """The revision of each tag, or all of a series."""
    state = world.states[4]
    inputs = [as_input(spec) for spec in state.specs]
    fields = COUNTS[:-1] + "revision { digest } missing(first: 2) { nodes { hash } } }"
    answer = world.data(BEST % fields, specs=inputs)["bestCovering"]
    counts = [revision["numFound"] for revision in answer]
    assert len(counts) == 5
    assert counts == sorted(counts, reverse=True)
    assert max(len(revision["missing"]["nodes"]) for revision in answer) == 2
    of_series = world.data(BEST % fields, specs=inputs, series="develop")["bestCovering"]
    assert of_series[0]["revision"]["digest"] == state.info.digest
    assert len(of_series) == 2


@pytest.mark.parametrize(("key", "value"), [("hash", "A" * 32), ("name", "")])
def test_invalid_spec_is_an_error(world: World, key: str, value: str) -> None:
    """The message names its position."""
    good = {"hash": "b" * 32, "name": "b"}
    for query in (LOOKUP, BEST):
        variables = {"ref": "develop"} if query is LOOKUP else {}
        error = world.error(query % COUNTS, specs=[good, good | {key: value}], **variables)
        assert error["message"].startswith(f"specs[1]: {key}: ")
        assert error["extensions"]["code"] == "BAD_USER_INPUT"


def test_two_thousand_specs_are_allowed() -> None:
    """With all fields of missing specs; one more is refused."""
    spec = {"hash": "a" * 32, "name": "py-something-long", "variants": ["build_type=Release"] * 12}
    query, variables = LOOKUP % MISSING, {"ref": "develop", "specs": [spec] * 2_000}
    assert len(orjson.dumps(spec)) < Limits().max_variable_bytes / 2_000
    answer = api.cost(query, None, variables)
    assert answer.units < Limits().max_cost
    assert api.cost(query, None, {"ref": "a", "specs": [spec] * 2_001}).units == 0
    few = api.cost(query.replace("missing {", "missing(first: 5) {"), None, variables)
    assert few.units < answer.units
