"""The cost of a query before execution: no field is free, or cheaper than its work.

The costs are stated beside the fields; ``python -m tests.benchmarks cost`` compares them with
seconds.
"""

from typing import Any

import pytest
from graphql import (
    ObjectValueNode,
    get_introspection_query,
    get_nullable_type,
    is_list_type,
    parse,
    validate,
    value_from_ast_untyped,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from schema.api import API, graphql_schema
from schema.documents.documents import Document
from schema.documents.estimates import NOTHING, Estimate
from schema.execution.executor import BudgetedExecutor
from schema.fields.cost import Sizes, Work, cost_of
from schema.fields.relay import is_paged
from schema.limits import Limits
from schema.revisions.spec import Facet
from tests.schema.default_api import api
from tests.schema.fields import ordinary_documents
from tests.schema.questions import DOCUMENTS
from tests.schema.worlds import World, plain

REVISION = "{ revision { %s } }"
FACETS = "specs(first: 0) { %s }"
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
    return cost.units - cost.shared_units


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
    "pages within pages": (NESTED % (10, 10), NESTED % (100, 100), 15),
    "facets": (
        REVISION % (FACETS % "facet(by: STACK) { value }"),
        REVISION % (FACETS % times(50, "facet(by: STACK) { value }")),
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
    "release notes": (COMPARE % "leftOut", COMPARE % "releaseNotes", 10),
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
    assert nine.units < one.units + 9 * 1_500
    assert nine.shared_units == Work.LOADING.value
    pairs = times(9, 'compare(base: "a%s", head: "b") { summary { numSpecsAdded } }')
    assert estimate(pairs.replace("%s", "").join("{}")).shared_units == Work.COMPARING.value
    assert estimate((pairs % (*range(9),)).join("{}")).shared_units == 9 * Work.COMPARING.value
    most = Limits().max_revisions
    revisions = "{ revisions(first: 100) { nodes { specs(first: 0) { totalCount } } } }"
    assert estimate(revisions).shared_units == most * Work.LOADING.value, "no request loads more"
    explained = "specs { nodes { reason } }"
    for text in (COMPARE % (f"{explained} causes {{ totalCount }}"), COMPARE % explained):
        assert estimate(text).shared_units == Work.EXPLAINING.value


NUMBERS: dict[str, tuple[str, Sizes, Sizes, int]] = {
    "series": ("{ allSeries { name } }", Sizes(series=4), Sizes(series=30), 2 * 26),
    "tags": ("{ tags { name } }", Sizes(tags=0), Sizes(tags=120), 2 * 120),
    "revisions, at most as many as a page has": (
        "{ revisions(first: 50) { nodes { ref } } }",
        Sizes(revisions=8),
        Sizes(revisions=1_000),
        2 * 42,
    ),
    "points of a series": (
        '{ series(name: "a") { growth { numSpecs } } }',
        Sizes(revisions=8),
        Sizes(revisions=500),
        2 * 492,
    ),
    "specs": (REVISION % "specs(first: 100) { nodes { hash } }", Sizes(specs=1), Sizes(), 2 * 99),
    "stacks": (REVISION % "stacks { name }", Sizes(stacks=1), Sizes(stacks=3), 2 * 2),
}


@pytest.mark.parametrize(("text", "few", "many", "more"), NUMBERS.values(), ids=NUMBERS)
def test_lists_are_as_long_as_the_catalog_allows(
    text: str, few: Sizes, many: Sizes, more: int
) -> None:
    """An object and its value for each series, tag, revision, stack or spec that there is."""
    assert api.cost(text, None, {}, many).units == api.cost(text, None, {}, few).units + more


def test_numbers_are_those_of_the_catalog(world: World) -> None:
    """Counted once for each state of the catalog."""
    history = world.catalog.history
    sizes = Sizes.of(history)
    assert sizes.tags == len(history.tags)
    assert sizes.revisions == len(history.revisions)
    assert sizes.specs == max(revision.num_specs for revision in history.revisions)
    assert Sizes.of(history) is sizes
    assert Sizes.of(type(history)()) == Sizes(0, 0, 0, 0, 0, 0)


SERIES = '{ series(name: "develop") { %s } }'
ENTRIES = "entries(first: 1000) { nodes { %s } }"
REFUSED = {
    "comparisons of entries": SERIES
    % f'package(name: "a") {{ {ENTRIES % "comparison { causes { totalCount } }"} }}',
    "pages within pages": REVISION
    % "packages(first: 1000) { nodes { specs(first: 1000) { nodes { hash } } } }",
    "dependencies of dependencies": REVISION
    % "specs { nodes { dependencies { nodes { spec { dependencies { nodes { name } } } } } } }",
    "what many hashes have in common": "{ "
    + times(7, 'revisionsHolding(hashes: ["a"]) { totalCount }')
    + " }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_absurd_documents_are_refused(text: str) -> None:
    """Comparisons of a thousand points, a million objects, searches under many aliases."""
    assert estimate(text).units > Limits().max_cost


def test_ids_cost_their_revisions() -> None:
    """Each may be of another revision, up to the limit of revisions per request."""
    specs = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Revision { specs { totalCount } } } }"
    most = Limits().max_revisions
    for count, loaded in ((1, 1), (3, 3), (most + 1, most), (500, most)):
        units = estimate(specs, ids=["a"] * count).shared_units
        assert units == (1 + loaded) * Work.LOADING.value, "those that are found, and their specs"


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
    assert estimate(text).units > 300 * 400
    assert sum(isinstance(node, ObjectValueNode) for node in read) == 1


def test_only_the_named_operation_counts() -> None:
    """Without a name, a document with several operations costs nothing."""
    document = "query A { tags { name } } query B { mainSeries { name } }"
    assert estimate(document, "A").units > estimate(document, "B").units > 0
    assert estimate(document) == estimate(document, "C") == NOTHING


MANY = NESTED.replace("hash", "hash name version size") % (1000, 1000)


def test_expensive_query_is_refused(world: World) -> None:
    """The error states the cost, the limit, and the three most expensive fields."""
    sizes = Sizes.of(world.catalog.history)
    poor = API(Limits(max_cost=100))
    (error,) = plain(poor.execute(MANY, context=world.context()))["errors"]
    cost = error["extensions"]["cost"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert cost["requested"] == poor.cost(MANY, None, {}, sizes).units
    assert cost["limit"] == 100
    first, *others = cost["mostExpensive"]
    assert first["path"] == ["revision", "packages"], "which loads the revision"
    assert len(others) == 2
    assert all(part["path"][0] == "revision" for part in others)
    assert first["cost"] > others[0]["cost"] >= others[1]["cost"]
    for part in cost["mostExpensive"]:
        assert f"{'.'.join(part['path'])} ({part['cost']:,})" in error["message"]


ASKED = """{ revision { specs(first: 3) { nodes { hash name } } package(name: "zlib") { name } }
  series(name: "develop") { growth { numSpecs } } nodes(ids: []) { id } }"""


def test_answer_states_what_it_costs(world: World) -> None:
    """Where it is asked for: what was expected at most, what it took, and the limit.

    The same if rows are cached, and nearly the same for other ways of execution.
    """
    shown = [
        plain(api.execute(ASKED, context=world.context(), include_cost=True, executor=executor))[
            "extensions"
        ]["cost"]
        for executor in (None, None, BudgetedExecutor)
    ]
    sizes = Sizes.of(world.catalog.history)
    requested = api.cost(ASKED, None, {}, sizes).units
    assert all(cost["requested"] == requested for cost in shown)
    assert all(cost["limit"] == Limits().max_cost for cost in shown)
    actual = [cost["actual"] for cost in shown]
    assert Work.LOADING.value < actual[0] == actual[1] <= requested
    assert abs(actual[2] - actual[0]) < 20, "an executor counts edges of lists differently"


def test_comparisons_load_and_lists_state_their_work() -> None:
    """Fields of a comparison compare, but for its sides; lists of a revision load."""
    free = {"id", "url", "base", "head", "baseStack", "headStack", "leftOut"}
    stored = {"unproven", "alsoPublishedAs", "mainChanges"}
    types: Any = graphql_schema.type_map
    for name, field in types["Comparison"].fields.items():
        work = cost_of(field, name).work
        assert (name in free) is (work not in (Work.COMPARING, Work.EXPLAINING)), name
    for name, field in types["Revision"].fields.items():
        parts = field.args or is_paged(field) or is_list_type(get_nullable_type(field.type))
        if parts and name not in stored:
            assert cost_of(field, name).work is not None, name


LIGHT: dict[str, tuple[str, bool]] = {
    "a long page": (REVISION % "specs(first: 1000) { nodes { hash name version } }", True),
    "a short filter": (FILTER % '"e4s"', True),
    "a long filter": (FILTER % ('"a" ' * 450), True),
    "a query": (REVISION % 'specs(matching: "hdf5") { totalCount }', True),
    "a query about dependencies": (REVISION % 'specs(matching: "a ^b") { totalCount }', False),
    "notes": (COMPARE % "releaseNotes", False),
    "many facets": (REVISION % (FACETS % times(20, "facet(by: STACK) { value }")), False),
    "a long text": (REVISION % "tagName" + " " * 9_000, True),
}


@pytest.mark.parametrize(("text", "is_light"), LIGHT.values(), ids=LIGHT)
def test_light_documents_run_in_the_event_loop(text: str, is_light: bool) -> None:
    """Documents of low cost; what takes longer than expected is interrupted."""
    assert api.is_light(None, api.cost(text, None, None)) is is_light


@pytest.mark.parametrize("value", [[1] * 1_000, {"x" * 9_000: 1}, "\ud800"], ids=type)
def test_large_variables_are_not_light(value: object) -> None:
    """For any document: they are not read in the event loop."""
    assert not api.is_light({"a": value}, api.cost("{ revision { tagName } }", None, None))


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
        assert kept.estimate(graphql_schema, None, variables, Sizes()) == fresh.estimate(
            graphql_schema, None, variables, Sizes()
        )


def test_rules_document_is_valid() -> None:
    """The document whose costs are compared."""
    assert validate(graphql_schema, parse(RULED)) == []


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
    "release notes in two formats": COMPARE % "releaseNotes html: releaseNotes(format: HTML)",
    "1,000 packages beside all facets": REVISION
    % (
        "packages(first: 1000) { nodes { name versions stackNames numSpecs } } specs { "
        + " ".join(f"{each.value}: facet(by: {each.name}) {{ ...C }}" for each in Facet)
        + " }"
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
    "other": "a" * 32,
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


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(specs=8_000, series=4, revisions=40)], ids=str)
@pytest.mark.parametrize("name", ordinary_documents.ORDINARY)
def test_ordinary_documents_are_allowed(name: str, sizes: Sizes) -> None:
    """Those of a front end, with 58,000 specs and 30 series, and with fewer."""
    text = ordinary_documents.ORDINARY[name]
    assert api.documents.get(text).errors == ()
    units = api.cost(text, None, ordinary_documents.VARIABLES, sizes).units
    assert 0 < units <= Limits().max_cost
