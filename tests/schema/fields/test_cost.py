"""The cost of a query before execution: no field is free, or cheaper than its work.

The costs are stated beside the fields; ``python -m tests.benchmarks cost`` compares them with
seconds.
"""

from typing import Any

import pytest
from graphql import (
    ObjectValueNode,
    get_introspection_query,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
    parse,
    validate,
    value_from_ast_untyped,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from schema.api import API, graphql_schema
from schema.documents.documents import Document
from schema.documents.estimates import NOTHING, Estimate
from schema.fields.cost import ArgumentCost, stated_cost
from schema.fields.relay import is_paged
from schema.fields.units import COMPARING, EXPLAINING, LOADING
from schema.limits import Limits
from tests.schema.default_api import api
from tests.schema.questions import DOCUMENTS
from tests.schema.worlds import World, plain

REVISION = "{ revision { %s } }"
FACETS = "specs(first: 0) { facets { %s } }"
SPEC = 'spec(hash: "a") { %s }'
PAGE = "specs(first: 1000) { nodes { %s } }"
COMPARE = '{ compare(base: "a", head: "b") { %s } }'


def times(count: int, part: str) -> str:
    """Return a selection repeated under different aliases."""
    return " ".join(f"a{number}: {part}" for number in range(count))


def estimate(text: str, name: str | None = None, /, **variables: Any) -> Estimate:
    """Return the cost of a document that must be valid."""
    assert api.documents.get(text).errors == ()
    return api.cost(text, name, variables)


def work(text: str) -> int:
    """Return the cost of a document if everything is loaded and compared, in units."""
    cost = estimate(text)
    return cost.units - cost.cached_units


SPECS = "{ revision { specs%s { nodes { hash name } } } }"
NESTED = "{ revision { packages(first: %s) { nodes { specs(first: %s) { nodes { hash } } } } } }"
SIZED = "query($n: Int) " + SPECS % "(first: $n)"
IDS = "{ nodes(ids: %s) { id } }"
BY_IDS = "query($ids: [ID!]!) " + IDS % "$ids"

EQUAL: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "the default size": ((SPECS % "", {}), (SPECS % "(first: 50)", {})),
    "a variable": ((SIZED, {"n": 7}), (SPECS % "(first: 7)", {})),
    "null in place of a default": (
        ("query($n: Int = 8) " + SPECS % "(first: $n)", {"n": None}),
        (SPECS % "", {}),
    ),
    "the smaller of two sizes": ((SPECS % "(first: 9, last: 3)", {}), (SPECS % "(first: 3)", {})),
    "more than the largest page": (
        (SPECS % "(first: 2000000000)", {}),
        (SPECS % "(first: 1000)", {}),
    ),
    "a negative size": ((SPECS % "(first: -2000000000)", {}), (SPECS % "(first: 0)", {})),
    "one id alone": ((IDS % '"a"', {}), (IDS % '["a"]', {})),
    "ids in a variable": ((BY_IDS, {"ids": ["a"] * 3}), (IDS % '["a", "b", "c"]', {})),
    "a fragment within a page": (
        (
            "{ revision { specs(first: 7) { ...F } } } "
            "fragment F on SpecConnection { nodes { ... { hash name } } }",
            {},
        ),
        (SPECS % "(first: 7)", {}),
    ),
    "left out by a directive": (
        (
            "query($no: Boolean!) { revision { tagName stacks @include(if: $no) { name } } }",
            {"no": False},
        ),
        ("query { revision { tagName stacks @skip(if: true) { name } } }", {}),
    ),
    "undeclared variables": ((SIZED, {"n": 7, "x": [1] * 5}), (SIZED, {"n": 7})),
}


@pytest.mark.parametrize(("left", "right"), EQUAL.values(), ids=EQUAL)
def test_equal_queries_have_equal_costs(
    left: tuple[str, dict[str, Any]], right: tuple[str, dict[str, Any]]
) -> None:
    """Regardless of how a size is written; sizes are those that the field permits."""
    assert estimate(left[0], **left[1]) == estimate(right[0], **right[1])


