"""Invalid values: errors that blame the client rather than the server."""

import math
from typing import Any

import orjson
import pytest
from graphql import GraphQLError, located_error
from hypothesis import given
from hypothesis import strategies as st

from schema.api import API, schema
from schema.limits import Limits
from tests.expensive import examples
from tests.schema.worlds import World, plain

SCHEMA = schema._schema
LONE = "\ud800"
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(18, 5_000).map(lambda digits: -(10**digits)),
    st.integers(18, 5_000).map(lambda digits: 10**digits),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, 2**64, -2_000_000_000]),
    st.integers(),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -0.0]),
    st.text(st.characters(), max_size=30),
    st.sampled_from([LONE, "x" * 5_000, "\0", "1" * 5_000, "\u202e", "a" + LONE + "b", "^" * 500]),
)
VALUES = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["packages", "stacks", "field"]), inner
        )
    ),
    max_leaves=8,
)
DECLARED = (
    "query($v: Int) { revisions(first: $v) { totalCount } }",
    """query($v: String!) {
      tag(name: $v) { name } ref: revision(ref: $v) { digest } revision {
        package(name: $v) { name } stack(name: $v) { name } }
    }""",
    "query($v: String!) { revision { spec(hash: $v) { hash } } }",
    "query($v: String) { revision { specs(matching: $v) { totalCount } } }",
    """query($v: String) {
      specs: revision { specs(after: $v) { totalCount } }
      packages: revision { packages(before: $v) { totalCount } }
      revisions(tag: $v, series: $v, after: $v) { totalCount }
      compare(base: "develop~1", head: "develop") {
        packages(search: $v, after: $v) { totalCount } }
    }""",
    """query($v: String) { revision { specs(filter: {hashPrefix: $v}) { totalCount }
      packages(filter: {search: $v}) { totalCount } } }""",
    "query($v: ID!) { node(id: $v) { id } }",
    "query($v: [ID!]!) { nodes(ids: $v) { id } }",
    "query($v: DateTime) { revisions(since: $v, until: $v) { totalCount } }",
    "query($v: Boolean!) { revision { tag @include(if: $v) } }",
    """query($v: [String!]) { revision { packages(filter: {names: $v}) { totalCount }
      specs(filter: {packages: $v, variants: $v, stacks: $v, compilers: $v}) { totalCount } } }""",
    "query($v: SpecFilter) { revision { specs(filter: $v) { totalCount } } }",
    "query($v: SpecOrder) { revision { specs(orderBy: $v) { totalCount } } }",
    """query($v: [SpecChangeKind!]) { compare(base: "develop~1", head: "develop") {
      specs(kinds: $v) { totalCount } } }""",
    """query($v: [DependencyType!]) { revision { specs { nodes {
      dependents(types: $v) { totalCount } } } } }""",
)


def codes(response: dict[str, Any]) -> set[str]:
    """Return the codes of the errors of a response."""
    return {error["extensions"]["code"] for error in response.get("errors", ())}


CLIENT_CODES = {
    "BAD_USER_INPUT",
    "REVISION_NOT_FOUND",
    "AMBIGUOUS_REF",
    "LIMIT_EXCEEDED",
    "QUERY_TOO_LARGE",
    "TOO_MANY_ERRORS",
    "GRAPHQL_PARSE_FAILED",
    "GRAPHQL_VALIDATION_FAILED",
}


@examples(100)
@given(text=st.sampled_from(DECLARED), value=VALUES)
def test_invalid_variables_are_client_errors(world: World, text: str, value: Any) -> None:
    """Any type, size and depth is answered or refused with a client's code."""
    assert codes(world.ask(text, v=value)) <= CLIENT_CODES


def test_excessive_depth_is_refused(world: World) -> None:
    """A variable of 100,000 nested lists."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert codes(world.ask(BY_IDS, ids=deep)) == {"LIMIT_EXCEEDED"}


LITERALS = (
    "9" * 5_000,
    "-1e400",
    '"\\uD800"',
    '"' + "\\u0000" * 50 + '"',
    "[" * 150 + "]" * 150,
    '"""' + "x" * 3_000 + '"""',
    "{a: {b: {c: 1}}}",
    "NaN",
    "null",
)


@pytest.mark.parametrize("literal", LITERALS, ids=range(len(LITERALS)))
@pytest.mark.parametrize(
    "place",
    [
        "revisions(first: %s) { totalCount }",
        "nodes(ids: %s) { id }",
        "revisions(since: %s) { totalCount }",
        "revision { specs(filter: {stacks: %s}) { totalCount } }",
        "revision { tag @skip(if: %s) }",
    ],
)
def test_invalid_literals_are_client_errors(world: World, place: str, literal: str) -> None:
    """As of variables."""
    assert codes(world.ask("{ " + place % literal + " }")) <= CLIENT_CODES


@pytest.mark.parametrize(
    "text", ['{ tag(name: "\ud800") { name } }', "{ a\ud800 }", "\ud800", "#\ud800"]
)
def test_document_with_surrogates_is_a_client_error(world: World, text: str) -> None:
    """Surrogates cannot be encoded, so the response has none."""
    response = world.ask(text)
    assert codes(response) <= CLIENT_CODES
    orjson.dumps(response)


BY_IDS = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }"


def test_number_of_errors_is_limited(world: World) -> None:
    """Beyond the limit, the last error states the number of others."""
    most = Limits().max_errors
    allowed = world.ask(BY_IDS, ids=["nope"] * most)
    assert len(allowed["errors"]) == most
    assert "is not an id" in allowed["errors"][-1]["message"]
    response = world.ask(BY_IDS, ids=["nope"] * 1_000)
    assert response["data"] == {"nodes": [None] * 1_000}
    assert len(response["errors"]) == most == 20
    assert response["errors"][0]["path"] == ["nodes", 0]
    assert response["errors"][-1]["message"] == "... and 981 more errors"
    assert response["errors"][-1]["extensions"] == {"code": "TOO_MANY_ERRORS"}


def test_errors_are_located_only_if_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locating an error takes time proportional to the document."""
    located = []

    def locate(*arguments: Any) -> GraphQLError:
        located.append(arguments)
        return located_error(*arguments)

    monkeypatch.setattr("graphql.execution.executor.located_error", locate)
    world.ask(BY_IDS, ids=["nope"] * 1_000)
    assert 0 < len(located) <= Limits().max_errors + 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{ tagz { name } }", "Did you mean"),
        ("{ revision { specs(orderBy: {field: SIZ}) { totalCount } } }", "Did you mean"),
        ('{ revision(ref: "devlop") { tag } }', "nearest"),
        ('{ revision { specs(matching: "zlip") { totalCount } } }', "nearest"),
        (
            "query($v: SpecOrderField!) { revision { specs(orderBy: {field: $v}) "
            "{ totalCount } } }",
            "Did you mean",
        ),
    ],
)
@pytest.mark.parametrize("suggestions", [True, False])
def test_suggestions_can_be_disabled(world: World, text: str, hint: str, suggestions: bool) -> None:
    """Then no error lists similar names of the schema or the catalog."""
    api = API(suggestions=suggestions)
    (error,) = plain(api.execute(text, {"v": "SIZ"}, context=world.context()))["errors"]
    assert (hint in error["message"]) == suggestions
    assert suggestions or error["extensions"].keys() == {"code"}


def test_introspection_can_be_disabled(world: World) -> None:
    """A document that queries the schema is then invalid, except for ``__typename``."""
    closed = API(introspection=False)
    for text in ("{ __schema { types { name } } }", '{ __type(name: "Spec") { name } }'):
        assert "errors" not in plain(API().execute(text, context=world.context()))
        answer = closed.execute(text, context=world.context())
        assert not answer.executed
        assert codes(plain(answer)) == {"GRAPHQL_VALIDATION_FAILED"}
    assert "errors" not in plain(closed.execute("{ __typename }", context=world.context()))