FILTER = REVISION % "specs(filter: {stacks: [%s]}) { totalCount }"
GROWING: dict[str, tuple[str, str, float]] = {
    "pages within pages": (NESTED % (10, 10), NESTED % (100, 100), 20),
    "facets": (
        REVISION % (FACETS % "stacks { value }"),
        REVISION % (FACETS % times(50, "stacks { value }")),
        2.5,
    ),
    "a filter's values": (FILTER % '"a"', FILTER % ('"a" ' * 450), 2.5),
    "a filter in each package": (
        REVISION % "packages(first: 1000) { nodes { specs { totalCount } } }",
        REVISION
        % 'packages(first: 1000) { nodes { specs(filter: {stacks: ["a"]}) { totalCount }}}',
        3,
    ),
    "dependencies in a query": (
        REVISION % 'specs(matching: "a") { totalCount }',
        REVISION % 'specs(matching: "a ^b ^c %d") { totalCount }',
        2.5,
    ),
    "walks": (
        REVISION % 'spec(hash: "a") { dependents { totalCount } }',
        REVISION % (SPEC % times(30, "dependents(transitive: true) { totalCount }")),
        5,
    ),
    "release notes": (COMPARE % "leftOut", COMPARE % "releaseNotes", 30),
}


@pytest.mark.parametrize(("less", "more", "factor"), GROWING.values(), ids=GROWING)
def test_more_work_costs_more(less: str, more: str, factor: float) -> None:
    """Aliases, nested lists, values of filters, walks and comparisons count."""
    assert work(more) > factor * work(less)


def test_equal_parts_cost_once() -> None:
    """A query, load, comparison or explanation has its full cost once per request."""
    one, nine = (
        estimate(REVISION % times(count, 'specs(matching: "a") { totalCount }')) for count in (1, 9)
    )
    assert nine.units < one.units + 9 * 1_000
    assert nine.cached_units == LOADING
    pairs = times(9, 'compare(base: "a%s", head: "b") { summary { numSpecsAdded } }')
    assert estimate(pairs.replace("%s", "").join("{}")).cached_units == COMPARING
    assert estimate((pairs % (*range(9),)).join("{}")).cached_units == 9 * COMPARING
    revisions = "{ revisions(first: 100) { nodes { specs(first: 0) { totalCount } } } }"
    assert estimate(revisions).cached_units == 100 * LOADING
    reasons = "specs(reasons: [%s]) { totalCount }"
    both = COMPARE % (f"{reasons % 'REBUILT'} causes {{ totalCount }}")
    many = COMPARE % times(3, reasons % "REBUILT, RETURNED, NEW_PACKAGE")
    for text in (both, many, COMPARE % (reasons % "REBUILT")):
        assert estimate(text).cached_units == COMPARING + EXPLAINING


SERIES = '{ series(name: "develop") { %s } }'
ENTRIES = "entries(first: 1000) { nodes { %s } }"
REFUSED = {
    "contents of all points": SERIES % "growth { revision { specs(first: 1) { totalCount } } }",
    "comparisons of all points": SERIES % "growth { comparison { summary { numSpecsAdded } } }",
    "all that touched many packages": SERIES
    % " ".join(
        f'p{number}: package(name: "p{number}") {{ {ENTRIES % "kind versionsAdded"} }}'
        for number in range(60)
    ),
    "comparisons of entries": SERIES
    % f'package(name: "a") {{ {ENTRIES % "comparison { causes { totalCount } }"} }}',
    "revisions of spans": REVISION
    % "specs(first: 1000) { nodes { history { spans { first { specs { totalCount } } } } } }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_objects_of_histories_have_a_cost(text: str) -> None:
    """A chart has a thousand points: their objects cost a thousand times as much."""
    assert estimate(text).units > Limits().max_cost


def test_each_hash_has_a_cost() -> None:
    """A request may select one list for a thousand hashes."""
    text = "query($hashes: [String!]!) { %s }"
    one = text % "revisionsHolding(hashes: $hashes) { totalCount }"
    two = text % times(2, "revisionsHolding(hashes: $hashes) { totalCount }")
    most = Limits().max_list_length
    assert estimate(one, hashes=["a"] * most).units > 0.5 * Limits().max_cost
    assert estimate(two, hashes=["a"] * most).units > Limits().max_cost
    assert estimate(one, hashes=["a"] * 10).units < 100_000
    many = text % times(8, "revisionsHolding(hashes: $hashes) { totalCount }")
    assert estimate(many, hashes=["a"]).units > Limits().max_cost, "each reads the stored changes"


def test_ids_cost_their_revisions() -> None:
    """Each may be of another revision, up to the limit of revisions per request."""
    most = Limits().max_revisions
    for count, loaded in ((1, 1), (3, 3), (most, most), (most + 1, most), (500, most)):
        assert estimate(BY_IDS, ids=["a"] * count).cached_units == loaded * LOADING
    assert estimate('{ node(id: "a") { id } }').cached_units == LOADING


def test_argument_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all spreads of its fragment: a long list costs each time, but is traversed once."""
    read: list[Any] = []

    def watched(node: Any, variables: Any) -> Any:
        read.append(node)
        return value_from_ast_untyped(node, variables)

    monkeypatch.setattr("graphql.value_from_ast_untyped", watched)
    spread = "...F " * 300
    text = f"{{ revision {{ {spread} }} }} fragment F on Revision "
    text += '{ specs(filter: {packages: ["a", "b"]}) { totalCount } }'
    assert estimate(text).units > 300 * 1_500
    assert sum(isinstance(node, ObjectValueNode) for node in read) == 1


def test_size_of_a_response_is_estimated() -> None:
    """Long texts count with their length, for each alias."""
    short = estimate(REVISION % "specs(first: 1000) { nodes { size } }").num_bytes
    variants = estimate(REVISION % "specs(first: 1000) { nodes { variants } }").num_bytes
    many = estimate(REVISION % (PAGE % times(100, "variants")))
    assert variants > 5 * short
    assert many.num_bytes > 90 * variants


def test_only_the_named_operation_counts() -> None:
    """Without a name, a document with several operations costs nothing."""
    document = "query A { tags { name } } query B { revision { tagName } }"
    assert estimate(document, "A").units > estimate(document, "B").units > 0
    assert estimate(document) == estimate(document, "C") == NOTHING


MANY = NESTED.replace("hash", "hash name version size") % (1000, 1000)


def test_expensive_query_is_refused(world: World) -> None:
    """The error states the cost, the limit, and the most expensive part."""
    answer = api.execute(MANY, context=world.context())
    assert not answer.executed
    (error,) = plain(answer)["errors"]
    cost = error["extensions"]["cost"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert cost["cost"] > cost["allowed"] == Limits().max_cost
    assert cost["mostExpensive"]["path"] == ["revision", "packages", "nodes", "specs", "nodes"]
    assert f"{cost['cost']:,}" in error["message"]
    assert "revision.packages.nodes.specs.nodes" in error["message"]


def test_large_response_is_refused_in_advance(world: World) -> None:
    """The error is about bytes if only they exceed the limit."""
    api = API(Limits(max_answer_bytes=100_000))
    text = REVISION % "specs(first: 1000) { nodes { variants } }"
    (error,) = plain(api.execute(text, context=world.context()))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "100,000 bytes" in error["message"]


FIELDS = [
    (kind.name, name, field)
    for kind in graphql_schema.type_map.values()
    if is_object_type(kind) and not kind.name.startswith("__")
    for name, field in kind.fields.items()
]


PRICED = {"filter", "matching", "transitive", "orderBy", "kinds", "search"}
"""Arguments with a weight."""

UNPRICED = {"first", "last", "after", "before", "types", "format"}
FREE_OF_COMPARISONS = {"id", "base", "head", "baseStack", "headStack", "leftOut"}


@pytest.mark.parametrize(("kind", "name", "field"), FIELDS, ids=[f"{k}.{n}" for k, n, _ in FIELDS])
def test_expensive_fields_state_their_cost(kind: str, name: str, field: Any) -> None:
    """Lists their length or bytes, connections and facets a weight, arguments their share."""
    is_list = is_list_type(get_nullable_type(field.type))
    named = get_named_type(field.type)
    arguments = [*field.args]
    compares = kind == "Comparison" and name not in FREE_OF_COMPARISONS
    loads = kind == "Revision" and (is_paged(field) or arguments or is_list)
    cost = stated_cost(field)
    if cost is None:
        assert not any((is_list, is_paged(field), kind == "Facets", compares, loads))
        assert {*arguments} <= UNPRICED
        return
    if is_list:
        assert cost.num_bytes or not is_leaf_type(named), "a list of values states no bytes"
        assert cost.items != 1 or is_leaf_type(named), "a list of objects states no length"
    if is_paged(field) or kind == "Facets":
        assert cost.weight > 0, "a connection or facet has no weight"
    if is_paged(field):
        assert named.name.endswith("Connection")
    for argument in arguments:
        stated = cost.arguments.get(argument, ArgumentCost())
        is_priced = argument in cost.arguments or cost.weight or cost.each
        assert is_priced or argument in UNPRICED, f"{argument} is free"
        assert argument not in PRICED or stated.weight > 0, f"{argument} has no weight"
        assert argument not in {"filter", "kinds"} or stated.each > 0, "its values are free"
        assert argument != "matching" or stated.once > 0, "a query is free"
    assert not compares or cost.once >= COMPARING, "a comparison is free"
    is_stored = name in {"unproven", "alsoPublishedAs", "mainChanges"}
    assert not loads or is_stored or cost.once >= LOADING, "a revision is free"
    if name == "releaseNotes":
        assert cost.num_bytes
        assert cost.weight > 10_000


LIGHT: dict[str, tuple[str, bool]] = {
    "a long page": (REVISION % "specs(first: 1000) { nodes { hash name version } }", True),
    "a short filter": (FILTER % '"e4s"', True),
    "a long filter": (FILTER % ('"a" ' * 200), False),
    "a query": (REVISION % 'specs(matching: "hdf5") { totalCount }', False),
    "notes": (COMPARE % "releaseNotes", False),
    "many facets": (REVISION % (FACETS % times(20, "stacks { value }")), False),
    "a long text": (REVISION % "tag" + " " * 9_000, True),
}


@pytest.mark.parametrize(("text", "is_light"), LIGHT.values(), ids=LIGHT)
def test_light_documents_run_in_the_event_loop(text: str, is_light: bool) -> None:
    """Short documents of low cost, without long lists or masks."""
    assert api.is_light(None, api.cost(text, None, None)) is is_light


@pytest.mark.parametrize("value", [[1] * 1_000, {"x" * 9_000: 1}, "\ud800"], ids=type)
def test_large_variables_are_not_light(value: object) -> None:
    """For any document: they are not read in the event loop."""
    assert not api.is_light({"a": value}, api.cost("{ revision { tagName } }", None, None))


def test_document_is_weighed_once_its_cost_is_cached() -> None:
    """The cost is cached for the values of the variables that it depends on."""
    cached_api = API()
    assert not cached_api.is_weighed(SIZED, None, {"n": 1})
    cached_api.documents.get(SIZED)
    assert not cached_api.is_weighed(SIZED, None, {"n": 1})
    cached_api.cost(SIZED, None, {"n": 1})
    assert cached_api.is_weighed(SIZED, None, {"n": 1, "undeclared": 2})
    assert not cached_api.is_weighed(SIZED, None, {"n": 2})
    cached_api.documents.get("{ nope }")
    assert cached_api.is_weighed("{ nope }", None, None)


RULED = """query(
  $rule: JSON!, $rules: [JSON!]!, $forbidden: String, $measure: String, $stack: JSON,
  $packages: [String!], $size: Int, $all: Boolean!, $query: String
) {
  compare(base: "a", head: "b") {
    one: check(rules: [$rule]) { hasPassed }
    several: check(rules: $rules) { hasPassed }
    written: check(rules: [
      { name: "a", forbid: $forbidden, stack: $stack }
      { name: "b", limit: $measure, package: $packages }
      { name: "c", forbid: "hole", stack: "e4s" }
    ]) @include(if: $all) { rules { breaches(first: $size) { message } } }
    head { specs(first: $size, matching: $query) { totalCount } }
  }
}"""
NAMES = st.sampled_from(["a", "b*", "a ^b ^c"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | NAMES,
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(NAMES, parts, max_size=2),
    max_leaves=4,
)
RULE_VALUES = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "forbid": st.sampled_from(["hole", "coverage-lost", "package-removed"]) | ANY,
        "limit": st.sampled_from(["twins", "coverage-lost", "specs-added"]) | ANY,
        "stack": NAMES | ANY,
        "package": st.lists(NAMES, max_size=3) | ANY,
        "matching": NAMES | ANY,
        "require": NAMES | ANY,
        "for-each": st.lists(st.just("target"), max_size=3) | ANY,
        "cover": ANY,
    },
)
RULED_VALUES = st.fixed_dictionaries(
    {
        "rule": RULE_VALUES | ANY,
        "rules": st.lists(RULE_VALUES | ANY, max_size=3)
        | RULE_VALUES.map(lambda rule: [rule] * 70),
        "all": st.booleans(),
    },
    optional={
        "forbidden": st.sampled_from(["hole", "coverage-lost", None]),
        "measure": st.sampled_from(["twins", "specs-added"]),
        "stack": ANY,
        "packages": st.lists(NAMES, max_size=3),
        "size": st.sampled_from([None, 0, 1, 50, "1"]),
        "query": NAMES,
    },
)


@settings(deadline=None)
@given(st.lists(RULED_VALUES, min_size=2, max_size=4))
def test_cached_cost_equals_a_new_one(requests: list[dict[str, Any]]) -> None:
    """Whatever variables the document had before: kinds, scopes, long lists, any JSON."""
    node = parse(RULED)
    kept = Document(RULED, node, ())
    for variables in [*requests, *requests]:
        fresh = Document(RULED, node, ())
        assert kept.estimate(graphql_schema, None, variables) == fresh.estimate(
            graphql_schema, None, variables
        )


def test_cost_of_rules_depends_on_their_values() -> None:
    """An expensive rule does not cost what a cheap one of the same form does."""
    assert validate(graphql_schema, parse(RULED)) == []
    cached_api = API()
    rule = {"name": "a", "limit": "specs-added"}
    cheap, dear = (
        cached_api.cost(RULED, None, {"all": False, "rules": [], "rule": rule | {"limit": name}})
        for name in ("specs-added", "twins")
    )
    assert dear.units > cheap.units + 100_000


FULL = (
    "hash name version compiler operatingSystem platform target variants stackNames size tarball "
    "id namespace packageHash patches short package { id name numSpecs versions }"
)
ALLOWED = {
    "introspection of GraphiQL": get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    ),
    "1,000 specs of 20 fields": REVISION % (PAGE % FULL),
    **{f"document {number}": text for number, text in enumerate(DOCUMENTS)},
    "release notes as Markdown and JSON": COMPARE % "releaseNotes json: releaseNotes(format: JSON)",
    "1,000 packages beside all facets": REVISION
    % (
        "packages(first: 1000) { nodes { name versions stackNames numSpecs } } specs { facets { "
        "packages { ...C } versions { ...C } compilers { ...C } operatingSystems { ...C } "
        "platforms { ...C } targets { ...C } stacks { ...C } } }"
    )
    + " fragment C on FacetCount { value numSpecs }",
    "1,000 changed specs": COMPARE
    % "specs(first: 1000) { nodes { hash kind before { short } fields { path before after } } }",
}
VALUES = {
    "ref": "develop",
    "name": "a",
    "hash": "a",
    "base": "develop~1",
    "head": "develop",
    "ids": ["a"] * 100,
    "by": ["STACK"],
    "of": "develop",
    "series": "develop",
    "hashes": ["a" * 32] * 100,
    "oid": "a" * 40,
    "planned": [{"hash": "a" * 32, "name": "a", "version": "1"}] * 500,
    "planned_stacks": ["a"] * 20,
    "stack": "a",
    "specs": [{"hash": "a" * 32, "name": "a"}] * 500,
    "first": 100,
    "text": "a",
    "rules": [{"name": "a", "forbid": "package-removed"}, {"name": "b", "require": "a ^b"}] * 5,
}


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_typical_documents_are_allowed(text: str) -> None:
    """Every page, every example and GraphiQL."""
    assert api.documents.get(text).errors == ()
    cost = api.cost(text, None, VALUES)
    assert 0 < cost.units <= Limits().max_cost
    assert cost.num_bytes <= Limits().max_answer_bytes
